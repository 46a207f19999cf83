"""
Handwritten digits
==================

1,797 images of eight by eight pixels, and no labels: points become a graph, the graph is cut into
ten, and the true digits only judge it afterwards.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import leastcut

digits = load_digits()
model = leastcut.SpectralClustering(n_clusters=10, random_state=0).fit(digits.data)

# %%
# Every fit knows the value of its cut. The lower bound is what no clustering of this graph into ten
# can be below.

print(f"cut value    {model.cut_value_:.4f}")
print(f"lower bound  {model.lower_bound_:.4f}")
print(f"accuracy     {leastcut.clustering_accuracy(digits.target, model.labels_):.3f}")

# %%
# The mean image of every cluster, with its size, and the digit that most of it are.

figure, cells = plt.subplots(2, 5, figsize=(7, 3.4), layout="constrained")
for cluster, cell in enumerate(cells.flat):
    members = model.labels_ == cluster
    counts = np.bincount(digits.target[members])
    cell.imshow(digits.images[members].mean(axis=0), cmap="gray_r")
    cell.set_title(
        f"{members.sum()} images\n{counts.max() / members.sum():.0%} are {counts.argmax()}"
    )
    cell.set_axis_off()
plt.show()

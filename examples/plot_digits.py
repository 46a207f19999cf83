"""
Clustering handwritten digits
=============================

This example clusters 1,797 images of 8 x 8 pixels into ten clusters and compares the clusters with
the true digits.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import leastcut

digits = load_digits()
model = leastcut.SpectralClustering(n_clusters=10, random_state=0).fit(digits.data)

# %%
# The fitted model has the cut value of its labels and a lower bound: no partition of this graph
# into ten clusters has a smaller cut value than the bound.

print(f"cut value    {model.cut_value_:.4f}")
print(f"lower bound  {model.lower_bound_:.4f}")
print(f"accuracy     {leastcut.clustering_accuracy(digits.target, model.labels_):.3f}")

# %%
# The mean image of each cluster, its size and its most frequent digit.

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

"""
How many clusters?
==================

178 wines by thirteen measurements. :func:`leastcut.cut_path` cuts one graph into many numbers of
clusters and says which number the evidence speaks for; that they come from three cultivars is
nowhere in it.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

import leastcut

X, cultivar = load_wine(return_X_y=True)
path = leastcut.cut_path(scale(X), range(2, 13), random_state=0)
print(path)

# %%
# Every number has its partition, with a cut value and what none can be below.

found = path[path.best]
print(found)
print(f"accuracy {leastcut.clustering_accuracy(cultivar, found.labels):.3f}")

# %%

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
path.plot(ax=left)
path.plot("cut_values", ax=middle)
leastcut.plot.embedding(found, leastcut.adaptive_neighbors_graph(scale(X)), ax=right)
plt.show()

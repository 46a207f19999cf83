"""
Choosing the number of clusters
===============================

:func:`leastcut.cut_path` partitions a graph into each of several numbers of clusters and selects
one of them by statistical evidence. The data are 178 wines of three cultivars, described by 13
measurements.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

import leastcut

X, cultivar = load_wine(return_X_y=True)
path = leastcut.cut_path(scale(X), range(2, 13), random_state=0)
print(path)

# %%
# The path has a partition for every number of clusters, with its cut value and a lower bound.

result = path[path.best]
print(result)
print(f"accuracy {leastcut.clustering_accuracy(cultivar, result.labels):.3f}")

# %%

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
path.plot(ax=left)
path.plot("cut_values", ax=middle)
leastcut.plot.embedding(result, leastcut.adaptive_neighbors_graph(scale(X)), ax=right)
plt.show()

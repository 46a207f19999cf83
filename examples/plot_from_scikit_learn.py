"""
Coming from scikit-learn
========================

One import line changes. The estimator has the parameters and methods that you know, and knows its
cut value besides.
"""

import time

import matplotlib.pyplot as plt
import sklearn.cluster
from sklearn.datasets import load_digits

import leastcut

X, y = load_digits(return_X_y=True)
settings = {"n_clusters": 10, "affinity": "nearest_neighbors", "random_state": 0}

# %%
# Both build the same graph. What differs is the cut: scikit-learn's is read off the eigenvectors by
# k-means, leastcut's is the smallest that a search finds.

leastcut.SpectralClustering(**settings).fit(X)  # the first fit after an install compiles
values = {}
for library in (sklearn.cluster, leastcut):
    began = time.perf_counter()
    model = library.SpectralClustering(**settings).fit(X)
    seconds = time.perf_counter() - began
    name, graph = library.__name__.split(".")[0], model.affinity_matrix_
    values[name] = leastcut.cut_value(graph, model.labels_)
    accuracy = leastcut.clustering_accuracy(y, model.labels_)
    print(f"{name:<9} cut {values[name]:.4f}, accuracy {accuracy:.3f}, {seconds:.2f} s")

# %%
# Each cluster's share of the cut, and several methods on this graph side by side.

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
model.plot("sizes", ax=left)
methods = ["kmeans", "kmeans_norm", "cluster_qr", "first_order", "partition"]
compared = leastcut.compare(graph, 10, methods=methods, effort="auto", random_state=0)
leastcut.plot.comparison(compared, ax=right)
plt.show()

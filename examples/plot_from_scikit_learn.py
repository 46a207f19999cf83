"""
Replacing scikit-learn's SpectralClustering
===========================================

Only the import changes: the estimator has the parameters and methods of
:class:`sklearn.cluster.SpectralClustering`. In addition it reports the cut value of its labels.
"""

import time

import matplotlib.pyplot as plt
import sklearn.cluster
from sklearn.datasets import load_digits

import leastcut

X, y = load_digits(return_X_y=True)
settings = {"n_clusters": 10, "affinity": "nearest_neighbors", "random_state": 0}

# %%
# Both build the same graph. scikit-learn clusters the eigenvectors by k-means, leastcut searches
# for the smallest cut.

leastcut.SpectralClustering(**settings).fit(X)  # compiles, once per installation
values = {}
for library in (sklearn.cluster, leastcut):
    start = time.perf_counter()
    model = library.SpectralClustering(**settings).fit(X)
    seconds = time.perf_counter() - start
    name, graph = library.__name__.split(".")[0], model.affinity_matrix_
    values[name] = leastcut.cut_value(graph, model.labels_)
    accuracy = leastcut.clustering_accuracy(y, model.labels_)
    print(f"{name:<9} cut {values[name]:.4f}, accuracy {accuracy:.3f}, {seconds:.2f} s")

# %%
# The contribution of each cluster to the cut value, and a comparison of methods on this graph.

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
model.plot("sizes", ax=left)
methods = ["kmeans", "kmeans_norm", "cluster_qr", "first_order", "partition"]
comparison = leastcut.compare(graph, 10, methods=methods, effort="auto", random_state=0)
leastcut.plot.comparison(comparison, ax=right)
plt.show()

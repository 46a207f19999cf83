"""
Clustering a million points
===========================

This example computes a nearest-neighbor graph of a million points with a tree and partitions it by
a multilevel search. No dense array of all pairs is formed.
"""

import os
import time

import matplotlib.pyplot as plt
import numpy as np

import leastcut

n = int(os.environ.get("LEASTCUT_EXAMPLE_POINTS", 1_000_000))

# %%
# The data are seven concentric rings with noise, which have no distinct centers.

rng = np.random.default_rng(0)
ring = rng.integers(7, size=n)
angle = rng.uniform(0, 2 * np.pi, n)
radius = ring + 1 + rng.normal(0, 0.12, n)
X = np.column_stack((radius * np.cos(angle), radius * np.sin(angle)))

start = time.perf_counter()
graph = leastcut.nearest_neighbors_graph(X, 10)
middle = time.perf_counter()
result = leastcut.partition(graph, 7, effort="fast", random_state=0)
stop = time.perf_counter()
print(f"{n:,} points: graph in {middle - start:.1f} s, partition in {stop - middle:.1f} s")
accuracy = leastcut.clustering_accuracy(ring, result.labels)
print(f"accuracy {accuracy:.4f}, cut value {result.cut_value:.2g}")

# %%

shown = rng.choice(n, min(n, 40_000), replace=False)
figure, axes = plt.subplots(figsize=(5, 5), layout="constrained")
axes.scatter(*X[shown].T, c=result.labels[shown], s=0.4, cmap="tab10")
axes.set(title=f"{n:,} points, 7 clusters", xticks=[], yticks=[], aspect="equal")
plt.show()

"""
A million points
================

From points to labels in seconds: neighbours by a tree, the cut by a search over coarser and coarser
graphs, and no n-by-n array on the way.
"""

import os
import time

import matplotlib.pyplot as plt
import numpy as np

import leastcut

n = int(os.environ.get("LEASTCUT_EXAMPLE_POINTS", 1_000_000))

# %%
# Seven rings that lie in one another, with noise, so that no centre belongs to any of them.

rng = np.random.default_rng(0)
ring = rng.integers(7, size=n)
angle = rng.uniform(0, 2 * np.pi, n)
radius = ring + 1 + rng.normal(0, 0.12, n)
X = np.column_stack((radius * np.cos(angle), radius * np.sin(angle)))

began = time.perf_counter()
graph = leastcut.nearest_neighbors_graph(X, 10)
between = time.perf_counter()
found = leastcut.partition(graph, 7, effort="fast", random_state=0)
ended = time.perf_counter()
print(f"graph of {graph.nnz:,} entries in {between - began:.1f} s, cut in {ended - between:.1f} s")
print(f"accuracy {leastcut.clustering_accuracy(ring, found.labels):.4f}, cut {found.cut_value:.2g}")

# %%

shown = rng.choice(n, min(n, 40_000), replace=False)
figure, axes = plt.subplots(figsize=(5, 5), layout="constrained")
axes.scatter(*X[shown].T, c=found.labels[shown], s=0.4, cmap="tab10")
axes.set(title=f"{n:,} points, 7 clusters", xticks=[], yticks=[], aspect="equal")
plt.show()

"""
Clustering a million points with anchors
========================================

An anchor graph connects every point with its nearest anchors, and the affinity of two points
depends on the anchors they share. The graph of all points is never formed, but its cut value is
exact: it is computed from a table of anchors and clusters.
"""

import os
import time

import matplotlib.pyplot as plt
import numpy as np

import leastcut

n = int(os.environ.get("LEASTCUT_EXAMPLE_POINTS", 1_000_000))

# %%
# The data are four clusters of very different sizes: a ring around two disks and an arc.

rng = np.random.default_rng(0)
part = rng.choice(4, n, p=[0.55, 0.25, 0.1, 0.1])
angle = np.pi * rng.uniform(np.where(part == 1, 1.2, 0.0), np.where(part == 1, 1.8, 2.0))
radius = np.where(part == 1, 0.55, 1.0) + rng.normal(0, 0.05, n)
curves = np.column_stack((radius * np.cos(angle), radius * np.sin(angle)))
eyes = np.column_stack((np.where(part == 2, -0.35, 0.35), np.full(n, 0.3)))
eyes += rng.normal(0, 0.08, (n, 2))
X = np.where(part[:, None] < 2, curves, eyes).astype(np.float32)

start = time.perf_counter()
graph = leastcut.anchor_graph(X, n_anchors=1000, random_state=0)
middle = time.perf_counter()
result = leastcut.partition(graph, 4, effort="fast", random_state=0, lower_bound=False)
stop = time.perf_counter()
print(f"{n:,} points: graph in {middle - start:.1f} s, partition in {stop - middle:.1f} s")
accuracy = leastcut.clustering_accuracy(part, result.labels)
print(f"accuracy {accuracy:.4f}, cut value {result.cut_value:.2g}")

# %%
# Left: a sample of the points, colored by cluster. Right: the anchors; the area of a dot is the
# total weight of the points at this anchor.

shown = rng.choice(n, min(n, 30_000), replace=False)
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
left.scatter(*X[shown].T, c=result.labels[shown], s=0.4, cmap="tab10", vmax=9)
left.set_title(f"{n:,} points, 4 clusters")
right.scatter(*graph.anchors.T, s=10 * graph.masses / graph.masses.mean(), color="black", alpha=0.6)
right.set_title(f"{graph.n_anchors:,} anchors")
for axes in (left, right):
    axes.set(xticks=[], yticks=[], aspect="equal")
plt.show()

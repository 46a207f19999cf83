"""Seconds to the proven optimum of small graphs: sparse, dense, and uniform (no pruning)."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

import leastcut
from leastcut.multilevel.exact import stirling

SIZES = [(15, 2), (28, 2), (15, 3)]


def _graph(kind: str, n: int) -> np.ndarray:
    """Return a connected graph: 20% of all pairs, all pairs, or all pairs with weight 1."""
    rng = np.random.default_rng(n)
    weights = rng.random((n, n))
    if kind == "sparse":
        weights *= rng.random((n, n)) < 0.2
        path = np.arange(n - 1)
        weights[path, path + 1] += 0.05
    elif kind == "uniform":
        weights[:] = 1.0
    upper = np.triu(weights, 1)
    return upper + upper.T


def run(quick: bool = False) -> dict[str, Any]:
    """Return seconds per size, kind of graph and cut."""
    rows = []
    leastcut.exact_partition(_graph("dense", 6), 2)
    for n, n_clusters in SIZES:
        n = min(n, 12) if quick else n
        for kind in ("sparse", "dense", "uniform"):
            graph = _graph(kind, n)
            for cut in ("ratio", "normalized"):
                start = perf_counter()
                best = leastcut.exact_partition(graph, n_clusters, cut)
                rows.append(
                    {
                        "n_nodes": n,
                        "n_clusters": n_clusters,
                        "graph": kind,
                        "cut": cut,
                        "partitions": stirling(n, n_clusters),
                        "cut_value": round(best.cut_value, 6),
                        "seconds": round(perf_counter() - start, 4),
                    }
                )
    return {"rows": rows}

"""Time of the adaptive-neighbors graph, compared with the neighbor search of other libraries alone.

Points in the plane are compared with SciPy's k-d tree, other data with scikit-learn's search. CPU
time is reported with wall time, which other work on the machine increases.
"""

from __future__ import annotations

from functools import partial
from time import perf_counter, process_time
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from sklearn.neighbors import kneighbors_graph

import leastcut

SHAPES = {
    "images": (10_000, 784),
    "small images": (9_298, 256),
    "plane": (70_000, 2),
    "features": (20_000, 50),
    "few samples": (5_000, 20),
    "fewer samples": (2_000, 30),
}

POINTS = {"plane": (1_000_000, 2), "space": (300_000, 3), "eight features": (100_000, 8)}
"""Uniform points; a k-d tree suits those with few features."""


def _samples(n: int, n_features: int) -> np.ndarray:
    """Return ten Gaussian blobs."""
    rng = np.random.default_rng(0)
    centers = 3 * rng.normal(size=(10, n_features))
    return centers[rng.integers(0, 10, size=n)] + rng.normal(size=(n, n_features))


def _seconds(function: Any, *args: Any, repeats: int, **options: Any) -> tuple[float, float]:
    """Return the minimum wall time and the minimum CPU time of a call."""
    times = []
    for _ in range(repeats):
        start, busy = perf_counter(), process_time()
        function(*args, **options)
        times.append((perf_counter() - start, process_time() - busy))
    return min(clock for clock, _ in times), min(busy for _, busy in times)


def _tree_query(X: np.ndarray) -> None:
    """Search with SciPy's k-d tree, which lists each point as its own first neighbor."""
    cKDTree(X).query(X, 10, workers=-1)


def _row(name: str, X: np.ndarray, peer: str, search: Any, repeats: int) -> dict[str, Any]:
    ours, busy = _seconds(leastcut.adaptive_neighbors_graph, X, 10, repeats=repeats)
    theirs, their_busy = _seconds(search, X, repeats=repeats)
    return {
        "data": name,
        "n_samples": len(X),
        "n_features": X.shape[1],
        "seconds": round(ours, 4),
        "processor_seconds": round(busy, 4),
        "peer": peer,
        "peer_seconds": round(theirs, 4),
        "peer_processor_seconds": round(their_busy, 4),
        "ratio": round(ours / theirs, 3),
        "processor_ratio": round(busy / their_busy, 3),
    }


def run(quick: bool = False) -> dict[str, Any]:
    """Return seconds per data shape, and the ratio to the neighbor search of a peer alone."""
    rows = []
    repeats = 1 if quick else 2
    for n_features in (2, 60):  # loads and compiles the code
        leastcut.adaptive_neighbors_graph(_samples(2_000, n_features))
    for name, (n, n_features) in SHAPES.items():
        X = _samples(n // 20 if quick else n, n_features)
        search = partial(kneighbors_graph, n_neighbors=10, n_jobs=-1)
        rows.append(_row(name, X, "sklearn kneighbors_graph", search, repeats))
    for name, (n, n_features) in POINTS.items():
        X = np.random.default_rng(0).random((n // 100 if quick else n, n_features))
        rows.append(_row(name, X, "scipy cKDTree", _tree_query, repeats))
    return {"rows": rows}

"""From samples to the adaptive-neighbour graph, beside scikit-learn's neighbour search alone."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from sklearn.neighbors import kneighbors_graph

import firstcut

SHAPES = {
    "images": (10_000, 784),
    "small images": (9_298, 256),
    "plane": (70_000, 2),
    "features": (20_000, 50),
    "few samples": (5_000, 20),
    "fewer samples": (2_000, 30),
}


def _samples(n: int, n_features: int) -> np.ndarray:
    """Return ten Gaussian blobs."""
    rng = np.random.default_rng(0)
    centers = 3 * rng.normal(size=(10, n_features))
    return centers[rng.integers(0, 10, size=n)] + rng.normal(size=(n, n_features))


def _seconds(function: Any, *args: Any, repeats: int, **options: Any) -> float:
    """Return the least time that a call takes."""
    best = np.inf
    for _ in range(repeats):
        start = perf_counter()
        function(*args, **options)
        best = min(best, perf_counter() - start)
    return float(best)


def run(quick: bool = False) -> dict[str, Any]:
    """Return seconds per data shape, and their ratio to scikit-learn's ``kneighbors_graph``."""
    rows = []
    firstcut.adaptive_neighbors_graph(_samples(200, 20))
    for name, (n, n_features) in SHAPES.items():
        X = _samples(n // 20 if quick else n, n_features)
        repeats = 1 if quick else 2
        ours = _seconds(firstcut.adaptive_neighbors_graph, X, 10, repeats=repeats)
        theirs = _seconds(kneighbors_graph, X, 10, n_jobs=-1, repeats=repeats)
        rows.append(
            {
                "data": name,
                "n_samples": len(X),
                "n_features": n_features,
                "seconds": round(ours, 4),
                "sklearn_kneighbors_seconds": round(theirs, 4),
                "ratio": round(ours / theirs, 3),
            }
        )
    return {"rows": rows}

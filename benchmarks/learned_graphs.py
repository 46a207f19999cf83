"""Learned graphs: components, iterations, seconds and accuracy, compared with a plain cut.

The plain cut is the ratio cut of the initial graph, that of adaptive neighbors. ``learned_graph``
learns from samples (CAN), ``constrained_rank_graph`` from the initial graph (CLR), each with the
indicators of the search's clusters ("multilevel") and with eigenvectors, as published ("spectral").
Datasets used for choosing constants are marked. The papers' data is read from ``LEASTCUT_DATA`` and
divided by its largest value; missing datasets are skipped.

"CAN, as described" is ``_published_can``, the authors' algorithm with full matrices, on datasets of
up to 1,500 samples. Its clusters are its components, whose number may differ from the requested
one.

The last row has 70,000 samples: points between a digit of scikit-learn and one of its ten nearest
neighbors, with noise of variance 1.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, make_circles, make_moons
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import scale

import leastcut
from benchmarks._published_can import published_can
from reproduction import datasets

SETS = ("coil20", "umist", "usps", "jaffe", "yale", "orl", "msra", "glass", "segment")
BUNDLED = ("digits", "iris", "wine", "breast_cancer")
LOOKED_AT = {"umist", "glass", "segment", "usps", "digits", "wine", "breast_cancer"}
"""Datasets used, or seen, while constants were chosen."""

MANY = 70_000
MOST_IN_FULL = 1500
"""Largest number of samples for full matrices."""

SHAPES_DRAWN = 10
"""Number of samples of each shape in the plane; results are averaged."""


def run(quick: bool = False) -> dict[str, Any]:
    """Return a row per dataset."""
    names = (*BUNDLED, *SETS)
    rows = []
    _row("compiles", *_of_name("iris"), quick)
    for name in names[:2] if quick else names:
        try:
            X, y = _of_name(name)
        except FileNotFoundError:
            continue
        rows.append(_row(name, X, y, quick))
        print(rows[-1], flush=True)
    shapes = [_shape(name, 2 if quick else SHAPES_DRAWN) for name in ("moons", "circles")]
    return {"rows": rows, "shapes": shapes, "many": _many(3000 if quick else MANY)}


def _of_name(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return samples divided by their largest value, and their classes."""
    dataset = datasets.load(name, download=False)
    if name == "breast_cancer":  # whose features have different units
        return scale(dataset.X), dataset.y
    return dataset.X / np.abs(dataset.X).max(), dataset.y


def _row(name: str, X: np.ndarray, y: np.ndarray, quick: bool) -> dict[str, Any]:
    c = int(y.max()) + 1
    graph = leastcut.adaptive_neighbors_graph(X, include_self=False)
    begin = perf_counter()
    plain = leastcut.partition(graph, c, "ratio", effort="fast", lower_bound=False, random_state=0)
    methods = {"plain cut": _record(y, plain.labels, perf_counter() - begin)}
    for solver in ("multilevel", "spectral"):
        calls = {"learned": lambda s=solver: leastcut.learned_graph(X, c, solver=s)}
        for norm in ("l2",) if quick else ("l2", "l1"):
            calls[f"nearest {norm}"] = lambda s=solver, norm=norm: leastcut.constrained_rank_graph(
                graph, c, norm, solver=s
            )
        for method, call in calls.items():
            begin = perf_counter()
            result = call()
            seconds = perf_counter() - begin
            record = _record(y, result.labels, seconds) | {
                "n_components": result.n_components,
                "converged": result.converged,
                "n_iter": result.n_iter,
            }
            methods[f"{method}, {solver}"] = record
    if len(y) <= MOST_IN_FULL:
        begin = perf_counter()
        other = published_can(X, c)
        methods["CAN, as described"] = _record(y, other.labels, perf_counter() - begin) | {
            "n_components": other.n_components,
            "converged": other.n_components == c,
            "n_iter": other.n_iter,
        }
    return {
        "data": name,
        "n": len(y),
        "n_clusters": c,
        "looked_at": name in LOOKED_AT,
        "methods": methods,
    }


def _shape(name: str, count: int) -> dict[str, Any]:
    """Return mean accuracies on shapes in the plane with known clusters."""
    draw = {
        "moons": lambda seed: make_moons(400, noise=0.08, random_state=seed),
        "circles": lambda seed: make_circles(400, factor=0.5, noise=0.06, random_state=seed),
    }[name]
    rows = [_row(name, *draw(seed), quick=False) for seed in range(count)]
    means = {
        method: {
            "accuracy": round(float(np.mean([r["methods"][method]["accuracy"] for r in rows])), 3),
            "converged": all(r["methods"][method].get("converged", True) for r in rows),
        }
        for method in rows[0]["methods"]
    }
    return {"data": name, "n": 400, "drawn": count, "methods": means}


def _many(n: int) -> dict[str, Any]:
    """Time many samples, with the indicators of the search's clusters."""
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    near = NearestNeighbors(n_neighbors=11).fit(X).kneighbors(X, return_distance=False)
    first = rng.integers(len(y), size=n)
    second = near[first, rng.integers(1, 11, n)]
    share = rng.random((n, 1))
    samples = share * X[first] + (1 - share) * X[second] + rng.normal(size=(n, X.shape[1]))
    record: list[Any] = []
    begin = perf_counter()
    result = leastcut.learned_graph(samples, 10, callback=record.append)
    seconds = perf_counter() - begin
    return {
        "n": n,
        "n_features": X.shape[1],
        "seconds_of_neighbors": round(record[0].seconds, 1),
        "recall": round(record[0].recall, 3),
        "n_components": result.n_components,
        "converged": result.converged,
        "n_iter": result.n_iter,
        "n_stored": int(result.graph.nnz),
        **_record(y[first], result.labels, seconds),
    }


def _record(y: np.ndarray, labels: np.ndarray, seconds: float) -> dict[str, Any]:
    return {
        "accuracy": round(leastcut.clustering_accuracy(y, labels), 3),
        "nmi": round(leastcut.normalized_mutual_info(y, labels), 3),
        "seconds": round(seconds, 2),
    }

"""Joint partitions of several views, compared with single views, their mean, and eigenvectors.

Each dataset of images has three views (``_image_views``) with one adaptive-neighbors graph each.
The objective Σ_v √cut_v, with normalized cuts, and the agreement with the classes are compared for

- each view alone, and the mean of the graphs, by ``leastcut.partition``;
- the eigenvectors of auto-weighted multiple graph learning (AMGL: Nie, Li, Li, IJCAI 2016) with
  k-means on their rows, implemented from the formulas of the paper;
- ``leastcut.partition_views`` with learned weights, and with equal ones.

Effort and seed are the same. These datasets were not used for choosing constants. Datasets whose
files are missing are skipped.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans

import leastcut
from benchmarks._image_views import VIEWS
from reproduction import datasets

SETS: dict[str, tuple[str, str, str]] = {
    "digits": ("pixels", "Fourier", "Zernike"),
    "umist": ("pixels", "LBP", "HOG"),
    "coil20": ("pixels", "LBP", "HOG"),
    "jaffe": ("pixels", "LBP", "HOG"),
    "yale": ("pixels", "LBP", "HOG"),
    "orl": ("pixels", "LBP", "HOG"),
    "usps": ("pixels", "Fourier", "Zernike"),
}
"""The datasets, with their views."""

QUICK = ("digits",)
EFFORT, SEED = "auto", 0
ROUNDS, CLOSE = 10, 1e-3
"""Maximum number of AMGL iterations, and its tolerance on the weights."""


def run(quick: bool = False) -> dict[str, Any]:
    """Return a row per dataset."""
    rows = {}
    for name in QUICK if quick else SETS:
        try:
            dataset = datasets.load(name, download=False)
        except FileNotFoundError:
            print(f"{name} is not at hand", flush=True)
            continue
        rows[name] = compared(dataset.X, dataset.y, SETS[name], "fast" if quick else EFFORT)
        print(name, rows[name], flush=True)
    return {"effort": "fast" if quick else EFFORT, "seed": SEED, "sets": rows}


def compared(X: Any, y: np.ndarray, names: tuple[str, ...], effort: str) -> dict[str, Any]:
    """Compare all methods on one dataset of square images."""
    side = round(X.shape[1] ** 0.5)
    images = np.asarray(X, dtype=np.float64).reshape(-1, side, side)
    c, graphs = int(np.unique(y).size), [graph_of(VIEWS[name](images)) for name in names]
    options: dict[str, Any] = {"effort": effort, "random_state": SEED, "lower_bound": False}
    ways: dict[str, Any] = {
        name: lambda graph=graph: leastcut.partition(graph, c, **options).labels
        for name, graph in zip(names, graphs, strict=True)
    }
    ways["mean"] = lambda: leastcut.partition(sum(graphs) / len(graphs), c, **options).labels
    ways["AMGL"] = lambda: amgl(graphs, c)
    for name, weights in (("partition_views", "auto"), ("equal weights", "equal")):
        ways[name] = lambda weights=weights: (
            leastcut.partition_views(graphs, c, weights, **options).labels
        )
    scores, labels_by_method = {}, {}
    for name, way in ways.items():
        begin = perf_counter()
        labels_by_method[name] = labels = way()
        seconds = perf_counter() - begin
        cuts = [leastcut.cut_value(graph, labels) for graph in graphs]
        scores[name] = {
            "objective": float(np.sum(np.sqrt(cuts))),
            "cuts": cuts,
            "nmi": round(leastcut.normalized_mutual_info(y, labels), 4),
            "accuracy": round(leastcut.clustering_accuracy(y, labels), 4),
            "seconds": round(seconds, 2),
        }
    # The bounds hold for all partitions, so a short search from the labels suffices.
    init = labels_by_method["partition_views"]
    bounded = leastcut.partition_views(
        graphs, c, effort="fast", init=init, random_state=SEED, lower_bound=True
    )
    return {
        "n": len(y),
        "n_clusters": c,
        "views": list(names),
        "ways": scores,
        "weights": [0.5 / cut**0.5 for cut in scores["partition_views"]["cuts"]],
        "lower_bound": bounded.lower_bound,
    }


def graph_of(features: np.ndarray) -> sp.csr_array:
    """Return the graph of a view, with features divided by their maximum."""
    return leastcut.adaptive_neighbors_graph(features / np.abs(features).max())


def amgl(graphs: list[sp.csr_array], n_clusters: int) -> np.ndarray:
    """Alternate weights 1 / (2 √tr(Fᵀ L_v F)) and eigenvectors F, then apply k-means."""
    operators = [leastcut.operator(graph) for graph in graphs]
    weights = np.ones(len(graphs))
    rng = np.random.default_rng(SEED)
    start = rng.normal(size=graphs[0].shape[0])
    for _ in range(ROUNDS):
        total = sum(weight * operator for weight, operator in zip(weights, operators, strict=True))
        # Smallest eigenvectors, as the largest of a shifted matrix.
        shift = 2.0 * float(weights.sum())
        turned = sp.csr_array(shift * sp.eye_array(start.size) - total)
        _, vectors = sp.linalg.eigsh(turned, n_clusters, which="LA", v0=start, ncv=4 * n_clusters)
        traces = [np.sum(vectors * (operator @ vectors)) for operator in operators]
        before, weights = weights, 0.5 / np.sqrt(traces)
        if np.allclose(before / before.sum(), weights / weights.sum(), rtol=CLOSE, atol=0):
            break
    return np.asarray(KMeans(n_clusters, n_init=20, random_state=SEED).fit_predict(vectors))

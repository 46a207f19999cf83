"""Input conversion: time of reading a graph, time and accuracy of recognizing distances.

Times are relative: reading a networkx graph to networkx's conversion to a matrix, and the distance
check to the fastest partition. Alarms are counted on distances, full and of neighbors, and on
affinities and networks of many kinds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import networkx as nx
import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn import datasets
from sklearn.neighbors import kneighbors_graph, radius_neighbors_graph

import leastcut
from leastcut.distance_check import looks_like_distances
from leastcut.graph import as_graph

METRICS = ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine", "correlation")
KERNELS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "gaussian": lambda d: np.exp(-(d**2)),
    "narrow gaussian": lambda d: np.exp(-25 * d**2),
    "wide gaussian": lambda d: np.exp(-0.01 * d**2),
    "laplacian": lambda d: np.exp(-d),
    "inverse": lambda d: 1 / (0.1 + d),
    "cauchy": lambda d: 1 / (1 + d**2),
    "linear": lambda d: d.max() + 1e-6 - d,
}
"""Affinities as functions of distances with median 1."""


def run(quick: bool = False) -> list[dict[str, object]]:
    """Time conversion and check, and count alarms."""
    return [reading(quick), checking(quick), *alarms(quick)]


def best(call: Callable[[], object], times: int = 3) -> float:
    """Return the minimum of a few times of a call."""
    seconds = []
    for _ in range(times):
        begin = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


def reading(quick: bool) -> dict[str, object]:
    """Time the conversion of a networkx graph, by leastcut and by networkx."""
    n = 2_000 if quick else 50_000
    graph = nx.gnm_random_graph(n, 5 * n, seed=0)
    ours = best(lambda: as_graph(graph))
    theirs = best(lambda: as_graph(nx.to_scipy_sparse_array(graph)))
    return {
        "what": "reading networkx",
        "edges": 5 * n,
        "seconds": round(ours, 3),
        "part of its own conversion": round(ours / theirs, 2),
    }


def checking(quick: bool) -> dict[str, object]:
    """Time the distance check on a large sparse graph, and a partition."""
    n = 5_000 if quick else 300_000
    X = np.random.default_rng(0).random((n, 3))
    graph = as_graph(leastcut.adaptive_neighbors_graph(X, n_neighbors=10))
    look = best(lambda: looks_like_distances(graph.matrix))
    total = best(lambda: leastcut.partition(graph, 10, effort="fast", random_state=0), 1)
    return {
        "what": "looking for distances",
        "nodes": n,
        "milliseconds": round(1e3 * look, 2),
        "part of the fastest partition": float(f"{look / total:.1g}"),
    }


def alarms(quick: bool) -> Iterator[dict[str, object]]:
    """Count alarms among distances and among affinities."""
    points = list(samples(quick))
    for what, graphs in (
        ("distances of all pairs", full_distances(points)),
        ("distances of neighbours", listed_distances(points)),
        ("affinities of points", affinities(points)),
        ("networks", networks(quick)),
    ):
        answers = {name: looks_like_distances(as_graph(S).matrix) for name, S in graphs}
        is_expected = what.startswith("distances")
        others = [name for name, answer in answers.items() if answer != is_expected]
        yield {
            "what": what,
            "matrices": len(answers),
            "alarms": sum(answers.values()),
            "missed" if is_expected else "false alarms": others,
        }


def samples(quick: bool) -> Iterator[tuple[str, np.ndarray]]:
    """Yield samples by name."""
    rng = np.random.default_rng(0)
    yield "iris", datasets.load_iris().data
    if quick:
        return
    yield "wine", datasets.load_wine().data
    yield "digits", datasets.load_digits().data
    yield "cancer", datasets.load_breast_cancer().data
    yield "diabetes", datasets.load_diabetes().data
    yield "moons", datasets.make_moons(400, noise=0.05, random_state=0)[0]
    yield "swiss roll", datasets.make_swiss_roll(400, random_state=0)[0]
    yield "blobs", datasets.make_blobs(400, n_features=5, centers=8, random_state=0)[0]
    for n_features in (1, 2, 3, 5, 10, 50):
        yield f"normal {n_features}", rng.normal(size=(400, n_features))
        yield f"uniform {n_features}", rng.random((400, n_features))


def full_distances(points: list[tuple[str, np.ndarray]]) -> Iterator[tuple[str, np.ndarray]]:
    """Yield distances between all pairs."""
    for name, X in points:
        for metric in METRICS if X.shape[1] > 2 else METRICS[:4]:
            D = cdist(X, X, metric)
            D = np.maximum((D + D.T) / 2, 0.0)
            np.fill_diagonal(D, 0.0)
            yield f"{name}, {metric}", D


def listed_distances(points: list[tuple[str, np.ndarray]]) -> Iterator[tuple[str, sp.csr_array]]:
    """Yield distances to neighbors only."""
    for name, X in points:
        for k in (7, 15, 30):
            D = kneighbors_graph(X, k, mode="distance")
            yield f"{name}, {k} neighbours", sp.csr_array(D.maximum(D.T))
        radius = np.quantile(cdist(X[:200], X), 0.05)
        D = sp.csr_array(radius_neighbors_graph(X, radius, mode="distance"))
        yield f"{name}, within a radius", sp.csr_array(D.maximum(D.T))


def affinities(points: list[tuple[str, np.ndarray]]) -> Iterator[tuple[str, object]]:
    """Yield graphs of points, of all pairs and of neighbors, without self-loops."""
    for name, X in points:
        for kind in ("adaptive_neighbors", "nearest_neighbors", "self_tuning"):
            yield f"{name}, {kind}", getattr(leastcut, f"{kind}_graph")(X)
        D = cdist(X, X)
        D = (D + D.T) / (2 * np.median(D))
        near = kneighbors_graph(X, 10).toarray()
        for kernel, affinity in KERNELS.items():
            S = affinity(D)
            np.fill_diagonal(S, 0.0)
            yield f"{name}, {kernel}", S
            yield f"{name}, {kernel} of neighbours", S * np.maximum(near, near.T)


def networks(quick: bool) -> Iterator[tuple[str, sp.csr_array]]:
    """Yield networks without weights, with random weights, and with weights from degrees."""
    rng = np.random.default_rng(1)
    sampled_points = {
        "karate": nx.karate_club_graph(),
        "novel": nx.les_miserables_graph(),
        "small world": nx.watts_strogatz_graph(300, 10, 0.1, seed=0),
        "hubs": nx.barabasi_albert_graph(300, 5, seed=0),
        "clustered hubs": nx.powerlaw_cluster_graph(300, 5, 0.7, seed=0),
        "blocks": nx.planted_partition_graph(5, 60, 0.3, 0.01, seed=0),
        "near points": nx.random_geometric_graph(300, 0.12, seed=0),
        "caves": nx.relaxed_caveman_graph(20, 12, 0.1, seed=0),
        "grid": nx.grid_2d_graph(20, 20),
        "any": nx.gnm_random_graph(200, 4000, seed=0),
    }
    for name, graph in list(sampled_points.items())[: 2 if quick else None]:
        yield name, sp.csr_array(nx.to_scipy_sparse_array(graph, dtype=float))
        S = sp.csr_array(nx.to_scipy_sparse_array(graph, weight=None, dtype=float))
        degrees = S.sum(axis=1)
        i, j = sp.triu(S, 1).tocoo().coords
        common = np.asarray((S @ S)[i, j]).reshape(-1)
        for kind, weights in {
            "uniform": rng.random(i.size),
            "heavy tails": rng.pareto(1.5, i.size) + 0.1,
            "counts": rng.integers(1, 9, i.size).astype(float),
            "products of degrees": degrees[i] * degrees[j],
            "inverse degrees": 1 / np.sqrt(degrees[i] * degrees[j]),
            "in common": 1.0 + common,
            "part in common": (1.0 + common) / (degrees[i] + degrees[j] - common),
        }.items():
            upper = sp.coo_array((weights, (i, j)), shape=S.shape).tocsr()
            yield f"{name}, {kind}", sp.csr_array(upper + upper.T)

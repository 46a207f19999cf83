"""The cost of choosing the number of clusters, and the quality and cost of a path of cuts.

``choice`` compares a fit with ``n_clusters="auto"`` with a fit with the chosen number, including
the affinity graph in both. ``path`` compares all partitions of a path with separate searches of the
same effort and seed. Seconds are CPU seconds of one thread. The paper's graphs are included if
their files are available.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_wine, make_blobs, make_moons
from sklearn.preprocessing import scale

import leastcut
from benchmarks._graphs import paper_graphs

PAPER = ["glass"]
CENTERS = 10
SPREADS = {"apart": 1.0, "touching": 4.0, "overlapping": 6.0}
WITHIN = 1.02
"""Largest acceptable ratio of a value of a path to that of a separate search."""


def run(quick: bool = False) -> dict[str, Any]:
    """Return a row per choice and per path, and the worst of each."""
    warnings.simplefilter("ignore", UserWarning)
    choices, paths = list(_choices(quick)), list(_paths(quick))
    return {
        "choice": choices,
        "path": paths,
        "largest": {
            "choice_ratio": max(row["ratio"] for row in choices),
            "value_ratio": max(row["largest_value_ratio"] for row in paths),
            "values_above_2_percent": sum(row["above_2_percent"] for row in paths),
            "values": sum(len(row["value_ratios"]) for row in paths),
            "falls": sum(row["falls"] for row in paths),
        },
    }


def _choices(quick: bool) -> Iterator[dict[str, Any]]:
    """Yield the cost of choosing, for separated, touching and overlapping groups."""
    _fit(make_blobs(300, random_state=0)[0], "auto", "balanced")  # loads the compiled code
    for n in (600,) if quick else (2000, 20_000):
        for name, spread in SPREADS.items():
            X, _ = make_blobs(n, n_features=20, centers=CENTERS, cluster_std=spread, random_state=0)
            for effort in ("fast", "balanced"):
                model, auto = _timed(lambda X=X, effort=effort: _fit(X, "auto", effort))
                k = model.n_clusters_
                _, given = _timed(lambda X=X, k=k, effort=effort: _fit(X, k, effort))
                _, rest = _timed(lambda model=model: model.cut_path_.table())
                yield {
                    "groups": name,
                    "n": n,
                    "n_features": 20,
                    "effort": effort,
                    "n_clusters": k,
                    "auto_s": auto,
                    "given_s": given,
                    "ratio": auto / given,
                    "path_afterwards_s": rest,
                }


def _paths(quick: bool) -> Iterator[dict[str, Any]]:
    """Yield comparisons of a path with separate searches."""
    ranges = {"2..29": range(2, 30), "2, 8, 32": [2, 8, 32]}
    for name, graph in _graphs(quick):
        for cut in ("normalized", "ratio"):
            for effort in ("fast",) if quick else ("fast", "balanced"):
                alone: dict[int, tuple[float, float]] = {}
                for numbers in ranges.values():
                    for k in numbers:
                        if k not in alone:
                            result, seconds = _timed(
                                lambda graph=graph, k=k, cut=cut, effort=effort: leastcut.partition(
                                    graph, k, cut, effort=effort, random_state=0, n_jobs=1
                                )
                            )
                            alone[k] = result.cut_value, seconds
                for title, numbers in ranges.items():
                    path, seconds = _timed(
                        lambda graph=graph, numbers=numbers, cut=cut, effort=effort: (
                            leastcut.cut_path(
                                graph,
                                numbers,
                                affinity="precomputed",
                                cut=cut,
                                effort=effort,
                                random_state=0,
                            )
                        )
                    )
                    values = path.cut_values
                    ratios = [_ratio(path[k].cut_value, alone[k][0]) for k in path]
                    singly = sum(alone[k][1] for k in path)
                    yield {
                        "graph": name,
                        "n": graph.shape[0],
                        "cut": cut,
                        "effort": effort,
                        "numbers": title,
                        "path_s": seconds,
                        "singly_s": singly,
                        "largest_value_ratio": max(ratios),
                        "mean_value_ratio": float(np.mean(ratios)),
                        "above_2_percent": sum(ratio > WITHIN for ratio in ratios),
                        "falls": int(np.sum(values[:-1] > values[1:] * (1 + 1e-12))),
                        "value_ratios": [round(ratio, 5) for ratio in ratios],
                    }


def _graphs(quick: bool) -> Iterator[tuple[str, sp.csr_array]]:
    """Yield synthetic graphs, digits and the paper's graphs."""
    n = 200 if quick else 1000
    samples = {
        "moons": make_moons(n, noise=0.07, random_state=0)[0],
        "wine": scale(load_wine().data),
    }
    if not quick:
        samples["digits"] = load_digits().data / 16
    for name, X in samples.items():
        yield name, sp.csr_array(leastcut.adaptive_neighbors_graph(X, 10))
    if not quick:
        for name, graph, _ in paper_graphs(PAPER):
            yield name, graph


def _ratio(value: float, other: float) -> float:
    """Return the ratio of two values; 1 if both are 0."""
    return 1.0 if value == other else value / other


def _fit(X: np.ndarray, n_clusters: Any, effort: str) -> leastcut.SpectralClustering:
    return leastcut.SpectralClustering(n_clusters, effort=effort, n_jobs=1, random_state=0).fit(X)


def _timed(task: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of a task and its CPU seconds."""
    begin = time.process_time()
    return task(), time.process_time() - begin

"""``partition`` compared with its alternatives: cut values and seconds on the same graphs.

The peers are scikit-learn's spectral clustering with all solvers and label assignments, pymetis and
KaHIP (which minimize the edge cut of equal parts), and the paper's methods; their labels are also
passed through ``refine``. Peers that are not installed are skipped.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp

import leastcut
from benchmarks._graphs import fashion_graph, hard_graphs, paper_graphs

CUTS = ("ratio", "normalized")
LARGE = 20_000
PAPER_METHODS = ("kmeans", "rotation", "improved_rotation", "first_order")
WEIGHT_SCALE = 1000


def run(quick: bool = False) -> dict[str, Any]:
    """Return a row per graph, cut and method, and a summary."""
    warnings.filterwarnings("ignore", module="sklearn|pymetis|scipy")
    graphs = [*paper_graphs(["wine", "glass"] if quick else None), *hard_graphs(quick)]
    full = None if quick else fashion_graph()
    if full is not None:
        graphs.append(("fashion, all 70,000", full, 10))
    _warm_up()
    rows: list[dict[str, Any]] = []
    for name, graph, n_clusters in graphs:
        about = {"graph": name, "n_nodes": graph.shape[0], "n_clusters": n_clusters}
        for row in _rows(graph, n_clusters, quick):
            rows.append({**about, **row})
    optimal = {effort: _optimal(effort, 10 if quick else 100) for effort in ("fast", "thorough")}
    return {"rows": rows, "summary": _summary(rows), "optimal_of_small_random_graphs": optimal}


def _rows(graph: sp.csr_array, c: int, quick: bool) -> Iterator[dict[str, Any]]:
    large = graph.shape[0] > LARGE
    for effort in ("fast", "balanced", "thorough"):
        for cut in CUTS:
            limit = 5.0 if quick else 10.0
            result, seconds = _timed(
                lambda cut=cut, effort=effort, limit=limit: leastcut.partition(
                    graph, c, cut, effort=effort, random_state=0, time_limit=limit
                ),
                repeats=3 if large and effort == "fast" else 1,
            )
            yield _row(f"leastcut {effort}", cut, result.cut_value, seconds)
    for method, label in _peers(graph, c, quick):
        try:
            labels, seconds = _timed(label, repeats=3 if large and method == "pymetis" else 1)
        except (ImportError, ValueError, ArithmeticError, np.linalg.LinAlgError) as reason:
            yield {"method": method, "failed": f"{type(reason).__name__}: {reason}"[:200]}
            continue
        for cut in CUTS:
            value = leastcut.cut_value(graph, labels, cut)
            refined = leastcut.refine(graph, labels, cut).cut_value
            found_clusters = int(np.unique(labels).size)
            row = _row(method, cut, value, seconds)
            if found_clusters != c:
                row["clusters_found"] = found_clusters
            yield {**row, "refined": refined}


def _optimal(effort: str, trials: int) -> float:
    """Return the fraction of random graphs with 5 to 14 nodes whose optimum is found."""
    rng = np.random.default_rng(5)
    hits = 0
    for trial in range(trials):
        n, c = int(rng.integers(5, 15)), int(rng.integers(2, 4))
        upper = np.triu(rng.random((n, n)) * (rng.random((n, n)) < rng.choice([0.2, 0.5, 1.0])))
        graph = upper + np.triu(upper, 1).T
        isolated = np.flatnonzero(~graph.any(axis=1))
        graph[isolated, isolated] = 0.5
        cut = CUTS[trial % 2]
        optimum = leastcut.exact_partition(graph, c, cut).cut_value
        result = leastcut.partition(graph, c, cut, effort=effort, random_state=trial)
        hits += result.cut_value <= optimum * (1 + 1e-9) + 1e-15
    return hits / trials


def _peers(graph: sp.csr_array, c: int, quick: bool) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the name of each peer and a function that returns its labels."""
    n = graph.shape[0]
    plain = sp.csr_array(graph - sp.diags_array(graph.diagonal()))  # without self-loops
    plain.eliminate_zeros()
    # METIS and KaHIP need integer weights.
    weights = np.maximum(1, np.rint(plain.data / plain.data.max() * WEIGHT_SCALE)).astype(np.int64)
    yield "pymetis", lambda: _pymetis(plain, weights, c)
    yield "kahip", lambda: _kahip(plain, weights, c)
    if n > LARGE:  # shift-invert takes minutes
        routes = [("lobpcg", "cluster_qr"), ("amg", "cluster_qr")]
    else:
        solvers = ["arpack"] if quick else ["arpack", "lobpcg", "amg"]
        routes = [(s, a) for s in solvers for a in ("kmeans", "discretize", "cluster_qr")]
    for solver, assign in routes if c <= 50 else []:
        yield (
            f"scikit-learn {solver} {assign}",
            lambda solver=solver, assign=assign: _sklearn(graph, c, solver, assign),
        )
    if n <= LARGE and c <= 50:
        for cut in CUTS:
            relaxation = leastcut.relax(graph, c, cut, random_state=0)
            for method in PAPER_METHODS:
                yield (
                    f"paper {method}, {cut}",
                    lambda method=method, relaxation=relaxation: (
                        leastcut.discretize(relaxation, method, random_state=0).labels
                    ),
                )


def _pymetis(graph: sp.csr_array, weights: np.ndarray, c: int) -> np.ndarray:
    import pymetis

    adjacency = pymetis.CSRAdjacency(graph.indptr, graph.indices)
    return np.array(pymetis.part_graph(c, adjacency, eweights=weights)[1])


def _kahip(graph: sp.csr_array, weights: np.ndarray, c: int) -> np.ndarray:
    import kahip

    ones = [1] * graph.shape[0]
    eco, seed, imbalance = 1, 0, 0.03
    lists = ones, graph.indptr.tolist(), weights.tolist(), graph.indices.tolist()
    return np.array(kahip.kaffpa(*lists, c, imbalance, True, seed, eco)[1])


def _sklearn(graph: sp.csr_array, c: int, solver: str, assign: str) -> np.ndarray:
    from sklearn.cluster import SpectralClustering

    model = SpectralClustering(
        c, affinity="precomputed", eigen_solver=solver, assign_labels=assign, random_state=0
    )
    return np.asarray(model.fit(sp.csr_matrix(graph)).labels_)


def _row(method: str, cut: str, value: float, seconds: float) -> dict[str, Any]:
    return {"method": method, "cut": cut, "cut_value": value, "seconds": round(seconds, 4)}


def _timed(function: Callable[[], Any], repeats: int) -> tuple[Any, float]:
    """Return the result of a function and its minimum time."""
    seconds = []
    for _ in range(repeats):
        begin = perf_counter()
        result = function()
        seconds.append(perf_counter() - begin)
    return result, min(seconds)


def _warm_up() -> None:
    """Compile or load all kernels before timing."""
    _, graph, c = next(hard_graphs(quick=True))
    for cut in CUTS:
        leastcut.partition(graph, c, cut, effort="balanced", random_state=0)


def _summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the best peer per graph and cut, and leastcut's value and time relative to it."""
    rows = [row for row in rows if "failed" not in row]
    summary = []
    for name, cut in dict.fromkeys((row["graph"], row["cut"]) for row in rows):
        here = [row for row in rows if (row["graph"], row["cut"]) == (name, cut)]
        ours = {row["method"]: row for row in here if row["method"].startswith("leastcut")}
        peers = [row for row in here if row["method"] not in ours and "clusters_found" not in row]
        line: dict[str, Any] = {"graph": name, "cut": cut}
        if peers:
            best = min(peers, key=lambda row: row["cut_value"])
            line["best_peer"] = best["method"]
            line["best_peer_over_balanced"] = round(
                best["cut_value"] / ours["leastcut balanced"]["cut_value"], 4
            )
            line["best_refined_peer_over_balanced"] = round(
                min(row["refined"] for row in peers) / ours["leastcut balanced"]["cut_value"], 4
            )
        metis = [row["seconds"] for row in peers if row["method"] == "pymetis"]
        sklearn = [row["seconds"] for row in peers if row["method"].startswith("scikit-learn")]
        if metis:
            line["fast_over_pymetis_seconds"] = round(
                ours["leastcut fast"]["seconds"] / metis[0], 3
            )
        if sklearn:
            line["sklearn_over_balanced_seconds"] = round(
                min(sklearn) / ours["leastcut balanced"]["seconds"], 2
            )
        summary.append(line)
    return summary

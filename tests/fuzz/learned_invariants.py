"""Laws of learned graphs, and of nodes without edges whose neighbours stored zeros name."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

import leastcut
from fuzz.cases import GraphCase, PointsCase
from fuzz.outcome import only_if, require

MOST_SAMPLES = 60
"""Samples up to which graphs are learned."""

LEARNED = "leastcut.learned_graph(X, n_clusters, n_neighbors, solver=solver, random_state=0)"
PLACED = "leastcut.partition(S, n_clusters, isolated='ignore', effort='fast', random_state=0)"


def learned_graph_is_right(case: PointsCase) -> None:
    """A learned graph has c components where it says so, rows of weight 1, and never got worse."""
    found = _learned(case, case.X)
    n, c = case.n, case.n_clusters
    count, component = connected_components(found.graph, directed=False)
    require(found.converged == (count == c), f"{count} components, {found.converged=}", LEARNED)
    require(found.n_components == count, f"{found.n_components} for {count} components", LEARNED)
    require(np.array_equal(np.unique(found.labels), np.arange(c)), "clusters are missing", LEARNED)
    if found.converged:
        pairs = set(zip(component.tolist(), found.labels.tolist(), strict=True))
        require(len(pairs) == c, "labels are not the components", LEARNED)
    total = float(found.graph.sum())
    require(abs(total - n) <= 1e-9 * n, f"weights add up to {total!r} for {n} rows", LEARNED)
    steps = [found.history[name] for name in ("before", "after_weights", "after_vectors")]
    for before, after in (steps[:2], steps[1:]):
        require(bool((after <= before).all()), "the objective rises in a half-step", LEARNED)
    same = found.history["penalty"][1:] == found.history["penalty"][:-1]
    rises = steps[0][1:][same] > steps[2][:-1][same]
    require(not rises.any(), "the objective rises from turn to turn", LEARNED)


def learned_graph_is_the_same_again(case: PointsCase) -> None:
    """A seed fixes a learned graph; samples times a power of two have the same one."""
    only_if(case.number % 2 == 0)
    one = _learned(case, case.X)
    again = _learned(case, case.X, n_jobs=2)
    require(np.array_equal(one.labels, again.labels), "other labels, same seed", LEARNED)
    factor = 2.0**case.exponent
    with np.errstate(over="ignore", under="ignore"):
        scaled = case.X * factor
        only_if(bool(np.isfinite(scaled).all() and (scaled / factor == case.X).all()))
    # Where samples are scaled on the way, scales may differ, and rounding with them.
    other = _learned(case, scaled, max_iter=1)
    first = _learned(case, case.X, max_iter=1)
    difference = abs(first.graph - other.graph).max() if first.graph.nnz else 0.0
    require(difference <= 1e-9, f"graphs differ by {difference!r}", LEARNED)


def _learned(case: PointsCase, X: np.ndarray, **options: Any) -> leastcut.LearnedGraph:
    only_if(3 <= case.n <= MOST_SAMPLES)
    few = min(case.n_neighbors, case.n - 2)
    solver = ("multilevel", "spectral")[case.number % 2]
    return leastcut.learned_graph(X, case.n_clusters, few, solver=solver, random_state=0, **options)


def isolated_nodes_join_their_neighbors(case: GraphCase) -> None:
    """A node without edges is in a cluster of those that stored zeros join it to."""
    only_if(case.n <= 300 and case.i.size > 0)
    rng = np.random.default_rng([case.number, 1])
    off = case.i != case.j
    # All edges of some nodes are idle; their loops go, as a loop is an edge.
    idle = rng.random(case.n) < rng.choice([0.1, 0.4])
    touched = idle[case.i] | idle[case.j]
    keep = off | ~touched
    i, j, weights = case.i[keep], case.j[keep], np.where(touched, 0.0, case.weights)[keep]
    both = np.concatenate([i, j[i != j]]), np.concatenate([j, i[i != j]])
    values = np.concatenate([weights, weights[i != j]])
    S = sp.coo_array((values, both), shape=(case.n, case.n)).tocsr()
    bare = S.copy()
    bare.eliminate_zeros()
    isolated = np.diff(bare.indptr) == 0
    core = case.n - np.count_nonzero(isolated)
    only_if(core >= case.n_clusters and core < case.n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = leastcut.partition(
            S, case.n_clusters, isolated="ignore", effort="fast", random_state=0
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        other = leastcut.partition(
            bare, case.n_clusters, isolated="ignore", effort="fast", random_state=0
        )
    require(
        math.isclose(found.cut_value, other.cut_value, rel_tol=1e-12),
        f"{found.cut_value!r} with stored zeros, {other.cut_value!r} without",
        PLACED,
    )
    astray = _astray(S, found.labels, isolated)
    require(not astray, f"nodes {astray[:5]} are in no cluster of their neighbours", PLACED)


def _astray(S: sp.csr_array, labels: np.ndarray, isolated: np.ndarray) -> list[int]:
    """Return isolated nodes that no stored entry joins to their cluster, though some could."""
    component = _pattern(S)
    reached = np.zeros(component.max() + 1, dtype=bool)
    reached[component[~isolated]] = True
    return [
        int(node)
        for node in np.flatnonzero(isolated & reached[component])
        if labels[node] not in labels[S.indices[S.indptr[node] : S.indptr[node + 1]]]
    ]


def _pattern(S: sp.csr_array) -> np.ndarray:
    """Return the components of the stored entries, whatever their weight."""
    ones = sp.csr_array((np.ones(S.nnz), S.indices, S.indptr), shape=S.shape)
    return np.asarray(connected_components(ones, directed=False)[1])

"""Invariants of learned graphs, and of isolated nodes with stored zeros."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

import leastcut
from fuzz.cases import GraphCase, PointsCase
from fuzz.outcome import assume, require

MOST_SAMPLES = 60
"""Samples up to which graphs are learned."""

LEARNED = "leastcut.learned_graph(X, n_clusters, n_neighbors, solver=solver, random_state=0)"
PLACED = "leastcut.partition(S, n_clusters, isolated='ignore', effort='fast', random_state=0)"


def learned_graph_is_right(case: PointsCase) -> None:
    """A converged learned graph has c components; rows sum to 1, and the objective never rises."""
    result = _learned(case, case.X)
    n, c = case.n, case.n_clusters
    count, component = connected_components(result.graph, directed=False)
    require(result.converged == (count == c), f"{count} components, {result.converged=}", LEARNED)
    require(result.n_components == count, f"{result.n_components} for {count} components", LEARNED)
    require(np.array_equal(np.unique(result.labels), np.arange(c)), "clusters are missing", LEARNED)
    if result.converged:
        pairs = set(zip(component.tolist(), result.labels.tolist(), strict=True))
        require(len(pairs) == c, "labels are not the components", LEARNED)
    total = float(result.graph.sum())
    require(abs(total - n) <= 1e-9 * n, f"weights sum to {total!r} for {n} rows", LEARNED)
    steps = [result.history[name] for name in ("before", "after_weights", "after_vectors")]
    for before, after in (steps[:2], steps[1:]):
        require(bool((after <= before).all()), "the objective rises in a half-step", LEARNED)
    same = result.history["penalty"][1:] == result.history["penalty"][:-1]
    rises = steps[0][1:][same] > steps[2][:-1][same]
    require(not rises.any(), "the objective rises between iterations", LEARNED)


def learned_graph_is_the_same_again(case: PointsCase) -> None:
    """A seed determines a learned graph, which is invariant to scaling by powers of two."""
    assume(case.number % 2 == 0)
    one = _learned(case, case.X)
    again = _learned(case, case.X, n_jobs=2)
    require(np.array_equal(one.labels, again.labels), "other labels, same seed", LEARNED)
    factor = 2.0**case.exponent
    with np.errstate(over="ignore", under="ignore"):
        scaled = case.X * factor
        assume(bool(np.isfinite(scaled).all() and (scaled / factor == case.X).all()))
    # Internal scaling may differ, and rounding with it; compare one iteration.
    other = _learned(case, scaled, max_iter=1)
    first = _learned(case, case.X, max_iter=1)
    difference = abs(first.graph - other.graph).max() if first.graph.nnz else 0.0
    require(difference <= 1e-9, f"graphs differ by {difference!r}", LEARNED)


def _learned(case: PointsCase, X: np.ndarray, **options: Any) -> leastcut.LearnedGraph:
    assume(3 <= case.n <= MOST_SAMPLES)
    few = min(case.n_neighbors, case.n - 2)
    solver = ("multilevel", "spectral")[case.number % 2]
    return leastcut.learned_graph(X, case.n_clusters, few, solver=solver, random_state=0, **options)


def isolated_nodes_join_their_neighbors(case: GraphCase) -> None:
    """An isolated node joins the cluster of a node to which a stored zero connects it."""
    assume(case.n <= 300 and case.i.size > 0)
    rng = np.random.default_rng([case.number, 1])
    off = case.i != case.j
    # Set all edges of some nodes to zero and remove their loops.
    zeroed = rng.random(case.n) < rng.choice([0.1, 0.4])
    touched = zeroed[case.i] | zeroed[case.j]
    keep = off | ~touched
    i, j, weights = case.i[keep], case.j[keep], np.where(touched, 0.0, case.weights)[keep]
    both = np.concatenate([i, j[i != j]]), np.concatenate([j, i[i != j]])
    values = np.concatenate([weights, weights[i != j]])
    S = sp.coo_array((values, both), shape=(case.n, case.n)).tocsr()
    bare = S.copy()
    bare.eliminate_zeros()
    isolated = np.diff(bare.indptr) == 0
    core = case.n - np.count_nonzero(isolated)
    assume(core >= case.n_clusters and core < case.n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        result = leastcut.partition(
            S, case.n_clusters, isolated="ignore", effort="fast", random_state=0
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        other = leastcut.partition(
            bare, case.n_clusters, isolated="ignore", effort="fast", random_state=0
        )
    require(
        math.isclose(result.cut_value, other.cut_value, rel_tol=1e-12),
        f"{result.cut_value!r} with stored zeros, {other.cut_value!r} without",
        PLACED,
    )
    misplaced = _misplaced(S, result.labels, isolated)
    require(not misplaced, f"nodes {misplaced[:5]} are in no cluster of their neighbors", PLACED)


def _misplaced(S: sp.csr_array, labels: np.ndarray, isolated: np.ndarray) -> list[int]:
    """Return the isolated nodes that could join the cluster of a neighbor, but did not."""
    component = _pattern(S)
    reached = np.zeros(component.max() + 1, dtype=bool)
    reached[component[~isolated]] = True
    return [
        int(node)
        for node in np.flatnonzero(isolated & reached[component])
        if labels[node] not in labels[S.indices[S.indptr[node] : S.indptr[node + 1]]]
    ]


def _pattern(S: sp.csr_array) -> np.ndarray:
    """Return the components of the graph of all stored entries."""
    ones = sp.csr_array((np.ones(S.nnz), S.indices, S.indptr), shape=S.shape)
    return np.asarray(connected_components(ones, directed=False)[1])

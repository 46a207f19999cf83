"""Invariants of cut values, lower bounds and optima, compared with exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import scipy.sparse as sp

import leastcut
from fuzz.cases import GraphCase
from fuzz.exact import MOST_DECIMAL, MOST_ENUMERATED, frame_sum, node_weights
from fuzz.outcome import assume, at_most, close, require, shown

MOST_EDGES = 50_000
"""Edges up to which a cut value is computed exactly."""

MOST_DENSE = 700
"""Nodes up to which bounds are compared with eigenvalues of LAPACK."""

MOST_SOLVED = 300
"""Nodes up to which every eigensolver is checked."""

VALUE_SLACK = Fraction(1, 10**12)
"""Relative error that a cut value may have."""

FULL = 1e-280, 1e150
"""Norms between which a matrix can be normalized without loss of precision."""

N_FRAMES = 3
"""Number of partitions by gaps between weights whose indicators bound the eigenvalues."""

BOUND = "leastcut.lower_bound(S, n_clusters, cut, random_state=0)"
PARTITION = "leastcut.partition(S, n_clusters, cut, lower_bound=True, **settings)"


def value_is_exact(case: GraphCase) -> None:
    """`cut_value` equals the value in rational arithmetic, to 1e-12."""
    assume(case.i.size <= MOST_EDGES)
    value, expected = (
        leastcut.cut_value(case.matrix, case.labels, case.cut),
        case.exact.value(case.labels),
    )
    require(
        close(value, expected, VALUE_SLACK, 2 * case.n_clusters),
        f"cut_value is {value!r}, expected {shown(expected)}",
        "leastcut.cut_value(S, labels, cut)",
    )


def reported_value_is_exact(case: GraphCase) -> None:
    """The `cut_value` of a partition equals the exact value of its labels, to 1e-12."""
    assume(case.i.size <= MOST_EDGES)
    value, expected = case.partition.cut_value, case.exact.value(case.partition.labels)
    require(
        close(value, expected, VALUE_SLACK, 2 * case.n_clusters),
        f"partition reports {value!r}, expected {shown(expected)}",
        PARTITION,
    )


def bound_is_below_cuts(case: GraphCase) -> None:
    """`lower_bound` is at least 0 and at most the cut value of any known partition."""
    assume(case.i.size <= MOST_EDGES)
    known = [case.labels, case.partition.labels]
    known += [labels for labels in gap_partitions(case) if labels.max() + 1 == case.n_clusters]
    least = min(map(case.exact.value, known))
    require(case.bound >= 0, f"the bound is {case.bound!r}", BOUND)
    require(
        at_most(case.bound, least),
        f"the bound is {case.bound!r}, above a cut of {shown(least)}",
        BOUND,
    )


def reported_bound_is_below_cuts(case: GraphCase) -> None:
    """The bound reported by `partition` is at most the cut value of any known partition."""
    assume(case.i.size <= MOST_EDGES)
    bound = case.partition.lower_bound
    require(bound is not None, "lower_bound=True gives None", PARTITION)
    least = min(case.exact.value(case.partition.labels), case.exact.value(case.labels))
    require(
        bound >= 0 and at_most(bound, least), f"{bound!r} above a cut of {shown(least)}", PARTITION
    )


def bound_is_below_optimum(case: GraphCase) -> None:
    """`lower_bound` is at most the optimum found by enumeration (up to 7 nodes)."""
    assume(case.n <= MOST_ENUMERATED)
    optimum = case.exact.optimum
    require(
        at_most(case.bound, optimum),
        f"the bound is {case.bound!r}, above the optimum {shown(optimum)}",
        BOUND,
    )


def bound_is_below_eigenvalues(case: GraphCase) -> None:
    """`lower_bound` is at most the exact Σλ and the trace of any orthonormal frame."""
    assume(case.n <= MOST_DENSE)
    least = eigenvalue_ceiling(case)
    require(
        at_most(case.bound, least),
        f"the bound is {case.bound!r}, above an upper bound {shown(least)} on Σλ",
        BOUND,
    )


def every_solver_bounds(case: GraphCase) -> None:
    """The bound of every eigensolver is at most the exact Σλ and any known cut value."""
    assume(case.n <= MOST_SOLVED)
    least = min(eigenvalue_ceiling(case), case.exact.value(case.labels))
    for solver, relaxation in case.relaxations.items():
        bound = relaxation.lower_bound
        require(
            bound >= 0 and at_most(bound, least),
            f"{solver}'s bound is {bound!r}, above {shown(least)}",
            f"leastcut.relax(S, n_clusters, cut, solver={solver!r}, random_state=0).lower_bound",
        )


def eigenpairs_are_right(case: GraphCase) -> None:
    """Converged eigenpairs are orthonormal, have small residuals, and agree with LAPACK."""
    assume(case.n <= MOST_SOLVED)
    dense, scale = operator_of(case)
    assume(bool(np.isfinite(dense).all()) and FULL[0] < scale < FULL[1])
    expected = np.linalg.eigvalsh(dense / scale)[: case.n_clusters]
    for solver, relaxation in case.relaxations.items():
        if not relaxation.converged:
            continue
        code = f"leastcut.relax(S, n_clusters, cut, solver={solver!r}, random_state=0)"
        tolerance = 1e-5 if solver == "lobpcg" else 1e-8
        vectors, values = relaxation.eigenvectors, relaxation.eigenvalues / scale
        error = np.abs(vectors.T @ vectors - np.eye(case.n_clusters)).max()
        require(error <= 1e-8, f"{solver}: orthogonality error {error:.3g}", code)
        error = np.linalg.norm(dense / scale @ vectors - vectors * values, axis=0).max()
        require(error <= tolerance, f"{solver}: relative residual {error:.3g}", code)
        error = np.abs(values - expected).max()
        require(error <= tolerance, f"{solver}: relative error of eigenvalues {error:.3g}", code)
        require((np.diff(values) >= 0).all(), f"{solver}: eigenvalues are not sorted", code)


def exact_is_optimal(case: GraphCase) -> None:
    """`exact_partition` finds the optimum of enumeration and bounds it (up to 7 nodes)."""
    assume(case.n <= MOST_ENUMERATED)
    code = "leastcut.exact_partition(S, n_clusters, cut)"
    best, optimum = (
        leastcut.exact_partition(case.matrix, case.n_clusters, case.cut),
        case.exact.optimum,
    )
    value = case.exact.value(best.labels)
    require(
        best.lower_bound is not None and at_most(best.lower_bound, optimum),
        f"the bound is {best.lower_bound!r}, above the optimum {shown(optimum)}",
        code,
    )
    require(
        best.gap != 0 or value <= optimum * (1 + VALUE_SLACK),
        f"{shown(value)} is reported as optimal, but the optimum is {shown(optimum)}",
        code,
    )
    require(
        close(best.cut_value, value, VALUE_SLACK),
        f"reports {best.cut_value!r}, expected {shown(value)}",
        code,
    )


def partition_is_optimal(case: GraphCase) -> None:
    """`partition` finds the optimum of small graphs (up to 7 nodes)."""
    assume(case.n <= MOST_ENUMERATED)
    value, optimum = case.exact.value(case.partition.labels), case.exact.optimum
    require(
        value <= optimum * (1 + VALUE_SLACK),
        f"found {shown(value)}, but the optimum is {shown(optimum)}",
        PARTITION,
    )


def gap_partitions(case: GraphCase) -> list[np.ndarray]:
    """Return the components of the edges above each of the widest gaps between weights."""
    off = case.i != case.j
    i, j, weights = case.i[off], case.j[off], case.weights[off]
    ordered = np.unique(weights)
    if ordered.size < 2:
        return []
    gaps = np.diff(np.log(ordered))
    components = []
    for gap in np.argsort(-gaps, kind="stable")[:N_FRAMES]:
        heavy = weights > ordered[gap]
        graph = sp.coo_array((heavy[heavy], (i[heavy], j[heavy])), shape=(case.n, case.n))
        components.append(sp.csgraph.connected_components(graph, directed=False)[1])
    return components


def eigenvalue_ceiling(case: GraphCase) -> Fraction:
    """Return an upper bound on the sum of the c smallest eigenvalues."""
    if case.n <= MOST_DECIMAL:
        return case.exact.eigenvalue_sum
    least = case.exact.value(case.partition.labels)
    with np.errstate(all="ignore"):
        frames = [
            frame_sum(case, labels)
            for labels in gap_partitions(case)
            if labels.max() + 1 >= case.n_clusters
        ]
        dense, scale = operator_of(case)
        if np.isfinite(dense).all() and FULL[0] < scale < FULL[1]:
            values = np.linalg.eigvalsh(dense / scale)[: case.n_clusters]
            rounding = 8 * case.n * np.finfo(float).eps
            frames.append(float((values.clip(0).sum() + case.n_clusters * rounding) * scale))
    return min([least, *(Fraction(frame) for frame in frames if np.isfinite(frame))])


def operator_of(case: GraphCase) -> tuple[np.ndarray, float]:
    """Return A as a dense matrix, and twice its largest diagonal entry, a bound on its norm."""
    with np.errstate(all="ignore"):
        affinity = case.matrix.toarray()
        np.fill_diagonal(affinity, 0.0)
        root = np.sqrt(node_weights(case))
        dense = np.diag(affinity.sum(axis=1) / root / root) - affinity / root[:, None] / root
    return dense, 2.0 * float(np.diag(dense).max(initial=0.0))

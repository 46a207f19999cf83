"""Laws of values, bounds and optima: what is called proven is compared with exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import scipy.sparse as sp

import leastcut
from fuzz.cases import GraphCase
from fuzz.exact import MOST_DECIMAL, MOST_ENUMERATED, frame_sum, node_weights
from fuzz.outcome import at_most, close, only_if, require, shown

MOST_EDGES = 50_000
"""Edges up to which a cut value is computed in whole numbers."""

MOST_DENSE = 700
"""Nodes up to which LAPACK's eigenvalues are compared with."""

MOST_SOLVED = 300
"""Nodes up to which every eigensolver is tried."""

VALUE_SLACK = Fraction(1, 10**12)
"""Relative error that a cut value may have."""

FULL = 1e-280, 1e150
"""Norms between which a matrix can be divided by its own without losing digits."""

N_FRAMES = 3
"""Partitions along the widest gaps between weights whose indicators bound the eigenvalues."""

BOUND = "leastcut.lower_bound(S, n_clusters, cut, random_state=0)"
FOUND = "leastcut.partition(S, n_clusters, cut, lower_bound=True, **settings)"


def value_is_exact(case: GraphCase) -> None:
    """`cut_value` is the value in rational arithmetic, to 1e-12 of it."""
    only_if(case.i.size <= MOST_EDGES)
    got, true = (
        leastcut.cut_value(case.matrix, case.labels, case.cut),
        case.exact.value(case.labels),
    )
    require(
        close(got, true, VALUE_SLACK, 2 * case.n_clusters),
        f"cut_value is {got!r}, and truly {shown(true)}",
        "leastcut.cut_value(S, labels, cut)",
    )


def found_value_is_exact(case: GraphCase) -> None:
    """The `cut_value` that `partition` reports is that of its labels, to 1e-12 of it."""
    only_if(case.i.size <= MOST_EDGES)
    got, true = case.found.cut_value, case.exact.value(case.found.labels)
    require(
        close(got, true, VALUE_SLACK, 2 * case.n_clusters),
        f"partition reports {got!r} for labels of {shown(true)}",
        FOUND,
    )


def bound_is_below_cuts(case: GraphCase) -> None:
    """`lower_bound` is a number of at least 0, and not above the value of any partition known."""
    only_if(case.i.size <= MOST_EDGES)
    known = [case.labels, case.found.labels]
    known += [labels for labels in gap_partitions(case) if labels.max() + 1 == case.n_clusters]
    least = min(map(case.exact.value, known))
    require(case.bound >= 0, f"the bound is {case.bound!r}", BOUND)
    require(
        at_most(case.bound, least),
        f"the bound is {case.bound!r}, above a cut of {shown(least)}",
        BOUND,
    )


def reported_bound_is_below_cuts(case: GraphCase) -> None:
    """The `lower_bound` in what `partition` returns is not above any cut, and it is not hidden."""
    only_if(case.i.size <= MOST_EDGES)
    bound = case.found.lower_bound
    require(bound is not None, "lower_bound=True gave None", FOUND)
    least = min(case.exact.value(case.found.labels), case.exact.value(case.labels))
    require(bound >= 0 and at_most(bound, least), f"{bound!r} above a cut of {shown(least)}", FOUND)


def bound_is_below_optimum(case: GraphCase) -> None:
    """`lower_bound` is not above the optimum that enumeration finds (up to 7 nodes)."""
    only_if(case.n <= MOST_ENUMERATED)
    optimum = case.exact.optimum
    require(
        at_most(case.bound, optimum),
        f"the bound is {case.bound!r}, above the optimum {shown(optimum)}",
        BOUND,
    )


def bound_is_below_eigenvalues(case: GraphCase) -> None:
    """`lower_bound` is not above the true Σλ, nor above the trace of any orthonormal frame."""
    only_if(case.n <= MOST_DENSE)
    least = eigenvalue_ceiling(case)
    require(
        at_most(case.bound, least),
        f"the bound is {case.bound!r}, above a sum of eigenvalues of at most {shown(least)}",
        BOUND,
    )


def every_solver_bounds(case: GraphCase) -> None:
    """The bound of every eigensolver is below every cut known and below the true Σλ."""
    only_if(case.n <= MOST_SOLVED)
    least = min(eigenvalue_ceiling(case), case.exact.value(case.labels))
    for solver, relaxation in case.relaxations.items():
        bound = relaxation.lower_bound
        require(
            bound >= 0 and at_most(bound, least),
            f"{solver}'s bound is {bound!r}, above {shown(least)}",
            f"leastcut.relax(S, n_clusters, cut, solver={solver!r}, random_state=0).lower_bound",
        )


def eigenpairs_are_right(case: GraphCase) -> None:
    """Eigenpairs that converged are orthonormal, within tolerance, and those LAPACK finds."""
    only_if(case.n <= MOST_SOLVED)
    dense, scale = operator_of(case)
    only_if(bool(np.isfinite(dense).all()) and FULL[0] < scale < FULL[1])
    truth = np.linalg.eigvalsh(dense / scale)[: case.n_clusters]
    for solver, relaxation in case.relaxations.items():
        if not relaxation.converged:
            continue
        code = f"leastcut.relax(S, n_clusters, cut, solver={solver!r}, random_state=0)"
        tolerance = 1e-5 if solver == "lobpcg" else 1e-8
        vectors, values = relaxation.eigenvectors, relaxation.eigenvalues / scale
        error = np.abs(vectors.T @ vectors - np.eye(case.n_clusters)).max()
        require(error <= 1e-8, f"{solver}'s vectors are off orthonormal by {error:.3g}", code)
        error = np.linalg.norm(dense / scale @ vectors - vectors * values, axis=0).max()
        require(error <= tolerance, f"{solver}'s residuals are {error:.3g} of the norm", code)
        error = np.abs(values - truth).max()
        require(error <= tolerance, f"{solver}'s eigenvalues are off by {error:.3g}", code)
        require((np.diff(values) >= 0).all(), f"{solver}'s eigenvalues do not ascend", code)


def exact_is_optimal(case: GraphCase) -> None:
    """`exact_partition` is the optimum that plain enumeration finds, and bounds it (≤ 7 nodes)."""
    only_if(case.n <= MOST_ENUMERATED)
    code = "leastcut.exact_partition(S, n_clusters, cut)"
    best, optimum = (
        leastcut.exact_partition(case.matrix, case.n_clusters, case.cut),
        case.exact.optimum,
    )
    value = case.exact.value(best.labels)
    require(
        best.lower_bound is not None and at_most(best.lower_bound, optimum),
        f"the bound is {best.lower_bound!r}, and the optimum {shown(optimum)}",
        code,
    )
    require(
        best.gap != 0 or value <= optimum * (1 + VALUE_SLACK),
        f"{shown(value)} is called optimal, and the optimum is {shown(optimum)}",
        code,
    )
    require(
        close(best.cut_value, value, VALUE_SLACK),
        f"reports {best.cut_value!r} for labels of {shown(value)}",
        code,
    )


def partition_is_optimal(case: GraphCase) -> None:
    """`partition` finds the optimum where enumeration takes milliseconds (up to 7 nodes)."""
    only_if(case.n <= MOST_ENUMERATED)
    value, optimum = case.exact.value(case.found.labels), case.exact.optimum
    require(
        value <= optimum * (1 + VALUE_SLACK),
        f"found {shown(value)} where {shown(optimum)} exists",
        FOUND,
    )


def gap_partitions(case: GraphCase) -> list[np.ndarray]:
    """Return the components that edges above the widest gaps between weights leave."""
    off = case.i != case.j
    i, j, weights = case.i[off], case.j[off], case.weights[off]
    ordered = np.unique(weights)
    if ordered.size < 2:
        return []
    gaps = np.diff(np.log(ordered))
    found = []
    for place in np.argsort(-gaps, kind="stable")[:N_FRAMES]:
        heavy = weights > ordered[place]
        joined = sp.coo_array((heavy[heavy], (i[heavy], j[heavy])), shape=(case.n, case.n))
        found.append(sp.csgraph.connected_components(joined, directed=False)[1])
    return found


def eigenvalue_ceiling(case: GraphCase) -> Fraction:
    """Return a number that the sum of the c smallest eigenvalues is surely not above."""
    if case.n <= MOST_DECIMAL:
        return case.exact.eigenvalue_sum
    least = case.exact.value(case.found.labels)
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
    """Return A as a dense matrix, and twice its largest diagonal entry, which bounds its norm."""
    with np.errstate(all="ignore"):
        affinity = case.matrix.toarray()
        np.fill_diagonal(affinity, 0.0)
        root = np.sqrt(node_weights(case))
        dense = np.diag(affinity.sum(axis=1) / root / root) - affinity / root[:, None] / root
    return dense, 2.0 * float(np.diag(dense).max(initial=0.0))

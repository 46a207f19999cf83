"""All invariants by name.

An invariant is a function of a case that raises :class:`~fuzz.outcome.Violation` if it does not
hold, and :class:`~fuzz.outcome.NotApplicable` if the case does not meet its premise. The first line
of its docstring is its description in ``docs/invariants.md``.
"""

from __future__ import annotations

from collections.abc import Callable

from fuzz import (
    anchor_invariants,
    balance_invariants,
    bound_invariants,
    certificate_invariants,
    input_invariants,
    learned_invariants,
    malformed_invariants,
    point_invariants,
    search_invariants,
    view_invariants,
)
from fuzz.cases import Case, GraphCase, PointsCase

GRAPH_INVARIANTS: dict[str, Callable[[GraphCase], None]] = {
    "value": bound_invariants.value_is_exact,
    "found value": bound_invariants.reported_value_is_exact,
    "bound": bound_invariants.bound_is_below_cuts,
    "reported bound": bound_invariants.reported_bound_is_below_cuts,
    "bound and optimum": bound_invariants.bound_is_below_optimum,
    "bound and eigenvalues": bound_invariants.bound_is_below_eigenvalues,
    "solvers": bound_invariants.every_solver_bounds,
    "eigenpairs": bound_invariants.eigenpairs_are_right,
    "exact": bound_invariants.exact_is_optimal,
    "optimum": bound_invariants.partition_is_optimal,
    "certificate": certificate_invariants.certificate_is_below_cuts,
    "certificate and optimum": certificate_invariants.bounds_are_below_optimum,
    "clusters": search_invariants.has_all_clusters,
    "discretizers": search_invariants.discretizers_have_all_clusters,
    "effort": search_invariants.effort_never_hurts,
    "init": search_invariants.init_is_never_lost,
    "balance": balance_invariants.balance_is_kept,
    "balance and isolated nodes": balance_invariants.balance_of_isolated_nodes_is_kept,
    "balance suggested": balance_invariants.suggested_balance_is_accepted,
    "balance and optimum": balance_invariants.proofs_hold_within_balance,
    "units of a search": balance_invariants.units_do_not_matter_to_a_search,
    "refine": search_invariants.refinement_ends_at_an_optimum,
    "seed": search_invariants.seed_fixes_the_answer,
    "threads": search_invariants.threads_do_not_matter,
    "time limit": search_invariants.time_limit_is_kept,
    "order": input_invariants.order_does_not_matter,
    "units": input_invariants.units_do_not_matter,
    "formats": input_invariants.formats_do_not_matter,
    "refusals": input_invariants.refusals_agree,
    "malformed": malformed_invariants.malformed_is_rejected,
    "wrong input": input_invariants.invalid_input_raises,
    "unchanged": input_invariants.input_is_unchanged,
    "isolated": learned_invariants.isolated_nodes_join_their_neighbors,
    "views": view_invariants.objective_is_exact,
    "bound of views": view_invariants.no_partition_is_below_the_bound_of_views,
    "effort for views": view_invariants.views_lose_nothing,
    "views again": view_invariants.views_are_cut_alike_again,
}
"""Invariants of graphs."""

POINT_INVARIANTS: dict[str, Callable[[PointsCase], None]] = {
    "fit": point_invariants.fit_is_a_cut,
    "fit bound": point_invariants.fit_bound_is_below_cut,
    "fit again": point_invariants.fit_is_the_same_again,
    "batch": point_invariants.predict_ignores_the_batch,
    "sparse": point_invariants.predict_ignores_the_format,
    "scale": point_invariants.units_of_samples_do_not_matter,
    "learned": learned_invariants.learned_graph_is_right,
    "learned again": learned_invariants.learned_graph_is_the_same_again,
    "anchor value": anchor_invariants.value_is_exact,
    "anchor sources": anchor_invariants.sources_do_not_matter,
    "anchor folder": anchor_invariants.folder_does_not_matter,
    "anchor effort": anchor_invariants.effort_never_hurts,
    "anchor refine": anchor_invariants.refinement_never_hurts,
    "anchor threads": anchor_invariants.threads_do_not_matter,
}
"""Invariants of samples."""

ERRORS, ENDS = "errors", "ends"

CASE_INVARIANTS = {
    ERRORS: "No function raises, except to reject its input, or issues a RuntimeWarning.",
    ENDS: "The calls of each invariant take at most 60 s of CPU time.",
}
"""Invariants that are checked together with the others."""


def invariants_of(case: Case) -> dict[str, Callable[..., None]]:
    """Return the invariants for a kind of case."""
    return dict(GRAPH_INVARIANTS if isinstance(case, GraphCase) else POINT_INVARIANTS)


def descriptions() -> dict[str, str]:
    """Return the descriptions of all invariants, by name."""
    functions = {**GRAPH_INVARIANTS, **POINT_INVARIANTS}
    first_lines = {name: (check.__doc__ or "").split("\n")[0] for name, check in functions.items()}
    return first_lines | CASE_INVARIANTS

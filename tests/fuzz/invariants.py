"""Every law, by name: the one list that the programme, its counts and the documentation read.

A law is a function of a case. It returns nothing when it holds, raises
:class:`~fuzz.outcome.Broken` when it does not and :class:`~fuzz.outcome.Inapplicable` when it says
nothing of the case. The first line of its docstring is its text in the documentation.
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

GRAPH_LAWS: dict[str, Callable[[GraphCase], None]] = {
    "value": bound_invariants.value_is_exact,
    "found value": bound_invariants.found_value_is_exact,
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
    "malformed": malformed_invariants.malformed_is_refused,
    "wrong input": input_invariants.wrong_input_is_refused,
    "unchanged": input_invariants.input_is_unchanged,
    "isolated": learned_invariants.isolated_nodes_join_their_neighbors,
    "views": view_invariants.objective_is_exact,
    "bound of views": view_invariants.no_partition_is_below_the_bound_of_views,
    "effort for views": view_invariants.views_lose_nothing,
    "views again": view_invariants.views_are_cut_alike_again,
}
"""Laws of graphs."""

POINT_LAWS: dict[str, Callable[[PointsCase], None]] = {
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
"""Laws of samples."""

ERRORS, ENDS = "errors", "ends"

CASE_LAWS = {
    ERRORS: "Nothing raises but a refusal on entry, and nothing gives a RuntimeWarning.",
    ENDS: "The calls of every law end within 60 s of work.",
}
"""Laws that are held while the others are tried."""


def laws_of(case: Case) -> dict[str, Callable[..., None]]:
    """Return the laws that a case can be tried on."""
    return dict(GRAPH_LAWS if isinstance(case, GraphCase) else POINT_LAWS)


def texts() -> dict[str, str]:
    """Return every law in words, by name."""
    stated = {**GRAPH_LAWS, **POINT_LAWS}
    return {name: (law.__doc__ or "").splitlines()[0] for name, law in stated.items()} | CASE_LAWS

"""Every law, by name: the one list that the programme, its counts and the documentation read.

A law is a function of a case. It returns nothing when it holds, raises
:class:`~fuzz.outcome.Broken` when it does not and :class:`~fuzz.outcome.Inapplicable` when it says
nothing of the case. The first line of its docstring is its text in the documentation.
"""

from __future__ import annotations

from collections.abc import Callable

from fuzz import (
    anchor_laws,
    balance_laws,
    bound_laws,
    certificate_laws,
    input_laws,
    learned_laws,
    malformed_laws,
    point_laws,
    search_laws,
    view_laws,
)
from fuzz.cases import Case, GraphCase, PointsCase

GRAPH_LAWS: dict[str, Callable[[GraphCase], None]] = {
    "value": bound_laws.value_is_exact,
    "found value": bound_laws.found_value_is_exact,
    "bound": bound_laws.bound_is_below_cuts,
    "reported bound": bound_laws.reported_bound_is_below_cuts,
    "bound and optimum": bound_laws.bound_is_below_optimum,
    "bound and eigenvalues": bound_laws.bound_is_below_eigenvalues,
    "solvers": bound_laws.every_solver_bounds,
    "eigenpairs": bound_laws.eigenpairs_are_right,
    "exact": bound_laws.exact_is_optimal,
    "optimum": bound_laws.partition_is_optimal,
    "certificate": certificate_laws.certificate_is_below_cuts,
    "certificate and optimum": certificate_laws.bounds_are_below_optimum,
    "clusters": search_laws.has_all_clusters,
    "discretizers": search_laws.discretizers_have_all_clusters,
    "effort": search_laws.effort_never_hurts,
    "init": search_laws.init_is_never_lost,
    "balance": balance_laws.balance_is_kept,
    "balance and isolated nodes": balance_laws.balance_of_isolated_nodes_is_kept,
    "balance suggested": balance_laws.suggested_balance_is_accepted,
    "balance and optimum": balance_laws.proofs_hold_within_balance,
    "units of a search": balance_laws.units_do_not_matter_to_a_search,
    "refine": search_laws.refinement_ends_at_an_optimum,
    "seed": search_laws.seed_fixes_the_answer,
    "threads": search_laws.threads_do_not_matter,
    "time limit": search_laws.time_limit_is_kept,
    "order": input_laws.order_does_not_matter,
    "units": input_laws.units_do_not_matter,
    "formats": input_laws.formats_do_not_matter,
    "refusals": input_laws.refusals_agree,
    "malformed": malformed_laws.malformed_is_refused,
    "wrong input": input_laws.wrong_input_is_refused,
    "unchanged": input_laws.input_is_unchanged,
    "isolated": learned_laws.isolated_nodes_join_their_neighbors,
    "views": view_laws.objective_is_exact,
    "bound of views": view_laws.no_partition_is_below_the_bound_of_views,
    "effort for views": view_laws.views_lose_nothing,
    "views again": view_laws.views_are_cut_alike_again,
}
"""Laws of graphs."""

POINT_LAWS: dict[str, Callable[[PointsCase], None]] = {
    "fit": point_laws.fit_is_a_cut,
    "fit bound": point_laws.fit_bound_is_below_cut,
    "fit again": point_laws.fit_is_the_same_again,
    "batch": point_laws.predict_ignores_the_batch,
    "sparse": point_laws.predict_ignores_the_format,
    "scale": point_laws.units_of_samples_do_not_matter,
    "learned": learned_laws.learned_graph_is_right,
    "learned again": learned_laws.learned_graph_is_the_same_again,
    "anchor value": anchor_laws.value_is_exact,
    "anchor sources": anchor_laws.sources_do_not_matter,
    "anchor folder": anchor_laws.folder_does_not_matter,
    "anchor effort": anchor_laws.effort_never_hurts,
    "anchor refine": anchor_laws.refinement_never_hurts,
    "anchor threads": anchor_laws.threads_do_not_matter,
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

"""``discretize``: labels from a relaxed solution, selected by cut value if a graph is passed.

Discretizers receive a scoring function in place of the graph.
"""

from __future__ import annotations

from typing import Any

from leastcut.problem import CutLike, as_affinity_graph, as_problem
from leastcut.results import Discretization, Relaxation
from leastcut.seeds import RandomState, as_generator
from leastcut.spectral.discretizers import (
    Discretizer,
    discretizer_of,
    options_of,
    run_discretizer,
)
from leastcut.spectral.discretizers.shared import Score
from leastcut.validation import check_count, check_symmetrize

COUNTS = ("n_init", "max_iter", "n_clusters")  # options that are integers


def discretize(
    relaxation: Relaxation,
    method: str | Discretizer = "first_order",
    *,
    graph: Any = None,
    cut: CutLike | None = None,
    random_state: RandomState = None,
    symmetrize: str | None = None,
    **options: Any,
) -> Discretization:
    """Turn a relaxed solution into labels.

    Parameters
    ----------
    relaxation : Relaxation
        The result of :func:`leastcut.relax`, or one constructed from other eigenpairs.
    method : str or callable, default="first_order"
        A key of :data:`leastcut.DISCRETIZERS`: "first_order", "kmeans", "kmeans_norm", "rotation",
        "unscaled_rotation", "improved_rotation", "cluster_qr", or a name added by the user. Or a
        function ``method(relaxation, *, random_state, score, **options)`` that returns labels or a
        :class:`leastcut.Discretization`; it may omit ``random_state`` and ``score``.
    graph : sparse matrix, array-like of shape (n_nodes, n_nodes) or graph of a library, optional
        If passed, candidates (starts, values of eta) are compared by their cut value, which is
        returned too; otherwise by the loss of the method.
    cut : {"ratio", "normalized"} or array-like of shape (n_nodes,), optional
        The cut by which candidates are compared; by default the one that was relaxed.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the starts.
    symmetrize : {"mean", "max"} or None, default=None
        How to symmetrize a directed graph: (S + Sᵀ) / 2, or the larger of both directions. None
        raises an error.
    **options : dict
        Options of the method: ``n_init`` and ``max_iter`` (all but "cluster_qr"), ``init``
        ("first_order", "improved_rotation"), ``rotation`` (these and "unscaled_rotation"), ``eta``
        ("first_order"), ``n_clusters`` ("kmeans", "kmeans_norm").

    Returns
    -------
    Discretization
        Labels of exactly as many non-empty clusters as there are eigenvectors (or of ``n_clusters``
        clusters, if the method has this option).

    See Also
    --------
    relax : Compute the relaxed solution.
    refine : Improve the labels by moving single nodes.
    compare : Compare all methods on one graph.

    Notes
    -----
    The eigenvectors contain no information on the graph beyond the relaxed solution. For smaller
    cuts, refine the labels with :func:`leastcut.refine`, or search with
    :func:`leastcut.partition`.

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 0.5, 0.1, 0.8], [0.5, 0, 0.4, 0.2], [0.1, 0.4, 0, 0.5], [0.8, 0.2, 0.5, 0]]
    >>> relaxation = leastcut.relax(S, 2, cut="ratio", random_state=0)
    >>> result = leastcut.discretize(relaxation, "kmeans", graph=S, random_state=0)
    >>> round(result.cut_value, 4) >= round(relaxation.lower_bound, 4)
    True
    """
    if not isinstance(relaxation, Relaxation):
        raise TypeError(
            f"relaxation must be a Relaxation, not {type(relaxation).__name__}; pass "
            "leastcut.relax(S, n_clusters), or eigenpairs as leastcut.Relaxation(...)."
        )
    options = _checked(method, options, relaxation)
    score = _score(relaxation, graph, cut, check_symmetrize(symmetrize))
    return run_discretizer(method, relaxation, as_generator(random_state), score, **options)


def _checked(
    method: str | Discretizer, options: dict[str, Any], relaxation: Relaxation
) -> dict[str, Any]:
    """Return the options; raise if the method does not have one, or if a count is not valid."""
    discretizer_of(method)
    known = options_of(method)
    for name, value in options.items():
        if name not in known:
            listed = ", ".join(map(repr, known)) or "none"
            raise TypeError(f"method={method!r} has no option {name!r}; its options are {listed}.")
        # None is valid if it is the default.
        if name in COUNTS and not (value is None and known[name] is None):
            options[name] = check_count(name, value)
    if (options.get("n_clusters") or 0) > relaxation.n_nodes:
        raise ValueError(
            f"n_clusters={options['n_clusters']} is more than the {relaxation.n_nodes} nodes of "
            f"the graph; choose a number between 1 and {relaxation.n_nodes}."
        )
    return options


def _score(
    relaxation: Relaxation, graph: Any, cut: CutLike | None, symmetrize: str | None
) -> Score | None:
    """Return the function from labels to cut value; None without a graph."""
    if graph is None:
        if cut is not None:
            raise ValueError("cut has no effect without a graph; pass graph=S as well.")
        return None
    graph = as_affinity_graph(graph, symmetrize)
    if graph.n_nodes != relaxation.n_nodes:
        raise ValueError(
            f"The graph has {graph.n_nodes} nodes and the relaxation {relaxation.n_nodes}; pass "
            "the graph that was relaxed."
        )
    return as_problem(graph, relaxation.node_weights if cut is None else cut).value

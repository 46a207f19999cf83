"""``discretize``: labels of a relaxed solution, judged by the true cut value if there is a graph.

The methods never see the graph; here it becomes the scoring function that they are handed.
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

COUNTS = ("n_init", "max_iter", "n_clusters")  # options that are whole numbers


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
        What :func:`leastcut.relax` returns, or eigenpairs from elsewhere.
    method : str or callable, default="first_order"
        A name in ``leastcut.DISCRETIZERS``: "first_order", "kmeans", "kmeans_norm", "rotation",
        "unscaled_rotation", "improved_rotation", "cluster_qr", or one that was added to it. Or a
        function ``method(relaxation, *, random_state, score, **options)`` that returns labels or a
        :class:`leastcut.Discretization`; it may leave ``random_state`` and ``score`` out.
    graph : Graph, sparse matrix, array-like of shape (n, n) or graph of a library, optional
        With it, the candidates (starts, values of eta) are judged by their true cut value, which
        is returned too. Without it they are judged by the method's own loss.
    cut : {"ratio", "normalized"} or array-like of shape (n,), optional
        The cut by which they are judged; by default the one that was relaxed.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the starts.
    symmetrize : {"mean", "max"} or None, default=None
        What to make of a directed graph: (S + Sᵀ) / 2, or the larger of both directions. With None
        it is an error.
    **options : dict
        What the method takes: ``n_init`` and ``max_iter`` (all but "cluster_qr"), ``init``
        ("first_order", "improved_rotation"), ``rotation`` (these and "unscaled_rotation"), ``eta``
        ("first_order"), ``n_clusters`` ("kmeans", "kmeans_norm").

    Returns
    -------
    Discretization
        Its labels form exactly as many clusters as there are eigenvectors (or ``n_clusters``, where
        the method takes it), none empty.

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 0.5, 0.1, 0.8], [0.5, 0, 0.4, 0.2], [0.1, 0.4, 0, 0.5], [0.8, 0.2, 0.5, 0]]
    >>> relaxation = leastcut.relax(S, 2, cut="ratio", random_state=0)
    >>> found = leastcut.discretize(relaxation, "kmeans", graph=S, random_state=0)
    >>> round(found.cut_value, 4) >= round(relaxation.lower_bound, 4)
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
    """Return the options if the method has them all, counts as whole numbers."""
    discretizer_of(method)
    known = options_of(method)
    for name, value in options.items():
        if name not in known:
            listed = ", ".join(map(repr, known)) or "none"
            raise TypeError(f"method={method!r} has no option {name!r}; its options are {listed}.")
        # None is a count where it is the default: the method then chooses.
        if name in COUNTS and not (value is None and known[name] is None):
            options[name] = check_count(name, value)
    if (options.get("n_clusters") or 0) > relaxation.n_nodes:
        raise ValueError(
            f"n_clusters={options['n_clusters']} is more than the {relaxation.n_nodes} nodes there "
            f"are; choose between 1 and {relaxation.n_nodes}."
        )
    return options


def _score(
    relaxation: Relaxation, graph: Any, cut: CutLike | None, symmetrize: str | None
) -> Score | None:
    """Return the function from labels to true cut value, or None without a graph."""
    if graph is None:
        if cut is not None:
            raise ValueError("cut says by what to judge, which needs the graph: pass graph=S too.")
        return None
    graph = as_affinity_graph(graph, symmetrize)
    if graph.n_nodes != relaxation.n_nodes:
        raise ValueError(
            f"The graph has {graph.n_nodes} nodes and the relaxation {relaxation.n_nodes}; pass "
            "the graph that was relaxed."
        )
    # The relaxation knows the node weights of its cut, and they are all that a cut is.
    return as_problem(graph, relaxation.node_weights if cut is None else cut).value

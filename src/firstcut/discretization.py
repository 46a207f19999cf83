"""From a relaxed solution to labels, judged by the true cut value where the graph is at hand.

The methods are in ``discretizers`` and never see the graph; here it becomes the scoring function
that they are handed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from firstcut.cuts import CutLike, cut_value, node_weights
from firstcut.discretizers import DISCRETIZERS, Discretization, options_of
from firstcut.graph import as_graph
from firstcut.inputs import RandomState, as_generator, check_count
from firstcut.relaxation import Relaxation
from firstcut.threads import single_threaded


def discretize(
    relaxation: Relaxation,
    method: str = "first_order",
    *,
    graph: Any = None,
    cut: CutLike | None = None,
    random_state: RandomState = None,
    **options: Any,
) -> Discretization:
    """Turn a relaxed solution into labels.

    Parameters
    ----------
    relaxation : Relaxation
        What :func:`firstcut.relax` returns, or eigenpairs from elsewhere.
    method : str, default="first_order"
        A name in ``firstcut.DISCRETIZERS``: "first_order", "kmeans", "kmeans_norm", "rotation",
        "improved_rotation" or "cluster_qr".
    graph : Graph, sparse matrix or array-like of shape (n, n), optional
        With it, the candidates (starts, values of eta) are judged by their true cut value, which
        is returned too. Without it they are judged by the method's own loss.
    cut : {"ratio", "normalized"} or array-like of shape (n,), optional
        The cut by which they are judged; by default the one that was relaxed.
    random_state : int, Generator, RandomState or None
        Seed of the starts.
    **options
        What the method takes: ``n_init`` and ``max_iter`` (all but "cluster_qr"), ``init`` and
        ``rotation`` ("first_order", "improved_rotation"), ``eta`` ("first_order").

    Returns
    -------
    Discretization
        Its labels form exactly as many clusters as there are eigenvectors, none empty.

    Examples
    --------
    >>> import firstcut
    >>> S = [[0, 0.5, 0.1, 0.8], [0.5, 0, 0.4, 0.2], [0.1, 0.4, 0, 0.5], [0.8, 0.2, 0.5, 0]]
    >>> relaxation = firstcut.relax(S, 2, cut="ratio", random_state=0)
    >>> found = firstcut.discretize(relaxation, "kmeans", graph=S, random_state=0)
    >>> round(found.cut_value, 4) >= round(relaxation.lower_bound, 4)
    True
    """
    known = options_of(method)
    for name, value in options.items():
        if name not in known:
            listed = ", ".join(map(repr, known)) or "none"
            raise TypeError(f"method={method!r} has no option {name!r}; its options are {listed}.")
        if name == "max_iter" or (name == "n_init" and value is not None):
            options[name] = check_count(name, value)
    score = None
    if graph is not None:
        checked = as_graph(graph)
        if checked.n_nodes != relaxation.n_nodes:
            raise ValueError(
                f"The graph has {checked.n_nodes} nodes and the relaxation "
                f"{relaxation.n_nodes}; pass the graph that was relaxed."
            )
        weights = node_weights(checked, relaxation.node_weights if cut is None else cut)

        def score(labels: np.ndarray) -> float:
            return cut_value(checked, labels, weights)

    elif cut is not None:
        raise ValueError("cut says by what to judge, which needs the graph: pass graph=S too.")
    with single_threaded():
        return DISCRETIZERS[method](
            relaxation, random_state=as_generator(random_state), score=score, **options
        )

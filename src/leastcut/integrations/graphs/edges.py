"""Lists of edges, by the numbers of their nodes: checked, and made a matrix."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp


def assemble(
    ends: np.ndarray, weights: np.ndarray, n_nodes: int, is_undirected: bool
) -> sp.csr_array:
    """Return the matrix of edges, each in both directions if they have none; duplicates add up.

    Parameters
    ----------
    ends : int64 ndarray of shape (2, m)
        The nodes of every edge.
    weights : float64 ndarray of shape (m,)
    n_nodes : int
    is_undirected : bool
        Whether edges are listed in one direction and mean both.

    Returns
    -------
    csr_array of shape (n_nodes, n_nodes)
    """
    rows, columns = ends
    if is_undirected:
        # A self-loop is its own other direction.
        other = rows != columns
        rows, columns = np.append(rows, columns[other]), np.append(columns, ends[0][other])
        weights = np.append(weights, weights[other])
    return sp.coo_array((weights, (rows, columns)), shape=(n_nodes, n_nodes)).tocsr()


def refuse_repeated(
    ends: np.ndarray, n_nodes: int, told: Callable[[int], str], remedy: str
) -> None:
    """Raise if an edge is listed twice in the same direction, naming it."""
    keys = ends[0] * n_nodes + ends[1]
    order = np.argsort(keys, kind="stable")
    again = order[1:][keys[order[1:]] == keys[order[:-1]]]
    if again.size:
        raise ValueError(
            f"The graph lists {again.size} {'edge' if again.size == 1 else 'edges'} more than "
            f"once; the first is {told(int(again.min()))}. {remedy}"
        )


def check_edge_weights(weights: np.ndarray, told: Callable[[int], str]) -> None:
    """Raise if a weight is not finite or is negative, naming its edge.

    Parameters
    ----------
    weights : float64 ndarray of shape (m,)
    told : callable
        From the number of an edge to words for it.
    """
    for bad, what, remedy in (
        (~np.isfinite(weights), "NaN or infinite", "Remove or replace them."),
        (weights < 0, "negative", "A cut needs non-negative affinities; clip or shift them."),
    ):
        if bad.any():
            first, count = int(np.argmax(bad)), int(np.count_nonzero(bad))
            raise ValueError(
                f"The graph has {count} {what} edge {'weight' if count == 1 else 'weights'}; the "
                f"first is {weights[first]} of edge {told(first)}. {remedy}"
            )

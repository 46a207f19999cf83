"""The objective: a cut is its node weights b, and its value is Σ_k boundary(C_k) / b(C_k).

boundary(C) is the weight of all edges that leave C and b(C) the sum of the weights of its nodes.
Ratio Cut has b = 1, Normalized Cut has b = degrees, and any positive b is a legal cut. In matrices:
with L = diag(d) − S, B = diag(b) and the operator A = B^-½ L B^-½, the value is tr(Gᵀ A G) for the
indicator G = B^½ Y (YᵀBY)^-½. Nothing downstream asks which cut it is; b says all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from firstcut.graph import Graph, as_graph
from firstcut.inputs import check_choice, check_labels

CutLike = str | npt.ArrayLike
"""What ``cut`` may be: a name from :data:`CUTS`, or one positive weight per node."""


@dataclass(frozen=True)
class Cut:
    """A balanced cut, named by how it weighs the nodes of a graph."""

    name: str
    node_weights: Callable[[Graph], np.ndarray]


def _ones(graph: Graph) -> np.ndarray:
    return np.ones(graph.n_nodes)


def _degrees(graph: Graph) -> np.ndarray:
    isolated = np.flatnonzero(graph.degrees <= 0)
    if isolated.size:
        raise ValueError(
            f"The normalized cut is undefined on isolated nodes, and {isolated.size} of "
            f"{graph.n_nodes} nodes have no edges (the first is node {isolated[0]}). Drop them, "
            "connect them, or use cut='ratio'."
        )
    return graph.degrees


CUTS: dict[str, Cut] = {
    "ratio": Cut("ratio", _ones),
    "normalized": Cut("normalized", _degrees),
}
"""The named cuts."""


def node_weights(graph: Any, cut: CutLike = "normalized") -> np.ndarray:
    """Return the node weights b that a cut means on a graph.

    Parameters
    ----------
    graph : Graph, sparse matrix or array-like of shape (n, n)
    cut : {"ratio", "normalized"} or array-like of shape (n,)
        The name of a cut, or a positive weight for every node.

    Returns
    -------
    ndarray of shape (n,)
    """
    graph = as_graph(graph)
    if isinstance(cut, str):
        return CUTS[check_choice("cut", cut, CUTS)].node_weights(graph)
    try:
        weights = np.asarray(cut, dtype=np.float64)
    except (TypeError, ValueError):
        check_choice("cut", cut, CUTS)
        raise
    if weights.shape != (graph.n_nodes,):
        raise ValueError(
            f"cut as node weights needs one number per node, so shape ({graph.n_nodes},), but it "
            f"has shape {weights.shape}. The named cuts are {', '.join(map(repr, CUTS))}."
        )
    bad = ~(np.isfinite(weights) & (weights > 0))
    if bad.any():
        first = int(np.argmax(bad))
        raise ValueError(
            f"Node weights must be positive and finite, and {int(bad.sum())} of {graph.n_nodes} "
            f"are not (the first is {weights[first]} at node {first})."
        )
    return weights


def cut_value(graph: Any, labels: npt.ArrayLike, cut: CutLike = "normalized") -> float:
    """Return Σ_k boundary(C_k) / b(C_k), the quantity that everything here minimises.

    Parameters
    ----------
    graph : Graph, sparse matrix or array-like of shape (n, n)
        Symmetric non-negative affinities.
    labels : array-like of shape (n,)
        The cluster of every node; any values will do.
    cut : {"ratio", "normalized"} or array-like of shape (n,), default="normalized"
        The name of a cut, or a positive weight for every node.

    Returns
    -------
    float
        The cut value, in O(edges). It is exactly 0 when no edge is cut.

    Examples
    --------
    >>> import firstcut
    >>> S = [[0, 2, 0], [2, 0, 1], [0, 1, 0]]
    >>> firstcut.cut_value(S, [0, 0, 1], cut="ratio")
    1.5
    """
    graph = as_graph(graph)
    weights = node_weights(graph, cut)
    labels = check_labels(labels, graph.n_nodes)
    boundary = boundaries(graph, labels)
    return float(np.sum(boundary / np.bincount(labels, weights)))


def boundaries(graph: Graph, labels: np.ndarray) -> np.ndarray:
    """Return for every cluster the weight of the edges that leave it; labels must be 0..k-1."""
    matrix = graph.matrix
    small = labels.astype(np.int32) if labels.max() < np.iinfo(np.int32).max else labels
    source = np.repeat(small, np.diff(matrix.indptr))
    crossing = np.flatnonzero(source != small[matrix.indices])
    return np.bincount(
        source[crossing], matrix.data[crossing], minlength=int(labels.max()) + 1
    ).astype(np.float64, copy=False)


def operator(graph: Any, cut: CutLike = "normalized") -> sp.csr_array:
    """Return A = B^-½ (diag(d) − S) B^-½, whose smallest eigenpairs relax the cut.

    Parameters
    ----------
    graph : Graph, sparse matrix or array-like of shape (n, n)
    cut : {"ratio", "normalized"} or array-like of shape (n,), default="normalized"

    Returns
    -------
    csr_array of shape (n, n)
        Symmetric and positive semi-definite; B^½·1 is in its null space.
    """
    graph = as_graph(graph)
    scale = 1.0 / np.sqrt(node_weights(graph, cut))
    matrix = graph.matrix
    rows = np.repeat(np.arange(graph.n_nodes), np.diff(matrix.indptr))
    # L does not see self-loops; leaving them out, d − S_ii cannot cancel however heavy they are
    outward = np.where(rows == matrix.indices, 0.0, matrix.data)
    diagonal = np.bincount(rows, outward, minlength=graph.n_nodes) * scale * scale
    scaled = -outward * scale[rows] * scale[matrix.indices]
    negative = sp.csr_array((scaled, matrix.indices, matrix.indptr), shape=matrix.shape)
    return sp.csr_array(negative + sp.diags_array(diagonal))

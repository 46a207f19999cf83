"""What estimators are fitted to: samples, matrices, and graphs of other libraries."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from leastcut.affinity.affinity import Affinity
from leastcut.affinity.precomputed import warn_of_graph
from leastcut.graph import FactoredGraph, Graph, as_graph
from leastcut.integrations.graphs import as_matrix, is_foreign
from leastcut.results import NeighborSearch
from leastcut.validation import check_matrix, refuse_masked, warn_caller

DTYPES = [np.float64, np.float32]  # that samples are kept in


def read_input(
    X: Any, takes: str, affinity: Any, n_known: int | None = None
) -> tuple[Any, tuple[Any, ...] | None]:
    """Return X as it is or, if it is a graph of another library, its matrix, and names of nodes.

    ``takes`` is what the affinity expects: "samples", "affinities" or "distances". A data frame is
    samples to an affinity of samples. To "precomputed" it is an edge list or, if it is as wide as
    there are nodes, a matrix; of the rows for a graph of ``n_known`` nodes it is always a matrix.
    """
    refuse_masked("X", X)
    if isinstance(X, np.ndarray) or sp.issparse(X):
        return X, None
    if isinstance(X, FactoredGraph):
        raise TypeError(
            f"X is {X!r}, which stores no edges. leastcut.partition cuts it as it is, and "
            "leastcut.AnchorSpectralClustering makes one of samples."
        )
    if is_list_of_views(X):
        raise ValueError(
            f"X is a list of {len(X)} views; leastcut.MultiViewSpectralClustering clusters them."
        )
    is_frame, is_graph = hasattr(X, "columns"), isinstance(X, Graph)
    if not (is_graph or is_foreign(X)) or (is_frame and takes != "affinities"):
        return X, None
    if takes != "affinities":
        library = type(X).__module__.partition(".")[0]
        what = "edges and their weights" if library == "builtins" else f"a graph of {library}"
        instead = ", or adata.obsm['X_pca'] to make one of points" if library == "anndata" else ""
        raise ValueError(
            f"X is {what}, and affinity={affinity!r} takes {takes}. Pass it to "
            f"SpectralClustering(affinity='precomputed') to cut the graph{instead}."
        )
    if is_graph:
        return X.matrix, X.names
    if is_frame and n_known is not None and X.shape[1] == n_known:
        return X, None
    matrix, names, _ = as_matrix(X)
    # A frame that is a matrix stays one: scikit-learn keeps the names of its columns.
    return X if is_frame and matrix.shape == X.shape else matrix, names


def validated(model: Any, X: Any, reset: bool) -> Any:
    """Return X as scikit-learn validates it: finite, float32 or float64, sparse as CSR."""
    # scikit-learn takes words for numbers, and trusts the index arrays of sparse matrices.
    check_matrix("X", X)
    # It adds duplicates up in the type they come in, where small integers would wrap.
    if sp.issparse(X) and X.dtype.kind in "biu":
        X = X.astype(np.float64)
    return validate_data(model, X, reset=reset, accept_sparse="csr", dtype=DTYPES)


def make_graph(
    model: Any, affinity: Affinity, X: Any, options: dict[str, Any], seed: int
) -> tuple[Any, Graph]:
    """Return the graph of X, as a matrix and checked; note the recall of a neighbor search."""
    model.neighbors_recall_ = None
    if affinity.takes == "samples" and X.shape[0] == X.shape[1]:
        warn_of_graph(X)
    if not affinity.searches:
        matrix = affinity.graph(X, **options)
        return matrix, as_graph(matrix)

    def report(search: NeighborSearch) -> None:
        model.neighbors_recall_ = search.recall
        model._log(search)

    how = {"neighbors": model.neighbors, "device": model.device, "random_state": seed}
    matrix = affinity.graph(X, **options, **how, callback=report)
    # Symmetric and positive by construction: nothing is left to check.
    return matrix, Graph(matrix.indptr, matrix.indices, matrix.data)


def warn_of_isolated(graph: Graph, consequence: str) -> None:
    """Warn of nodes without edges, and of what becomes of them."""
    count = graph.n_nodes - graph.connected.size
    if count:
        have = "has" if count == 1 else "have"
        warn_caller(f"{count} of {graph.n_nodes} nodes {have} no edges{consequence}")


def check_counts(parameters: Mapping[str, Any], n_samples: int) -> None:
    """Raise if there are fewer samples than clusters or components."""
    for name in ("n_clusters", "n_components"):
        wanted = parameters[name]
        if isinstance(wanted, Integral) and int(wanted) > n_samples:
            raise ValueError(
                f"n_samples={n_samples} should be >= {name}={wanted}; ask for at most "
                f"{n_samples}, or pass more samples."
            )


def is_list_of_views(X: Any) -> bool:
    """Whether X is a list of matrices or graphs, and not one matrix as a list of its rows."""
    # Edges and their weights are a pair as well, but weights have one dimension.
    return isinstance(X, list | tuple) and len(X) > 0 and all(map(_is_matrix_or_graph, X))


def _is_matrix_or_graph(X: Any) -> bool:
    if sp.issparse(X) or isinstance(X, Graph) or hasattr(X, "columns") or is_foreign(X):
        return True
    # Of lists only first entries are looked at, as there may be millions.
    inside = X[0] if isinstance(X, list | tuple) and len(X) else None
    return getattr(X, "ndim", 0) == 2 or (inside is not None and np.ndim(inside) == 1)

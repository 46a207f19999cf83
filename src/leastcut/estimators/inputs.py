"""Input of the estimators: samples, matrices, and graphs of other libraries."""

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

DTYPES = [np.float64, np.float32]  # of samples; other types are converted to the first


def read_input(
    X: Any, takes: str, affinity: Any, n_known: int | None = None
) -> tuple[Any, tuple[Any, ...] | None]:
    """Return X, or its matrix if it is a graph of another library, and the names of the nodes.

    ``takes`` is what the affinity expects: "samples", "affinities" or "distances". If it expects
    affinities, a data frame is an edge list or a matrix. ``n_known`` is the number of nodes of the
    fitted graph, if X contains the affinities of new samples: a data frame with as many columns is
    then a matrix.
    """
    refuse_masked("X", X)
    if isinstance(X, np.ndarray) or sp.issparse(X):
        return X, None
    if isinstance(X, FactoredGraph):
        raise TypeError(
            f"X is {X!r}, which stores no edges. Pass it to leastcut.partition, which cuts it as "
            "it is, or pass samples to leastcut.AnchorSpectralClustering."
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
        instead = ", or adata.obsm['X_pca'] to cluster points" if library == "anndata" else ""
        raise ValueError(
            f"X is {what}, but affinity={affinity!r} expects {takes}. Pass it to "
            f"SpectralClustering(affinity='precomputed') to cut the graph{instead}."
        )
    if is_graph:
        return X.matrix, X.names
    if is_frame and n_known is not None and X.shape[1] == n_known:
        return X, None
    matrix, names, _ = as_matrix(X)
    # A square frame is returned itself, as scikit-learn records the names of its columns.
    return X if is_frame and matrix.shape == X.shape else matrix, names


def validated(model: Any, X: Any, reset: bool) -> Any:
    """Return X validated by scikit-learn: finite, float32 or float64, sparse as CSR."""
    # scikit-learn converts strings to numbers, and trusts the index arrays of sparse matrices.
    check_matrix("X", X)
    # It adds up duplicates in their own type, where small integers would overflow.
    if sp.issparse(X) and X.dtype.kind in "biu":
        X = X.astype(np.float64)
    return validate_data(model, X, reset=reset, accept_sparse="csr", dtype=DTYPES)


def make_graph(
    model: Any, affinity: Affinity, X: Any, options: dict[str, Any], seed: int
) -> tuple[Any, Graph]:
    """Return the graph of X as a matrix and as a ``Graph``; set ``neighbors_recall_``."""
    model.neighbors_recall_ = None
    if affinity.takes == "samples" and X.shape[0] == X.shape[1]:
        warn_of_graph(X)
    if not affinity.searches:
        matrix = affinity.graph(X, **options)
        return matrix, as_graph(matrix)

    def report(search: NeighborSearch) -> None:
        model.neighbors_recall_ = search.recall
        model._log(search)

    search_options = {"neighbors": model.neighbors, "device": model.device, "random_state": seed}
    matrix = affinity.graph(X, **options, **search_options, callback=report)
    # Symmetric and positive by construction, so the checks of ``as_graph`` are skipped.
    return matrix, Graph(matrix.indptr, matrix.indices, matrix.data)


def warn_of_isolated(graph: Graph, consequence: str) -> None:
    """Warn of nodes without edges; ``consequence`` completes the message."""
    count = graph.n_nodes - graph.connected.size
    if count:
        have = "has" if count == 1 else "have"
        warn_caller(f"{count} of {graph.n_nodes} nodes {have} no edges{consequence}")


def check_counts(parameters: Mapping[str, Any], n_samples: int) -> None:
    """Raise if there are fewer samples than clusters or components."""
    for name in ("n_clusters", "n_components"):
        value = parameters[name]
        if isinstance(value, Integral) and int(value) > n_samples:
            raise ValueError(
                f"n_samples={n_samples} should be >= {name}={value}; pass {name}={n_samples} or "
                "less, or more samples."
            )


def is_list_of_views(X: Any) -> bool:
    """Return whether X is a list of matrices or graphs, and not a list of rows."""
    # A pair of edges and their weights is not one, as the weights have one dimension.
    return isinstance(X, list | tuple) and len(X) > 0 and all(map(_is_matrix_or_graph, X))


def _is_matrix_or_graph(X: Any) -> bool:
    if sp.issparse(X) or isinstance(X, Graph) or hasattr(X, "columns") or is_foreign(X):
        return True
    # Only the first entry of a list is inspected, as there may be millions.
    first = X[0] if isinstance(X, list | tuple) and len(X) else None
    return getattr(X, "ndim", 0) == 2 or (first is not None and np.ndim(first) == 1)

"""Graphs of other libraries, where samples or a matrix could have been passed as well.

A data frame is samples to an affinity of samples. To affinity="precomputed" it is an edge list or,
if it is as wide as there are nodes, a matrix.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from leastcut.graph import Graph, is_factored
from leastcut.integrations.graphs import as_matrix, is_foreign


class Given(NamedTuple):
    """What was passed as X, as arrays or whatever else scikit-learn reads, and names of nodes."""

    X: Any
    names: tuple[Any, ...] | None


def read_given(X: Any, takes: str, name: Any, n_known: int | None = None) -> Given:
    """Return X as it is or, where it is a graph of another library, its matrix and names.

    Parameters
    ----------
    X : object
    takes : {"samples", "affinities", "distances"}
        What X is expected to be.
    name : str or callable
        The name of the affinity, for the error.
    n_known : int, optional
        The number of nodes of a graph that new rows are for: a frame as wide as that holds rows.
    """
    if is_factored(X):
        raise TypeError(
            f"X is {X!r}, which stores no edges. leastcut.partition cuts it as it is; the "
            "estimator makes one of samples, by affinity='anchors'."
        )
    is_frame, is_own = hasattr(X, "columns"), isinstance(X, Graph)
    if not (is_own or is_foreign(X)) or (is_frame and takes != "affinities"):
        return Given(X, None)
    if takes != "affinities":
        library = type(X).__module__.partition(".")[0]
        what = "edges and their weights" if library == "builtins" else f"a graph of {library}"
        instead = ", or adata.obsm['X_pca'] to make one of points" if library == "anndata" else ""
        raise ValueError(
            f"X is {what}, and affinity={name!r} takes {takes}. Pass "
            f"affinity='precomputed' to cut the graph{instead}."
        )
    if is_own:
        return Given(X.matrix, X.names)
    if is_frame and n_known is not None and X.shape[1] == n_known:
        return Given(X, None)
    matrix, names, _ = as_matrix(X)
    # A frame that is a matrix stays one: scikit-learn keeps the names of its columns.
    return Given(X if is_frame and matrix.shape == X.shape else matrix, names)

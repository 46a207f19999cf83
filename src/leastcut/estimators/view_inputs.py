"""X as several views: groups of its columns, or a list with one X for every view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils._indexing import _get_column_indices, _safe_indexing
from sklearn.utils.validation import check_array, validate_data

from leastcut.affinity import AFFINITIES, affinity_of
from leastcut.estimators.given_graph import read_given
from leastcut.estimators.parameters import ANCHORS, LEARNED, check_counts
from leastcut.graph import Graph
from leastcut.integrations.graphs import is_foreign
from leastcut.validation import check_matrix

DTYPES = [np.float64, np.float32]
"""The types that samples are kept in."""


def is_viewed(X: Any, model: Any) -> bool:
    """Whether an estimator and what it is to be fitted to mean several views."""
    return model.views is not None or isinstance(model.affinity, list) or is_list_of_views(X)


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


def affinities_of(model: Any, n_views: int) -> list[Any]:
    """Return the affinity of every view: a list as it is, and any other for all of them."""
    if not isinstance(model.affinity, list):
        names = [model.affinity] * n_views
    elif len(model.affinity) != n_views:
        raise ValueError(
            f"affinity lists {len(model.affinity)} affinities for {n_views} views; list one for "
            "every view, or pass a single one for all of them."
        )
    else:
        names = model.affinity
    for v, name in enumerate(names):
        if isinstance(name, str) and name == ANCHORS:
            raise ValueError(
                "affinity='anchors' stores no edges, which views need; pass another affinity, as "
                "'adaptive_neighbors'."
            )
        if isinstance(name, str) and name == LEARNED:
            raise ValueError(
                "affinity='learned' makes a graph in as many pieces as clusters of one view alone, "
                "which leaves nothing to the others; pass 'adaptive_neighbors', which it begins "
                "with."
            )
        if not callable(name) and not (isinstance(name, str) and name in AFFINITIES):
            raise ValueError(
                f"affinity[{v}]={name!r} is not known; choose from "
                f"{', '.join(map(repr, AFFINITIES))}, or pass a callable."
            )
    return names


def checked_views(model: Any, X: Any, reset: bool) -> list[Any]:
    """Return the X of every view, checked as scikit-learn does, and note or compare the features.

    Parameters
    ----------
    model : SpectralClustering
        Its ``views`` and ``affinity`` say what X is. ``n_features_in_`` and what else is known of
        features are set on it, or compared.
    X : array-like, sparse matrix, data frame, or list of such
    reset : bool
        Whether X is what the estimator is fitted to.
    """
    if is_list_of_views(X):
        if model.views is not None:
            raise ValueError(
                f"views= selects columns of one X, but X is a list of {len(X)}; leave views out, "
                "or pass one X."
            )
        found = _listed(model, X, reset)
    else:
        found = _selected(model, X, reset)
    if reset:
        check_counts(model.get_params(deep=False), found[0].shape[0])
    return found


def _listed(model: Any, X: Sequence[Any], reset: bool) -> list[Any]:
    """Return what a list holds, one X for every view."""
    widths = None if reset else model._view_widths
    if not reset and widths is None:
        raise ValueError(
            f"X is a list of {len(X)} views, but the estimator was fitted to one X, of which every "
            "view takes columns; pass one X."
        )
    if widths is not None and len(X) != len(widths):
        raise ValueError(f"X has {len(X)} views, but the estimator was fitted to {len(widths)}.")
    found: list[Any] = []
    names = None
    for v, (given, affinity) in enumerate(zip(X, affinities_of(model, len(X)), strict=True)):
        takes = affinity_of(affinity).takes
        one, own = read_given(given, takes, affinity, None if widths is None else widths[v])
        check_matrix(f"X[{v}]", one)
        one = check_array(one, accept_sparse="csr", dtype=DTYPES, input_name=f"X[{v}]")
        if found and one.shape[0] != found[0].shape[0]:
            raise ValueError(
                f"X[0] has {found[0].shape[0]} rows and X[{v}] has {one.shape[0]}; views are of "
                "the same samples, in the same order."
            )
        if widths is not None and one.shape[1] != widths[v]:
            raise ValueError(f"X[{v}] has {one.shape[1]} columns, but in fit it had {widths[v]}.")
        found.append(one)
        names = own if names is None else names
    if reset:
        model.node_names_ = names
        model._view_columns, model._view_widths = None, [one.shape[1] for one in found]
        model.n_features_in_ = sum(model._view_widths)
        model.__dict__.pop("feature_names_in_", None)
    return found


def _selected(model: Any, X: Any, reset: bool) -> list[Any]:
    """Return groups of the columns of X, or all of them once for every affinity."""
    if not reset and model._view_columns is None:
        raise ValueError(
            f"The estimator was fitted to a list of {len(model._view_widths)} views; pass X as "
            "such a list."
        )
    is_frame = hasattr(X, "columns")
    # The columns of a frame that no view has may hold anything.
    options: dict[str, Any] = {"accept_sparse": "csr", "dtype": DTYPES}
    further = {"skip_check_array": True} if is_frame else options
    if not is_frame:
        check_matrix("X", X)
    found = validate_data(model, X, reset=reset, **further)
    if reset:
        model.node_names_ = None
        model._view_columns, model._view_widths = _columns(model, found), None
        affinities_of(model, len(model._view_columns))
    parts = [_safe_indexing(found, columns, axis=1) for columns in model._view_columns]
    if is_frame:
        for part in parts:
            check_matrix("X", part)
        parts = [check_array(part, **options, input_name="X") for part in parts]
    return parts


def _columns(model: Any, X: Any) -> list[list[int]]:
    """Return the numbers of the columns of every view."""
    if model.views is None:
        return [list(range(X.shape[1]))] * len(model.affinity)
    if any(affinity_of(name).takes != "samples" for name in affinities_of(model, len(model.views))):
        raise ValueError(
            f"views= selects columns of samples, and affinity={model.affinity!r} takes graphs; "
            "leave views out, and pass X as a list of graphs."
        )
    found = []
    for v, view in enumerate(model.views):
        chosen = view(X) if callable(view) else view
        if isinstance(chosen, slice) and chosen.start is None and chosen.stop is None:
            chosen = range(X.shape[1])[chosen]  # names or numbers: scikit-learn takes it for names
        key = list(chosen) if isinstance(chosen, range) else chosen
        try:
            columns = list(map(int, _get_column_indices(X, key)))
        except (ValueError, IndexError, TypeError) as error:
            raise ValueError(
                f"views[{v}]={chosen!r} selects no columns of X, which has {X.shape[1]}: {error}"
            ) from None
        if not columns:
            raise ValueError(f"views[{v}]={chosen!r} selects no column; leave it out.")
        found.append(columns)
    if not found:
        raise ValueError("views is empty; select the columns of one view at least.")
    return found

"""Invariants of fits, predictions and graphs of samples."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

import leastcut
from fuzz.cases import GraphCase, PointsCase
from fuzz.outcome import assume, at_most, close, require, shown

BUILDERS = {
    "adaptive_neighbors": leastcut.adaptive_neighbors_graph,
    "nearest_neighbors": leastcut.nearest_neighbors_graph,
    "self_tuning": leastcut.self_tuning_graph,
}
"""The affinities whose graph is invariant to scaling the samples, up to a factor."""

FIT = "model = leastcut.SpectralClustering(n_clusters, **options).fit(X)"


def fit_is_a_cut(case: PointsCase) -> None:
    """A fit has c clusters, and its cut value is that of its labels on its graph, to 1e-12."""
    model = fitted(case)
    labels = model.labels_
    clusters = np.unique(labels)
    require(
        np.array_equal(clusters, np.arange(case.n_clusters)),
        f"clusters {clusters[:20].tolist()}, expected {case.n_clusters}",
        FIT,
    )
    graph = as_graph_case(case, model)
    assume(not (node_weight_sums(graph) == 0).any())
    expected = graph.exact.value(labels)
    value = model.cut_value_
    message = f"cut_value_ is {value!r}, expected {shown(expected)}"
    require(close(value, expected, Fraction(1, 10**12)), message, FIT)


def fit_bound_is_below_cut(case: PointsCase) -> None:
    """`lower_bound_` of a fit and `lower_bound` of its graph are at most its cut value."""
    model = fitted(case)
    graph = as_graph_case(case, model)
    assume(not (node_weight_sums(graph) == 0).any())
    value = graph.exact.value(model.labels_)
    bound = model.lower_bound_
    require(bound >= 0 and at_most(bound, value), f"{bound!r} above {shown(value)}", FIT)
    bound = leastcut.lower_bound(model.affinity_matrix_, case.n_clusters, graph.cut, random_state=0)
    require(
        at_most(bound, value),
        f"{bound!r} above {shown(value)}",
        f"{FIT}\nleastcut.lower_bound(model.affinity_matrix_, n_clusters, cut)",
    )


def predict_ignores_the_batch(case: PointsCase) -> None:
    """The prediction for a sample does not depend on the other samples of the call."""
    model = fitted(case)
    # The samples, and midpoints between samples, where distances are tied.
    new = np.vstack([case.X, 0.5 * case.X[:-1] + 0.5 * case.X[1:]])
    X = sp.csr_array(new) if case.sparse else new
    expected = predicted(model, X)
    order = np.random.default_rng(case.number).permutation(new.shape[0])
    code = f"{FIT}\nmodel.predict(X)"
    require(np.array_equal(predicted(model, X[order]), expected[order]), "order matters", code)
    some = order[: max(1, case.n // 3)]
    require(np.array_equal(predicted(model, X[some]), expected[some]), "the batch matters", code)
    for i in order[:5]:
        label = predicted(model, X[[i]])[0]
        require(label == expected[i], f"sample {i}: {label}, in a batch {expected[i]}", code)


def predict_ignores_the_format(case: PointsCase) -> None:
    """`predict` gives equal labels for dense and sparse samples, after either kind of fit."""
    model = fitted(case)
    expected = predicted(model, case.samples)
    other = case.X if case.sparse else sp.csr_array(case.X)
    require(
        np.array_equal(predicted(model, other), expected),
        "dense and sparse samples get different labels",
        f"{FIT}\nmodel.predict(X), model.predict(scipy.sparse.csr_array(X))",
    )


def units_of_samples_do_not_matter(case: PointsCase) -> None:
    """Scaling samples by a power of two changes neither their graph nor the predicted labels."""
    assume(case.affinity in BUILDERS)
    factor = 2.0**case.exponent
    with np.errstate(over="ignore", under="ignore"):
        scaled = case.X * factor
        # Scaling must be exact.
        assume(bool(np.isfinite(scaled).all() and (scaled / factor == case.X).all()))
    few = min(case.n_neighbors, case.n - 2)
    assume(few >= 1)
    options: dict[str, Any] = {"n_neighbors": few}
    if case.affinity == "self_tuning":
        options["scale_neighbor"] = min(few, 3)
    builder = BUILDERS[case.affinity]
    one, two = builder(case.X, **options), builder(scaled, **options)
    code = f"leastcut.{builder.__name__}(X, **{options}), and of X * 2.0**{case.exponent}"
    difference = abs(one - two).max() if one.nnz or two.nnz else 0.0
    require(one.nnz == two.nnz and difference <= 1e-9, f"graphs differ by {difference!r}", code)
    labels = predicted(fitted(case, X=case.X), case.X)
    again = predicted(fitted(case, X=scaled), scaled)
    count = np.count_nonzero(labels != again)
    require(count == 0, f"predict differs for {count} of {case.n}", f"{FIT}\nmodel.predict(X)")


def fit_is_the_same_again(case: PointsCase) -> None:
    """A seed determines a fit, on one and two threads, and X is unchanged."""
    before = case.X.copy()
    X = case.X
    one = fitted(case, X=X, n_jobs=1)
    two = fitted(case, X=X, n_jobs=2)
    require(np.array_equal(one.labels_, two.labels_), "n_jobs matters", FIT)
    require(np.array_equal(X, before), "X was changed", FIT)


def fitted(case: PointsCase, X: Any = None, **changes: Any) -> leastcut.SpectralClustering:
    """Return the fitted estimator, ignoring warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return case.estimator(**changes).fit(case.samples if X is None else X)


def predicted(model: leastcut.SpectralClustering, X: Any) -> np.ndarray:
    """Return the predicted labels of samples, ignoring warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return np.asarray(model.predict(X))


def as_graph_case(case: PointsCase, model: leastcut.SpectralClustering) -> GraphCase:
    """Return the graph of a fit as a case."""
    graph = sp.coo_array(model.affinity_matrix_)
    i, j = graph.coords
    upper = (i <= j) & (graph.data > 0)
    return GraphCase(
        case.seed, case.number, case.shape, case.n, i[upper], j[upper],
        graph.data[upper].astype(float), str(case.settings["cut"]), case.n_clusters, model.labels_,
    )  # fmt: skip


def node_weight_sums(graph: GraphCase) -> np.ndarray:
    """Return the number of nodes of positive weight in each cluster of a fit."""
    weight = np.array([float(b > 0) for b in graph.exact.b])
    return np.bincount(graph.labels, weight)

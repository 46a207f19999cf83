"""Random settings on random input: a fit succeeds, or raises a documented error."""

from __future__ import annotations

import re
import warnings

import numpy as np
import scipy.sparse as sp
from conftest import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from leastcut import (
    DISCRETIZERS,
    AnchorSpectralClustering,
    MultiViewSpectralClustering,
    SpectralClustering,
)

DOCUMENTED = re.compile(
    "|".join(
        [
            "should be >= n_clusters",
            "should be >= n_components",
            "is more than max_clusters",
            "belongs to the (spectral|multilevel) solver",
            "is the weight of the first-order term",
            "A cut needs non-negative affinities",
            "Negative values in data",
            "NaN or infinite entr",  # powers of large numbers overflow
            "is supported. Scale X",  # squares of huge and tiny numbers
            "needs a square matrix",
            "neighbors are required for some samples",
            "needs the package pyamg",
            "overflow or vanish: the largest distance",  # squares of huge and tiny distances
            "takes no parameters|two columns",
            r"is more than the \d+ anchors",  # equal samples share anchors
        ]
    )
)
"""Messages of all errors that valid types and values may cause."""

SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "n_clusters": st.one_of(st.integers(1, 9), st.just("auto")),
        "eigen_solver": st.sampled_from([None, "arpack", "lobpcg", "amg"]),
        "n_components": st.one_of(st.none(), st.integers(1, 9)),
        "n_init": st.integers(1, 3),
        "gamma": st.sampled_from([0.0, 0.1, 1.0, 100.0]),
        "affinity": st.sampled_from(
            [
                "adaptive_neighbors",
                "nearest_neighbors",
                "self_tuning",
                "rbf",
                "cosine",
                "linear",
                "polynomial",
                "precomputed",
                "precomputed_nearest_neighbors",
            ]
        ),
        "n_neighbors": st.integers(1, 12),
        "eigen_tol": st.sampled_from(["auto", 0.0, 1e-3]),
        "assign_labels": st.sampled_from([*DISCRETIZERS, "discretize"]),
        "cut": st.sampled_from(["normalized", "ratio"]),
        "eta": st.sampled_from(["auto", 0.0, 1e-3, 10.0]),
        "solver": st.sampled_from(["auto", "spectral", "multilevel"]),
        "refine": st.booleans(),
        "effort": st.sampled_from(["fast", "balanced"]),
        "max_clusters": st.sampled_from([None, 2, 7]),
        "metric": st.sampled_from(["cosine", "correlation", "manhattan", "canberra", "jaccard"]),
    },
)


@st.composite
def inputs(draw):
    """Draw samples or a matrix between them: scattered, equal, constant, huge, tiny, sparse."""
    n = draw(st.integers(1, 14))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    columns = draw(st.sampled_from([1, 3, n]))
    X = draw(st.sampled_from([rng.normal, rng.random]))(size=(n, columns))
    kind = draw(st.sampled_from(["plain", "rounded", "constant", "scaled", "symmetric"]))
    if kind == "rounded":
        X = np.round(X)
    elif kind == "constant":
        X = np.full_like(X, draw(st.sampled_from([0.0, 1.0])))
    elif kind == "scaled":
        X = X * draw(st.sampled_from([1e-150, 1e-8, 1e8, 1e150]))
    elif kind == "symmetric" and columns == n:
        X = np.abs(X + X.T) * (rng.random((n, n)) < 0.5)
        X = np.maximum(X, X.T)
    X = X.astype(draw(st.sampled_from([np.float64, np.float64, np.float32])))
    X[~np.isfinite(X)] = 1.0
    return sp.csr_array(X) if draw(st.booleans()) else X


ANCHORED = st.fixed_dictionaries(
    {},
    optional={
        "n_clusters": st.one_of(st.integers(1, 9), st.just("auto")),
        "n_components": st.one_of(st.none(), st.integers(1, 9)),
        "n_anchors": st.integers(1, 20),
        "n_neighbors": st.integers(1, 12),
        "effort": st.sampled_from(["fast", "balanced"]),
        "max_clusters": st.sampled_from([None, 2, 7]),
    },
)

VIEWED = st.fixed_dictionaries(
    {},
    optional={
        "n_clusters": st.integers(1, 9),
        "n_components": st.one_of(st.none(), st.integers(1, 9)),
        "affinity": st.sampled_from(["rbf", "nearest_neighbors", ["self_tuning", "cosine"]]),
        "view_weights": st.sampled_from(["auto", "equal"]),
        "cut": st.sampled_from(["normalized", "ratio"]),
        "n_neighbors": st.one_of(st.none(), st.integers(1, 12)),
    },
)


@settings(max_examples=draws(250))
@given(setting=SETTINGS, X=inputs(), seed=st.integers(0, 5), is_weighted=st.booleans())
def test_fits_succeed_or_raise_documented_errors(setting, X, seed, is_weighted):
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, X.shape[0]) if is_weighted else None
    check_fit(SpectralClustering(random_state=seed, **setting), X, sample_weight=weight)


@settings(max_examples=draws(60))
@given(setting=ANCHORED, X=inputs(), seed=st.integers(0, 5))
def test_fits_of_anchors_succeed_or_raise_documented_errors(setting, X, seed):
    X = X.toarray() if sp.issparse(X) else X
    check_fit(AnchorSpectralClustering(random_state=seed, **setting), X)


@settings(max_examples=draws(60))
@given(setting=VIEWED, X=inputs(), seed=st.integers(0, 5))
def test_fits_of_views_succeed_or_raise_documented_errors(setting, X, seed):
    options = {"effort": "fast", "random_state": seed, **setting}
    check_fit(MultiViewSpectralClustering(**options), X)


def check_fit(model, X, **arguments):
    """Fit a model and check all attributes and methods, or that the error is documented."""
    again = clone(model)
    before = X.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            model.fit(X, **arguments)
        except ValueError as error:
            if DOCUMENTED.search(str(error)):
                return
            raise
        again.fit(X, **arguments)
        predicted = model.predict(X)
        np.testing.assert_array_equal(model.transform(X), model.embedding_)
        assert np.isfinite(model.transform(X[: X.shape[0] // 2 + 1])).all()
    changed = (before != X).nnz if sp.issparse(X) else np.count_nonzero(before != X)
    assert changed == 0
    n = X.shape[0]
    assert model.labels_.shape == predicted.shape == (n,)
    assert set(model.labels_) == set(range(model.n_clusters_))
    if model.n_clusters != "auto":
        assert model.n_clusters_ == model.n_clusters
    assert np.isfinite(model.cut_value_)
    assert 0.0 <= model.lower_bound_ <= model.cut_value_
    assert 0.0 <= model.gap_ <= 1.0
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.score(X[: n // 2 + 1]))
    np.testing.assert_array_equal(model.labels_, again.labels_)

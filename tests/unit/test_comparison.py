"""Comparison of methods on one graph."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import draws, graphs, knn_graph
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris

import leastcut

METHODS = (*leastcut.DISCRETIZERS, "direct_cut", "partition")
IRIS = knn_graph(load_iris().data)


@settings(max_examples=draws(15))
@given(graphs(min_nodes=4), st.sampled_from(["ratio", "normalized"]), st.data())
def test_every_row_has_the_value_of_its_labels_above_the_bound(S, cut, data):
    n_clusters = data.draw(st.integers(1, S.shape[0]))
    compared = leastcut.compare(S, n_clusters, cut, effort="fast", random_state=0)
    assert tuple(row.method for row in compared.compared) == METHODS
    assert (compared.cut, compared.n_clusters) == (cut, n_clusters)
    for row in compared.compared:
        assert row.cut_value == leastcut.cut_value(S, row.labels, cut)
        assert row.cut_value >= compared.lower_bound - 1e-12
        assert row.sizes == tuple(np.bincount(row.labels))
        assert len(row.sizes) == n_clusters
        assert min(row.sizes) > 0
        assert row.gap == leastcut.Partition(row.labels, row.cut_value, compared.lower_bound).gap
        assert row.seconds > 0
    assert compared.best.cut_value == min(row.cut_value for row in compared.compared)


def test_a_method_returns_the_same_labels_as_alone():
    together = leastcut.compare(IRIS, 3, random_state=7)
    alone = {
        "direct_cut": leastcut.direct_cut(IRIS, 3, random_state=7),
        "partition": leastcut.partition(IRIS, 3, random_state=7),
    }
    relaxation = leastcut.relax(IRIS, 3, random_state=7)
    for method in leastcut.DISCRETIZERS:
        alone[method] = leastcut.discretize(relaxation, method, graph=IRIS, random_state=7)
    for row in together.compared:
        np.testing.assert_array_equal(row.labels, alone[row.method].labels)
        (one,) = leastcut.compare(IRIS, 3, methods=[row.method], random_state=7).compared
        np.testing.assert_array_equal(row.labels, one.labels)


def test_node_weights_and_the_order_and_duplicates_of_methods():
    weights = np.linspace(1, 2, 150)
    methods = ["partition", "kmeans", "partition"]
    compared = leastcut.compare(IRIS, 3, weights, methods=methods, effort="fast", random_state=0)
    assert [row.method for row in compared.compared] == ["partition", "kmeans"]
    assert compared.cut == "given"
    for row in compared.compared:
        assert row.cut_value == leastcut.cut_value(IRIS, row.labels, weights)


def test_the_table_is_sorted_by_cut_value():
    compared = leastcut.compare(IRIS, 8, effort="fast", random_state=0)
    head, *rows, foot = str(compared).splitlines()
    assert head.split() == ["method", "normalized", "cut", "gap", "seconds", "cluster", "sizes"]
    assert {row.split()[0] for row in rows} == {*METHODS}
    values = [float(row.split()[1]) for row in rows]
    assert values == sorted(values)
    assert f"{compared.lower_bound:.6g}" in foot
    assert all("…" in row for row in rows)
    assert len(repr(compared)) < 200
    assert len(repr(compared.best)) < 200


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"methods": ["kmeens"]}, ValueError, "methods='kmeens' is not known; choose one of 'fi"),
        ({"methods": "kmeans"}, TypeError, r"for one method pass \['kmeans'\]"),
        ({"methods": np.argmax}, TypeError, r"must be a list; for one method pass"),
        (
            {"methods": 5},
            TypeError,
            "must be a list of functions or names; known names are first_order, ",
        ),
        ({"methods": []}, ValueError, "methods is empty"),
        ({"effort": "much"}, ValueError, "effort='much' is not known"),
        ({"n_clusters": 151}, ValueError, "151"),
        ({"cut": "round"}, ValueError, "cut='round' is not known"),
        ({"random_state": -1}, ValueError, "random_state=-1 is not a seed"),
    ],
)
def test_invalid_arguments_raise_before_any_computation(arguments, error, message, monkeypatch):
    monkeypatch.setattr("leastcut.comparison.relax", None)  # calling it would raise another error
    with pytest.raises(error, match=message):
        leastcut.compare(**{"graph": IRIS, "n_clusters": 3, **arguments})


def test_none_and_generators_are_valid_seeds():
    same = [
        leastcut.compare(
            IRIS, 3, methods=["kmeans", "rotation"], random_state=np.random.default_rng(5)
        )
        for _ in range(2)
    ]
    for one, other in zip(same[0].compared, same[1].compared, strict=True):
        np.testing.assert_array_equal(one.labels, other.labels)
    assert leastcut.compare(IRIS, 3, methods=["kmeans"]).compared[0].cut_value > 0


def discretize_by_parity(relaxation, *, random_state, score):
    """Discretize by the parity of the node number."""
    labels = np.arange(relaxation.n_nodes) % relaxation.n_clusters
    return leastcut.Discretization(labels, 1, True, 0.0, np.array([0.0]))


def test_functions_are_labeled_by_their_names():
    compared = leastcut.compare(IRIS, 3, methods=[discretize_by_parity, "kmeans"], random_state=0)
    row, other = compared.compared
    assert (row.method, other.method) == ("discretize_by_parity", "kmeans")
    np.testing.assert_array_equal(row.labels, np.arange(150) % 3)
    assert row.cut_value == leastcut.cut_value(IRIS, row.labels)
    assert compared.best is other
    assert "discretize_by_parity" in str(compared)


def test_registered_methods_are_compared_by_name(monkeypatch):
    monkeypatch.setitem(leastcut.DISCRETIZERS, "by_number", discretize_by_parity)
    (row,) = leastcut.compare(IRIS, 3, methods=["by_number"], random_state=0).compared
    assert (row.method, row.sizes) == ("by_number", (50, 50, 50))
    every = leastcut.compare(IRIS, 3, effort="fast", random_state=0)
    assert "by_number" in {row.method for row in every.compared}

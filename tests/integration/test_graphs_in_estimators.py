"""Graphs as input of the estimator and ``cut_path``, and graphs mistaken for samples."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from leastcut import SpectralClustering, cut_path, cut_value, partition
from leastcut.graph import as_graph

nx = pytest.importorskip("networkx")


def club():
    """Return a graph with unsorted node names, and its matrix."""
    graph = nx.relabel_nodes(nx.karate_club_graph(), lambda node: f"member {node * 7 % 34}")
    return graph, nx.to_numpy_array(graph)


def of_igraph(graph):
    igraph = pytest.importorskip("igraph")
    return igraph.Graph.from_networkx(graph, vertex_attr_hashable="name")


def of_anndata(graph):
    anndata = pytest.importorskip("anndata")
    result = anndata.AnnData(np.zeros((34, 1), dtype=np.float32))
    result.obs_names = list(graph)
    result.obsp["connectivities"] = sp.csr_matrix(nx.to_numpy_array(graph))
    return result


FORMS = {
    "networkx": lambda graph: graph,
    "igraph": of_igraph,
    "anndata": of_anndata,
    "edge list": nx.to_pandas_edgelist,
    "frame": nx.to_pandas_adjacency,
    "graph": as_graph,
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_clusters_of_the_matrix(form):
    graph, S = club()
    model = SpectralClustering(2, affinity="precomputed", random_state=0)
    labels = clone(model).fit(S).labels_
    expected = dict(zip(graph, labels.tolist(), strict=True))
    given = FORMS[form](graph)
    assert sorted(model.fit_predict(given)) == sorted(labels)
    result = model.by_node()
    # Labels are numbered by the order of nodes, so clusters are compared as sets of names.
    assert {frozenset(n for n in result if result[n] == k) for k in (0, 1)} == {
        frozenset(n for n in expected if expected[n] == k) for k in (0, 1)
    }
    assert list(result) == list(model.node_names_)
    assert model.cut_value_ == pytest.approx(cut_value(S, labels))
    assert model.score(given) == -model.cut_value_
    np.testing.assert_array_equal(model.transform(given), model.embedding_)
    assert pickle.loads(pickle.dumps(model)).by_node() == result
    assert model.certify().by_node().keys() == result.keys()
    path = cut_path(given, [2, 3], affinity="precomputed", random_state=0)
    assert path[2].by_node().keys() == result.keys()
    assert path[2].cut_value <= model.cut_value_ + 1e-12


def test_pairs_of_edges_and_weights():
    _, S = club()
    edges = np.array(np.nonzero(S))
    model = SpectralClustering(2, affinity="precomputed", random_state=0).fit(S)
    again = clone(model).fit((edges, S[tuple(edges)]))
    np.testing.assert_array_equal(again.labels_, model.labels_)
    assert again.node_names_ is None
    with pytest.raises(ValueError, match="no names of nodes"):
        again.by_node()
    path = cut_path((edges, S[tuple(edges)]), [2], affinity="precomputed", random_state=0)
    assert path[2].cut_value == pytest.approx(partition(S, 2, random_state=0).cut_value)


def test_the_path_of_a_fit_has_the_names_of_nodes_with_edges():
    graph, _ = club()
    graph.add_node("nobody")
    model = SpectralClustering("auto", max_clusters=3, affinity="precomputed", random_state=0)
    with pytest.warns(UserWarning, match="no edges"):
        model.fit(graph)
    assert "nobody" in model.by_node()
    assert set(model.cut_path_[2].by_node()) == set(graph) - {"nobody"}


def test_predict_with_rows_for_a_fitted_graph():
    graph, S = club()
    model = SpectralClustering(2, affinity="precomputed", random_state=0).fit(graph)
    assert model.predict(S[:3]).shape == (3,)
    frame = nx.to_pandas_adjacency(graph)
    model.fit(frame)
    np.testing.assert_array_equal(model.predict(frame.iloc[:3]), model.predict(frame)[:3])
    assert list(model.feature_names_in_) == list(graph)


@pytest.mark.parametrize("affinity", ["adaptive_neighbors", "rbf", "precomputed_nearest_neighbors"])
@pytest.mark.parametrize("form", ["networkx", "igraph", "anndata", "graph"])
def test_a_graph_with_another_affinity_raises(form, affinity):
    given = FORMS[form](club()[0])
    for call in (
        lambda: SpectralClustering(2, affinity=affinity).fit(given),
        lambda: cut_path(given, [2], affinity=affinity),
    ):
        with pytest.raises(ValueError, match=r"affinity='precomputed'"):
            call()


def test_data_frames_are_samples_for_affinities_of_samples(blobs):
    X, _ = blobs
    frame = pd.DataFrame(X, columns=["source", "target"])
    model = SpectralClustering(3, random_state=0).fit(frame)
    np.testing.assert_array_equal(
        model.labels_, SpectralClustering(3, random_state=0).fit(X).labels_
    )
    assert cut_path(frame, [3], random_state=0)[3].cut_value <= model.cut_value_ + 1e-12


def test_a_directed_graph_is_averaged_with_a_warning():
    graph = nx.DiGraph([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)])
    with pytest.warns(UserWarning, match="averaged with their transpose"):
        model = SpectralClustering(2, affinity="precomputed", random_state=0).fit(graph)
    S = nx.to_numpy_array(graph)
    assert model.cut_value_ == pytest.approx(cut_value((S + S.T) / 2, model.labels_))


# -- graphs mistaken for samples


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.coo_array, pd.DataFrame, list])
def test_a_symmetric_matrix_of_samples_gives_a_warning(container):
    S = container(club()[1])
    with pytest.warns(
        UserWarning, match=r"interpreted as 34 samples.*affinity='precomputed'"
    ) as caught:
        SpectralClustering(2, random_state=0).fit(S)
    assert caught[0].filename == __file__
    if container is not pd.DataFrame:
        with pytest.warns(UserWarning, match=r"interpreted as 34 samples.*affinity='precomputed'"):
            cut_path(S, [2], random_state=0)
    with pytest.warns(UserWarning, match="interpreted as 34 samples"):
        SpectralClustering(2, affinity="rbf", random_state=0).fit(S)


def test_other_matrices_of_samples_give_no_warning(blobs):
    X, _ = blobs
    S = club()[1]
    almost = S.copy()
    almost[0, 1] += 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SpectralClustering(2, random_state=0).fit(X)
        SpectralClustering(2, random_state=0).fit(almost)
        SpectralClustering(2, random_state=0).fit(sp.csr_array(almost))
        SpectralClustering(2, random_state=0).fit(np.eye(2))
        SpectralClustering(2, affinity="precomputed", random_state=0).fit(S)
        cut_path(almost, [2], random_state=0)

"""Clustering of single cells with the interface of scanpy."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import leastcut

anndata = pytest.importorskip("anndata")
sc = pytest.importorskip("scanpy")
pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore:The evidence for n_clusters"),
]


@pytest.fixture
def cells():
    return sc.datasets.pbmc68k_reduced()


def test_clusters_and_results_are_written(cells):
    assert leastcut.integrations.scanpy.cut(cells, 8, lower_bound=True) is None
    labels, entries = cells.obs["leastcut"], cells.uns["leastcut"]
    assert labels.dtype == "category"
    assert list(labels.cat.categories) == [str(k) for k in range(8)]
    assert labels.value_counts(sort=False).is_monotonic_decreasing
    graph = cells.obsp["connectivities"]
    assert entries["cut_value"] == pytest.approx(leastcut.cut_value(graph, labels))
    assert entries["lower_bound"] <= entries["cut_value"]
    assert entries["n_clusters"] == 8
    assert entries["params"] == {
        "n_clusters": 8,
        "cut": "normalized",
        "effort": "balanced",
        "random_state": 0,
        "obsp": "connectivities",
    }
    result = leastcut.partition(graph, 8, lower_bound=True, random_state=0)
    assert adjusted_rand_score(result.labels, labels) == 1


def test_scanpy_can_use_and_save_the_clusters(cells, tmp_path):
    leastcut.integrations.scanpy.cut(cells, effort="fast", key_added="cuts", random_state=None)
    sc.tl.rank_genes_groups(cells, "cuts", method="t-test")
    cells.write_h5ad(tmp_path / "cells.h5ad")
    again = sc.read_h5ad(tmp_path / "cells.h5ad")
    assert (again.obs["cuts"] == cells.obs["cuts"]).all()
    assert again.uns["cuts"]["cut_value"] == cells.uns["cuts"]["cut_value"]
    assert again.uns["cuts"]["params"]["n_clusters"] == "auto"


def test_copy_does_not_change_the_original(cells):
    before = cells.copy()
    other = leastcut.integrations.scanpy.cut(cells, 3, effort="fast", copy=True)
    assert "leastcut" in other.obs
    assert "leastcut" not in cells.obs
    assert "leastcut" not in cells.uns
    assert (before.obsp["connectivities"] != cells.obsp["connectivities"]).nnz == 0


def test_graphs_with_other_keys(cells):
    sc.pp.neighbors(cells, n_neighbors=7, key_added="seven", method="gauss")
    affinities = cells.obsp["seven_connectivities"]
    for graph in (affinities, cells.obsp["connectivities"]):  # graphs of scanpy are symmetric
        assert abs(graph - graph.T).max() <= 1e-8 * graph.max()
    leastcut.integrations.scanpy.cut(cells, 4, effort="fast", neighbors_key="seven")
    by_key = cells.uns["leastcut"]["cut_value"]
    leastcut.integrations.scanpy.cut(cells, 4, effort="fast", obsp="seven_connectivities")
    assert cells.uns["leastcut"]["cut_value"] == by_key
    assert by_key == pytest.approx(leastcut.cut_value(affinities, cells.obs["leastcut"]))


def test_cells_without_neighbors_are_assigned_to_a_cluster(cells):
    graph = cells.obsp["connectivities"].tolil()
    graph[5], graph[:, 5] = 0, 0
    cells.obsp["torn"] = graph.tocsr()
    leastcut.integrations.scanpy.cut(cells, 3, effort="fast", obsp="torn")
    assert cells.obs["leastcut"].notna().all()


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"neighbors_key": "seven"}, KeyError, "key_added='seven'"),
        ({"obsp": "seven"}, KeyError, r"no 'seven' .it has '\w+', '\w+'"),
        ({"obsp": "distances", "neighbors_key": "x"}, ValueError, "pass one"),
        ({"n_clusters": 701}, ValueError, "700 nodes"),
        ({"copy": 1}, TypeError, "copy=1"),
        ({"key_added": 3}, TypeError, "key_added=3"),
        ({"effort": "some"}, ValueError, "effort='some'"),
    ],
)
def test_invalid_arguments_change_nothing(cells, settings, error, message):
    with pytest.raises(error, match=message):
        leastcut.integrations.scanpy.cut(cells, **settings)
    assert "leastcut" not in cells.obs
    assert "leastcut" not in cells.uns


def test_a_missing_graph_raises_with_the_remedy():
    with pytest.raises(KeyError, match=r"scanpy\.pp\.neighbors\(adata\) first"):
        leastcut.integrations.scanpy.cut(anndata.AnnData(np.eye(5)))
    with pytest.raises(TypeError, match=r"not an AnnData; for a graph call leastcut\.partition"):
        leastcut.integrations.scanpy.cut(np.eye(5))

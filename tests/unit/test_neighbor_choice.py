"""Choice of the neighbor search, its report, and its errors."""

from __future__ import annotations

import importlib.util
import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris

import leastcut
from leastcut.affinity.neighbors import common, devices
from leastcut.affinity.neighbors import index as neighbor_index
from leastcut.affinity.neighbors.common import SearchOptions
from leastcut.affinity.neighbors.index import NeighborIndex

GRAPHS = (
    leastcut.adaptive_neighbors_graph,
    leastcut.nearest_neighbors_graph,
    leastcut.self_tuning_graph,
)
DIGITS = load_digits().data


def graph_and_report(graph, X, **settings):
    reports = []
    matrix = graph(X, callback=reports.append, **settings)
    (report,) = reports
    return matrix, report


@pytest.mark.parametrize("graph", GRAPHS)
def test_exact_searches_report_their_method(graph):
    _, few = graph_and_report(graph, load_iris().data)
    _, many = graph_and_report(graph, DIGITS)
    assert (few.method, few.recall) == ("tree", 1.0)
    assert (many.method, many.recall) == ("products", 1.0)
    assert few.seconds > 0


@pytest.mark.parametrize("graph", GRAPHS)
def test_the_approximate_graph_is_close_to_the_exact_one(graph):
    exact = graph(DIGITS, neighbors="exact")
    approximate, report = graph_and_report(graph, DIGITS, neighbors="approximate")
    assert report.method == "approximate"
    assert 0.9 < report.recall <= 1.0
    same = ((exact > 0).astype(int).multiply((approximate > 0).astype(int))).sum()
    assert same > 0.9 * exact.nnz
    assert abs(approximate - approximate.T).max() == 0.0
    assert (approximate.diagonal() > 0).all() == (exact.diagonal() > 0).all()


@pytest.mark.parametrize("graph", GRAPHS)
def test_the_approximate_graph_of_a_seed_does_not_depend_on_threads(graph):
    first, second = (
        graph(DIGITS, neighbors="approximate", random_state=3, n_jobs=n_jobs) for n_jobs in (1, 3)
    )
    assert (first != second).nnz == 0


def test_auto_is_exact_if_that_is_fast_and_approximate_otherwise(monkeypatch):
    X = DIGITS
    monkeypatch.setattr(neighbor_index, "SOON", 0)
    _, fast = graph_and_report(leastcut.adaptive_neighbors_graph, X, device="cpu")
    assert fast.method == "products"
    monkeypatch.setattr(common, "EXACT_SECONDS", 0.0)
    monkeypatch.setattr(common, "APPROXIMATE_SECONDS", (0.0, 0.0, 0.0))
    _, slow = graph_and_report(leastcut.adaptive_neighbors_graph, X, device="cpu")
    assert slow.method == "approximate"


@pytest.mark.parametrize("offset", [1e-6, 30.0, 1e9])
def test_approximate_lists_include_samples_within_the_offset(offset):
    X = DIGITS[:500]
    exact = NeighborIndex(X).neighborhoods(5, offset)
    near = NeighborIndex(X, options=SearchOptions("approximate")).neighborhoods(5, offset)
    # For so few samples, the approximate search finds nearly all neighbors.
    assert near.indptr[-1] == pytest.approx(exact.indptr[-1], rel=0.02)
    last = near.squared[near.indptr[:-1] + 4] + offset
    lengths = np.diff(near.indptr)
    beyond = np.arange(near.indices.size) - np.repeat(near.indptr[:-1], lengths) >= 5
    assert (near.squared[beyond] < np.repeat(last, lengths)[beyond]).all()


def test_samples_that_lose_precision_are_searched_exactly():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 20)) + 1e12 * rng.integers(2, size=(400, 1))
    graph, report = graph_and_report(leastcut.adaptive_neighbors_graph, X, neighbors="approximate")
    assert report.method != "approximate"
    assert (graph != leastcut.adaptive_neighbors_graph(X, neighbors="exact")).nnz == 0


def test_sparse_samples_and_contradictory_options_raise():
    X = sp.csr_array(DIGITS[:100])
    with pytest.raises(ValueError, match=r"X is sparse; pass X\.toarray\(\)"):
        leastcut.adaptive_neighbors_graph(X, neighbors="approximate")
    with pytest.raises(ValueError, match="omit one of them"):
        leastcut.adaptive_neighbors_graph(DIGITS, neighbors="approximate", device="cuda")
    with pytest.raises(ValueError, match="neighbors='fast'"):
        leastcut.adaptive_neighbors_graph(DIGITS, neighbors="fast")
    with pytest.raises(ValueError, match="device='tpu'"):
        leastcut.adaptive_neighbors_graph(DIGITS, device="tpu")


def test_without_pytorch_the_error_states_how_to_install_it(monkeypatch):
    monkeypatch.setattr(devices, "find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match=r"pip install 'leastcut\[gpu\]'\. Or pass device='cpu'"):
        leastcut.SpectralClustering(3, device="cuda").fit(DIGITS)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
def test_without_a_gpu_the_error_states_the_reason():
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(RuntimeError, match="does not find a CUDA device"):
        leastcut.adaptive_neighbors_graph(DIGITS, device="cuda")
    # Tensors on the host are used like arrays.
    tensor = torch.from_numpy(DIGITS)
    graph = leastcut.adaptive_neighbors_graph(tensor)
    assert (graph != leastcut.adaptive_neighbors_graph(DIGITS)).nnz == 0


@pytest.mark.parametrize("neighbors", ["auto", "exact", "approximate"])
def test_the_estimator_reports_the_recall(neighbors, capsys):
    model = leastcut.SpectralClustering(10, neighbors=neighbors, random_state=0, verbose=True)
    model.fit(DIGITS)
    output = capsys.readouterr().out
    assert "Neighbors by" in output
    assert re.search(r"graph \d+\.\d+ s", output)
    if neighbors == "approximate":
        assert 0.9 < model.neighbors_recall_ <= 1.0
        assert f"sampled recall {model.neighbors_recall_:.3f}" in output
    else:
        assert model.neighbors_recall_ == 1.0
    # Neighbors of new samples are always exact.
    assert (model.predict(DIGITS[:20]) == model.labels_[:20]).mean() > 0.9


def test_affinities_without_a_neighbor_search_have_no_recall():
    X = load_iris().data
    with pytest.warns(UserWarning, match="neighbors='exact' has no effect"):
        model = leastcut.SpectralClustering(3, affinity="rbf", neighbors="exact").fit(X)
    assert model.neighbors_recall_ is None


def test_kernels_of_too_many_samples_raise_immediately():
    X = np.broadcast_to(np.ones(2), (10**7, 2))
    with pytest.raises(
        MemoryError, match=r"affinity='rbf'.*all pairs of 10000000 samples.*adaptive_neigh"
    ):
        leastcut.AFFINITIES["rbf"](X)


def test_graphs_larger_than_memory_raise_immediately(monkeypatch):
    from leastcut import memory

    monkeypatch.setattr(memory, "available_memory", lambda: 2**28)
    X = np.random.default_rng(0).normal(size=(200_000, 2))
    with pytest.raises(MemoryError, match="Pass a smaller n_neighbors"):
        leastcut.adaptive_neighbors_graph(X, n_neighbors=50)


def test_memory_mapped_samples_give_the_same_graph(tmp_path):
    X = DIGITS.astype(np.float32)
    on_disk = np.memmap(tmp_path / "X", dtype=np.float32, mode="w+", shape=X.shape)
    on_disk[:] = X
    on_disk.flush()
    mapped = np.memmap(tmp_path / "X", dtype=np.float32, mode="r", shape=X.shape)
    for neighbors in ("exact", "approximate"):
        graph = leastcut.adaptive_neighbors_graph(mapped, neighbors=neighbors)
        assert (graph != leastcut.adaptive_neighbors_graph(X, neighbors=neighbors)).nnz == 0
    model = leastcut.SpectralClustering(10, random_state=0).fit(mapped)
    np.testing.assert_array_equal(
        model.labels_, leastcut.SpectralClustering(10, random_state=0).fit(X).labels_
    )

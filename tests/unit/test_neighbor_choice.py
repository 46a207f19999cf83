"""Which search lists the neighbours, what it tells, and what is refused."""

from __future__ import annotations

import importlib.util
import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris

import leastcut
from leastcut.affinity.neighbors import devices, searching
from leastcut.affinity.neighbors import index as neighbor_index
from leastcut.affinity.neighbors.index import NeighborIndex
from leastcut.affinity.neighbors.searching import SearchOptions

GRAPHS = (
    leastcut.adaptive_neighbors_graph,
    leastcut.nearest_neighbors_graph,
    leastcut.self_tuning_graph,
)
DIGITS = load_digits().data


def told_of(graph, X, **settings):
    told = []
    found = graph(X, callback=told.append, **settings)
    (one,) = told
    return found, one


@pytest.mark.parametrize("graph", GRAPHS)
def test_exact_searches_say_so(graph):
    _, few = told_of(graph, load_iris().data)
    _, many = told_of(graph, DIGITS)
    assert (few.method, few.recall) == ("tree", 1.0)
    assert (many.method, many.recall) == ("products", 1.0)
    assert few.seconds > 0


@pytest.mark.parametrize("graph", GRAPHS)
def test_the_approximate_graph_is_nearly_the_exact_one(graph):
    exact = graph(DIGITS, neighbors="exact")
    found, told = told_of(graph, DIGITS, neighbors="approximate")
    assert told.method == "approximate"
    assert 0.9 < told.recall <= 1.0
    same = ((exact > 0).astype(int).multiply((found > 0).astype(int))).sum()
    assert same > 0.9 * exact.nnz
    assert abs(found - found.T).max() == 0.0
    assert (found.diagonal() > 0).all() == (exact.diagonal() > 0).all()


@pytest.mark.parametrize("graph", GRAPHS)
def test_a_seed_fixes_the_approximate_graph_on_any_number_of_threads(graph):
    first, second = (
        graph(DIGITS, neighbors="approximate", random_state=3, n_jobs=n_jobs) for n_jobs in (1, 3)
    )
    assert (first != second).nnz == 0


def test_auto_is_exact_while_that_ends_soon_and_else_approximate(monkeypatch):
    X = DIGITS
    monkeypatch.setattr(neighbor_index, "SOON", 0)
    _, soon = told_of(leastcut.adaptive_neighbors_graph, X, device="cpu")
    assert soon.method == "products"
    monkeypatch.setattr(searching, "EXACT_SECONDS", 0.0)
    monkeypatch.setattr(searching, "APPROXIMATE_SECONDS", (0.0, 0.0, 0.0))
    _, late = told_of(leastcut.adaptive_neighbors_graph, X, device="cpu")
    assert late.method == "approximate"


@pytest.mark.parametrize("offset", [1e-6, 30.0, 1e9])
def test_an_offset_lists_whatever_the_search_finds_within_it(offset):
    X = DIGITS[:500]
    exact = NeighborIndex(X).nearest_others(5, offset)
    found = NeighborIndex(X, options=SearchOptions("approximate")).nearest_others(5, offset)
    # Lists that are this short hold nearly all samples anyway, so that the search finds them.
    assert found.indptr[-1] == pytest.approx(exact.indptr[-1], rel=0.02)
    last = found.squared[found.indptr[:-1] + 4] + offset
    lengths = np.diff(found.indptr)
    beyond = np.arange(found.indices.size) - np.repeat(found.indptr[:-1], lengths) >= 5
    assert (found.squared[beyond] < np.repeat(last, lengths)[beyond]).all()


def test_what_no_products_can_tell_apart_is_searched_exactly():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 20)) + 1e12 * rng.integers(2, size=(400, 1))
    found, told = told_of(leastcut.adaptive_neighbors_graph, X, neighbors="approximate")
    assert told.method != "approximate"
    assert (found != leastcut.adaptive_neighbors_graph(X, neighbors="exact")).nnz == 0


def test_sparse_samples_and_contradictions_are_refused():
    X = sp.csr_array(DIGITS[:100])
    with pytest.raises(ValueError, match=r"X is sparse; pass X\.toarray\(\)"):
        leastcut.adaptive_neighbors_graph(X, neighbors="approximate")
    with pytest.raises(ValueError, match="leave one of them out"):
        leastcut.adaptive_neighbors_graph(DIGITS, neighbors="approximate", device="cuda")
    with pytest.raises(ValueError, match="neighbors='fast'"):
        leastcut.adaptive_neighbors_graph(DIGITS, neighbors="fast")
    with pytest.raises(ValueError, match="device='tpu'"):
        leastcut.adaptive_neighbors_graph(DIGITS, device="tpu")


def test_without_pytorch_one_line_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(devices, "find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match=r"pip install 'leastcut\[gpu\]'\. Or pass device='cpu'"):
        leastcut.SpectralClustering(3, device="cuda").fit(DIGITS)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
def test_without_a_gpu_one_line_says_so():
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(RuntimeError, match="sees no CUDA device"):
        leastcut.adaptive_neighbors_graph(DIGITS, device="cuda")
    # On the host a tensor is an array like any other.
    tensor = torch.from_numpy(DIGITS)
    graph = leastcut.adaptive_neighbors_graph(tensor)
    assert (graph != leastcut.adaptive_neighbors_graph(DIGITS)).nnz == 0


@pytest.mark.parametrize("neighbors", ["auto", "exact", "approximate"])
def test_the_estimator_tells_what_part_was_found(neighbors, capsys):
    model = leastcut.SpectralClustering(10, neighbors=neighbors, random_state=0, verbose=True)
    model.fit(DIGITS)
    said = capsys.readouterr().out
    assert "Neighbors by" in said
    assert re.search(r"graph \d+\.\d+ s", said)
    if neighbors == "approximate":
        assert 0.9 < model.neighbors_recall_ <= 1.0
        assert f"sampled recall {model.neighbors_recall_:.3f}" in said
    else:
        assert model.neighbors_recall_ == 1.0
    # New samples are compared with all training samples, whatever was done for the graph.
    assert (model.predict(DIGITS[:20]) == model.labels_[:20]).mean() > 0.9


def test_affinities_that_look_for_no_neighbours_have_no_recall():
    X = load_iris().data
    with pytest.warns(UserWarning, match="neighbors='exact' has no effect"):
        model = leastcut.SpectralClustering(3, affinity="rbf", neighbors="exact").fit(X)
    assert model.neighbors_recall_ is None


def test_all_pairs_of_too_many_samples_are_refused_before_any_work():
    X = np.broadcast_to(np.ones(2), (10**7, 2))
    with pytest.raises(MemoryError, match=r"affinity='rbf' of 10000000 samples.*adaptive_neigh"):
        leastcut.AFFINITIES["rbf"](X)


def test_too_many_neighbours_of_too_many_samples_are_refused_before_any_work(monkeypatch):
    from leastcut import memory

    monkeypatch.setattr(memory, "available_memory", lambda: 2**28)
    X = np.random.default_rng(0).normal(size=(200_000, 2))
    with pytest.raises(MemoryError, match="Pass fewer n_neighbors"):
        leastcut.adaptive_neighbors_graph(X, n_neighbors=50)


def test_samples_in_a_file_are_read_as_they_lie(tmp_path):
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

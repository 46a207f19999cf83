"""Tests on a GPU: Triton kernels compared with PyTorch, and graphs and labels on both devices.

``make test-gpu`` runs them and writes ``benchmarks/results/gpu_tests.json``.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs

from leastcut.affinity.neighbors.devices import missing_gpu

_missing = missing_gpu()
if _missing is not None:
    pytest.skip(_missing, allow_module_level=True)

import torch  # noqa: E402
from test_gpu_search import KINDS, assert_nearest_in, samples  # noqa: E402

import leastcut  # noqa: E402
from leastcut.affinity.neighbors import gpu_search, gpu_tiles  # noqa: E402
from leastcut.affinity.neighbors.devices import check_gpu_memory  # noqa: E402

gpu_kernels = pytest.importorskip(
    "leastcut.affinity.neighbors.gpu_kernels", reason="Triton is missing"
)


@pytest.mark.parametrize("n_features", [16, 32, 64, 832])
@pytest.mark.parametrize(("m", "n"), [(256, 256), (512, 1024), (1280, 256)])
def test_kernels_equal_the_pytorch_functions(m, n, n_features):
    torch.manual_seed(m + n + n_features)
    left, right = (torch.randn(size, n_features, device="cuda").half() for size in (m, n))
    squares = [x.float().square().sum(1) for x in (left, right)]
    squares[1][-7:] = torch.inf  # padding
    arguments = left, squares[0], right, squares[1], 16, True
    minima, expected = gpu_kernels.group_minima(*arguments), gpu_tiles.group_minima(*arguments)
    for a, b in zip(minima, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-3)
    lists = []
    for tiles in (gpu_kernels, gpu_tiles):
        values = torch.full((m, 32), torch.inf, device="cuda")
        groups = torch.full((m, 32), -1, dtype=torch.int32, device="cuda")
        for first in (0, n // 16):
            tiles.keep_nearest(values, groups, minima[0] + first, first)
        order = values.sort(dim=1, stable=True).indices
        lists.append((values.gather(1, order), groups.gather(1, order)))
    torch.testing.assert_close(lists[0][0], lists[1][0], rtol=0, atol=0)
    listed = lists[0][0] < torch.inf
    assert bool((lists[0][1] == lists[1][1])[listed].all())
    rows = torch.randint(m, (100,), device="cuda")
    candidates = torch.randint(m, (100, 50), dtype=torch.int32, device="cuda")
    for dtype, tolerance in ((torch.float32, 1e-5), (torch.float64, 1e-13)):
        a, b = (
            tiles.listed_distances(left, rows, candidates, dtype)
            for tiles in (gpu_kernels, gpu_tiles)
        )
        torch.testing.assert_close(a, b, rtol=tolerance, atol=0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(2, 3), (700, 5), (3000, 70)])
def test_neighbors_are_exact_for_any_samples(kind, shape):
    X = samples(kind, *shape, np.random.default_rng(0))
    assert_nearest_in(X, torch.from_numpy(X).cuda(), min(10, shape[0] - 1))


def test_neighbors_in_several_blocks_are_exact(monkeypatch):
    monkeypatch.setattr(gpu_search, "SIDE", 1024)
    X = np.random.default_rng(1).normal(size=(5000, 30)).astype(np.float32)
    assert_nearest_in(X, torch.from_numpy(X).cuda(), 10)


def _graphs(X):
    cupy = pytest.importorskip("cupy")
    yield leastcut.adaptive_neighbors_graph(X, device="cpu")
    yield leastcut.adaptive_neighbors_graph(X, device="cuda")
    yield leastcut.adaptive_neighbors_graph(torch.from_numpy(X).cuda())
    yield leastcut.adaptive_neighbors_graph(cupy.asarray(X))


def test_graphs_equal_those_of_the_cpu():
    X = make_blobs(4000, 40, centers=7, random_state=0)[0]
    first, *others = _graphs(X)
    for graph in others:
        assert (abs(graph - first) > 1e-9).nnz == 0


def test_labels_equal_those_of_the_cpu():
    X = load_digits().data
    fitted = [
        leastcut.SpectralClustering(10, device=device, random_state=0).fit(samples)
        for device, samples in (("cpu", X), ("cuda", X), ("auto", torch.from_numpy(X).cuda()))
    ]
    for model in fitted[1:]:
        assert model.cut_value_ == pytest.approx(fitted[0].cut_value_, rel=1e-6)
        assert model.neighbors_recall_ == 1.0
        np.testing.assert_array_equal(model.predict(X[:50]), fitted[0].predict(X[:50]))


def test_samples_on_the_gpu_are_not_copied_to_the_host(monkeypatch):
    X = torch.randn(20_000, 64, device="cuda")
    copied = []
    for name in ("cpu", "numpy", "to"):
        original = getattr(torch.Tensor, name)

        def watched(self, *args, _original=original, **kwargs):
            if self.is_cuda:
                copied.append(self.numel() if _original.__name__ != "to" else 0)
            return _original(self, *args, **kwargs)

        monkeypatch.setattr(torch.Tensor, name, watched)
    leastcut.SpectralClustering(5, random_state=0).fit(X)
    assert copied
    assert max(copied) < X.numel() / 2


def test_insufficient_gpu_memory_raises_immediately():
    with pytest.raises(MemoryError, match="of GPU memory, but"):
        check_gpu_memory(2**60)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_non_finite_samples_on_the_gpu_are_rejected(bad):
    X = torch.randn(100, 5, device="cuda")
    X[17, 2] = bad
    with pytest.raises(ValueError, match="row 17"):
        leastcut.SpectralClustering(2).fit(X)
    with pytest.raises(ValueError, match="two-dimensional"):
        leastcut.adaptive_neighbors_graph(X[0])


def test_lists_are_reproducible():
    X = torch.randn(30_000, 50, device="cuda")
    first, second = (gpu_search.nearest_on_gpu(X, 10) for _ in range(2))
    np.testing.assert_array_equal(first.indices, second.indices)
    np.testing.assert_array_equal(first.squared, second.squared)


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_angular_neighbors_on_the_gpu_equal_those_of_the_cpu(metric, dtype):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(3000, 40)) * rng.lognormal(sigma=2.0, size=(3000, 1))).astype(dtype)
    X[[5, 70]] = 0.0
    with pytest.warns(UserWarning, match="2 of 3000 samples"):
        on_cpu = leastcut.nearest_neighbors_graph(X, metric=metric, device="cpu")
    for inputs in (torch.tensor(X, device="cuda"), X):
        with pytest.warns(UserWarning, match="2 of 3000 samples"):
            on_gpu = leastcut.nearest_neighbors_graph(inputs, metric=metric, device="cuda")
        assert abs(on_cpu - on_gpu).sum() <= 0.001 * on_cpu.sum()
    model = leastcut.SpectralClustering(4, metric=metric, random_state=0)
    with pytest.warns(UserWarning, match="2 of 3000 samples"):
        model.fit(torch.tensor(X, device="cuda"))
    assert model.predict(X[:10]).shape == (10,)
    assert model.transform(X[:10]).shape == (10, 4)

"""The GPU search, run on the CPU with the same tiles and bounds: comparison with brute force."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from leastcut.affinity.neighbors import gpu_search, gpu_tiles  # noqa: E402


def by_differences(X: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the squared distances of all pairs, and the ``count`` smallest of every row."""
    X = X.astype(np.float64)
    squared = np.array([((X - x) ** 2).sum(axis=1) for x in X])
    np.fill_diagonal(squared, np.inf)
    return squared, np.sort(squared, axis=1)[:, :count]


def assert_nearest(X: np.ndarray, count: int) -> gpu_search.GpuNeighbors:
    return assert_nearest_in(X, torch.from_numpy(X), count)


def assert_nearest_in(X: np.ndarray, tensor: object, count: int) -> gpu_search.GpuNeighbors:
    result = gpu_search.nearest_on_gpu(tensor, count)
    squared, least = by_differences(X, count)
    rows = np.arange(X.shape[0])[:, None]
    # Distances are accurate, and no other samples are nearer.
    np.testing.assert_allclose(result.squared, squared[rows, result.indices], rtol=1e-12)
    np.testing.assert_allclose(result.squared, least, rtol=1e-12)
    assert (np.diff(result.squared, axis=1) >= 0).all()
    assert all(len(set(row)) == count for row in result.indices.tolist())
    assert not (result.indices == rows).any()
    assert result.recall == 1.0
    return result


def samples(kind: str, n: int, n_features: int, rng: np.random.Generator) -> np.ndarray:
    """Return samples, some of which half precision cannot distinguish."""
    X = rng.normal(size=(n, n_features))
    centers = rng.normal(size=(5, n_features))[rng.integers(5, size=n)]
    return {
        "general": X,
        "single": X.astype(np.float32),
        "offset": X + 1e6,
        "tight": centers + 1e-4 * X,
        "tighter": centers + 1e-9 * X,
        "range": X * 10.0 ** rng.integers(-6, 6, size=(n, 1)),
        "lattice": rng.integers(0, 3, size=(n, n_features)).astype(np.float32),
        "equal": np.ones((n, n_features)),
        "half equal": np.where(np.arange(n)[:, None] % 2, X, 1.0),
        "large": X * 1e30,
        "small": X * 1e-30,
        "largest": np.clip(X * 3e38, -3.4e38, 3.4e38).astype(np.float32),
    }[kind]


KINDS = [
    "general",
    "single",
    "offset",
    "tight",
    "tighter",
    "range",
    "lattice",
    "equal",
    "half equal",
    "large",
    "small",
    "largest",
]


@settings(max_examples=draws(60), deadline=None)
@given(
    st.sampled_from(KINDS),
    st.integers(2, 700),
    st.integers(1, 40),
    st.integers(1, 12),
    st.integers(0, 2**16),
)
def test_neighbors_are_exact_for_any_samples(kind, n, n_features, count, seed):
    X = samples(kind, n, n_features, np.random.default_rng(seed))
    # Small blocks, so that there are several.
    side, gpu_search.SIDE = gpu_search.SIDE, 256
    try:
        assert_nearest(X, min(count, n - 1))
    finally:
        gpu_search.SIDE = side


def test_long_lists_are_exact(monkeypatch):
    monkeypatch.setattr(gpu_search, "LONGEST", 5)
    assert_nearest(np.random.default_rng(0).normal(size=(200, 7)), 6)


@pytest.mark.parametrize("load", [load_digits, load_wine, load_breast_cancer])
def test_neighbors_of_real_data_are_exact(load):
    assert_nearest(load().data[:900], 10)


def test_uncertain_rows_are_searched_again():
    rng = np.random.default_rng(0)
    easy = assert_nearest(samples("general", 600, 20, rng), 10)
    hard = assert_nearest(samples("tighter", 600, 20, rng), 10)
    assert easy.n_repeated == 0
    assert hard.n_repeated == 600


def test_without_the_third_step_the_recall_is_below_one(monkeypatch):
    X = samples("tighter", 600, 20, np.random.default_rng(0))
    never = lambda self, rows, *_: torch.zeros(rows.shape, dtype=torch.bool)  # noqa: E731
    monkeypatch.setattr(gpu_search._HalfPrecision, "uncertain", never)
    result = gpu_search.nearest_on_gpu(torch.from_numpy(X), 10)
    assert result.recall < 1.0


def test_rows_with_nan_are_uncertain():
    half = gpu_search._HalfPrecision(gpu_search._Samples(torch.randn(300, 4, dtype=torch.float64)))
    rows, squared = torch.arange(3), torch.tensor([torch.nan, 1.0, 0.0], dtype=torch.float64)
    far = torch.full((3,), torch.inf)
    assert half.uncertain(rows, squared, far, far).tolist() == [True, False, False]
    assert half.uncertain(rows, squared, far * torch.nan, far).tolist() == [True, True, False]


def test_group_minima_are_accurate_up_to_the_rounding_bound():
    rng = np.random.default_rng(1)
    points = torch.from_numpy(rng.normal(size=(256, 40)) * 3 + 5)
    half = gpu_search._HalfPrecision(gpu_search._Samples(points))
    rows, columns = gpu_tiles.group_minima(
        half.points, half.squares, half.points, half.squares, 16, True
    )
    np.testing.assert_array_equal(rows.numpy(), columns.numpy())
    distances = torch.cdist(points, points).numpy() * half.scale
    computed = np.sqrt(np.maximum(rows.numpy() + half.norms.numpy()[:, None] ** 2, 0))
    least = distances.reshape(256, 16, 16).min(axis=2)
    moved = half.radius.numpy()[:, None] + float(half.largest_radius)
    # The last term is for sums in single precision.
    assert (np.abs(computed - least)[least > 0] <= moved.max() + 1e-2 * half.scale).all()


@pytest.mark.parametrize(
    ("n", "n_features", "measured"),
    [(70_000, 784, 1.58), (1_000_000, 784, 9.02), (1_000_000, 32, 2.54), (10_000_000, 32, 6.59)],
)
def test_estimated_gpu_memory_is_above_the_measured_one(n, n_features, measured):
    estimate = gpu_search.memory_needed(n, n_features, 10, 4) / 2**30
    assert measured < estimate < measured + 5

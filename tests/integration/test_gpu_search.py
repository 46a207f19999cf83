"""The search on a GPU, with the same tiles and bounds on the processor, against all differences."""

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
    """The squared distances of all pairs, and the ``count`` least of every row, sorted."""
    X = X.astype(np.float64)
    squared = np.array([((X - x) ** 2).sum(axis=1) for x in X])
    np.fill_diagonal(squared, np.inf)
    return squared, np.sort(squared, axis=1)[:, :count]


def assert_nearest(X: np.ndarray, count: int) -> gpu_search.Found:
    return assert_nearest_in(X, torch.from_numpy(X), count)


def assert_nearest_in(X: np.ndarray, tensor: object, count: int) -> gpu_search.Found:
    found = gpu_search.nearest_on_gpu(tensor, count)
    squared, least = by_differences(X, count)
    rows = np.arange(X.shape[0])[:, None]
    # The distances are those of the samples listed, and no others are nearer.
    np.testing.assert_allclose(found.squared, squared[rows, found.indices], rtol=1e-12)
    np.testing.assert_allclose(found.squared, least, rtol=1e-12)
    assert (np.diff(found.squared, axis=1) >= 0).all()
    assert all(len(set(row)) == count for row in found.indices.tolist())
    assert not (found.indices == rows).any()
    assert found.recall == 1.0
    return found


def samples(kind: str, n: int, n_features: int, rng: np.random.Generator) -> np.ndarray:
    """Samples, some of which half precision cannot tell apart."""
    X = rng.normal(size=(n, n_features))
    centres = rng.normal(size=(5, n_features))[rng.integers(5, size=n)]
    return {
        "general": X,
        "single": X.astype(np.float32),
        "offset": X + 1e6,
        "tight": centres + 1e-4 * X,
        "tighter": centres + 1e-9 * X,
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
def test_the_nearest_are_found_whatever_half_precision_sees(kind, n, n_features, count, seed):
    X = samples(kind, n, n_features, np.random.default_rng(seed))
    # Blocks of one tile, so that there are several.
    side, gpu_search.SIDE = gpu_search.SIDE, 256
    try:
        assert_nearest(X, min(count, n - 1))
    finally:
        gpu_search.SIDE = side


def test_more_neighbours_than_tiles_can_list(monkeypatch):
    monkeypatch.setattr(gpu_search, "LONGEST", 5)
    assert_nearest(np.random.default_rng(0).normal(size=(200, 7)), 6)


@pytest.mark.parametrize("load", [load_digits, load_wine, load_breast_cancer])
def test_real_data(load):
    assert_nearest(load().data[:900], 10)


def test_rows_in_doubt_are_searched_again():
    rng = np.random.default_rng(0)
    easy = assert_nearest(samples("general", 600, 20, rng), 10)
    hard = assert_nearest(samples("tighter", 600, 20, rng), 10)
    assert easy.n_again == 0
    assert hard.n_again == 600


def test_without_the_third_step_lists_would_be_wrong(monkeypatch):
    X = samples("tighter", 600, 20, np.random.default_rng(0))
    never = lambda self, rows, *_: torch.zeros(rows.shape, dtype=torch.bool)  # noqa: E731
    monkeypatch.setattr(gpu_search._Halves, "doubts", never)
    found = gpu_search.nearest_on_gpu(torch.from_numpy(X), 10)
    # And the recall, which is computed from differences to all samples, says so.
    assert found.recall < 1.0


def test_what_is_no_number_is_in_doubt():
    half = gpu_search._Halves(gpu_search._Samples(torch.randn(300, 4, dtype=torch.float64)))
    rows, nothing = torch.arange(3), torch.tensor([torch.nan, 1.0, 0.0], dtype=torch.float64)
    far = torch.full((3,), torch.inf)
    assert half.doubts(rows, nothing, far, far).tolist() == [True, False, False]
    assert half.doubts(rows, nothing, far * torch.nan, far).tolist() == [True, True, False]


def test_the_minimum_of_a_tile_is_a_bound_as_rounding_says():
    rng = np.random.default_rng(1)
    points = torch.from_numpy(rng.normal(size=(256, 40)) * 3 + 5)
    half = gpu_search._Halves(gpu_search._Samples(points))
    rows, columns = gpu_tiles.group_minima(
        half.points, half.squares, half.points, half.squares, 16, True
    )
    np.testing.assert_array_equal(rows.numpy(), columns.numpy())
    distances = torch.cdist(points, points).numpy() * half.scale
    seen = np.sqrt(np.maximum(rows.numpy() + half.norms.numpy()[:, None] ** 2, 0))
    least = distances.reshape(256, 16, 16).min(axis=2)
    moved = half.radius.numpy()[:, None] + float(half.largest_radius)
    # A little for sums in single precision.
    assert (np.abs(seen - least)[least > 0] <= moved.max() + 1e-2 * half.scale).all()


@pytest.mark.parametrize(
    ("n", "n_features", "measured"),
    [(70_000, 784, 1.58), (1_000_000, 784, 9.02), (1_000_000, 32, 2.54), (10_000_000, 32, 6.59)],
)
def test_memory_is_forecast_above_what_was_measured_on_a_gpu(n, n_features, measured):
    forecast = gpu_search.memory_needed(n, n_features, 10, 4) / 2**30
    assert measured < forecast < measured + 5

"""Approximate neighbors: invariants of the lists, and their recall."""

from __future__ import annotations

import _thread
import threading
import time

import numpy as np
import pytest
from conftest import load_dataset
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits, make_blobs, make_swiss_roll

from leastcut.affinity.neighbors import (
    approximate_coordinates,
    approximate_search,
    common,
)
from leastcut.affinity.neighbors.approximate_coordinates import PrecisionLossError, sampled_recall
from leastcut.affinity.neighbors.approximate_search import approximate_neighbors
from leastcut.kernels import inverted_lists as kernels

DIGITS = load_digits().data


def by_definition(X: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest neighbors of every sample by brute force, ties by index."""
    X = X.astype(np.float64)
    rows, squares = [], []
    for i, x in enumerate(X):
        d = ((X - x) ** 2).sum(axis=1)
        d[i] = np.inf
        rows.append(np.argsort(d, kind="stable")[:count])
        squares.append(d[rows[-1]])
    return np.array(rows), np.array(squares)


def recall(X: np.ndarray, squared: np.ndarray, n_rows: int = 250) -> float:
    """Return the recall of some rows by brute force."""
    X, is_correct = X.astype(np.float64), []
    for row in np.random.default_rng(9).permutation(len(X))[:n_rows]:
        true = np.sort(((X - X[row]) ** 2).sum(axis=1))[squared.shape[1]]  # the first is itself
        is_correct.append(squared[row] <= true * (1 + 1e-12))
    return float(np.mean(is_correct))


def check_lists(X: np.ndarray, indices: np.ndarray, squared: np.ndarray, count: int) -> None:
    """Check the invariants of all approximate lists."""
    n = len(X)
    assert indices.shape == squared.shape == (n, count)
    assert indices.dtype == np.int32
    assert squared.dtype == np.float64
    assert indices.min() >= 0
    assert indices.max() < n
    assert (indices != np.arange(n)[:, None]).all()
    assert (np.diff(np.sort(indices, axis=1), axis=1) > 0).all()
    # Sorted by distance, then by index.
    step, same = np.diff(squared, axis=1), np.diff(squared, axis=1) == 0
    assert (step >= 0).all()
    assert (np.diff(indices, axis=1)[same] > 0).all()
    difference = X[:, None].astype(np.float64) - X[indices].astype(np.float64)
    np.testing.assert_allclose(squared, (difference**2).sum(axis=2), rtol=1e-13)


@given(
    n=st.integers(2, 700),
    n_features=st.integers(1, 20),
    fraction=st.floats(0, 1),
    kind=st.sampled_from(
        ["normal", "lattice", "copies", "equal", "half equal", "offset", "places"]
    ),
    single=st.booleans(),
    seed=st.integers(0, 99),
)
def test_lists_are_full_sorted_and_accurate(n, n_features, fraction, kind, single, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    if kind == "lattice":
        X = rng.integers(0, 3, size=X.shape).astype(float)
    elif kind == "copies":
        X = X[rng.integers(0, max(1, n // 9), size=n)]
    elif kind == "equal":
        X[:] = X[0]
    elif kind == "half equal":
        X[rng.permutation(n)[: n // 2]] = 0.0
    elif kind == "offset":
        X += 1e6
    elif kind == "places":
        X[: n // 3] += 1e5
    X = X.astype(np.float32) if single else X
    count = 1 + int(fraction * min(n - 2, 30))
    before = X.copy()
    indices, squared = approximate_neighbors(X, count, 2, seed)
    check_lists(X, indices, squared, count)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("n", [5, 100, 128])
def test_the_search_of_a_single_list_is_exact(n):
    X = np.random.default_rng(n).normal(size=(n, 6))
    indices, _ = approximate_neighbors(X, 4, 1, 0)
    np.testing.assert_array_equal(indices, by_definition(X, 4)[0])


REAL = {
    "digits": DIGITS,
    "digits, single": DIGITS.astype(np.float32),
    "blobs": make_blobs(6000, n_features=30, centers=12, cluster_std=2.0, random_state=3)[0],
    "roll": np.ascontiguousarray(make_swiss_roll(5000, noise=0.1, random_state=0)[0]),
    "wide": np.random.default_rng(4).normal(size=(3000, 6))
    @ np.random.default_rng(5).normal(size=(6, 300))
    + 0.2 * np.random.default_rng(6).normal(size=(3000, 300)),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("count", [1, 10, 40])
def test_nearly_all_neighbors_are_found(name, count):
    X = REAL[name]
    indices, squared = approximate_neighbors(X, count, 2, 0)
    check_lists(X, indices, squared, count)
    assert recall(X, squared) >= 0.94


@pytest.mark.parametrize("name", ["usps", "coil20"])
def test_nearly_all_neighbors_are_found_in_images(name):
    X = load_dataset(name)[0]
    _, squared = approximate_neighbors(X, 10, 2, 0)
    assert recall(X, squared) >= 0.94


@pytest.mark.parametrize("name", ["digits", "wide"])
def test_lists_of_a_seed_do_not_depend_on_threads_files_and_dtype(name, tmp_path):
    X = REAL[name].astype(np.float32)
    expected = approximate_neighbors(X, 8, 1, 7)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    # The values are equal in both precisions.
    for points, n_threads in ((X, 2), (X, 5), (mapped, 2), (X.astype(np.float64), 2)):
        lists = approximate_neighbors(points, 8, n_threads, 7)
        np.testing.assert_array_equal(lists[0], expected[0])
        np.testing.assert_array_equal(lists[1], expected[1])


def test_double_precision_is_used_if_single_precision_hides_neighbors():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 12))
    X[::2] += 1e6
    _, squared = approximate_neighbors(X, 10, 2, 0)
    assert recall(X, squared) >= 0.94
    X[::2] += 1e10
    with pytest.raises(PrecisionLossError, match="Search exactly"):
        approximate_neighbors(X, 10, 2, 0)
    # The measured recall is accurate nevertheless.
    true, _ = by_definition(X[:400], 5)
    assert sampled_recall(X[:400], true, 2, 0, n_rows=400) == 1.0
    assert sampled_recall(X[:400], true[:, ::-1] + 2 - 4 * (true[:, ::-1] > 200), 2, 0, 400) < 0.5
    # Centering is enough for samples that are far from the origin but near one another.
    far = rng.normal(size=(2000, 12)) + 1e8
    assert recall(far, approximate_neighbors(far, 10, 2, 0)[1]) >= 0.94


@pytest.mark.parametrize("scale", [2.0**200, 2.0**-200])
def test_lists_do_not_depend_on_the_unit(scale):
    X = DIGITS[:900]
    indices, squared = approximate_neighbors(X, 5, 2, 0)
    scaled = approximate_neighbors(X * scale, 5, 2, 0)
    np.testing.assert_array_equal(scaled[0], indices)
    np.testing.assert_array_equal(scaled[1], squared * scale**2)


def test_an_outlier_does_not_lower_the_recall():
    X = np.random.default_rng(0).normal(size=(3000, 12))
    X[7] = 2.0**100
    assert recall(X, approximate_neighbors(X, 10, 2, 0)[1]) >= 0.94


def test_duplicates_list_the_first_duplicates():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 15))
    copies = np.sort(rng.permutation(3000)[:1500])
    X[copies] = 0.25
    X[copies[::3], 2] = -0.0
    X[copies[1::3], 2] = 0.0
    X[copies[2::3], 2] = 0.0
    indices, squared = approximate_neighbors(X, 6, 2, 0)
    expected, _ = by_definition(X, 6)
    np.testing.assert_array_equal(indices[copies], expected[copies])
    assert (squared[copies] == 0).all()


@pytest.mark.parametrize("equal", [1.0, 0.5])
def test_duplicates_are_fast(equal):
    """Comparing all 40,000² pairs of duplicates would take minutes."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40_000, 10))
    X[rng.random(40_000) < equal] = 1.0
    start = time.process_time()
    indices, squared = approximate_neighbors(X, 10, 2, 0)
    assert time.process_time() - start < 60
    check_lists(X, indices, squared, 10)


def test_recall_of_all_rows_is_exact():
    X = REAL["blobs"][:1500]
    rng = np.random.default_rng(0)
    true, _ = by_definition(X, 10)
    assert sampled_recall(X, true, 2, 0, n_rows=1500) == 1.0
    corrupted = true.copy()
    wrong = rng.random(true.shape) < 0.3
    # Replace neighbors by distant samples, none of them twice in a row.
    farthest = np.argsort(((X[:, None] - X[None, ::10]) ** 2).sum(axis=2), axis=1)[:, ::-1] * 10
    corrupted[wrong] = farthest[:, :10][wrong]
    expected = 1 - wrong.mean()
    assert sampled_recall(X, corrupted, 2, 0, n_rows=1500) == pytest.approx(expected)
    assert sampled_recall(X, corrupted, 1, 3, n_rows=300) == pytest.approx(expected, abs=0.03)
    # A neighbor that is listed ten times counts once.
    assert sampled_recall(X, np.repeat(true[:, :1], 10, axis=1), 2, 0, 1500) == pytest.approx(0.1)
    itself = np.repeat(np.arange(1500)[:, None], 10, axis=1)
    assert sampled_recall(X, itself, 2, 0, n_rows=1500) == 0.0


def test_ties_do_not_lower_the_recall():
    X = np.random.default_rng(0).integers(0, 2, size=(300, 4)).astype(float)
    true, _ = by_definition(X[::-1], 3)
    assert sampled_recall(X, 299 - true[::-1], 2, 0, n_rows=300) == 1.0


def test_compiled_and_interpreted_lists_are_equal(monkeypatch):
    X = np.random.default_rng(0).normal(size=(300, 5))
    monkeypatch.setattr(approximate_search, "LONGEST_LEAF", 40)
    compiled = approximate_neighbors(X, 4, 1, 0)
    for name in ("search_inverted_lists", "rank_candidates"):
        function = getattr(kernels, name).py_func
        monkeypatch.setattr(approximate_coordinates, name, function)
    monkeypatch.setattr(kernels, "_select_lists", kernels._select_lists.py_func)
    interpreted = approximate_neighbors(X, 4, 1, 0)
    np.testing.assert_array_equal(interpreted[0], compiled[0])
    np.testing.assert_array_equal(interpreted[1], compiled[1])


@given(
    values=st.lists(st.sampled_from([-3.0, 0.0, 1.0, 1.0 + 2**-23, 2.5, 7.0, 2.0**90]), min_size=1),
    fraction=st.floats(0, 1),
    seed=st.integers(0, 9),
)
def test_the_nearest_lists_are_selected(values, fraction, seed):
    nearness = np.array(values, dtype=np.float32)
    nearness[::3] += np.random.default_rng(seed).random(nearness[::3].size, dtype=np.float32)
    n_probed = 1 + int(fraction * (nearness.size - 1))
    picked = np.empty(min(nearness.size, 2 * n_probed), np.int32)
    count = kernels._select_lists(nearness, n_probed, picked)
    chosen = np.zeros(nearness.size, dtype=bool)
    chosen[picked[:count]] = True
    assert chosen.sum() == count >= n_probed
    # No list that is not selected is nearer than a selected one.
    assert nearness[chosen].max() <= nearness[~chosen].min(initial=np.inf)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_have_equal_hashes_if_and_only_if_they_are_equal(dtype):
    X = np.random.default_rng(0).integers(-1, 2, size=(400, 3)).astype(dtype)
    X[::2] *= -1  # zeros become negative
    words = X.view(f"u{X.itemsize}")
    sign = words.dtype.type(1 << (8 * X.itemsize - 1))
    hashes, interpreted = np.empty(400, np.uint64), np.empty(400, np.uint64)
    kernels.hash_rows(words, sign, hashes)
    with np.errstate(over="ignore"):  # as intended
        kernels.hash_rows.py_func(words, sign, interpreted)
    np.testing.assert_array_equal(hashes, interpreted)
    equal = (X[:, None] == X).all(axis=2)
    np.testing.assert_array_equal(hashes[:, None] == hashes, equal)


def test_an_interrupt_stops_the_search():
    X = np.random.default_rng(0).normal(size=(200_000, 40)).astype(np.float32)
    approximate_neighbors(X[:500], 10, 2, 0)  # compiles
    before = set(threading.enumerate())  # other tests may have started threads
    ended = threading.Event()

    def interrupt() -> None:
        # Repeat: Python drops an interrupt that arrives while a weak reference is cleared.
        while not ended.wait(2.0):
            _thread.interrupt_main()

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        approximate_neighbors(X, 10, 2, 0)
    ended.set()
    thread.join()
    # A remaining thread would run for a minute.
    for remaining in set(threading.enumerate()) - before:
        remaining.join(timeout=20)
        assert not remaining.is_alive()


@given(n=st.integers(2, 10**7), n_features=st.integers(1, 5000), count=st.integers(1, 100))
def test_the_exact_search_is_chosen_if_it_is_fast(n, n_features, count):
    exact = common.exact_seconds(n, n_features, 2)
    limit = common.max_exact_seconds(n, n_features, count, 2)
    if exact <= common.EXACT_SECONDS:
        assert exact <= limit
    # The exact search is never chosen again for more samples.
    if exact > limit:
        longer = common.exact_seconds(2 * n, n_features, 2)
        assert longer > common.max_exact_seconds(2 * n, n_features, count, 2)

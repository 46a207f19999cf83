"""The k-d tree: exact lists against all pairwise distances, and the number of nodes visited."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest
from conftest import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from leastcut.affinity.neighbors import tree as tree_search
from leastcut.affinity.neighbors.index import NeighborIndex
from leastcut.affinity.neighbors.tree import TreeSearch
from leastcut.kernels import tree as kernels
from leastcut.kernels.tree import LANES, SAMPLED, build_subtree, list_nearest

KINDS = ["normal", "lattice", "one point", "half one point", "line", "wide range", "sawtooth"]


def points_of(kind: str, n: int, n_features: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    if kind == "lattice":
        return rng.integers(0, 3, size=X.shape).astype(float)
    if kind == "one point":
        return np.full(X.shape, 0.1)
    if kind == "half one point":
        X[rng.permutation(n)[: n // 2]] = 0.1
    if kind == "line":
        X[:] = np.arange(n)[:, None] / 3
    if kind == "wide range":
        X *= 10.0 ** rng.integers(-30, 30, size=(n, 1))
    if kind == "sawtooth":
        X[:] = (np.arange(n) % 7)[:, None]
    return X


def squared_distances(X: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return squared distances in double precision, even and odd features summed separately."""
    sums = np.zeros((2, len(X)))
    for f, column in enumerate(X.astype(np.float64).T):
        sums[f % 2] += (column - np.float64(x[f])) ** 2
    return sums[0] + sums[1]


def brute_force(X: np.ndarray, queries: np.ndarray, count: int, others: bool, offset: float = 0.0):
    """Yield for every query an array of indices and one of squared distances, from all pairs."""
    for i, x in enumerate(queries):
        d = squared_distances(X, x)
        order = np.argsort(d, kind="stable")
        if others:
            order = order[order != i]
        radius = d[order[count - 1]] + offset
        listed = order[: max(count, np.count_nonzero(d[order] < radius))]
        yield listed, d[listed]


def assert_lists(lists, expected) -> None:
    indptr, indices, squared = lists
    for i, (listed, d) in enumerate(expected):
        np.testing.assert_array_equal(indices[indptr[i] : indptr[i + 1]], listed)
        np.testing.assert_array_equal(squared[indptr[i] : indptr[i + 1]], d)


@st.composite
def cases(draw, most: int = 150):
    kind = draw(st.sampled_from(KINDS))
    n, n_features = draw(st.integers(2, most)), draw(st.integers(1, 9))
    X = points_of(kind, n, n_features, draw(st.integers(0, 2**32 - 1)))
    return X.astype(draw(st.sampled_from([np.float32, np.float64])))


@given(X=cases(), data=st.data())
def test_lists_equal_brute_force_bitwise(X, data):
    count = data.draw(st.integers(1, len(X) - 1))
    search = TreeSearch(X, data.draw(st.sampled_from([1, 2, 5])))
    assert_lists(search.neighborhoods(count, 0.0), brute_force(X, X, count, True))
    new = np.vstack([X[::3].astype(float), X[::4] + 0.5])
    indices, squared = search.nearest(new, count)
    indptr = np.arange(len(new) + 1) * count
    expected = brute_force(X, new, count, False)
    assert_lists((indptr, indices.reshape(-1), squared.reshape(-1)), expected)


@given(X=cases(), data=st.data())
def test_lists_with_an_offset_include_everything_nearer(X, data):
    count = data.draw(st.integers(1, len(X) - 1))
    # A tiny offset is lost in rounding, a huge one includes all points.
    offset = data.draw(st.sampled_from([1e-300, 1e-17, 0.25, 1.0, 1e300]))
    lists = TreeSearch(X, data.draw(st.sampled_from([1, 3]))).neighborhoods(count, offset)
    assert_lists(lists, brute_force(X, X, count, True, offset))


@pytest.mark.parametrize("kind", KINDS)
def test_lists_do_not_depend_on_blocks_threads_or_subtrees(kind, monkeypatch):
    X = points_of(kind, 3000, 3)
    expected = TreeSearch(X, 1).neighborhoods(6, 0.0)
    longer = TreeSearch(X, 1).neighborhoods(2, 0.001) if kind == "normal" else None
    monkeypatch.setattr(tree_search, "SUBTREE", 64)
    monkeypatch.setattr(tree_search, "LISTED", 200)
    monkeypatch.setattr(tree_search, "FEWEST_ROWS", 1)
    monkeypatch.setattr(tree_search, "COPIED", 100)
    for n_threads in (1, 2, 5):
        search = TreeSearch(X, n_threads)
        for actual, reference in zip(search.neighborhoods(6, 0.0), expected, strict=True):
            np.testing.assert_array_equal(actual, reference)
        if longer is not None:
            for actual, reference in zip(search.neighborhoods(2, 0.001), longer, strict=True):
                np.testing.assert_array_equal(actual, reference)


@settings(max_examples=draws(15))
@given(X=cases(most=60), data=st.data())
def test_compiled_equals_interpreted(X, data):
    count = data.draw(st.integers(1, len(X) - 1))
    offset = data.draw(st.sampled_from([0.0, 0.5]))

    def lists():
        search = TreeSearch(X, 1)
        blocks, numbers, boxes, first = search._tree
        tree = blocks, numbers, boxes[1:], first[1:]  # there is no node 0
        return *tree, *search.neighborhoods(count, offset), *search.nearest(X, count)

    compiled = lists()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("build_subtree", "list_nearest", "list_within_radius"):
            patch.setattr(tree_search, name, getattr(kernels, name).py_func)
        helpers = ("_select", "_before", "_distance_to_box", "_distances_to_block")
        for name in (*helpers, "insert", "sort_pairs"):
            patch.setattr(kernels, name, getattr(kernels, name).py_func)
        interpreted = lists()
    for one, other in zip(compiled, interpreted, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 7, 8, 9, 200, 2049])
def test_every_node_has_its_points_in_its_box_and_ordered_halves(kind, n):
    X = points_of(kind, n, 2)
    search = TreeSearch(X, 2)
    blocks, numbers, boxes, first = search._tree
    points = np.moveaxis(blocks, 1, 2).reshape(-1, 2)
    np.testing.assert_array_equal(np.sort(numbers[:n]), np.arange(n))
    np.testing.assert_array_equal(points[:n], X[numbers[:n]])
    assert np.isinf(points[n:]).all()
    n_leaves = len(first) // 2
    for v in range(1, 2 * n_leaves):
        level = v.bit_length() - 1
        j = v - (1 << level)
        start, stop = (len(blocks) * k >> level for k in (j, j + 1))
        inside = slice(start * LANES, min(stop * LANES, n))
        assert stop - start >= 1
        assert v < n_leaves or stop - start <= 2
        np.testing.assert_array_equal(boxes[v, 0], points[inside].min(axis=0))
        np.testing.assert_array_equal(boxes[v, 1], points[inside].max(axis=0))
        assert first[v] == numbers[inside].min()
        if v < n_leaves:
            middle = (len(blocks) * (2 * j + 1) >> (level + 1)) * LANES
            axis = np.argmax(np.ptp(points[inside], axis=0))
            left, right = ((points[part, axis], numbers[part]) for part in halves(inside, middle))
            assert max(zip(*left, strict=True)) < min(zip(*right, strict=True))


def halves(inside: slice, middle: int) -> tuple[slice, slice]:
    return slice(inside.start, middle), slice(middle, inside.stop)


# -- cost: the number of nodes visited


def visits_per_point(X: np.ndarray, count: int = 10) -> float:
    search = TreeSearch(X, 1)
    n = len(X)
    lists = np.empty((n, count), dtype=np.int32), np.empty((n, count))
    no_queries = np.empty((0, X.shape[1]))
    return list_nearest(search._tree, no_queries, 0, n, *lists, search._scratch(count)) / n


@pytest.mark.sampled(5)
@pytest.mark.parametrize("n", [1000, 30_000, 300_000])
@pytest.mark.parametrize("count", [1, 10, 40])
@pytest.mark.parametrize(
    "kind", ["one point", "half one point", "lattice", "sawtooth", "line", "normal"]
)
def test_duplicates_cost_no_more_than_other_points(kind, count, n):
    # A path from the root has log₂ n nodes, plus a few leaves for the list; where boxes touch,
    # there are several such paths.
    assert visits_per_point(points_of(kind, n, 2), count) < 4 * log2(n) + 2 * count + 20


def test_ties_in_distance_are_broken_by_index():
    # Ten thousand points at each of two places, equally far from the query.
    X = np.repeat([[1.0, 0.0], [-1.0, 0.0]], 10_000, axis=0)
    X = X[np.random.default_rng(0).permutation(len(X))]
    search = TreeSearch(X, 1)
    lists = np.empty((1, 10), dtype=np.int32), np.empty((1, 10))
    query = np.zeros((1, 2))
    visits = list_nearest(search._tree, query, 0, 1, *lists, search._scratch(10))
    np.testing.assert_array_equal(lists[0], [np.arange(10)])
    assert visits < 20 * log2(len(X))


@pytest.mark.parametrize("order", ["sorted", "reversed", "organ pipe", "sawtooth", "zigzag"])
def test_no_order_of_the_points_makes_the_selection_slow(order, monkeypatch):
    # The interpreted selection counts how often it reads a coordinate.
    monkeypatch.setattr(kernels, "_before", kernels._before.py_func)
    n = 2**12
    x = {
        "sorted": np.arange(n),
        "reversed": np.arange(n)[::-1],
        "organ pipe": np.minimum(np.arange(n), np.arange(n)[::-1]),
        "sawtooth": np.arange(n) % 64,
        "zigzag": np.arange(n) * np.where(np.arange(n) % 2, 1, -1),
    }[order].astype(float)
    numbers = np.arange(n)
    blocks = Counting(x.reshape(-1, 1, LANES).copy())
    kernels._select.py_func(blocks, numbers, 0, 0, n // 2, n, np.empty(SAMPLED, dtype=np.int64))
    flat = np.asarray(blocks.array).reshape(-1)
    assert flat[: n // 2].max() <= flat[n // 2 :].min()
    assert blocks.reads < 12 * n


class Counting:
    """An array that counts its reads."""

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.reads, self.shape = array, 0, array.shape

    def __getitem__(self, index):
        self.reads += 1
        return self.array[index]

    def __setitem__(self, index, value):
        self.array[index] = value


# -- inputs are not copied


def test_single_precision_and_memory_maps_are_not_copied(tmp_path):
    X = np.random.default_rng(0).normal(size=(500, 3)).astype(np.float32)
    path = tmp_path / "points.npy"
    np.save(path, X)
    on_disk = np.load(path, mmap_mode="r")
    for points in (X, on_disk):
        index = NeighborIndex(points)
        assert np.shares_memory(index.points, points)
        assert index.exact._tree[0].dtype == np.float32
        lists = index.neighborhoods(5)
        wide = NeighborIndex(X.astype(np.float64)).neighborhoods(5)
        np.testing.assert_array_equal(lists.indices, wide.indices)
        np.testing.assert_array_equal(lists.squared, wide.squared)
        # New samples in double precision are not rounded to single precision.
        new = X[:20].astype(np.float64) + 1e-9
        np.testing.assert_array_equal(
            index.nearest(new, 4)[1], NeighborIndex(X.astype(np.float64)).nearest(new, 4)[1]
        )


def test_the_search_method_is_chosen_by_estimated_visits():
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(20_000, 2)) @ rng.normal(size=(2, 20))
    assert isinstance(NeighborIndex(flat).exact, TreeSearch)
    full = rng.normal(size=(20_000, 20))
    assert not isinstance(NeighborIndex(full).exact, TreeSearch)
    assert isinstance(NeighborIndex(full[:, :3]).exact, TreeSearch)


def test_building_twice_gives_the_same_tree():
    X = points_of("normal", 1000, 2)
    search = TreeSearch(X, 1)
    before = [array.copy() for array in search._tree]
    build_subtree(search._tree, 0, search._depth + 1, 1, len(X), np.empty(SAMPLED, dtype=np.int64))
    for name, actual, expected in zip("bnxf", search._tree, before, strict=True):
        if name in "xf":  # boxes and smallest indices; points may change places within a leaf
            np.testing.assert_array_equal(actual[1:], expected[1:])

"""The k-d tree against a recursive search of the same tree: lists and numbers of visits."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from test_tree import KINDS, assert_lists, brute_force, cases, points_of, squared_distances

from leastcut.affinity.neighbors.tree import TreeSearch
from leastcut.kernels.containers import sort_pairs
from leastcut.kernels.tree import LANES, list_nearest, list_within_radius


def box_distance(box, query):
    """Return the squared distance of a query to a box, even and odd features summed separately."""
    outside = np.maximum(np.maximum(box[0] - query, query - box[1]), 0.0) ** 2
    return squared_sum(outside)


def squared_sum(squares):
    sums = [0.0, 0.0]
    for f, square in enumerate(squares):
        sums[f % 2] += square
    return sums[0] + sums[1]


def searched(search, query, count, excluded=-1):
    """Return the nearest points as (squared distance, index), and the number of visits."""
    blocks, numbers, boxes, first = (np.asarray(array) for array in search._tree)
    boxes = boxes.astype(np.float64)
    points = np.moveaxis(blocks, 1, 2).reshape(-1, blocks.shape[1]).astype(np.float64)
    n, n_leaves = search._n, len(first) // 2
    best, visits = [(np.inf, -1)] * count, 0

    def visit(v, distance):
        nonlocal best, visits
        if (distance, first[v]) >= best[-1]:
            return
        visits += 1
        if v < n_leaves:
            children = [(box_distance(boxes[w], query), first[w], w) for w in (2 * v, 2 * v + 1)]
            for distance, _, w in sorted(children):
                visit(w, distance)
            return
        j = v - n_leaves
        start, stop = (len(blocks) * at // n_leaves * LANES for at in (j, j + 1))
        positions = [p for p in range(start, min(stop, n)) if p != excluded]
        d = squared_distances(points[positions], query)
        best = sorted([*best, *zip(d.tolist(), numbers[positions].tolist(), strict=True)])[:count]

    visit(1, 0.0)
    return best, visits


@settings(max_examples=draws(25))
@given(X=cases(most=120), data=st.data())
def test_lists_and_visits_equal_those_of_a_recursive_search(X, data):
    n, count = len(X), data.draw(st.integers(1, min(len(X) - 1, 20)))
    search = TreeSearch(X, 1)
    numbers, n_features = search._tree[1], X.shape[1]
    # 1. Points of the tree as queries.
    no_queries, scratch = np.empty((0, n_features)), search._scratch(count)
    for p in range(0, n, 11):
        lists = np.full((n, count), -7, dtype=np.int32), np.full((n, count), -7.0)
        expected, visits = searched(search, X[numbers[p]].astype(float), count, p)
        assert list_nearest(search._tree, no_queries, p, p + 1, *lists, scratch) == visits
        row = numbers[p]
        assert list(zip(lists[1][row], lists[0][row], strict=True)) == expected
        # Other rows are unchanged.
        assert np.count_nonzero(lists[0] == -7) == (n - 1) * count
    # 2. New points, some equal to old ones.
    new = np.concatenate([X[:3].astype(float), X[:3] + 0.25, X[:1] * 2.0 - 5.0])
    lists = np.full((len(new), count), -7, dtype=np.int32), np.full((len(new), count), -7.0)
    references = [searched(search, query, count) for query in new]
    total = list_nearest(search._tree, new, 1, len(new), *lists, scratch)
    assert total == sum(visits for _, visits in references[1:])
    for r, (expected, _) in enumerate(references[1:], 1):
        assert list(zip(lists[1][r], lists[0][r], strict=True)) == expected
    assert (lists[0][0] == -7).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "n", [2, LANES - 1, LANES, LANES + 1, 2 * LANES, 3 * LANES + 1, 64 * LANES]
)
def test_lists_can_contain_all_points(kind, n):
    """All other points, and all points for new ones; with full and partly filled leaves."""
    X = points_of(kind, n, 3)
    for points in (X, X.astype(np.float32)):
        search = TreeSearch(points, 1)
        assert (search.method, search.recall) == ("tree", 1.0)
        for count in {1, n // 2, n - 1}:
            expected = brute_force(points, points, count, True)
            assert_lists(search.neighborhoods(count, 0.0), list(expected)[: 3 * LANES])
        new = X[: LANES + 2] + 0.125
        indices, squared = search.nearest(new, n)
        lists = np.arange(len(new) + 1) * n, indices.reshape(-1), squared.reshape(-1)
        assert_lists(lists, brute_force(points, new, n, False))


def test_a_single_point_is_the_nearest_of_all():
    for dtype in (np.float32, np.float64):
        search = TreeSearch(np.array([[1.0, 2.0, 4.0]], dtype=dtype), 1)
        indices, squared = search.nearest(np.array([[1.0, 2.0, 4.0], [0.0, 0.0, 0.0]]), 1)
        assert indices.tolist() == [[0], [0]]
        assert squared.tolist() == [[0.0], [21.0]]


@given(X=cases(most=60), data=st.data())
def test_lists_within_individual_radii(X, data):
    n = len(X)
    search = TreeSearch(X, 1)
    distances = np.stack([squared_distances(X, x) for x in X])
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    # Radii that equal distances, which are exclusive, and others.
    radii = distances[np.arange(n), rng.integers(n, size=n)]
    radii[::3] *= 1.5
    expected = []
    for i in range(n):
        others = [j for j in range(n) if j != i and distances[i, j] < radii[i]]
        expected.append(sorted((distances[i, j], j) for j in others))
    counts = np.zeros(n + 1, dtype=np.int64)
    no_lists, scratch = (np.empty(0, dtype=np.int32), np.empty(0)), search._scratch(1)
    half = n // 2
    list_within_radius(search._tree, 0, half, radii, counts, *no_lists, scratch)
    first_half = search._tree[1][:half]
    assert counts.sum() == sum(len(expected[i]) for i in first_half)
    list_within_radius(search._tree, half, n, radii, counts, *no_lists, scratch)
    assert counts.tolist() == [0, *map(len, expected)]
    indptr = np.cumsum(counts)
    indices, squared = np.full(indptr[-1] + 1, -7, dtype=np.int32), np.full(indptr[-1] + 1, -7.0)
    list_within_radius(search._tree, 0, n, radii, indptr, indices, squared, scratch)
    for i in range(n):
        listed = slice(indptr[i], indptr[i + 1])
        assert list(zip(squared[listed], indices[listed], strict=True)) == expected[i]
    assert (indices[-1], squared[-1]) == (-7, -7.0)


@pytest.mark.parametrize("n", [1, 5, 63, 64, 65, 700])
@pytest.mark.parametrize("n_features", [1, 4])
def test_a_tree_is_faster_if_its_probes_visit_few_nodes(n, n_features):
    """A node costs 30 ns plus 6 ns per feature; 64 points search for 10 neighbors."""
    search = TreeSearch(points_of("normal", n, n_features), 1)
    n_probes, count = min(64, n), min(10, n)
    positions = [k * n // n_probes for k in range(n_probes)]
    points = np.moveaxis(search._tree[0], 1, 2).reshape(-1, n_features)
    visits = sum(searched(search, points[p], count)[1] for p in positions)
    seconds = visits * (30e-9 + 6e-9 * n_features) / n_probes
    assert search.is_faster(seconds * (1 + 1e-6))
    assert not search.is_faster(seconds * (1 - 1e-6))


@given(st.data())
def test_sort_pairs_sorts_only_the_given_range(data):
    m = data.draw(st.one_of(st.integers(0, 40), st.integers(28, 200)))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    keys = rng.integers(data.draw(st.sampled_from([1, 4, 1000])), size=m).astype(float)
    others = rng.permutation(m)
    start = data.draw(st.integers(0, m))
    stop = data.draw(st.integers(start, m)) if data.draw(st.booleans()) else m
    pairs = list(zip(keys.tolist(), others.tolist(), strict=True))
    expected = [*pairs[:start], *sorted(pairs[start:stop]), *pairs[stop:]]
    for sort in (sort_pairs, sort_pairs.py_func):
        copies = keys.copy(), others.copy()
        sort(*copies, start, stop)
        assert list(zip(*copies, strict=True)) == expected

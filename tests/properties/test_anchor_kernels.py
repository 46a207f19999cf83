"""Kernels of anchor graphs: compiled equals interpreted, and both equal slow references."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from conftest import draws, premise
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from leastcut.anchors.nearest import NearestAnchors
from leastcut.kernels import anchors as kernels

UNIT = 2.0**-22


def both(kernel, *arguments):
    """Run a kernel compiled and interpreted on copies, require equal results, and return them."""

    def copied(value):
        if isinstance(value, tuple):
            return tuple(map(copied, value))
        return value.copy() if isinstance(value, np.ndarray) else value

    def flat(value):
        return (
            [part for item in value for part in flat(item)] if isinstance(value, tuple) else [value]
        )

    results = []
    for function in (kernel, kernel.py_func):
        copies = copied(arguments)
        results.append((*copies, function(*copies)))
    for compiled, interpreted in zip(*map(flat, results), strict=True):
        assert np.array_equal(compiled, interpreted)
    return results[0]


@st.composite
def anchored_points(draw):
    """Generate points with anchors, their weights, and labels of c non-empty clusters."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    m, p, c = draw(st.integers(1, 25)), draw(st.integers(1, 8)), draw(st.integers(1, 5))
    m, count = max(m, c), draw(st.integers(1, min(4, p)))
    anchors = np.array([rng.permutation(p)[:count] for _ in range(m)], dtype=np.int32)
    coarse = 2 ** draw(st.sampled_from([2, 22]))  # few distinct weights, so that there are ties
    units = rng.multinomial(coarse, np.ones(count) / count, size=m)
    weights = (-np.sort(-units, axis=1) / coarse).astype(np.float32)
    labels = np.concatenate([np.arange(c), rng.integers(c, size=m - c)]).astype(np.int32)
    return anchors, weights, labels, p, c, rng


def dense(anchors, weights, p):
    Z = np.zeros((len(anchors), p))
    np.add.at(Z, (np.arange(len(anchors))[:, None], anchors), weights)
    return Z


def value_of(Z, labels, c, masses=None):
    """Return the cut value in rational arithmetic, and the boundaries and sizes of clusters."""
    rows = [[Fraction(float(w)) for w in row] for row in Z]
    masses = [sum(column) for column in zip(*rows, strict=True)]
    boundary = [Fraction(0)] * c
    for j, mass in enumerate(masses):
        if mass:
            inside = [Fraction(0)] * c
            for row, k in zip(rows, labels.tolist(), strict=True):
                inside[k] += row[j]
            for k in range(c):
                boundary[k] += inside[k] * (mass - inside[k]) / mass
    sizes = np.bincount(labels, minlength=c).tolist()
    return sum((b / n for b, n in zip(boundary, sizes, strict=True)), Fraction(0)), boundary, sizes


@settings(deadline=None)
@given(anchored_points())
def test_tables_and_masses_are_sums_of_weights(case):
    anchors, weights, labels, p, c, _ = case
    Z = dense(anchors, weights, p)
    before = np.arange(p * c, dtype=float).reshape(p, c)
    table = both(kernels.add_to_table, anchors, weights, labels, before)[3]
    assert np.array_equal(table, before + Z.T @ np.eye(c)[labels])
    masses = both(kernels.add_to_masses, anchors, weights, np.arange(p, dtype=float))[2]
    assert np.array_equal(masses, np.arange(p) + Z.sum(axis=0))


@settings(deadline=None)
@given(anchored_points())
def test_points_join_the_cluster_of_most_of_their_anchor_weight(case):
    anchors, weights, labels, p, c, rng = case
    label_of_anchor = rng.integers(c, size=p).astype(np.int32)
    scratch = np.full(c, 7.0)
    result = both(kernels.assign_by_anchors, anchors, weights, label_of_anchor, labels, scratch)[3]
    for i, row in enumerate(anchors):
        links = np.zeros(c)
        np.add.at(links, label_of_anchor[row], weights[i])
        # Among the clusters of its anchors; ties to the smallest label.
        candidates = np.unique(label_of_anchor[row])
        assert result[i] == candidates[np.argmax(links[candidates])]


@settings(deadline=None, max_examples=draws(200))
@given(anchored_points())
def test_a_sweep_makes_the_moves_of_an_exact_reference(case):
    anchors, weights, labels, p, c, _ = case
    Z = dense(anchors, weights, p)
    masses = Z.sum(axis=0)
    inverse = np.divide(1.0, masses, out=np.zeros(p), where=masses > 0)
    table = Z.T @ np.eye(c)[labels]
    value, boundary, sizes = value_of(Z, labels, c)
    sums = table, np.array(boundary, dtype=float), np.array(sizes, dtype=float)
    tolerance = 1e-9
    done = both(
        kernels.sweep_points, anchors, weights, labels, inverse, sums, 1.0, tolerance,
        np.zeros((p, c)), np.empty(c),
    )  # fmt: skip
    swept, (new, edges, counts), change, moves = done[2], done[4], done[7], done[9]
    after, true_boundary, true_sizes = value_of(Z, swept, c)
    assert np.array_equal(change, Z.T @ (np.eye(c)[swept] - np.eye(c)[labels]))
    assert np.allclose(new, Z.T @ np.eye(c)[swept], atol=1e-12)
    assert np.allclose(edges, np.array(true_boundary, dtype=float), atol=1e-9)
    assert counts.tolist() == true_sizes
    assert min(true_sizes) >= 1
    assert moves >= np.count_nonzero(swept != labels)
    assert (moves > 0) == bool(np.any(swept != labels))
    assert after <= value - moves * Fraction(tolerance) / 2
    # The reference: one point at a time, by the value before and after every move.
    reference = labels.copy()
    for i in range(len(labels)):
        current, now = reference[i], value_of(Z, reference, c)[0]
        if np.count_nonzero(reference == current) == 1:
            continue
        gains = []
        for k in range(c):
            candidate = reference.copy()
            candidate[i] = k
            gains.append(now - value_of(Z, candidate, c)[0] if k != current else Fraction(0))
        best = max(range(c), key=lambda k: (gains[k], -k))
        close = sorted(gains, reverse=True)
        # Skip cases that rounding decides.
        assume(abs(gains[best] - Fraction(tolerance)) >= Fraction(1, 10**11))
        if gains[best] > tolerance:
            assume(c == 1 or close[0] - close[1] >= Fraction(1, 10**11))
            reference[i] = best
    premise(True)
    assert np.array_equal(reference, swept)


@settings(deadline=None)
@given(anchored_points(), st.integers(2, 5))
def test_copies_move_together_with_a_point(case, copies):
    """The sums after a sweep with copies are those of a graph of as many equal blocks."""
    anchors, weights, labels, p, c, _ = case
    one, many = dense(anchors, weights, p)[:1], np.tile(dense(anchors, weights, p), (copies, 1))
    masses = many.sum(axis=0)
    inverse = np.divide(1.0, masses, out=np.zeros(p), where=masses > 0)
    tiled = np.tile(labels, copies)
    _, boundary, sizes = value_of(many, tiled, c)
    sums = (
        many.T @ np.eye(c)[tiled],
        np.array(boundary, dtype=float),
        np.array(sizes, dtype=float),
    )
    done = both(
        kernels.sweep_points, anchors[:1], weights[:1], labels[:1], inverse, sums,
        float(copies), 1e-9, np.zeros((p, c)), np.empty(c),
    )  # fmt: skip
    moved = tiled.copy()
    moved[:: len(labels)] = done[2][0]
    _, boundary, sizes = value_of(many, moved, c)
    assert np.allclose(done[4][0], many.T @ np.eye(c)[moved], atol=1e-12)
    assert np.allclose(done[4][1], np.array(boundary, dtype=float), atol=1e-9)
    assert done[4][2].tolist() == sizes
    assert np.array_equal(done[7], one.T @ (np.eye(c)[done[2]] - np.eye(c)[labels[:1]]))
    if sizes[labels[0]] == 0:
        pytest.fail("a cluster was emptied")


@settings(deadline=None)
@given(anchored_points())
def test_new_points_join_the_cluster_of_smallest_growth(case):
    anchors, weights, labels, p, c, rng = case
    Z = dense(anchors, weights, p)
    masses = Z.sum(axis=0)
    inverse = np.divide(1.0, masses, out=np.zeros(p), where=masses > 0)
    _, boundary, sizes = value_of(Z, labels, c)
    ratio, size = np.array(boundary, dtype=float) / sizes, np.array(sizes, dtype=float)
    table = (Z.T @ np.eye(c)[labels]) * inverse[:, None]
    order = rng.permutation(len(labels))
    assigned = both(
        kernels.assign_new_points, anchors[order], weights[order], inverse,
        (table, ratio, size), np.empty(len(labels), dtype=np.int32), np.full(c, 3.0),
    )[4]  # fmt: skip
    for i, k in zip(order, assigned, strict=True):
        z = float((Z[i] ** 2 * inverse).sum())
        growth = (1 - 2 * (Z[i] @ table) - z - ratio) / (size + 1)
        assert growth[k] <= growth.min() + 1e-12
        assert not np.any(growth[:k] == growth[k])


@settings(deadline=None)
@given(anchored_points())
def test_sums_of_groups_and_products(case):
    anchors, weights, _, p, _, rng = case
    Z = dense(anchors, weights, p)
    products = both(kernels.add_anchor_products, anchors, weights, np.ones((p, p)))[2]
    assert np.allclose(products, 1 + Z.T @ Z, rtol=1e-15, atol=0)
    n_keys = 9
    keys = rng.integers(n_keys, size=len(anchors))
    numbered = both(kernels.number_keys, keys, np.full(n_keys, 5), np.full(n_keys, -7))
    distinct = np.unique(keys)
    assert numbered[3] == distinct.size
    assert np.array_equal(numbered[2][: distinct.size], distinct)
    expected = np.full(n_keys, -1)
    expected[distinct] = np.arange(distinct.size)
    assert np.array_equal(numbered[1], expected)
    sums = both(
        kernels.add_to_groups, anchors, weights, keys, numbered[1], np.zeros((distinct.size, p))
    )[4]
    assert np.array_equal(sums, np.array([Z[keys == key].sum(axis=0) for key in distinct]))
    # CSR form: first the counts per row, then the entries.
    indptr = np.full(distinct.size + 1, -3)
    empty = np.empty(0, dtype=np.int64), np.empty(0)
    indptr = both(kernels.compress_rows, sums, indptr, *empty)[1]
    assert indptr.tolist() == [0, *np.cumsum(np.count_nonzero(sums, axis=1)).tolist()]
    entries = np.empty(indptr[-1], dtype=np.int64), np.empty(indptr[-1])
    done = both(kernels.compress_rows, sums, indptr, *entries)
    rows, columns = np.nonzero(sums)
    assert np.array_equal(done[1], indptr)
    assert np.array_equal(done[2], columns)
    assert np.array_equal(done[3], sums[rows, columns])


@settings(deadline=None)
@given(
    st.integers(1, 12), st.integers(1, 9), st.integers(1, 5), st.integers(1, 37),
    st.integers(0, 2**32), st.booleans(),
)  # fmt: skip
def test_nearest_anchors_by_products_and_by_differences(m, p, k, d, seed, coarse):
    k, rng = min(k, p), np.random.default_rng(seed)
    points, anchors = rng.normal(size=(m, d)), rng.normal(size=(p, d))
    if coarse:  # so that there are ties
        points, anchors = np.round(points), np.round(anchors)
    half_norms, products = 0.5 * (anchors**2).sum(axis=1), points @ anchors.T
    listed = both(
        kernels.nearest_by_products, products, half_norms, np.full((m, k), 77), np.empty((m, k))
    )[2]
    keys = half_norms - products
    expected = np.argsort(keys, axis=1, kind="stable")[:, :k]
    assert np.array_equal(listed, expected)
    shuffled = rng.permuted(listed, axis=1)
    done = both(
        kernels.sort_by_distance, points, anchors, shuffled, np.empty((m, k)),
        np.full(kernels.LANES, 9.0),
    )  # fmt: skip
    exact = ((points[:, None] - anchors) ** 2).sum(axis=2)
    for i in range(m):
        assert np.allclose(done[3][i], exact[i, done[2][i]], rtol=1e-12)
        assert sorted(done[2][i]) == sorted(listed[i])
        pairs = list(zip(done[3][i], done[2][i], strict=True))
        assert pairs == sorted(pairs)


@settings(deadline=None)
@given(st.integers(1, 6), st.integers(1, 5), st.integers(0, 2**32), st.sampled_from([0, 1, 2, 3]))
def test_anchor_weights_are_proportional_to_distance_differences(m, count, seed, kind):
    rng = np.random.default_rng(seed)
    squared = np.sort(rng.random((m, count + 2)) * 10.0 ** rng.integers(-8, 8), axis=1)
    if kind == 1:
        squared[:] = 2.5
    elif kind == 2:
        squared[:, count] = np.inf
    elif kind == 3:
        squared[:, : count + 1] = squared[:, :1]
        squared[:, 0] *= 0.5
    weights = both(
        kernels.compute_anchor_weights, squared, UNIT, np.empty((m, count), dtype=np.float32)
    )[2].astype(float)
    assert np.all(weights.sum(axis=1) == 1.0)
    assert np.all(weights >= 0)
    assert np.array_equal(weights / UNIT, np.round(weights / UNIT))
    for i in range(m):
        expected = squared[i, count] - squared[i, :count]
        equal = not 0 < expected.sum() < np.inf
        expected = np.full(count, 1 / count) if equal else expected / expected.sum()
        assert np.all(np.abs(weights[i, 1:] - expected[1:]) <= 0.5001 * UNIT)
        assert abs(weights[i, 0] - expected[0]) <= 0.5001 * count * UNIT


@settings(deadline=None)
@given(st.integers(0, 9), st.integers(1, 4), st.integers(1, 3), st.integers(0, 2**32))
def test_points_are_added_to_their_nearest_center(m, p, d, seed):
    rng = np.random.default_rng(seed)
    points, nearest = rng.normal(size=(m, d)), rng.integers(p, size=(m, 1))
    done = both(kernels.add_to_centers, points, nearest, np.ones((p, d)), np.arange(p))
    assert np.array_equal(done[3], np.arange(p) + np.bincount(nearest[:, 0], minlength=p))
    for j in range(p):
        assert np.allclose(done[2][j], 1 + points[nearest[:, 0] == j].sum(axis=0))


@settings(deadline=None, max_examples=draws(30))
@given(st.integers(0, 2**32), st.sampled_from([9, 40, 200]), st.integers(0, 9))
def test_nearest_anchors_are_exact_for_tight_groups(seed, d, digits):
    """Distances within a group differ by less than the rounding of products."""
    rng = np.random.default_rng(seed)
    centers, spread = rng.normal(size=(4, d)), 10.0**-digits
    anchors, points = (
        centers[rng.integers(4, size=m)] + spread * rng.normal(size=(m, d)) for m in (30, 20)
    )
    nearest = NearestAnchors(anchors, 5, n_threads=1)
    listed, squared = nearest._search.nearest(nearest._scaled(points))
    exact = ((nearest._scaled(points)[:, None] - nearest._scaled(anchors)) ** 2).sum(axis=2)
    assert np.allclose(squared[:, :6], np.sort(exact, axis=1)[:, :6], rtol=1e-9)
    assert np.allclose(np.take_along_axis(exact, listed, axis=1), squared, rtol=1e-9)

"""The semidefinite bound: never above a partition, never falling, and proven by its multipliers."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from conftest import draws, graphs, knn_graph
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs
from wide_spans import Rational, wide_problems

import leastcut
from leastcut.bounds import semidefinite
from leastcut.bounds.branch_and_bound import proven_cannot_links, proven_must_links
from leastcut.bounds.multipliers import Multipliers
from leastcut.bounds.proven_floor import proven_floor
from leastcut.bounds.semidefinite import SemidefiniteBound
from leastcut.bounds.spaces import GroupedSpace, nearest_spectral
from leastcut.budget import Budget
from leastcut.kernels import star_inequalities
from leastcut.problem import as_problem

ROUNDS = 6


def some_cut(data, n):
    kind = data.draw(st.sampled_from(["ratio", "normalized", "weights"]))
    if kind != "weights":
        return kind
    return np.random.default_rng(data.draw(st.integers(0, 99))).uniform(0.1, 5.0, size=n)


def improved(bound: SemidefiniteBound, rounds: int = ROUNDS) -> SemidefiniteBound:
    for _ in range(rounds):
        if not bound.improve():
            break
    return bound


def labelings(n: int, c: int):
    """Yield every labeling whose labels appear in the order 0, 1, ..., c-1."""
    for labels in product(range(c), repeat=n):
        if tuple(dict.fromkeys(labels)) == tuple(range(c)):
            yield np.array(labels)


def matrix_of(labels, weights):
    together = labels[:, None] == labels[None, :]
    return together * np.sqrt(np.outer(weights, weights)) / np.bincount(labels, weights)[labels]


@given(S=graphs(min_nodes=2, max_nodes=8), data=st.data())
def test_bounds_neither_exceed_the_optimum_nor_fall(S, data):
    c = data.draw(st.integers(1, len(S)))
    cut = some_cut(data, len(S))
    problem = as_problem(S, cut)
    best = leastcut.exact_partition(S, c, cut).cut_value
    bound = SemidefiniteBound(problem, c, value=best)
    before = leastcut.lower_bound(S, c, cut) * (1 - 1e-9) - 1e-11
    for _ in range(ROUNDS):
        assert before <= bound.bound <= best
        before = bound.bound
        if not bound.improve():
            break
    assert before <= bound.bound <= best


@settings(max_examples=draws(25))
@given(S=graphs(min_nodes=4, max_nodes=7), data=st.data())
def test_cannot_links_bound_the_partitions_that_satisfy_them(S, data):
    n = len(S)
    c = data.draw(st.integers(2, min(4, n)))
    cut = some_cut(data, n)
    problem = as_problem(S, cut)
    every = list(combinations(range(n), 2))
    cannot_link = np.array(data.draw(st.lists(st.sampled_from(every), min_size=1, max_size=3)))
    free = improved(SemidefiniteBound(problem, c))
    values = [
        problem.value(labels)
        for labels in labelings(n, c)
        if not (labels[cannot_link[:, 0]] == labels[cannot_link[:, 1]]).any()
    ]
    best = min(values, default=np.inf)
    fresh = SemidefiniteBound(problem, c, cannot_link, value=best)
    later = SemidefiniteBound(problem, c, cannot_link, value=best, parent=free)
    assert later.bound >= free.bound
    for bound in (fresh, later):
        assert improved(bound).bound <= best


@given(S=graphs(min_nodes=4, max_nodes=7), data=st.data())
def test_a_contraction_bounds_the_partitions_that_satisfy_the_must_link(S, data):
    n = len(S)
    c = data.draw(st.integers(2, min(4, n - 1)))
    cut = some_cut(data, n)
    problem = as_problem(S, cut)
    i, j = data.draw(st.sampled_from(list(combinations(range(n), 2))))
    merged = np.arange(n) - (np.arange(n) > j)
    merged[j] = i
    indicator = np.eye(n - 1)[merged]
    small = as_problem(indicator.T @ S @ indicator, indicator.T @ problem.node_weights)
    parent = improved(SemidefiniteBound(problem, c), 2)
    child = SemidefiniteBound(small, c, parent=parent, merged=merged)
    assert child.bound >= parent.bound
    values = [problem.value(labels) for labels in labelings(n, c) if labels[i] == labels[j]]
    assert improved(child).bound <= min(values) * (1 + 1e-12)


@given(S=graphs(min_nodes=3, max_nodes=7), data=st.data())
def test_dual_prices_are_feasible_and_sum_to_the_bound(S, data):
    n = len(S)
    c = data.draw(st.integers(2, n))
    cut = some_cut(data, n)
    problem = as_problem(S, cut)
    bound = improved(SemidefiniteBound(problem, c), 40)
    nodes, cluster = bound.dual_prices
    scale = problem.operator().diagonal().max()
    assert nodes.sum() + c * cluster == pytest.approx(bound.proven, abs=1e-9 * max(scale, 1e-300))
    # Prices come from the mean of the eigenvalues, whose spread bounds their error.
    if c == 2:
        for size in range(1, n):
            for members in combinations(range(n), size):
                labels = np.zeros(n, dtype=int)
                labels[list(members)] = 1
                cost = problem.boundaries(labels)[1] / problem.cluster_weights(labels)[1]
                assert cost >= cluster + nodes[list(members)].sum() - 1e-7 * scale


@given(S=graphs(min_nodes=3, max_nodes=7), data=st.data())
def test_proven_links_hold_in_every_better_partition(S, data):
    n = len(S)
    c = data.draw(st.integers(2, n))
    cut = some_cut(data, n)
    problem = as_problem(S, cut)
    values = {tuple(labels): problem.value(labels) for labels in labelings(n, c)}
    value = data.draw(st.sampled_from(sorted(values.values())))
    bound = improved(SemidefiniteBound(problem, c))
    cannot_link, must_link = proven_cannot_links(bound, value), proven_must_links(bound, value)
    for labels, other in values.items():
        if other < value:
            assert not any(labels[i] == labels[j] for i, j in cannot_link)
            assert all(labels[i] == labels[j] for i, j in must_link)


@given(S=graphs(min_nodes=4, max_nodes=9), data=st.data())
def test_every_partition_satisfies_every_star_inequality(S, data):
    n = len(S)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    weights = rng.uniform(0.1, 5.0, size=n)
    labels = np.unique(rng.integers(0, 3, size=n), return_inverse=True)[1]
    Z = matrix_of(labels, weights)
    for size in range(1, min(star_inequalities.LEAVES, n - 1) + 1):
        nodes = rng.permutation(n)
        leaves = np.full((1, star_inequalities.LEAVES), -1)
        leaves[0, :size] = nodes[1 : size + 1]
        star = np.zeros((n, n))
        star_inequalities.add_star_multipliers(
            star, np.sqrt(weights), nodes[:1], leaves, np.ones(1)
        )
        assert (star * Z).sum() >= -1e-12


@settings(max_examples=draws(12))
@given(seed=st.integers(0, 99), permuted=st.integers(0, 99))
def test_permuted_nodes_have_the_same_bound(seed, permuted):
    rng = np.random.default_rng(seed)
    S = rng.random((8, 8)) * (rng.random((8, 8)) < 0.6)
    S = S + S.T + 0.01
    order = np.random.default_rng(permuted).permutation(8)
    one = improved(SemidefiniteBound(as_problem(S), 3), 30).bound
    other = improved(SemidefiniteBound(as_problem(S[np.ix_(order, order)]), 3), 30).bound
    assert one == pytest.approx(other, rel=1e-3)


@pytest.mark.parametrize("power", [-800, -60, 60, 800])
def test_bounds_scale_with_the_affinities(power):
    S = knn_graph(make_blobs(40, centers=3, cluster_std=3.0, random_state=0)[0]).toarray()
    scaled = np.ldexp(S, power)
    for cut, factor in (("normalized", 1.0), ("ratio", 2.0**power)):
        one = improved(SemidefiniteBound(as_problem(S, cut), 3)).bound
        other = improved(SemidefiniteBound(as_problem(scaled, cut), 3)).bound
        assert other == pytest.approx(one * factor, rel=1e-9)


@settings(max_examples=draws(60))
@given(wide_problems())
def test_bounds_hold_for_weights_of_any_range(problem):
    S, cut, labels = problem
    c = int(labels.max()) + 1
    bound = improved(SemidefiniteBound(as_problem(S, cut), c, labels=labels), 4)
    assert Fraction(bound.bound) <= Rational(S, cut).optimum(c)


def test_bounds_are_zero_for_one_cluster_and_with_enough_components():
    S = np.kron(np.eye(3), np.ones((2, 2)))
    for c in (1, 2, 3):
        assert improved(SemidefiniteBound(as_problem(S), c)).bound <= 1e-300
    assert improved(SemidefiniteBound(as_problem(np.zeros((4, 4)), "ratio"), 2)).bound == 0.0


def test_the_bound_closes_the_gap_of_blobs():
    S = knn_graph(make_blobs(120, centers=5, cluster_std=2.0, random_state=1)[0])
    partition = leastcut.partition(S, 5, effort="thorough", random_state=0)
    bound = SemidefiniteBound(as_problem(S), 5, value=partition.cut_value, labels=partition.labels)
    assert bound.bound < 0.9 * partition.cut_value
    assert improved(bound, 60).bound == pytest.approx(partition.cut_value, rel=1e-3)
    assert bound.bound <= partition.cut_value


@given(seed=st.integers(0, 999), c=st.integers(2, 6))
def test_the_proven_floor_is_just_below_the_eigenvalues(seed, c):
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((12, 12))
    matrix = matrix + matrix.T
    unit = rng.standard_normal(12)
    unit /= np.linalg.norm(unit)
    basis = np.linalg.qr(np.column_stack([unit, rng.standard_normal((12, 11))]))[0][:, 1:]
    values = np.linalg.eigvalsh(basis.T @ matrix @ basis)
    exact = unit @ matrix @ unit + values[: c - 1].sum()
    assert exact - 1e-10 <= proven_floor(matrix, unit, c, 0.0, Budget()).bound <= exact


@given(seed=st.integers(0, 999), c=st.integers(2, 6))
def test_the_spectral_projection_is_the_nearest_matrix(seed, c):
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((9, 9))
    matrix = matrix + matrix.T
    weights = rng.uniform(0.1, 1.0, size=9)
    unit = np.sqrt(weights / weights.sum())
    Z, _ = nearest_spectral(matrix, unit, c, 1)
    assert Z @ unit == pytest.approx(unit, abs=1e-12)
    assert np.trace(Z) == pytest.approx(c)
    values = np.linalg.eigvalsh(Z)
    assert values.min() > -1e-12
    assert values.max() < 1 + 1e-12
    # The variational inequality of a projection on a convex set.
    labels = np.unique(np.concatenate([np.arange(c), rng.integers(0, c, size=9 - c)]))
    labels = np.concatenate([labels, rng.integers(0, c, size=9 - labels.size)])
    assert ((matrix - Z) * (matrix_of(labels, weights) - Z)).sum() <= 1e-9


def test_compiled_and_interpreted_kernels_agree():
    rng = np.random.default_rng(0)
    n, root = 9, np.sqrt(rng.uniform(0.5, 2.0, size=9))
    Z = rng.standard_normal((n, n)) * 0.2
    Z = Z + Z.T + np.eye(n)

    def outcome(compiled: bool):
        def pick(f):
            return f if compiled else f.py_func

        violations, leaves = np.zeros((n, 4)), np.full((n, 4, star_inequalities.LEAVES), -1)
        scratch = np.empty(n, dtype=np.int64), np.empty(n)
        pick(star_inequalities.find_star_inequalities)(
            Z, root, 0, n, 1e-3, 1e4, violations, leaves, *scratch
        )
        i, rank = np.nonzero(violations)
        stars, lifted, multipliers = leaves[i, rank], Z.copy(), np.zeros(i.size)
        last = pick(star_inequalities.project_on_star_inequalities)(
            lifted, root, np.ones(n), i, stars, multipliers, 300, np.empty(star_inequalities.LEAVES)
        )
        W, pairs = np.eye(n), np.zeros((n, n))
        residuals = pick(star_inequalities.update_pairs)(lifted, Z, W, pairs, 2.0)
        N = np.zeros((n, n))
        size = pick(star_inequalities.add_star_multipliers)(N, root, i, stars, multipliers)
        return violations, stars, lifted, multipliers, last, W, pairs, residuals, N, size

    one, other = outcome(True), outcome(False)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    violations, stars, _, multipliers, last, W, pairs, _, N, _ = one
    assert violations.max() > 0.1
    assert last < 1e-9
    # The projection: feasible, complementary, and W is Z plus the sum of multipliers.
    centers = np.nonzero(violations)[0]
    for i, leaves, multiplier in zip(centers, stars, multipliers, strict=True):
        star = np.zeros((n, n))
        star_inequalities.add_star_multipliers(star, root, np.array([i]), leaves[None], np.ones(1))
        slack = (star * W).sum()
        assert slack > -1e-7
        assert multiplier * slack < 1e-7
    np.testing.assert_allclose(W, Z + N + pairs / 2.0, atol=1e-12)


# -- large problems, represented by groups


@pytest.fixture
def grouped(monkeypatch):
    """Treat every problem as large, with few initial groups."""
    monkeypatch.setattr(semidefinite, "LARGEST_DENSE", 0)
    monkeypatch.setattr(semidefinite, "INITIALLY_DENSE", 0)
    monkeypatch.setattr(semidefinite, "GROUPS", 20)
    monkeypatch.setattr(semidefinite, "FIRST_SPLIT", 2)
    monkeypatch.setattr(semidefinite, "SPLIT_FRACTION", 0.5)
    monkeypatch.setattr(semidefinite, "PROOF_EVERY", 2)


@pytest.mark.parametrize("cut", ["ratio", "normalized"])
def test_groups_give_a_bound_that_improves_with_their_number(grouped, cut):
    X = make_blobs(100, centers=4, cluster_std=2.5, random_state=0)[0]
    S = knn_graph(X)
    partition = leastcut.partition(S, 4, cut=cut, effort="thorough", random_state=0)
    problem = as_problem(S, cut)
    bound = SemidefiniteBound(problem, 4, value=partition.cut_value, labels=partition.labels)
    assert isinstance(bound._space, GroupedSpace)
    few, start = bound._space.root.size, bound.bound
    assert start == pytest.approx(leastcut.lower_bound(S, 4, cut))
    before = start
    for _ in range(16):
        more = bound.improve()
        assert before <= bound.bound <= partition.cut_value
        before = bound.bound
        if not more:
            break
    assert bound._space.root.size > few
    assert bound.bound > start + 0.5 * (partition.cut_value - start)
    nodes, cluster = bound.dual_prices
    assert nodes.sum() + 4 * cluster == pytest.approx(bound.proven, rel=1e-3)


def test_groups_are_eventually_split_to_nodes(grouped, monkeypatch):
    monkeypatch.setattr(semidefinite, "LARGEST_DENSE", 1000)
    S = knn_graph(make_blobs(120, centers=5, cluster_std=2.0, random_state=1)[0])
    partition = leastcut.partition(S, 5, effort="thorough", random_state=0)
    bound = SemidefiniteBound(as_problem(S), 5, value=partition.cut_value, labels=partition.labels)
    improved(bound, 80)
    assert bound.similarity.shape == S.shape
    assert bound.bound == pytest.approx(partition.cut_value, rel=1e-3)
    assert bound.bound <= partition.cut_value
    value = partition.cut_value * (1 + 1e-6)
    cannot_link, must_link = proven_cannot_links(bound, value), proven_must_links(bound, value)
    assert (partition.labels[cannot_link[:, 0]] != partition.labels[cannot_link[:, 1]]).all()
    assert (partition.labels[must_link[:, 0]] == partition.labels[must_link[:, 1]]).all()


def test_groups_without_labels_respect_a_deadline(grouped):
    S = knn_graph(make_blobs(150, centers=4, cluster_std=2.5, random_state=0)[0])
    bound = SemidefiniteBound(as_problem(S), 4)
    with pytest.raises(TimeoutError):
        bound.improve(Budget(0))
    assert bound.bound <= leastcut.partition(S, 4, random_state=0).cut_value


@given(seed=st.integers(0, 999))
def test_splitting_groups_preserves_the_sum_of_multipliers(seed):
    rng = np.random.default_rng(seed)
    n, k = 14, 6
    weights = rng.uniform(0.2, 3.0, size=n)
    old = np.sort(np.concatenate([np.arange(k), rng.integers(0, k, size=n - k)]))
    pairs = np.triu(rng.random((k, k)), 1)
    columns = np.array([[0, 1, 2, 3, -1], [4, 0, 5, -1, -1], [2, 3, -1, -1, -1], [5, 0, 1, 2, 3]])
    multipliers = Multipliers(pairs + pairs.T, columns[:, 0], columns[:, 1:], rng.random(4))

    def matrix(terms: Multipliers, group):
        root = np.sqrt(np.bincount(group, weights))
        N, _ = terms.combined(root)
        between = N - np.diag(np.diag(N))
        ratio = np.sqrt(weights) / root[group]
        return between[np.ix_(group, group)] * np.outer(ratio, ratio) + np.diag(np.diag(N)[group])

    new = np.unique(2 * old + rng.integers(0, 2, size=n), return_inverse=True)[1]
    old_of = np.empty(new.max() + 1, dtype=np.int64)
    old_of[new] = old
    roots = [np.sqrt(np.bincount(group, weights)) for group in (old, new)]
    split = multipliers.split(*roots, old_of)
    np.testing.assert_allclose(matrix(split, new), matrix(multipliers, old), atol=1e-12)

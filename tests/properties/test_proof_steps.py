"""Steps that make a bound rigorous, with wrong inputs: the bound may fall, but never rise."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from conftest import draws, premise, saw
from hypothesis import given, settings
from hypothesis import strategies as st

from leastcut.bounds import proven_floor as floors
from leastcut.bounds.branch_and_bound import (
    BranchAndBound,
    proven_cannot_links,
    proven_must_links,
)
from leastcut.bounds.decisions import Decisions
from leastcut.bounds.dual_prices import DualPriceBound
from leastcut.bounds.incumbent import Incumbent, enumerated_optimum
from leastcut.bounds.multipliers import Multipliers, no_multipliers
from leastcut.bounds.proof import Enumeration
from leastcut.bounds.semidefinite import SemidefiniteBound
from leastcut.bounds.spaces import GroupedSpace, halved_groups
from leastcut.budget import Budget
from leastcut.constraints import CannotLinks
from leastcut.kernels import star_inequalities
from leastcut.kernels.cheapest_cluster import update_prices
from leastcut.problem import as_problem

SEEDS = st.integers(0, 10**6)


def labelings(n: int, c: int):
    """Yield every labeling whose labels appear in the order 0, 1, ..., c-1."""
    for labels in product(range(c), repeat=n):
        if tuple(dict.fromkeys(labels)) == tuple(range(c)):
            yield np.array(labels)


def matrix_of(labels, weights):
    together = labels[:, None] == labels[None, :]
    return together * np.sqrt(np.outer(weights, weights)) / np.bincount(labels, weights)[labels]


def sampled(seed: int, n: int, wide: bool = False):
    """Return a random problem of n nodes and weights, its affinities, and the generator."""
    rng = np.random.default_rng(seed)
    span = 6.0 if wide else 0.5
    S = np.triu(10.0 ** rng.uniform(-span, span, size=(n, n)) * (rng.random((n, n)) < 0.7), 1)
    S = S + S.T + 1e-3 * (1.0 - np.eye(n))
    weights = 10.0 ** rng.uniform(-span / 3, span / 3, size=n)
    return as_problem(S, weights), S, rng


def symmetric(rng, n):
    matrix = rng.standard_normal((n, n))
    return matrix + matrix.T


def true_floor(matrix, unit, c):
    """Return uᵀBu and the c − 1 smallest eigenvalues on u⊥, by a basis of it."""
    basis = np.linalg.svd(unit[None])[2][1:].T
    values = np.linalg.eigvalsh(basis.T @ matrix @ basis)
    return float(unit @ matrix @ unit + values[: c - 1].sum())


# -- the Cholesky factorization that is the proof


@given(seed=SEEDS, columns=st.sampled_from([2, 3, 5, 100]), rows=st.sampled_from([1, 4, 100]))
def test_only_positive_definite_matrices_are_factorized(seed, columns, rows):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    matrix = symmetric(rng, n)
    matrix -= np.linalg.eigvalsh(matrix)[0] * np.eye(n)
    scale = np.linalg.norm(matrix) + 1.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(floors, "FACTOR_COLUMNS", columns)
        patch.setattr(floors, "FACTOR_ROWS", rows)
        above = matrix + 1e-8 * scale * np.eye(n)
        factor = above + np.triu(np.full((n, n), np.nan), 1)  # only the lower triangle is used
        assert floors.is_factorized(factor, Budget())
        factor = np.tril(factor)
        np.testing.assert_allclose(factor @ factor.T, above, atol=1e-12 * scale)
        assert not floors.is_factorized(matrix - 1e-8 * scale * np.eye(n), Budget())
    with pytest.raises(TimeoutError):
        floors.is_factorized(matrix, Budget(0))


@given(
    seed=SEEDS,
    size=st.sampled_from([1e-14, 1e-6, 1.0]),
    is_estimated=st.booleans(),
    attempts=st.sampled_from([1, 2, 12]),
)
def test_the_proven_negative_part_reaches_the_smallest_eigenvalue(
    seed, size, is_estimated, attempts
):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))
    matrix = symmetric(rng, n) * 10.0 ** rng.uniform(-3, 3)
    lowest = float(np.linalg.eigvalsh(matrix)[0])
    with pytest.MonkeyPatch.context() as patch:
        if is_estimated:
            patch.setattr(floors, "ESTIMATED_ROWS", 1)
        patch.setattr(floors, "MOST_FACTORIZATIONS", attempts)
        below = floors._proven_negative_part(matrix, size, Budget())
    assert below >= max(size, -lowest * (1.0 - 1e-12))
    assert below <= floors.WIDER * 1.2 * max(size, -lowest) + size


@settings(max_examples=draws(200))
@given(
    seed=SEEDS,
    kind=st.sampled_from(
        ["exact", "few", "random", "other", "long", "short", "same", "high", "low", "nan", "inf"]
    ),
)
def test_the_floor_of_any_eigenpairs_is_a_lower_bound(seed, kind):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 10))
    c = int(rng.integers(2, n + 1))
    matrix, unit = symmetric(rng, n), rng.standard_normal(n)
    unit /= np.linalg.norm(unit)
    exact = true_floor(matrix, unit, c)
    vector, _ = floors._cancelling_vector(matrix, unit)
    lifted = matrix + np.outer(unit, vector) + np.outer(vector, unit)
    values, vectors = (part[..., : c - 1] for part in np.linalg.eigh(lifted))
    size = float(np.abs(values).sum()) + 1.0
    if kind == "few":
        values, vectors = np.append(values, np.inf)[: c - 1], vectors * (np.arange(c - 1) > 0)
    elif kind == "random":
        values, vectors = size * rng.standard_normal(c - 1), rng.standard_normal((n, c - 1))
    elif kind == "other":
        vectors = np.linalg.qr(rng.standard_normal((n, n)))[0][:, : c - 1]
    elif kind in ("long", "short"):
        vectors = vectors * (10.0 if kind == "long" else 0.1)
    elif kind == "same":
        vectors = np.repeat(vectors[:, :1], c - 1, axis=1)
    elif kind in ("high", "low"):
        values = values + size * (10.0 if kind == "high" else -10.0)
    elif kind in ("nan", "inf"):
        values = values * (np.nan if kind == "nan" else np.inf)
    floor = floors.floor_of_pairs(matrix.copy(), unit, c, 0.0, values, vectors, Budget())
    assert floor.bound <= exact + 1e-13 * size
    if kind == "exact":
        assert floor.bound >= exact - 1e-9 * size
        assert floor.mean == pytest.approx(values.mean(), abs=1e-9 * size)
        assert floor.value == pytest.approx(unit @ matrix @ unit, abs=1e-9 * size)
        assert abs(floor.vector @ unit) < 1e-9 * size
    if kind in ("nan", "inf"):
        assert floor.bound == -np.inf


@given(seed=SEEDS)
def test_the_floor_includes_the_rounding_of_its_terms(seed):
    """Larger terms lower the bound, by at least one rounding of each."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 9))
    unit = np.full(n, n**-0.5)
    matrix = symmetric(rng, n)
    plain = floors.proven_floor(matrix, unit, 3, 0.0, Budget()).bound
    summed = floors.proven_floor(matrix, unit, 3, 1e10, Budget()).bound
    assert plain - summed >= 1e10 * floors.EPSILON
    assert plain - summed <= 1e10 * floors.EPSILON * 1000 * n
    with pytest.raises(TimeoutError):
        floors.proven_floor(matrix, unit, 3, 0.0, Budget(0))


# -- multipliers and their inequalities


def random_multipliers(rng, n: int, scale: float = 1.0) -> Multipliers:
    """Return arbitrary multipliers y ≥ 0."""
    pairs = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.5), 1) * scale
    count = int(rng.integers(0, 6))
    leaves = np.full((count, star_inequalities.LEAVES), -1, dtype=np.int64)
    centers = np.zeros(count, dtype=np.int64)
    for m in range(count):
        nodes = rng.permutation(n)[: int(rng.integers(2, min(star_inequalities.LEAVES + 1, n) + 1))]
        centers[m] = nodes[0]
        leaves[m, : nodes.size - 1] = np.sort(nodes[1:])
    return Multipliers(pairs + pairs.T, centers, leaves, rng.random(count) * scale)


def inequality_sum(multipliers: Multipliers, X: np.ndarray, b: np.ndarray) -> float:
    """Return Σ_t y_t ⟨T_t, Z⟩ term by term, from the definition of the inequalities on X."""
    Z = X * np.sqrt(np.outer(b, b))
    total = float((multipliers.pairs * Z).sum())
    for i, leaves, y in zip(
        multipliers.centers, multipliers.leaves, multipliers.stars, strict=True
    ):
        T = [t for t in leaves if t >= 0]
        slack = X[i, i] - sum(X[i, t] for t in T) + sum(X[s, t] for s, t in combinations(T, 2))
        assert slack >= -1e-12 * X[i, i]
        total += y * b[i] * slack
    return total


@given(seed=SEEDS, n=st.integers(3, 6))
def test_multipliers_sum_to_their_inequalities_and_any_prove_a_bound(seed, n):
    problem, _, rng = sampled(seed, n)
    b = problem.node_weights
    root = np.sqrt(b)
    c = int(rng.integers(2, n))
    multipliers = random_multipliers(rng, n)
    N, size = multipliers.combined(root)
    np.testing.assert_allclose(N, N.T, atol=1e-12)
    A = problem.operator().toarray()
    bound = floors.proven_floor(A - N, root / np.linalg.norm(root), c, size, Budget()).bound
    absolute = Multipliers(
        np.abs(multipliers.pairs), multipliers.centers, multipliers.leaves, multipliers.stars
    )
    assert size >= np.abs(absolute.combined(root)[0]).max() - 1e-9
    for labels in labelings(n, c):
        Z = matrix_of(labels, b)
        X = Z / np.outer(root, root)
        total = inequality_sum(multipliers, X, b)
        scale = size * max(1.0, (b.max() / b.min()))
        assert float((N * Z).sum()) == pytest.approx(total, abs=1e-11 * scale)
        assert total >= -1e-12 * scale
        # Fixing relies on this: the bound plus the total is at most the value.
        assert bound + total <= problem.value(labels) + 1e-10 * scale


@given(seed=SEEDS, n=st.integers(4, 7))
def test_permuted_scaled_reduced_and_contracted_multipliers_keep_their_sum(seed, n):
    problem, _, rng = sampled(seed, n)
    root, multipliers = np.sqrt(problem.node_weights), random_multipliers(rng, n)
    N = multipliers.combined(root)[0]
    new_index = rng.permutation(n)
    permuted = multipliers.permuted(new_index)
    new_root = np.empty(n)
    new_root[new_index] = root
    np.testing.assert_allclose(
        permuted.combined(new_root)[0][np.ix_(new_index, new_index)], N, atol=1e-12
    )
    for row in permuted.leaves:
        used = row[row >= 0]
        assert (np.diff(used) > 0).all()
        assert (row[used.size :] == -1).all()
    np.testing.assert_allclose(multipliers.scaled(3.0).combined(root)[0], 3.0 * N, atol=1e-12)
    n_stars = int(rng.integers(0, multipliers.stars.size + 1))
    assert sorted(multipliers.largest(n_stars).stars) == sorted(
        np.sort(multipliers.stars)[::-1][:n_stars]
    )
    # Contracted: on every matrix Z = Q Z' Qᵀ at most the former sum, as inequalities are dropped.
    merged = np.unique(np.append(np.arange(n - 2), rng.integers(0, n - 2, 2)), return_inverse=True)
    new_of = merged[1].reshape(-1)
    weights = np.bincount(new_of, problem.node_weights)
    small = multipliers.contracted(root, np.sqrt(weights), new_of)
    assert (small.stars >= 0).all()
    assert (np.diag(small.pairs) == 0).all()
    M = small.combined(np.sqrt(weights))[0]
    for c in range(1, weights.size + 1):
        for labels in labelings(weights.size, c):
            full = float((N * matrix_of(labels[new_of], problem.node_weights)).sum())
            reduced = float((M * matrix_of(labels, weights)).sum())
            assert -1e-9 <= reduced <= full + 1e-9
    # And equal to it if no entry has become a diagonal one.
    same = multipliers.contracted(root, root, np.arange(n))
    np.testing.assert_allclose(same.combined(root)[0], N, atol=1e-12)


@given(seed=SEEDS, n=st.integers(3, 6))
def test_separation_finds_the_most_violated_stars_and_their_violations(seed, n):
    rng = np.random.default_rng(seed)
    root = np.sqrt(rng.uniform(0.5, 2.0, size=n))
    Z = np.abs(symmetric(rng, n)) * 0.4 + np.eye(n)
    q, tolerance = 200, 1e-3
    violations, leaves = np.zeros((n, q)), np.full((n, q, star_inequalities.LEAVES), -1)
    scratch = np.empty(n, dtype=np.int64), np.empty(n)
    star_inequalities.find_star_inequalities(
        Z, root, 0, n, tolerance, 1e4, violations, leaves, *scratch
    )

    def violated(i, T):
        star = np.zeros((n, n))
        row = np.full((1, star_inequalities.LEAVES), -1)
        row[0, : len(T)] = T
        star_inequalities.add_star_multipliers(star, root, np.array([i]), row, np.ones(1))
        return -float((star * Z).sum())

    for i in range(n):
        others = [t for t in range(n) if t != i]
        small = [T for size in (1, 2) for T in combinations(others, size)]
        worst = max(violated(i, T) for T in small)
        listed = np.flatnonzero(violations[i])
        saw("violated", worst > tolerance)
        assert (worst <= tolerance) or violations[i].max() >= worst - 1e-12
        for p in listed:
            T = [t for t in leaves[i, p] if t >= 0]
            assert sorted(set(T)) == T
            assert i not in T
            assert violations[i, p] > tolerance
            assert violations[i, p] == pytest.approx(violated(i, T), abs=1e-12)
        # Slices of centers do not change the result; a limit on the ratio of weights excludes all.
    again, rows = np.zeros((n, q)), np.full((n, q, star_inequalities.LEAVES), -1)
    for i in range(n):
        star_inequalities.find_star_inequalities(
            Z, root, i, i + 1, tolerance, 1e4, again, rows, *scratch
        )
    np.testing.assert_array_equal(again, violations)
    star_inequalities.find_star_inequalities(Z, root, 0, n, tolerance, 1.0, again, rows, *scratch)
    assert not again.any()


@given(seed=SEEDS, n=st.integers(4, 8))
def test_updating_stars_keeps_positive_multipliers_and_adds_violated_stars(seed, n):
    rng = np.random.default_rng(seed)
    root = np.sqrt(rng.uniform(0.5, 2.0, size=n))
    Z = np.abs(symmetric(rng, n)) * 0.4 + np.eye(n)
    start = no_multipliers(n)
    first, added = start.updated(Z, root, 1e-3, Budget())
    assert added == first.stars.size
    used = rng.random(added)
    used[rng.random(added) < 0.5] = 0.0
    second, more = first._replace(stars=used).updated(Z, root, 1e-3, Budget())
    rows = {(int(i), *map(int, row)) for i, row in zip(second.centers, second.leaves, strict=True)}
    assert len(rows) == second.stars.size
    assert second.stars.size == more + int((used > 0).sum())
    assert sorted(second.stars[second.stars > 0]) == sorted(used[used > 0])
    assert rows >= {
        (int(i), *map(int, r)) for i, r in zip(first.centers, first.leaves, strict=True)
    }
    with pytest.raises(TimeoutError):
        start.updated(Z, root, 1e-3, Budget(0))


# -- bounds from wrong initial values


@settings(max_examples=draws(25))
@given(seed=SEEDS, n=st.integers(4, 6), wide=st.booleans())
def test_a_bound_from_wrong_multipliers_of_a_parent_is_valid(seed, n, wide):
    problem, _, rng = sampled(seed, n, wide)
    c = int(rng.integers(2, n))
    cannot_link = np.array([pair for pair in combinations(range(n), 2) if rng.random() < 0.3])
    cannot_link = cannot_link.reshape(-1, 2)
    parent = SemidefiniteBound(problem, c, cannot_link)
    # Multipliers of entries fixed at 0 may be negative there, but not here.
    wrong = random_multipliers(rng, n, 10.0 ** rng.uniform(-2, 2))
    parent._multipliers = wrong._replace(pairs=wrong.pairs - 2.0 * symmetric(rng, n) ** 2)
    parent._W, parent.bound = symmetric(rng, n), 0.0
    child = SemidefiniteBound(problem, c, parent=parent)
    least = min(problem.value(labels) for labels in labelings(n, c))
    for _ in range(3):
        assert child.bound <= least * (1.0 + 1e-12)
        child._W, child._penalty = symmetric(rng, n), 10.0 ** rng.uniform(-3, 3)
        with np.errstate(over="ignore"):  # of residuals, which do not affect the bound
            has_more = child.improve()
        if not has_more:
            break
    assert child.bound <= least * (1.0 + 1e-12)


@settings(max_examples=draws(25))
@given(seed=SEEDS, n=st.integers(5, 7))
def test_a_bound_from_wrong_vectors_and_multipliers_of_groups_is_valid(seed, n):
    problem, _, rng = sampled(seed, n)
    c = int(rng.integers(2, n - 1))
    scale = float(problem.operator_parts()[0].max())
    group = np.sort(np.append(np.arange(n - 2), rng.integers(0, n - 2, 2)))
    space = GroupedSpace(problem, c, scale, group, rng.standard_normal((n, c)))
    size = space.root.size
    multipliers = random_multipliers(rng, size)
    N, length = multipliers.combined(space.root)
    least = min(problem.value(labels) for labels in labelings(n, c))
    space._block = rng.standard_normal((n, max(c - 1, 2)))
    floor = space.floor(N, length, Budget())
    assert floor.bound * scale <= least * (1.0 + 1e-12)
    # The matrix of the proof is that of the nodes, entry by entry.
    Q = np.zeros((n, size))
    Q[np.arange(n), group] = np.sqrt(problem.node_weights) / space.root[group]
    full = Q @ (N - np.diag(np.diag(N))) @ Q.T + np.diag(np.diag(N)[group])
    exact = true_floor(problem.operator().toarray() / scale - full, space.unit, c)
    assert floor.bound <= exact + 1e-12
    with pytest.raises(TimeoutError):
        space.floor(N, length, Budget(0))


@given(seed=SEEDS, n=st.integers(4, 12))
def test_halved_groups_stay_in_order(seed, n):
    rng = np.random.default_rng(seed)
    weights, F = rng.uniform(0.5, 2.0, size=n), rng.standard_normal((n, 3))
    k = int(rng.integers(1, n))
    group = np.unique(rng.integers(0, k, size=n), return_inverse=True)[1].reshape(-1)
    most = int(rng.integers(0, k + 1))
    new = halved_groups(group, weights, F, most, 0.0)
    x = F / np.sqrt(weights)[:, None]
    spread = np.zeros(group.max() + 1)
    for k in range(spread.size):
        inside = group == k
        mean = np.average(x[inside], axis=0, weights=weights[inside])
        spread[k] = (weights[inside, None] * (x[inside] - mean) ** 2).sum()
    halved = np.array([np.unique(new[group == k]).size for k in range(spread.size)])
    assert new.max() + 1 == halved.sum()
    assert (np.diff(group[np.argsort(new, kind="stable")]) >= 0).all()
    worst = [k for k in np.argsort(-spread)[:most] if spread[k] > 1e-9]
    assert sorted(np.flatnonzero(halved == 2)) == sorted(worst)
    for k in worst:
        first, second = (x[(group == k) & (new == part)] for part in np.unique(new[group == k]))
        assert len(first)
        assert len(second)
    assert np.array_equal(halved_groups(group, weights, F, most, np.inf), group)


# -- decisions


def test_fixed_pairs_agree_with_every_better_partition():
    counts = Counter()
    for seed in range(60):
        n = 4 + seed % 3
        problem, _, rng = sampled(seed, n)
        b, c = problem.node_weights, int(rng.integers(2, n))
        bound = SemidefiniteBound(problem, c)
        for _ in range(3):
            bound.improve()
        values = [(problem.value(labels), labels) for labels in labelings(n, c)]
        ordered = sorted(value for value, _ in values)
        value = ordered[min(len(ordered) - 1, int(rng.integers(0, 4)))]
        blocked = np.triu(rng.random((n, n)) < 0.3, 1)
        blocked |= blocked.T
        possible = (~blocked).astype(float)
        most = np.maximum((possible * b) @ possible, b + b[:, None])
        allowed = [
            (other, labels)
            for other, labels in values
            if other < value and not (blocked & (labels[:, None] == labels)).any()
        ]
        for pairs, better in (
            (proven_cannot_links(bound, value), [pair for pair in values if pair[0] < value]),
            (proven_cannot_links(bound, value, most), allowed),
        ):
            counts["cannot-link"] += len(pairs)
            for _, labels in better:
                assert all(labels[i] != labels[j] for i, j in pairs)
        # Upper bounds on cluster weights never prove fewer pairs.
        known = {tuple(pair) for pair in proven_cannot_links(bound, value).tolist()}
        more = {tuple(pair) for pair in proven_cannot_links(bound, value, most).tolist()}
        assert known <= more
        counts["more"] += len(more - known)
        # The rule, evaluated from the multipliers.
        both = bound.multipliers.pairs + bound.multipliers.pairs.T
        heaviest = b.sum() - np.sort(b)[: c - 1].sum()
        for i, j in combinations(range(n), 2):
            rise = both[i, j] * np.sqrt(b[i] * b[j]) / heaviest
            if abs(bound.proven + rise - value) > 1e-6 * value and both[i, j] > 0:
                assert ((i, j) in known) == (bound.proven + rise > value)
        # Stars with one leaf, for arbitrary multipliers.
        i, j = map(int, rng.permutation(n)[:2])
        leaves = np.array([[j, -1, -1, -1], [*sorted(set(range(n)) - {i})[:2], -1, -1]])
        multipliers = Multipliers(
            np.zeros((n, n)), np.array([i, i]), leaves, rng.uniform(0, 0.5, 2)
        )
        bound._multipliers, bound._floor = multipliers, None
        bound._N, bound._size = multipliers.combined(np.sqrt(b))
        bound._prove(Budget())
        rise = bound.multipliers.stars[0] * b[i] / heaviest
        for fraction, expected in ((0.999, [[i, j]]), (1.001, [])):
            assert proven_must_links(bound, bound.proven + fraction * rise).tolist() == expected
        for value in ordered:
            must_link = proven_must_links(bound, value)
            counts["must-link"] += len(must_link)
            for other, labels in values:
                if other < value:
                    assert all(labels[i] == labels[j] for i, j in must_link)
    assert counts["cannot-link"] > 100
    assert counts["more"] > 5


@given(seed=SEEDS, n=st.integers(3, 6))
def test_children_of_a_subproblem_partition_its_solutions(seed, n):
    rng = np.random.default_rng(seed)
    pairs = np.array([pair for pair in combinations(range(n), 2) if rng.random() < 0.3])
    decisions = Decisions.from_cannot_links(n, pairs.reshape(-1, 2).astype(np.int64))
    open_pairs = np.argwhere(np.triu(~decisions.cannot_link, 1))
    premise(len(open_pairs) > 0)
    pair = open_pairs[[rng.integers(len(open_pairs))]]

    def contains(subproblem, labels):
        if subproblem is None:
            return False
        groups = subproblem.groups
        same = labels[:, None] == labels
        return bool(
            same[groups[:, None] == groups].all()
            and not (same & subproblem.cannot_link[np.ix_(groups, groups)]).any()
        )

    children = decisions.with_must_links(pair), decisions.with_cannot_links(pair)
    for c in range(1, n + 1):
        propagated_children = [None if child is None else child.propagated(c) for child in children]
        for labels in labelings(n, c):
            inside = [contains(child, labels) for child in children]
            assert sum(inside) == contains(decisions, labels)
            assert inside == [contains(child, labels) for child in propagated_children]


@settings(max_examples=draws(40))
@given(seed=SEEDS, n=st.integers(4, 6), wide=st.booleans())
def test_the_enumerated_optimum_is_the_best_feasible_partition(seed, n, wide):
    problem, _, rng = sampled(seed, n, wide)
    c = int(rng.integers(2, n))
    pairs = np.array([pair for pair in combinations(range(n), 2) if rng.random() < 0.3])
    pairs = pairs.reshape(-1, 2).astype(np.int64)
    feasible = [
        problem.value(labels)
        for labels in labelings(n, c)
        if not (labels[pairs[:, 0]] == labels[pairs[:, 1]]).any()
    ]
    optimum = enumerated_optimum(problem, c, pairs)
    assert (optimum is None) == (not feasible)
    if optimum is not None:
        assert optimum.cut_value == pytest.approx(min(feasible), rel=1e-12)
        assert not CannotLinks.of(pairs, n).violated(optimum.labels).size
    start = next(iter(labelings(n, c)))
    incumbent = Incumbent(problem, c, start)
    least = min(problem.value(labels) for labels in labelings(n, c))
    enumeration = Enumeration(incumbent)
    assert not enumeration.improve()
    assert enumeration.bound <= least * (1.0 + 1e-12)
    assert incumbent.value == pytest.approx(least, rel=1e-12)
    assert problem.value(incumbent.labels) == incumbent.value


@settings(max_examples=draws(25))
@given(seed=SEEDS, n=st.integers(4, 6))
def test_branch_and_bound_from_a_trivial_root_reaches_the_optimum(seed, n):
    problem, _, rng = sampled(seed, n)
    c = int(rng.integers(2, n))
    partitions = list(labelings(n, c))
    least = min(problem.value(labels) for labels in partitions)
    incumbent = Incumbent(problem, c, partitions[int(rng.integers(len(partitions)))])
    root = SemidefiniteBound(problem, c)
    root.similarity = symmetric(rng, n)  # the first branching pair is arbitrary
    search, before = BranchAndBound(incumbent, 1e-7, root, 0.0), 0.0
    while search.improve(target=incumbent.value * (1.0 - 1e-7)):
        assert before <= search.bound <= least * (1.0 + 1e-12)
        before = search.bound
    assert least * (1.0 - 2e-7) <= search.bound <= least * (1.0 + 1e-12)
    assert incumbent.value <= least * (1.0 + 1e-6)


# -- dual prices


@settings(max_examples=draws(40))
@given(seed=SEEDS, n=st.integers(4, 7))
def test_a_bound_from_wrong_prices_is_valid(seed, n):
    problem, S, rng = sampled(seed, n)
    c = int(rng.integers(2, n))
    partitions = list(labelings(n, c))
    labels = partitions[int(rng.integers(len(partitions)))]
    bound = DualPriceBound(problem, c, labels)
    bound._prices = rng.normal(0.0, 1.0, size=n) * 10.0 ** rng.uniform(-2, 1)
    columns = bound._search(Budget())
    least = min(problem.value(labels) for labels in partitions)
    assert bound.bound <= least * (1.0 + 1e-12)
    for inside in columns or []:
        indices, signs, extra, rest = bound._row(inside.astype(bool))
        # At prices that are tight for the known clusters, a row is the reduced cost of the set.
        level = float(rng.normal())
        prices = bound._tight(rng.normal(size=n), level)
        violation = float(signs @ prices[indices]) - extra * level - rest
        mask = inside.astype(bool)
        cost = S[np.ix_(mask, ~mask)].sum() / problem.node_weights[mask].sum()
        expected = prices[mask].sum() + level - cost * c / bound._value
        assert violation == pytest.approx(expected, abs=1e-9 * (1 + abs(violation)))


def test_updated_prices_satisfy_their_rows_and_are_the_nearest():
    assert sum(prices_converge(seed, 1 + seed % 4) for seed in range(60)) >= 40


def prices_converge(seed: int, slices: int) -> bool:
    """Return whether the prices converged, and check the optimality conditions if so."""
    rng = np.random.default_rng(seed)
    n = 6
    labels = np.array([0, 0, 0, 1, 1, 1])
    scale, costs = rng.uniform(0.5, 2.0, n), rng.normal(size=2)
    signs = rng.integers(-1, 2, size=(3, n)).astype(float)
    extra, rest = rng.integers(-1, 2, size=3).astype(float), rng.normal(size=3)
    softness = 0.01

    def updated(kernel, n_calls):
        indices = [np.flatnonzero(row) for row in signs]
        rows = (
            np.append(0, np.cumsum([i.size for i in indices])),
            np.concatenate(indices),
            np.concatenate([row[i] for row, i in zip(signs, indices, strict=True)]),
            extra,
            rest,
        )
        clusters = np.array([0, 3, 6]), np.arange(n)
        prices, level, multipliers = start.copy(), np.array([0.3, 0.0]), np.zeros(3)
        for _ in range(n_calls):
            limits = np.array([20_000 // n_calls, 1e-11])
            worst = kernel(
                rows, clusters, costs, scale, softness, prices, level, multipliers, limits
            )
        return prices, level, multipliers, worst

    start = rng.normal(size=n)
    prices, level, multipliers, worst = updated(update_prices, 1)
    again = updated(update_prices, slices)
    np.testing.assert_allclose(again[0], prices, atol=1e-8)
    np.testing.assert_allclose(updated(update_prices.py_func, 1)[0], prices, atol=1e-8)
    if worst >= 1e-11:
        return False
    np.testing.assert_allclose(np.bincount(labels, prices) + level[0], costs, atol=1e-8)
    slack = signs @ prices - extra * level[0] - rest - level[1]
    assert slack.max() <= 1e-8
    assert (multipliers >= 0).all()
    assert abs(multipliers @ slack) <= 1e-6 * (1 + multipliers.sum())
    # Nearest: the change of prices is a combination of the rows and of the clusters.
    residual = (start - prices) / scale - signs.T @ multipliers
    first, second = residual[:3], residual[3:]
    np.testing.assert_allclose(first, first[0], atol=1e-7)
    np.testing.assert_allclose(second, second[0], atol=1e-7)
    assert level[1] == pytest.approx(softness * multipliers.sum(), abs=1e-8)
    shift = extra @ multipliers - first[0] - second[0]
    assert level[0] - 0.3 == pytest.approx(shift, abs=1e-7)
    return True

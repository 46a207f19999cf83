"""Learned graphs: rows on the simplex, an objective that never rises, exactly c components."""

from __future__ import annotations

import copy
import inspect
import pickle
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from benchmarks import _published_can
from conftest import draws, graphs, load_dataset
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.sparse.csgraph import connected_components
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs, make_circles, make_moons
from sklearn.exceptions import ConvergenceWarning

import leastcut
from leastcut import SpectralClustering
from leastcut.affinity.learned import alternation
from leastcut.affinity.learned.alternation import SOLVERS, Penalty, learn
from leastcut.affinity.learned.graphs import CANDIDATES, NORMS, _rows_of_graph, _rows_of_neighbors
from leastcut.affinity.learned.rows import REWEIGHTINGS, ROUNDING, SMOOTHING
from leastcut.affinity.neighbors.index import find_neighborhoods
from leastcut.affinity.neighbors.searching import SearchOptions
from leastcut.kernels.simplex import pair_distances, project_rows

DIGITS, DIGIT = load_digits(return_X_y=True)
IRIS = load_iris().data
WINE = load_wine().data
EXACT = Fraction(1, 10**9)
"""Part of an objective by which rounding of weights may be above the best there are."""

TWO_TRIANGLES = np.zeros((6, 6))
TWO_TRIANGLES[:3, :3] = TWO_TRIANGLES[3:, 3:] = 2.0
TWO_TRIANGLES[2, 3] = TWO_TRIANGLES[3, 2] = 1.0
np.fill_diagonal(TWO_TRIANGLES, 0.0)


def projected(point, spread, kernel=project_rows):
    """The projection of one row."""
    weights = np.full(len(point), np.nan)
    kernel(0, 1, np.array([0, len(point)]), point, spread, 0.0, weights)
    return weights


def by_every_support(point, spread):
    """The projection by going through all sets of entries that may be positive."""
    best, least = None, np.inf
    for size in range(1, len(point) + 1):
        for support in map(list, combinations(range(len(point)), size)):
            weights = np.zeros(len(point))
            threshold = (point[support].sum() - 1.0) / spread[support].sum()
            weights[support] = point[support] - threshold * spread[support]
            cost = np.sum((weights - point) ** 2 / spread)
            if weights.min() >= 0.0 and cost < least:
                best, least = weights, cost
    return best


@st.composite
def rows(draw, most: int = 6):
    """A row to project, near the simplex or far from it, and its spreads."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = draw(st.integers(1, most))
    point = rng.normal(size=size) * draw(st.sampled_from([0.1, 1.0, 100.0]))
    if draw(st.booleans()):
        point = np.round(point, 1)  # ties
    spread = rng.uniform(0.1, 2.0, size) if draw(st.booleans()) else np.ones(size)
    return point + draw(st.sampled_from([0.0, -1e3, 1e3])) * spread, spread


# -- the projection


@given(rows())
def test_the_projection_is_the_best_of_all_supports(row):
    np.testing.assert_allclose(projected(*row), by_every_support(*row), atol=1e-9)


@given(rows(most=30))
def test_a_projection_is_on_the_simplex_and_meets_the_conditions_of_optimality(row):
    point, spread = row
    weights = projected(point, spread)
    assert weights.min() >= 0.0
    assert weights.sum() == pytest.approx(1.0, abs=1e-10)
    # The multiplier (s_j − a_j) / r_j is one number where s_j > 0, and nowhere below it.
    multiplier = (weights - point) / spread
    inside = weights > 0
    assert np.ptp(multiplier[inside]) <= 1e-8
    assert multiplier.min() >= multiplier[inside].max() - 1e-8


@given(rows(most=12))
def test_the_compiled_projection_is_the_one_in_python(row):
    np.testing.assert_array_equal(projected(*row), projected(*row, kernel=project_rows.py_func))


def test_the_projection_agrees_with_a_general_solver():
    rng = np.random.default_rng(0)
    point, spread = rng.normal(size=8), rng.uniform(0.2, 2.0, 8)
    found = minimize(
        lambda s: np.sum((s - point) ** 2 / spread),
        np.full(8, 1 / 8),
        jac=lambda s: 2 * (s - point) / spread,
        bounds=[(0, None)] * 8,
        constraints={"type": "eq", "fun": lambda s: s.sum() - 1, "jac": lambda s: np.ones(8)},
        options={"ftol": 1e-14},
    )
    np.testing.assert_allclose(projected(point, spread), found.x, atol=1e-6)


def test_the_projection_agrees_with_the_one_by_sorting():
    rng = np.random.default_rng(0)
    for size in range(1, 40):
        point = rng.normal(size=size)
        expected = _published_can._on_simplex(point)
        np.testing.assert_allclose(projected(point, np.ones(size)), expected, atol=1e-12)


def test_a_row_of_any_size_is_projected_and_an_empty_one_stays_empty():
    indptr = np.array([0, 0, 1, 4])
    weights = np.empty(4)
    project_rows(0, 3, indptr, np.array([-7.0, 1e8, 1e8 - 0.5, -1e8]), np.ones(4), 0.0, weights)
    np.testing.assert_allclose(weights, [1.0, 0.75, 0.25, 0.0], atol=1e-7)
    project_rows(0, 1, indptr, weights, np.ones(4), 0.0, weights)  # which has nothing to do
    assert weights[0] == 1.0


def test_distances_of_pairs_are_those_of_their_vectors():
    rng = np.random.default_rng(0)
    vectors, indptr = rng.normal(size=(6, 3)), np.array([0, 2, 2, 5, 6, 6, 7])
    indices = np.array([1, 5, 0, 1, 4, 2, 0], dtype=np.int32)
    source = np.repeat(np.arange(6), np.diff(indptr))
    expected = np.sum((vectors[source] - vectors[indices]) ** 2, axis=1)
    for kernel in (pair_distances, pair_distances.py_func):
        squared = np.empty(7)
        kernel(0, 6, indptr, indices, vectors, squared)
        np.testing.assert_allclose(squared, expected)


# -- the objective, and the components


def objective(found_rows, weights, vectors, penalty, norm):
    """The objective, entry by entry, with its penalty as the trace of a Laplacian."""
    off = weights - found_rows.targets
    if norm == "l1":
        cost = np.sum(np.sqrt(off**2 + SMOOTHING**2) - SMOOTHING)
    else:
        cost = np.sum(off**2 / (2 * found_rows.spreads))
    n = found_rows.n_nodes
    S = sp.csr_array((weights, found_rows.indices, found_rows.indptr), shape=(n, n)).toarray()
    S = (S + S.T) / 2
    laplacian = np.diag(S.sum(axis=1)) - S
    return cost + 2 * penalty * np.trace(vectors.T @ laplacian @ vectors)


def never_rises(history, slack=1e-9):
    """Whether no half of a turn raises the objective, nor the next turn at the same λ."""
    steps = [history["before"], history["after_weights"], history["after_vectors"]]
    for old, new in pairwise(steps):
        if not np.all(new <= old * (1 + slack) + slack):
            return False
    same = history["penalty"][1:] == history["penalty"][:-1]
    before, after = history["before"][1:][same], history["after_vectors"][:-1][same]
    return bool(np.all(before <= after * (1 + slack) + slack))


def check(found, n_clusters):
    """What every learned graph is."""
    matrix = found.graph
    n = matrix.shape[0]
    assert isinstance(matrix, sp.csr_array)
    assert abs(matrix - matrix.T).max() == 0.0
    assert matrix.nnz == 0 or matrix.data.min() > 0.0
    assert matrix.diagonal().sum() == 0.0
    count, component = connected_components(matrix, directed=False)
    assert found.n_components == count
    assert found.converged == (count == n_clusters)
    assert sorted(set(found.labels)) == list(range(n_clusters))
    if found.converged:
        pairs = {tuple(pair) for pair in zip(component, found.labels, strict=True)}
        assert len(pairs) == n_clusters
        assert leastcut.cut_value(matrix, found.labels, "ratio") == 0.0
    assert found.labels.shape == (n,)
    assert found.n_iter == found.history.n_rows
    assert never_rises(found.history)


@given(graphs(connected=True), st.integers(0, 2**32 - 1), st.sampled_from(NORMS))
def test_weights_of_given_vectors_never_raise_the_objective(S, seed, norm):
    own = _rows_of_graph(leastcut.graph.as_graph(S), norm, 1)
    rng = np.random.default_rng(seed)
    c, penalty = int(rng.integers(1, 4)), float(10 ** rng.uniform(-2, 2))
    vectors = np.linalg.qr(rng.normal(size=(S.shape[0], min(c, S.shape[0]))))[0]
    distances, weights = own.distances(vectors), own.targets
    value = objective(own, weights, vectors, penalty, norm)
    for _ in range(3):
        weights = own.weights(penalty, distances, weights)
        now = objective(own, weights, vectors, penalty, norm)
        assert now <= value * (1 + 1e-9) + 1e-9
        assert own.objective(weights, penalty, distances) == pytest.approx(now)
        value = now
    sums = np.add.reduceat(weights, own.indptr[:-1][np.diff(own.indptr) > 0])
    np.testing.assert_allclose(sums, 1.0, atol=1e-9)


@given(graphs(connected=True), st.integers(0, 2**32 - 1))
def test_weights_under_squares_are_the_best_there_are(S, seed):
    own = _rows_of_graph(leastcut.graph.as_graph(S), "l2", 1)
    rng = np.random.default_rng(seed)
    vectors = np.linalg.qr(rng.normal(size=(S.shape[0], 2)))[0]
    weights = own.weights(1.0, own.distances(vectors), own.targets)
    value = objective(own, weights, vectors, 1.0, "l2")
    for _ in range(5):
        other = rng.random(weights.size)
        sums = np.add.reduceat(other, own.indptr[:-1])
        other /= np.repeat(sums, np.diff(own.indptr))
        for share in (1.0, 0.1, 1e-3):
            mixed = (1 - share) * weights + share * other
            assert objective(own, mixed, vectors, 1.0, "l2") >= value - 1e-9


def absolute_optimum(targets, costs):
    """The least of Σ |s_j − a_j| + costs_j s_j on the simplex, where Σ a_j = 1: a linear program.

    Weight is laid where a further bit of it costs least: up to a_j it saves 1, beyond it adds 1.
    """
    slopes = np.concatenate([costs - 1.0, costs + 1.0])
    room = np.concatenate([targets, np.full(targets.size, np.inf)])
    left, total = 1.0, targets.sum()
    for p in np.argsort(slopes, kind="stable"):
        laid = min(left, room[p])
        total += laid * slopes[p]
        left -= laid
    return total


@given(st.integers(0, 2**32 - 1), st.integers(2, 8))
def test_absolute_differences_come_down_to_the_linear_program(seed, size):
    rng = np.random.default_rng(seed)
    S = np.zeros((size + 1, size + 1))
    S[0, 1:] = S[1:, 0] = rng.random(size) + 0.1
    own = _rows_of_graph(leastcut.graph.as_graph(S), "l1", 1)
    distances = rng.random(own.targets.size) * rng.choice([0.5, 5.0])
    weights = own.targets
    for _ in range(30):
        weights = own.weights(1.0, distances, weights)
    # The first row alone: the others have one entry, whose weight is 1.
    row = slice(0, size)
    value = np.sum(np.abs(weights - own.targets)[row] + (distances * weights)[row])
    best = absolute_optimum(own.targets[row], distances[row])
    # Where two slopes are nearly equal the last bit of it takes long.
    assert best - 1e-9 <= value <= best + 0.02


@settings(max_examples=draws(20))
@given(
    graphs(min_nodes=4, connected=True),
    st.integers(1, 4),
    st.sampled_from(NORMS),
    st.sampled_from(list(SOLVERS)),
)
def test_the_graph_nearest_to_any_graph(S, n_clusters, norm, solver):
    before = S.copy()
    found = leastcut.constrained_rank_graph(S, n_clusters, norm, solver=solver, random_state=0)
    np.testing.assert_array_equal(S, before)
    check(found, n_clusters)
    # Only edges that were there.
    assert not np.any(found.graph.toarray()[S == 0])


@settings(max_examples=draws(20))
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.sampled_from(list(SOLVERS)))
def test_the_graph_learned_of_any_samples(seed, n_clusters, solver):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(int(rng.integers(6, 40)), 2))
    if rng.random() < 0.3:
        X = np.round(X)  # many of them equal
    before = X.copy()
    k = int(rng.integers(1, len(X) - 1))
    found = leastcut.learned_graph(X, n_clusters, k, solver=solver, random_state=0)
    np.testing.assert_array_equal(X, before)
    check(found, n_clusters)


def exact_objective(own, weights, penalty, distances):
    """The objective under squares, in rational numbers."""
    total = Fraction(0)
    entries = zip(weights, own.targets, own.costs, own.spreads, distances, strict=True)
    for entry in entries:
        s, a, e, q, d = (Fraction(float(number)) for number in entry)
        total += (s - a) ** 2 / (2 * q) + (e + Fraction(penalty) * d) * s
    return total


@st.composite
def wide_samples(draw):
    """Samples whose rows, columns or single entries are scaled by 1e-8 to 1e8."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(6, 24)), draw(st.integers(1, 3))
    shape = draw(st.sampled_from([(n, 1), (1, d), (n, d)]))
    return rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-8, 8, size=shape)


@settings(max_examples=draws(25))
@given(wide_samples(), st.integers(2, 4), st.integers(1, 8), st.sampled_from(list(SOLVERS)))
def test_the_objective_never_rises_over_sixteen_decades(X, n_clusters, k, solver):
    k = min(k, len(X) - 2)
    found = leastcut.learned_graph(X, n_clusters, k, solver=solver, random_state=0)
    check(found, n_clusters)
    # Not by rounding either.
    assert never_rises(found.history, slack=0.0)
    assert found.graph.sum() == pytest.approx(len(X), rel=1e-12)


@given(wide_samples(), st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_weights_over_sixteen_decades_are_the_best_in_rational_numbers(X, k, seed):
    own = rows_of_samples(X, min(k, len(X) - 2))
    rng = np.random.default_rng(seed)
    # The targets are the optimum without a penalty, of value 0, and rows of the simplex.
    nothing = np.zeros(own.targets.size)
    assert own.objective(own.targets, 0.0, nothing) == 0.0
    assert own.targets.min() >= 0.0
    assert own.costs.min() >= 0.0
    assert not np.any(own.costs[own.targets > 0])
    distances = own.distances(np.linalg.qr(rng.normal(size=(len(X), 2)))[0])
    penalty = float(own.scale(own.targets) * 10 ** rng.uniform(-6, 6))
    before = own.targets
    for _ in range(2):
        weights = own.weights(penalty, distances, before)
        value = exact_objective(own, weights, penalty, distances)
        assert float(value) == pytest.approx(own.objective(weights, penalty, distances), rel=1e-12)
        assert value <= exact_objective(own, before, penalty, distances) * (1 + EXACT)
        other = rng.random(weights.size)
        other /= np.repeat(np.add.reduceat(other, own.indptr[:-1]), np.diff(own.indptr))
        for share in (1.0, 0.1, 1e-3):
            mixed = (1 - share) * weights + share * other
            assert value <= exact_objective(own, mixed, penalty, distances) * (1 + EXACT)
        sums = np.add.reduceat(weights, own.indptr[:-1])
        np.testing.assert_allclose(sums, 1.0, rtol=0, atol=1e-14)
        before = weights


def rows_of_samples(X, k):
    """The rows that ``learned_graph`` learns."""
    options = SearchOptions("exact", "cpu", n_jobs=1)
    return _rows_of_neighbors(find_neighborhoods(X, min(CANDIDATES * k, len(X) - 1), options), k)


def test_rows_of_equal_distances_begin_at_their_optimum():
    # The first five samples are duplicates, whose nearest are all at distance 0: no γ of their own.
    X = np.array([[0.0]] * 5 + [[1.0], [1.5], [3.0], [7.0]])
    own = rows_of_samples(X, 2)
    length = own.indptr[1]
    squared = (X[own.indices] - X[np.repeat(np.arange(9), length)])[:, 0] ** 2
    for row in range(5):
        part = slice(row * length, (row + 1) * length)
        stiffness = 1.0 / own.spreads[part]
        expected = by_every_support(-squared[part] / stiffness, np.ones(length))
        np.testing.assert_allclose(own.targets[part], expected, atol=1e-12)
        # Entry by entry, costs are the derivative at the optimum less that of the weights in use.
        derivative = squared[part] + stiffness * own.targets[part]
        np.testing.assert_allclose(own.costs[part], derivative - derivative.min(), atol=1e-12)


@given(rows(most=12), st.floats(1e-6, 0.2))
def test_weights_up_to_the_least_are_none_and_the_others_add_up_to_one(row, least):
    point, spread = row
    found = {}
    for kernel in (project_rows, project_rows.py_func):
        weights = np.full(len(point), np.nan)
        kernel(0, 1, np.array([0, len(point)]), point, spread, least / len(point), weights)
        found[kernel] = weights
    weights = found[project_rows]
    np.testing.assert_array_equal(weights, found[project_rows.py_func])
    inside = weights > 0
    assert weights.sum() == pytest.approx(1.0, abs=1e-10)
    # It is the projection of the entries that are left.
    np.testing.assert_allclose(weights[inside], projected(point[inside], spread[inside]), atol=1e-9)
    # None that the plain projection gives more to is left out.
    assert not np.any((projected(point, spread) > least) & ~inside)


REAL = {
    "iris": (IRIS, 3),
    "wine": (WINE, 3),
    "digits": (DIGITS[:300], 10),
    "moons": (make_moons(200, noise=0.08, random_state=0)[0], 2),
    "circles": (make_circles(300, factor=0.4, noise=0.05, random_state=0)[0], 2),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", REAL)
def test_real_data_comes_to_exactly_as_many_components(name, solver):
    X, n_clusters = REAL[name]
    found = leastcut.learned_graph(X, n_clusters, solver=solver)
    check(found, n_clusters)
    assert found.converged
    S = leastcut.adaptive_neighbors_graph(X, include_self=False)
    for norm in NORMS:
        near = leastcut.constrained_rank_graph(S, n_clusters, norm, solver=solver)
        check(near, n_clusters)
        assert near.converged


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["jaffe", "yale", "umist", "coil20"])
def test_the_papers_data_comes_to_exactly_as_many_components(name):
    X, y = load_dataset(name)
    n_clusters = int(y.max()) + 1
    for solver in SOLVERS:
        found = leastcut.learned_graph(X, n_clusters, solver=solver)
        check(found, n_clusters)
        assert found.converged


@pytest.mark.parametrize("solver", SOLVERS)
def test_clusters_that_nothing_can_miss_are_found(blobs, solver):
    X, y = blobs
    found = leastcut.learned_graph(X, 3, n_neighbors=20, solver=solver)
    assert leastcut.clustering_accuracy(y, found.labels) == 1.0
    S = leastcut.nearest_neighbors_graph(X, 33)
    assert connected_components(S)[0] == 1
    for norm in NORMS:
        near = leastcut.constrained_rank_graph(S, 3, norm, solver=solver)
        assert near.converged
        assert leastcut.clustering_accuracy(y, near.labels) == 1.0


def test_without_a_penalty_it_is_the_graph_of_adaptive_neighbors():
    # With as many components as it should have from the start, no turn is taken.
    for X, k in ((IRIS, 10), (DIGITS[:300], 7)):
        S = leastcut.adaptive_neighbors_graph(X, k, include_self=False)
        count = connected_components(S)[0]
        found = leastcut.learned_graph(X, count, k)
        assert (found.n_iter, found.converged) == (0, True)
        np.testing.assert_allclose(found.graph.toarray(), S.toarray(), atol=1e-12)


def test_only_candidates_get_weights():
    k = 5
    found = leastcut.learned_graph(DIGITS[:300], 10, k)
    allowed = leastcut.nearest_neighbors_graph(DIGITS[:300], CANDIDATES * k, include_self=False)
    assert (found.graph - found.graph.multiply(allowed > 0)).nnz == 0
    degrees = np.asarray(found.graph.sum(axis=1)).reshape(-1)
    assert degrees.sum() == pytest.approx(300)  # all rows of S add up to 1


def test_a_graph_in_more_pieces_than_clusters_is_cut_and_says_so():
    X, _ = make_blobs(120, centers=[[0, 0], [50, 0], [0, 50], [50, 50]], random_state=0)
    found = leastcut.learned_graph(X, 2)
    check(found, 2)
    assert (found.converged, found.n_components, found.n_iter) == (False, 4, 0)
    near = leastcut.constrained_rank_graph(found.graph, 3)
    assert (near.converged, near.n_components, np.unique(near.labels).size) == (False, 4, 3)


def test_too_few_turns_leave_a_cut_of_the_last_graph():
    found = leastcut.learned_graph(DIGITS[:500], 10, max_iter=2)
    check(found, 10)
    assert (found.converged, found.n_iter) == (False, 2)
    best = leastcut.partition(found.graph, 10, "ratio", random_state=0)
    assert leastcut.cut_value(found.graph, found.labels, "ratio") <= 1.1 * best.cut_value


def test_nodes_without_edges_are_components():
    S = np.zeros((8, 8))
    S[:6, :6] = TWO_TRIANGLES
    found = leastcut.constrained_rank_graph(S, 4)
    check(found, 4)
    assert found.labels.tolist() == [0, 0, 0, 1, 1, 1, 2, 3]
    empty = leastcut.constrained_rank_graph(np.zeros((3, 3)), 2)
    assert (empty.converged, empty.n_components) == (False, 3)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_scaled_graphs_and_samples_give_the_same(norm, solver):
    S = leastcut.nearest_neighbors_graph(IRIS, 8)
    found = leastcut.constrained_rank_graph(S, 3, norm, solver=solver)
    for factor in (2.0**-900, 2.0**900):
        again = leastcut.constrained_rank_graph(S * factor, 3, norm, solver=solver)
        np.testing.assert_array_equal(again.graph.toarray(), found.graph.toarray())
    found = leastcut.learned_graph(IRIS, 3, solver=solver)
    again = leastcut.learned_graph(IRIS * 2.0**300, 3, solver=solver)
    np.testing.assert_array_equal(again.labels, found.labels)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_seed_fixes_the_graph_on_any_number_of_threads(solver, monkeypatch):
    # Small blocks, so that there is something to share.
    monkeypatch.setattr("leastcut.affinity.learned.rows.ROWS", 64)
    S = leastcut.adaptive_neighbors_graph(DIGITS[:250], include_self=False)
    one, three, other = (
        (
            leastcut.learned_graph(DIGITS[:250], 10, solver=solver, random_state=seed, n_jobs=jobs),
            leastcut.constrained_rank_graph(
                S, 10, "l1", solver=solver, random_state=seed, n_jobs=jobs
            ),
        )
        for seed, jobs in ((0, 1), (0, 3), (1, 1))
    )
    for ours, theirs in zip(one, three, strict=True):
        np.testing.assert_array_equal(ours.graph.toarray(), theirs.graph.toarray())
        np.testing.assert_array_equal(ours.labels, theirs.labels)
        assert ours.n_iter == theirs.n_iter
    assert all(found.converged for found in other)


def test_nothing_of_n_by_n_is_made(monkeypatch):
    n = 8_000
    X, _ = make_blobs(n, n_features=4, centers=3, cluster_std=2.0, random_state=0)
    largest = 0
    empty = np.empty

    def watched(shape, *args, **kwargs):
        nonlocal largest
        largest = max(largest, int(np.prod(shape)))
        return empty(shape, *args, **kwargs)

    monkeypatch.setattr(np, "empty", watched)
    found = leastcut.learned_graph(X, 3)
    assert found.converged
    assert found.graph.nnz <= 2 * CANDIDATES * 10 * n
    assert largest < n * n / 10


def test_sparse_samples_and_metrics():
    dense = leastcut.learned_graph(DIGITS[:300], 10)
    sparse = leastcut.learned_graph(sp.csr_array(DIGITS[:300]), 10)
    np.testing.assert_allclose(dense.graph.toarray(), sparse.graph.toarray(), atol=1e-9)
    told = []
    found = leastcut.learned_graph(DIGITS[:300], 10, metric="cosine", callback=told.append)
    check(found, 10)
    assert told[0].recall == 1.0


def test_names_of_nodes_come_back():
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph()
    graph.add_weighted_edges_from([("a", "b", 2.0), ("b", "c", 1.0), ("c", "d", 2.0)])
    found = leastcut.constrained_rank_graph(graph, 2)
    assert found.by_node() == {"a": 0, "b": 0, "c": 1, "d": 1}
    with pytest.raises(ValueError, match="no names of nodes"):
        leastcut.learned_graph(IRIS, 3).by_node()


def test_a_learned_graph_shows_itself_and_is_pickled():
    found = leastcut.constrained_rank_graph(TWO_TRIANGLES, 2)
    assert repr(found).startswith("LearnedGraph(n_nodes=6, n_components=2, n_iter=")
    for again in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        np.testing.assert_array_equal(again.graph.toarray(), found.graph.toarray())
        assert list(again.history) == list(found.history)


def test_directed_graphs_are_refused_unless_symmetrized():
    directed = np.triu(TWO_TRIANGLES)
    with pytest.raises(ValueError, match="symmetrize='mean'"):
        leastcut.constrained_rank_graph(directed, 2)
    found = leastcut.constrained_rank_graph(directed, 2, symmetrize="max")
    expected = leastcut.constrained_rank_graph(TWO_TRIANGLES, 2)
    np.testing.assert_array_equal(found.graph.toarray(), expected.graph.toarray())


def test_counts_that_do_not_fit_are_refused_before_any_work():
    with pytest.raises(ValueError, match="n_neighbors=10 needs at least 12 samples"):
        leastcut.learned_graph(IRIS[:11], 2)
    for function, data in (
        (leastcut.learned_graph, IRIS),
        (leastcut.constrained_rank_graph, TWO_TRIANGLES),
    ):
        with pytest.raises(ValueError, match=f"n_clusters={len(data) + 1}"):
            function(data, len(data) + 1)


def test_the_algorithm_in_full_matrices_finds_the_same_clusters_where_they_are_clear(blobs):
    X, y = blobs
    slow = _published_can.published_can(X, 3, n_neighbors=20)
    found = leastcut.learned_graph(X, 3, n_neighbors=20, solver="spectral")
    assert slow.n_components == 3
    assert leastcut.clustering_accuracy(slow.labels, found.labels) == 1.0
    assert leastcut.clustering_accuracy(y, slow.labels) == 1.0


# -- λ


@given(st.floats(0.01, 100.0), st.lists(st.booleans(), max_size=40))
def test_the_penalty_goes_up_and_down_and_stays_between_what_is_known(first, answers):
    penalty = Penalty(first)
    for too_few in answers:
        before = penalty.value
        (penalty.more if too_few else penalty.less)()
        assert (penalty.value > before) == too_few
        assert 0.4 < penalty.value / before < 2.1


def test_the_penalty_closes_in_on_a_threshold():
    penalty = Penalty(1e-3)
    for _ in range(40):
        if abs(penalty.value - 7.3) < 0.1:
            return
        (penalty.more if penalty.value < 7.3 else penalty.less)()
    pytest.fail(f"λ={penalty.value}")


def test_vectors_that_are_no_better_are_not_taken(monkeypatch):
    """Whatever a solver returns, the objective does not rise: here vectors without any meaning."""
    rng = np.random.default_rng(0)

    def meaningless(problem, n_clusters, labels, seed, n_jobs):
        vectors = np.linalg.qr(rng.normal(size=(problem.n_nodes, n_clusters)))[0]
        return alternation.SOLVERS["spectral"](problem, n_clusters, labels, seed, n_jobs)._replace(
            vectors=vectors
        )

    own = _rows_of_graph(
        leastcut.graph.as_graph(leastcut.nearest_neighbors_graph(IRIS, 8)), "l2", 1
    )
    monkeypatch.setitem(SOLVERS, "meaningless", meaningless)
    found = learn(own, 3, solver="meaningless", max_iter=12, seed=0, n_jobs=1)
    assert found.n_iter > 0
    assert never_rises(found.history)


# -- the estimator


def test_the_estimator_learns_the_same_graph(blobs):
    X, _ = blobs
    model = SpectralClustering(3, affinity="learned", n_neighbors=20, random_state=0).fit(X)
    found = leastcut.learned_graph(X, 3, 20, random_state=0)
    np.testing.assert_array_equal(model.affinity_matrix_.toarray(), found.graph.toarray())
    np.testing.assert_array_equal(model.labels_, found.labels)
    assert model.cut_value_ == 0.0
    assert model.neighbors_recall_ == 1.0
    new = X + 0.01
    np.testing.assert_array_equal(model.predict(new), model.labels_)
    assert pickle.loads(pickle.dumps(model)).predict(new).tolist() == model.labels_.tolist()
    assert model.transform(X[:4]).shape == (4, 3)
    assert model.score(X) == 0.0


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_solver_of_the_estimator_is_that_of_the_graph(solver):
    model = SpectralClustering(3, affinity="learned", solver=solver, random_state=0).fit(IRIS)
    expected = leastcut.learned_graph(IRIS, 3, solver=solver, random_state=0)
    np.testing.assert_array_equal(model.affinity_matrix_.toarray(), expected.graph.toarray())


def test_the_estimator_needs_a_number_of_clusters():
    with pytest.raises(ValueError, match=r"n_clusters='auto' leaves open.*Pass a number"):
        SpectralClustering("auto", affinity="learned").fit(IRIS)
    with pytest.raises(ValueError, match="affinity='learned' makes another graph for every number"):
        leastcut.cut_path(IRIS, [2, 3], affinity="learned")


def test_views_and_balance_of_the_estimator():
    views = {"views": [[0, 1], [2, 3]]}
    for affinity in ("learned", ["learned", "adaptive_neighbors"]):
        with pytest.raises(ValueError, match="affinity='learned' makes a graph in as many compon"):
            leastcut.MultiViewSpectralClustering(3, affinity=affinity, **views).fit(IRIS)
    options = {"cut": "ratio", "balance": 0.05, "random_state": 0}
    model = SpectralClustering(3, affinity="learned", **options).fit(IRIS)
    assert np.bincount(model.labels_).max() <= 1.05 * 50


def test_the_estimator_warns_where_components_are_not_as_many_as_clusters():
    X, _ = make_blobs(120, centers=[[0, 0], [50, 0], [0, 50], [50, 50]], random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"4 components.*Pass more n_neighbors"):
        model = SpectralClustering(2, affinity="learned", random_state=0).fit(X)
    assert model.n_clusters_ == 2
    few = {"kernel_params": {"max_iter": 1}, "random_state": 0}
    with pytest.warns(ConvergenceWarning, match="'max_iter': 2"):
        SpectralClustering(3, affinity="learned", **few).fit(IRIS)
    # A sample has a neighbour, so that three samples are not two components.
    with pytest.warns(ConvergenceWarning, match="1 component after.*Pass fewer n_clusters"):
        SpectralClustering(2, affinity="learned", random_state=0).fit([[0.0], [1.0], [3.0]])


def test_the_estimator_refuses_what_learned_graphs_do_not_have():
    with pytest.raises(ValueError, match="kernel_params holds 'offset'"):
        SpectralClustering(3, affinity="learned", kernel_params={"offset": 1.0}).fit(IRIS)
    with pytest.warns(UserWarning, match="gamma=2.0 has no effect"):
        SpectralClustering(3, affinity="learned", gamma=2.0, random_state=0).fit(IRIS)
    with pytest.warns(UserWarning, match="n_neighbors=4 has no effect.*'learned'"):
        SpectralClustering(3, affinity="rbf", n_neighbors=4, random_state=0).fit(IRIS)


@pytest.mark.filterwarnings("ignore:The learned graph has")
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_few_samples_are_fitted_too(n):
    X = np.arange(n, dtype=float)[:, None] ** 2
    for n_clusters in range(1, n + 1):
        model = SpectralClustering(n_clusters, affinity="learned", random_state=0).fit(X)
        assert np.unique(model.labels_).size == n_clusters
        assert model.predict(X[:1]).shape == (1,)


def test_both_functions_name_their_options_alike():
    samples = inspect.signature(leastcut.learned_graph).parameters
    graph = inspect.signature(leastcut.constrained_rank_graph).parameters
    for name in ("n_clusters", "solver", "max_iter", "random_state", "n_jobs"):
        assert samples[name].default == graph[name].default
    assert REWEIGHTINGS >= 1
    assert ROUNDING < SMOOTHING

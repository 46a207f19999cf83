"""Learned graphs: weights on the simplex, monotone objective, exactly c components."""

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
from leastcut.affinity.neighbors.common import SearchOptions
from leastcut.affinity.neighbors.index import find_neighborhoods
from leastcut.kernels.simplex import pair_distances, project_rows

DIGITS, DIGIT = load_digits(return_X_y=True)
IRIS = load_iris().data
WINE = load_wine().data
EXACT = Fraction(1, 10**9)
"""Relative tolerance of an objective for the rounding of weights."""

TWO_TRIANGLES = np.zeros((6, 6))
TWO_TRIANGLES[:3, :3] = TWO_TRIANGLES[3:, 3:] = 2.0
TWO_TRIANGLES[2, 3] = TWO_TRIANGLES[3, 2] = 1.0
np.fill_diagonal(TWO_TRIANGLES, 0.0)


def projected(point, spread, kernel=project_rows):
    """Return the projection of one row."""
    weights = np.full(len(point), np.nan)
    kernel(0, 1, np.array([0, len(point)]), point, spread, 0.0, weights)
    return weights


def by_every_support(point, spread):
    """Return the projection by enumerating all supports."""
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
    """Draw a row to project, near the simplex or far from it, and its spreads."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = draw(st.integers(1, most))
    point = rng.normal(size=size) * draw(st.sampled_from([0.1, 1.0, 100.0]))
    if draw(st.booleans()):
        point = np.round(point, 1)  # ties
    spread = rng.uniform(0.1, 2.0, size) if draw(st.booleans()) else np.ones(size)
    return point + draw(st.sampled_from([0.0, -1e3, 1e3])) * spread, spread


# -- the projection


@given(rows())
def test_projection_is_the_best_over_all_supports(row):
    np.testing.assert_allclose(projected(*row), by_every_support(*row), atol=1e-9)


@given(rows(most=30))
def test_projection_is_on_the_simplex_and_satisfies_the_optimality_conditions(row):
    point, spread = row
    weights = projected(point, spread)
    assert weights.min() >= 0.0
    assert weights.sum() == pytest.approx(1.0, abs=1e-10)
    # The multiplier (s_j − a_j) / r_j is constant for s_j > 0, and no smaller elsewhere.
    multiplier = (weights - point) / spread
    inside = weights > 0
    assert np.ptp(multiplier[inside]) <= 1e-8
    assert multiplier.min() >= multiplier[inside].max() - 1e-8


@given(rows(most=12))
def test_compiled_projection_equals_the_python_function(row):
    np.testing.assert_array_equal(projected(*row), projected(*row, kernel=project_rows.py_func))


def test_projection_agrees_with_a_general_solver():
    rng = np.random.default_rng(0)
    point, spread = rng.normal(size=8), rng.uniform(0.2, 2.0, 8)
    result = minimize(
        lambda s: np.sum((s - point) ** 2 / spread),
        np.full(8, 1 / 8),
        jac=lambda s: 2 * (s - point) / spread,
        bounds=[(0, None)] * 8,
        constraints={"type": "eq", "fun": lambda s: s.sum() - 1, "jac": lambda s: np.ones(8)},
        options={"ftol": 1e-14},
    )
    np.testing.assert_allclose(projected(point, spread), result.x, atol=1e-6)


def test_projection_agrees_with_projection_by_sorting():
    rng = np.random.default_rng(0)
    for size in range(1, 40):
        point = rng.normal(size=size)
        expected = _published_can._on_simplex(point)
        np.testing.assert_allclose(projected(point, np.ones(size)), expected, atol=1e-12)


def test_rows_of_any_length_are_projected():
    indptr = np.array([0, 0, 1, 4])
    weights = np.empty(4)
    project_rows(0, 3, indptr, np.array([-7.0, 1e8, 1e8 - 0.5, -1e8]), np.ones(4), 0.0, weights)
    np.testing.assert_allclose(weights, [1.0, 0.75, 0.25, 0.0], atol=1e-7)
    project_rows(0, 1, indptr, weights, np.ones(4), 0.0, weights)  # an empty row
    assert weights[0] == 1.0


def test_pair_distances_equal_their_definition():
    rng = np.random.default_rng(0)
    vectors, indptr = rng.normal(size=(6, 3)), np.array([0, 2, 2, 5, 6, 6, 7])
    indices = np.array([1, 5, 0, 1, 4, 2, 0], dtype=np.int32)
    source = np.repeat(np.arange(6), np.diff(indptr))
    expected = np.sum((vectors[source] - vectors[indices]) ** 2, axis=1)
    for kernel in (pair_distances, pair_distances.py_func):
        squared = np.empty(7)
        kernel(0, 6, indptr, indices, vectors, squared)
        np.testing.assert_allclose(squared, expected)


# -- the objective and the components


def objective(candidates, weights, vectors, penalty, norm):
    """Return the objective, entry by entry, with the penalty as the trace of a Laplacian."""
    off = weights - candidates.targets
    if norm == "l1":
        cost = np.sum(np.sqrt(off**2 + SMOOTHING**2) - SMOOTHING)
    else:
        cost = np.sum(off**2 / (2 * candidates.spreads))
    n = candidates.n_nodes
    S = sp.csr_array((weights, candidates.indices, candidates.indptr), shape=(n, n)).toarray()
    S = (S + S.T) / 2
    laplacian = np.diag(S.sum(axis=1)) - S
    return cost + 2 * penalty * np.trace(vectors.T @ laplacian @ vectors)


def never_increases(history, slack=1e-9):
    """Return whether no update increases the objective, nor the next iteration at the same λ."""
    steps = [history["before"], history["after_weights"], history["after_vectors"]]
    for old, new in pairwise(steps):
        if not np.all(new <= old * (1 + slack) + slack):
            return False
    same = history["penalty"][1:] == history["penalty"][:-1]
    before, after = history["before"][1:][same], history["after_vectors"][:-1][same]
    return bool(np.all(before <= after * (1 + slack) + slack))


def check(learned, n_clusters):
    """Check the invariants of a learned graph."""
    matrix = learned.graph
    n = matrix.shape[0]
    assert isinstance(matrix, sp.csr_array)
    assert abs(matrix - matrix.T).max() == 0.0
    assert matrix.nnz == 0 or matrix.data.min() > 0.0
    assert matrix.diagonal().sum() == 0.0
    count, component = connected_components(matrix, directed=False)
    assert learned.n_components == count
    assert learned.converged == (count == n_clusters)
    assert sorted(set(learned.labels)) == list(range(n_clusters))
    if learned.converged:
        pairs = {tuple(pair) for pair in zip(component, learned.labels, strict=True)}
        assert len(pairs) == n_clusters
        assert leastcut.cut_value(matrix, learned.labels, "ratio") == 0.0
    assert learned.labels.shape == (n,)
    assert learned.n_iter == learned.history.n_rows
    assert never_increases(learned.history)


@given(graphs(connected=True), st.integers(0, 2**32 - 1), st.sampled_from(NORMS))
def test_new_weights_never_increase_the_objective(S, seed, norm):
    candidates = _rows_of_graph(leastcut.graph.as_graph(S), norm, 1)
    rng = np.random.default_rng(seed)
    c, penalty = int(rng.integers(1, 4)), float(10 ** rng.uniform(-2, 2))
    vectors = np.linalg.qr(rng.normal(size=(S.shape[0], min(c, S.shape[0]))))[0]
    distances, weights = candidates.distances(vectors), candidates.targets
    value = objective(candidates, weights, vectors, penalty, norm)
    for _ in range(3):
        weights = candidates.weights(penalty, distances, weights)
        now = objective(candidates, weights, vectors, penalty, norm)
        assert now <= value * (1 + 1e-9) + 1e-9
        assert candidates.objective(weights, penalty, distances) == pytest.approx(now)
        value = now
    sums = np.add.reduceat(weights, candidates.indptr[:-1][np.diff(candidates.indptr) > 0])
    np.testing.assert_allclose(sums, 1.0, atol=1e-9)


@given(graphs(connected=True), st.integers(0, 2**32 - 1))
def test_weights_for_squares_are_optimal(S, seed):
    candidates = _rows_of_graph(leastcut.graph.as_graph(S), "l2", 1)
    rng = np.random.default_rng(seed)
    vectors = np.linalg.qr(rng.normal(size=(S.shape[0], 2)))[0]
    weights = candidates.weights(1.0, candidates.distances(vectors), candidates.targets)
    value = objective(candidates, weights, vectors, 1.0, "l2")
    for _ in range(5):
        other = rng.random(weights.size)
        sums = np.add.reduceat(other, candidates.indptr[:-1])
        other /= np.repeat(sums, np.diff(candidates.indptr))
        for fraction in (1.0, 0.1, 1e-3):
            mixed = (1 - fraction) * weights + fraction * other
            assert objective(candidates, mixed, vectors, 1.0, "l2") >= value - 1e-9


def absolute_optimum(targets, costs):
    """Return the minimum of Σ |s_j − a_j| + costs_j s_j on the simplex: a linear program.

    Weight is added where its marginal cost is smallest: costs_j − 1 up to a_j, then costs_j + 1.
    """
    slopes = np.concatenate([costs - 1.0, costs + 1.0])
    capacities = np.concatenate([targets, np.full(targets.size, np.inf)])
    left, total = 1.0, targets.sum()
    for p in np.argsort(slopes, kind="stable"):
        added = min(left, capacities[p])
        total += added * slopes[p]
        left -= added
    return total


@given(st.integers(0, 2**32 - 1), st.integers(2, 8))
def test_weights_for_absolute_differences_approach_the_linear_program(seed, size):
    rng = np.random.default_rng(seed)
    S = np.zeros((size + 1, size + 1))
    S[0, 1:] = S[1:, 0] = rng.random(size) + 0.1
    candidates = _rows_of_graph(leastcut.graph.as_graph(S), "l1", 1)
    distances = rng.random(candidates.targets.size) * rng.choice([0.5, 5.0])
    weights = candidates.targets
    for _ in range(30):
        weights = candidates.weights(1.0, distances, weights)
    # Only the first row: the others have a single entry, with weight 1.
    row = slice(0, size)
    value = np.sum(np.abs(weights - candidates.targets)[row] + (distances * weights)[row])
    best = absolute_optimum(candidates.targets[row], distances[row])
    # Convergence is slow if two slopes are nearly equal.
    assert best - 1e-9 <= value <= best + 0.02


@settings(max_examples=draws(20))
@given(
    graphs(min_nodes=4, connected=True),
    st.integers(1, 4),
    st.sampled_from(NORMS),
    st.sampled_from(list(SOLVERS)),
)
def test_constrained_rank_graphs_satisfy_the_invariants(S, n_clusters, norm, solver):
    before = S.copy()
    learned = leastcut.constrained_rank_graph(S, n_clusters, norm, solver=solver, random_state=0)
    np.testing.assert_array_equal(S, before)
    check(learned, n_clusters)
    # No new edges.
    assert not np.any(learned.graph.toarray()[S == 0])


@settings(max_examples=draws(20))
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.sampled_from(list(SOLVERS)))
def test_graphs_learned_from_samples_satisfy_the_invariants(seed, n_clusters, solver):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(int(rng.integers(6, 40)), 2))
    if rng.random() < 0.3:
        X = np.round(X)  # many duplicates
    before = X.copy()
    k = int(rng.integers(1, len(X) - 1))
    learned = leastcut.learned_graph(X, n_clusters, k, solver=solver, random_state=0)
    np.testing.assert_array_equal(X, before)
    check(learned, n_clusters)


def exact_objective(candidates, weights, penalty, distances):
    """Return the objective for squares in rational arithmetic."""
    total = Fraction(0)
    entries = zip(
        weights, candidates.targets, candidates.costs, candidates.spreads, distances, strict=True
    )
    for entry in entries:
        s, a, e, q, d = (Fraction(float(number)) for number in entry)
        total += (s - a) ** 2 / (2 * q) + (e + Fraction(penalty) * d) * s
    return total


@st.composite
def wide_samples(draw):
    """Draw samples with rows, columns or single entries scaled by 1e-8 to 1e8."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(6, 24)), draw(st.integers(1, 3))
    shape = draw(st.sampled_from([(n, 1), (1, d), (n, d)]))
    return rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-8, 8, size=shape)


@settings(max_examples=draws(25))
@given(wide_samples(), st.integers(2, 4), st.integers(1, 8), st.sampled_from(list(SOLVERS)))
def test_the_objective_never_increases_for_samples_that_span_sixteen_decades(
    X, n_clusters, k, solver
):
    k = min(k, len(X) - 2)
    learned = leastcut.learned_graph(X, n_clusters, k, solver=solver, random_state=0)
    check(learned, n_clusters)
    # Not even by rounding.
    assert never_increases(learned.history, slack=0.0)
    assert learned.graph.sum() == pytest.approx(len(X), rel=1e-12)


@given(wide_samples(), st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_weights_for_samples_that_span_sixteen_decades_are_optimal_in_rational_arithmetic(
    X, k, seed
):
    candidates = rows_of_samples(X, min(k, len(X) - 2))
    rng = np.random.default_rng(seed)
    # Without a penalty, the targets are optimal, with the value 0.
    nothing = np.zeros(candidates.targets.size)
    assert candidates.objective(candidates.targets, 0.0, nothing) == 0.0
    assert candidates.targets.min() >= 0.0
    assert candidates.costs.min() >= 0.0
    assert not np.any(candidates.costs[candidates.targets > 0])
    distances = candidates.distances(np.linalg.qr(rng.normal(size=(len(X), 2)))[0])
    penalty = float(candidates.scale(candidates.targets) * 10 ** rng.uniform(-6, 6))
    before = candidates.targets
    for _ in range(2):
        weights = candidates.weights(penalty, distances, before)
        value = exact_objective(candidates, weights, penalty, distances)
        assert float(value) == pytest.approx(
            candidates.objective(weights, penalty, distances), rel=1e-12
        )
        assert value <= exact_objective(candidates, before, penalty, distances) * (1 + EXACT)
        other = rng.random(weights.size)
        other /= np.repeat(
            np.add.reduceat(other, candidates.indptr[:-1]), np.diff(candidates.indptr)
        )
        for fraction in (1.0, 0.1, 1e-3):
            mixed = (1 - fraction) * weights + fraction * other
            assert value <= exact_objective(candidates, mixed, penalty, distances) * (1 + EXACT)
        sums = np.add.reduceat(weights, candidates.indptr[:-1])
        np.testing.assert_allclose(sums, 1.0, rtol=0, atol=1e-14)
        before = weights


def rows_of_samples(X, k):
    """Return the candidate rows of ``learned_graph``."""
    options = SearchOptions("exact", "cpu", n_jobs=1)
    return _rows_of_neighbors(find_neighborhoods(X, min(CANDIDATES * k, len(X) - 1), options), k)


def test_targets_of_equidistant_rows_are_optimal():
    # The neighbors of the first five samples are duplicates at distance 0, so that γ is undefined.
    X = np.array([[0.0]] * 5 + [[1.0], [1.5], [3.0], [7.0]])
    candidates = rows_of_samples(X, 2)
    length = candidates.indptr[1]
    squared = (X[candidates.indices] - X[np.repeat(np.arange(9), length)])[:, 0] ** 2
    for row in range(5):
        part = slice(row * length, (row + 1) * length)
        stiffness = 1.0 / candidates.spreads[part]
        expected = by_every_support(-squared[part] / stiffness, np.ones(length))
        np.testing.assert_allclose(candidates.targets[part], expected, atol=1e-12)
        # Costs are the derivative at the optimum minus that of the positive weights.
        derivative = squared[part] + stiffness * candidates.targets[part]
        np.testing.assert_allclose(
            candidates.costs[part], derivative - derivative.min(), atol=1e-12
        )


@given(rows(most=12), st.floats(1e-6, 0.2))
def test_weights_below_the_minimum_are_zero_and_the_others_sum_to_one(row, least):
    point, spread = row
    results = {}
    for kernel in (project_rows, project_rows.py_func):
        weights = np.full(len(point), np.nan)
        kernel(0, 1, np.array([0, len(point)]), point, spread, least / len(point), weights)
        results[kernel] = weights
    weights = results[project_rows]
    np.testing.assert_array_equal(weights, results[project_rows.py_func])
    inside = weights > 0
    assert weights.sum() == pytest.approx(1.0, abs=1e-10)
    # The result is the projection of the remaining entries.
    np.testing.assert_allclose(weights[inside], projected(point[inside], spread[inside]), atol=1e-9)
    # Entries with a larger weight in the plain projection remain.
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
def test_learned_graphs_of_real_data_have_exactly_c_components(name, solver):
    X, n_clusters = REAL[name]
    learned = leastcut.learned_graph(X, n_clusters, solver=solver)
    check(learned, n_clusters)
    assert learned.converged
    S = leastcut.adaptive_neighbors_graph(X, include_self=False)
    for norm in NORMS:
        near = leastcut.constrained_rank_graph(S, n_clusters, norm, solver=solver)
        check(near, n_clusters)
        assert near.converged


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["jaffe", "yale", "umist", "coil20"])
def test_learned_graphs_of_the_papers_data_have_exactly_c_components(name):
    X, y = load_dataset(name)
    n_clusters = int(y.max()) + 1
    for solver in SOLVERS:
        learned = leastcut.learned_graph(X, n_clusters, solver=solver)
        check(learned, n_clusters)
        assert learned.converged


@pytest.mark.parametrize("solver", SOLVERS)
def test_well_separated_clusters_are_found(blobs, solver):
    X, y = blobs
    learned = leastcut.learned_graph(X, 3, n_neighbors=20, solver=solver)
    assert leastcut.clustering_accuracy(y, learned.labels) == 1.0
    S = leastcut.nearest_neighbors_graph(X, 33)
    assert connected_components(S)[0] == 1
    for norm in NORMS:
        near = leastcut.constrained_rank_graph(S, 3, norm, solver=solver)
        assert near.converged
        assert leastcut.clustering_accuracy(y, near.labels) == 1.0


def test_without_a_penalty_the_result_is_the_adaptive_neighbors_graph():
    # The graph has c components from the start, so there are no iterations.
    for X, k in ((IRIS, 10), (DIGITS[:300], 7)):
        S = leastcut.adaptive_neighbors_graph(X, k, include_self=False)
        count = connected_components(S)[0]
        learned = leastcut.learned_graph(X, count, k)
        assert (learned.n_iter, learned.converged) == (0, True)
        np.testing.assert_allclose(learned.graph.toarray(), S.toarray(), atol=1e-12)


def test_only_candidates_have_weights():
    k = 5
    learned = leastcut.learned_graph(DIGITS[:300], 10, k)
    allowed = leastcut.nearest_neighbors_graph(DIGITS[:300], CANDIDATES * k, include_self=False)
    assert (learned.graph - learned.graph.multiply(allowed > 0)).nnz == 0
    degrees = np.asarray(learned.graph.sum(axis=1)).reshape(-1)
    assert degrees.sum() == pytest.approx(300)  # the rows of S sum to 1


def test_a_graph_with_more_components_than_clusters_is_cut_and_not_converged():
    X, _ = make_blobs(120, centers=[[0, 0], [50, 0], [0, 50], [50, 50]], random_state=0)
    learned = leastcut.learned_graph(X, 2)
    check(learned, 2)
    assert (learned.converged, learned.n_components, learned.n_iter) == (False, 4, 0)
    near = leastcut.constrained_rank_graph(learned.graph, 3)
    assert (near.converged, near.n_components, np.unique(near.labels).size) == (False, 4, 3)


def test_too_few_iterations_return_a_cut_of_the_last_graph():
    learned = leastcut.learned_graph(DIGITS[:500], 10, max_iter=2)
    check(learned, 10)
    assert (learned.converged, learned.n_iter) == (False, 2)
    best = leastcut.partition(learned.graph, 10, "ratio", random_state=0)
    assert leastcut.cut_value(learned.graph, learned.labels, "ratio") <= 1.1 * best.cut_value


def test_nodes_without_edges_are_components():
    S = np.zeros((8, 8))
    S[:6, :6] = TWO_TRIANGLES
    learned = leastcut.constrained_rank_graph(S, 4)
    check(learned, 4)
    assert learned.labels.tolist() == [0, 0, 0, 1, 1, 1, 2, 3]
    empty = leastcut.constrained_rank_graph(np.zeros((3, 3)), 2)
    assert (empty.converged, empty.n_components) == (False, 3)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_results_do_not_depend_on_the_scale_of_graphs_and_samples(norm, solver):
    S = leastcut.nearest_neighbors_graph(IRIS, 8)
    learned = leastcut.constrained_rank_graph(S, 3, norm, solver=solver)
    for factor in (2.0**-900, 2.0**900):
        again = leastcut.constrained_rank_graph(S * factor, 3, norm, solver=solver)
        np.testing.assert_array_equal(again.graph.toarray(), learned.graph.toarray())
    learned = leastcut.learned_graph(IRIS, 3, solver=solver)
    again = leastcut.learned_graph(IRIS * 2.0**300, 3, solver=solver)
    np.testing.assert_array_equal(again.labels, learned.labels)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("solver", SOLVERS)
def test_results_with_a_seed_do_not_depend_on_the_number_of_threads(solver, monkeypatch):
    # Small blocks, so that several threads have work.
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
    assert all(learned.converged for learned in other)


def test_no_array_of_size_n_by_n_is_allocated(monkeypatch):
    n = 8_000
    X, _ = make_blobs(n, n_features=4, centers=3, cluster_std=2.0, random_state=0)
    largest = 0
    empty = np.empty

    def watched(shape, *args, **kwargs):
        nonlocal largest
        largest = max(largest, int(np.prod(shape)))
        return empty(shape, *args, **kwargs)

    monkeypatch.setattr(np, "empty", watched)
    learned = leastcut.learned_graph(X, 3)
    assert learned.converged
    assert learned.graph.nnz <= 2 * CANDIDATES * 10 * n
    assert largest < n * n / 10


def test_sparse_samples_and_other_metrics_are_supported():
    dense = leastcut.learned_graph(DIGITS[:300], 10)
    sparse = leastcut.learned_graph(sp.csr_array(DIGITS[:300]), 10)
    np.testing.assert_allclose(dense.graph.toarray(), sparse.graph.toarray(), atol=1e-9)
    reports = []
    learned = leastcut.learned_graph(DIGITS[:300], 10, metric="cosine", callback=reports.append)
    check(learned, 10)
    assert reports[0].recall == 1.0


def test_node_names_are_returned():
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph()
    graph.add_weighted_edges_from([("a", "b", 2.0), ("b", "c", 1.0), ("c", "d", 2.0)])
    learned = leastcut.constrained_rank_graph(graph, 2)
    assert learned.by_node() == {"a": 0, "b": 0, "c": 1, "d": 1}
    with pytest.raises(ValueError, match="no names of nodes"):
        leastcut.learned_graph(IRIS, 3).by_node()


def test_learned_graphs_have_a_repr_and_can_be_pickled():
    learned = leastcut.constrained_rank_graph(TWO_TRIANGLES, 2)
    assert repr(learned).startswith("LearnedGraph(n_nodes=6, n_components=2, n_iter=")
    for again in (pickle.loads(pickle.dumps(learned)), copy.deepcopy(learned)):
        np.testing.assert_array_equal(again.graph.toarray(), learned.graph.toarray())
        assert list(again.history) == list(learned.history)


def test_directed_graphs_are_rejected_unless_symmetrized():
    directed = np.triu(TWO_TRIANGLES)
    with pytest.raises(ValueError, match="symmetrize='mean'"):
        leastcut.constrained_rank_graph(directed, 2)
    learned = leastcut.constrained_rank_graph(directed, 2, symmetrize="max")
    expected = leastcut.constrained_rank_graph(TWO_TRIANGLES, 2)
    np.testing.assert_array_equal(learned.graph.toarray(), expected.graph.toarray())


def test_impossible_counts_raise_immediately():
    with pytest.raises(ValueError, match="n_neighbors=10 needs at least 12 samples"):
        leastcut.learned_graph(IRIS[:11], 2)
    for function, data in (
        (leastcut.learned_graph, IRIS),
        (leastcut.constrained_rank_graph, TWO_TRIANGLES),
    ):
        with pytest.raises(ValueError, match=f"n_clusters={len(data) + 1}"):
            function(data, len(data) + 1)


def test_the_reference_implementation_finds_the_same_well_separated_clusters(blobs):
    X, y = blobs
    slow = _published_can.published_can(X, 3, n_neighbors=20)
    learned = leastcut.learned_graph(X, 3, n_neighbors=20, solver="spectral")
    assert slow.n_components == 3
    assert leastcut.clustering_accuracy(slow.labels, learned.labels) == 1.0
    assert leastcut.clustering_accuracy(y, slow.labels) == 1.0


# -- λ


@given(st.floats(0.01, 100.0), st.lists(st.booleans(), max_size=40))
def test_the_penalty_moves_in_the_right_direction_by_at_most_a_factor_of_two(first, answers):
    penalty = Penalty(first)
    for too_few in answers:
        before = penalty.value
        (penalty.increase if too_few else penalty.decrease)()
        assert (penalty.value > before) == too_few
        assert 0.4 < penalty.value / before < 2.1


def test_the_penalty_converges_to_a_threshold():
    penalty = Penalty(1e-3)
    for _ in range(40):
        if abs(penalty.value - 7.3) < 0.1:
            return
        (penalty.increase if penalty.value < 7.3 else penalty.decrease)()
    pytest.fail(f"λ={penalty.value}")


def test_vectors_that_are_no_better_are_rejected(monkeypatch):
    """The objective does not increase for any solver, here one that returns random vectors."""
    rng = np.random.default_rng(0)

    def random_vectors(problem, n_clusters, labels, seed, n_jobs):
        vectors = np.linalg.qr(rng.normal(size=(problem.n_nodes, n_clusters)))[0]
        return alternation.SOLVERS["spectral"](problem, n_clusters, labels, seed, n_jobs)._replace(
            vectors=vectors
        )

    candidates = _rows_of_graph(
        leastcut.graph.as_graph(leastcut.nearest_neighbors_graph(IRIS, 8)), "l2", 1
    )
    monkeypatch.setitem(SOLVERS, "random", random_vectors)
    learned = learn(candidates, 3, solver="random", max_iter=12, seed=0, n_jobs=1)
    assert learned.n_iter > 0
    assert never_increases(learned.history)


# -- the estimator


def test_the_estimator_learns_the_same_graph(blobs):
    X, _ = blobs
    model = SpectralClustering(3, affinity="learned", n_neighbors=20, random_state=0).fit(X)
    learned = leastcut.learned_graph(X, 3, 20, random_state=0)
    np.testing.assert_array_equal(model.affinity_matrix_.toarray(), learned.graph.toarray())
    np.testing.assert_array_equal(model.labels_, learned.labels)
    assert model.cut_value_ == 0.0
    assert model.neighbors_recall_ == 1.0
    new = X + 0.01
    np.testing.assert_array_equal(model.predict(new), model.labels_)
    assert pickle.loads(pickle.dumps(model)).predict(new).tolist() == model.labels_.tolist()
    assert model.transform(X[:4]).shape == (4, 3)
    assert model.score(X) == 0.0


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_estimator_passes_its_solver_to_the_graph(solver):
    model = SpectralClustering(3, affinity="learned", solver=solver, random_state=0).fit(IRIS)
    expected = leastcut.learned_graph(IRIS, 3, solver=solver, random_state=0)
    np.testing.assert_array_equal(model.affinity_matrix_.toarray(), expected.graph.toarray())


def test_the_estimator_needs_a_number_of_clusters():
    with pytest.raises(ValueError, match=r"n_clusters='auto' cannot be used with.*Pass a number"):
        SpectralClustering("auto", affinity="learned").fit(IRIS)
    with pytest.raises(ValueError, match="affinity='learned' makes another graph for every number"):
        leastcut.cut_path(IRIS, [2, 3], affinity="learned")


def test_the_estimators_reject_views_and_respect_balance():
    views = {"views": [[0, 1], [2, 3]]}
    for affinity in ("learned", ["learned", "adaptive_neighbors"]):
        with pytest.raises(ValueError, match="affinity='learned' makes a graph in as many compon"):
            leastcut.MultiViewSpectralClustering(3, affinity=affinity, **views).fit(IRIS)
    options = {"cut": "ratio", "balance": 0.05, "random_state": 0}
    model = SpectralClustering(3, affinity="learned", **options).fit(IRIS)
    assert np.bincount(model.labels_).max() <= 1.05 * 50


def test_the_estimator_warns_if_components_and_clusters_differ():
    X, _ = make_blobs(120, centers=[[0, 0], [50, 0], [0, 50], [50, 50]], random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"4 components.*Pass a larger n_neighbors"):
        model = SpectralClustering(2, affinity="learned", random_state=0).fit(X)
    assert model.n_clusters_ == 2
    few = {"kernel_params": {"max_iter": 1}, "random_state": 0}
    with pytest.warns(ConvergenceWarning, match="'max_iter': 2"):
        SpectralClustering(3, affinity="learned", **few).fit(IRIS)
    # Every sample has a neighbor, so that three samples form one component.
    with pytest.warns(ConvergenceWarning, match="1 component after.*Pass a smaller n_clusters"):
        SpectralClustering(2, affinity="learned", random_state=0).fit([[0.0], [1.0], [3.0]])


def test_the_estimator_rejects_parameters_that_learned_graphs_do_not_have():
    with pytest.raises(ValueError, match="kernel_params contains 'offset'"):
        SpectralClustering(3, affinity="learned", kernel_params={"offset": 1.0}).fit(IRIS)
    with pytest.warns(UserWarning, match="gamma=2.0 has no effect"):
        SpectralClustering(3, affinity="learned", gamma=2.0, random_state=0).fit(IRIS)
    with pytest.warns(UserWarning, match="n_neighbors=4 has no effect.*'learned'"):
        SpectralClustering(3, affinity="rbf", n_neighbors=4, random_state=0).fit(IRIS)


@pytest.mark.filterwarnings("ignore:The learned graph has")
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_few_samples_can_be_fitted(n):
    X = np.arange(n, dtype=float)[:, None] ** 2
    for n_clusters in range(1, n + 1):
        model = SpectralClustering(n_clusters, affinity="learned", random_state=0).fit(X)
        assert np.unique(model.labels_).size == n_clusters
        assert model.predict(X[:1]).shape == (1,)


def test_both_functions_have_the_same_defaults():
    samples = inspect.signature(leastcut.learned_graph).parameters
    graph = inspect.signature(leastcut.constrained_rank_graph).parameters
    for name in ("n_clusters", "solver", "max_iter", "random_state", "n_jobs"):
        assert samples[name].default == graph[name].default
    assert REWEIGHTINGS >= 1
    assert ROUNDING < SMOOTHING

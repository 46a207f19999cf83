"""Problems: validation, values, restriction and scaling."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from conftest import draws, graphs, points_graph
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from wide_spans import Rational, wide_problems

import leastcut
from leastcut.graph import as_graph
from leastcut.multilevel.coarsening import build
from leastcut.problem import CUTS, Cut, as_cut, as_problem, indicator
from leastcut.validation import number_by_appearance

SEEDS = st.integers(0, 999)


def some_weights(n: int) -> np.ndarray:
    return np.linspace(0.5, 2.0, n)


@pytest.mark.parametrize("cut", CUTS)
@given(S=graphs(), seed=SEEDS)
def test_a_named_cut_is_its_node_weights(cut, S, seed):
    problem = as_problem(S, cut)
    again = as_problem(S, problem.node_weights)
    labels = number_by_appearance(np.random.default_rng(seed).integers(3, size=len(S)))
    assert problem.value(labels) == again.value(labels) == leastcut.cut_value(S, labels, cut)
    np.testing.assert_array_equal(problem.operator().toarray(), again.operator().toarray())


@given(S=graphs(), constant=st.floats(0.1, 5.0), per_degree=st.sampled_from([0.0, 0.5, 1.0]))
def test_a_cut_is_linear_in_nodes_and_degrees(S, constant, per_degree):
    weights = Cut("some", constant, per_degree).node_weights(as_graph(S))
    np.testing.assert_allclose(weights, constant + per_degree * S.sum(axis=1))


@given(S=graphs(), seed=SEEDS)
def test_validating_a_graph_again_copies_nothing(S, seed):
    graph = as_graph(S)
    assert as_graph(graph) is graph
    assert as_problem(graph, "ratio").graph is graph
    weights = some_weights(len(S))
    assert as_problem(graph, weights).node_weights.tolist() == weights.tolist()


@given(S=graphs(min_nodes=4), seed=SEEDS)
def test_restriction_is_the_induced_problem(S, seed):
    rng = np.random.default_rng(seed)
    nodes = rng.permutation(len(S))[: rng.integers(1, len(S) + 1)]
    problem = as_problem(S, some_weights(len(S)))
    part = problem.restrict(nodes)
    np.testing.assert_array_equal(part.graph.matrix.toarray(), S[np.ix_(nodes, nodes)])
    np.testing.assert_array_equal(part.node_weights, problem.node_weights[nodes])


@given(S=graphs(), seed=SEEDS)
def test_the_indicator_is_orthonormal_and_its_trace_the_value(S, seed):
    problem = as_problem(S, some_weights(len(S)))
    labels = number_by_appearance(np.random.default_rng(seed).integers(4, size=len(S)))
    G = indicator(labels, problem.node_weights)
    np.testing.assert_allclose(G.T @ G, np.eye(G.shape[1]), atol=1e-12)
    trace = np.trace(G.T @ (problem.operator() @ G))
    assert problem.value(labels) == pytest.approx(trace, abs=1e-10)


@given(S=graphs(), c=st.integers(1, 6))
def test_uncut_labels_exist_iff_there_are_enough_components(S, c):
    problem = as_problem(S, some_weights(len(S)))
    labels = problem.uncut_labels(c)
    if problem.graph.components[0] < c:
        assert labels is None
    else:
        assert sorted(set(labels.tolist())) == list(range(c))
        assert problem.value(labels) == 0.0


def test_components_are_grouped_evenly():
    S = np.kron(np.eye(30), np.ones((2, 2)))
    problem = as_problem(S)
    sizes = problem.cluster_weights(problem.uncut_labels(7))
    assert sizes.max() <= 1.5 * sizes.min()


@given(case=wide_problems())
def test_scaling_into_range_is_exact(case):
    S, cut, labels = case
    problem = as_problem(S, cut)
    scaled = problem.within_range()
    for after, before in (
        (scaled.graph.weights, problem.graph.weights),
        (scaled.node_weights, problem.node_weights),
    ):
        factors = {Fraction(a) / Fraction(b) for a, b in zip(after, before, strict=True)}
        assert len(factors) <= 1
        assert min(factors, default=1) >= 1
    assert np.isfinite(scaled.value(labels))


@pytest.mark.parametrize("factor", [1e-306, 1e-300, 1.0, 1e300, 1e305])
@pytest.mark.parametrize("cut", ["ratio", "normalized"])
def test_the_full_range_of_numbers_is_supported(factor, cut):
    S = (np.ones((4, 4)) - np.eye(4)) * factor
    labels = np.array([0, 0, 1, 1])
    expected = float(Rational(S, cut).value(labels.tolist()))
    assert leastcut.cut_value(S, labels, cut) == pytest.approx(expected, rel=1e-14)
    for result in (
        leastcut.refine(S, labels, cut),
        leastcut.partition(S, 2, cut, random_state=0),
        leastcut.exact_partition(S, 2, cut),
        leastcut.direct_cut(S, 2, cut, random_state=0),
    ):
        assert result.cut_value == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("loops", [False, True])
@pytest.mark.parametrize("cut", ["ratio", "normalized"])
def test_affinities_down_to_denormals_are_in_range(loops, cut):
    X = np.linspace(0, 27, 40)[:, None]
    S = np.exp(-((X - X.T) ** 2)) * (1.0 if loops else 1 - np.eye(40))
    assert 0 < S[S > 0].min() < np.finfo(float).tiny
    labels = np.arange(40) // 20
    value = leastcut.cut_value(S, labels, cut)
    assert value == pytest.approx(float(Rational(S, cut).value(labels.tolist())), rel=1e-12)
    assert leastcut.refine(S, labels, cut).cut_value <= value


@pytest.mark.parametrize(
    ("weight", "loop", "cut", "words"),
    [
        (1.7e308, 0.0, "ratio", r"add up to inf .*1\.7e\+308\), but sums up to 1e\+307.*Multiply"),
        (1.7e308, 0.0, "normalized", r"affinities add up to inf"),
        (1.0, 1e307, "ratio", r"affinities add up to 3e\+307"),
        (1.0, 0.0, [1e307] * 3, r"node weights add up to 3e\+307, but sums up to 1e\+307"),
        (1e200, 0.0, [1e-107] * 3, r"Cut values could reach 6e\+307, .*node 0.*1e-107.*Multiply"),
        (
            1e-310,
            0.0,
            "ratio",
            r"node 0 has edges of total weight 2e-310 .*down to 1e-307.*Multiply",
        ),
        (1e-200, 1e200, "normalized", r"All cut values underflow.*Remove the self-loops"),
    ],
)
def test_numbers_out_of_range_raise(weight, loop, cut, words):
    S = np.full((3, 3), weight)
    S[np.diag_indices(3)] = loop
    for verb in (leastcut.cut_value, leastcut.refine):
        with pytest.raises(ValueError, match=words):
            verb(S, [0, 0, 1], cut)
    for verb in (leastcut.partition, leastcut.exact_partition, leastcut.direct_cut):
        with pytest.raises(ValueError, match=words):
            verb(S, 2, cut)


@settings(max_examples=draws(400))
@given(SEEDS, st.integers(-1070, 1020), st.integers(-1070, 1020), st.sampled_from([1, 60, 400]))
def test_exactly_the_numbers_out_of_range_raise(seed, edge_exponent, node_exponent, span):
    rng, n = np.random.default_rng(seed), 4

    def numbers(exponent, size):
        exponents = np.clip(exponent + rng.integers(-span, span, size), -1073, 1023)
        return np.ldexp(rng.uniform(0.5, 1.0, size), exponents)

    weights = numbers(edge_exponent, 6) * (rng.random(6) < 0.7)
    S, b = np.zeros((n, n)), numbers(node_exponent, n)
    S[np.triu_indices(n, 1)] = weights
    S += S.T
    ratios = [sum(map(Fraction, row)) / Fraction(own) for row, own in zip(S, b, strict=True)]
    sums = max(sum(map(Fraction, S.ravel())), sum(map(Fraction, b)), n * max(ratios))
    # At the limits, rounding decides.
    limit, near = Fraction(10) ** 307, 1 + Fraction(1, 10**9)
    assume(not limit / near < sums < limit * near)
    assume(not 1 / near < max(ratios) * limit < near)
    if sums < limit and (max(ratios) > 1 / limit or not S.any()):
        assert as_problem(S, b).n_nodes == n
    else:
        with pytest.raises(ValueError, match="Multiply"):
            as_problem(S, b)


@given(S=graphs(), seed=SEEDS, exponent=st.sampled_from([-1000, -900, 0, 900, 1000]))
def test_scaling_into_range_keeps_the_order_of_cuts(S, seed, exponent):
    rng = np.random.default_rng(seed)
    problem = as_problem(np.ldexp(S, exponent), some_weights(len(S)))
    scaled = problem.within_range()
    assert np.isfinite(scaled.graph.weights.sum())
    assert np.isfinite((1.0 / scaled.node_weights).sum())
    if exponent == 0:
        assert scaled is problem
    plain = as_problem(S, some_weights(len(S)))
    one, two = (number_by_appearance(rng.integers(2, size=len(S))) for _ in range(2))
    if plain.value(one) < plain.value(two) * (1 - 1e-9):
        assert scaled.value(one) < scaled.value(two)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=20))
def test_numbering_by_appearance(labels):
    result = number_by_appearance(np.array(labels))
    assert list(dict.fromkeys(result.tolist())) == list(range(len(set(labels))))
    for i in range(len(labels)):
        for j in range(i):
            assert (labels[i] == labels[j]) == (result[i] == result[j])


def test_errors_of_invalid_cuts():
    S = np.zeros((3, 3))
    S[0, 1] = S[1, 0] = 1.0
    with pytest.raises(ValueError, match=r"1 of 3 nodes have no edges .first: node 2"):
        as_problem(S, "normalized")
    assert as_problem(S, "ratio").n_nodes == 3
    with pytest.raises(ValueError, match=r"one weight per node, of shape .3,."):
        as_cut([1.0, 2.0], 3)
    with pytest.raises(ValueError, match=r"first is 0\.0 at node 1"):
        as_cut([1.0, 0.0, 1.0], 3)
    with pytest.raises(ValueError, match="cut='median' is not known"):
        as_cut("median", 3)


def test_contracted_levels_can_be_made_exactly_symmetric():
    problem = as_problem(points_graph(3500))
    steps = build(problem, np.random.default_rng(0), 200)
    level = steps[-1].problem
    exact = level.symmetrized()
    matrix = exact.graph.matrix
    assert matrix.has_sorted_indices
    assert (matrix != matrix.T).nnz == 0
    np.testing.assert_allclose(matrix.toarray(), level.graph.matrix.toarray(), rtol=1e-12)
    labels = np.arange(level.n_nodes) % 5
    assert exact.value(labels) == pytest.approx(level.value(labels), rel=1e-12)

"""Limits on cluster weights in the search: levels, moves, repair and packings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from conftest import draws, graphs, knn_graph
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris
from test_refinement import CUTS, some_cut

import leastcut
from leastcut.constraints import Limits, unit_exponent
from leastcut.feasibility import limits_of
from leastcut.kernels import balance, bisect, containers, exchange, fm_search, moves
from leastcut.multilevel import bisection, refinement, repair
from leastcut.multilevel.coarsening import COARSENING_RULES, Coarsening, build, coarse_labels
from leastcut.multilevel.passes import Passes
from leastcut.multilevel.refinement import State
from leastcut.problem import Problem, as_problem
from leastcut.reductions import EdgeCounting, solve_reduced
from leastcut.results import Partition

BALANCES = [(None, 0.0), (None, 0.05), (None, 0.3), (0.2, 0.2), (0.5, 1.0)]


def limited(S, c, cut="ratio", allowed=(None, 0.1), *, edges=False) -> Problem:
    """Return a problem with limits and a packing; with ``edges``, its values are edge cuts."""
    problem = as_problem(S, cut)
    problem = problem.with_limits(limits_of(allowed, problem.node_weights, c))
    return problem.counting_edges() if edges else problem


def edge_cut(problem: Problem, labels: np.ndarray) -> float:
    """Return the weight of the edges between clusters, each edge once."""
    edges = problem.graph.matrix.tocoo()
    first, second = labels[edges.coords[0]], labels[edges.coords[1]]
    return 0.5 * float(edges.data[first != second].sum())


def sampled(data) -> tuple[Problem, int]:
    """Return a random problem with feasible limits."""
    S = data.draw(graphs(min_nodes=3, max_nodes=14))
    n = len(S)
    c = data.draw(st.integers(2, min(n - 1, 4)))
    edges = data.draw(st.booleans())
    cut = "ratio" if edges else some_cut(data.draw(CUTS), n)
    try:
        return limited(S, c, cut, data.draw(st.sampled_from(BALANCES)), edges=edges), c
    except ValueError:
        assume(False)
        raise


@given(st.data())
def test_moves_respect_the_limits_and_never_raise_the_value(data):
    problem, c = sampled(data)
    for act in (
        lambda state: state.local_search(),
        lambda state: state.fm_search(np.arange(problem.n_nodes, dtype=np.int32), 10, 10**6),
        lambda state: state.exchange(10**6),
        lambda state: state.finish(),
    ):
        state = State(problem, problem.limits.packing.copy(), c)
        before = state.value
        act(state)
        reported = before - state.value
        assert problem.allows(state.labels)
        assert reported >= -1e-12 * before
        assert reported == pytest.approx(before - state.measure(), abs=1e-11 * before)
        assert state.count.min() >= 1
        assert not state.scratch[0].any()


@given(st.data())
def test_repair_satisfies_the_limits_and_keeps_feasible_labels(data):
    problem, c = sampled(data)
    labels = data.draw(st.permutations(range(problem.n_nodes)))
    start = np.array(labels) * c // problem.n_nodes
    repaired = repair.within_limits(problem, start, c)
    assert problem.allows(repaired)
    assert np.unique(repaired).size == c
    if problem.allows(start):
        np.testing.assert_array_equal(repaired, start)
    # Without a packing as a fallback, repair may fail, but is never wrong.
    bare = problem.with_limits(problem.limits.of_level())
    repaired = repair.within_limits(bare, start, c)
    assert repaired is None or problem.allows(repaired)


@pytest.mark.parametrize("edges", [False, True])
@pytest.mark.parametrize("rule", COARSENING_RULES)
@pytest.mark.parametrize(("c", "allowed"), [(3, (None, 0.0)), (7, (None, 0.05)), (5, (0.1, 0.1))])
def test_passes_respect_the_limits_on_every_level(rule, c, allowed, edges):
    problem = limited(knn_graph(load_digits().data[:600]), c, "ratio", allowed, edges=edges)
    coarsening, rng = Coarsening(COARSENING_RULES[rule]), np.random.default_rng(0)
    passes = Passes(problem, c, rng, coarsening)
    first, second = passes.fresh(10 * c), passes.fresh(30 * c)
    cycled = passes.cycle(first.labels)
    better, other = sorted([cycled, second], key=lambda candidate: candidate.value)
    child = passes.recombine(better.labels, other.labels, regrow=True)
    for candidate in (first, second, cycled, child):
        assert problem.allows(candidate.labels)
        assert candidate.value == pytest.approx(problem.value(candidate.labels))
    assert cycled.value <= first.value * (1 + 1e-12)
    assert child.value <= better.value * (1 + 1e-12)
    # A level has the total weight of the problem, and so its limits.
    steps = build(problem, rng, 4 * c, child.labels, coarsening)
    assert steps
    level = steps[-1].problem
    assert level.limits.packing is None
    assert level.offset == problem.offset
    coarse = coarse_labels(steps, child.labels)
    assert level.allows(coarse)
    assert level.value(coarse) == pytest.approx(problem.value(child.labels))


@given(st.data())
def test_recursive_bisection_leaves_no_cluster_empty(data):
    problem, c = sampled(data)
    labels, work = bisection.bisected(problem, c, np.random.default_rng(0))
    assert np.unique(labels).tolist() == list(range(c))
    assert work > 0


def test_recursive_bisection_finds_the_halves_of_a_path():
    n = 64
    S = np.diag(np.ones(n - 1), 1)
    problem = limited(S + S.T, 8, "ratio", (None, 0.0))
    labels, _ = bisection.bisected(problem, 8, np.random.default_rng(0))
    loads = np.bincount(labels)
    assert loads.max() <= 10  # at most one extra node for each of three bisections
    assert edge_cut(problem, labels) <= 9


# -- compiled and interpreted


def interpret(patch) -> None:
    """Replace all kernels that involve limits by their interpreted versions."""
    for module in (
        *(moves, containers, fm_search, exchange, balance, bisect),
        *(refinement, repair, bisection),
    ):
        for name, member in list(vars(module).items()):
            if hasattr(member, "py_func"):
                patch.setattr(module, name, member.py_func)


@settings(max_examples=draws(20))
@given(st.data())
def test_kernels_compiled_and_interpreted_agree(data):
    problem, c = sampled(data)
    start = np.arange(problem.n_nodes) * c // problem.n_nodes
    bare = problem.with_limits(problem.limits.of_level())

    def act():
        split, _ = bisection.bisected(problem, c, np.random.default_rng(1))
        repaired = repair.within_limits(bare, start, c)
        state = State(problem, problem.limits.packing.copy(), c)
        state.local_search()
        state.exchange(10**6)
        return split, repaired, state

    split, repaired, state = act()
    with pytest.MonkeyPatch.context() as patch:
        interpret(patch)
        plain_split, plain_repaired, plain = act()
    np.testing.assert_array_equal(split, plain_split)
    np.testing.assert_array_equal(repaired, plain_repaired)
    np.testing.assert_array_equal(state.labels, plain.labels)
    np.testing.assert_array_equal(state.boundary, plain.boundary)
    assert state.value == plain.value


# -- limits and packings


@given(st.lists(st.integers(1, 9), min_size=2, max_size=12), st.data())
def test_limits_raise_only_if_there_is_no_packing(weights, data):
    weights = np.array(weights, dtype=float)
    c = data.draw(st.integers(1, min(3, weights.size)))
    above = data.draw(st.sampled_from([0.0, 0.1, 0.5]))
    most = np.floor((1 + above + 1e-9) * weights.sum() / c)
    assume(c**weights.size <= 5000)
    fits = any(
        np.bincount(labels, weights, c).max() <= most and np.unique(labels).size == c
        for labels in np.ndindex(*[c] * weights.size)
    )
    if not fits:
        # Small integer problems are solved exactly, so the error is a proof of infeasibility.
        with pytest.raises(ValueError, match=r"(cannot be cut|There are no|alone weighs)"):
            limits_of((None, above), weights, c)
    else:
        limits = limits_of((None, above), weights, c)
        assert limits.allow(np.bincount(limits.packing, weights, c))
        assert np.unique(limits.packing).size == c


def test_limits_of_integer_weights_are_integers():
    # 1.15 * 100 is below 115, in doubles.
    assert Limits.of((None, 0.15), np.ones(400), 4).heaviest == 115
    assert Limits.of((0.15, 0.0), np.ones(400), 4).lightest == 85
    assert Limits.of((None, 0.1), np.ones(10), 3).heaviest == 3
    real = Limits.of((None, 0.1), np.full(10, 0.1), 2)
    assert real.slack > 0
    assert real.heaviest == pytest.approx(0.55)


@given(st.lists(st.integers(0, 2**53 - 1), min_size=1, max_size=5), st.integers(-1000, 900))
def test_the_unit_of_weights_is_the_largest_power_of_two_that_divides_them(numbers, exponent):
    unit = unit_exponent(np.ldexp(np.array(numbers, dtype=float), exponent))
    if any(numbers):
        assert unit - exponent == min((k & -k).bit_length() - 1 for k in numbers if k)


def test_nodes_without_weight_leave_limits_exact():
    limits = Limits.of((0.2, 0.2), np.array([0.0, 0.5, 0.25, 0.75]), 2)
    assert (limits.lightest, limits.heaviest, limits.slack) == (0.75, 0.75, 0.0)


def test_an_exact_packing_is_found_if_heaviest_first_fails():
    weights = np.array([3.0, 3.0, 2.0, 2.0, 2.0])
    packing = limits_of((0.0, 0.0), weights, 2).packing
    assert np.bincount(packing, weights).tolist() == [6.0, 6.0]


def test_fewer_nodes_of_positive_weight_than_clusters_raise():
    weights = np.array([1.0, 2.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="There are no 3 clusters that weigh between"):
        limits_of((0.5, 1.5), weights, 3)


@given(st.data())
def test_the_edge_cut_bound_holds_for_every_balanced_partition(data):
    S = data.draw(graphs(min_nodes=3, max_nodes=8))
    n = len(S)
    c, allowed = data.draw(st.integers(2, n - 1)), data.draw(st.sampled_from(BALANCES))
    problem = as_problem(S, "ratio")
    limits = Limits.of(allowed, problem.node_weights, c)
    floors = np.linalg.eigvalsh(problem.operator().toarray())[:c]
    bound = limits.least_edge_cut(floors, float(n))
    for number in range(min(c**n, 3000)):
        labels = np.array([number // c**i % c for i in range(n)])
        if np.unique(labels).size == c and limits.allow(np.bincount(labels)):
            assert bound <= edge_cut(problem, labels) * (1 + 1e-9) + 1e-9


def test_edge_cuts_are_distinguished_and_returned_exactly():
    S = knn_graph(load_iris().data)
    problem = limited(S, 3, edges=True)
    labels = problem.limits.packing.astype(np.int64)
    assert problem.value(labels) == pytest.approx(edge_cut(problem, labels), rel=2.0**-24)
    assert problem.value(labels) <= edge_cut(problem, labels)
    with pytest.raises(ValueError, match=r"add up to .*Multiply them"):
        leastcut.partition(S * 1e300, 3, "edges", balance=0.1)


# -- proofs and suggestions


def test_clusters_without_a_lower_limit_may_be_light():
    """Proofs must not exclude clusters lighter than the rounding of a limit."""
    for light in (1e-10, 1e-30, 1e-290):
        S, weights = np.zeros((4, 4)), [1.0, 1.0, 1.0, light]
        for i, j, weight in [(0, 1, 1.0), (1, 2, 1.0), (0, 2, 1.0), (2, 3, 0.1 * light)]:
            S[i, j] = S[j, i] = weight
        best = leastcut.cut_value(S, [0, 0, 0, 1], weights)
        for allowed in (1.0, (1.0, 1.0)):
            partition = leastcut.partition(
                S, 2, weights, balance=allowed, lower_bound=True, random_state=0
            )
            assert partition.lower_bound <= best
            assert partition.cut_value == best
            assert partition.gap == 0.0


@given(
    st.lists(st.floats(1e-12, 1.0), min_size=3, max_size=8),
    st.integers(2, 3),
    st.sampled_from(BALANCES),
    st.integers(0, 10**6),
)
def test_move_limits_imply_limits_which_imply_proof_limits(weights, c, allowed, seed):
    """In any order of summation of the weights."""
    weights, rng = np.array(weights), np.random.default_rng(seed)
    labels = rng.integers(c, size=weights.size)
    loads = np.bincount(labels, weights, c)
    limits = Limits.of(allowed, weights, c)
    # Limits that the loads reach exactly, on one side or on both.
    tight = replace(limits, lightest=loads.min(), heaviest=loads.max())
    order = rng.permutation(weights.size)
    other = np.bincount(labels[order], weights[order], c)
    for each in (limits, tight, tight.scaled(-90), tight.scaled(90)):
        factor = each.heaviest / tight.heaviest if each is not limits else 1.0
        moves, proofs = each.of_moves(c), each.of_proofs(c)
        if ((other * factor >= moves[0]) & (other * factor <= moves[1])).all():
            assert each.allow(loads * factor)
        if each.allow(loads * factor):
            assert ((other * factor >= proofs[0]) & (other * factor <= proofs[1])).all()
    assert tight.allow(loads)
    above, below = np.nextafter(loads.max(), 9.0), np.nextafter(loads.min(), 0.0)
    assert not tight.allow(np.append(loads, above))
    assert loads.min() == 0.0 or not tight.allow(np.append(loads, below))
    shifted = tight.of_moves(c, 2.0)
    assert (shifted[1] == 2.0 + (tight.heaviest - tight.slack)).all()
    lightest = tight.lightest + tight.slack if tight.lightest > 0.0 else -np.inf
    assert (shifted[0] == 2.0 + lightest).all()


@given(st.lists(st.floats(0.0, 9.0), min_size=2, max_size=6), st.integers(0, 9), st.integers(0, 9))
def test_the_least_edge_cut_is_the_optimum_of_the_linear_program(floors, below, above):
    from scipy.optimize import linprog

    floors = np.sort(floors)
    limits, total = Limits(10.0 - below, 10.0 + above), 10.0 * floors.size
    answer = linprog(
        0.5 * floors,
        A_eq=np.ones((1, floors.size)),
        b_eq=[total],
        bounds=(limits.lightest, limits.heaviest),
    )
    assert limits.least_edge_cut(floors, total) == pytest.approx(answer.fun, abs=1e-7)


@given(st.integers(0, 10**6), st.booleans())
def test_a_proven_edge_cut_has_no_gap(seed, is_integer):
    rng = np.random.default_rng(seed)
    S = np.triu(rng.integers(1, 9, (6, 6)), 1).astype(float) + (0.0 if is_integer else 0.25)
    S = np.triu(S, 1)
    problem = as_problem(S + S.T, "edges", allow_edges=True)
    labels, other = rng.permutation([0, 0, 0, 1, 1, 1]), rng.permutation([0, 0, 0, 1, 1, 1])
    value = edge_cut(problem, labels)
    better = min(value, edge_cut(problem, other))
    # Values of the search are slightly below the edge cut.
    below = value * (1 - 2.0**-30)
    searched = solve_reduced(problem, 2, lambda _: Partition(labels, below, 0.5), [("init", other)])
    assert (searched.cut_value, searched.lower_bound) == (better, 0.5)
    assert edge_cut(problem, searched.labels) == better
    step = EdgeCounting(problem, problem.counting_edges())
    proven = step.expand(Partition(labels, below, below))
    assert proven.cut_value == value
    if is_integer:
        assert proven.lower_bound == value
    else:
        assert value * (1 - 2.0**-21) < proven.lower_bound < value * (1 - 2.0**-23)


@given(st.data())
def test_a_suggested_balance_is_accepted(data):
    """Weights over many orders of magnitude, some of them 0."""
    n, c = data.draw(st.integers(3, 12)), data.draw(st.integers(2, 5))
    assume(c < n)
    exponents = data.draw(st.lists(st.integers(-14, 14), min_size=n, max_size=n))
    digits = data.draw(st.lists(st.integers(0, 999), min_size=n, max_size=n))
    weights = np.array(digits) * 10.0 ** np.array(exponents)
    assume(weights.any())
    allowed = data.draw(st.sampled_from(BALANCES))
    try:
        limits_of(allowed, weights, c)
    except ValueError as error:
        suggestion = str(error).split("balance=")[1].split(", which is enough")[0]
        numbers = [float(number) for number in suggestion.strip("()").split(",")]
        sufficient = (numbers[0], numbers[1]) if len(numbers) == 2 else (None, numbers[0])
        assert (sufficient[0] is None) == (allowed[0] is None)
        limits = limits_of(sufficient, weights, c)
        assert limits.allow(np.bincount(limits.packing, weights, c))
        assert np.unique(limits.packing).size == c
        SUGGESTED.append(True)
    else:
        SUGGESTED.append(False)


SUGGESTED: list[bool] = []


def test_some_balances_were_suggested():
    assert not SUGGESTED or sum(SUGGESTED) >= 0.2 * len(SUGGESTED)

"""The evidence for a number of clusters agrees with slow formulas and literal constants."""

from __future__ import annotations

import itertools
import re

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from conftest import draws, either, saw
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_number_of_clusters import grid, of_points, planted

from leastcut.multilevel import number_of_clusters as module
from leastcut.multilevel.density_gap import (
    _depths,
    _inner_cut,
    _surprise,
    gap_evidence,
    has_depth,
)
from leastcut.multilevel.number_of_clusters import (
    _leak,
    _neighbors,
    _reason,
    _Split,
    _steps,
    _tightened,
    _without_outliers,
    choose_number,
    pairs_needed,
)
from leastcut.problem import as_problem
from leastcut.seeds import as_generator
from leastcut.spectral.relax import relax_problem

CUTS = ["normalized", "ratio"]


@st.composite
def weighted_graphs(draw, least=2, most=14):
    """Draw small graphs, connected or not, with or without self-loops, and labels."""
    n = draw(st.integers(least, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    density = draw(st.sampled_from([0.1, 0.3, 0.8]))
    weights = rng.uniform(0.1, 3.0, (n, n)) * (rng.random((n, n)) < density)
    upper = np.triu(weights, 1)
    S = upper + upper.T
    loops = draw(st.booleans())
    S[np.diag_indices(n)] = rng.uniform(0.1, 2.0, n) if loops else 0.0
    S[np.diag_indices(n)] += S.sum(axis=1) == 0.0
    k = draw(st.integers(1, n))
    labels = np.concatenate([np.arange(k), rng.integers(k, size=n - k)])[rng.permutation(n)]
    return S, labels


def edges_of(S):
    graph = nx.Graph()
    graph.add_nodes_from(range(len(S)))
    pairs = np.argwhere(np.triu(S, 1))
    graph.add_edges_from((i, j, {"weight": S[i, j], "capacity": S[i, j]}) for i, j in pairs)
    return graph


# -- eigenvalues


def steps_slowly(values, floor):
    """Return step and slope by number i, from a line through the next eigenvalues."""
    above = np.asarray(values)[floor:]
    if len(above) <= 3 or above[-1] <= 0.0:
        return {}
    level = [np.log(max(value, 1e-13 * above[-1])) for value in above]
    result = {}
    for i in range(1, len(above) - 3 + 1):
        ranks = range(i + 1, min(i + max(i + 3, 10), len(above)) + 1)
        line = np.polyfit(np.log(ranks), [level[rank - 1] for rank in ranks], 1)
        slope = max(line[0], 5e-3)
        rise = level[i] - level[i - 1]
        step = rise / np.log((i + 1) / i) / slope if rise > 1e-6 else 0.0
        result[floor + i] = step, slope
    return result


@settings(max_examples=draws(150))
@given(st.data())
def test_steps_are_increases_relative_to_a_fitted_line(data):
    count, floor = data.draw(st.integers(1, 40)), data.draw(st.integers(0, 5))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    values = np.sort(10.0 ** rng.uniform(-data.draw(st.sampled_from([0.1, 3, 20])), 0, count))
    if data.draw(st.booleans()):  # repeated or nearly repeated eigenvalues
        values[1::2] = values[: len(values[1::2]) * 2 : 2] * (1 + rng.choice([0.0, 3e-7, 3e-6]))
        values = np.sort(values)
    values[: data.draw(st.integers(0, count))] = 0.0
    result, expected = _steps(values, floor), steps_slowly(values, floor)
    assert result.keys() == expected.keys()
    for k in result:
        assert result[k] == pytest.approx(expected[k], rel=1e-6, abs=1e-12)
        # Scaling the weights scales the eigenvalues.
        assert _steps(16.0 * values, floor)[k] == pytest.approx(result[k], rel=1e-6, abs=1e-12)


@given(
    st.floats(0.0, 50.0),
    st.one_of(st.floats(0.0, 3.0), st.sampled_from([0.1, 0.2, 1.0, 1e3, 1e10])),
    st.one_of(st.floats(0.0, 3.0), st.sampled_from([1.6, 1.8, 2.0])),
)
def test_small_leaks_increase_evidence_and_large_leaks_decrease_it(step, leak, slope):
    if leak >= 1.0:
        expected = step / min(leak, 1e9) ** 3
    else:
        trust = 1.0 if slope <= 1.6 else max((2.0 - slope) / 0.4, 0.0)
        expected = step / max(leak, 0.2) ** trust
    assert _tightened(step, leak, slope) == pytest.approx(expected, rel=1e-9)
    assert _tightened(step, leak + 0.1, slope) <= _tightened(step, leak, slope) * (1 + 1e-12)


def test_pairs_needed_includes_the_tail():
    for most, n in itertools.product(range(1, 30), range(1, 60)):
        assert pairs_needed(most, n) == min(n, most + 11)


# -- clusters


def leak_slowly(S, b, labels, following):
    graph, worst = edges_of(S), 0.0
    for cluster in set(labels.tolist()):
        inside = labels == cluster
        touched = np.zeros(len(S), dtype=bool)
        for component in nx.connected_components(graph):
            touched[list(component)] = inside[list(component)].any()
        rest = touched & ~inside
        if rest.any():
            boundary = S[np.ix_(inside, rest)].sum()
            worst = max(worst, boundary * (1.0 / b[inside].sum() + 1.0 / b[rest].sum()))
    return worst / max(following, np.finfo(float).tiny)


@given(weighted_graphs(), st.sampled_from(CUTS), st.sampled_from([1e-3, 0.5, 1.0, 7.0]))
def test_the_leak_agrees_with_its_definition(case, cut, following):
    S, labels = case
    problem = as_problem(S, cut)
    expected = leak_slowly(S, problem.node_weights, labels, following)
    assert _leak(problem, labels, following) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(weighted_graphs(), st.sampled_from(CUTS))
def test_the_effective_number_of_neighbors_agrees_with_its_definition(case, cut):
    S, _ = case
    off = S - np.diag(np.diag(S))
    counts = [row.sum() ** 2 / (row**2).sum() for row in off if row.any()]
    expected = float(np.median(counts)) if counts else 1.0
    assert _neighbors(as_problem(S, cut)) == pytest.approx(expected, rel=1e-9)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.integers(0, 2**32 - 1))
def test_outliers_are_components_below_a_thirtieth_of_the_average(sizes, seed):
    order = np.random.default_rng(seed).permutation(sum(sizes))
    S = sp.block_diag([np.ones((size, size)) for size in sizes]).toarray()[np.ix_(order, order)]
    component_size = np.repeat(sizes, sizes)[order]
    # The average is over nodes.
    average = sum(size * size for size in sizes) / sum(sizes)
    expected = [
        i for i, size in enumerate(component_size.tolist()) if size * 30 >= average * (1 - 1e-12)
    ]
    assert _without_outliers(as_problem(S)).tolist() == expected


# -- density gaps between clusters


def depths_slowly(S, labels):
    graph, n = edges_of(S), len(S)
    border = {i for i, j in graph.edges if labels[i] != labels[j]}
    border |= {j for i, j in graph.edges if labels[i] != labels[j]}
    inside = nx.Graph((i, j) for i, j in graph.edges if labels[i] == labels[j])
    inside.add_nodes_from(range(n))
    hops = nx.multi_source_dijkstra_path_length(inside, border) if border else {}
    return [hops.get(i, n) for i in range(n)]


@given(weighted_graphs(most=30))
def test_depths_are_numbers_of_hops_from_the_boundary(case):
    S, labels = case
    problem = as_problem(S)
    depth, rows, columns, weights = _depths(problem, labels)
    expected = depths_slowly(S, labels)
    assert depth.tolist() == expected
    same = {(i, j) for i, j in np.argwhere(S).tolist() if labels[i] == labels[j]}
    assert set(zip(rows.tolist(), columns.tolist(), strict=True)) == same
    assert weights.tolist() == S[rows, columns].tolist()
    deep = [
        sum(d >= 3 for d, label in zip(expected, labels, strict=True) if label == k)
        for k in range(labels.max() + 1)
    ]
    assert has_depth(problem, labels) == (min(deep) >= 5)


def flow_slowly(S, members, depth, near, deep):
    """Return the minimum cut between nodes of depth at most ``near`` and at least ``deep``."""
    graph = edges_of(S).subgraph(members.tolist()).copy()
    for i in members.tolist():
        if depth[i] <= near:
            graph.add_edge("source", i)  # no capacity means unlimited
        if depth[i] >= deep:
            graph.add_edge(i, "sink")
    return nx.minimum_cut_value(graph, "source", "sink")


def gap_slowly(S, labels):
    depth, weakest = np.array(depths_slowly(S, labels)), np.inf
    off = S - np.diag(np.diag(S))
    unit = off.sum() / len(S)
    for k in range(labels.max() + 1):
        members = np.flatnonzero(labels == k)
        boundary = off[np.ix_(labels == k, labels != k)].sum()
        if boundary == 0.0:
            continue
        middle, strongest = int(depth[members].max()), 0.0
        for near, deep in ((1, 3), (max(middle // 4, 1), max(middle // 2, 3))):
            if np.count_nonzero(depth[members] >= deep) >= 5:
                inner = flow_slowly(S, members, depth, near, deep)
                ratio = boundary / (0.45 * inner)
                if ratio < 1.0:
                    surprise = 5.0 * inner / unit * (1.0 - ratio + ratio * np.log(ratio))
                    strongest = max(strongest, surprise)
        weakest = min(weakest, strongest)
    return weakest if np.isfinite(weakest) else 0.0


def sheets(rows, columns, bridges, seed, weight=0.3, count=2):
    """Return grids with random weights, in a row, with some edges between consecutive ones."""
    rng, size = np.random.default_rng(seed), rows * columns
    S = sp.block_diag([grid(rows, columns)] * count).toarray()
    for one in range(count - 1):
        for r in rng.permutation(rows)[:bridges]:
            i, j = one * size + r * columns + columns - 1, (one + 1) * size + r * columns
            S[i, j] = S[j, i] = weight
    noise = np.triu(rng.uniform(0.5, 1.5, S.shape), 1)
    return S * (noise + noise.T), np.repeat(np.arange(count), size)


@settings(max_examples=draws(40))
@given(
    st.integers(2, 5),
    st.sampled_from([4, 7, 9, 10, 13]),
    st.integers(1, 3),
    st.sampled_from([0.02, 0.1, 0.3, 2.0]),
    st.integers(0, 99),
    st.sampled_from([None, None, None, 2, 3]),
)
@example(4, 13, 1, 0.02, 0, None)
@example(3, 13, 1, 0.1, 1, None)
@example(5, 10, 1, 0.02, 2, None)
def test_gap_evidence_agrees_with_minimum_cuts(rows, columns, bridges, weight, seed, n_clusters):
    S, labels = sheets(rows, columns, bridges, seed, weight, 2 + seed % 2)
    if n_clusters is not None:  # not at the gap
        labels = (np.arange(len(S)) * n_clusters) // len(S)
    expected = gap_slowly(S, labels)
    for scale in (1.0, 1e-9, 1e9):
        result = gap_evidence(as_problem(scale * S), labels)
        # Capacities are rounded to thousandths of the average degree.
        assert result == pytest.approx(expected, rel=0.02, abs=0.02)
    saw("positive", expected > 0.0)
    saw("zero", expected == 0.0)
    depth = np.array(depths_slowly(S, labels))
    saw("wide", expected > 0.0 and depth[depth < len(S)].max() >= 8)


@given(st.floats(0.0, 5.0), st.floats(0.01, 50.0))
def test_surprise_is_the_rate_function_of_a_poisson_count(boundary, inside):
    """−log of the probability of r m events if m are expected, for large m."""
    mean = inside / 0.2
    ratio = boundary / (0.45 * inside)
    if either(ratio >= 1.0, "as many as expected", "fewer"):
        assert _surprise(boundary, inside) == 0.0
        return
    expected = mean * (1.0 - ratio + (ratio * np.log(ratio) if ratio > 0.0 else 0.0))
    assert _surprise(boundary, inside) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert _surprise(0.0, inside) == pytest.approx(mean)


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.sampled_from([1.0, 1e5, 1e8]))
def test_inner_cuts_are_minimum_cuts_at_any_scale(seed, between, scale):
    rng = np.random.default_rng(seed)
    depth = np.concatenate([[2, 2, 2], np.full(between, 3), np.full(between, 4), [5, 5]])
    n = depth.size
    weights = np.triu(rng.uniform(0.0, scale, (n, n)) * (rng.random((n, n)) < 0.7), 1)
    weights[np.abs(depth[:, None] - depth) > 1] = 0.0
    both = sp.coo_array(weights + weights.T)
    expected = flow_slowly(weights + weights.T, np.arange(n), depth, 2, 5)
    result = _inner_cut(depth, both.row, both.col, both.data)
    assert result == pytest.approx(expected, rel=1e-6, abs=1e-3 * n)


# -- total evidence and selection


def splits_slowly(problem, relaxation, floor, considered, rng):
    """Return step, leak, gap and evidence by number of clusters."""
    seeds = rng.integers(2**32, size=9)
    values, n = relaxation.eigenvalues, problem.n_nodes
    S, b, neighbors = problem.graph.matrix.toarray(), problem.node_weights, _neighbors(problem)
    result, later = {}, {}
    for k, (step, slope) in steps_slowly(values, floor).items():
        if k not in considered:
            continue
        room = n / (k * neighbors)  # nodes of a cluster per neighbor
        usual = np.exp(0.19 + slope * (-0.36 + 0.30 * np.log(max(room, 1.0))))
        step *= np.clip(room - 1.0, 0.0, 1.0)
        least = np.mean(values[:k]) / max(values[k], 1e-300) / usual
        searches = k <= floor + 8 and slope >= 0.25
        if not searches and _tightened(step, least, slope) < (3.0 if floor in considered else 0.0):
            result[k] = step, least, 0.0, _tightened(step, least, slope)
            continue
        labels = module._clusters(problem, relaxation, k)
        leak = leak_slowly(S, b, labels, values[k]) / usual
        result[k] = step, leak, 0.0, _tightened(step, leak, slope)
        if searches:
            later[k] = labels
    most = max((evidence for *_, evidence in result.values()), default=0.0)
    for k, labels in later.items():
        step, leak, _, evidence = result[k]
        depth = np.array(depths_slowly(S, labels))
        deep = min(np.count_nonzero(depth[labels == c] >= 3) for c in range(k))
        if 1.5 * (evidence + 6.5) >= most and deep >= 5:
            gap = gap_slowly(S, module._searched(problem, k, int(seeds[k - floor])))
            result[k] = step, leak, gap, evidence + min(gap, 6.5)
    return result


def choice_slowly(problem, relaxation, numbers, seed):
    """Return the numbers by descending evidence, and whether that of the best is weak."""
    rng, n = as_generator(seed), problem.n_nodes
    nodes = _without_outliers(problem)
    if nodes.size < n:
        problem = problem.restrict(nodes)
        relaxation = relax_problem(
            problem, min(relaxation.n_clusters, nodes.size), random_state=rng
        )
    considered = [k for k in numbers if k <= n]
    floor = problem.graph.components[0]
    result = splits_slowly(problem, relaxation, floor, considered, rng)
    enough = 4.5 + np.log(floor)
    evidence = {k: result[k][3] if k in result else 0.0 for k in considered}
    if floor in evidence:
        evidence[floor] = enough
    return floor, result, enough, evidence


GRAPHS = {
    "components": lambda rng: sp.block_diag([np.ones((m, m)) for m in rng.integers(4, 9, 4)]),
    "outliers": lambda rng: sp.block_diag([np.ones((40, 40)), np.ones((35, 35)), np.ones((1, 1))]),
    "sheets": lambda rng: sheets(5, 13, 2, int(rng.integers(99)))[0],
    "narrow sheets": lambda rng: sheets(3, 16, 1, int(rng.integers(99)), 0.05)[0],
    # With much more evidence for three, gaps for two clusters cannot matter.
    "three sheets": lambda rng: sheets(5, 12, 1, int(rng.integers(99)), 1e-3, 3)[0],
    "grid": lambda rng: grid(6, 15),
    "planted": lambda rng: planted(150, 3, 12, 0.8, int(rng.integers(99))),
    "random": lambda rng: planted(120, 1, 8, 0.0, int(rng.integers(99))),
    "points": lambda rng: of_points(rng.normal(size=(90, 2)) + 4.0 * rng.integers(3, size=(90, 1))),
    "complete": lambda rng: np.ones((12, 12)),
    "line": lambda rng: grid(1, 40),
    "tiny": lambda rng: np.ones((3, 3)),
}


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("numbers", [range(1, 13), [2, 3, 7], [6, 9]])
def test_the_selection_agrees_with_the_formulas(name, cut, numbers):
    rng = np.random.default_rng(len(name))
    problem = as_problem(sp.csr_array(GRAPHS[name](rng)), cut)
    if min(numbers) > problem.n_nodes:
        numbers = [*numbers, 3]
    relaxation = relax_problem(problem, pairs_needed(max(numbers), problem.n_nodes), random_state=0)
    result = choose_number(problem, relaxation, numbers, random_state=5)
    floor, splits, enough, evidence = choice_slowly(problem, relaxation, numbers, 5)
    assert result.numbers.tolist() == sorted(evidence)
    expected = [evidence[k] for k in sorted(evidence)]
    np.testing.assert_allclose(result.evidence, expected, rtol=0.02, atol=1e-6)
    # The most evidence; else the closest to the components; among equals, the largest.
    by_number = dict(zip(result.numbers.tolist(), result.evidence.tolist(), strict=True))
    order = sorted(
        by_number, key=lambda k: (-by_number[k], abs(k - floor) if by_number[k] == 0.0 else 0, -k)
    )
    assert result.n_clusters == order[0]
    assert result.runners_up == tuple(k for k in order[1:] if by_number[k] > 0.0)[:2]
    second = by_number[order[1]] if len(order) > 1 else 0.0
    assert result.is_weak == (by_number[order[0]] < max(1.5 * second, enough))
    assert_reason(result, floor, splits, enough, problem.graph.components[0])


def assert_reason(result, floor, splits, enough, n_components):
    chosen, text = result.n_clusters, result.reason
    evidence = dict(zip(result.numbers.tolist(), result.evidence.tolist(), strict=True))
    number = r"([\d.e+-]+?)"
    outliers = re.search(r"components left out as too small: (\d+)\.$", text)
    assert (int(outliers[1]) if outliers else 0) == n_components - floor
    if chosen in splits and evidence[chosen] > 0.0:
        step, leak, gap, _ = splits[chosen]
        pattern = rf"After the first {chosen}, .* rise {number} times .* leak {number} times as"
        match = re.match(pattern, text)
        assert float(match[1]) == pytest.approx(step, rel=0.006, abs=1e-9)
        assert float(match[2]) == pytest.approx(leak, rel=0.06, abs=1e-9)
        assert ("density gaps" in text) == (gap > 0.0)
        assert ("below the threshold" in text) == (evidence[chosen] < enough)
    elif chosen == floor:
        assert text.startswith("The graph is connected, and does not split") == (floor == 1)
        assert (f"has {floor} connected components, and none" in text) == (floor > 1)
        match = re.search(
            rf"alternative: (\d+) clusters \(evidence {number}, threshold {number}\)", text
        )
        assert (match is not None) == bool(splits)
        if match:
            best = int(match[1])
            assert evidence[best] == max(evidence[k] for k in splits)
            assert float(match[2]) == pytest.approx(evidence[best], rel=0.06, abs=1e-9)
            assert float(match[3]) == pytest.approx(enough, rel=0.06)
    else:
        assert f"of the requested numbers, {chosen} is closest to {floor}" in text


def test_every_kind_of_reason():
    weak, strong = _Split(3.0, 0.5, 0.0, 4.0), _Split(9.0, 0.25, 2.5, 5.0)
    assert _reason(3, 1, 1, {2: weak, 3: strong}, 4.5) == (
        "After the first 3, the eigenvalues rise 9 times as fast as without clusters, and clusters "
        "leak 0.25 times as much; their boundaries are density gaps (evidence 2.5)."
    )
    assert _reason(2, 1, 1, {2: weak}, 4.5) == (
        "After the first 2, the eigenvalues rise 3 times as fast as without clusters, and clusters "
        "leak 0.5 times as much; the evidence is 4, below the threshold 4.5."
    )
    exactly = _Split(3.0, 0.5, 0.0, 4.5)
    assert "threshold" not in _reason(2, 1, 1, {2: exactly}, 4.5)
    assert _reason(1, 1, 3, {2: weak, 3: _Split(1.0, 1.0, 0.0, 0.1)}, 4.5) == (
        "The graph is connected, and does not split; strongest alternative: 2 clusters "
        "(evidence 4, threshold 4.5); components left out as too small: 2."
    )
    assert _reason(2, 2, 2, {}, 4.5) == (
        "The graph has 2 connected components, and none of them splits further."
    )
    nothing = _Split(0.0, 1.0, 0.0, 0.0)
    assert _reason(4, 2, 2, {4: nothing}, 4.5) == (
        "The graph has 2 connected components; of the requested numbers, 4 is closest to 2."
    )


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("name", ["sheets", "planted", "outliers"])
def test_evidence_does_not_depend_on_units_and_node_order(name, cut):
    """Scaling by powers of two is exact; gaps depend on a search."""
    rng = np.random.default_rng(1)
    S = sp.csr_array(GRAPHS[name](rng)).toarray()
    order = rng.permutation(len(S))
    results = []
    for graph in (S, 2.0**-40 * S, 2.0**30 * S, S[np.ix_(order, order)]):
        problem = as_problem(graph, cut)
        relaxation = relax_problem(problem, pairs_needed(6, len(S)), random_state=0)
        results.append(choose_number(problem, relaxation, range(1, 7), random_state=0))
    for other in results[1:]:
        assert other.n_clusters == results[0].n_clusters
    for other in results[1:3]:
        np.testing.assert_allclose(other.evidence, results[0].evidence, rtol=1e-3, atol=1e-6)

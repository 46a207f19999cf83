"""Must-link and cannot-link constraints agree with networkx, enumeration and slow references."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from conftest import draws, either, graphs, saw
from hypothesis import given, settings
from hypothesis import strategies as st

from leastcut import feasibility
from leastcut.constraints import MOST_NAMED, CannotLinks, Constraints
from leastcut.feasibility import (
    _components,
    _peeled,
    _search,
    check_n_clusters,
    color,
    colored,
)
from leastcut.problem import as_problem
from leastcut.reductions import Contraction, reduce
from leastcut.results import Partition

NO_PAIRS = np.empty((0, 2), dtype=np.int64)


def pairs_strategy(n, most, least=0):
    """Draw pairs of different nodes, possibly repeated or reversed."""
    nodes = st.lists(st.integers(0, n - 1), min_size=2, max_size=2, unique=True)
    return st.lists(nodes, min_size=least, max_size=most).map(
        lambda result: np.array(result, dtype=np.int64).reshape(-1, 2)
    )


@st.composite
def conflict_graphs(draw, least=1, most=12):
    """Draw a number of nodes and few to nearly all pairs, or all pairs between a few sets."""
    n = draw(st.integers(max(least, 1), most))
    density = draw(st.sampled_from([0.0, 0.2, 0.5, 0.7, 0.9]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    every = np.array(list(itertools.combinations(range(n), 2)), dtype=np.int64).reshape(-1, 2)
    sets = rng.integers(draw(st.sampled_from([2, 3, 4])), size=n) if draw(st.booleans()) else None
    if sets is not None:
        every = every[sets[every[:, 0]] != sets[every[:, 1]]]
    pairs = every[rng.random(len(every)) < density]
    pairs = np.concatenate([pairs, pairs[: len(pairs) // 3]])  # duplicates
    flipped = rng.random(len(pairs)) < 0.5
    pairs[flipped] = pairs[flipped, ::-1]
    return n, rng.permutation(pairs)


def as_networkx(n, pairs):
    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(np.asarray(pairs).tolist())
    return graph


def as_set(pairs):
    return {tuple(sorted(pair)) for pair in np.asarray(pairs).tolist()}


# -- pairs in CSR format


@given(conflict_graphs(), st.data())
def test_cannot_links_agree_with_a_graph(case, data):
    n, pairs = case
    links, graph = CannotLinks.of(pairs, n), as_networkx(n, pairs)
    assert links.n_nodes == n
    assert links.indptr.dtype == links.indices.dtype == np.int32
    assert links.indptr.tolist() == np.cumsum([0, *(graph.degree(i) for i in range(n))]).tolist()
    for i in range(n):
        assert links.partners(i).tolist() == sorted(graph[i])
    assert links.arrays == (links.indptr, links.indices)
    assert links.pairs.tolist() == sorted(map(list, as_set(pairs)))
    assert links.nodes.tolist() == [i for i in range(n) if graph.degree(i)]
    assert links.coloring is None
    labels = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    expected = [[i, j] for i, j in links.pairs.tolist() if labels[i] == labels[j]]
    assert links.violated(labels).tolist() == expected
    colored = links.colored_by(labels).coloring
    assert colored.tolist() == [labels[i] if graph.degree(i) else -1 for i in range(n)]
    every = np.array(list(itertools.combinations(range(n), 2)), dtype=np.int32).reshape(-1, 2)
    held = links.contain(every[:, 0], every[:, 1])
    assert held.dtype == bool
    assert held.tolist() == [graph.has_edge(i, j) for i, j in every.tolist()]


@given(conflict_graphs(), st.data())
def test_pairs_of_restrictions_and_contractions(case, data):
    n, pairs = case
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    links, graph = CannotLinks.of(pairs, n), as_networkx(n, pairs)
    labels = np.array(list(nx.greedy_color(graph).items()), dtype=np.int64).reshape(-1, 2)
    labels = labels[np.argsort(labels[:, 0]), 1]
    colored = links.colored_by(labels)
    # 1. A subset of the nodes, in random order.
    nodes = rng.permutation(n)[: data.draw(st.integers(1, n))]
    some = colored.restricted(nodes)
    inside = {
        tuple(sorted((a, b)))
        for (a, i), (b, j) in itertools.combinations(enumerate(nodes.tolist()), 2)
        if graph.has_edge(i, j)
    }
    if either(inside, "pairs among them", "none"):
        assert as_set(some.pairs) == inside
        assert some.n_nodes == nodes.size
        assert some.coloring.tolist() == colored.coloring[nodes].tolist()
        assert links.restricted(nodes).coloring is None
    else:
        assert some is None
    # 2. Random groups without a pair: nodes of one color.
    split = 3 * labels + rng.integers(3, size=n)
    parent = np.unique(split, return_inverse=True)[1]
    size = int(parent.max()) + 1
    coarse = colored.contracted(parent, size)
    assert as_set(coarse.pairs) == as_set(parent[links.pairs])
    assert coarse.n_nodes == size
    expected = np.full(size, -1)
    expected[parent[links.nodes]] = labels[links.nodes]
    assert coarse.coloring.tolist() == expected.tolist()
    assert links.contracted(parent, size).coloring is None


def test_contracting_two_colors_drops_the_coloring():
    links = replace(CannotLinks.of(np.array([(0, 1), (1, 2)]), 4), coloring=np.array([0, 1, 2, -1]))
    for parent, kept in (((0, 1, 0, 2), False), ((0, 1, 2, 2), True), ((0, 1, 2, 0), True)):
        result = links.contracted(np.array(parent), 3)
        assert (result.coloring is not None) == kept
        assert as_set(result.pairs) == {(0, 1), (0, 1) if parent[2] == 0 else (1, 2)}


def random_aggregates(rng, n):
    """Return aggregate ids of random groups of nodes."""
    leads = rng.random(n) < 0.4
    leads[rng.integers(n)] = True
    return np.where(leads, np.arange(n), rng.choice(np.flatnonzero(leads), size=n))


@given(conflict_graphs(), st.integers(0, 2**32 - 1))
def test_aggregates_keep_at_most_one_constrained_node(case, seed):
    n, pairs = case
    aggregate_of = random_aggregates(np.random.default_rng(seed), n)
    links, before = CannotLinks.of(pairs, n), aggregate_of.copy()
    paired, expected = set(links.nodes.tolist()), aggregate_of.tolist()
    for lead in set(aggregate_of.tolist()):
        members = [i for i in range(n) if aggregate_of[i] == lead and i in paired]
        stays = lead if lead in paired else min(members, default=lead)
        for i in members:
            expected[i] = lead if i == stays else i
    assert links.one_per_group(aggregate_of).tolist() == expected
    assert np.array_equal(aggregate_of, before)


@given(conflict_graphs(), st.integers(0, 2**32 - 1))
def test_aggregates_lose_nodes_until_they_contain_no_pair(case, seed):
    n, pairs = case
    aggregate_of = random_aggregates(np.random.default_rng(seed), n)
    links, before = CannotLinks.of(pairs, n), aggregate_of.copy()
    expected = aggregate_of.tolist()
    # First the nodes paired with the naming node leave, then the larger of every pair.
    for i in range(n):
        if aggregate_of[i] != i and as_set([(i, aggregate_of[i])]) <= as_set(pairs):
            expected[i] = i
    for i, j in sorted(as_set(pairs)):
        if expected[i] == expected[j]:
            expected[j] = j
    result = links.separated(aggregate_of)
    assert result.tolist() == expected
    assert links.violated(result).size == 0
    assert np.array_equal(aggregate_of, before)


# -- coloring


def colored_slowly(near, nodes, n_colors):
    """Return the colors or None, and the steps, of DSATUR with backtracking."""
    inside, colors, steps = set(nodes), {}, 0

    def go(used):
        nonlocal steps
        left = inside - colors.keys()
        if not left:
            return True

        def order(i):
            met = {colors[j] for j in near[i] if j in colors}
            return -len(met), -len(inside.intersection(near[i])), i

        i = min(left, key=order)
        for k in range(min(used + 1, n_colors)):
            if all(colors.get(j) != k for j in near[i]):
                steps += 1
                colors[i] = k
                if go(max(used, k + 1)):
                    return True
                del colors[i]
        steps += 1
        return False

    return (colors if go(0) else None), steps


@settings(max_examples=draws(150))
@given(conflict_graphs(least=4), st.integers(1, 5))
def test_the_search_takes_the_steps_of_dsatur(case, n_colors):
    n, pairs = case
    links = CannotLinks.of(pairs, n)
    near = [links.partners(i).tolist() for i in range(n)]
    for nodes in map(sorted, nx.connected_components(as_networkx(n, pairs))):
        expected, steps = colored_slowly(near, nodes, n_colors)
        for most in (steps, steps + 1, 10**6):
            colors = [-1] * n
            taken = _search(near, nodes, colors, n_colors, most)
            assert taken == (steps if expected is not None else 0)
            if expected is not None:
                assert {i: k for i, k in enumerate(colors) if k >= 0} == expected
            else:
                assert colors == [-1] * n
        assert _search(near, nodes, [-1] * n, n_colors, steps - 1) is None


@given(conflict_graphs(), st.integers(0, 6))
def test_removed_nodes_are_outside_the_core(case, n_colors):
    n, pairs = case
    links, graph = CannotLinks.of(pairs, n), as_networkx(n, pairs)
    order, gone = _peeled([links.partners(i).tolist() for i in range(n)], n_colors)
    core = set(nx.k_core(graph, n_colors))
    assert [i for i in range(n) if not gone[i]] == sorted(core)
    assert sorted(order) == sorted(set(range(n)) - core)
    for place, i in enumerate(order):
        later = core | set(order[place + 1 :])
        assert len(later.intersection(graph[i])) < n_colors
    nodes = sorted(core)
    expected = {frozenset(one) for one in nx.connected_components(graph.subgraph(nodes))}
    result = _components(links, nodes)
    assert {frozenset(one) for one in result} == expected
    assert sorted(itertools.chain(*result)) == nodes


@settings(max_examples=draws(500))
@given(conflict_graphs(least=3), st.integers(1, 5))
def test_a_coloring_or_the_reason_why_there_is_none(case, n_colors):
    n, pairs = case
    links, graph = CannotLinks.of(pairs, n), as_networkx(n, pairs)
    result = color(links, n_colors)
    every = [links.partners(i).tolist() for i in range(n)]
    possible = all(
        colored_slowly(every, sorted(nodes), n_colors)[0] is not None
        for nodes in nx.connected_components(graph)
    )
    assert result.is_decided
    assert (result.colors is not None) == possible
    if possible:
        assert result.colors.dtype == np.int32
        assert all((k >= 0) == (graph.degree(i) > 0) for i, k in enumerate(result.colors))
        assert result.colors.max() < n_colors
        assert links.violated(result.colors).size == 0
        assert (result.clique, result.enough) == ([], n_colors)
        saw("searched", len(nx.k_core(graph, n_colors)) > 0)
        return
    # A greedy coloring by descending degree.
    by_degree = sorted(graph, key=lambda i: -graph.degree(i))
    first_fit = nx.greedy_color(graph, lambda *_: by_degree)
    assert result.enough == max(first_fit.values()) + 1 > n_colors
    assert result.clique == sorted(set(result.clique))
    assert len(result.clique) in (0, n_colors + 1)
    assert all(graph.has_edge(i, j) for i, j in itertools.combinations(result.clique, 2))
    saw("clique", len(result.clique) > 0)


@pytest.mark.parametrize("n_colors", [2, 3, 5])
def test_a_clique_is_found_among_many_pairs(n_colors):
    """Its nodes have more pairs outside the clique, and the other nodes come first."""
    m, leaves = n_colors + 1, 40
    clique = range(m * leaves, m * leaves + m)
    pairs = list(itertools.combinations(clique, 2))
    pairs += [(node, k * leaves + leaf) for k, node in enumerate(clique) for leaf in range(leaves)]
    result = color(CannotLinks.of(np.array(pairs), m * leaves + m + 3), n_colors)
    assert result.colors is None
    assert result.is_decided
    assert result.clique == list(clique)


def test_clique_search_starts_at_nodes_with_most_pairs():
    """A triangle after a ring of 120 nodes without triangles."""
    ring = [(i, (i + 1) % 120) for i in range(120)]
    spokes = [(120 + i % 3, 4 * i) for i in range(30)]
    triangle = [(120, 121), (121, 122), (120, 122)]
    result = color(CannotLinks.of(np.array(ring + spokes + triangle), 123), 2)
    assert result.colors is None
    assert result.clique == [120, 121, 122]


@pytest.mark.parametrize("n_colors", [1, 2, 4])
def test_errors_name_the_clique_with_the_smallest_nodes(n_colors):
    everybody = np.array(list(itertools.combinations(range(n_colors + 3), 2)))[::-1]
    result = color(CannotLinks.of(everybody, n_colors + 3), n_colors)
    assert result.clique == list(range(n_colors + 1))
    assert result.enough == n_colors + 3


def wheel(first):
    """Return a hub and a ring of five nodes: four colors are needed without a clique of four."""
    ring = [(first + i, first + (i + 1) % 5) for i in range(5)]
    return ring + [(first + i, first + 5) for i in range(5)]


@pytest.mark.parametrize("n_wheels", [1, 2])
def test_a_completed_search_is_decided(n_wheels, monkeypatch):
    pairs = np.concatenate([wheel(6 * k) for k in range(n_wheels)])
    links = CannotLinks.of(pairs, 6 * n_wheels)
    near = [links.partners(i).tolist() for i in range(6)]
    colors, steps = colored_slowly(near, range(6), 3)
    assert colors is None
    for most, decided in ((steps, True), (steps - 1, False)):
        monkeypatch.setattr(feasibility, "MOST_STEPS", most)
        result = color(links, 3)
        assert result.colors is None
        assert (result.is_decided, result.clique, result.enough) == (decided, [], 4)


def octahedron(first):
    """Return an octahedron: it needs exactly three colors, and no node is removed."""
    every = itertools.combinations(range(first, first + 6), 2)
    return [(i, j) for i, j in every if (j - i) != 3]


@pytest.mark.parametrize("n_parts", [1, 2, 3])
def test_the_limit_on_steps_is_for_all_components_together(n_parts, monkeypatch):
    pairs = np.concatenate([octahedron(6 * k) for k in range(n_parts)])
    links = CannotLinks.of(pairs, 6 * n_parts)
    for most, decided in ((6 * n_parts, True), (6 * n_parts - 1, False)):
        monkeypatch.setattr(feasibility, "MOST_STEPS", most)
        result = color(links, 3)
        assert (result.colors is not None) is result.is_decided is decided


# -- validation of links


@st.composite
def linked_nodes(draw):
    """Draw nodes, must-link pairs that often form long chains, and cannot-link pairs."""
    n = draw(st.one_of(st.just(14), st.integers(2, 14)))
    order = np.array(draw(st.permutations(range(n))))
    length = draw(st.one_of(st.just(n - 1), st.integers(0, n - 1)))
    chain = np.stack([order[:length], order[1 : length + 1]], axis=1)
    must = np.concatenate([chain, draw(pairs_strategy(n, 2))])
    flipped = np.array(draw(st.lists(st.booleans(), min_size=len(must), max_size=len(must))))
    must[flipped.astype(bool)] = must[flipped.astype(bool), ::-1]
    cannot = draw(pairs_strategy(n, 5))
    if length > 0 and draw(st.booleans()):
        cannot = np.concatenate([[order[[0, length]]], cannot])
    return n, must, cannot


@settings(max_examples=draws(150))
@given(linked_nodes())
def test_groups_are_connected_components_and_contradictions_are_chains(case):
    n, must, cannot = case
    graph = as_networkx(n, must)
    group = {i: min(one) for one in nx.connected_components(graph) for i in one}
    wrong = [(i, j) for i, j in cannot.tolist() if group[i] == group[j]]
    if not wrong:
        result = Constraints.of(n, must, cannot)
        names = list(dict.fromkeys(group[i] for i in range(n)))
        groups = result.groups(n)
        assert result.are_links == (len(must) > 0 or len(cannot) > 0)
        assert groups.tolist() == [names.index(group[i]) for i in range(n)]
        if len(must):
            np.testing.assert_array_equal(result.must_link, must)
        else:
            assert result.must_link is None
        if len(cannot):
            assert as_set(result.cannot_link.pairs) == as_set(cannot)
            # The pairs between groups after contraction.
            coarse = result.contracted(groups, len(names))
            assert as_set(coarse.cannot_link.pairs) == as_set(groups[cannot])
            assert coarse.must_link is None
        else:
            assert result.cannot_link is None
        saw("groups", len(names) < n)
        return
    with pytest.raises(ValueError, match="must_link joins them") as raised:
        Constraints.of(n, must, cannot)
    text = str(raised.value)
    i, j = wrong[0]
    assert text.startswith(f"cannot_link separates nodes {i} and {j}, but")
    assert count_in(text) == len(wrong)
    chain = re.search(r"joins them: ([\d .-]+?)(?: \(|\. Remove)", text)[1].split(" - ")
    length = nx.shortest_path_length(graph, i, j) + 1
    assert (chain[0], chain[-1]) == (str(i), str(j))
    assert len(chain) == min(length, MOST_NAMED + 1)
    assert ("..." in chain) == (length > MOST_NAMED)
    for a, b in itertools.pairwise(chain):
        assert "..." in (a, b) or graph.has_edge(int(a), int(b))
    if "..." in chain:
        assert chain.index("...") == MOST_NAMED - 2
        saw("long", 1)
    saw("contradictions", 1)


def count_in(text):
    """Return the number of pairs in an error, which is not given for a single one."""
    result = re.search(r" \(the first of (\d+) such pairs\)", text)
    assert result is None or int(result[1]) > 1
    return int(result[1]) if result else 1


@given(st.data())
def test_pairs_out_of_range_are_named_and_counted(data):
    n = data.draw(st.integers(1, 6))
    inside = st.integers(0, n - 1)
    node = st.one_of(inside, inside, inside, st.integers(-2, n + 1))
    pairs = np.array(data.draw(st.lists(st.tuples(node, node), min_size=1, max_size=6)))
    wrong = [k for k, pair in enumerate(pairs.tolist()) if min(pair) < 0 or max(pair) >= n]
    if not either(wrong, "some outside", "none outside"):
        np.testing.assert_array_equal(Constraints.of(n, pairs).must_link, pairs)
        return
    with pytest.raises(ValueError, match=f"numbered from 0 to {n - 1}") as raised:
        Constraints.of(n, pairs)
    i, j = pairs[wrong[0]]
    assert str(raised.value).startswith(f"must_link[{wrong[0]}] is ({i}, {j})")
    assert count_in(str(raised.value)) == len(wrong)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=5))
def test_a_pair_of_a_node_with_itself_is_named(pairs):
    wrong = [k for k, (i, j) in enumerate(pairs) if i == j]
    if not either(wrong, "some with themselves", "none with itself"):
        assert as_set(Constraints.of(3, None, pairs).cannot_link.pairs) == as_set(pairs)
        return
    with pytest.raises(ValueError, match="itself") as raised:
        Constraints.of(3, None, pairs)
    i = pairs[wrong[0]][0]
    assert str(raised.value).startswith(f"cannot_link[{wrong[0]}] is ({i}, {i}),")
    assert count_in(str(raised.value)) == len(wrong)


@pytest.mark.parametrize("empty", [None, [], NO_PAIRS, np.empty((0, 2)).astype(int)])
def test_empty_pairs_are_no_links(empty):
    none = Constraints.of(3, empty, empty)
    assert (none.must_link, none.cannot_link, none.are_links) == (None, None, False)
    one = Constraints.of(3, empty, [(0, 2)])
    assert one.groups(3).tolist() == [0, 1, 2]
    assert one.must_link is None
    assert one.are_links
    assert Constraints.of(3, [(0, 2)], empty).groups(3).tolist() == [0, 1, 0]


@pytest.mark.parametrize("shape", [(1,), (3,), (2, 1), (2, 3), (1, 2, 2), ()])
def test_arrays_without_two_columns_raise(shape):
    with pytest.raises(ValueError, match=r"must have shape \(m, 2\)"):
        Constraints.of(5, np.zeros(shape, dtype=int))


@given(st.integers(3, 7), st.data())
def test_infeasible_numbers_of_clusters_raise_and_name_the_pairs(n, data):
    must, cannot = data.draw(pairs_strategy(n, 2)), data.draw(pairs_strategy(n, 15))
    n_clusters = data.draw(st.integers(1, n + 1))
    groups = np.unique(
        [min(nx.node_connected_component(as_networkx(n, must), i)) for i in range(n)],
        return_inverse=True,
    )[1]
    cannot = cannot[groups[cannot[:, 0]] != groups[cannot[:, 1]]]
    constraints = Constraints.of(n, must, cannot)
    if either(n_clusters > groups.max() + 1, "too many", "not too many"):
        for is_feasible in (False, True):
            with pytest.raises(ValueError, match=f"leave {groups.max() + 1} groups"):
                check_n_clusters(constraints, n, n_clusters, is_feasible)
        return
    check_n_clusters(constraints, n, n_clusters, True)
    result = color(CannotLinks.of(groups[cannot], groups.max() + 1), n_clusters)
    if either(result.colors is not None, "enough", "too few"):
        check_n_clusters(constraints, n, n_clusters)
        return
    with pytest.raises(ValueError, match=f"^n_clusters={n_clusters} is too small: "):
        check_n_clusters(constraints, n, n_clusters)


@given(st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_errors_name_the_pairs_of_a_clique(size, seed):
    """All pairs of ``size`` groups, which one cluster less cannot separate."""
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.concatenate([np.arange(size), rng.integers(size, size=6)]))
    every = np.array(list(itertools.combinations(range(size), 2)))
    cannot = np.array([[rng.choice(np.flatnonzero(groups == k)) for k in pair] for pair in every])
    cannot = rng.permutation(np.concatenate([cannot, cannot[:2, ::-1]]))
    members = [np.flatnonzero(groups == k) for k in range(size)]
    must = np.concatenate([np.stack([nodes[:-1], nodes[1:]], axis=1) for nodes in members])
    constraints = Constraints.of(groups.size, must, cannot)
    with pytest.raises(ValueError, match="cannot_link pairs") as raised:
        check_n_clusters(constraints, groups.size, size - 1)
    text = str(raised.value)
    named = re.search(r"pairs (.*?)(?: and (\d+) more)? separate (\d+) nodes .*=(\d+) or ", text)
    pairs = [tuple(map(int, pair)) for pair in re.findall(r"\((\d+), (\d+)\)", named[1])]
    assert set(pairs) <= as_set(cannot)
    assert len(as_set(groups[pairs])) == len(pairs) == min(len(every), MOST_NAMED)
    assert int(named[2] or 0) == max(len(every) - MOST_NAMED, 0)
    assert named[3] == named[4] == str(size)
    assert f"({size} are enough" in text


@given(st.data())
def test_errors_name_the_first_violated_pair(data):
    n = 6
    labels = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    must, cannot = data.draw(pairs_strategy(n, 3)), data.draw(pairs_strategy(n, 3))
    links = CannotLinks.of(cannot, n) if len(cannot) else None
    result = Constraints(must if len(must) else None, links)
    split = [tuple(p) for p in must.tolist() if labels[p[0]] != labels[p[1]]]
    together = [p for p in sorted(as_set(cannot)) if labels[p[0]] == labels[p[1]]]
    if not either(split or together, "some violated", "none violated"):
        result.check_labels(labels, "init")
        return
    (i, j), kind = (split or together)[0], "must_link" if split else "cannot_link"
    place = "in different clusters" if split else "in one cluster"
    with pytest.raises(
        ValueError, match=rf"^init has nodes {i} and {j} {place}, which {kind} f"
    ) as r:
        result.check_labels(labels, "init")
    assert count_in(str(r.value)) == len(split or together)


# -- contraction


@given(graphs(min_nodes=2, max_nodes=9), st.data())
def test_contraction_sums_weights_and_preserves_values(S, data):
    n, cut = len(S), data.draw(st.sampled_from(["normalized", "ratio"]))
    problem = as_problem(S, cut)
    raw = data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    groups = np.array([list(dict.fromkeys(raw)).index(k) for k in raw])
    size = int(groups.max()) + 1
    contraction = Contraction.of(problem, groups)
    indicator = np.eye(size)[groups]
    matrix = contraction.problem.graph.matrix.toarray()
    off = ~np.eye(size, dtype=bool)
    np.testing.assert_allclose(matrix[off], (indicator.T @ S @ indicator)[off], rtol=1e-12)
    np.testing.assert_array_equal(matrix, matrix.T)
    weights = contraction.problem.node_weights
    np.testing.assert_allclose(weights, indicator.T @ problem.node_weights, rtol=1e-12)
    coarse = np.random.default_rng(0).permutation(size)
    coarse_again = contraction.restrict(coarse[groups])
    assert coarse_again.tolist() == coarse.tolist()
    assert coarse_again.dtype == coarse.dtype
    value = problem.value(coarse[groups])
    assert contraction.problem.value(coarse) == pytest.approx(value, rel=1e-9, abs=1e-12)
    for bound, expected in ((None, None), (value + 7.0, value)):
        result = contraction.expand(Partition(coarse, value + 7.0, bound))
        assert result.labels.tolist() == coarse[groups].tolist()
        assert result.cut_value == value
        assert result.lower_bound == expected
    # Other bounds are decreased by four rounding units per stored edge and node.
    loss = 4.0 * np.finfo(float).eps * (problem.graph.n_stored + n)
    result = contraction.expand(Partition(coarse, value + 7.0, 1.0))
    assert result.lower_bound == pytest.approx(1.0 - loss, rel=0.1 * loss)


@given(conflict_graphs(least=2, most=8))
def test_with_two_clusters_the_sides_of_components_are_contracted(case):
    n, pairs = case
    allowed = [
        labels
        for labels in itertools.product(range(2), repeat=n)
        if all(labels[i] != labels[j] for i, j in pairs.tolist())
    ]
    problem = as_problem(np.ones((n, n)), cannot_link=pairs)
    if not either(allowed, "allowed", "refused"):
        with pytest.raises(ValueError, match="n_clusters=2"):
            reduce(problem, 2)
        return
    steps = reduce(problem, 2).steps
    result = steps[-1].groups if len(pairs) else np.arange(n)
    assert len(steps) == (len(pairs) > 0)
    assert list(dict.fromkeys(result.tolist())) == list(range(int(result.max()) + 1))
    for i, j in itertools.combinations(range(n), 2):
        assert (result[i] == result[j]) == all(labels[i] == labels[j] for labels in allowed)


def test_a_start_is_used_as_the_coloring():
    pairs = np.array([(0, 1), (1, 3)])
    constraints = Constraints.of(5, None, pairs)
    first, second = np.array([2, 0, 1, 1, 0]), np.array([0, 1, 0, 0, 0])
    for initial in ([first], [first, second]):
        links = colored(constraints, 5, 3, initial).cannot_link
        assert links.coloring.tolist() == [2, 0, -1, 1, -1]
    result = colored(constraints, 5, 3).cannot_link
    assert result.violated(result.coloring).size == 0
    assert result.pairs.tolist() == pairs.tolist()

"""Paths and automatic numbers of clusters agree with dense eigenvalues and slow references."""

from __future__ import annotations

import re
import warnings
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from test_cut_path import random_graph
from test_number_of_clusters import planted

import leastcut
from leastcut import EFFORTS, SpectralClustering
from leastcut.budget import Budget
from leastcut.multilevel.cut_path import (
    check_numbers,
    cut_path_problem,
)
from leastcut.multilevel.number_of_clusters import (
    Choice,
    auto_number,
    choice_of,
    choose_number,
    pairs_needed,
)
from leastcut.multilevel.path_search import _intersections, _Path, merged, path_partitions
from leastcut.multilevel.refinement import refine_problem
from leastcut.problem import as_problem
from leastcut.seeds import as_seed
from leastcut.spectral.relax import relax_problem

CUTS = ["normalized", "ratio"]
ROUNDS = {"fast": 1, "auto": 1, "balanced": 8}


def empty_path(problem, numbers):
    return _Path(problem, numbers, 0, 1, Budget())


# -- the search


@given(st.integers(1, 12), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_intersections_agree_with_sets(n, count, seed):
    rng = np.random.default_rng(seed)
    partitions = [rng.integers(rng.integers(1, 5), size=n) for _ in range(count)]
    cells = _intersections(partitions)
    assert cells.dtype == np.int32
    together = list(zip(*(labels.tolist() for labels in partitions), strict=True))
    assert set(cells.tolist()) == set(range(len(set(together))))
    assert len(set(zip(cells.tolist(), together, strict=True))) == len(set(together))


@given(st.lists(st.integers(1, 60), min_size=1, max_size=15, unique=True).map(sorted))
def test_close_numbers_and_the_ends_of_runs(numbers):
    path = empty_path(as_problem(random_graph(0, 61, 0.1)), numbers)
    searched = [k for k in numbers if 1 < k < 61]
    ends = []
    for k in searched:
        below, above = ([j for j in searched if j < k][-1:], [j for j in searched if j > k][:1])
        near = [j for j in below + above if abs(j - k) == 1 or abs(j - k) <= min(j, k) / 4]
        assert path._near(k) == near
        if k < 4 or len(near) < 2:
            ends.append(k)
    assert path._ends() == ends


@pytest.mark.parametrize("cut", CUTS)
@given(st.integers(0, 2**32 - 1))
@settings(max_examples=draws(10))
def test_partitions_worse_than_with_more_clusters_are_replaced_by_merging(cut, seed):
    rng, numbers = np.random.default_rng(seed), [2, 3, 4, 6]
    problem = as_problem(random_graph(seed % 1000, 24, 0.3), cut)
    path = empty_path(problem, numbers)
    for k in numbers:
        tried = [np.concatenate([np.arange(k), rng.integers(k, size=24 - k)]) for _ in range(3)]
        values = [problem.value(labels) for labels in tried]
        for labels in tried:
            path.consider(k, labels)
        assert path.best[k].tolist() == tried[int(np.argmin(values))].tolist()
        assert path._values[k] == min(values)
    # The last is the best by far, so all others are replaced.
    result = path.finished()
    following = None
    for k, one in reversed(list(zip(numbers, result, strict=True))):
        value = refine_problem(problem, path.best[k].astype(np.int64)).cut_value
        if following is not None and following.cut_value < value:
            joined = merged(problem.within_range(), following.labels, k).astype(np.int64)
            value = min(value, refine_problem(problem, joined).cut_value)
        assert one.cut_value == pytest.approx(value, rel=1e-12)
        assert one.cut_value == problem.value(one.labels)
        assert list(dict.fromkeys(one.labels.tolist())) == list(range(k))
        following = one


def test_the_first_of_equal_partitions_is_kept():
    path = empty_path(as_problem(np.ones((4, 4))), [2])
    path.consider(2, np.array([0, 0, 1, 1]))
    path.consider(2, np.array([0, 1, 0, 1]))
    assert path.best[2].tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("effort", ROUNDS)
def test_progress_counts_all_searches_and_rounds(effort):
    problem, numbers, seen = as_problem(random_graph(3, 40, 0.2)), [1, 3, 4, 5, 20, 40], []
    result = path_partitions(
        problem, numbers, effort=effort, seed=0, budget=Budget(callback=seen.append)
    )
    stages = [one.stage for one in seen]
    assert list(dict.fromkeys(stages)) == list(EFFORTS[effort].stages)
    smallest = {}
    for stage in EFFORTS[effort].stages:
        reports = [one for one in seen if one.stage == stage]
        # First all numbers; then 3 and the numbers without two close ones.
        fits = numbers if stage == EFFORTS[effort].stages[0] else [3, 5, 20]
        down = [20, 5, 4, 3]
        rounds = [*(down if k % 2 == 0 else down[::-1] for k in range(ROUNDS[stage]))]
        expected = [*fits, *np.concatenate(rounds).tolist()]
        fractions = [one.fraction for one in reports]
        assert [one.n_clusters for one in reports] == expected
        assert fractions == [step / len(expected) for step in range(1, len(expected) + 1)]
        for one in reports:
            assert one.cut_value <= smallest.get(one.n_clusters, np.inf)
            smallest[one.n_clusters] = one.cut_value
    assert all(one.seconds <= other.seconds for one, other in pairwise(seen))
    for k, one in zip(numbers, result, strict=True):
        assert one.cut_value <= smallest[k] * (1 + 1e-12)


@pytest.mark.parametrize("after", [1, 3, 6, 8])
def test_a_stopped_search_has_a_partition_for_every_number(after):
    problem, numbers, seen = as_problem(random_graph(3, 40, 0.2)), [1, 3, 4, 5, 20, 40], []

    def stop(progress):
        seen.append(progress)
        return len(seen) == after

    result = path_partitions(
        problem, numbers, effort="balanced", seed=0, budget=Budget(callback=stop)
    )
    assert len(seen) == after
    for k, one in zip(numbers, result, strict=True):
        assert set(one.labels.tolist()) == set(range(k))
        assert one.cut_value == problem.value(one.labels)
    values = [one.cut_value for one in result]
    assert all(few <= many * (1 + 1e-12) for few, many in pairwise(values))


def test_trivial_numbers_are_not_searched_for():
    S = sp.block_diag([random_graph(seed, 12, 0.5) for seed in range(3)], format="csr")
    path = empty_path(as_problem(S), [1, 2, 3, 4, 35, 36])
    assert path._open == [4, 35]
    result = path_partitions(as_problem(S), [1, 2, 3, 4, 36], effort="fast", seed=0)
    assert [one.cut_value for one in result][:3] == [0.0, 0.0, 0.0]
    assert result[2].labels.tolist() == np.repeat([0, 1, 2], 12).tolist()
    assert result[3].cut_value > 0.0
    assert result[4].labels.tolist() == list(range(36))


# -- the path


def dense_eigenvalues(S, cut):
    degree = S.sum(axis=1)
    b = degree if cut == "normalized" else np.ones(len(S))
    return np.linalg.eigvalsh((np.diag(degree) - S) / np.sqrt(np.outer(b, b)))


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("numbers", [[1, 2, 3, 5], [2, 9, 18], range(1, 19)])
def test_a_path_agrees_with_dense_eigenvalues(cut, numbers):
    S = sp.block_diag([random_graph(seed, 9, 0.5) for seed in range(2)]).toarray()
    problem, values = as_problem(S, cut), np.append(dense_eigenvalues(S, cut), np.nan)
    path = cut_path_problem(problem, [*numbers, 19, 40], effort="fast", random_state=7)
    numbers = list(numbers)
    assert path.n_clusters.tolist() == list(path) == numbers
    assert len(path) == len(numbers)
    assert path.n_components == 2
    assert path.eigenvalues.shape == (min(18, max(numbers) + 11),)
    gaps = [values[k] - values[k - 1] for k in numbers]
    np.testing.assert_allclose(path.eigengaps, gaps, atol=1e-7)
    for i, k in enumerate(numbers):
        bound = 0.0 if k <= 2 else values[:k].sum()
        assert path.lower_bounds[i] == pytest.approx(bound, abs=1e-6)
        assert k > 2 or path.lower_bounds[i] == 0.0
        one = path[k]
        assert one.labels.tolist() == path.labels[i].tolist()
        assert one.cut_value == path.cut_values[i] == problem.value(one.labels)
        assert one.lower_bound == path.lower_bounds[i]
        gap = 1.0 - one.lower_bound / one.cut_value if one.cut_value else 0.0
        assert path.gaps[i] == one.gap == pytest.approx(gap, abs=1e-12)
    count = min(18, max(numbers) + 11)
    alone = choose_number(problem, path.relaxation.leading(count), numbers, random_state=7)
    np.testing.assert_array_equal(path.evidence, alone.evidence)
    assert path.best == alone.n_clusters
    table = path.table()
    for name, column in (("evidence", path.evidence), ("eigengap", path.eigengaps)):
        np.testing.assert_array_equal(table[name], column)
    np.testing.assert_array_equal(table["cut_value"], path.cut_values)
    np.testing.assert_array_equal(table["lower_bound"], path.lower_bounds)
    np.testing.assert_array_equal(table["gap"], path.gaps)


def test_the_selection_uses_only_the_eigenpairs_it_needs():
    problem = as_problem(planted(80, 2, 10, 0.8))
    every = relax_problem(problem, 60, random_state=0)
    expected = choose_number(problem, every.leading(16), [2, 3, 5], random_state=4)
    result = choice_of(problem, [2, 3, 5], every, 4)
    np.testing.assert_array_equal(result.evidence, expected.evidence)
    fewer = choice_of(problem, [2, 3, 5], every.leading(9), 4)
    expected = choose_number(problem, every.leading(9), [2, 3, 5], random_state=4)
    np.testing.assert_array_equal(fewer.evidence, expected.evidence)
    alone = choice_of(problem, [5], every, 4)
    assert (alone.n_clusters, alone.runners_up, alone.is_weak) == (5, (), False)
    assert np.isnan(alone.evidence).tolist() == [True]
    assert [pairs_needed(5, n) for n in (4, 5, 6, 15, 16, 17, 99)] == [4, 5, 6, 15, 16, 16, 16]


def test_numbers_are_sorted_and_seeds_are_respected():
    for numbers in ([5, 2, 5, 3], (5, 3, 2), iter([3, 2, 5, 2]), np.array([2, 5, 3])):
        assert check_numbers(numbers) == [2, 3, 5]
    assert as_seed(5) == as_seed(np.int64(5)) == 5
    generator, same = np.random.default_rng(1), np.random.default_rng(1)
    assert as_seed(generator, 2**32) == same.integers(2**32)
    assert generator.integers(100) == same.integers(100)
    problem = as_problem(planted(60, 3, 6, 0.8))
    generator, same = np.random.default_rng(1), np.random.default_rng(1)
    path, expected = (
        cut_path_problem(problem, [2, 3, 5], effort="fast", random_state=seed)
        for seed in (generator, same.integers(2**32))
    )
    np.testing.assert_array_equal(path.evidence, expected.evidence)
    np.testing.assert_array_equal(path.relaxation.eigenvectors, expected.relaxation.eigenvectors)
    np.testing.assert_array_equal(path.labels, expected.labels)
    assert generator.integers(100) == same.integers(100)


def test_runners_up_are_named_only_if_the_evidence_is_weak():
    for runners_up, is_weak, expected in (
        ((3, 2), True, "Why. The evidence is weak: the number could also be 3 or 2."),
        ((3,), True, "Why. The evidence is weak: the number could also be 3."),
        ((), True, "Why."),
        ((3, 2), False, "Why."),
    ):
        choice = Choice(4, np.array([4]), np.array([1.0]), "Why.", runners_up, is_weak)
        assert choice.explanation == expected


# -- an automatic number


def automatic(S, cut="normalized", seed=0):
    """Return the selected number, and the text of the warning or None."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = auto_number(as_problem(S, cut), seed)
    assert len(caught) <= 1
    return result, str(caught[0].message) if caught else None


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("strength", [0.0, 0.35, 0.45, 0.55, 0.65, 0.9])
def test_the_automatic_number_agrees_with_the_selection(cut, strength):
    S = planted(160, 2, 12, strength, seed=3)
    isolated = sp.block_diag([S, sp.csr_array((3, 3))], format="csr")
    if cut == "ratio":
        isolated = S
    # Eigenpairs of the nodes with edges, with a tolerance of 1e-3.
    core = as_problem(S, cut)
    core = core.restrict(core.graph.connected)
    relaxation = relax_problem(core, 31, random_state=5, tol=1e-3)
    choice = choose_number(core, relaxation, range(1, 21), random_state=5)
    problem_cut = cut if cut == "ratio" else "normalized"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        problem = as_problem(isolated, problem_cut, isolated="ignore")
        result = auto_number(problem, 5)
    texts = [str(one.message) for one in caught if "evidence" in str(one.message)]
    assert result == choice.n_clusters
    assert bool(texts) == choice.is_weak
    for text in texts:
        assert text.startswith(f"The evidence for n_clusters={result} is weak")
        others = re.search(r"the number could also be ([\d or]+)\. ", text)
        assert (others[1] if others else "") == " or ".join(map(str, choice.runners_up))
        assert choice.reason in text


def test_the_automatic_number_is_between_one_and_twenty():
    blocks = [np.ones((4, 4))] * 25
    assert automatic(sp.block_diag(blocks[:20], format="csr")) == (20, None)
    number, text = automatic(sp.block_diag(blocks, format="csr"))
    assert number == 20
    assert "25 connected components" in text
    assert automatic(np.ones((1, 1))) == (1, None)
    two = np.ones((2, 2)) - np.eye(2)
    assert automatic(two)[0] == choose_two(two)
    assert automatic(sp.block_diag([np.ones((1, 1))] * 2, format="csr"))[0] == 2
    generator, same = np.random.default_rng(1), np.random.default_rng(1)
    auto_number(as_problem(two), generator)
    same.integers(2**32)
    assert generator.integers(100) == same.integers(100)


def choose_two(S):
    problem = as_problem(S)
    relaxation = relax_problem(problem, 2, random_state=0, tol=1e-3)
    return choose_number(problem, relaxation, [1, 2], random_state=0).n_clusters


@pytest.mark.parametrize("solver", ["multilevel", "spectral"])
@pytest.mark.parametrize("most", [2, 5, None])
def test_a_fit_considers_all_numbers_up_to_its_limit(solver, most):
    S = planted(90, 3, 12, 0.85, seed=1)
    options = {"n_components": 40} if solver == "spectral" else {}
    model = SpectralClustering(
        "auto", solver=solver, max_clusters=most, affinity="precomputed", random_state=4, **options
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(S)
    texts = [str(one.message) for one in caught if "evidence" in str(one.message)]
    path, last = model.cut_path_, most or 20
    assert list(path) == list(range(1, last + 1))
    assert path.best == model.n_clusters_
    assert bool(texts) == path.choice.is_weak
    assert all(path.choice.reason in text for text in texts)
    # The eigenpairs that the selection needs, and for the spectral solver those for the labels.
    assert path.eigenvalues.shape == (40 if solver == "spectral" else last + 11,)
    problem = as_problem(S)
    for k in path:
        assert path[k].cut_value == pytest.approx(problem.value(path[k].labels))
    assert path[model.n_clusters_].cut_value <= model.cut_value_
    tol = {} if solver == "spectral" else {"tol": 1e-3}
    relaxation = relax_problem(problem, len(path.eigenvalues), random_state=0, **tol)
    expected = choice_of(problem, range(1, last + 1), relaxation, 0)
    assert path.best == expected.n_clusters
    np.testing.assert_allclose(path.evidence, expected.evidence, rtol=0.3, atol=0.3)


def test_numbers_do_not_exceed_the_number_of_nodes():
    for n, isolated in ((2, 0), (4, 0), (4, 3), (2, 1)):
        S = sp.block_diag([np.ones((n, n)), sp.csr_array((isolated, isolated))], format="csr")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = SpectralClustering("auto", affinity="precomputed", random_state=0).fit(S)
        assert list(model.cut_path_) == list(range(1, n + 1))


def test_all_interfaces_select_the_same_number():
    S = planted(120, 3, 14, 0.85, seed=2)
    result = leastcut.partition(S, "auto", random_state=0)
    assert result.labels.max() + 1 == automatic(S)[0]
    model = SpectralClustering("auto", affinity="precomputed", random_state=0).fit(S)
    assert (
        model.n_clusters_
        == leastcut.cut_path(S, range(1, 21), affinity="precomputed", random_state=0).best
        == automatic(S)[0]
        == 3
    )

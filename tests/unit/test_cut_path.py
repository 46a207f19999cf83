"""Cut paths: one relaxation and a joint search for many numbers of clusters."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import draws, graphs, knn_graph
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_wine, make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import scale

from leastcut import (
    EFFORTS,
    SpectralClustering,
    cut_path,
    cut_value,
    exact_partition,
    partition,
    refine,
    relax,
)
from leastcut.estimators import fitted as fitted_module
from leastcut.graph import as_graph
from leastcut.multilevel import cut_path as module
from leastcut.multilevel import number_of_clusters
from leastcut.multilevel.cut_path import cut_path_problem
from leastcut.multilevel.number_of_clusters import Choice, pairs_needed
from leastcut.multilevel.path_search import SWEEPS, merged, path_partitions
from leastcut.problem import as_problem
from leastcut.spectral.relax import relax_problem

SIX = [[0, 0], [9, 0], [0, 9], [9, 9], [4, 18], [18, 4]]
CUTS = ["normalized", "ratio"]
ROUNDING = 1e-12


def assert_non_decreasing(values):
    """Check that values are non-decreasing, up to rounding."""
    values = np.asarray(values)
    assert (values[:-1] <= values[1:] * (1 + ROUNDING)).all(), values


# -- the partitions of a path


@pytest.mark.parametrize("cut", CUTS)
@given(graph=graphs(min_nodes=3), effort=st.sampled_from(["fast", "balanced"]))
def test_every_row_is_a_valid_partition_with_its_bound(cut, graph, effort):
    n = graph.shape[0]
    options = {"affinity": "precomputed", "cut": cut, "effort": effort, "random_state": 0}
    path = cut_path(graph, range(1, 2 * n), **options)
    assert list(path) == list(range(1, n + 1))
    n_components = as_graph(graph).components[0]
    for k in path:
        result = path[k]
        assert set(result.labels) == set(range(k))
        assert result.cut_value == pytest.approx(cut_value(graph, result.labels, cut))
        assert (result.cut_value == 0.0) == (k <= n_components)
        alone = relax(graph, k, cut, random_state=0).lower_bound
        assert result.lower_bound == pytest.approx(alone, abs=1e-6)
        assert result.lower_bound <= result.cut_value * (1 + 1e-9) + 1e-12
        assert 0.0 <= result.gap <= 1.0
    assert_non_decreasing(path.cut_values)


def random_graph(seed: int, n: int, density: float) -> sp.csr_array:
    """Return a random connected graph with weights over three orders of magnitude."""
    rng = np.random.default_rng(seed)
    upper = np.triu(10.0 ** rng.uniform(-2, 1, (n, n)) * (rng.random((n, n)) < density), 1)
    upper[np.arange(n - 1), np.arange(1, n)] += 0.01
    return sp.csr_array(upper + upper.T)


@st.composite
def larger_graphs(draw):
    """Draw graphs that are too large for enumeration."""
    seed, n = draw(st.integers(0, 10_000)), draw(st.integers(21, 70))
    return random_graph(seed, n, draw(st.sampled_from([0.05, 0.2, 0.6])))


NUMBERS = st.lists(st.integers(1, 21), min_size=1, max_size=12, unique=True).map(sorted)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("cut", CUTS)
@settings(max_examples=draws(8))
@given(graph=larger_graphs(), numbers=NUMBERS, seed=st.integers(0, 5))
def test_values_are_non_decreasing_in_k_and_non_increasing_in_effort(cut, graph, numbers, seed):
    problem = as_problem(graph, cut)
    before = None
    for effort in ("fast", "balanced"):
        result = path_partitions(problem, numbers, effort=effort, seed=seed)
        values = np.array([one.cut_value for one in result])
        assert_non_decreasing(values)
        for k, one in zip(numbers, result, strict=True):
            assert set(one.labels) == set(range(k))
            assert one.cut_value == problem.value(one.labels)
            # No move of one node decreases it.
            assert refine(graph, one.labels, cut).cut_value >= one.cut_value * (1 - 1e-9)
        if before is not None:
            assert (values <= before * (1 + ROUNDING)).all()
        before = values


@pytest.mark.parametrize("cut", CUTS)
@given(graph=larger_graphs(), numbers=NUMBERS, seed=st.integers(0, 5))
def test_no_value_is_larger_than_that_of_a_fast_search(cut, graph, numbers, seed):
    result = cut_path(
        graph, numbers, affinity="precomputed", cut=cut, effort="fast", random_state=seed
    )
    for k in result:
        alone = partition(graph, k, cut, effort="fast", random_state=seed)
        assert result[k].cut_value <= alone.cut_value * (1 + ROUNDING)


@pytest.mark.parametrize("cut", CUTS)
@given(graph=graphs(min_nodes=3, max_nodes=9, connected=True))
def test_no_value_is_below_the_proven_optimum(cut, graph):
    path = cut_path(graph, range(1, 6), affinity="precomputed", cut=cut, random_state=0)
    for k in path:
        best = exact_partition(graph, k, cut).cut_value
        assert path[k].cut_value >= best * (1 - 1e-9)


@given(
    graph=larger_graphs(),
    many=st.integers(3, 20),
    few=st.integers(2, 19),
    seed=st.integers(0, 99),
    weighted=st.booleans(),
)
def test_merging_clusters_never_increases_the_value(graph, many, few, seed, weighted):
    """This theorem makes values non-decreasing, for any partition and any node weights."""
    few, rng = min(few, many - 1), np.random.default_rng(seed)
    n = graph.shape[0]
    problem = as_problem(graph, 10.0 ** rng.uniform(-3, 3, n) if weighted else "normalized")
    labels = rng.permutation(np.concatenate([np.arange(many), rng.integers(many, size=n - many)]))
    joined = merged(problem, labels, few)
    assert set(joined) == set(range(few))
    # No cluster is split.
    assert len(set(zip(labels.tolist(), joined.tolist(), strict=True))) == many
    assert problem.value(joined) <= problem.value(labels) * (1 + ROUNDING)


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("numbers", [range(2, 12), [2, 8, 32]])
def test_values_of_moons_are_non_decreasing(cut, numbers):
    X, _ = make_moons(500, noise=0.06, random_state=0)
    assert_non_decreasing(cut_path(X, numbers, cut=cut, random_state=0).cut_values)


def test_starts_are_used():
    X, _ = make_blobs(200, centers=5, random_state=0)
    problem = as_problem(knn_graph(X))
    best = partition(problem.graph, 5, effort="thorough", random_state=3)
    result = path_partitions(problem, [4, 5], effort="fast", seed=0, starts={5: best.labels})
    assert result[1].cut_value <= best.cut_value
    assert_non_decreasing([one.cut_value for one in result])


def test_every_effort_has_sweeps():
    assert set(SWEEPS) == set(EFFORTS)


def test_the_relaxation_is_computed_once(monkeypatch):
    X = scale(load_wine().data)
    calls = []

    def counted(problem, n_clusters, **options):
        calls.append(n_clusters)
        return relax_problem(problem, n_clusters, **options)

    monkeypatch.setattr(module, "relax_problem", counted)
    path = cut_path(X, range(2, 12), random_state=0)
    assert len(path) == 10
    assert calls == [max(12, pairs_needed(11, 178))]


@pytest.mark.parametrize("seed", [lambda: 1, lambda: np.random.default_rng(1)])
def test_the_same_seed_gives_the_same_path(seed):
    X, _ = make_blobs(100, centers=4, random_state=2)
    first, second = (cut_path(X, [3, 6], random_state=seed()) for _ in range(2))
    np.testing.assert_array_equal(first.labels, second.labels)


def test_the_table_and_the_text_show_the_evidence():
    X, _ = make_blobs(100, centers=4, random_state=2)
    path = cut_path(X, range(2, 6), random_state=0)
    names = ["n_clusters", "evidence", "eigengap", "cut_value", "lower_bound", "gap"]
    assert list(path.table()) == names
    *lines, reason = str(path).splitlines()
    assert len(lines) == 5
    assert reason == path.reason == path.choice.reason
    assert path.best == path.choice.n_clusters
    assert repr(path) == f"CutPath(n_clusters=[2, 3, 4, 5], best={path.best})"
    with pytest.raises(KeyError, match="9 is not among"):
        path[9]


@pytest.mark.parametrize("n_clusters", [5, None, "25"])
def test_single_numbers_raise_before_any_work(n_clusters):
    with pytest.raises(TypeError, match=r"must be a sequence of numbers of clusters"):
        cut_path(None, n_clusters)
    with pytest.raises(TypeError, match=r"must be a sequence of numbers of clusters"):
        cut_path_problem(as_problem(np.ones((6, 6))), n_clusters, effort="fast", random_state=0)


@pytest.mark.parametrize("effort", ["slow", 1, ["fast"]])
def test_an_unknown_effort_raises_before_any_work(effort):
    with pytest.raises(ValueError, match=r"effort=.* is not known; choose one of 'fast'"):
        cut_path(None, [2, 3], effort=effort)


@pytest.mark.parametrize("k", [1, 2, 5, 6])
def test_a_single_number_is_always_selected(k):
    path = cut_path(np.ones((6, 6)), [k], affinity="precomputed", random_state=0)
    assert path.best == k
    assert path.reason == f"No other number than {k} was considered."


@pytest.mark.parametrize("n_clusters", [[2, 2.5], [2, "x"], [None]])
def test_invalid_numbers_raise(n_clusters):
    with pytest.raises(TypeError, match=r"n_clusters=.* is not an integer"):
        cut_path(None, n_clusters)


def test_numbers_above_the_number_of_nodes_raise():
    with pytest.raises(ValueError, match="no number from 1 to 3"):
        cut_path([[0.0], [1.0], [2.0]], [5, 6])


# -- the selection of the estimator


@pytest.mark.parametrize("options", [{}, {"solver": "spectral"}, {"cut": "ratio"}])
def test_auto_finds_separated_groups(options):
    X, y = make_blobs(240, centers=SIX, cluster_std=0.8, random_state=0)
    model = SpectralClustering("auto", random_state=0, **options).fit(X)
    assert model.n_clusters_ == model.cut_path_.best == 6
    assert adjusted_rand_score(y, model.labels_) == 1
    assert list(model.cut_path_) == list(range(1, 21))
    assert model.cut_path_.eigenvalues.shape == (max(21, pairs_needed(20, 240)),)
    assert model.embedding_.shape == (240, 6)
    table = model.cut_path_.table()
    assert table["cut_value"][5] <= model.cut_value_
    assert_non_decreasing(table["cut_value"])


def test_auto_respects_max_clusters():
    X, _ = make_blobs(240, centers=SIX, cluster_std=0.8, random_state=0)
    model = SpectralClustering("auto", max_clusters=4, random_state=0).fit(X)
    assert model.n_clusters_ <= 4
    assert list(model.cut_path_) == [1, 2, 3, 4]


def counted_searches(monkeypatch) -> list[object]:
    """Return a list that records every search for the partitions of a path."""
    calls: list[object] = []

    def counted(problem, numbers, **options):
        calls.append(numbers)
        return path_partitions(problem, numbers, **options)

    monkeypatch.setattr(fitted_module, "path_partitions", counted)
    return calls


@pytest.mark.parametrize("options", [{}, {"solver": "spectral"}])
def test_a_fit_searches_only_for_its_own_partition(monkeypatch, options):
    calls = counted_searches(monkeypatch)
    X, _ = make_blobs(120, centers=SIX[:3], cluster_std=0.8, random_state=0)
    model = SpectralClustering("auto", max_clusters=6, random_state=0, **options).fit(X)
    path = model.cut_path_
    # The evidence, the reason and the bounds need no partitions.
    assert len(path.reason) > 0
    assert path.evidence.shape == path.eigengaps.shape == path.lower_bounds.shape == (6,)
    assert "cut_path_" not in repr(model)
    assert repr(path) == f"CutPath(n_clusters=[1, 2, 3, 4, 5, 6], best={path.best})"
    assert calls == []
    # The partitions are computed on first access, and cached.
    assert path.labels.shape == (6, 120)
    assert_non_decreasing(path.cut_values)
    assert str(path).endswith(path.reason)
    assert path[model.n_clusters_].cut_value <= model.cut_value_
    assert calls == [range(1, 7)]


def test_a_path_does_not_depend_on_the_time_of_first_access():
    X, _ = make_blobs(120, centers=SIX[:3], cluster_std=3.0, random_state=0)
    accessed, later, again = (
        SpectralClustering("auto", max_clusters=6, effort="balanced", random_state=0).fit(X)
        for _ in range(3)
    )
    labels = accessed.cut_path_.labels
    kept, fresh = pickle.loads(pickle.dumps(accessed)), pickle.loads(pickle.dumps(later))
    again.predict(X[:5]), again.lower_bound_, again.embedding_
    for model in (kept, fresh, again):
        np.testing.assert_array_equal(model.cut_path_.labels, labels)
        assert model.cut_path_.reason == accessed.cut_path_.reason
    assert not hasattr(clone(accessed), "cut_path_")


def test_a_fit_with_a_fixed_number_removes_the_path(blobs):
    model = SpectralClustering("auto", random_state=0).fit(blobs[0])
    assert hasattr(model, "cut_path_")
    model.set_params(n_clusters=3).fit(blobs[0])
    assert not hasattr(model, "cut_path_")


def test_isolated_nodes_do_not_affect_the_selection():
    X, _ = make_blobs(90, centers=SIX[:3], cluster_std=0.8, random_state=0)
    S = sp.block_diag([knn_graph(X), sp.csr_array((4, 4))], format="csr")
    with pytest.warns(UserWarning, match="4 of 94 nodes have no edges"):
        model = SpectralClustering("auto", affinity="precomputed", random_state=0).fit(S)
    alone = SpectralClustering("auto", affinity="precomputed", random_state=0).fit(S[:90, :90])
    assert model.n_clusters_ == alone.n_clusters_
    np.testing.assert_array_equal(model.cut_path_.labels, alone.cut_path_.labels)
    assert model.labels_.shape == (94,)


@pytest.mark.parametrize("n_isolated", [1, 5])
def test_fewer_than_two_connected_nodes_give_one_cluster(n_isolated):
    with pytest.warns(UserWarning, match="no edges"):
        model = SpectralClustering("auto", affinity="precomputed").fit(np.zeros((n_isolated,) * 2))
    assert model.n_clusters_ == 1
    assert not hasattr(model, "cut_path_")


def choosing(n_clusters: int, runners_up: tuple[int, ...], is_weak: bool):
    """Return a replacement of the selection, to test its messages."""

    def choose_number(problem, relaxation, numbers, *, random_state):
        evidence = np.linspace(1.0, 0.0, len(numbers))
        words = f"The reason is {n_clusters}."
        return Choice(n_clusters, np.array(numbers), evidence, words, runners_up, is_weak)

    return choose_number


def test_weak_evidence_warns_with_runners_up_and_remedy(monkeypatch, blobs):
    monkeypatch.setattr(number_of_clusters, "choose_number", choosing(4, (3, 2), True))
    words = (
        r"n_clusters=4 is weak: the number could also be 3 or 2\. The reason is 4\. Pass n_clusters"
    )
    with pytest.warns(UserWarning, match=words) as caught:
        model = SpectralClustering("auto", max_clusters=5, random_state=0).fit(blobs[0])
    assert caught[0].filename == __file__
    assert model.n_clusters_ == 4
    assert model.cut_path_.reason.endswith("The evidence is weak: the number could also be 3 or 2.")


def test_strong_evidence_gives_no_warning(monkeypatch, blobs):
    monkeypatch.setattr(number_of_clusters, "choose_number", choosing(3, (2,), False))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SpectralClustering("auto", max_clusters=5, random_state=0).fit(blobs[0])
    assert model.n_clusters_ == 3
    assert model.cut_path_.reason == "The reason is 3."


def test_numbers_that_were_not_considered_have_no_evidence(monkeypatch):
    def choose_number(problem, relaxation, numbers, *, random_state):
        return Choice(3, np.array([2, 3]), np.array([0.5, 1.0]), "Three.", (2,), False)

    monkeypatch.setattr(number_of_clusters, "choose_number", choose_number)
    path = cut_path(np.ones((6, 6)), [2, 3, 6], affinity="precomputed", random_state=0)
    np.testing.assert_array_equal(path.evidence, [0.5, 1.0, np.nan])


# -- invalid input


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.eye(3) * 1j, "must hold real numbers"),
        (np.array([["1", "2"], ["2", "1"]]), "must hold real numbers"),
        (np.array([[0.0, np.nan], [np.nan, 0.0]]), "2 NaN or infinite entries"),
        (np.array([[0.0, np.inf], [np.inf, 0.0]]), "2 NaN or infinite entries"),
        (np.array([[0.0, -1.0], [-1.0, 0.0]]), "Negative values"),
        (3.0, "needs a square matrix"),
        (None, "needs a square matrix"),
    ],
)
def test_invalid_graphs_raise_without_a_warning(X, words):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=words):
            cut_path(X, [1, 2], affinity="precomputed")


def test_a_validated_graph_is_accepted():
    S = np.ones((6, 6))
    result = cut_path(as_graph(S), [2], affinity="precomputed", random_state=0)
    assert (
        result[2].cut_value == cut_path(S, [2], affinity="precomputed", random_state=0)[2].cut_value
    )

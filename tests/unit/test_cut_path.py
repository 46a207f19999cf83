"""One relaxation serves many numbers of clusters, and partitions into them help one another."""

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


def assert_never_falls(values):
    """A value may be above that of a larger number by rounding only."""
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
        found = path[k]
        assert set(found.labels) == set(range(k))
        assert found.cut_value == pytest.approx(cut_value(graph, found.labels, cut))
        assert (found.cut_value == 0.0) == (k <= n_components)
        alone = relax(graph, k, cut, random_state=0).lower_bound
        assert found.lower_bound == pytest.approx(alone, abs=1e-6)
        assert found.lower_bound <= found.cut_value * (1 + 1e-9) + 1e-12
        assert 0.0 <= found.gap <= 1.0
    assert_never_falls(path.cut_values)


def random_graph(seed: int, n: int, density: float) -> sp.csr_array:
    """A random connected graph, its weights spread over three powers of ten."""
    rng = np.random.default_rng(seed)
    upper = np.triu(10.0 ** rng.uniform(-2, 1, (n, n)) * (rng.random((n, n)) < density), 1)
    upper[np.arange(n - 1), np.arange(1, n)] += 0.01
    return sp.csr_array(upper + upper.T)


@st.composite
def larger_graphs(draw):
    """Draw graphs that are too large to be solved by going through all partitions."""
    seed, n = draw(st.integers(0, 10_000)), draw(st.integers(21, 70))
    return random_graph(seed, n, draw(st.sampled_from([0.05, 0.2, 0.6])))


NUMBERS = st.lists(st.integers(1, 21), min_size=1, max_size=12, unique=True).map(sorted)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("cut", CUTS)
@settings(max_examples=draws(8))
@given(graph=larger_graphs(), numbers=NUMBERS, seed=st.integers(0, 5))
def test_a_path_never_falls_and_more_effort_never_raises_it(cut, graph, numbers, seed):
    problem = as_problem(graph, cut)
    before = None
    for effort in ("fast", "balanced"):
        found = path_partitions(problem, numbers, effort=effort, seed=seed)
        values = np.array([one.cut_value for one in found])
        assert_never_falls(values)
        for k, one in zip(numbers, found, strict=True):
            assert set(one.labels) == set(range(k))
            assert one.cut_value == problem.value(one.labels)
            # No move of one node is left that lowers it.
            assert refine(graph, one.labels, cut).cut_value >= one.cut_value * (1 - 1e-9)
        if before is not None:
            assert (values <= before * (1 + ROUNDING)).all()
        before = values


@pytest.mark.parametrize("cut", CUTS)
@given(graph=larger_graphs(), numbers=NUMBERS, seed=st.integers(0, 5))
def test_no_value_is_above_that_of_a_fast_search_for_its_number(cut, graph, numbers, seed):
    found = cut_path(
        graph, numbers, affinity="precomputed", cut=cut, effort="fast", random_state=seed
    )
    for k in found:
        alone = partition(graph, k, cut, effort="fast", random_state=seed)
        assert found[k].cut_value <= alone.cut_value * (1 + ROUNDING)


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
def test_merging_clusters_never_raises_the_value(graph, many, few, seed, weighted):
    """The theorem by which a path never falls, for any partition and any node weights."""
    few, rng = min(few, many - 1), np.random.default_rng(seed)
    n = graph.shape[0]
    problem = as_problem(graph, 10.0 ** rng.uniform(-3, 3, n) if weighted else "normalized")
    labels = rng.permutation(np.concatenate([np.arange(many), rng.integers(many, size=n - many)]))
    joined = merged(problem, labels, few)
    assert set(joined) == set(range(few))
    # Every cluster is whole.
    assert len(set(zip(labels.tolist(), joined.tolist(), strict=True))) == many
    assert problem.value(joined) <= problem.value(labels) * (1 + ROUNDING)


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("numbers", [range(2, 12), [2, 8, 32]])
def test_moons_have_no_value_below_that_of_fewer_clusters(cut, numbers):
    X, _ = make_moons(500, noise=0.06, random_state=0)
    assert_never_falls(cut_path(X, numbers, cut=cut, random_state=0).cut_values)


def test_what_is_given_takes_part():
    X, _ = make_blobs(200, centers=5, random_state=0)
    problem = as_problem(knn_graph(X))
    best = partition(problem.graph, 5, effort="thorough", random_state=3)
    found = path_partitions(problem, [4, 5], effort="fast", seed=0, starts={5: best.labels})
    assert found[1].cut_value <= best.cut_value
    assert_never_falls([one.cut_value for one in found])


def test_every_effort_has_its_sweeps():
    assert set(SWEEPS) == set(EFFORTS)


def test_the_relaxation_is_solved_once(monkeypatch):
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
def test_same_seed_same_path(seed):
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
def test_what_is_not_several_numbers_is_refused_before_any_work(n_clusters):
    with pytest.raises(TypeError, match=r"must be a sequence of numbers of clusters"):
        cut_path(None, n_clusters)
    with pytest.raises(TypeError, match=r"must be a sequence of numbers of clusters"):
        cut_path_problem(as_problem(np.ones((6, 6))), n_clusters, effort="fast", random_state=0)


@pytest.mark.parametrize("effort", ["slow", 1, ["fast"]])
def test_an_unknown_effort_is_refused_before_any_work(effort):
    with pytest.raises(ValueError, match=r"effort=.* is not known; choose one of 'fast'"):
        cut_path(None, [2, 3], effort=effort)


@pytest.mark.parametrize("k", [1, 2, 5, 6])
def test_one_number_leaves_no_choice(k):
    path = cut_path(np.ones((6, 6)), [k], affinity="precomputed", random_state=0)
    assert path.best == k
    assert path.reason == f"No other number than {k} was considered."


@pytest.mark.parametrize("n_clusters", [[2, 2.5], [2, "x"], [None]])
def test_what_is_no_number_is_named(n_clusters):
    with pytest.raises(TypeError, match=r"n_clusters=.* is not an integer"):
        cut_path(None, n_clusters)


def test_no_possible_number_is_an_error():
    with pytest.raises(ValueError, match="no number from 1 to 3"):
        cut_path([[0.0], [1.0], [2.0]], [5, 6])


# -- the estimator's choice


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
    assert_never_falls(table["cut_value"])


def test_auto_respects_max_clusters():
    X, _ = make_blobs(240, centers=SIX, cluster_std=0.8, random_state=0)
    model = SpectralClustering("auto", max_clusters=4, random_state=0).fit(X)
    assert model.n_clusters_ <= 4
    assert list(model.cut_path_) == [1, 2, 3, 4]


def counted_searches(monkeypatch) -> list[object]:
    """Note every search for the partitions of an estimator's path."""
    calls: list[object] = []

    def counted(problem, numbers, **options):
        calls.append(numbers)
        return path_partitions(problem, numbers, **options)

    monkeypatch.setattr(fitted_module, "path_partitions", counted)
    return calls


@pytest.mark.parametrize("options", [{}, {"solver": "spectral"}])
def test_a_fit_searches_for_no_partition_but_its_own(monkeypatch, options):
    calls = counted_searches(monkeypatch)
    X, _ = make_blobs(120, centers=SIX[:3], cluster_std=0.8, random_state=0)
    model = SpectralClustering("auto", max_clusters=6, random_state=0, **options).fit(X)
    path = model.cut_path_
    # The evidence, the reason and the bounds are there without any of them.
    assert len(path.reason) > 0
    assert path.evidence.shape == path.eigengaps.shape == path.lower_bounds.shape == (6,)
    assert "cut_path_" not in repr(model)
    assert repr(path) == f"CutPath(n_clusters=[1, 2, 3, 4, 5, 6], best={path.best})"
    assert calls == []
    # They are found when asked for, and kept.
    assert path.labels.shape == (6, 120)
    assert_never_falls(path.cut_values)
    assert str(path).endswith(path.reason)
    assert path[model.n_clusters_].cut_value <= model.cut_value_
    assert calls == [range(1, 7)]


def test_a_path_is_the_same_whenever_it_is_asked_for():
    X, _ = make_blobs(120, centers=SIX[:3], cluster_std=3.0, random_state=0)
    asked, later, again = (
        SpectralClustering("auto", max_clusters=6, effort="balanced", random_state=0).fit(X)
        for _ in range(3)
    )
    labels = asked.cut_path_.labels
    kept, fresh = pickle.loads(pickle.dumps(asked)), pickle.loads(pickle.dumps(later))
    again.predict(X[:5]), again.lower_bound_, again.embedding_
    for model in (kept, fresh, again):
        np.testing.assert_array_equal(model.cut_path_.labels, labels)
        assert model.cut_path_.reason == asked.cut_path_.reason
    assert not hasattr(clone(asked), "cut_path_")


def test_a_later_fit_with_a_given_number_leaves_no_path(blobs):
    model = SpectralClustering("auto", random_state=0).fit(blobs[0])
    assert hasattr(model, "cut_path_")
    model.set_params(n_clusters=3).fit(blobs[0])
    assert not hasattr(model, "cut_path_")


def test_isolated_nodes_take_no_part_in_the_choice():
    X, _ = make_blobs(90, centers=SIX[:3], cluster_std=0.8, random_state=0)
    S = sp.block_diag([knn_graph(X), sp.csr_array((4, 4))], format="csr")
    with pytest.warns(UserWarning, match="4 of 94 nodes have no edges"):
        model = SpectralClustering("auto", affinity="precomputed", random_state=0).fit(S)
    alone = SpectralClustering("auto", affinity="precomputed", random_state=0).fit(S[:90, :90])
    assert model.n_clusters_ == alone.n_clusters_
    np.testing.assert_array_equal(model.cut_path_.labels, alone.cut_path_.labels)
    assert model.labels_.shape == (94,)


@pytest.mark.parametrize("n_isolated", [1, 5])
def test_without_two_nodes_with_edges_there_is_one_cluster(n_isolated):
    with pytest.warns(UserWarning, match="no edges"):
        model = SpectralClustering("auto", affinity="precomputed").fit(np.zeros((n_isolated,) * 2))
    assert model.n_clusters_ == 1
    assert not hasattr(model, "cut_path_")


def choosing(n_clusters: int, runners_up: tuple[int, ...], is_weak: bool):
    """Stand in for the choice, so that what is said about it can be tested."""

    def choose_number(problem, relaxation, numbers, *, random_state):
        evidence = np.linspace(1.0, 0.0, len(numbers))
        words = f"The reason is {n_clusters}."
        return Choice(n_clusters, np.array(numbers), evidence, words, runners_up, is_weak)

    return choose_number


def test_weak_evidence_is_told_with_the_runners_up_and_the_remedy(monkeypatch, blobs):
    monkeypatch.setattr(number_of_clusters, "choose_number", choosing(4, (3, 2), True))
    words = r"n_clusters=4 is weak: it could as well be 3 or 2\. The reason is 4\. Pass n_clusters"
    with pytest.warns(UserWarning, match=words) as told:
        model = SpectralClustering("auto", max_clusters=5, random_state=0).fit(blobs[0])
    assert told[0].filename == __file__
    assert model.n_clusters_ == 4
    assert model.cut_path_.reason.endswith("The evidence is weak: it could as well be 3 or 2.")


def test_strong_evidence_gives_no_warning(monkeypatch, blobs):
    monkeypatch.setattr(number_of_clusters, "choose_number", choosing(3, (2,), False))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SpectralClustering("auto", max_clusters=5, random_state=0).fit(blobs[0])
    assert model.n_clusters_ == 3
    assert model.cut_path_.reason == "The reason is 3."


def test_what_a_choice_did_not_weigh_has_no_evidence(monkeypatch):
    def choose_number(problem, relaxation, numbers, *, random_state):
        return Choice(3, np.array([2, 3]), np.array([0.5, 1.0]), "Three.", (2,), False)

    monkeypatch.setattr(number_of_clusters, "choose_number", choose_number)
    path = cut_path(np.ones((6, 6)), [2, 3, 6], affinity="precomputed", random_state=0)
    np.testing.assert_array_equal(path.evidence, [0.5, 1.0, np.nan])


# -- what is refused


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
def test_what_is_no_graph_is_refused_with_words_and_no_warning(X, words):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=words):
            cut_path(X, [1, 2], affinity="precomputed")


def test_a_graph_that_is_checked_already_will_do():
    S = np.ones((6, 6))
    found = cut_path(as_graph(S), [2], affinity="precomputed", random_state=0)
    assert (
        found[2].cut_value == cut_path(S, [2], affinity="precomputed", random_state=0)[2].cut_value
    )

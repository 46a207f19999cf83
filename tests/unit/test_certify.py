"""Certificates: bounds never exceed the optimum nor fall, and reach it when a proof is complete."""

from __future__ import annotations

import signal
import threading
import time
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from conftest import either, graphs, knn_graph, load_dataset
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris, make_blobs

import leastcut
from leastcut.bounds import incumbent
from leastcut.bounds import proof as proofs
from leastcut.bounds.decisions import Decisions
from leastcut.bounds.dual_prices import DualPriceBound
from leastcut.bounds.incumbent import Incumbent
from leastcut.bounds.proof import EigenvalueBound, Proof
from leastcut.budget import Budget
from leastcut.constraints import Constraints
from leastcut.feasibility import colored
from leastcut.problem import as_problem

CLOSE = 1 + 1e-12

KARATE = {
    2: [1], 3: [1, 2], 4: [1, 2, 3], 5: [1], 6: [1], 7: [1, 5, 6], 8: [1, 2, 3, 4], 9: [1, 3],
    10: [3], 11: [1, 5, 6], 12: [1], 13: [1, 4], 14: [1, 2, 3, 4], 17: [6, 7], 18: [1, 2],
    20: [1, 2], 22: [1, 2], 26: [24, 25], 28: [3, 24, 25], 29: [3], 30: [24, 27], 31: [2, 9],
    32: [1, 25, 26, 29], 33: [3, 9, 15, 16, 19, 21, 23, 24, 30, 31, 32],
    34: [9, 10, 14, 15, 16, 19, 20, 21, 23, 24, 27, 28, 29, 30, 31, 32, 33],
}  # fmt: skip
"""The edges of Zachary's karate club (1977), by member numbers from 1."""

KARATE_VALUES = {2: 0.25641, 3: 0.60401, 4: 1.14882, 5: 1.87000, 6: 2.68239, 7: 3.49906, 8: 4.34350}
"""The smallest normalized cuts known for it."""


def karate() -> np.ndarray:
    S = np.zeros((34, 34))
    for i, others in KARATE.items():
        for j in others:
            S[i - 1, j - 1] = S[j - 1, i - 1] = 1.0
    return S


def some_cut(data, n):
    kind = data.draw(st.sampled_from(["ratio", "normalized", "weights"]))
    if kind != "weights":
        return kind
    return 10.0 ** np.random.default_rng(data.draw(st.integers(0, 99))).uniform(-1, 1, size=n)


def labelings(n: int, c: int):
    """Yield every labeling whose labels appear in the order 0, 1, ..., c-1."""
    for labels in product(range(c), repeat=n):
        if tuple(dict.fromkeys(labels)) == tuple(range(c)):
            yield np.array(labels)


def satisfies(labels, must_link, cannot_link) -> bool:
    return all(labels[i] == labels[j] for i, j in must_link) and all(
        labels[i] != labels[j] for i, j in cannot_link
    )


@pytest.fixture
def no_enumeration(monkeypatch):
    """Branch until one partition is left, however few there are."""
    monkeypatch.setattr(incumbent, "ENUMERATED_PARTITIONS", 0)


# -- against enumeration


@given(S=graphs(min_nodes=3, max_nodes=9), data=st.data())
def test_certify_returns_the_enumerated_optimum(S, data):
    n = len(S)
    c = data.draw(st.integers(1, n))
    cut = some_cut(data, n)
    optimum = leastcut.exact_partition(S, c, cut).cut_value
    certified = leastcut.certify(S, np.arange(n) % c, cut, random_state=0)
    assert certified.cut_value == pytest.approx(optimum, rel=1e-12, abs=1e-300)
    assert certified.gap == 0.0
    assert len(set(certified.labels)) == c


@pytest.mark.parametrize("seed", range(100))
@pytest.mark.usefixtures("no_enumeration")
def test_branching_never_loses_the_optimum(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 9))
    c = int(rng.integers(2, n))
    S = np.triu(rng.random((n, n)) ** rng.choice([0.2, 1.0, 4.0]), 1)
    S *= rng.random((n, n)) < rng.choice([0.4, 1.0])
    S = S + S.T
    cut = "ratio" if seed % 2 else 10.0 ** rng.uniform(-1, 1, size=n)
    problem = as_problem(S, cut)
    optimum = leastcut.exact_partition(S, c, cut).cut_value
    bounds = [0.0]
    # From poor initial labels, so that pairs are fixed relative to a poor value.
    proof = Proof(problem, c, np.arange(n) % c)
    proof.run(Budget(callback=lambda proof: bounds.append(proof.bound)))
    assert proof.is_finished
    assert proof.is_proven
    assert proof.value == pytest.approx(optimum, rel=2e-7, abs=1e-300)
    assert max(bounds) <= optimum * CLOSE
    assert bounds == sorted(bounds)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.usefixtures("no_enumeration")
def test_bounds_hold_for_partitions_that_satisfy_the_links(seed):
    rng = np.random.default_rng(seed)
    n, c = 7, int(rng.integers(2, 5))
    S = np.triu(rng.random((n, n)), 1)
    S = S + S.T
    problem = as_problem(S)
    hidden = np.concatenate([np.arange(c), rng.integers(0, c, size=n - c)])
    pairs = [pair for pair in combinations(range(n), 2) if rng.random() < 0.2]
    must_link = [pair for pair in pairs if hidden[pair[0]] == hidden[pair[1]]]
    cannot_link = [pair for pair in pairs if hidden[pair[0]] != hidden[pair[1]]]
    values = [
        problem.value(labels)
        for labels in labelings(n, c)
        if satisfies(labels, must_link, cannot_link)
    ]
    certified = leastcut.certify(
        S, hidden, must_link=must_link, cannot_link=cannot_link, random_state=0
    )
    assert satisfies(certified.labels, must_link, cannot_link)
    assert certified.cut_value == pytest.approx(min(values), rel=1e-6)
    assert certified.lower_bound <= min(values) * CLOSE
    assert certified.gap < 1e-6
    constraints = colored(Constraints.of(n, None, cannot_link), n, c)
    proof = Proof(replace(problem, constraints=constraints), c, hidden)
    proof.run()
    unlinked = [
        problem.value(labels) for labels in labelings(n, c) if satisfies(labels, [], cannot_link)
    ]
    assert proof.value == pytest.approx(min(unlinked), rel=1e-6)
    assert proof.bound <= min(unlinked) * CLOSE


@given(data=st.data(), n=st.integers(3, 7), seed=st.integers(0, 999))
def test_propagation_excludes_no_feasible_partition(data, n, seed):
    rng = np.random.default_rng(seed)
    c = data.draw(st.integers(2, n - 1))
    must_link = [tuple(pair) for pair in combinations(range(n), 2) if rng.random() < 0.1]
    cannot_link = [tuple(pair) for pair in combinations(range(n), 2) if rng.random() < 0.4]
    feasible = [labels for labels in labelings(n, c) if satisfies(labels, must_link, cannot_link)]
    either(feasible, "some partitions", "none")
    decisions = Decisions.from_cannot_links(n, np.array(cannot_link, dtype=np.int64).reshape(-1, 2))
    for i, j in must_link:
        groups = decisions.groups
        if groups[i] != groups[j]:
            merged = decisions.with_must_links(groups[[[i, j]]])
            if merged is None:
                assert not feasible
                return
            decisions = merged
    result = decisions.propagated(c)
    if result is None:
        assert not feasible
        return
    groups = result.groups
    for labels in feasible:
        for i, j in combinations(range(n), 2):
            if groups[i] == groups[j]:
                assert labels[i] == labels[j]
            if result.cannot_link[groups[i], groups[j]]:
                assert labels[i] != labels[j]


# -- larger graphs


@pytest.mark.sampled(5)
@pytest.mark.parametrize("cut", ["normalized", "ratio"])
@pytest.mark.parametrize("c", range(2, 9))
def test_the_karate_club_is_solved_to_optimality(c, cut):
    S = karate()
    certified = leastcut.certify(S, np.arange(34) % c, cut, random_state=0)
    assert 0 <= certified.gap < 1e-6
    if cut == "normalized":
        assert certified.cut_value == pytest.approx(KARATE_VALUES[c], abs=1e-5)
    best = leastcut.exact_partition(S, c, cut)
    assert best.cut_value == pytest.approx(certified.cut_value, rel=1e-6)
    assert best.gap < 1e-6


@pytest.mark.parametrize("cut", ["normalized", "ratio"])
def test_iris_is_solved_to_optimality(cut):
    S = leastcut.adaptive_neighbors_graph(load_iris().data, n_neighbors=10)
    certified = leastcut.partition(S, 3, cut, lower_bound="tight", random_state=0)
    assert 0 <= certified.gap < 1e-6


@pytest.mark.sampled(2)
@pytest.mark.parametrize("cut", ["normalized", "ratio"])
@pytest.mark.parametrize("name", ["wine", "jaffe"])
def test_datasets_of_the_paper_are_solved_to_optimality(name, cut):
    X, y = load_dataset(name)
    S = leastcut.adaptive_neighbors_graph(X, n_neighbors=10, include_self=True, offset=1e-6)
    certified = leastcut.certify(S, y, cut, random_state=0)
    assert 0 <= certified.gap < 1e-6


@pytest.mark.parametrize("cut", ["normalized", "ratio"])
@pytest.mark.parametrize("n", range(11, 16))
def test_the_tiny_graphs_of_the_paper_are_solved_to_optimality(n, cut):
    X, _ = load_dataset("usps")
    S = leastcut.adaptive_neighbors_graph(X[:n], n_neighbors=10, include_self=True, offset=1e-6)
    assert leastcut.certify(S, np.arange(n) % 2, cut, random_state=0).gap == 0.0


def test_the_four_node_example_of_the_paper():
    S = np.array([[0, 3, 1, 0], [3, 0, 0, 1], [1, 0, 0, 3], [0, 1, 3, 0]])
    certified = leastcut.certify(S, [0, 1, 1, 0], cut="ratio", random_state=0)
    assert (certified.cut_value, certified.gap) == (2.0, 0.0)


# -- invariances


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(3))
def test_permuted_nodes_have_the_same_optimum(seed):
    S = karate()
    order = np.random.default_rng(seed).permutation(34)
    one = leastcut.certify(S, np.arange(34) % 6, "ratio", random_state=0)
    other = leastcut.certify(S[np.ix_(order, order)], np.arange(34) % 6, "ratio", random_state=0)
    assert other.cut_value == pytest.approx(one.cut_value, rel=1e-7)
    assert leastcut.cut_value(S, other.labels[np.argsort(order)], "ratio") == pytest.approx(
        one.cut_value, rel=1e-7
    )


@pytest.mark.slow
def test_a_resumed_proof_gives_the_result_of_a_single_run():
    S = karate()
    problem, labels = (
        as_problem(S, "ratio"),
        leastcut.partition(S, 7, "ratio", random_state=0).labels,
    )
    single, sliced, bounds = Proof(problem, 7, labels), Proof(problem, 7, labels), []
    n_open = []
    single.run(Budget(callback=lambda proof: n_open.append(proof.n_open)))
    n_slices = 0
    while not sliced.is_finished:
        # Increasing slices, as a slice that is too short for a step does nothing.
        sliced.run(Budget(0.03 * 1.1**n_slices, lambda proof: bounds.append(proof.bound)))
        n_slices += 1
    assert n_slices > 2
    assert max(n_open) > 1
    assert bounds == sorted(bounds)
    assert sliced.value == single.value
    assert sliced.is_proven
    assert sliced.bound == pytest.approx(single.bound, rel=2e-7)


def test_a_seed_determines_the_certificate():
    one, other = (leastcut.certify(karate(), np.arange(34) % 6, random_state=3) for _ in range(2))
    assert one.lower_bound == other.lower_bound
    assert np.array_equal(one.labels, other.labels)


def test_optimal_labels_of_any_type_are_returned_unchanged():
    S = karate()
    best = leastcut.exact_partition(S, 4)
    names = np.array(["d", "b", "a", "c"])[best.labels]
    certified = leastcut.certify(S, names)
    assert np.array_equal(certified.labels, np.unique(names, return_inverse=True)[1])
    assert certified.cut_value == pytest.approx(best.cut_value, rel=1e-12)


def test_arguments_are_not_modified():
    S, labels = karate(), np.arange(34) % 6
    copies = S.copy(), labels.copy()
    pairs = np.array([[0, 6]])
    leastcut.certify(S, labels, must_link=pairs, gap=0.01)
    assert np.array_equal(S, copies[0])
    assert np.array_equal(labels, copies[1])
    assert pairs.tolist() == [[0, 6]]


# -- trivial problems


@pytest.mark.parametrize("cut", ["normalized", "ratio"])
def test_trivial_partitions_are_optimal_without_a_proof(cut):
    S = np.kron(np.eye(3), np.ones((50, 50)))
    for labels in (np.zeros(150), np.arange(150), np.arange(150) // 50, np.arange(150) // 100):
        certified = leastcut.certify(S, labels, cut, random_state=0)
        assert certified.gap == 0.0
        assert len(set(certified.labels)) == len(set(labels))


def test_isolated_nodes_and_graphs_without_edges_are_certified():
    S = np.zeros((40, 40))
    assert leastcut.certify(S, np.arange(40) % 3, "ratio").cut_value == 0.0
    S[:34, :34] = karate()
    assert leastcut.certify(S, np.arange(40) % 7, "ratio").cut_value == 0.0
    certified = leastcut.certify(S, np.arange(40) % 9, "ratio", random_state=0)
    assert 0 <= certified.gap < 1e-6
    assert certified.cut_value <= leastcut.exact_partition(karate(), 3, "ratio").cut_value


@pytest.mark.parametrize("power", [-900, -300, 300, 900])
def test_certificates_do_not_depend_on_the_scale_of_affinities(power):
    labels = np.arange(34) % 4
    certified = leastcut.certify(np.ldexp(karate(), power), labels, random_state=0)
    assert certified.cut_value == pytest.approx(KARATE_VALUES[4], abs=1e-5)
    assert 0 <= certified.gap < 1e-6
    one = leastcut.certify(karate(), labels, "ratio", random_state=0)
    other = leastcut.certify(np.ldexp(karate(), power), labels, "ratio", random_state=0)
    assert other.cut_value == pytest.approx(np.ldexp(one.cut_value, power), rel=1e-12)
    assert 0 <= other.gap < 1e-6


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.usefixtures("no_enumeration")
def test_bounds_hold_for_weights_of_all_magnitudes(seed):
    rng = np.random.default_rng(seed)
    weights = np.triu(10.0 ** rng.uniform(-300, 300, size=(6, 6)), 1)
    S = weights + weights.T
    for cut in ("ratio", 10.0 ** rng.uniform(-3, 3, size=6)):
        optimum = leastcut.exact_partition(S, 3, cut).cut_value
        proof = Proof(as_problem(S, cut), 3, np.arange(6) % 3)
        proof.run()
        assert proof.bound <= optimum * CLOSE
        assert proof.value >= optimum * (2 - CLOSE)


# -- termination


def hard_graph() -> np.ndarray:
    """Return a graph without clusters, whose gap no bound closes soon."""
    S = np.random.default_rng(0).random((150, 150))
    return S + S.T


def test_the_proof_stops_at_the_requested_gap():
    S = knn_graph(make_blobs(120, centers=5, cluster_std=2.0, random_state=1)[0])
    labels = leastcut.partition(S, 5, random_state=0).labels
    history = []
    rough = leastcut.certify(S, labels, gap=0.05, random_state=0, callback=history.append)
    assert rough.gap <= 0.05
    assert history[-1].lower_bound == rough.lower_bound
    # It stopped at the first bound that was sufficient.
    assert all(progress.lower_bound < 0.95 * progress.cut_value for progress in history[:-2])


def test_progress_is_reported_and_never_falls():
    history = []
    certified = leastcut.certify(
        karate(), np.arange(34) % 7, "ratio", random_state=0, callback=history.append
    )
    for name in ("lower_bound", "seconds"):
        values = [getattr(progress, name) for progress in history]
        assert values == sorted(values)
    values = [progress.cut_value for progress in history]
    assert values == sorted(values, reverse=True)
    assert max(progress.n_open for progress in history) > 1
    assert (history[-1].n_open, history[-1].lower_bound) == (0, certified.lower_bound)


@pytest.mark.parametrize("limit", [0, 0.5])
def test_the_time_limit_is_respected_and_the_bound_so_far_returned(limit):
    S, labels = hard_graph(), np.arange(150) % 6
    leastcut.certify(S, labels, time_limit=0.2, random_state=0)  # compiles the kernels
    start = time.monotonic()
    certified = leastcut.certify(S, labels, time_limit=limit, random_state=0)
    assert time.monotonic() - start < limit + 5.0  # on a busy machine
    assert certified.lower_bound <= certified.cut_value <= leastcut.cut_value(S, labels)
    if limit:
        assert certified.lower_bound > 0.0


def test_an_interrupt_raises():
    timer = threading.Timer(1.0, signal.raise_signal, (signal.SIGINT,))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        leastcut.certify(hard_graph(), np.arange(150) % 6, time_limit=60, random_state=0)
    timer.join()


def test_an_interrupt_returns_the_bound_so_far_on_request():
    timer = threading.Timer(2.0, signal.raise_signal, (signal.SIGINT,))
    timer.start()
    certified = leastcut.partition(
        hard_graph(), 6, effort="fast", lower_bound="tight", time_limit=60, on_interrupt="return",
        random_state=0,
    )  # fmt: skip
    timer.join()
    assert 0 < certified.lower_bound < certified.cut_value


def test_a_proof_can_be_resumed_after_an_interrupt():
    S = karate()
    labels = leastcut.partition(S, 7, "ratio", random_state=0).labels
    proof = Proof(as_problem(S, "ratio"), 7, labels)

    def interrupt(proof):
        if proof.n_open > 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        proof.run(Budget(callback=interrupt))
    proof.run()
    assert proof.is_proven


# -- other interfaces


def test_a_tight_bound_of_partition_respects_links():
    S = karate()
    must, cannot = [(0, 33)], [(0, 1), (1, 32)]
    certified = leastcut.partition(
        S, 3, must_link=must, cannot_link=cannot, lower_bound="tight", random_state=0
    )
    assert satisfies(certified.labels, must, cannot)
    assert 0 <= certified.gap < 1e-6
    assert certified.lower_bound > leastcut.exact_partition(S, 3).cut_value


def test_labels_that_violate_a_link_raise():
    labels = np.arange(34) % 4
    with pytest.raises(
        ValueError, match="labels has nodes 0 and 1 in different clusters, which must_link forbids"
    ):
        leastcut.certify(karate(), labels, must_link=[(0, 1)])
    with pytest.raises(ValueError, match="nodes 0 and 4 in one cluster, which cannot_link forbids"):
        leastcut.certify(karate(), labels, cannot_link=[(0, 4)])


def test_the_estimator_updates_its_fitted_attributes(blobs):
    X, _ = blobs
    model = leastcut.SpectralClustering(6, random_state=0).fit(X)
    before = model.cut_value_, model.lower_bound_
    certified = model.certify()
    assert certified.gap == model.gap_ < 1e-6
    assert certified.lower_bound == model.lower_bound_ > before[1]
    assert certified.cut_value == model.cut_value_ <= before[0]
    assert np.array_equal(certified.labels, model.labels_)
    value = leastcut.cut_value(model.affinity_matrix_, model.labels_)
    assert model.cut_value_ == pytest.approx(value, rel=1e-12)
    assert np.array_equal(model.predict(X[:5]), model.labels_[:5])
    # A later certificate keeps the bound, and a new fit resets it.
    assert model.certify(time_limit=0).lower_bound == certified.lower_bound
    assert model.fit(X).lower_bound_ == before[1]


def test_the_estimator_takes_over_better_labels():
    S = karate()
    model = leastcut.SpectralClustering(
        6, affinity="precomputed", solver="spectral", refine=False, random_state=0
    ).fit(S)
    before = model.cut_value_
    model.certify()
    assert model.cut_value_ < before
    assert leastcut.cut_value(S, model.labels_) == pytest.approx(model.cut_value_)


def test_the_estimator_respects_its_links():
    S = karate()
    must, cannot = [(0, 33)], [(0, 1), (1, 32)]
    model = leastcut.SpectralClustering(3, affinity="precomputed", random_state=0)
    model.fit(S, must_link=must, cannot_link=cannot)
    model.certify()
    assert satisfies(model.labels_, must, cannot)
    assert 0 <= model.gap_ < 1e-6


@pytest.mark.filterwarnings("ignore:.*no edges")
@pytest.mark.parametrize("cut", ["normalized", "ratio"])
def test_the_estimator_certifies_graphs_with_isolated_nodes(cut):
    S = np.zeros((37, 37))
    S[:34, :34] = karate()
    model = leastcut.SpectralClustering(5, affinity="precomputed", cut=cut, random_state=0).fit(S)
    certified = model.certify()
    assert -1e-12 <= certified.gap < 1e-6
    optimum = leastcut.exact_partition(karate(), 5 if cut == "normalized" else 2, cut).cut_value
    assert certified.cut_value <= optimum * (1 + 1e-6)


def test_large_problems_allocate_no_memory_per_pair(monkeypatch):
    """Above a size limit, only bounds with memory linear in the edges are used."""
    monkeypatch.setattr(proofs, "LARGEST_SEMIDEFINITE", 100)
    monkeypatch.setattr(proofs, "SEMIDEFINITE_FIRST", 100)
    monkeypatch.setattr(proofs, "LARGEST_BRANCHED", 0)
    S = leastcut.nearest_neighbors_graph(load_iris().data, 10)
    partition = leastcut.partition(S, 3, random_state=0)
    certified = leastcut.certify(S, partition.labels, random_state=0)
    assert leastcut.lower_bound(S, 3) <= certified.lower_bound <= certified.cut_value
    factories = proofs.bound_factories(Incumbent(as_problem(S), 3, partition.labels), 0.0)
    bounds = [factory.make([], Budget()) for factory in factories]
    assert [type(bound) for bound in bounds] == [EigenvalueBound, DualPriceBound]

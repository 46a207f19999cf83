"""Partitions of several views: objective, monotonicity, bounds and interfaces."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from benchmarks import _image_views as image_views
from benchmarks.views import amgl
from conftest import draws, graphs, knn_graph, load_dataset, ring
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris

import leastcut
from leastcut.kernels import view_moves as kernels
from leastcut.multiview.problem import MultiViewProblem, stacked
from leastcut.multiview.search import ViewsState, _scale, refine_labels
from leastcut.problem import as_problem

WEIGHTS = ("auto", "equal", "given")
FAST = {"effort": "fast", "random_state": 0}


@st.composite
def several(draw, max_nodes: int = 7, isolated: bool = False):
    """Draw dense graphs over the same nodes; with ``isolated``, nodes may have no edges."""
    n, n_views = draw(st.integers(3, max_nodes)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    result = []
    for _ in range(n_views):
        weights = rng.random((n, n)) * (rng.random((n, n)) < rng.choice([0.3, 0.6, 1.0]))
        if draw(st.booleans()):
            weights = np.ceil(3 * weights)  # ties
        weights = np.triu(weights, int(rng.integers(2)))
        weights += np.triu(weights, 1).T
        if not isolated:
            bare = np.flatnonzero(weights.sum(axis=1) == 0)
            weights[bare, bare] = 0.5
        result.append(weights)
    return result


def weights_of(kind: str, n_views: int):
    return np.linspace(0.5, 2.0, n_views) if kind == "given" else kind


def objective(views, labels, kind: str, cut="normalized", **options) -> tuple[float, np.ndarray]:
    """Return the objective and the cut values, computed with ``cut_value`` only."""
    cuts = np.array([leastcut.cut_value(one, labels, cut, **options) for one in views])
    weights = {"equal": np.ones(cuts.size), "given": weights_of("given", cuts.size)}
    return float(np.sum(np.sqrt(cuts) if kind == "auto" else weights[kind] * cuts)), cuts


def partitions(n: int, c: int):
    """Yield every partition of n nodes into c clusters once."""
    for labels in itertools.product(range(c), repeat=n):
        first = list(dict.fromkeys(labels))
        if first == list(range(c)):
            yield np.array(labels)


def digits_views() -> list[sp.csr_array]:
    images = load_digits().images[:500]
    features = images.reshape(500, -1), np.abs(np.fft.fft2(images)).reshape(500, -1)
    return [leastcut.adaptive_neighbors_graph(one) for one in features]


# -- properties


@given(
    several(), st.integers(1, 4), st.sampled_from(WEIGHTS), st.sampled_from(["ratio", "normalized"])
)
def test_cuts_agree_with_cut_value_and_the_history_is_non_increasing(views, c, kind, cut):
    c = min(c, len(views[0]))
    result = leastcut.partition_views(
        views, c, weights_of(kind, len(views)), cut=cut, lower_bound=True, **FAST
    )
    value, cuts = objective(views, result.labels, kind, cut)
    assert np.array_equal(result.cuts, cuts)
    assert result.objective == value
    assert np.all(np.diff(result.history) <= 0)
    assert result.history[-1] == pytest.approx(value, rel=1e-12)
    assert np.array_equal(np.unique(result.labels), np.arange(c))
    if kind == "auto":
        with np.errstate(divide="ignore"):
            assert np.array_equal(result.weights, 0.5 / np.sqrt(cuts))
    assert result.converged


@given(several(6, isolated=True), st.integers(1, 3), st.sampled_from(WEIGHTS), st.booleans())
def test_no_partition_is_below_the_bounds(views, c, kind, is_ratio):
    c, cut = min(c, len(views[0])), "ratio" if is_ratio else "normalized"
    ignore = {"isolated": "ignore"}
    result = leastcut.partition_views(
        views, c, weights_of(kind, len(views)), cut=cut, lower_bound=True, **ignore, **FAST
    )
    finite = np.isfinite(result.weights)
    for labels in partitions(len(views[0]), c):
        value, cuts = objective(views, labels, kind, cut, **ignore)
        assert result.lower_bound <= value
        assert result.weighted_bound <= np.sum(result.weights[finite] * cuts[finite]) * (1 + 1e-15)
        assert np.all(result.view_bounds <= cuts * (1 + 1e-15))
    assert result.gap >= 0


@given(several(), st.integers(2, 3), st.sampled_from(WEIGHTS), st.integers(0, 2**32 - 1))
def test_the_result_is_never_worse_than_init(views, c, kind, seed):
    n = len(views[0])
    labels = np.random.default_rng(seed).permutation(np.arange(n) % c)
    start, _ = objective(views, labels, kind)
    result = leastcut.partition_views(
        views, c, weights_of(kind, len(views)), init=[labels, labels[::-1]], **FAST
    )
    # Use one function, as another order of summation rounds differently.
    value, _ = objective(views, result.labels, kind)
    assert value <= min(start, objective(views, labels[::-1], kind)[0])


@given(several(), st.integers(2, 3), st.integers(0, 2**32 - 1))
def test_a_decrease_of_the_weighted_sum_decreases_the_objective(views, c, seed):
    joint = MultiViewProblem(tuple(as_problem(one, "ratio") for one in views))
    rng = np.random.default_rng(seed)
    one, other = (joint.cuts(rng.permutation(np.arange(joint.n_nodes) % c)) for _ in range(2))
    if one.min() > 0:
        weights = joint.weights(one)
        risen = joint.objective(other) - joint.objective(one)
        assert risen <= np.sum(weights * (other - one)) + 1e-9 * joint.objective(one)


@pytest.mark.parametrize("cut", ["normalized", "ratio"])
@pytest.mark.parametrize("kind", ["auto", "equal"])
def test_neither_single_views_nor_their_mean_are_better(cut, kind):
    views = digits_views()
    result = leastcut.partition_views(views, 10, kind, cut=cut, **FAST)
    for graph in (*views, (views[0] + views[1]) / 2):
        alone = leastcut.partition(graph, 10, cut, **FAST)
        assert result.objective <= objective(views, alone.labels, kind, cut)[0] * (1 + 1e-12)


@given(several(), st.integers(2, 3), st.sampled_from(WEIGHTS), st.integers(0, 2**32 - 1))
def test_refined_partitions_are_local_optima(views, c, kind, seed):
    problems = tuple(as_problem(one) for one in views)
    view_weights = None if kind == "auto" else np.ones(len(views))
    joint = MultiViewProblem(problems, view_weights)
    start = np.random.default_rng(seed).permutation(np.arange(joint.n_nodes) % c)
    labels = refine_labels(joint, start)
    value = joint.value(labels)
    assert value <= joint.value(start)
    for i in range(joint.n_nodes):
        if np.count_nonzero(labels == labels[i]) > 1:
            for k in range(c):
                moved = labels.copy()
                moved[i] = k
                assert joint.value(moved) >= value * (1 - 1e-9)


@given(several(), st.integers(2, 3), st.booleans(), st.integers(0, 2**32 - 1))
def test_the_kernel_reports_the_exact_change_of_a_move(views, c, rooted, seed):
    rng = np.random.default_rng(seed)
    joint = MultiViewProblem(
        tuple(as_problem(one) for one in views), None if rooted else np.ones(len(views))
    )
    labels = rng.permutation(np.arange(joint.n_nodes) % c)
    state = ViewsState(joint, labels, c)
    measure, gather, best, clear = (
        getattr(kernels, name).py_func  # compared with the compiled kernels below
        for name in ("measure_views", "sum_view_links", "best_view_move", "clear_view_links")
    )
    measure(state._arrays, state._sums)
    cuts = state._sums[-1]
    np.testing.assert_allclose(cuts, joint.cuts(labels), rtol=1e-12)
    for i in range(joint.n_nodes):
        gather(i, state._arrays, state.labels, state._scratch)
        change, _, k = best(i, state._arrays[3], state._sums, state._objective, state._scratch)
        clear(i, state._arrays, state.labels, state._scratch)
        assert not any(part.any() for part in state._scratch[:2])
        if k < 0:
            continue
        moved = labels.copy()
        moved[i] = k
        assert change == pytest.approx(joint.value(moved) - joint.value(labels), abs=1e-7)
        others = [one for one in range(c) if one not in (k, labels[i])]
        for other in others:
            moved[i] = other
            assert joint.value(moved) >= joint.value(labels) + change - 1e-7


@given(several(max_nodes=9), st.integers(2, 3), st.booleans(), st.integers(0, 2**32 - 1))
def test_compiled_and_interpreted_kernels_agree(views, c, rooted, seed):
    joint = MultiViewProblem(
        tuple(as_problem(one) for one in views), None if rooted else np.ones(len(views))
    )
    start = np.random.default_rng(seed).permutation(np.arange(joint.n_nodes) % c)
    names = [
        "measure_views",
        "sum_view_links",
        "clear_view_links",
        "best_view_move",
        "apply_view_move",
    ]
    names.append("enqueue")
    compiled = refine_labels(joint, start)
    with pytest.MonkeyPatch.context() as patch:
        for name in [*names, "local_search_views"]:
            plain = getattr(kernels, name).py_func
            patch.setattr(kernels, name, plain)
            if name in ("measure_views", "local_search_views"):
                patch.setattr(f"leastcut.multiview.search.{name}", plain)
        assert np.array_equal(refine_labels(joint, start), compiled)


@given(several(max_nodes=9), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_contraction_and_sums_preserve_values(views, c, seed):
    joint = MultiViewProblem(tuple(as_problem(one, "ratio") for one in views))
    rng = np.random.default_rng(seed)
    groups = np.unique(rng.integers(c + 2, size=joint.n_nodes), return_inverse=True)[1]
    coarse = rng.permutation(np.arange(groups.max() + 1) % c)
    labels = np.unique(coarse, return_inverse=True)[1][groups]
    coarse = np.unique(coarse, return_inverse=True)[1]
    np.testing.assert_allclose(joint.contracted(groups).cuts(coarse), joint.cuts(labels), rtol=1e-9)
    weights = rng.random(joint.n_views) + 0.1
    combined = joint.combined(weights)
    value = combined.problem.value(labels) / combined.scale
    assert value == pytest.approx(np.sum(weights * joint.cuts(labels)), rel=1e-9)


def test_the_sum_for_bounds_is_not_above_any_weighted_cut():
    views = digits_views()
    joint = MultiViewProblem(tuple(as_problem(one) for one in views))
    weights = np.array([2.0, 0.7])
    combined = joint.combined(weights, is_bound=True)
    for seed in range(5):
        labels = np.random.default_rng(seed).integers(4, size=joint.n_nodes)
        weighted = np.sum(weights * joint.cuts(labels))
        assert combined.problem.value(labels) <= combined.scale * weighted * (1 + 1e-12)


# -- special cases


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("cut", ["normalized", "ratio"])
def test_one_view_gives_the_result_of_partition(kind, cut):
    graph = digits_views()[0]
    result = leastcut.partition_views([graph], 5, weights_of(kind, 1), cut=cut, **FAST)
    alone = leastcut.partition(graph, 5, cut, **FAST)
    assert np.array_equal(result.labels, alone.labels)
    assert result.cuts[0] == alone.cut_value
    assert result.view_bounds[0] == alone.lower_bound


def test_identical_views_give_the_result_of_one():
    graph = digits_views()[0]
    result = leastcut.partition_views([graph, graph, graph], 5, **FAST)
    alone = leastcut.partition(graph, 5, **FAST)
    assert result.objective <= 3 * np.sqrt(alone.cut_value) * (1 + 1e-12)
    assert np.all(result.cuts == result.cuts[0])


def test_the_normalized_cut_does_not_depend_on_the_scale_of_a_view():
    one, other = digits_views()
    result = leastcut.partition_views([one, other], 6, **FAST)
    scaled = leastcut.partition_views([one, 2.0**20 * other], 6, **FAST)
    assert np.array_equal(result.labels, scaled.labels)
    np.testing.assert_allclose(scaled.cuts, result.cuts, rtol=1e-12)


def two_blocks(n: int, split: int, between: float) -> np.ndarray:
    """Return two cliques with weak edges between all of their nodes."""
    labels = np.arange(n) >= split
    return np.where(labels[:, None] == labels, 1.0, between)


def test_an_uncut_view_has_infinite_weight_and_stays_uncut():
    uncut, cut = two_blocks(8, 4, 0.0), two_blocks(8, 4, 0.1)
    result = leastcut.partition_views([uncut, cut], 2, lower_bound=True, **FAST)
    assert result.cuts[0] == 0.0
    assert result.weights[0] == np.inf
    assert result.objective == np.sqrt(result.cuts[1])
    assert np.isfinite(result.weighted_bound)
    nothing = leastcut.partition_views([uncut, uncut], 2, lower_bound=True, **FAST)
    assert (nothing.objective, nothing.lower_bound, nothing.gap) == (0.0, 0.0, 0.0)
    assert np.all(nothing.weights == np.inf)


def test_a_disconnected_view_does_not_dominate():
    # The first view has components at node 2, and both others have clusters at node 4.
    views = [two_blocks(8, 2, 0.0), two_blocks(8, 4, 0.01), two_blocks(8, 4, 0.02)]
    result = leastcut.partition_views(views, 2, **FAST)
    best = min(objective(views, labels, "auto")[0] for labels in partitions(8, 2))
    assert result.objective == pytest.approx(best, rel=1e-12)


def test_views_of_weight_zero_are_ignored():
    one, other = digits_views()
    result = leastcut.partition_views([one, other], 5, [1.0, 0.0], **FAST)
    alone = leastcut.partition(one, 5, **FAST)
    assert np.array_equal(result.labels, alone.labels)
    assert result.cuts[1] == leastcut.cut_value(other, alone.labels)
    assert result.objective == alone.cut_value


def test_nodes_isolated_in_a_view_follow_the_other_views():
    full, part = two_blocks(12, 6, 0.05), two_blocks(12, 6, 0.05)
    part[[2, 9]] = part[:, [2, 9]] = 0.0
    with pytest.raises(ValueError, match=r"graphs\[1\]: The normalized cut is undefined"):
        leastcut.partition_views([full, part], 2)
    result = leastcut.partition_views([full, part], 2, isolated="ignore", lower_bound=True, **FAST)
    assert np.array_equal(result.labels, np.arange(12) >= 6)
    assert result.cuts[1] == leastcut.cut_value(part, result.labels, isolated="ignore")
    assert result.lower_bound <= result.objective
    both = [part, part]
    result = leastcut.partition_views(both, 2, isolated="ignore", **FAST)
    assert result.cuts[0] == leastcut.cut_value(part, result.labels, isolated="ignore")
    init = np.zeros(12, dtype=int)
    init[2] = 1
    with pytest.raises(ValueError, match="init has nodes with edges in 1 of its 2 clusters"):
        leastcut.partition_views(both, 2, isolated="ignore", init=init)


def test_a_graph_without_any_edges_has_a_partition():
    nothing = np.zeros((5, 5))
    result = leastcut.partition_views([nothing, nothing], 3, isolated="ignore", lower_bound=True)
    assert np.unique(result.labels).size == 3
    assert result.objective == result.lower_bound == 0.0


@pytest.mark.parametrize("c", [1, 12])
def test_one_cluster_and_as_many_as_nodes_are_proven(c):
    views = [two_blocks(12, 6, 0.05), two_blocks(12, 3, 0.2)]
    result = leastcut.partition_views(views, c, lower_bound=True)
    assert result.gap == 0.0
    assert result.objective == objective(views, result.labels, "auto")[0]


def test_directed_views_are_symmetrized_or_raise():
    one, other = two_blocks(8, 4, 0.1), np.triu(two_blocks(8, 4, 0.1))
    with pytest.raises(ValueError, match=r"graphs\[1\]: "):
        leastcut.partition_views([one, other], 2)
    result = leastcut.partition_views([one, other], 2, symmetrize="max", **FAST)
    assert np.array_equal(result.labels, np.arange(8) >= 4)


def test_views_of_different_nodes_raise():
    with pytest.raises(ValueError, match=r"graphs\[0\] has 8 nodes, but graphs\[1\] has 9"):
        leastcut.partition_views([two_blocks(8, 4, 0.1), two_blocks(9, 4, 0.1)], 2)
    networkx = pytest.importorskip("networkx")
    path = networkx.path_graph(4)
    with pytest.raises(ValueError, match="have different names or a different order"):
        leastcut.partition_views([path, networkx.relabel_nodes(path, {0: 3, 3: 0})], 2)
    assert leastcut.partition_views([path, path], 2).by_node()[0] == 0


def test_an_anchor_graph_raises():
    graph = leastcut.anchor_graph(np.random.default_rng(0).normal(size=(40, 2)), 9, random_state=0)
    with pytest.raises(TypeError, match=r"graphs\[0\]: .* stores no edges"):
        leastcut.partition_views([graph], 2)


@pytest.mark.parametrize("scale", [1e-290, 1e290])
def test_extreme_weights_give_the_same_labels(scale):
    views = [two_blocks(9, 4, 0.1), two_blocks(9, 5, 0.3)]
    result = leastcut.partition_views(views, 2, **FAST)
    far = leastcut.partition_views([views[0] * scale, views[1]], 2, **FAST)
    assert np.array_equal(result.labels, far.labels)


def test_a_node_with_nearly_all_weight_of_its_cluster_can_move():
    graph = two_blocks(6, 3, 0.01)
    weights = np.array([1e12, 1.0, 1.0, 1.0, 1.0, 1.0])
    joint = MultiViewProblem((as_problem(graph, weights), as_problem(graph, weights)))
    labels = refine_labels(joint, np.array([0, 1, 1, 0, 0, 0]))
    assert joint.value(labels) <= min(joint.value(one) for one in partitions(6, 2)) * (1 + 1e-9)


# -- guarantees of the function


def test_a_seed_determines_the_labels_on_any_number_of_threads():
    views = digits_views()
    first = leastcut.partition_views(views, 8, effort="auto", random_state=3, n_jobs=1)
    again = leastcut.partition_views(views, 8, effort="auto", random_state=3, n_jobs=2)
    assert np.array_equal(first.labels, again.labels)
    assert np.array_equal(first.history, again.history)


@pytest.mark.slow
@settings(max_examples=draws(6))
@given(st.integers(0, 999), st.sampled_from(["auto", "equal"]), st.sampled_from([*leastcut.CUTS]))
def test_more_effort_is_never_worse(seed, weights, cut):
    rng = np.random.default_rng(seed)
    views = [knn_graph(rng.normal(size=(40, 2)), 4) for _ in range(2)]
    result = [
        leastcut.partition_views(views, 4, weights, cut=cut, effort=effort, random_state=seed)
        for effort in ("fast", "auto", "balanced")
    ]
    for less, more in itertools.pairwise(result):
        assert more.objective <= less.objective
        # Guaranteed, as it continues from the previous effort.
        assert np.array_equal(more.history[: less.history.size], less.history)


def test_the_callers_arrays_are_not_changed():
    views = digits_views()
    before = [(one.data.copy(), one.indices.copy()) for one in views]
    init, weights = np.arange(500) % 4, np.array([1.0, 2.0])
    leastcut.partition_views(views, 4, weights, init=init, **FAST)
    for (data, indices), one in zip(before, views, strict=True):
        assert np.array_equal(data, one.data)
        assert np.array_equal(indices, one.indices)
    assert np.array_equal(init, np.arange(500) % 4)
    assert np.array_equal(weights, [1.0, 2.0])


def test_sparse_stays_sparse():
    n = 6000
    views = [ring(n).graph.matrix, knn_graph(np.random.default_rng(0).normal(size=(n, 2)))]
    tracemalloc.start()
    try:
        leastcut.partition_views(views, 5, lower_bound=False, **FAST)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < n * n  # in bytes; a dense array has eight times as many


def test_the_callback_receives_decreasing_objectives_and_can_stop():
    views, reports = digits_views(), []
    result = leastcut.partition_views(views, 6, callback=reports.append, **FAST)
    values = [progress.cut_value for progress in reports]
    assert values[-1] == result.objective
    assert all(one >= other for one, other in itertools.pairwise(values))
    assert all(progress.stage == "views" for progress in reports)
    fractions = [progress.fraction for progress in reports]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    stopped = leastcut.partition_views(views, 6, callback=lambda _: True, **FAST)
    assert not stopped.converged
    assert stopped.lower_bound is None
    assert np.unique(stopped.labels).size == 6


def test_a_time_limit_of_zero_gives_a_partition():
    views = digits_views()
    result = leastcut.partition_views(views, 6, time_limit=0.0, lower_bound=True, random_state=0)
    assert np.unique(result.labels).size == 6
    assert not result.converged
    assert result.objective == objective(views, result.labels, "auto")[0]


def test_generators_and_random_states_are_advanced():
    views = digits_views()
    rng = np.random.default_rng(0)
    leastcut.partition_views(views, 6, effort="fast", random_state=rng)
    assert rng.integers(2**32) != np.random.default_rng(0).integers(2**32)


# -- the estimator


def iris_views() -> tuple[np.ndarray, list[np.ndarray]]:
    X = load_iris().data
    return X, [X[:, :2], X[:, 2:]]


COLUMNS = {
    "numbers": [[0, 1], [2, 3]],
    "slices": [slice(0, 2), slice(2, None)],
    "masks": [[True, True, False, False], np.array([False, False, True, True])],
    "ranges": [range(2), range(2, 4)],
    "callables": [lambda X: [0, 1], lambda X: slice(2, 4)],
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_groups_of_columns_are_views(kind):
    X, parts = iris_views()
    model = leastcut.MultiViewSpectralClustering(3, views=COLUMNS[kind], random_state=0).fit(X)
    graphs_of = [leastcut.adaptive_neighbors_graph(part) for part in parts]
    result = leastcut.partition_views(graphs_of, 3, effort="auto", random_state=0)
    assert np.array_equal(model.labels_, result.labels)
    assert np.array_equal(model.view_cuts_, result.cuts)
    assert np.array_equal(model.view_weights_, result.weights)
    assert model.cut_value_ == result.objective == -model.score(X)
    assert model.lower_bound_ <= result.objective
    assert 0 <= model.gap_ <= 1
    for matrix, graph in zip(model.affinity_matrix_, graphs_of, strict=True):
        assert (matrix != graph).nnz == 0


def test_lists_of_samples_and_of_graphs_are_views():
    X, parts = iris_views()
    columns = leastcut.MultiViewSpectralClustering(3, views=[[0, 1], [2, 3]], random_state=0).fit(X)
    listed = leastcut.MultiViewSpectralClustering(3, random_state=0).fit(parts)
    graphs_of = [leastcut.adaptive_neighbors_graph(part) for part in parts]
    given_graphs = leastcut.MultiViewSpectralClustering(3, affinity="precomputed", random_state=0)
    several = leastcut.MultiViewSpectralClustering(3, affinity=["precomputed"] * 2, random_state=0)
    for model, given_views in ((listed, parts), (given_graphs, graphs_of), (several, graphs_of)):
        model.fit(given_views)
        assert np.array_equal(model.labels_, columns.labels_)
    assert np.array_equal(listed.predict([part[:9] for part in parts]), columns.predict(X[:9]))
    with pytest.raises(ValueError, match="fitted to a list of 2 views"):
        listed.predict(X)
    with pytest.raises(ValueError, match="X has 1 views, but the estimator was fitted to 2"):
        listed.predict([X])
    with pytest.raises(ValueError, match=r"X\[1\] has 4 columns, but in fit it had 2"):
        listed.predict([X[:, :2], X])
    with pytest.raises(ValueError, match=r"X\[0\] has 150 rows and X\[1\] has 9"):
        listed.fit([X, X[:9]])
    with pytest.raises(ValueError, match="selects columns of one X, but X is a list of 2"):
        columns.fit(parts)


def test_an_edge_index_with_weights_is_one_graph():
    edges = np.array([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])
    model = leastcut.MultiViewSpectralClustering(2, affinity="precomputed", random_state=0)
    model.fit((edges, np.array([2.0, 2.0, 1.0, 1.0, 2.0, 2.0])))
    assert model.view_cuts_.shape == (1,)
    model.fit([np.ones((4, 4)), np.ones((4, 4))])
    assert model.view_cuts_.shape == (2,)
    model.fit(np.ones((4, 4)))
    assert model.view_cuts_.shape == (1,)
    assert model.predict(np.ones((3, 4))).shape == (3,)


def test_one_view_agrees_with_the_estimator_of_one_graph(blobs):
    X, _ = blobs
    one = leastcut.MultiViewSpectralClustering(5, random_state=0).fit(X)
    other = leastcut.SpectralClustering(5, random_state=0).fit(X)
    assert np.array_equal(one.labels_, other.labels_)
    assert one.view_cuts_ == pytest.approx([other.cut_value_])
    assert one.cut_value_ == pytest.approx(np.sqrt(other.cut_value_))
    assert np.array_equal(one.predict(X + 0.1), other.predict(X + 0.1))


def test_every_view_can_have_its_own_affinity(blobs):
    X, y = blobs
    model = leastcut.MultiViewSpectralClustering(
        3, affinity=["self_tuning", "rbf"], gamma=0.5, n_neighbors=6, random_state=0
    ).fit(X)
    assert leastcut.clustering_accuracy(y, model.labels_) == 1.0
    assert sp.issparse(model.affinity_matrix_[0])
    assert not sp.issparse(model.affinity_matrix_[1])
    assert np.array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_column_names_select_from_data_frames(library):
    frames = pytest.importorskip(library)
    from sklearn.compose import make_column_selector

    X, _ = iris_views()
    columns = {name: X[:, j] for j, name in enumerate(["a1", "a2", "b1", "b2"])}
    frame = frames.DataFrame({**columns, "species": ["iris"] * len(X)})
    named = [["a1", "a2"], slice("b1", "b2")]
    expected = leastcut.MultiViewSpectralClustering(3, views=[[0, 1], [2, 3]], random_state=0).fit(
        X
    )
    model = leastcut.MultiViewSpectralClustering(3, views=named, random_state=0).fit(frame)
    assert np.array_equal(model.labels_, expected.labels_)
    assert model.feature_names_in_.tolist() == [*columns, "species"]
    assert np.array_equal(model.predict(frame[:5]), expected.predict(X[:5]))
    if library == "pandas":
        named = [make_column_selector("^a"), make_column_selector("^b")]
        model = leastcut.MultiViewSpectralClustering(3, views=named, random_state=0).fit(frame)
        assert np.array_equal(model.labels_, expected.labels_)


def test_new_samples_join_the_cluster_with_the_smallest_increase():
    X, _ = iris_views()
    model = leastcut.MultiViewSpectralClustering(3, views=[[0, 1], [2, 3]], random_state=0).fit(
        X[::2]
    )
    predicted = model.predict(X[1::2])
    assert np.array_equal(predicted, np.concatenate([model.predict(row[None]) for row in X[1::2]]))
    # The score of a new sample is that of its best cluster.
    parts = model._fitted.views
    for row, label in zip(X[1:20:2], predicted, strict=False):
        values = np.zeros(3)
        for part, columns in zip(parts, ([0, 1], [2, 3]), strict=True):
            _, links = part.place(row[None, columns])
            clusters = part.clusters
            values += [np.sqrt(clusters.value_with(links, np.array([k]))) for k in range(3)]
        assert values[label] == pytest.approx(values.min(), rel=1e-12)
        assert -model.score(row[None]) == pytest.approx(values.min(), rel=1e-12)


def test_methods_for_one_graph_raise_with_a_remedy():
    X, _ = iris_views()
    model = leastcut.MultiViewSpectralClustering(3, views=[[0, 1], [2, 3]], random_state=0)
    with pytest.raises(ValueError, match="A proof is of one graph"):
        model.fit(X).certify()


def test_a_plot_shows_one_view():
    pytest.importorskip("matplotlib")
    X, _ = iris_views()
    model = leastcut.MultiViewSpectralClustering(3, views=[[0, 1], [2, 3]], random_state=0).fit(X)
    with pytest.raises(
        ValueError,
        match="has 2 views, but a plot shows one graph; pass one of its affinity_matrix_ as graph=",
    ):
        model.plot("sizes")
    assert model.plot("sizes", graph=model.affinity_matrix_[1]) is not None


def test_embeddings_of_views_are_concatenated():
    X, _ = iris_views()
    model = leastcut.MultiViewSpectralClustering(3, views=[[0, 1], [2, 3]], random_state=0).fit(X)
    alone = leastcut.SpectralClustering(3, random_state=0).fit(X[:, :2])
    np.testing.assert_allclose(model.embedding_[:, :3], alone.embedding_)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-6)
    assert model.eigenvalues_.shape == (6,)
    assert len(model.get_feature_names_out()) == 6


def test_sample_weights_apply_to_every_view():
    X, parts = iris_views()
    weights = np.linspace(1.0, 3.0, len(X))
    model = leastcut.MultiViewSpectralClustering(3, views=[[0, 1], [2, 3]], random_state=0)
    model.fit(X, sample_weight=weights)
    for cut, part in zip(model.view_cuts_, parts, strict=True):
        graph = leastcut.adaptive_neighbors_graph(part)
        node_weights = weights * leastcut.node_weights(graph)
        assert cut == leastcut.cut_value(graph, model.labels_, node_weights)


def test_nodes_isolated_in_a_view_warn():
    graph = two_blocks(12, 6, 0.05)
    part = graph.copy()
    part[3] = part[:, 3] = 0.0
    model = leastcut.MultiViewSpectralClustering(2, affinity="precomputed", random_state=0)
    with pytest.warns(UserWarning, match="1 of 12 nodes has no edges in view 1"):
        model.fit([graph, part])
    assert np.array_equal(model.labels_, np.arange(12) >= 6)


# -- real data


def test_learned_weights_favor_the_view_with_a_small_cut():
    rng = np.random.default_rng(0)
    X, y = load_dataset("jaffe")
    noise = rng.normal(size=(len(X), 20))
    views = [leastcut.adaptive_neighbors_graph(X), leastcut.adaptive_neighbors_graph(noise)]
    result = leastcut.partition_views(views, 10, lower_bound=True, **FAST)
    assert result.weights[0] > 3 * result.weights[1]
    assert leastcut.normalized_mutual_info(y, result.labels) > 0.9
    assert result.lower_bound <= result.objective


def test_every_view_is_validated_once(monkeypatch):
    from leastcut import graph as home

    counted, check = [], home.check_graph
    monkeypatch.setattr(home, "check_graph", lambda *args: counted.append(1) or check(*args))
    S = knn_graph(np.random.default_rng(0).normal(size=(60, 2)))
    leastcut.partition_views([S, S, S], 3, **FAST)
    assert len(counted) == 3


def test_arrays_of_views_are_concatenated():
    views = digits_views()
    problems = [as_problem(one) for one in views]
    indptr, indices, weights, node_weights = stacked(problems)
    for v, problem in enumerate(problems):
        span = slice(indptr[v, 0], indptr[v, -1])
        assert np.array_equal(indices[span], problem.graph.indices)
        assert np.array_equal(weights[span], problem.graph.weights)
        assert np.array_equal(node_weights[v], problem.node_weights)


@given(graphs(min_nodes=4, max_nodes=8, connected=True), st.integers(2, 3))
def test_with_common_node_weights_the_sum_is_one_graph(graph, c):
    weights = np.linspace(1, 2, len(graph))
    other = graph * np.linspace(0.5, 1.5, len(graph))[:, None]
    other = (other + other.T) / 2
    result = leastcut.partition_views([graph, other], c, "equal", cut=weights, **FAST)
    alone = leastcut.partition(graph + other, c, weights, **FAST)
    assert result.objective <= alone.cut_value * (1 + 1e-9)


# -- views of images, which the benchmark uses


PLOTS = load_digits().images[:20]


def test_views_of_images_have_their_documented_invariances():
    np.testing.assert_allclose(
        image_views.fourier(np.roll(PLOTS, (2, 3), axis=(1, 2))), image_views.fourier(PLOTS)
    )
    turned = image_views.zernike(np.rot90(PLOTS, axes=(1, 2)))
    np.testing.assert_allclose(turned, image_views.zernike(PLOTS), atol=1e-9)
    sums = (image_views.gradients(PLOTS) ** 2).reshape(-1, image_views.N_ANGLES).sum(axis=1)
    assert np.all(np.isclose(sums, 1.0) | (sums == 0.0))


def test_binary_patterns_do_not_change_with_the_light():
    pytest.importorskip("skimage")
    plain = image_views.binary_patterns(PLOTS)
    np.testing.assert_allclose(image_views.binary_patterns(3.0 * PLOTS + 1.0), plain)
    assert np.all(np.isclose((plain**2).reshape(-1, 10).sum(axis=1), 1.0))


def test_eigenvectors_of_views_find_well_separated_groups(blobs):
    X, y = blobs
    graphs_of = [leastcut.adaptive_neighbors_graph(X), leastcut.nearest_neighbors_graph(X)]
    assert leastcut.clustering_accuracy(y, amgl(graphs_of, 3)) == 1.0


def test_one_view_converges_unless_stopped():
    S = knn_graph(load_iris().data)
    for stop in (False, True):
        result = leastcut.partition_views(
            [S], 3, random_state=0, callback=lambda _, stop=stop: stop
        )
        assert result.converged is not stop


@pytest.mark.parametrize("cut", ["ratio", "normalized"])
@pytest.mark.parametrize("exponent", [-1010, -960, 0])
def test_scale_is_the_factor_of_cut_values(cut, exponent):
    S = np.triu(np.random.default_rng(0).integers(1, 2**20, (8, 8)), 1)
    problem = as_problem(np.ldexp((S + S.T).astype(float), exponent), cut)
    raised, labels = problem.within_range(), np.arange(8) % 3
    assert (raised is not problem) == (exponent < 0)
    fraction, power = np.frexp(_scale(problem, raised))
    assert fraction == 0.5
    value = np.ldexp(problem.value(labels), power - 1)
    assert value == pytest.approx(raised.value(labels), rel=1e-9)

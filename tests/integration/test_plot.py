"""Plots: their content, legibility on any background, and absence of global state."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from dataclasses import replace
from itertools import combinations, pairwise

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from conftest import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

import leastcut
from leastcut import plot
from leastcut.plot.canvas import (
    CLUSTER_COLORS,
    CLUSTER_MARKERS,
    PALETTE,
    cluster_styles,
    luminance,
)
from leastcut.plot.clusters import MOST_CELLS, clusters_of, mean_cells
from leastcut.plot.node_plots import corner_order, corner_points, layout

matplotlib = pytest.importorskip("matplotlib")
from matplotlib import style  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.colors import to_rgb, to_rgba  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.text import Text  # noqa: E402

BACKGROUNDS = ("default", "dark_background")
METHODS = ("kmeans", "cluster_qr", "partition")


@pytest.fixture(scope="module")
def results():
    """The results that the plots show."""
    X, _ = make_blobs(120, centers=4, cluster_std=0.8, random_state=3)
    model = leastcut.SpectralClustering("auto", random_state=0, max_clusters=8).fit(X)
    progress = []
    karate = nx.karate_club_graph()
    S = sp.csr_array(nx.to_scipy_sparse_array(karate, dtype=float))
    leastcut.certify(S, leastcut.partition(S, 2, random_state=0).labels, callback=progress.append)
    compared = leastcut.compare(model.affinity_matrix_, 4, methods=METHODS, random_state=0)
    return {"path": model, "clusters": model, "comparison": compared, "proof": progress}


@pytest.fixture(scope="module")
def karate():
    graph = nx.karate_club_graph()
    return graph, leastcut.partition(graph, 4, random_state=0)


def contrast(one, other):
    low, high = sorted((luminance(*to_rgb(one)), luminance(*to_rgb(other))))
    return (high + 0.05) / (low + 0.05)


def tick_labels(axis):
    """The visible tick labels: an axis has others beyond its limits."""
    low, high = sorted(axis.get_view_interval())
    return [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]


# -- all plots


@pytest.mark.parametrize("background", BACKGROUNDS)
@pytest.mark.parametrize("name", plot.PLOTS)
def test_a_plot_is_legible_and_changes_no_setting(name, background, results):
    entry = plot.PLOTS[name]
    with style.context(background):
        before = dict(matplotlib.rcParams)
        ax = entry.draw(results[entry.shows])
        assert dict(matplotlib.rcParams) == before
        figure = ax.figure
        figure.draw_without_rendering()
    assert isinstance(ax, Axes)
    assert ax.get_title()
    background = figure.get_facecolor()
    texts = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
    assert len(texts) > 3
    for text in texts:
        assert contrast(text.get_color(), background) >= 4.5, text
    # no title, label or legend overlaps another or extends beyond the figure
    parts = [ax.title, ax.xaxis.label, ax.yaxis.label, ax.get_legend()]
    parts += [*tick_labels(ax.xaxis), *tick_labels(ax.yaxis)]
    shown = [part for part in parts if part and (not isinstance(part, Text) or part.get_text())]
    boxes = [part.get_window_extent() for part in shown if part.get_visible()]
    width, height = figure.canvas.get_width_height()
    for box in boxes:
        assert min(box.x0, box.y0, width - box.x1, height - box.y1) >= -1
    for (i, one), (j, other) in combinations(enumerate(boxes), 2):
        are_disjoint = (
            one.x1 <= other.x0 + 1
            or other.x1 <= one.x0 + 1
            or one.y1 <= other.y0 + 1
            or other.y1 <= one.y0 + 1
        )
        assert are_disjoint, (shown[i], shown[j])


@pytest.mark.parametrize("name", plot.PLOTS)
def test_a_plot_is_drawn_on_the_given_axes(name, results):
    entry = plot.PLOTS[name]
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert entry.draw(results[entry.shows], ax=right) is right
    assert right.get_title()
    assert not left.get_title()
    assert not left.get_children()[0].axes.lines


def test_every_public_plot_is_registered():
    assert {*plot.__all__} == {"PLOTS", *plot.PLOTS}
    for name, entry in plot.PLOTS.items():
        assert getattr(plot, name) is entry.draw
        assert entry.draw.__name__ == name


WITHOUT_STATE = """
import sys, leastcut
S = [[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 2], [0, 0, 2, 0]]
result = leastcut.partition(S, 2, random_state=0)
assert "matplotlib" not in sys.modules
{before}
ax = result.plot(S)
{after}
"""


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "assert 'matplotlib.pyplot' not in sys.modules"),
        (
            "import matplotlib.pyplot as plt; plt.switch_backend('agg')",
            "assert ax.figure is plt.figure(plt.get_fignums()[-1])",
        ),
        (
            "from unittest.mock import MagicMock; "
            "sys.modules['IPython'] = MagicMock(version_info=(9, 0))",
            "plt = sys.modules['matplotlib.pyplot']; assert plt.get_fignums() == [1]",
        ),
    ],
    ids=["alone", "pyplot", "notebook"],
)
def test_a_new_figure_belongs_to_pyplot_only_if_it_is_used(before, after):
    code = textwrap.dedent(WITHOUT_STATE).format(before=before, after=after)
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "MPLBACKEND": "agg"},
    )
    assert done.returncode == 0, done.stderr


def test_without_matplotlib_the_error_names_the_install_command(monkeypatch, karate):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    graph, result = karate
    with pytest.raises(ImportError, match=r"Plots need matplotlib.*leastcut\[plot\]"):
        plot.sizes(result, graph)


# -- plotted quantities


@settings(max_examples=draws(30))
@given(st.integers(0, 10**6), st.integers(4, 40), st.sampled_from(["normalized", "ratio"]))
def test_shares_are_terms_of_the_cut_value(seed, n, cut):
    rng = np.random.default_rng(seed)
    S = sp.random_array((n, n), density=0.3, rng=rng)
    S = sp.csr_array(S + S.T + sp.diags_array(np.ones(n)))
    labels = np.concatenate([[0, 1, 2], rng.integers(3, size=n - 3)])
    clusters = clusters_of(labels, S, cut)
    value = leastcut.cut_value(S, labels, cut)
    assert clusters.cut_value == pytest.approx(value)
    assert clusters.shares.sum() == pytest.approx(1.0 if value > 0 else 0.0)
    assert ((clusters.inside >= 0) & (clusters.inside <= 1 + 1e-12)).all()
    crossing = clusters.graph.outward * (1.0 - clusters.inside)
    assert np.bincount(labels, crossing) == pytest.approx(clusters.boundaries)


@settings(max_examples=draws(30))
@given(st.integers(0, 10**6), st.integers(2, 30), st.integers(1, 5))
def test_cells_are_means_of_pairs(seed, n, count):
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n) % min(count, n))
    S = rng.random((n, n)) * (rng.random((n, n)) < 0.5)
    S = S + S.T
    clusters = clusters_of(labels, S, "ratio")
    means, starts = mean_cells(clusters)
    # few nodes have a cell each, so the cells are the permuted matrix
    assert means.shape == (n, n)
    order = np.lexsort((-clusters.inside, labels))
    assert means == pytest.approx(S[np.ix_(order, order)])
    assert np.diff(starts).tolist() == np.bincount(labels).tolist()


def test_a_large_matrix_is_never_made_dense():
    n = 100_000
    rng = np.random.default_rng(0)
    labels = np.sort(rng.integers(7, size=n))
    labels[:2] = 7  # a cluster too small for a cell of its own
    i = rng.integers(n, size=3 * n)
    j = (i + rng.integers(1, 2_000, size=3 * n)) % n
    S = sp.coo_array((rng.random(3 * n), (i, j)), shape=(n, n))
    clusters = clusters_of(labels, sp.csr_array(S + S.T), "ratio")
    means, starts = mean_cells(clusters)
    assert len(means) <= MOST_CELLS + 8
    # the sums of blocks equal those of the graph
    sizes = clusters.sizes.astype(float)
    rows = labels[clusters.graph.rows] * 8 + labels[clusters.graph.indices]
    blocks = np.bincount(rows, clusters.graph.weights, minlength=64).reshape(8, 8)
    cells = np.diff(starts)
    for a in range(8):
        for b in range(8):
            block = means[starts[a] : starts[a + 1], starts[b] : starts[b + 1]]
            # the numbers of nodes of the cells of a cluster differ by at most one
            mean = blocks[a, b] / (sizes[a] * sizes[b])
            assert block.mean() == pytest.approx(mean, rel=2 * max(cells[[a, b]] / sizes[[a, b]]))


@settings(max_examples=draws(30))
@given(st.integers(0, 10**6), st.integers(3, 8), st.integers(0, 40))
def test_nodes_are_mapped_nearest_to_the_corners_of_their_clusters(seed, count, more):
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(count), rng.integers(count, size=more)])
    weights = rng.random(labels.size) + 0.1
    order = rng.permutation(count)

    def points_of(columns):
        """The points of rows with columns orthonormalized with respect to the weights."""
        root = np.sqrt(weights)[:, np.newaxis]
        rows = np.linalg.qr(root * columns)[0] / root
        return rows, corner_points(rows, weights, labels, order)

    # clusters in the span of the columns are at their corners
    columns = np.eye(count)[labels] @ rng.standard_normal((count, count))
    _, exact = points_of(columns)
    corners = np.stack([exact[labels == k][0] for k in range(count)])
    assert exact == pytest.approx(corners[labels], abs=1e-6)
    assert np.linalg.norm(corners, axis=1) == pytest.approx(np.ones(count), abs=1e-6)
    # adjacent clusters have adjacent corners
    side = 2.0 * np.sin(np.pi / count)
    for a, b in zip(order, np.roll(order, -1), strict=True):
        assert np.linalg.norm(corners[a] - corners[b]) == pytest.approx(side, abs=1e-6)
    # for other columns the map is a least-squares solution: residuals are orthogonal to them
    rows, points = points_of(rng.standard_normal((labels.size, count)))
    residuals = weights[:, np.newaxis] * (corners[labels] - points)
    assert rows.T @ residuals == pytest.approx(np.zeros((count, 2)), abs=1e-9)


def test_connected_clusters_have_adjacent_corners():
    # a ring of six clusters, numbered in another order
    names = np.array([3, 0, 5, 1, 4, 2])
    S = np.kron(np.eye(6), np.ones((5, 5)))
    for k in range(6):
        a, b = 5 * k + 4, (5 * k + 5) % 30
        S[a, b] = S[b, a] = 0.5
    order = corner_order(clusters_of(np.repeat(names, 5), S)).tolist()
    where = [order.index(k) for k in names]
    steps = np.diff([*where, where[0]]) % 6
    assert set(steps) in ({1}, {5})


@settings(max_examples=draws(20))
@given(st.integers(0, 10**6), st.integers(1, 40), st.floats(0.0, 0.4))
def test_layouts_have_distinct_positions_and_separate_components(seed, n, density):
    graph = clusters_of(
        np.zeros(n, dtype=int),
        nx.to_scipy_sparse_array(nx.gnp_random_graph(n, density, seed=seed), dtype=float),
        "ratio",
    ).graph
    places = layout(graph)
    assert np.isfinite(places).all()
    assert np.array_equal(places, layout(graph))
    if n > 1:
        distances = np.linalg.norm(places[:, None] - places, axis=-1) + np.eye(n)
        assert distances.min() > 1e-6
    count, component = graph.components
    boxes = [
        (places[component == k].min(axis=0), places[component == k].max(axis=0))
        for k in range(count)
    ]
    for (low, high), (other_low, other_high) in combinations(boxes, 2):
        assert (high < other_low).any() or (other_high < low).any()


def test_the_layout_of_a_path_is_a_line():
    S = np.diag(np.ones(9), 1)
    places = layout(clusters_of(np.zeros(10, dtype=int), S + S.T).graph)
    assert np.all(np.diff(places[:, 0]) > 0) or np.all(np.diff(places[:, 0]) < 0)
    assert np.ptp(places[:, 1]) < 0.1 * np.ptp(places[:, 0])


# -- titles, labels and errors


def test_a_drawn_graph_counts_cut_edges_and_shows_names(karate):
    graph, result = karate
    renamed = nx.relabel_nodes(graph, {0: "Mr Hi", 33: "John A. $ & <b>"})
    ax = plot.graph(result, renamed)
    crossing = sum(result.labels[u] != result.labels[v] for u, v in graph.edges)
    assert ax.get_title() == f"4 clusters: {crossing} of 78 edges are cut"
    texts = {text.get_text() for text in ax.texts}
    assert {"Mr Hi", "John A. $ & <b>"} <= texts
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


def test_nodes_are_drawn_at_their_positions(karate):
    graph, result = karate
    positions = np.random.default_rng(0).random((34, 2))
    ax = plot.graph(result, graph, positions)
    offsets = np.concatenate([np.asarray(group.get_offsets()) for group in ax.collections[2:]])
    assert np.allclose(offsets[np.lexsort(offsets.T)], positions[np.lexsort(positions.T)])


def test_plot_methods_equal_the_functions(results, karate):
    model, (graph, result) = results["clusters"], karate

    def title(draw, *arguments):
        return draw(*arguments, ax=Figure().add_subplot()).get_title()

    for kind, entry in plot.PLOTS.items():
        if entry.shows == "clusters":
            assert title(result.plot, graph, kind) == title(entry.draw, result, graph)
            assert title(model.plot, kind) == title(entry.draw, model)
        if entry.shows == "path":
            assert title(model.plot, kind) == title(model.cut_path_.plot, kind)
    assert model.cut_path_.plot().get_ylabel() == "evidence"
    with pytest.raises(ValueError, match=r"kind='evidence' is not known.*'sizes'"):
        result.plot(graph, kind="evidence")
    with pytest.raises(ValueError, match=r"kind='sizes' is not known.*'cut_values'"):
        model.cut_path_.plot("sizes")


def test_a_comparison_has_a_bar_per_method_and_the_bound(results):
    compared = results["comparison"]
    ax = plot.comparison(compared)
    rows = sorted(compared.compared, key=lambda row: row.cut_value)
    places = sorted((bar.get_y(), bar.get_width()) for bar in ax.patches)
    assert [width for _, width in places] == [row.cut_value for row in rows]
    names = [label.get_text().replace(" ", "_") for label in ax.get_yticklabels()]
    assert names == [row.method for row in rows]
    (bound,) = ax.lines
    assert set(bound.get_xdata()) == {compared.lower_bound}
    with pytest.raises(ValueError, match="The comparison is empty"):
        plot.comparison(replace(compared, compared=()))
    unusual = replace(rows[0], method="a $ & <b>")
    plot.comparison(replace(compared, compared=(unusual,))).figure.canvas.draw()


def test_many_clusters_are_drawn_as_points(karate):
    graph, _ = karate
    S = sp.csr_array(sp.kron(sp.eye_array(34), np.ones((2, 2))))
    S = S + sp.kron(nx.to_scipy_sparse_array(graph, dtype=float), np.eye(2))
    labels = np.repeat(np.arange(34), 2)
    (line,) = plot.sizes(labels, S).lines
    clusters = clusters_of(labels, S)
    assert np.array_equal(line.get_xdata(), clusters.sizes)
    assert np.array_equal(line.get_ydata(), clusters.shares)


def test_isolated_nodes_and_directed_graphs_can_be_plotted():
    X, _ = make_blobs(30, centers=2, random_state=0)
    S = leastcut.nearest_neighbors_graph(X, 4)
    isolated = sp.csr_array(sp.block_diag([S, sp.csr_array((2, 2))]))
    with pytest.warns(UserWarning, match="no edges"):
        model = leastcut.SpectralClustering(3, affinity="precomputed", random_state=0).fit(isolated)
    for kind in ("embedding", "affinity", "sizes", "graph"):
        assert model.plot(kind).get_title()
    directed = nx.DiGraph([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3)])
    result = leastcut.partition(directed, 2, symmetrize="mean", random_state=0)
    assert (
        plot.graph(result, directed, symmetrize="mean").get_title().startswith("2 clusters: 1 of")
    )
    with pytest.raises(ValueError, match="symmetrize"):
        plot.graph(result, directed)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda S, y: plot.sizes(y),
            ValueError,
            "does not store its graph; pass the graph as graph=",
        ),
        (lambda S, y: plot.sizes(y[:3], S), ValueError, r"each of the 6 nodes.*shape \(3,\)"),
        (lambda S, y: plot.sizes(y + 0.5, S), ValueError, "dtype float64"),
        (lambda S, y: plot.sizes(y, S, cut="norm"), ValueError, "cut='norm' is not known"),
        (lambda S, y: plot.sizes(leastcut.SpectralClustering()), ValueError, "call fit first"),
        (lambda S, y: plot.embedding(y, S, view="up"), ValueError, "'corners', 'eigenvectors'"),
        (
            lambda S, y: plot.embedding(y[:2], S[:2, :2]),
            ValueError,
            "at least 3 nodes .* has 2 such nodes",
        ),
        (
            lambda S, y: plot.graph(y, S, [[0, 0]]),
            ValueError,
            r"of shape \(6, 2\), but has shape \(1, 2\)",
        ),
        (lambda S, y: plot.graph(y, S, np.full((6, 2), np.nan)), ValueError, "NaN"),
        (lambda S, y: plot.evidence(y), TypeError, "leastcut.cut_path returns a CutPath"),
        (lambda S, y: plot.closing_in([]), ValueError, "callback=progress.append"),
    ],
)
def test_invalid_arguments_raise_with_a_remedy(call, error, message):
    S = np.kron(np.eye(2), np.ones((3, 3))) + 0.1
    with pytest.raises(error, match=message):
        call(S, np.repeat([0, 1], 3))


def test_a_graph_too_large_to_draw_raises_with_other_plots():
    n = 600
    S = sp.diags_array(np.ones(n - 1), offsets=1)
    S, labels = sp.csr_array(S + S.T), np.repeat([0, 1], n // 2)
    with pytest.raises(
        ValueError, match=r"600 nodes.*plot\.affinity or plot\.embedding.*positions"
    ):
        plot.graph(labels, S)
    assert plot.graph(labels, S, np.random.default_rng(0).random((n, 2))).get_title()


def test_positions_in_a_dict_raise_with_the_array_to_pass(karate):
    graph, result = karate
    with pytest.raises(TypeError, match=r"shape \(34, 2\).*\[positions\[node\]"):
        plot.graph(result, graph, dict.fromkeys(range(34), (0.0, 1.0)))


def test_an_estimator_without_a_path_raises():
    X, _ = make_blobs(30, centers=2, random_state=0)
    model = leastcut.SpectralClustering(2, random_state=0).fit(X)
    with pytest.raises(ValueError, match="n_clusters='auto'"):
        model.plot("evidence")


# -- colors

BLINDNESS = {
    "none": np.eye(3),
    "red": [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]],
    "green": [[0.3673, 0.8606, -0.2280], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]],
    "blue": [[1.2555, -0.0767, -0.1788], [-0.0784, 0.9308, 0.1476], [0.0047, 0.6914, 0.3039]],
}
"""Linear RGB transforms that simulate color blindness (Machado et al., 2009)."""


def perceived(color, blindness):
    """Return a color in OKLab, whose distances approximate perceived differences."""
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in to_rgb(color)]
    seen = np.clip(np.asarray(BLINDNESS[blindness]) @ linear, 0.0, 1.0)
    cones = np.cbrt(
        np.array([[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.63]])
        @ seen
    )
    return (
        np.array([[0.2105, 0.7936, -0.0041], [1.978, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]])
        @ cones
    )


@pytest.mark.parametrize("screen", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("blindness", BLINDNESS)
def test_cluster_colors_differ_with_every_kind_of_color_blindness(screen, blindness):
    colors = [pair[screen] for pair in CLUSTER_COLORS.values()]
    backgrounds = (PALETTE["page"][screen], ("white", "black")[screen])
    for color in colors:
        assert all(contrast(color, background) >= 2.95 for background in backgrounds), color
    for one, other in combinations(colors, 2):
        assert np.linalg.norm(perceived(one, blindness) - perceived(other, blindness)) > 0.1


def test_many_clusters_differ_in_color_or_marker():
    count = len(CLUSTER_COLORS) * len(CLUSTER_MARKERS)
    styles = cluster_styles(Figure().add_subplot(), count)
    assert len(set(styles)) == count
    assert all(one[1] != other[1] for one, other in pairwise(styles))


@pytest.mark.parametrize(
    ("face", "figure_face", "dark"),
    [("white", "black", 0), ("black", "white", 1), ("none", "black", 1), ("none", "white", 0)],
)
def test_colors_depend_on_the_background(face, figure_face, dark):
    ax = Figure(facecolor=figure_face).add_subplot(facecolor=face)
    (color, _), *_ = cluster_styles(ax, 1)
    assert to_rgba(color) == to_rgba(CLUSTER_COLORS["cluster-0"][dark])

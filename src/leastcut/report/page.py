"""The report of a partition, a single HTML file. Its layout is in ``templates``."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import numpy as np

import leastcut
from leastcut.formatting import (
    column_texts,
    counted,
    gap_in_words,
    percent,
    seconds_text,
    shortened,
    significant,
)
from leastcut.optional_packages import needed_for
from leastcut.plot.canvas import CLUSTER_COLORS, CLUSTER_MARKERS
from leastcut.plot.clusters import Clusters, clusters_of
from leastcut.report import figures

# Characters for the markers of clusters.
SIGNS = {"o": "●", "s": "■", "^": "▲", "D": "◆", "v": "▼", "P": "✚", "X": "✖", "p": "⬟"}
REPRESENTATIVES = 5  # representative nodes listed per cluster
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")  # whose versions the report lists


@dataclass(frozen=True, eq=False)
class ReportContent:
    """A partition and everything that its report mentions."""

    title: str  # such as the name of the file
    graph: Any
    cut: Any  # a name, or node weights
    partition: leastcut.Partition
    points: np.ndarray | None = None
    names: Sequence[str] | None = None  # names of the nodes
    path: leastcut.CutPath | None = None
    comparison: leastcut.Comparison | None = None
    seconds: dict[str, float] = field(default_factory=dict)  # run time by step
    command: str = ""  # a command that reproduces the result
    notes: list[str] = field(default_factory=list)
    image: np.ndarray | None = None  # with colored segments, shape (height, width, 3 or 4)
    seed: int | None = None


def report_html(content: ReportContent) -> str:
    """Return the report of a partition as a self-contained HTML page."""
    with needed_for("Reports", "jinja2", "report"):
        from jinja2 import Environment, PackageLoader, StrictUndefined
    clusters = clusters_of(content.partition, content.graph, content.cut)
    if content.names is not None:
        clusters.node_names = content.names
    names = clusters.node_names
    if names is not None and len(names) != clusters.n_nodes:
        raise ValueError(
            f"names must have one entry per node: expected {clusters.n_nodes}, got {len(names)}."
        )
    parts: dict[str, Any] = {}
    if content.path is not None:
        kinds = ("evidence", "cut_values")
        parts["path_plots"] = [figures.plotted(kind, content.path) for kind in kinds]
    if content.comparison is not None:
        height = max(1.8, 1.1 + 0.3 * len(content.comparison.compared))
        parts["methods"] = method_rows(content.comparison)
        parts["methods_plot"] = figures.plotted("comparison", content.comparison, height)
    environment = Environment(
        loader=PackageLoader("leastcut.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("report.html").render(
        title=content.title,
        palette=figures.COLORS,
        sentences=sentences(content, clusters),
        rows=cluster_rows(clusters),
        has_names=names is not None,
        plots=figures.cluster_figures(clusters, content.points),
        segments=None if content.image is None else figures.image_url(content.image),
        path=content.path,
        comparison=content.comparison,
        notes=content.notes,
        command=content.command,
        settings=settings(content, clusters),
        **parts,
    )


# -- sentences


def sentences(content: ReportContent, clusters: Clusters) -> list[str]:
    """Return three sentences about the clusters, the cut value and the lower bound."""
    # 1. The clusters.
    nodes, count = counted(clusters.n_nodes, "node"), counted(clusters.n_clusters, "cluster")
    least, most = int(clusters.sizes.min()), int(clusters.sizes.max())
    sizes = f"{nodes} in {count} of {least:,} to {counted(most, 'node')}."
    if clusters.n_clusters == 1:
        sizes = f"All {nodes} are in 1 cluster."
    elif least == most:
        sizes = f"{nodes} in {count} of {counted(least, 'node')} each."
    # 2. The cut.
    value, mean = clusters.cut_value, clusters.cut_value / clusters.n_clusters
    cut = f"The {_cut_name(clusters)} cut value is {significant(value)}: on average, "
    if value == 0.0:
        cut = "The cut value is 0: no edge joins two clusters."
    elif clusters.cut == "normalized":
        cut += f"{percent(mean)} of the edge weight of a cluster leads to other clusters."
    else:
        unit = "node" if clusters.cut == "ratio" else "unit of node weight"
        cut += f"the edges that leave a cluster weigh {significant(mean)} per {unit}."
    # 3. The gap.
    gap, bound = content.partition.gap, content.partition.lower_bound
    proven = "The lower bound was not computed."
    if gap is not None and bound is not None:
        proven = f"The lower bound is {significant(bound)}; {gap_in_words(gap)}."
    return [sizes, cut, proven]


def _cut_name(clusters: Clusters) -> str:
    return "weighted" if clusters.cut == "given" else clusters.cut


# -- tables


def cluster_rows(clusters: Clusters) -> list[tuple[int, str, str, tuple[str, ...]]]:
    """Return the number, color, marker and table cells of each cluster."""
    degrees, sizes = clusters.graph.degrees, clusters.sizes.tolist()
    order = np.lexsort((-degrees, -clusters.inside, clusters.labels))
    names = clusters.node_names or range(clusters.n_nodes)
    nodes = [
        ", ".join(shortened(str(names[node])) for node in members[:REPRESENTATIVES])
        for members in np.split(order, np.cumsum(sizes)[:-1])
    ]
    columns = (
        [f"{size:,}" for size in sizes],
        [percent(size / clusters.n_nodes) for size in sizes],
        column_texts(np.bincount(clusters.labels, degrees)),
        column_texts(clusters.boundaries),
        column_texts(clusters.terms),
        [percent(share) for share in clusters.shares.tolist()],
        nodes,
    )
    colors, markers = list(CLUSTER_COLORS), CLUSTER_MARKERS
    return [
        (k, colors[k % len(colors)], SIGNS[markers[k % len(markers)]], cells)
        for k, cells in enumerate(zip(*columns, strict=True))
    ]


def method_rows(comparison: leastcut.Comparison) -> list[tuple[str, bool, str, list[str]]]:
    """Return name, whether it is best, cut value and other cells of each method, best first."""
    rows = sorted(comparison.compared, key=lambda row: row.cut_value)
    values = column_texts((row.cut_value for row in rows), digits=4)
    return [
        (
            row.method.replace("_", " "),
            row.cut_value <= rows[0].cut_value * (1.0 + 1e-9),
            value,
            [
                "–" if row.gap is None else percent(row.gap),
                f"{min(row.sizes):,}–{max(row.sizes):,}",
                seconds_text(row.seconds),
            ],
        )
        for row, value in zip(rows, values, strict=True)
    ]


def settings(content: ReportContent, clusters: Clusters) -> dict[str, str]:
    """Return texts on how the result was computed, by name."""
    n_edges = int(np.sum(clusters.graph.rows < clusters.graph.indices))
    texts = {
        "Graph": f"{counted(clusters.n_nodes, 'node')} and {counted(n_edges, 'edge')}",
        "Cut": _cut_name(clusters),
    }
    if content.points is not None:
        rows, columns = content.points.shape
        texts["Samples"] = f"{rows:,} with {counted(columns, 'feature')}"
    if content.seed is not None:
        texts["Seed"] = str(content.seed)
    if content.seconds:
        steps = (f"{name} {seconds_text(seconds)}" for name, seconds in content.seconds.items())
        texts["Time"] = ", ".join(steps)
    versions = [f"leastcut {leastcut.__version__}", f"Python {platform.python_version()}"]
    versions += [f"{package} {version(package)}" for package in PACKAGES]
    texts["Versions"] = ", ".join(versions)
    texts["System"] = f"{platform.system()} {platform.machine()}"
    return texts

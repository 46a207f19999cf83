"""The report of a partition: one HTML file that opens offline. Its layout is in ``templates``."""

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

# The markers of clusters, as letters.
SIGNS = {"o": "●", "s": "■", "^": "▲", "D": "◆", "v": "▼", "P": "✚", "X": "✖", "p": "⬟"}
REPRESENTATIVES = 5  # nodes that represent a cluster
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")  # on which a result may depend


@dataclass(frozen=True, eq=False)
class Answer:
    """A partition and everything that its report mentions."""

    title: str  # what was clustered, such as the name of a file
    graph: Any
    cut: Any  # a name, or node weights
    found: leastcut.Partition
    points: np.ndarray | None = None
    names: Sequence[str] | None = None  # of the nodes
    path: leastcut.CutPath | None = None
    comparison: leastcut.Comparison | None = None
    seconds: dict[str, float] = field(default_factory=dict)  # of every step
    command: str = ""  # that reproduces the result
    notes: list[str] = field(default_factory=list)
    picture: np.ndarray | None = None  # the colored segments of an image, (height, width, 3 or 4)
    seed: int | None = None


def report_html(answer: Answer) -> str:
    """Return a page that shows a partition in words, numbers and figures.

    It refers to nothing outside itself, and suits light and dark screens of any width.
    """
    with needed_for("Pages", "jinja2", "report"):
        from jinja2 import Environment, PackageLoader, StrictUndefined
    clusters = clusters_of(answer.found, answer.graph, answer.cut)
    if answer.names is not None:
        clusters.node_names = answer.names
    names = clusters.node_names
    if names is not None and len(names) != clusters.n_nodes:
        raise ValueError(
            f"names must be one for each of the {clusters.n_nodes} nodes, but are {len(names)}."
        )
    parts: dict[str, Any] = {}
    if answer.path is not None:
        kinds = ("evidence", "cut_values")
        parts["path_pictures"] = [figures.plotted(kind, answer.path) for kind in kinds]
    if answer.comparison is not None:
        height = max(1.8, 1.1 + 0.3 * len(answer.comparison.compared))
        parts["methods"] = method_rows(answer.comparison)
        parts["methods_picture"] = figures.plotted("comparison", answer.comparison, height)
    environment = Environment(
        loader=PackageLoader("leastcut.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("report.html").render(
        title=answer.title,
        palette=figures.COLORS,
        sentences=sentences(answer, clusters),
        rows=cluster_rows(clusters),
        has_names=names is not None,
        pictures=figures.of_clusters(clusters, answer.points),
        segments=None if answer.picture is None else figures.of_segments(answer.picture),
        path=answer.path,
        comparison=answer.comparison,
        notes=answer.notes,
        command=answer.command,
        settings=settings(answer, clusters),
        **parts,
    )


# -- sentences


def sentences(answer: Answer, clusters: Clusters) -> list[str]:
    """Return three sentences: the clusters, the cut, and what is proven."""
    # 1. The clusters.
    nodes, count = counted(clusters.n_nodes, "node"), counted(clusters.n_clusters, "cluster")
    least, most = int(clusters.sizes.min()), int(clusters.sizes.max())
    sizes = (
        f"{nodes} in {count}: the smallest of {counted(least, 'node')}, the largest of {most:,}."
    )
    if clusters.n_clusters == 1:
        sizes = f"All {nodes} are in 1 cluster."
    elif least == most:
        sizes = f"{nodes} in {count}: each of {counted(least, 'node')}."
    # 2. The cut.
    value, mean = clusters.cut_value, clusters.cut_value / clusters.n_clusters
    cut = f"The {_cut_name(clusters)} cut value is {significant(value)}: on average, "
    if value == 0.0:
        cut = "The cut value is 0: no edge joins two clusters."
    elif clusters.cut == "normalized":
        cut += f"{percent(mean)} of a cluster's edge weight goes to others."
    else:
        unit = "node" if clusters.cut == "ratio" else "unit of its weight"
        cut += f"edges of weight {significant(mean)} leave a cluster per {unit}."
    # 3. The gap.
    gap, bound = answer.found.gap, answer.found.lower_bound
    proven = "How much smaller it could be was not computed."
    if gap is not None and bound is not None:
        proven = f"The lower bound is {significant(bound)}; {gap_in_words(gap)}."
    return [sizes, cut, proven]


def _cut_name(clusters: Clusters) -> str:
    return "weighted" if clusters.cut == "given" else clusters.cut


# -- tables


def cluster_rows(clusters: Clusters) -> list[tuple[int, str, str, tuple[str, ...]]]:
    """Return the number, the color, the sign and the texts of every cluster."""
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
    """Return name, whether it is best, value and further texts of methods, the best one first."""
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


def settings(answer: Answer, clusters: Clusters) -> dict[str, str]:
    """Return how the result was computed, as texts by name."""
    n_edges = int(np.sum(clusters.graph.rows < clusters.graph.indices))
    texts = {
        "Graph": f"{counted(clusters.n_nodes, 'node')} and {counted(n_edges, 'edge')}",
        "Cut": _cut_name(clusters),
    }
    if answer.points is not None:
        rows, columns = answer.points.shape
        texts["Samples"] = f"{rows:,} of {counted(columns, 'feature')}"
    if answer.seed is not None:
        texts["Seed"] = str(answer.seed)
    if answer.seconds:
        steps = (f"{name} {seconds_text(seconds)}" for name, seconds in answer.seconds.items())
        texts["Time"] = ", ".join(steps)
    versions = [f"leastcut {leastcut.__version__}", f"Python {platform.python_version()}"]
    versions += [f"{package} {version(package)}" for package in PACKAGES]
    texts["Versions"] = ", ".join(versions)
    texts["System"] = f"{platform.system()} {platform.machine()}"
    return texts

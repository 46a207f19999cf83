"""What a report says: the answer in sentences, a row for every cluster, and where it is from."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

import leastcut
from leastcut.formatting import (
    PROVEN,
    column_texts,
    counted,
    percent,
    seconds_text,
    shortened,
    significant,
)
from leastcut.plot.clusters import Clusters
from leastcut.report.answer import Answer
from leastcut.report.design.palette import CLUSTER_COLORS, CLUSTER_MARKERS

SIGNS = {"o": "●", "s": "■", "^": "▲", "D": "◆", "v": "▼", "P": "✚", "X": "✖", "p": "⬟"}
"""The markers of clusters, as letters."""

REPRESENTATIVES = 5
"""Nodes that stand for a cluster."""

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")
"""Packages on which an answer may depend."""


@dataclass(frozen=True)
class ClusterRow:
    """A cluster as the page shows it; all but its number, colour and sign is text."""

    number: int
    color: str
    sign: str
    size: str
    part: str
    volume: str
    boundary: str
    term: str
    share: str
    representatives: str


def sentences(answer: Answer, clusters: Clusters) -> list[str]:
    """Return the answer in three sentences: the clusters, the cut, and what is proven."""
    return [_the_clusters(clusters), _the_cut(clusters), _the_gap(answer, clusters)]


def _the_clusters(clusters: Clusters) -> str:
    nodes, count = counted(clusters.n_nodes, "node"), counted(clusters.n_clusters, "cluster")
    smallest, largest = int(clusters.sizes.min()), int(clusters.sizes.max())
    if clusters.n_clusters == 1:
        return f"All {nodes} are in 1 cluster."
    sizes = (
        f"each of {counted(smallest, 'node')}"
        if smallest == largest
        else f"the smallest of {counted(smallest, 'node')}, the largest of {largest:,}"
    )
    return f"{nodes} in {count}: {sizes}."


def _the_cut(clusters: Clusters) -> str:
    value, mean = clusters.cut_value, clusters.cut_value / clusters.n_clusters
    if value == 0.0:
        return "The cut value is 0: no edge joins two clusters."
    start = f"The {_cut_name(clusters.cut)} cut value is {significant(value)}: "
    if clusters.cut == "normalized":
        return start + f"in the mean, {percent(mean)} of a cluster's edge weight goes to others."
    unit = "node" if clusters.cut == "ratio" else "unit of its weight"
    return start + f"in the mean, edges of weight {significant(mean)} leave a cluster per {unit}."


def _cut_name(cut: str) -> str:
    return "weighted" if cut == "given" else cut


def _the_gap(answer: Answer, clusters: Clusters) -> str:
    gap, bound = answer.found.gap, answer.found.lower_bound
    count = counted(clusters.n_clusters, "cluster")
    if gap is None or bound is None:
        return "How much smaller it could be was not computed."
    if gap <= PROVEN:
        return f"It is proven optimal: no partition into {count} has a smaller value."
    return (
        f"It is proven that no partition into {count} has a value below {significant(bound)}: at "
        f"most {percent(gap)} could be saved."
    )


def cluster_rows(clusters: Clusters) -> list[ClusterRow]:
    """Return a row for every cluster."""
    names = clusters.node_names
    volumes = column_texts(np.bincount(clusters.labels, clusters.graph.degrees))
    colors = list(CLUSTER_COLORS)
    order = np.lexsort((-clusters.graph.degrees, -clusters.inside, clusters.labels))
    starts = np.concatenate([[0], np.cumsum(clusters.sizes)])
    boundaries, terms = column_texts(clusters.boundaries), column_texts(clusters.terms)
    rows = []
    for k in range(clusters.n_clusters):
        nodes = order[starts[k] : starts[k + 1]][:REPRESENTATIVES]
        called = [str(node) if names is None else shortened(str(names[node])) for node in nodes]
        rows.append(
            ClusterRow(
                k,
                colors[k % len(colors)],
                SIGNS[CLUSTER_MARKERS[k % len(CLUSTER_MARKERS)]],
                f"{clusters.sizes[k]:,}",
                percent(float(clusters.sizes[k] / clusters.n_nodes)),
                volumes[k],
                boundaries[k],
                terms[k],
                percent(float(clusters.shares[k])),
                ", ".join(called),
            )
        )
    return rows


@dataclass(frozen=True)
class MethodRow:
    """A method as the page shows it; ``is_best`` says whether none has a smaller cut."""

    method: str
    is_best: bool
    cut_value: str
    gap: str
    sizes: str
    seconds: str


def method_rows(comparison: Any) -> list[MethodRow]:
    """Return a row for every method of a comparison, the smallest cut first."""
    rows = sorted(comparison.compared, key=lambda one: one.cut_value)
    values = column_texts((one.cut_value for one in rows), digits=4)
    return [
        MethodRow(
            one.method.replace("_", " "),
            one.cut_value <= rows[0].cut_value * (1.0 + 1e-9),
            value,
            "–" if one.gap is None else percent(one.gap),
            f"{min(one.sizes):,}–{max(one.sizes):,}" if len(one.sizes) else "–",
            seconds_text(one.seconds),
        )
        for one, value in zip(rows, values, strict=True)
    ]


def settings(answer: Answer, clusters: Clusters) -> list[tuple[str, str]]:
    """Return how the answer came about, as pairs of a name and a text."""
    edges = int(np.sum(clusters.graph.rows < clusters.graph.indices))
    found = [
        ("Graph", f"{counted(clusters.n_nodes, 'node')} and {counted(edges, 'edge')}"),
        ("Cut", _cut_name(clusters.cut)),
    ]
    if answer.points is not None:
        rows, columns = answer.points.shape
        found.append(("Samples", f"{rows:,} of {counted(columns, 'feature')}"))
    if answer.seed is not None:
        found.append(("Seed", str(answer.seed)))
    if answer.seconds:
        steps = (f"{name} {seconds_text(took)}" for name, took in answer.seconds.items())
        found.append(("Time", ", ".join(steps)))
    versions = [f"leastcut {leastcut.__version__}", f"Python {platform.python_version()}"]
    versions += [f"{package} {version(package)}" for package in PACKAGES]
    found.append(("Versions", ", ".join(versions)))
    found.append(("System", f"{platform.system()} {platform.machine()}"))
    return found

"""Figure 1 of the paper: how often the closest discrete solution is not the best one."""

from __future__ import annotations

from typing import Any

import numpy as np

from firstcut.paper.report.drawing import BLUE, INK, ORANGE, SOFT, TEAL, Figure, canvas, needed
from firstcut.paper.runs.experiments import NODES
from firstcut.paper.runs.methods import RANDOM_METHODS, Column
from firstcut.paper.runs.records import Record


def draw(records: list[Record]) -> Any:
    """Draw how often the optimum is missed on random graphs, by the number of nodes."""
    found = needed(records, "closest", "random")
    figure = canvas(6.4, 3.6)
    axes = figure.add_subplot()
    colors = (INK, BLUE, TEAL, ORANGE)
    names = ("closest discrete solution", "first order", "partition, fast", "partition, balanced")
    for (column, _), color, name in zip(RANDOM_METHODS, colors, names, strict=True):
        missed = _missed(found, column)
        if not missed:
            continue
        sizes, rates, counts = zip(*missed, strict=True)
        rate = np.array(rates) / 100.0
        error = 196.0 * np.sqrt(rate * (1.0 - rate) / np.array(counts))  # 1.96 deviations, in %
        label = f"{name} ({max(counts):,} graphs each)"
        axes.errorbar(
            sizes, rates, yerr=error, marker="o", markersize=4, color=color, label=label, capsize=2
        )
    # the paper has 3 to 5 nodes
    axes.axvspan(2.7, 5.5, color=SOFT, alpha=0.12, lw=0)
    axes.text(
        4.1,
        1.0,
        "sizes in the paper",
        color=SOFT,
        ha="center",
        va="top",
        transform=axes.get_xaxis_transform(),
    )
    axes.set_xlabel("nodes")
    axes.set_ylabel("optimum missed, % of graphs")
    axes.set_xlim(2.7, 10.3)
    axes.set_ylim(bottom=-1)
    axes.legend(loc="upper left", bbox_to_anchor=(0.0, 0.93))
    return figure


def _missed(records: list[Record], column: Column) -> list[tuple[int, float, int]]:
    """Return for every size with records: nodes, % of the graphs missed, and number of graphs."""
    found = []
    for n in NODES:
        batch = [
            record
            for record in records
            if record["dataset"] == f"random:{n}"
            and record["method"] == column.method
            # not by all parameters: their number of graphs differs between full and quick runs
            and record["parameters"].get("effort") == column.parameters.get("effort")
        ]
        if batch:
            # batches may be of different sizes, so misses and graphs are summed first
            total = sum(record["parameters"]["graphs"] for record in batch)
            found.append((n, 100.0 * sum(record["misses"] for record in batch) / total, total))
    return found


CLOSEST = Figure(
    "closest",
    "Random graphs",
    "How often a method misses the smallest ratio cut of a random graph (complete, "
    "weights uniform on [0, 1], c = 2). The closest discrete solution is found exactly, over all "
    "bipartitions and rotations. Bars: 95% intervals.",
    draw,
    "Figure 1",
)

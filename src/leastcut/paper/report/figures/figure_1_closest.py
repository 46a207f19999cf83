"""Figure 1 of the paper: how often the closest discrete solution is not the best one."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from leastcut.page_design.palette import BLUE, INK, ORANGE, RULE, SOFT, TEAL
from leastcut.paper.report.drawing import Figure, Panel, needed
from leastcut.paper.runs.experiments import NODES
from leastcut.paper.runs.methods import RANDOM_METHODS, Column
from leastcut.paper.runs.records import Record

LOOKS = (
    ("closest discrete solution", INK, "o"),
    ("first order", BLUE, "s"),
    ("partition, fast", TEAL, "^"),
    ("partition, balanced", ORANGE, "D"),
)
"""Name, colour and mark of each of the methods that are tried on random graphs."""


def panels(records: list[Record]) -> list[Panel]:
    """Return the one panel: how often the optimum is missed, by the number of nodes."""
    found = needed(records, "closest", "random")
    return [partial(_draw, records=found)]


def _draw(axes: Any, records: list[Record]) -> None:
    # the paper has 3 to 5 nodes
    axes.axvspan(2.7, 5.5, color=RULE, alpha=0.15, lw=0)
    axes.text(
        4.1,
        0.98,
        "sizes in the paper",
        color=SOFT,
        ha="center",
        va="top",
        transform=axes.get_xaxis_transform(),
    )
    for (column, _), (name, color, mark) in zip(RANDOM_METHODS, LOOKS, strict=True):
        missed = _missed(records, column)
        if not missed:
            continue
        sizes, rates, counts = zip(*missed, strict=True)
        rate = np.array(rates) / 100.0
        error = 196.0 * np.sqrt(rate * (1.0 - rate) / np.array(counts))  # 1.96 deviations, in %
        label = f"{name} ({max(counts):,} graphs each)"
        axes.errorbar(
            sizes, rates, yerr=error, marker=mark, ms=4, color=color, label=label, capsize=2
        )
    axes.set_xlabel("nodes")
    axes.set_ylabel("optimum missed, % of graphs")
    axes.set_xlim(2.7, 10.3)
    axes.set_ylim(bottom=-1)
    # above the panel, where it hides nothing
    axes.legend(loc="lower left", bbox_to_anchor=(-0.02, 1.0), borderpad=0, labelspacing=0.3)


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
    panels,
    "Figure 1",
)

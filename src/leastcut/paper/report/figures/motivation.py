"""A figure of ours: the 4-node example with which the paper's text explains its motivation.

Figure 2 of the paper is a sketch without data, and has no counterpart here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from leastcut.page_design.palette import BLUE, INK, ORANGE, PAGE, RULE
from leastcut.paper.report.drawing import Figure, Panel, needed
from leastcut.paper.runs.records import Record
from leastcut.paper.runs.small_graphs import PRINTED_CLOSEST


def panels(records: list[Record]) -> list[Panel]:
    """Return the example in its true coordinates, twice, and all its bipartitions."""
    record = needed(records, "motivation", "motivation")[0]
    near, best = int(np.argmin(record["distances"])), int(np.argmin(record["values"]))
    return [
        partial(_draw_solution, record=record, index=near, what="closest", color=BLUE),
        partial(_draw_solution, record=record, index=best, what="optimum", color=ORANGE),
        partial(_draw_all, record=record, near=near, best=best),
    ]


def _draw_solution(axes: Any, record: Record, index: int, what: str, color: str) -> None:
    """Draw the rows of F R (dots), the rows of G (squares), and the way from one to the other."""
    rows, goal = np.array(record["rotated"][index]), np.array(record["indicators"][index])
    axes.axhline(0, color=RULE, lw=0.6)
    axes.axvline(0, color=RULE, lw=0.6)
    for i in range(4):
        # from a row of F R to its row of G; nodes are numbered from 1, as in the paper
        axes.plot(*zip(rows[i], goal[i], strict=True), color=color, lw=1.2, alpha=0.7)
        axes.annotate(str(i + 1), rows[i], (5, 4), textcoords="offset points")
    axes.scatter(*rows.T, s=26, color=INK, zorder=3)
    axes.scatter(*goal.T, s=40, marker="s", facecolor=PAGE, edgecolor=color, zorder=2)
    axes.set_aspect("equal")
    axes.set_xlim(-0.35, 1.1)
    axes.set_ylim(-0.35, 1.1)
    axes.set_title(
        f"{what} {set_text(record['parts'][index])}\n"
        f"distance² {record['distances'][index]:.3f}, cut {record['values'][index]:.4f}"
    )


def _draw_all(axes: Any, record: Record, near: int, best: int) -> None:
    """Draw every bipartition by its distance and its cut."""
    listed = zip(record["parts"], record["distances"], record["values"], strict=True)
    for index, (part, x, y) in enumerate(listed):
        color = BLUE if index == near else ORANGE if index == best else RULE
        axes.scatter(x, y, s=30, color=color, zorder=3)
        printed = tuple(part) == PRINTED_CLOSEST
        note = set_text(part) + ("\n(the paper’s “closest”)" if printed else "")
        offset = (-2, 8) if index == near else (7, -3)  # another one lies close to its right
        axes.annotate(note, (x, y), offset, textcoords="offset points")
    axes.set_xlim(0, 2.55)
    axes.set_xlabel("squared distance to the relaxed optimum")
    axes.set_ylabel("ratio cut")
    axes.set_title("all seven bipartitions")


def set_text(part: Sequence[int]) -> str:
    """Return a bipartition as text.

    >>> set_text((0, 0, 1, 0))
    '{1,2,4} | {3}'
    """
    sides = [
        ",".join(str(i + 1) for i, entry in enumerate(part) if entry == side) for side in (0, 1)
    ]
    return f"{{{sides[0]}}} | {{{sides[1]}}}"


MOTIVATION = Figure(
    "motivation",
    "The closest is not the best",
    "The paper's 4-node example in its true coordinates: the rows of the relaxed optimum (dots), "
    "turned as near as possible to the closest discrete solution (squares), and to the optimum. "
    "Then all seven bipartitions: the nearest is not the cheapest.",
    panels,
    in_row=3,
)

"""The figures, made from the records. Figure 2 of the paper is a sketch without data."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from math import log10
from statistics import median
from typing import Any

import numpy as np

from reproduction.data.printed import CUT_TITLES, row_label
from reproduction.report.certified import certificates, is_tiny, values_printed
from reproduction.report.drawing import (
    BLUE,
    INK,
    ORANGE,
    PAGE,
    RULE,
    SOFT,
    TEAL,
    Figure,
    Panel,
    needed,
)
from reproduction.report.formats import power_of_ten
from reproduction.report.selection import datasets_of, numbers, select
from reproduction.runs.experiments import NODES
from reproduction.runs.methods import (
    FIRST_ORDER,
    PARTITION,
    RANDOM_METHODS,
    RELAXED,
    WIDE_ETAS,
    Column,
)
from reproduction.runs.records import Record
from reproduction.runs.small_graphs import PRINTED_CLOSEST, set_text

# -- Figure 1 of the paper: how often the closest discrete solution is not the optimum

RANDOM_LOOKS = (
    ("closest discrete solution", INK, "o"),
    ("first order", BLUE, "s"),
    ("partition, fast", TEAL, "^"),
    ("partition, balanced", ORANGE, "D"),
)
"""Name, color and marker of each method on random graphs."""


def _closest(records: list[Record]) -> list[Panel]:
    """Return one panel with the rate of missed optima by the number of nodes."""
    return [partial(_draw_missed, records=needed(records, "closest", "random"))]


def _draw_missed(axes: Any, records: list[Record]) -> None:
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
    for (column, _), (name, color, mark) in zip(RANDOM_METHODS, RANDOM_LOOKS, strict=True):
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
    # above the panel, where the legend covers nothing
    axes.legend(loc="lower left", bbox_to_anchor=(-0.02, 1.0), borderpad=0, labelspacing=0.3)


def _missed(records: list[Record], column: Column) -> list[tuple[int, float, int]]:
    """Return nodes, % of the graphs missed, and number of graphs for every size with records."""
    missed = []
    for n in NODES:
        batch = [
            record
            for record in records
            if record["dataset"] == f"random:{n}"
            and record["method"] == column.method
            # not by all parameters, as quick runs have another number of graphs
            and record["parameters"].get("effort") == column.parameters.get("effort")
        ]
        if batch:
            # batches may have different sizes
            total = sum(record["parameters"]["graphs"] for record in batch)
            missed.append((n, 100.0 * sum(record["misses"] for record in batch) / total, total))
    return missed


CLOSEST = Figure(
    "closest",
    "Random graphs",
    "How often a method misses the smallest ratio cut of a random graph (complete, "
    "weights uniform on [0, 1], c = 2). The closest discrete solution is exact, over all "
    "bipartitions and rotations. Error bars: 95% intervals.",
    _closest,
    "Figure 1",
)


# -- Figure 3 of the paper: the cut value of first order over η


def _sensitivity(records: list[Record]) -> list[Panel]:
    """Return a panel per dataset and cut with the cut value over η."""
    listed = needed(records, "sensitivity", "sensitivity")
    return [
        partial(
            _draw_sensitivity,
            records=[r for r in listed if r["dataset"] == name and r["cut"] == cut],
            title=f"{row_label(name)}, {title}",
        )
        for name in datasets_of(listed)
        for cut, title in CUT_TITLES.items()
    ]


def _draw_sensitivity(axes: Any, records: list[Record], title: str) -> None:
    """Draw the median and the range over the seeds for every η, and a line at 1/λ_c."""
    values = {
        eta: [r["value"] for r in records if r["parameters"].get("eta") == eta] for eta in WIDE_ETAS
    }
    # an interrupted run may lack some η
    kept = {eta: some for eta, some in values.items() if some}
    etas, low, high = list(kept), [min(v) for v in kept.values()], [max(v) for v in kept.values()]
    axes.fill_between(etas, low, high, color=BLUE, alpha=0.15, lw=0)
    axes.plot(etas, [median(v) for v in kept.values()], "o-", color=BLUE, markersize=3)
    for record in select(records, "sensitivity", RELAXED):
        if record["largest"] <= 0:
            continue  # there are as many components as clusters
        scale = 1.0 / record["largest"]
        axes.axvline(scale, color=ORANGE, lw=1, ls="--")
        axes.annotate(
            "1/λ_c",
            # at the top of the panel, with the text slightly to the right and below
            (scale, 1),
            (3, -9),
            textcoords="offset points",
            xycoords=("data", "axes fraction"),
            color=ORANGE,
        )
    axes.set_xscale("log")
    # superscripts, as viewers render formulas differently
    axes.xaxis.set_major_formatter(lambda eta, _: power_of_ten(round(log10(eta))))
    axes.set_xlabel("η")
    axes.set_ylabel("cut value")
    axes.set_title(title, parse_math=False)


SENSITIVITY = Figure(
    "sensitivity",
    "Sensitivity to η",
    "Cut value of first order as a function of η, the best of ten starts by cut value; median and "
    "range over the seeds. At 1/λ_c the weight of the last eigenvector changes sign.",
    _sensitivity,
    "Figure 3",
    in_row=2,
)


# -- Figure 4 of the paper: the loss of first order after every iteration

CUT_LOOKS = {"ratio": (BLUE, "-"), "normalized": (ORANGE, "--")}
"""Color and line style of every cut."""


def _convergence(records: list[Record]) -> list[Panel]:
    """Return a panel per dataset with the loss over the iterations, one line per seed."""
    listed = needed(records, "convergence", "convergence")
    return [
        partial(
            _draw_convergence,
            records=[record for record in listed if record["dataset"] == name],
            title=row_label(name),
        )
        for name in datasets_of(listed)
    ]


def _draw_convergence(axes: Any, records: list[Record], title: str) -> None:
    for cut, (color, line) in CUT_LOOKS.items():
        for number, record in enumerate(r for r in records if r["cut"] == cut):
            history = record["history"]
            axes.plot(
                range(1, len(history) + 1),
                history,
                color=color,
                ls=line,
                lw=1,
                alpha=0.65,
                label=CUT_TITLES[cut] if number == 0 else None,  # one entry of the legend per cut
            )
    axes.set_title(title, parse_math=False)
    axes.set_xlabel("iteration")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_ylabel("loss")
    axes.legend()


CONVERGENCE = Figure(
    "convergence",
    "Convergence",
    "Loss of first order (η = 0.001) after each iteration, one line per seed.",
    _convergence,
    "Figure 4",
    in_row=2,
)


# -- the paper's 4-node example


def _motivation(records: list[Record]) -> list[Panel]:
    """Return panels with the closest solution, with the optimum, and with all bipartitions."""
    record = needed(records, "motivation", "motivation")[0]
    near, best = int(np.argmin(record["distances"])), int(np.argmin(record["values"]))
    return [
        partial(_draw_solution, record=record, index=near, kind="closest", color=BLUE),
        partial(_draw_solution, record=record, index=best, kind="optimum", color=ORANGE),
        partial(_draw_all, record=record, near=near, best=best),
    ]


def _draw_solution(axes: Any, record: Record, index: int, kind: str, color: str) -> None:
    """Draw the rows of F R as dots, the rows of G as squares, and lines between them."""
    rows, goal = np.array(record["rotated"][index]), np.array(record["indicators"][index])
    axes.axhline(0, color=RULE, lw=0.6)
    axes.axvline(0, color=RULE, lw=0.6)
    for i in range(4):
        # nodes are numbered from 1, as in the paper
        axes.plot(*zip(rows[i], goal[i], strict=True), color=color, lw=1.2, alpha=0.7)
        axes.annotate(str(i + 1), rows[i], (5, 4), textcoords="offset points")
    axes.scatter(*rows.T, s=26, color=INK, zorder=3)
    axes.scatter(*goal.T, s=40, marker="s", facecolor=PAGE, edgecolor=color, zorder=2)
    axes.set_aspect("equal")
    axes.set_xlim(-0.35, 1.1)
    axes.set_ylim(-0.35, 1.1)
    axes.set_title(
        f"{kind} {set_text(record['parts'][index])}\n"
        f"distance² {record['distances'][index]:.3f}, cut {record['values'][index]:.4f}"
    )


def _draw_all(axes: Any, record: Record, near: int, best: int) -> None:
    """Draw every bipartition by its distance and its cut value."""
    listed = zip(record["parts"], record["distances"], record["values"], strict=True)
    for index, (part, x, y) in enumerate(listed):
        color = BLUE if index == near else ORANGE if index == best else RULE
        axes.scatter(x, y, s=30, color=color, zorder=3)
        printed = tuple(part) == PRINTED_CLOSEST
        note = set_text(part) + ("\n(the paper’s “closest”)" if printed else "")
        offset = (-2, 8) if index == near else (7, -3)  # another one is close to its right
        axes.annotate(note, (x, y), offset, textcoords="offset points")
    axes.set_xlim(0, 2.55)
    axes.set_xlabel("squared distance to the relaxed optimum")
    axes.set_ylabel("ratio cut")
    axes.set_title("all seven bipartitions")


MOTIVATION = Figure(
    "motivation",
    "The closest solution is not the optimum",
    "The paper's 4-node example: the rows of the relaxed optimum (dots), rotated as close as "
    "possible to the closest discrete solution (squares) and to the optimum; and all seven "
    "bipartitions by distance and cut value.",
    _motivation,
    in_row=3,
)


# -- cut values compared with their certified bounds


def _bounds(records: list[Record]) -> list[Panel]:
    """Return a panel per cut, with a row per dataset and cut values as multiples of its bound."""
    needed(records, "bounds", "certificates")
    # the bound is 0 if there are as many components as clusters
    proofs = [
        record for record in certificates(records) if not is_tiny(record) and record["bound"] > 0
    ]
    return [
        partial(
            _draw_bounds,
            records=records,
            proofs=[record for record in proofs if record["cut"] == cut],
            title=title,
        )
        for cut, title in CUT_TITLES.items()
    ]


def _draw_bounds(axes: Any, records: list[Record], proofs: list[Record], title: str) -> None:
    axes.axvline(1.0, color=RULE, lw=1)
    # 1. the smallest printed value of any method
    smallest = [min((value for _, _, value in values_printed(r)), default=None) for r in proofs]
    marked = [(i, value) for i, value in enumerate(smallest) if value is not None]
    axes.plot(
        [value / proofs[i]["bound"] for i, value in marked],
        [i for i, _ in marked],
        "o",
        ms=6,
        mfc="none",
        color=INK,
        label="smallest printed",
    )
    # 2. ours: the median over the seeds, and a line from the smallest to the largest
    for column, mark, color in ((FIRST_ORDER, "s", BLUE), (PARTITION, "D", ORANGE)):
        listed = select(records, "objective", column)
        for i, proof in enumerate(proofs):
            values = numbers(listed, proof["dataset"], proof["cut"], "value")
            if values:
                _draw_values(axes, i, [value / proof["bound"] for value in values], mark, color)
        axes.plot([], [], mark, ms=3.5, color=color, label=column.label)
    axes.set_yticks(range(len(proofs)))
    # a name may have dollar signs, but is no formula
    axes.set_yticklabels([row_label(proof["dataset"]) for proof in proofs], parse_math=False)
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.set_xlabel("cut value / certified bound")
    axes.set_title(title)
    # below the panel, where the legend covers nothing
    place = {"loc": "upper right", "bbox_to_anchor": (1.02, -0.2), "ncols": 3}
    axes.legend(**place, borderpad=0, handletextpad=0.1, columnspacing=1.0)


def _draw_values(axes: Any, row: int, values: Iterable[float], mark: str, color: str) -> None:
    listed = sorted(values)
    axes.plot([listed[0], listed[-1]], [row, row], color=color, lw=1)
    axes.plot([median(listed)], [row], mark, ms=3.5, color=color)


BOUNDS = Figure(
    "bounds",
    "Cut values relative to the certified bound",
    "Cut values divided by the certified bound; a cut at 1 is optimal. The smallest printed value "
    "of any method, rounded as printed, and our values of first order and partition: medians, "
    "with lines from the smallest to the largest over the seeds.",
    _bounds,
    in_row=2,
)


FIGURES: dict[str, Figure] = {
    figure.name: figure for figure in (CLOSEST, MOTIVATION, BOUNDS, SENSITIVITY, CONVERGENCE)
}
"""Every figure by name."""

"""From records to figures. Needs matplotlib, which ``pip install 'firstcut[plot]'`` brings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from firstcut.paper.entries import rows_of, select
from firstcut.paper.experiments import NODES, RANDOM_METHODS, RELAXED, WIDE_ETAS
from firstcut.paper.printed import CUT_TITLES, row_label
from firstcut.paper.records import Record
from firstcut.paper.toys import PRINTED_CLOSEST

INK, SOFT = "#1f2933", "#9aa5b1"
BLUE, ORANGE, TEAL, PLUM = "#2b6cb0", "#c05621", "#2c7a7b", "#805ad5"

STYLE: Any = {
    "font.size": 9,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "text.color": INK,
    "axes.titlesize": 9.5,
    "axes.titlecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "firstcut",
}
"""How all figures look; the salt makes the same figure the same file."""


def canvas(width: float, height: float) -> Any:
    """Return an empty figure, or say what to install."""
    try:
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine
    except ImportError:
        raise ImportError(
            "Figures need matplotlib, which is not installed; pip install 'firstcut[plot]' "
            "brings it."
        ) from None
    return Figure(figsize=(width, height), layout=ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.1))


def save(draw: Callable[[], Any], folder: Path, name: str) -> list[Path]:
    """Draw a figure and write it as PNG and SVG; return the files."""
    canvas(1, 1)
    from matplotlib import rc_context

    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    with rc_context(STYLE):
        figure = draw()
        for ending, options in (("png", {"dpi": 130}), ("svg", {"metadata": {"Date": None}})):
            paths.append(folder / f"{name}.{ending}")
            figure.savefig(paths[-1], **options)
    return paths


def closest(records: list[Record]) -> Any:
    """How often the optimum is missed on random graphs."""
    found = _needed(records, "closest", "random")
    figure = canvas(6.4, 3.6)
    axes = figure.add_subplot()
    colors = (INK, BLUE, TEAL, ORANGE)
    names = ("closest discrete solution", "first order", "partition, fast", "partition, balanced")
    for (column, _), color, name in zip(RANDOM_METHODS, colors, names, strict=True):
        sizes, rates, counts = [], [], []
        for n in NODES:
            batch = [
                record
                for record in found
                if record["dataset"] == f"random:{n}"
                and record["method"] == column.method
                and record["parameters"].get("effort") == column.parameters.get("effort")
            ]
            if batch:
                total = sum(record["parameters"]["graphs"] for record in batch)
                sizes.append(n)
                rates.append(100.0 * sum(record["misses"] for record in batch) / total)
                counts.append(total)
        if not sizes:
            continue
        rate = np.array(rates) / 100.0
        error = 196.0 * np.sqrt(rate * (1.0 - rate) / np.array(counts))
        label = f"{name} ({max(counts):,} graphs each)"
        axes.errorbar(
            sizes, rates, yerr=error, marker="o", markersize=4, color=color, label=label, capsize=2
        )
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


def motivation(records: list[Record]) -> Any:
    """The paper's 4-node example, in its true coordinates."""
    record = _needed(records, "motivation", "motivation")[0]
    parts = [tuple(part) for part in record["parts"]]
    values, distances = record["values"], record["distances"]
    near, best = int(np.argmin(distances)), int(np.argmin(values))
    figure = canvas(9.6, 3.5)
    left, middle, right = figure.subplots(1, 3, width_ratios=(1, 1, 1.35))
    for axes, index, what, color in (
        (left, near, "closest", BLUE),
        (middle, best, "optimum", ORANGE),
    ):
        rows, goal = np.array(record["rotated"][index]), np.array(record["indicators"][index])
        axes.axhline(0, color=SOFT, lw=0.6)
        axes.axvline(0, color=SOFT, lw=0.6)
        for i in range(4):
            axes.plot(*zip(rows[i], goal[i], strict=True), color=color, lw=1.2, alpha=0.7)
            axes.annotate(str(i + 1), rows[i], (5, 4), textcoords="offset points")
        axes.scatter(*rows.T, s=26, color=INK, zorder=3)
        axes.scatter(*goal.T, s=40, marker="s", facecolor="white", edgecolor=color, zorder=2)
        axes.set_aspect("equal")
        axes.set_xlim(-0.35, 1.1)
        axes.set_ylim(-0.35, 1.1)
        axes.set_title(
            f"{what} {set_text(parts[index])}\n"
            f"distance² {distances[index]:.3f}, cut {values[index]:.4f}"
        )
    for part, x, y in zip(parts, distances, values, strict=True):
        index = parts.index(part)
        color = BLUE if index == near else ORANGE if index == best else SOFT
        right.scatter(x, y, s=30, color=color, zorder=3)
        note = set_text(part) + ("\n(the paper’s “closest”)" if part == PRINTED_CLOSEST else "")
        offset = (-2, 8) if index == near else (7, -3)  # the two lie close together
        right.annotate(note, (x, y), offset, textcoords="offset points", fontsize=8)
    right.set_xlim(0, 2.55)
    right.set_xlabel("squared distance to the relaxed optimum")
    right.set_ylabel("ratio cut")
    right.set_title("all seven bipartitions")
    return figure


def set_text(part: tuple[int, ...]) -> str:
    """Return a bipartition as text.

    >>> set_text((0, 0, 1, 0))
    '{1,2,4} | {3}'
    """
    sides = [
        ",".join(str(i + 1) for i, entry in enumerate(part) if entry == side) for side in (0, 1)
    ]
    return f"{{{sides[0]}}} | {{{sides[1]}}}"


def sensitivity(records: list[Record]) -> Any:
    """The cut value over η, with 1/λ_c marked."""
    found = _needed(records, "sensitivity", "sensitivity")
    names = rows_of(found)
    figure = canvas(2.6 * max(len(names), 2), 4.6)
    grid = figure.subplots(2, len(names), squeeze=False, sharex=True)
    for column, name in enumerate(names):
        for row, (cut, title) in enumerate(CUT_TITLES.items()):
            axes = grid[row, column]
            chosen = [r for r in found if r["dataset"] == name and r["cut"] == cut]
            values = [
                [r["value"] for r in chosen if r["parameters"].get("eta") == eta]
                for eta in WIDE_ETAS
            ]
            kept = [(eta, some) for eta, some in zip(WIDE_ETAS, values, strict=True) if some]
            etas = [eta for eta, _ in kept]
            low, high = [min(some) for _, some in kept], [max(some) for _, some in kept]
            axes.fill_between(etas, low, high, color=BLUE, alpha=0.15, lw=0)
            axes.plot(etas, [median(some) for _, some in kept], "o-", color=BLUE, markersize=3)
            for record in select(chosen, "sensitivity", RELAXED):
                scale = 1.0 / record["largest"]
                axes.axvline(scale, color=ORANGE, lw=1, ls="--")
                axes.annotate(
                    r"$1/\lambda_c$",
                    (scale, 1),
                    (3, -9),
                    textcoords="offset points",
                    xycoords=("data", "axes fraction"),
                    color=ORANGE,
                    fontsize=8,
                )
            axes.set_xscale("log")
            axes.set_title(f"{row_label(name)}, {title}")
            if row == 1:
                axes.set_xlabel("η")
            if column == 0:
                axes.set_ylabel("cut value")
    return figure


def convergence(records: list[Record]) -> Any:
    """The loss after every iteration of the first-order method."""
    found = _needed(records, "convergence", "convergence")
    names = rows_of(found)
    figure = canvas(3.4 * max(len(names), 2), 3.0)
    grid = figure.subplots(1, len(names), squeeze=False)
    for axes, name in zip(grid[0], names, strict=True):
        for (cut, title), color in zip(CUT_TITLES.items(), (BLUE, ORANGE), strict=True):
            chosen = [r for r in found if r["dataset"] == name and r["cut"] == cut]
            for number, record in enumerate(chosen):
                history = record["history"]
                axes.plot(
                    range(1, len(history) + 1),
                    history,
                    color=color,
                    lw=1,
                    alpha=0.65,
                    label=title if number == 0 else None,
                )
        axes.set_title(row_label(name))
        axes.set_xlabel("iteration")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set_ylabel("loss")
        axes.legend()
    return figure


def _needed(records: list[Record], figure: str, experiment: str) -> list[Record]:
    found = select(records, experiment)
    if not found:
        raise ValueError(
            f"There are no records for the figure {figure!r}; make them with 'firstcut paper run "
            f"--figure {figure}'."
        )
    return found


FIGURES: dict[str, Callable[[list[Record]], Any]] = {
    "closest": closest,
    "motivation": motivation,
    "sensitivity": sensitivity,
    "convergence": convergence,
}
"""Every figure by name."""

CAPTIONS = {
    "closest": "How often a method misses the smallest ratio cut of a random graph (complete, "
    "weights uniform on [0, 1], c = 2). The closest discrete solution is found exactly, over all "
    "bipartitions and rotations. Bars: 95% intervals.",
    "motivation": "The paper's 4-node example in its true coordinates. Left: the rows of the "
    "relaxed optimum (dots), turned as near as possible to the closest discrete solution "
    "(squares), and to the optimum. Right: all seven bipartitions; the nearest is not the "
    "cheapest.",
    "sensitivity": "Cut value of first order over η, ten starts chosen by cut value; median and "
    "range over the seeds. At 1/λ_c the weight of the last eigenvector changes sign.",
    "convergence": "Loss of first order (η = 0.001) after every iteration, one line per seed.",
}
"""What is to be seen in every figure."""

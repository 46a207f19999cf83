"""How far a run is: a bar with the time left on a terminal, now and then a line elsewhere.

Cells take from milliseconds to minutes, so the bar counts what they are expected to cost and not
how many they are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from math import ceil, inf
from typing import Any, TextIO

from leastcut.optional_packages import needed_for
from leastcut.paper.runs.experiments import IMPLICATION, Cell
from leastcut.paper.runs.protocol import expected_size
from leastcut.progress import LineByLine

RANDOM_COSTS = {"closest": 0.04, "first_order": 20.0, "fast": 13.0, "balanced": 120.0}
"""What a random graph costs, about, in milliseconds, by method or effort."""

IMPLIED_COST = 20.0
"""What a random graph in three clusters costs, about, in milliseconds."""

COSTS = {
    "direct_cut": (30.0, 0.3),
    "first_order": (40.0, 0.16),
    "first_order+refine": (40.0, 0.16),
    "partition": (350.0, 0.15),
    "theorem 2": (400.0, 0.2),
    "gradient": (400.0, 0.2),
    "certify": (400.0, 50.0),
}
"""What another cell costs, about, in milliseconds: once, and per sample. Read off the seconds in
the records; they decide what is begun first and what the bar says, and no result."""

OTHER_COST = (20.0, 0.03)
"""What a cell of any other method costs."""

LIVE_SECONDS, LINE_SECONDS = 0.1, 15.0
"""How often it is told on a terminal, where bars move, and in a log, which should stay short."""


def cost(cell: Cell) -> float:
    """Return what a cell costs, about, in milliseconds."""
    if cell.experiment == IMPLICATION:
        return IMPLIED_COST * float(cell.parameters["graphs"])
    if cell.experiment == "random":
        kind = cell.parameters.get("effort", cell.method)
        return RANDOM_COSTS[kind] * float(cell.parameters["graphs"])
    once, each = COSTS.get(cell.method, OTHER_COST)
    found = _n_runs(cell) * (once + each * expected_size(cell.dataset))
    # what ends at a time limit costs no more, but for what goes before
    return min(found, once + 1000.0 * float(cell.parameters.get("time_limit", inf)))


def _n_runs(cell: Cell) -> float:
    """Return how many runs of ten starts a cell is worth."""
    parameters = cell.parameters
    runs = float(parameters.get("runs", parameters.get("signs", 1)))
    single = parameters.get("n_init") == 1 or "signs" in parameters or cell.method == "corollary 1"
    return runs / 10 if single else runs


def _whole_cost(cell: Cell) -> int:
    # Whole numbers, as what is done must add up to all there is in any order.
    return ceil(cost(cell))


class Progress:
    """Tells how far a run is, and how long it will take.

    Parameters
    ----------
    cells : iterable of Cell
        What there is to run.
    stream : file, optional
        Where to tell it; by default the standard error.
    """

    def __init__(self, cells: Iterable[Cell], stream: TextIO | None = None) -> None:
        with needed_for("Progress bars", "tqdm", "paper"):
            from tqdm import tqdm

        costs = [_whole_cost(cell) for cell in cells]
        self.finished, self.count = 0, len(costs)
        file = sys.stderr if stream is None else stream
        live = file.isatty()
        self._bar: Any = tqdm(
            total=sum(costs),
            # a log has no cursor to move: there the bar is a line now and then
            file=file if live else LineByLine(file),
            mininterval=LIVE_SECONDS if live else LINE_SECONDS,
            delay=0.0 if live else LINE_SECONDS,
            miniters=0,  # time alone decides when to tell
            smoothing=0,  # the rate since the beginning, as cells of one kind come together
            leave=False,
            dynamic_ncols=live,
            bar_format="{bar:30} {remaining} left, {desc}",
        )

    def advance(self, cell: Cell) -> None:
        """Note that one more cell is done."""
        self.finished += 1
        what = f"{cell.experiment} {cell.dataset} {cell.method}"
        self._bar.set_description_str(f"{self.finished}/{self.count}  {what}", refresh=False)
        self._bar.update(_whole_cost(cell))

    def close(self) -> None:
        """Take the bar away."""
        self._bar.close()

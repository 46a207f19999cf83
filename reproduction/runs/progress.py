"""A progress bar with a time estimate: a live bar in a terminal, otherwise occasional lines.

The bar counts the estimated cost of cells, which take from milliseconds to minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from math import ceil, inf
from typing import Any, TextIO

from reproduction.runs.experiments import IMPLICATION, Cell
from reproduction.runs.protocol import expected_size

RANDOM_COSTS = {"closest": 0.04, "first_order": 20.0, "fast": 13.0, "balanced": 120.0}
"""Estimated milliseconds for a random graph, by method or effort."""

IMPLIED_COST = 20.0
"""Estimated milliseconds for a random graph in the experiment on the gradient term."""

COSTS = {
    "direct_cut": (30.0, 0.3),
    "first_order": (40.0, 0.16),
    "first_order+refine": (40.0, 0.16),
    "partition": (350.0, 0.15),
    "theorem 2": (400.0, 0.2),
    "gradient": (400.0, 0.2),
    "certify": (400.0, 50.0),
}
"""Estimated milliseconds of other cells, fixed and per sample, from the times in the records. They
determine the order of the cells and the bar, but no result."""

OTHER_COST = (20.0, 0.03)
"""The same for any other method."""

LIVE_SECONDS, LINE_SECONDS = 0.1, 15.0
"""Seconds between updates in a terminal, and between lines in a log."""


def cost(cell: Cell) -> float:
    """Return the estimated cost of a cell in milliseconds."""
    if cell.experiment == IMPLICATION:
        return IMPLIED_COST * float(cell.parameters["graphs"])
    if cell.experiment == "random":
        kind = cell.parameters.get("effort", cell.method)
        return RANDOM_COSTS[kind] * float(cell.parameters["graphs"])
    fixed, per_sample = COSTS.get(cell.method, OTHER_COST)
    estimate = _n_runs(cell) * (fixed + per_sample * expected_size(cell.dataset))
    return min(estimate, fixed + 1000.0 * float(cell.parameters.get("time_limit", inf)))


def _n_runs(cell: Cell) -> float:
    """Return the number of runs of a cell, in units of ten starts."""
    parameters = cell.parameters
    runs = float(parameters.get("runs", parameters.get("signs", 1)))
    single = parameters.get("n_init") == 1 or "signs" in parameters or cell.method == "corollary 1"
    return runs / 10 if single else runs


def _integer_cost(cell: Cell) -> int:
    # integers have the same sum in any order
    return ceil(cost(cell))


class _Lines:
    """A file for tqdm that writes each update as a line, without moving the cursor."""

    def __init__(self, file: TextIO) -> None:
        self.file, self.encoding = file, getattr(file, "encoding", None)

    def write(self, text: str) -> None:
        if text.strip():
            self.file.write(text.strip() + "\n")

    def flush(self) -> None:
        self.file.flush()


class Progress:
    """Show the progress of a run and the remaining time.

    Parameters
    ----------
    cells : iterable of Cell
        The cells to run.
    stream : file, optional
        By default the standard error.
    """

    def __init__(self, cells: Iterable[Cell], stream: TextIO | None = None) -> None:
        from tqdm import tqdm

        costs = [_integer_cost(cell) for cell in cells]
        self.finished, self.count = 0, len(costs)
        file = sys.stderr if stream is None else stream
        live = file.isatty()
        self._bar: Any = tqdm(
            total=sum(costs),
            file=file if live else _Lines(file),
            mininterval=LIVE_SECONDS if live else LINE_SECONDS,
            delay=0.0 if live else LINE_SECONDS,
            miniters=0,  # updates by time only
            smoothing=0,  # the average rate, as cells of one kind follow one another
            leave=False,
            dynamic_ncols=live,
            bar_format="{bar:30} {remaining} left, {desc}",
        )

    def advance(self, cell: Cell) -> None:
        """Count a finished cell."""
        self.finished += 1
        what = f"{cell.experiment} {cell.dataset} {cell.method}"
        self._bar.set_description_str(f"{self.finished}/{self.count}  {what}", refresh=False)
        self._bar.update(_integer_cost(cell))

    def close(self) -> None:
        """Remove the bar."""
        self._bar.close()

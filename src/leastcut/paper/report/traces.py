"""Printed numbers traced to partitions: do cut value, accuracy and NMI of a cell belong together?

The paper prints all three for every dataset, cut and method. A partition on record that has all
three confirms them; one that has accuracy and NMI at another cut value, or under the other cut,
tells where they belong instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from leastcut.paper.data import printed
from leastcut.paper.report.evidence import Evidence, Run
from leastcut.paper.runs.methods import METHODS, Column

SAME_METHOD, OTHER_METHOD = "the same method", "another method"
OTHER_VALUE, PAIR_ALONE, NOT_FOUND = "another cut value", "accuracy and NMI alone", "nothing"

CHANCE = 0.05
"""Matches of accuracy and NMI that may be expected by chance for one to be taken as evidence."""


@dataclass(frozen=True)
class Trace:
    """What the paper prints for a dataset, a cut and a method, and the runs that have it.

    ``whole`` have its cut value, accuracy and NMI; ``pair`` its accuracy and NMI, under either cut;
    ``level`` its cut value. ``chance`` is how many partitions of other cut values share accuracy
    and NMI with one on record, in the mean: so many matches are to be expected by chance.
    """

    dataset: str
    cut: str
    column: str
    value: float
    accuracy: float
    nmi: float
    whole: list[Run]
    pair: list[Run]
    level: list[Run]
    chance: float

    @cached_property
    def kind(self) -> str:
        """What was found to have the printed numbers."""
        if any(run.column == self.column for run in self.whole):
            return SAME_METHOD
        if self.whole:
            return OTHER_METHOD
        if self.pair:
            # without its cut value on record its own partition may be one that was not found
            return OTHER_VALUE if self.level and self.chance < CHANCE else PAIR_ALONE
        return NOT_FOUND

    @property
    def place(self) -> str:
        """Where it is printed, in words."""
        return f"{printed.row_label(self.dataset)}, {printed.CUT_TITLES[self.cut]}, {self.column}"

    def witness(self) -> str:
        """Return a run that has accuracy and NMI, in words; one of the same cut where there is."""
        run = min(self.pair, key=lambda run: (run.cut != self.cut, run.column != self.column))
        cut = "" if run.cut == self.cut else f" under the {run.cut} cut"
        return f"{run.column}{cut} at {run.value:.{printed.DIGITS}f}"


def traces(found: Evidence) -> list[Trace]:
    """Return a trace for every cell of Tables II, IV and V whose dataset and cut have runs."""
    return [
        trace
        for dataset in printed.dataset_labels()
        for cut in printed.CUT_TITLES
        if found.of(dataset, cut)
        for column in METHODS
        if (trace := _trace(found, dataset, cut, column)) is not None
    ]


def _trace(found: Evidence, dataset: str, cut: str, column: Column) -> Trace | None:
    numbers = [
        printed.value(table, dataset, cut, column.printed)
        for table in ("objective", "accuracy", "nmi")
    ]
    value, accuracy, nmi = numbers
    if value is None or accuracy is None or nmi is None:
        return None
    pair = [
        run
        for other in printed.CUT_TITLES
        for run in found.of(dataset, other)
        if run.is_at(None, accuracy, nmi)
    ]
    level = [run for run in found.of(dataset, cut) if run.is_at(value, None, None)]
    whole = [run for run in level if run.is_at(None, accuracy, nmi)]
    chance = expected_by_chance(found, dataset)
    return Trace(dataset, cut, column.label, value, accuracy, nmi, whole, pair, level, chance)


@lru_cache(maxsize=64)
def expected_by_chance(found: Evidence, dataset: str) -> float:
    """Return how many partitions of another value share a partition's accuracy and NMI, mean."""
    expected = 0.0
    for cut in printed.CUT_TITLES:
        different = {run.partition: run for run in found.of(dataset, cut)}
        groups: dict[tuple[float, float], list[float]] = {}
        for run in different.values():
            pair = round(run.accuracy, printed.DIGITS), round(run.nmi, printed.DIGITS)
            groups.setdefault(pair, []).append(run.value)
        apart = sum(
            abs(one - other) > 10.0**-printed.DIGITS
            for values in groups.values()
            for one in values
            for other in values
        )
        expected += apart / max(len(different), 1)
    return expected

"""What must be true of our numbers, and in how many cells it is."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from leastcut.paper.data import printed
from leastcut.paper.report.certified import (
    certificates,
    is_proven,
    is_tiny,
    unreachable,
    values_printed,
)
from leastcut.paper.report.record_selection import datasets_of, numbers, select
from leastcut.paper.report.table import AGREEMENT
from leastcut.paper.report.tables import TABLES
from leastcut.paper.report.tallies import Place, places
from leastcut.paper.runs.methods import (
    FIRST_ORDER,
    IMPROVED,
    KMEANS,
    OPTIMUM,
    PARTITION,
    RELAXED,
)
from leastcut.paper.runs.records import Record

COMPARED = (KMEANS.label, IMPROVED.label, FIRST_ORDER.label)
"""Methods whose values must be the paper's, up to 2%, where k-means is stable."""

SAME = 1e-9
"""Relative difference that is rounding: the same cut, summed in another order."""

SHORTENED = 1e-5
"""The same for a value of which a record keeps few digits."""


@dataclass(frozen=True)
class Check:
    """A statement, in how many cells it holds, and of how many."""

    text: str
    met: int
    of: int

    @property
    def holds(self) -> bool:
        """Whether it holds in every cell there is."""
        return self.met == self.of


def checks(records: list[Record]) -> list[Check]:
    """Return what must be true, and how far it is; what has no records is left out."""
    large = list(places(TABLES["objective"](records)))
    small = list(places(TABLES["tiny"](records)))
    relaxed = [e.agrees for _, _, head, e in large if head == RELAXED.label and e.paper is not None]
    optima = [e.agrees for _, _, head, e in small if head == OPTIMUM.label and e.paper is not None]
    # agreeing is enough: 2% of a small number may be less than its last digit
    stable = stable_datasets(records)
    near = [
        entry.agrees or abs(entry.difference) <= AGREEMENT
        for _, row, head, entry in large
        if row in stable and head in COMPARED and entry.difference is not None
    ]
    found = [
        counted("OPT_r is the paper's to the digits it prints", relaxed),
        counted("The enumerated optima of the tiny table are the paper's", optima),
        counted(
            f"{', '.join(COMPARED[:-1])} and {COMPARED[-1]} are within 2% of the paper's values on "
            "the datasets where all seeds of k-means end within 2%",
            near,
        ),
        counted("partition is the smallest of its row (medians)", _smallest(large, every=False)),
        counted(
            "Even the worst seed of partition is no larger than the best of any other method",
            _smallest(large, every=True),
        ),
        counted("partition is at the enumerated optimum, for every seed", _at_optimum(small)),
        *_proven(records),
    ]
    return [check for check in found if check.of]


def counted(text: str, outcomes: list[bool]) -> Check:
    """Return the check of some outcomes."""
    return Check(text, sum(outcomes), len(outcomes))


def stable_datasets(records: list[Record]) -> list[str]:
    """Return the rows of the datasets on which all seeds of k-means end within 2%, by any cut."""
    found = select(records, "objective", KMEANS)
    return [
        printed.row_label(name)
        for name in datasets_of(found)
        if all(
            max(values) <= (1.0 + AGREEMENT) * min(values)
            for cut in printed.CUT_TITLES
            if (values := numbers(found, name, cut, "value"))
        )
    ]


def _smallest(listed: list[Place], *, every: bool) -> list[bool]:
    """Return for every row whether partition is the smallest: its median, or its worst seed."""
    outcomes = []
    for cut, row, head, entry in listed:
        # the others of its row; the relaxed optimum is a bound and no method
        others = [
            other
            for title, label, name, other in listed
            if (title, label) == (cut, row) and name not in (PARTITION.label, RELAXED.label)
        ]
        if head != PARTITION.label or not others:
            continue
        if every:
            # the hardest comparison there is: our worst against the best of all seeds and methods
            ours, goal = max(entry.ours), min(min(other.ours) for other in others)
        else:
            ours, goal = median(entry.ours), min(median(other.ours) for other in others)
        outcomes.append(ours <= goal * (1.0 + SAME))
    return outcomes


def _at_optimum(listed: list[Place]) -> list[bool]:
    """Return for every row with a known optimum whether every seed of partition is there."""
    optimum = {(cut, row): e.value for cut, row, head, e in listed if head == OPTIMUM.label}
    return [
        max(entry.ours) <= (optimum[cut, row] or 0.0) * (1.0 + SAME)
        for cut, row, head, entry in listed
        if head == PARTITION.label and (cut, row) in optimum
    ]


def _proven(records: list[Record]) -> list[Check]:
    """Return what the certificates say: of our cuts, of all cuts, and of the printed ones."""
    found = certificates(records)
    optimal = {(record["dataset"], record["cut"]): is_proven(record) for record in found}
    if found:
        # a cut of ours without a certificate is not proven either
        for experiment in ("tiny", "objective"):
            for record in select(records, experiment, PARTITION):
                optimal.setdefault((record["dataset"], record["cut"]), False)
    small = {(r["dataset"], r["cut"]) for r in records if is_tiny(r)}
    lowest = _lowest(records)
    above = [
        lowest.get((proof["dataset"], proof["cut"]), 1e308) >= proof["bound"] for proof in found
    ]
    n_printed = sum(len(values_printed(record)) for record in found)
    return [
        counted(
            "Our cut of the tiny datasets is proven optimal by its certificate",
            [yes for place, yes in optimal.items() if place in small],
        ),
        counted(
            "Our cut of the datasets is proven optimal by its certificate",
            [yes for place, yes in optimal.items() if place not in small],
        ),
        counted("No cut on record, of any method and seed, is below the certified bound", above),
        Check(
            "No cut value that the paper prints is below the certified bound",
            n_printed - len(unreachable(records)),
            n_printed,
        ),
    ]


def _lowest(records: list[Record]) -> dict[tuple[str, str], float]:
    """Return the smallest cut on record of every dataset and cut, rounding in its favour."""
    lowest: dict[tuple[str, str], float] = {}
    for record in records:
        # partitions are recorded by their hash, so what has one is the value of a cut
        if "labels" in record:
            value = float(record["value"]) * (1.0 + SAME)
        elif "partitions" in record:
            value = min(record["values"]) * (1.0 + SHORTENED)
        else:
            continue
        place = record["dataset"], record["cut"]
        lowest[place] = min(value, lowest.get(place, value))
    return lowest

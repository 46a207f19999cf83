"""What the records say: does ours agree with the paper, where not, and why most likely."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from firstcut.paper.data import printed
from firstcut.paper.report.certified import (
    certificates,
    is_proven,
    is_tiny,
    unreachable,
    values_printed,
)
from firstcut.paper.report.record_selection import each_single_start, select
from firstcut.paper.report.table import AGREEMENT, Entry, Table
from firstcut.paper.report.tables import TABLES
from firstcut.paper.runs.methods import (
    METHODS,
    OPTIMUM,
    PARTITION,
    RELAXED,
    Column,
    identity_starts,
    single_starts,
)
from firstcut.paper.runs.records import Record

STABLE = ("JAFFE", "COIL20", "MSRA", "WINE", "GLASS", "SEGMENT", "USPS", "Fashion")
"""Datasets on which k-means ends at about the same value from every start."""

COMPARED = ("KM", "ISR", "first order")
"""Methods whose values there must be the paper's, up to 2%."""

SAME = 1e-9
"""Relative difference that is rounding: the same cut, summed in another order."""


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


@dataclass(frozen=True)
class Difference:
    """A cell that differs from the paper's by more than 2%, and the likely reason."""

    table: str
    row: str
    cut: str
    column: str
    ours: float
    paper: float
    reason: str

    @property
    def relative(self) -> float:
        """Ours relative to the paper's, less 1."""
        return self.ours / self.paper - 1.0


Place = tuple[str, str, str, Entry]
"""Title of the cut, label of the row, head of the column, and the entry there."""


def places(table: Table) -> Iterator[Place]:
    """Yield every place of a table that has a number of ours."""
    for section in table.sections:
        for label, row in section.rows:
            for head, entry in zip(section.heads, row, strict=True):
                if entry.value is not None:
                    yield section.title, label, head, entry


def checks(records: list[Record]) -> list[Check]:
    """Return what must be true, and how far it is; what has no records is left out."""
    large = list(places(TABLES["objective"](records)))
    small = list(places(TABLES["tiny"](records)))
    relaxed = [e.agrees for _, _, head, e in large if head == RELAXED.label and e.paper is not None]
    optima = [e.agrees for _, _, head, e in small if head == OPTIMUM.label and e.paper is not None]
    # agreeing is enough: 2% of a small number may be less than its last digit
    near = [
        entry.agrees or abs(entry.difference) <= AGREEMENT
        for _, row, head, entry in large
        if row in STABLE and head in COMPARED and entry.difference is not None
    ]
    found = [
        _check("OPT_r is the paper's to the digits it prints", relaxed),
        _check("The enumerated optima of the tiny table are the paper's", optima),
        _check(
            f"{', '.join(COMPARED[:-1])} and {COMPARED[-1]} are within 2% of the paper's values on "
            "the datasets where k-means is stable",
            near,
        ),
        _check("partition is the smallest of its row (medians)", _smallest(large, every=False)),
        _check(
            "Even the worst seed of partition is no larger than the best of any other method",
            _smallest(large, every=True),
        ),
        _check("partition is at the enumerated optimum, for every seed", _at_optimum(small)),
        *_proven(records),
    ]
    return [check for check in found if check.of]


def _check(text: str, outcomes: list[bool]) -> Check:
    return Check(text, sum(outcomes), len(outcomes))


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
    # labels are recorded by their hash, so what has one is the value of a cut
    cuts = [record for record in records if "labels" in record]
    above = [
        all(
            record["value"] >= proof["bound"] * (1.0 - SAME)
            for record in cuts
            if (record["dataset"], record["cut"]) == (proof["dataset"], proof["cut"])
        )
        for proof in found
    ]
    n_printed = sum(len(values_printed(record)) for record in found)
    return [
        _check(
            "Our cut of the tiny datasets is proven optimal by its certificate",
            [yes for place, yes in optimal.items() if place in small],
        ),
        _check(
            "Our cut of the datasets is proven optimal by its certificate",
            [yes for place, yes in optimal.items() if place not in small],
        ),
        _check("No cut on record, of any method and seed, is below the certified bound", above),
        Check(
            "No cut value that the paper prints is below the certified bound",
            n_printed - len(unreachable(records)),
            n_printed,
        ),
    ]


FIELDS = {"tiny": "value", "objective": "value", "accuracy": "accuracy", "nmi": "nmi"}
"""The tables of values and the field of the records that each shows."""


def differences(records: list[Record]) -> list[Difference]:
    """Return every place that differs from the paper's by more than 2%, with its likely reason."""
    found = []
    # where cut values agree, accuracy and NMI can only differ by labels of the same value
    agreeing = {
        (cut, row, head)
        for cut, row, head, entry in places(TABLES["objective"](records))
        if entry.agrees
    }
    below = {(one.table, one.row, one.cut, one.column): one for one in unreachable(records)}
    columns = {column.label: column for column in (OPTIMUM, RELAXED, *METHODS)}
    for name, field in FIELDS.items():
        for cut, row, head, entry in places(TABLES[name](records)):
            if entry.difference is None or entry.agrees or abs(entry.difference) <= AGREEMENT:
                continue
            assert entry.value is not None
            assert entry.paper is not None
            column = columns[head]
            if field != "value" and (cut, row, head) in agreeing:
                reason = (
                    "The cut values agree; several partitions have that value to the digits "
                    "printed, with different labels."
                )
            elif (name, row, cut, head) in below:
                bound = below[name, row, cut, head].bound
                reason = (
                    f"Below the certified bound of {bound:.6f}: no labels on our graph have that "
                    "value, so the paper's was another graph, or it is no cut value."
                )
            else:
                # where runs of ours end: from single starts, and from the identity as rotation
                starts = _starts(records, single_starts(), column, cut, row, field)
                turned = _starts(records, identity_starts(), column, cut, row, field)
                reason = _reason(column, entry, starts, turned, larger_is_better=field != "value")
            found.append(Difference(name, row, cut, head, entry.value, entry.paper, reason))
    return found


def _starts(
    records: list[Record], singles: list[Column], column: Column, cut: str, row: str, field: str
) -> tuple[float, ...]:
    """Return what single starts of a method give; nothing where they were not run."""
    return tuple(
        float(record[field])
        for single in singles
        if single.method == column.method
        for record in each_single_start(records, single)
        if printed.row_label(record["dataset"]) == row and printed.CUT_TITLES[record["cut"]] == cut
    )


def _reason(
    column: Column,
    entry: Entry,
    starts: tuple[float, ...],
    turned: tuple[float, ...],
    *,
    larger_is_better: bool,
) -> str:
    """Return why ours likely differs, by where runs of ours end: the first reason that fits."""
    if column.method == "direct_cut":
        return (
            "Another program: the paper ran that of DNC's authors, ours is written from its idea. "
            "Both start anywhere and mostly end far above the spectral methods."
        )
    assert entry.paper is not None
    slack = 10.0**-printed.DIGITS  # the paper's number may be rounded or cut off
    # one start of ours gives the printed number: then the paper most likely had few
    there = sum(abs(value - entry.paper) <= slack for value in starts)
    if there:
        return f"{there} of {len(starts)} single starts of ours end there: one start, or few."
    there = sum(abs(value - entry.paper) <= slack for value in turned)
    if there:
        return (
            f"{there} of {len(turned)} runs end there that begin with the identity as rotation, as "
            "the authors' program does; the paper's algorithm, and ours, solve for it first."
        )
    # no run of ours ends there: is it among them, better, or worse than all?
    runs = (*starts, *turned, *entry.ours)
    low, high = min(runs), max(runs)
    span = f"{low:.4f} to {high:.4f}"
    if low <= entry.paper <= high:
        return (
            f"Runs of ours end anywhere from {span}, the printed number among them: other random "
            "numbers, and perhaps fewer starts."
        )
    if (entry.paper > high) == larger_is_better:
        return f"Better than every run of ours ({span}): more starts in the paper, or luckier ones."
    return (
        f"Worse than every run of ours ({span}): another way to start, or a run that ended early."
    )

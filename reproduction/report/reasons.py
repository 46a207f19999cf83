"""Reasons for differences from the printed numbers, each with counts over the recorded runs.

A reason is given only with its evidence. If no run has the printed number, the report says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from reproduction.data import printed
from reproduction.report.certified import Unreachable, unreachable
from reproduction.report.evidence import (
    IDENTITY,
    MEASURES,
    OTHER_METHOD,
    OTHER_VALUE,
    SAME_METHOD,
    SEARCHED,
    SEEDS,
    SIGNS,
    SINGLE,
    TABLE,
    Evidence,
    Run,
    Trace,
    evidence,
    traces,
)
from reproduction.report.table import AGREEMENT, Entry, places
from reproduction.report.tables import TABLES
from reproduction.runs.labeling import N_KEPT
from reproduction.runs.records import Record

UNREACHABLE = (
    "The printed value is below the certified bound. No partition of our graph has it: the paper "
    "used another graph, or it is not a cut value."
)
OTHER_SIGNS = "SR with other signs of the eigenvectors gives the printed value."
OTHER_SEEDS = "The same settings with another seed give the printed value."
FEWER_STARTS = (
    "Single starts give the printed value; the best of ten starts does not, for any seed."
)
IDENTITY_FIRST = (
    "Single starts from the identity rotation, as in the authors' program, give the printed value; "
    "no run that first solves for the rotation does."
)
SAME_RUN = (
    "Runs of the same method have the printed cut value, accuracy and NMI, but not the median over "
    "the seeds."
)
OTHER_COLUMN = "A partition by another method has the printed cut value, accuracy and NMI."
CROSSED = (
    "The printed accuracy and NMI belong to a partition with another cut value, and to none with "
    "the printed one: the printed numbers seem inconsistent."
)
SEVERAL = (
    "The cut values agree; another recorded partition with the same printed cut value has the "
    "printed number."
)
NO_PARTITION = (
    "The cut values agree, but no recorded partition with this cut value has the printed number."
)
FOUND_BY_SEARCH = (
    "A search over many single starts finds the printed cut value, accuracy and NMI together."
)
BY_CHANCE = (
    "A search over many single starts finds the printed cut value without the printed accuracy and "
    "NMI, possibly by chance."
)
ALONE = "Runs have this printed number, none has all three of the cell; possibly by chance."
AMONG = "Our runs end below and above the printed number, none at it."
ALL_BETTER = "All our runs are better than the printed number; the cause is unknown."
ALL_WORSE = "All our runs are worse than the printed number; the cause is unknown."


@dataclass(frozen=True)
class Difference:
    """A cell that differs from the printed number by more than 2%, and its evidence in words."""

    table: str
    row: str
    cut: str
    column: str
    ours: float
    paper: float
    detail: str = ""

    @property
    def relative(self) -> float:
        """Our value divided by the printed one, minus 1."""
        return self.ours / self.paper - 1.0


@dataclass(frozen=True)
class Reason:
    """A reason and the differences that it explains."""

    text: str
    places: list[Difference]


@dataclass(frozen=True)
class _Cell:
    """A cell that differs, with its certificate and its trace."""

    table: str
    dataset: str
    cut: str
    column: str
    entry: Entry
    measure: str
    agrees: bool
    """Whether its cut value agrees with the printed one."""
    below: Unreachable | None
    trace: Trace | None


def reasons(records: list[Record]) -> list[Reason]:
    """Return the reasons of all differences above 2%, the most frequent reason first."""
    runs = evidence(records)
    grouped: dict[str, list[Difference]] = {}
    for cell in _cells(records, runs):
        text, detail = _reason(cell, runs)
        assert cell.entry.value is not None
        assert cell.entry.paper is not None
        grouped.setdefault(text, []).append(
            Difference(
                cell.table,
                printed.row_label(cell.dataset),
                printed.CUT_TITLES[cell.cut],
                cell.column,
                cell.entry.value,
                cell.entry.paper,
                detail,
            )
        )
    return sorted(
        (Reason(text, listed) for text, listed in grouped.items()),
        key=lambda reason: -len(reason.places),
    )


def _cells(records: list[Record], runs: Evidence) -> Iterable[_Cell]:
    """Yield the cells of all tables of values that differ by more than 2%."""
    cuts = {title: cut for cut, title in printed.CUT_TITLES.items()}
    datasets = {printed.row_label(record["dataset"]): record["dataset"] for record in records}
    agreeing = {
        (cut, row, head)
        for cut, row, head, entry in places(TABLES["objective"](records))
        if entry.agrees
    }
    below = {(one.table, one.row, one.cut, one.column): one for one in unreachable(records)}
    traced = {(one.dataset, one.cut, one.column): one for one in traces(runs)}
    for name, measure in MEASURES.items():
        for title, row, head, entry in places(TABLES[name](records)):
            if entry.difference is None or entry.agrees or abs(entry.difference) <= AGREEMENT:
                continue
            yield _Cell(
                name,
                datasets[row],
                cuts[title],
                head,
                entry,
                measure,
                (title, row, head) in agreeing,
                below.get((name, row, title, head)),
                traced.get((datasets[row], cuts[title], head)),
            )


def _reason(cell: _Cell, all_runs: Evidence) -> tuple[str, str]:
    """Return the first reason that the records support, with its counts."""
    if cell.below is not None:
        return UNREACHABLE, f"at least {cell.below.bound:.6f}"
    if cell.measure != "value" and (reason := _by_partition(cell, all_runs)) is not None:
        return reason
    runs = all_runs.of(cell.dataset, cell.cut, cell.column)
    for numbers, text, noun in (
        (_numbers_of_signs(runs, cell.measure), OTHER_SIGNS, "choices of signs"),
        # the many seeds include those of the table
        (
            _numbers(runs, cell.measure, SEEDS) or _numbers(runs, cell.measure, TABLE),
            OTHER_SEEDS,
            "seeds",
        ),
        (_numbers(runs, cell.measure, SINGLE), FEWER_STARTS, "single starts"),
        (_numbers(runs, cell.measure, IDENTITY), IDENTITY_FIRST, "starts from the identity"),
    ):
        equal = sum(_is_printed(number, cell) for number in numbers)
        if equal and cell.measure != "value":
            return ALONE, f"{equal} of {len(numbers)} {noun}"
        if equal:
            # not all choices of signs are recorded
            of = _tried(cell, all_runs) if text == OTHER_SIGNS else len(numbers)
            return text, f"{equal:,} of {of:,} {noun}{_confirmed(cell)}"
    searched = _numbers(runs, cell.measure, SEARCHED) if cell.measure == "value" else []
    equal = sum(_is_printed(number, cell) for number in searched)
    if equal:
        is_traced = cell.trace is not None and cell.trace.kind == SAME_METHOD
        detail = f"{equal:,} of {_tried(cell, all_runs):,} single starts"
        return (FOUND_BY_SEARCH if is_traced else BY_CHANCE), detail
    return _by_range(cell, [run for run in runs if run.kind != SEARCHED])


def _tried(cell: _Cell, all_runs: Evidence) -> int:
    """Return the number of choices of signs or single starts in the search for a cell."""
    return all_runs.tried[cell.dataset, cell.cut, cell.column]


def _confirmed(cell: _Cell) -> str:
    """Return whether a run with the printed value has the printed accuracy and NMI, as text."""
    if cell.trace is None:  # the tiny table has no accuracy and NMI
        return ""
    none = "" if cell.trace.kind == SAME_METHOD else "none "
    return f", {none}with the printed accuracy and NMI"


def _by_partition(cell: _Cell, all_runs: Evidence) -> tuple[str, str] | None:
    """Return the reason of an accuracy or NMI by the partition that has it, or None."""
    trace = cell.trace
    if trace is not None and trace.kind == SAME_METHOD:
        runs = all_runs.of(cell.dataset, cell.cut, cell.column)
        equal_runs = [run for run in trace.matches if run.column == cell.column]
        for kind, noun in ((SIGNS, "choices of signs"), (SEARCHED, "single starts")):
            count = sum(run.kind == kind for run in equal_runs)
            if count:
                return SAME_RUN, f"{count:,} of {_tried(cell, all_runs):,} {noun}"
        return SAME_RUN, f"{len(equal_runs)} of {len(runs)} runs"
    if trace is not None and trace.kind == OTHER_METHOD:
        return OTHER_COLUMN, ", ".join(sorted({run.column for run in trace.matches}))
    if trace is not None and trace.kind == OTHER_VALUE:
        count = len({run.partition for run in trace.value_matches})
        partitions = "partition" if count == 1 else "partitions"
        return CROSSED, f"{trace.witness()}; {count} {partitions} at {_digits(trace.value)}"
    if not cell.agrees or trace is None:
        return None
    known = {
        run.partition: getattr(run, cell.measure)
        for run in all_runs.of(cell.dataset, cell.cut)
        if run.is_at(trace.value, None, None)
    }
    if not known:
        return None
    equal = sum(_is_printed(number, cell) for number in known.values())
    if equal:
        return SEVERAL, f"{equal} of {len(known)} partitions"
    listed = " to ".join(sorted({_digits(min(known.values())), _digits(max(known.values()))}))
    assert cell.entry.paper is not None
    one = any(_is_one_digit_apart(number, cell.entry.paper) for number in known.values())
    return NO_PARTITION, listed + (", differs in one digit" if one else "")


def _digits(number: float) -> str:
    return f"{number:.{printed.DIGITS}f}"


def _is_one_digit_apart(ours: float, paper: float) -> bool:
    """Return whether two printed numbers differ in one digit, possibly a misprint."""
    texts = _digits(ours), _digits(paper)
    return sum(a != b for a, b in zip(*texts, strict=False)) == 1


def _numbers(runs: list[Run], measure: str, kind: str | None = None) -> list[float]:
    return [float(getattr(run, measure)) for run in runs if kind is None or run.kind == kind]


def _numbers_of_signs(runs: list[Run], measure: str) -> list[float]:
    """Return the numbers for choices of signs, except runs recorded because of their cut value."""
    numbers = _numbers(runs, measure, SIGNS)
    return numbers if measure == "value" else numbers[:N_KEPT]


def _is_printed(number: float, cell: _Cell) -> bool:
    assert cell.entry.paper is not None
    return printed.is_printed(number, cell.entry.paper)


def _by_range(cell: _Cell, runs: list[Run]) -> tuple[str, str]:
    """Return how the printed number compares with the range of all runs."""
    numbers = _numbers(runs, cell.measure) or list(cell.entry.ours)
    low, high = min(numbers), max(numbers)
    assert cell.entry.paper is not None
    detail = f"{_digits(low)} to {_digits(high)} in {len(numbers)} runs"
    if low <= cell.entry.paper <= high:
        return AMONG, detail
    larger_is_better = cell.measure != "value"
    return (ALL_WORSE if (cell.entry.paper > high) == larger_is_better else ALL_BETTER), detail

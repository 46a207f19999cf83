"""The evidence: every run on record with its partition, and printed numbers traced to partitions.

The report explains the printed numbers by counts over these runs. The paper prints cut value,
accuracy and NMI for every dataset, cut and method. A partition on record with all three confirms
them. A partition with this accuracy and NMI but another cut value, or under the other cut, shows
where they belong instead.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from reproduction.data import printed
from reproduction.report.selection import each_run, many_runs
from reproduction.runs.methods import (
    METHODS,
    Column,
    by_cut,
    identity_starts,
    many_seeds,
    searched_starts,
    sign_choices,
    single_starts,
)
from reproduction.runs.records import Record

TABLE, SINGLE, SEEDS = "table", "single start", "seeds"
IDENTITY, SIGNS, SEARCHED = "identity", "signs", "searched"
"""Kinds of runs: as in a table, one start, as in a table with more seeds, a start with the identity
as rotation, SR for other signs, one start of a search that is on record for its cut value."""

MEASURES = {"tiny": "value", "objective": "value", "accuracy": "accuracy", "nmi": "nmi"}
"""The tables of values, and the measure of each."""


@dataclass(frozen=True)
class Run:
    """A run on record: its partition and the values of that."""

    dataset: str
    cut: str
    column: str
    """The label of the method."""
    kind: str
    value: float
    accuracy: float
    nmi: float
    partition: str
    """The hash of the partition."""

    def is_at(self, value: float | None, accuracy: float | None, nmi: float | None) -> bool:
        """Return whether the run has the printed numbers; None means any number."""
        return (
            (value is None or printed.is_printed(self.value, value))
            and (accuracy is None or printed.is_printed(self.accuracy, accuracy))
            and (nmi is None or printed.is_printed(self.nmi, nmi))
        )


@dataclass(frozen=True, eq=False)
class Evidence:
    """The runs on record, by dataset and cut."""

    runs: dict[tuple[str, str], list[Run]] = field(default_factory=dict)
    tried: dict[tuple[str, str, str], int] = field(default_factory=dict)
    """By dataset, cut and method: the number of single starts in a search, or of signs for SR, not
    all of which are on record."""

    def of(self, dataset: str, cut: str, column: str | None = None) -> list[Run]:
        """Return the runs of a dataset and a cut, or of one of their methods."""
        listed = self.runs.get((dataset, cut), [])
        return [run for run in listed if column is None or run.column == column]


def evidence(records: list[Record]) -> Evidence:
    """Return every run on record that has a partition with its value, accuracy and NMI."""
    collected = Evidence()
    labels = {
        _settings(column.method, column.parameters): column.label
        for column in (*by_cut(), *METHODS)
    }
    tables = [
        (labels[key], TABLE, record)
        for record in records
        if record["experiment"] in ("tiny", "objective", "restarts")
        and (key := _settings(record["method"], record["parameters"])) in labels
    ]
    for label, kind, record in (*tables, *_repeated(records)):
        if all(name in record for name in ("accuracy", "nmi", "labels")):
            place = record["dataset"], record["cut"]
            run = Run(
                *place,
                label,
                kind,
                float(record["value"]),
                float(record["accuracy"]),
                float(record["nmi"]),
                str(record["labels"]),
            )
            collected.runs.setdefault(place, []).append(run)
    for column in (sign_choices(), *searched_starts()):
        for record in many_runs(records, column):
            place = record["dataset"], record["cut"], column.label
            collected.tried[place] = int(record["tried"])
    return collected


def _settings(method: str, parameters: Mapping[str, Any]) -> str:
    """Return a method and its parameters as a key."""
    return json.dumps([method, parameters], sort_keys=True)


def _repeated(records: list[Record]) -> Iterable[tuple[str, str, Record]]:
    """Yield label, kind and record of every run that shares its record with others."""
    listed: dict[str, list[Column]] = {
        SINGLE: single_starts(),
        SEEDS: many_seeds(),
        IDENTITY: identity_starts(),
        SIGNS: [sign_choices()],
        SEARCHED: searched_starts(),
    }
    for kind, columns in listed.items():
        for column in columns:
            for record in each_run(records, column):
                yield column.label, kind, record


# -- printed numbers traced to partitions

SAME_METHOD, OTHER_METHOD = "the same method", "another method"
OTHER_VALUE, PAIR_ALONE, NOT_FOUND = "another cut value", "accuracy and NMI alone", "nothing"

CHANCE = 0.05
"""Maximum number of expected chance matches for a match of accuracy and NMI to be evidence."""


@dataclass(frozen=True)
class Trace:
    """The printed numbers of a dataset, a cut and a method, and the runs that have them.

    ``whole`` are the runs with the printed cut value, accuracy and NMI; ``pair`` those with the
    accuracy and NMI, under either cut; ``level`` those with the cut value. ``chance`` is the
    expected number of chance matches: the average number of partitions with another cut value that
    share accuracy and NMI with a partition on record.
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
        """The kind of run that has the printed numbers."""
        if any(run.column == self.column for run in self.whole):
            return SAME_METHOD
        if self.whole:
            return OTHER_METHOD
        if self.pair:
            # if the cut value is not on record, its partition may not have been found
            return OTHER_VALUE if self.level and self.chance < CHANCE else PAIR_ALONE
        return NOT_FOUND

    @property
    def place(self) -> str:
        """The place in the tables, in words."""
        return f"{printed.row_label(self.dataset)}, {printed.CUT_TITLES[self.cut]}, {self.column}"

    def witness(self) -> str:
        """Return a run with the accuracy and NMI, in words; one of the same cut if possible."""
        run = min(self.pair, key=lambda run: (run.cut != self.cut, run.column != self.column))
        cut = "" if run.cut == self.cut else f" under the {run.cut} cut"
        return f"{run.column}{cut} at {run.value:.{printed.DIGITS}f}"


def traces(runs: Evidence) -> list[Trace]:
    """Return a trace for every cell of Tables II, IV and V whose dataset and cut have runs."""
    return [
        trace
        for dataset in printed.dataset_labels()
        for cut in printed.CUT_TITLES
        if runs.of(dataset, cut)
        for column in METHODS
        if (trace := _trace(runs, dataset, cut, column)) is not None
    ]


def _trace(runs: Evidence, dataset: str, cut: str, column: Column) -> Trace | None:
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
        for run in runs.of(dataset, other)
        if run.is_at(None, accuracy, nmi)
    ]
    level = [run for run in runs.of(dataset, cut) if run.is_at(value, None, None)]
    whole = [run for run in level if run.is_at(None, accuracy, nmi)]
    chance = expected_by_chance(runs, dataset)
    return Trace(dataset, cut, column.label, value, accuracy, nmi, whole, pair, level, chance)


@lru_cache(maxsize=64)
def expected_by_chance(runs: Evidence, dataset: str) -> float:
    """Return the average number of partitions of another cut value with equal accuracy and NMI."""
    expected = 0.0
    for cut in printed.CUT_TITLES:
        different = {run.partition: run for run in runs.of(dataset, cut)}
        groups: dict[tuple[float, float], list[float]] = {}
        for run in different.values():
            pair = round(run.accuracy, printed.DIGITS), round(run.nmi, printed.DIGITS)
            groups.setdefault(pair, []).append(run.value)
        others = sum(
            abs(one - other) > 10.0**-printed.DIGITS
            for values in groups.values()
            for one in values
            for other in values
        )
        expected += others / max(len(different), 1)
    return expected

"""The evidence: all recorded runs with their partitions, and printed numbers traced to them.

The report explains the printed numbers by counts over these runs. The paper prints cut value,
accuracy and NMI for every dataset, cut and method. A recorded partition with all three confirms
them. A partition with the same accuracy and NMI but another cut value, or under the other cut,
indicates that the three numbers do not belong together.
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
"""Kinds of runs: as in a table, a single start, as in a table with more seeds, a single start with
the identity as first rotation, SR for a choice of signs, a single start of a search that is
recorded because of its cut value."""

MEASURES = {"tiny": "value", "objective": "value", "accuracy": "accuracy", "nmi": "nmi"}
"""The tables of values, and the measure of each."""


@dataclass(frozen=True)
class Run:
    """A recorded run: its partition, with cut value, accuracy and NMI."""

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
    """The recorded runs, by dataset and cut."""

    runs: dict[tuple[str, str], list[Run]] = field(default_factory=dict)
    tried: dict[tuple[str, str, str], int] = field(default_factory=dict)
    """By dataset, cut and method: the number of single starts in a search, or of choices of signs
    for SR, including runs that are not recorded."""

    def of(self, dataset: str, cut: str, column: str | None = None) -> list[Run]:
        """Return the runs of a dataset and a cut, or only those of one method."""
        listed = self.runs.get((dataset, cut), [])
        return [run for run in listed if column is None or run.column == column]


def evidence(records: list[Record]) -> Evidence:
    """Return every recorded run that has a partition with cut value, accuracy and NMI."""
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
    """Yield label, kind and record of every run whose record holds many runs."""
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

    Attributes
    ----------
    matches : list of Run
        Runs with the printed cut value, accuracy and NMI.
    pair_matches : list of Run
        Runs with the printed accuracy and NMI, under either cut.
    value_matches : list of Run
        Runs with the printed cut value.
    chance : float
        The expected number of chance matches: the average number of partitions with another cut
        value that have the accuracy and NMI of a recorded partition.
    """

    dataset: str
    cut: str
    column: str
    value: float
    accuracy: float
    nmi: float
    matches: list[Run]
    pair_matches: list[Run]
    value_matches: list[Run]
    chance: float

    @cached_property
    def kind(self) -> str:
        """The kind of run that has the printed numbers."""
        if any(run.column == self.column for run in self.matches):
            return SAME_METHOD
        if self.matches:
            return OTHER_METHOD
        if self.pair_matches:
            # without a run at the cut value, its partition may just be missing in the records
            is_crossed = self.value_matches and self.chance < CHANCE
            return OTHER_VALUE if is_crossed else PAIR_ALONE
        return NOT_FOUND

    @property
    def place(self) -> str:
        """The place in the tables, in words."""
        return f"{printed.row_label(self.dataset)}, {printed.CUT_TITLES[self.cut]}, {self.column}"

    def witness(self) -> str:
        """Return in words a run with the accuracy and NMI, of the same cut if possible."""
        run = min(
            self.pair_matches, key=lambda run: (run.cut != self.cut, run.column != self.column)
        )
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
    at_value = [run for run in runs.of(dataset, cut) if run.is_at(value, None, None)]
    matches = [run for run in at_value if run.is_at(None, accuracy, nmi)]
    chance = expected_by_chance(runs, dataset)
    return Trace(dataset, cut, column.label, value, accuracy, nmi, matches, pair, at_value, chance)


@lru_cache(maxsize=64)
def expected_by_chance(runs: Evidence, dataset: str) -> float:
    """Return the average number of partitions with equal accuracy and NMI but another cut value."""
    expected = 0.0
    for cut in printed.CUT_TITLES:
        distinct = {run.partition: run for run in runs.of(dataset, cut)}
        groups: dict[tuple[float, float], list[float]] = {}
        for run in distinct.values():
            pair = round(run.accuracy, printed.DIGITS), round(run.nmi, printed.DIGITS)
            groups.setdefault(pair, []).append(run.value)
        others = sum(
            abs(one - other) > 10.0**-printed.DIGITS
            for values in groups.values()
            for one in values
            for other in values
        )
        expected += others / max(len(distinct), 1)
    return expected

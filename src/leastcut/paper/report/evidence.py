"""All runs on record, as evidence: which partitions were found, by what, and how often.

Whatever the report says about a printed number is counted over these.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from leastcut.paper.data import printed
from leastcut.paper.report.record_selection import each_run, many_runs
from leastcut.paper.runs.methods import (
    METHODS,
    Column,
    by_cut,
    identity_starts,
    many_seeds,
    searched_starts,
    sign_choices,
    single_starts,
)
from leastcut.paper.runs.records import Record

TABLE, SINGLE, SEEDS = "table", "single start", "seeds"
IDENTITY, SIGNS, SEARCHED = "identity", "signs", "searched"
"""Kinds of runs: as in a table, one start, as in a table for more seeds, one start that begins with
the identity as rotation, SR for other signs, one start of thousands that is on record for its cut
value."""

MEASURES = {"tiny": "value", "objective": "value", "accuracy": "accuracy", "nmi": "nmi"}
"""The tables of values and the measure that each shows."""


@dataclass(frozen=True)
class Run:
    """A partition that was found."""

    dataset: str
    cut: str
    column: str
    """The label of the method."""
    kind: str
    value: float
    accuracy: float
    nmi: float
    partition: str
    """The hash of its clusters."""

    def is_at(self, value: float | None, accuracy: float | None, nmi: float | None) -> bool:
        """Return whether it has the printed numbers, as far as they are given."""
        return all(
            paper is None or printed.is_printed(ours, paper)
            for ours, paper in (
                (self.value, value),
                (self.accuracy, accuracy),
                (self.nmi, nmi),
            )
        )


@dataclass(frozen=True, eq=False)
class Evidence:
    """The runs on record, by dataset and cut."""

    runs: dict[tuple[str, str], list[Run]] = field(default_factory=dict)
    tried: dict[tuple[str, str, str], int] = field(default_factory=dict)
    """By dataset, cut and method: single starts that were searched, or signs that SR was run for;
    not all of these runs are on record."""

    def of(self, dataset: str, cut: str, column: str | None = None) -> list[Run]:
        """Return the runs of a dataset and a cut, and of a method."""
        found = self.runs.get((dataset, cut), [])
        return [run for run in found if column is None or run.column == column]


def evidence(records: list[Record]) -> Evidence:
    """Return every run on record whose partition is known with its value, accuracy and NMI."""
    found = Evidence()
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
            found.runs.setdefault(place, []).append(run)
    for column in (sign_choices(), *searched_starts()):
        for record in many_runs(records, column):
            found.tried[record["dataset"], record["cut"], column.label] = int(record["tried"])
    return found


def _settings(method: str, parameters: Mapping[str, Any]) -> str:
    """Return a method and its parameters as a key."""
    return json.dumps([method, parameters], sort_keys=True)


def _repeated(records: list[Record]) -> Iterable[tuple[str, str, Record]]:
    """Yield label, kind and record of every run that shares a record with others."""
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

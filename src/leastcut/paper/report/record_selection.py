"""Which records belong in which place of a table or figure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from leastcut.paper.data.printed import dataset_labels, split_name
from leastcut.paper.runs.experiments import EVIDENCE, SEARCH, TINY_EVIDENCE
from leastcut.paper.runs.methods import Column
from leastcut.paper.runs.records import Record
from leastcut.paper.runs.repeated import options_of


def select(
    records: Iterable[Record], experiment: str, column: Column | None = None
) -> list[Record]:
    """Return the records of an experiment, and of a column of it."""
    return [
        record
        for record in records
        if record["experiment"] == experiment
        # with all parameters: records of other numbers of starts are other runs
        and (
            column is None
            or (record["method"] == column.method and record["parameters"] == column.parameters)
        )
    ]


def datasets_of(records: Iterable[Record]) -> list[str]:
    """Return the datasets of records in the paper's order, others after them."""
    order = list(dataset_labels())
    found = {record["dataset"] for record in records}

    # by the paper, then by name: "usps:11" goes with "usps"
    def place(name: str) -> tuple[int, str]:
        stem = split_name(name)[0]
        return (order.index(stem) if stem in order else len(order), name)

    return sorted(found, key=place)


def in_order(records: Iterable[Record]) -> list[Record]:
    """Return records in the paper's order of datasets."""
    listed = list(records)
    order = datasets_of(listed)
    return sorted(listed, key=lambda record: order.index(record["dataset"]))


def numbers(records: list[Record], dataset: str, cut: str, field: str) -> tuple[float, ...]:
    """Return a field of the records of a dataset and a cut, in the order of the seeds."""
    ordered = sorted(records, key=lambda record: int(record["seed"]))
    return tuple(
        float(record[field])
        for record in ordered
        if record["dataset"] == dataset and record["cut"] == cut and field in record
    )


def many_runs(records: Iterable[Record], column: Column) -> list[Record]:
    """Return the records of many runs of a method with some options, however many they are."""
    wanted = options_of(column.parameters)
    return [
        record
        for record in records
        if record["experiment"] in (EVIDENCE, TINY_EVIDENCE, SEARCH)
        and record["method"] == column.method
        and options_of(record["parameters"]) == wanted
    ]


def each_run(records: Iterable[Record], column: Column) -> list[Record]:
    """Return runs of a method, many of which share a record, as if each had its own."""
    return [
        {
            **record,
            "seed": seed,
            "value": value,
            "accuracy": accuracy,
            "nmi": nmi,
            "labels": partition,
        }
        for record in many_runs(records, column)
        for seed, (value, accuracy, nmi, partition) in enumerate(_listed(record))
    ]


def _listed(record: Record) -> Iterator[tuple[float, float, float, str]]:
    """Yield value, accuracy, NMI and partition of every run that is on record."""
    names = ("values", "accuracies", "nmis", "partitions")
    # runs that were searched are told once for every partition they end at
    counts = record.get("counts", [1] * len(record["values"]))
    for count, run in zip(counts, zip(*(record[name] for name in names), strict=True), strict=True):
        yield from [run] * int(count)

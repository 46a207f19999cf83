"""Select the records of a table, a figure, or a cell of a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reproduction.data.printed import dataset_labels, split_name
from reproduction.runs.experiments import EVIDENCE, SEARCH, TINY_EVIDENCE
from reproduction.runs.labeling import options_of
from reproduction.runs.methods import Column
from reproduction.runs.records import Record


def select(
    records: Iterable[Record], experiment: str, column: Column | None = None
) -> list[Record]:
    """Return the records of an experiment, or of a column of it."""
    return [
        record
        for record in records
        if record["experiment"] == experiment
        # all parameters are compared, as runs with other numbers of starts are different
        and (
            column is None
            or (record["method"] == column.method and record["parameters"] == column.parameters)
        )
    ]


def datasets_of(records: Iterable[Record]) -> list[str]:
    """Return the datasets of some records in the paper's order, followed by others."""
    order = list(dataset_labels())

    # "usps:11" follows "usps"
    def place(name: str) -> tuple[int, str]:
        stem = split_name(name)[0]
        return (order.index(stem) if stem in order else len(order), name)

    return sorted({record["dataset"] for record in records}, key=place)


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


def theorem_records(records: Iterable[Record], method: str) -> list[Record]:
    """Return the records of a theorem."""
    return [record for record in select(records, "theorems") if record["method"] == method]


def many_runs(records: Iterable[Record], column: Column) -> list[Record]:
    """Return the records of a column that hold many runs, for any number of runs."""
    options = options_of(column.parameters)
    return [
        record
        for record in records
        if record["experiment"] in (EVIDENCE, TINY_EVIDENCE, SEARCH)
        and record["method"] == column.method
        and options_of(record["parameters"]) == options
    ]


def each_run(records: Iterable[Record], column: Column) -> list[Record]:
    """Return one record per run of a column whose records hold many runs."""
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
    """Yield value, accuracy, NMI and partition of every run in a record."""
    names = ("values", "accuracies", "nmis", "partitions")
    # a search records each partition once, with the number of its runs
    counts = record.get("counts", [1] * len(record["values"]))
    for count, run in zip(counts, zip(*(record[name] for name in names), strict=True), strict=True):
        yield from [run] * int(count)

"""The tables of the paper, made from the records, and the registry of all tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from reproduction.data import printed
from reproduction.report.selection import datasets_of, numbers, select
from reproduction.report.table import Entry, Row, Section, Table
from reproduction.report.tables_of_runs import identity, restarts, seeds, signs, traced
from reproduction.report.tables_of_theory import (
    certified,
    corollary1,
    gradient,
    implication,
    theorem1,
    theorem2,
)
from reproduction.runs.methods import Column, columns
from reproduction.runs.records import Record

NOT_PRINTED = " (not in the paper)"
"""The suffix of the head of a method whose values the paper does not print in a block: DNC under
the ratio cut."""


def tiny(records: list[Record]) -> Table:
    """Return Table I of the paper: the first samples of USPS in two clusters."""
    return Table(
        "tiny",
        "Objective values on the first 11–15 USPS digits, c = 2",
        _by_method("tiny", records, "tiny", "value", columns("tiny")),
        number="Table I",
        short="Tiny datasets",
        best="small",
    )


def objective(records: list[Record]) -> Table:
    """Return Table II of the paper: the cut values of every method on every dataset."""
    return Table(
        "objective",
        "Objective values",
        _by_method("objective", records, "objective", "value", columns("objective")),
        number="Table II",
        best="small",
    )


def datasets(records: list[Record]) -> Table:
    """Return Table III of the paper: samples, features and classes, and the size of the graphs."""
    heads = ("samples", "features", "classes", "stored edges", "components")
    by_name = {record["dataset"]: record for record in select(records, "datasets")}
    rows = tuple(_sizes(by_name[name]) for name in datasets_of(by_name.values()))
    section = Section("", heads, rows)
    return Table("datasets", "Datasets", (section,), number="Table III", digits=0)


def _sizes(record: Record) -> Row:
    name = record["dataset"]
    shape = printed.dataset_shape(name) or (None, None, None)
    sizes = tuple(
        Entry((float(ours),), paper, f"{ours:,}")
        for ours, paper in zip(record["shape"], shape, strict=True)
    )
    # these columns are not in the paper
    graph = tuple(Entry(text=f"{record[key]:,}") for key in ("stored", "components"))
    return printed.row_label(name), sizes + graph


def accuracy(records: list[Record]) -> Table:
    """Return Table IV of the paper: the accuracy of the partitions of Table II."""
    return Table(
        "accuracy",
        "Clustering accuracy",
        _by_method("accuracy", records, "objective", "accuracy", columns("accuracy")),
        number="Table IV",
        best="large",
    )


def nmi(records: list[Record]) -> Table:
    """Return Table V of the paper: the NMI of the partitions of Table II."""
    return Table(
        "nmi",
        "Normalized mutual information, MI / max(H, H)",
        _by_method("nmi", records, "objective", "nmi", columns("nmi")),
        number="Table V",
        short="Normalized mutual information",
        best="large",
    )


def seconds(records: list[Record]) -> Table:
    """Return the CPU time per run with all starts, without the graph and its relaxation."""
    return Table(
        "seconds",
        "CPU time per run in seconds",
        _by_method("seconds", records, "objective", "seconds", columns("objective")),
        short="CPU time",
        notes=(
            "With all starts and all η, without the graph; the relaxed solution (column OPT_r) is "
            "shared by the methods.",
        ),
        digits=3,
    )


def _by_method(
    name: str, records: list[Record], experiment: str, field: str, listed: Iterable[Column]
) -> tuple[Section, ...]:
    """Return a block per cut, with a row per dataset and a column per method.

    Parameters
    ----------
    name : str
        The name of the table, to look up the printed values.
    records : list of records
    experiment : str
    field : str
        The field of the records.
    listed : iterable of Column
        Columns without records are left out.
    """
    chosen = [(column, select(records, experiment, column)) for column in listed]
    present = [(column, selected) for column, selected in chosen if selected]
    names = datasets_of(select(records, experiment))
    sections = []
    for cut, title in printed.CUT_TITLES.items():
        rows = tuple(
            (
                printed.row_label(dataset),
                tuple(
                    Entry(
                        numbers(selected, dataset, cut, field),
                        printed.value(name, dataset, cut, column.printed),
                    )
                    for column, selected in present
                ),
            )
            for dataset in names
        )
        sections.append(Section(title, _heads([column for column, _ in present], rows), rows))
    return tuple(sections)


def _heads(present: list[Column], rows: tuple[Row, ...]) -> tuple[str, ...]:
    """Return the labels, marked for methods whose values the paper does not print in this block."""
    in_paper = [any(row[i].paper is not None for _, row in rows) for i in range(len(present))]
    return tuple(
        column.label + NOT_PRINTED
        if any(in_paper) and column.printed is not None and not is_printed
        else column.label
        for column, is_printed in zip(present, in_paper, strict=True)
    )


TABLES: dict[str, Callable[[list[Record]], Table]] = {
    "datasets": datasets,
    "tiny": tiny,
    "objective": objective,
    "certificates": certified,
    "accuracy": accuracy,
    "nmi": nmi,
    "traces": traced,
    "seeds": seeds,
    "identity": identity,
    "signs": signs,
    "restarts": restarts,
    "theorem1": theorem1,
    "corollary1": corollary1,
    "theorem2": theorem2,
    "gradient": gradient,
    "implication": implication,
    "seconds": seconds,
}
"""Every table by name."""

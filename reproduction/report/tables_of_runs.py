"""Tables of many runs: how the printed numbers depend on seeds, starts and signs."""

from __future__ import annotations

from collections import Counter
from statistics import median

from reproduction.data import printed
from reproduction.report.certified import is_tiny
from reproduction.report.evidence import (
    IDENTITY,
    NOT_FOUND,
    OTHER_METHOD,
    OTHER_VALUE,
    PAIR_ALONE,
    SAME_METHOD,
    SEEDS,
    SINGLE,
    Evidence,
    evidence,
    traces,
)
from reproduction.report.formats import number_text
from reproduction.report.selection import (
    datasets_of,
    each_run,
    in_order,
    many_runs,
    numbers,
    select,
)
from reproduction.report.table import Entry, Row, Section, Table
from reproduction.runs.labeling import N_KEPT
from reproduction.runs.methods import (
    HEURISTICS,
    METHODS,
    N_SINGLE,
    ROTATION,
    Column,
    by_cut,
    identity_starts,
    many_seeds,
    sign_choices,
    single_starts,
)
from reproduction.runs.records import Record

TRACED = {
    SAME_METHOD: "found by the same method",
    OTHER_METHOD: "found by another method",
    OTHER_VALUE: "at another cut value",
    PAIR_ALONE: "accuracy and NMI alone",
    NOT_FOUND: "not found",
}
"""The kinds of traces, and the heads of their columns."""


def traced(records: list[Record]) -> Table:
    """Return the number of printed triples of each method that belong to a partition on record."""
    listed = traces(evidence(records))
    sections = []
    for cut, title in printed.CUT_TITLES.items():
        counts = {
            column.label: Counter(
                trace.kind for trace in listed if (trace.cut, trace.column) == (cut, column.label)
            )
            for column in METHODS
        }
        rows = tuple(
            (
                label,
                tuple(
                    Entry((float(number),), text=str(number))
                    for number in (count.total(), *(count[kind] for kind in TRACED))
                ),
            )
            for label, count in counts.items()
            if count
        )
        sections.append(Section(title, ("printed", *TRACED.values()), rows))
    notes = (
        "Every cell of Tables II, IV and V with its cut value, accuracy and NMI, beside all runs "
        "on record of its dataset. Found: a partition has all three, to the digits printed. At "
        "another cut value: partitions have its cut value and others, at another value or under "
        "the other cut, its accuracy and NMI, but none has all three. Accuracy and NMI alone: the "
        "same, but the cut value is not on record, or so many partitions of the dataset share "
        "accuracy and NMI that the match may be chance.",
    )
    return Table(
        "traces",
        "Printed numbers traced to partitions",
        tuple(sections),
        short="Traces",
        notes=notes,
    )


def seeds(records: list[Record]) -> Table:
    """Return the printed value of each cell, and the number of seeds whose run reaches it."""
    shared = [record for column in many_seeds() for record in many_runs(records, column)]
    names = list(dict.fromkeys(record["dataset"] for record in _tiny_first(shared)))
    runs = {column.label: each_run(records, column) for column in many_seeds()}
    heads = tuple(f"{label}, {what}" for label in runs for what in ("printed", "reached"))
    sections = tuple(
        Section(
            title,
            heads,
            tuple(
                (
                    printed.row_label(name),
                    tuple(
                        entry
                        for label, listed in runs.items()
                        for entry in _reached(label, name, cut, numbers(listed, name, cut, "value"))
                    ),
                )
                for name in names
            ),
        )
        for cut, title in printed.CUT_TITLES.items()
    )
    notes = (
        "Runs as in the tables, ten starts each (first order: ten for every η), for more seeds: "
        "how many of them end at the printed cut value, to the digits printed.",
    )
    title = "How often other seeds reach the printed cut values"
    return Table("seeds", title, sections, short="Seeds", notes=notes)


def _tiny_first(records: list[Record]) -> list[Record]:
    """Return records in the paper's order of datasets, those of the tiny table first."""
    return sorted(in_order(records), key=lambda record: not is_tiny(record))


def _reached(label: str, name: str, cut: str, values: tuple[float, ...]) -> tuple[Entry, Entry]:
    """Return the printed value, and the number of runs that reach it."""
    (column,) = (column for column in METHODS if column.label == label)
    table = "objective" if printed.split_name(name)[1] is None else "tiny"
    paper = printed.value(table, name, cut, column.printed)
    if paper is None or not values:
        return Entry(), Entry()
    reached = sum(printed.is_printed(value, paper) for value in values)
    text = f"{reached} of {len(values)}"
    return Entry(text=f"{paper:.{printed.DIGITS}f}"), Entry((float(reached),), text=text)


FIRST_ROTATIONS = (
    "printed values",
    "by random labels",
    "by the identity",
    "by random labels only",
    "by the identity only",
    "identity always at one other",
)
"""The numbers of printed values that runs reach, by their first rotation."""

TITLES = {"tiny": "The paper’s Table I", "objective": "The paper’s Table II"}
"""The blocks of the table, one for each table of cut values."""


def identity(records: list[Record]) -> Table:
    """Return the number of printed cut values reached from random labels and from the identity."""
    runs = evidence(records)
    sections = []
    for table, title in TITLES.items():
        rows = tuple(
            (column.label, tuple(Entry((float(n),), text=str(n)) for n in counts))
            for column in identity_starts()
            if (counts := _by_first_rotation(runs, table, column))[0]
        )
        sections.append(Section(title, FIRST_ROTATIONS, rows))
    notes = (
        "The paper’s algorithm solves for the rotation that fits random labels first; the program "
        "of its authors begins with the identity. By random labels: any of the seeds and single "
        "starts of ours ends at the printed value. By the identity: any single start does that "
        "begins with it.",
    )
    return Table(
        "identity",
        "Random labels, or the identity first?",
        tuple(sections),
        short="First rotation",
        notes=notes,
    )


def _by_first_rotation(runs: Evidence, table: str, column: Column) -> tuple[int, ...]:
    """Return the numbers of :data:`FIRST_ROTATIONS` for a method."""
    label = "Ours" if column.method == "first_order" else column.label
    outcomes = []
    for name, cut in ((name, cut) for one, name, cut in printed.rows_printed() if one == table):
        paper = printed.value(table, name, cut, label)
        of_method = runs.of(name, cut, column.label)
        identical = [run.value for run in of_method if run.kind == IDENTITY]
        random = [run.value for run in of_method if run.kind in (SEEDS, SINGLE)]
        if paper is None or not identical or not random:
            continue
        elsewhere = max(identical) - min(identical) < 10.0**-printed.DIGITS
        by_random = any(printed.is_printed(value, paper) for value in random)
        by_identity = any(printed.is_printed(value, paper) for value in identical)
        outcomes.append((by_random, by_identity, elsewhere and not by_identity))
    return (
        len(outcomes),
        sum(random for random, _, _ in outcomes),
        sum(identical for _, identical, _ in outcomes),
        sum(random and not identical for random, identical, _ in outcomes),
        sum(identical and not random for random, identical, _ in outcomes),
        sum(elsewhere for _, _, elsewhere in outcomes),
    )


def signs(records: list[Record]) -> Table:
    """Return the cut values of SR over choices of signs, and how many are the printed value."""
    heads = (
        "printed",
        "choices tried",
        "partitions",
        "smallest",
        "median",
        "largest",
        "at the printed value",
    )
    listed = _tiny_first(many_runs(records, sign_choices()))
    sections = tuple(
        Section(title, heads, tuple(_signs_row(one) for one in listed if one["cut"] == cut))
        for cut, title in printed.CUT_TITLES.items()
    )
    notes = (
        "An eigenvector is one up to its sign only, and the paper's SR begins with the vectors as "
        "they are. All choices of signs where there are few, else some drawn ones; partitions and "
        f"range are those of the first {N_KEPT}.",
    )
    return Table(
        "signs", "SR depends on the eigenvectors' signs", sections, short="Signs", notes=notes
    )


def _signs_row(record: Record) -> Row:
    name, cut, values = record["dataset"], record["cut"], record["values"]
    table = "tiny" if is_tiny(record) else "objective"
    paper = printed.value(table, name, cut, ROTATION.printed)
    tried = f"{record['tried']:,} of {number_text(float(record['choices']))}"
    kept = values[:N_KEPT]
    partitions = len(set(record["partitions"][:N_KEPT]))
    reached = None if paper is None else sum(printed.is_printed(value, paper) for value in values)
    return printed.row_label(name), (
        Entry(text=None if paper is None else f"{paper:.{printed.DIGITS}f}"),
        Entry(text=tried),
        Entry((float(partitions),), text=str(partitions)),
        *(Entry((float(value),)) for value in (min(kept), median(kept), max(kept))),
        Entry() if reached is None else Entry((float(reached),), text=f"{reached:,}"),
    )


def restarts(records: list[Record]) -> Table:
    """Return the cut values of one start, and of the best of ten by loss and by cut value."""
    columns: list[tuple[str, list[Record]]] = []
    # not strict, as there are single starts of first order too
    for single, ten, judged in zip(single_starts(), HEURISTICS, by_cut(), strict=False):
        columns += [
            (f"{ten.label}, 1 start", each_run(records, single)),
            (f"{ten.label}, 10 by loss", select(records, "objective", ten)),
            (f"{ten.label}, 10 by cut", select(records, "restarts", judged)),
        ]
    names = datasets_of(select(records, "restarts"))
    sections = tuple(
        Section(
            title,
            tuple(label for label, _ in columns),
            tuple(
                (
                    printed.row_label(name),
                    tuple(Entry(numbers(listed, name, cut, "value")) for _, listed in columns),
                )
                for name in names
            ),
        )
        for cut, title in printed.CUT_TITLES.items()
    )
    notes = (
        f"{N_SINGLE} single starts; ten starts of which the method's own loss chooses; ten of "
        "which the cut value chooses, which the method itself does not know. Medians.",
    )
    return Table("restarts", "What starts are worth", sections, short="Starts", notes=notes)

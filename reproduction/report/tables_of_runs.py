"""Tables of many runs: how the printed values depend on seeds, starts and signs."""

from __future__ import annotations

from collections import Counter
from statistics import geometric_mean, median

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
    SAME_METHOD: "same method",
    OTHER_METHOD: "another method",
    OTHER_VALUE: "another cut value",
    PAIR_ALONE: "accuracy and NMI only",
    NOT_FOUND: "none",
}
"""The kinds of traces and the heads of their columns."""


def traced(records: list[Record]) -> Table:
    """Return for each method the number of printed triples that a recorded partition has."""
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
        "Recorded partitions with the printed cut value, accuracy and NMI of a cell of Tables II, "
        "IV and V. Same or another method: a partition by that method has all three. Another cut "
        "value: the accuracy and NMI occur only with another cut value, although the printed one "
        "is recorded. Accuracy and NMI only: the same, but the printed cut value is not recorded "
        "or the match may be chance.",
    )
    return Table(
        "traces",
        "Printed values traced to partitions",
        tuple(sections),
        short="Traces",
        notes=notes,
    )


def seeds(records: list[Record]) -> Table:
    """Return the printed value of each cell and the number of seeds whose run reaches it."""
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
    counts = {len({run["seed"] for run in listed}) for listed in runs.values() if listed}
    of = f", of {max(counts)}," if counts else ""
    notes = (
        f"The number of seeds{of} whose run with the settings of Tables I and II ends at the "
        "printed cut value.",
    )
    title = "Seeds that reach the printed cut values"
    return Table("seeds", title, sections, short="Seeds", notes=notes)


def _tiny_first(records: list[Record]) -> list[Record]:
    """Return records in the paper's order of datasets, those of the tiny table first."""
    return sorted(in_order(records), key=lambda record: not is_tiny(record))


def _reached(label: str, name: str, cut: str, values: tuple[float, ...]) -> tuple[Entry, Entry]:
    """Return the printed value and the number of runs that reach it."""
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
    "from random labels",
    "from the identity",
    "from random labels only",
    "from the identity only",
    "identity: always another value",
)
"""The heads of the numbers of printed values that runs reach, by their first rotation."""

TITLES = {"tiny": "The paper’s Table I", "objective": "The paper’s Table II"}
"""The blocks of the table, one per printed table of cut values."""


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
        "The paper’s algorithm first fits a rotation to random labels; its authors’ program starts "
        f"with the identity.{_reached_from_each(sections)}",
    )
    return Table(
        "identity",
        "First rotation: fitted to random labels, or the identity",
        tuple(sections),
        short="First rotation",
        notes=notes,
    )


def _reached_from_each(sections: list[Section]) -> str:
    """Return a sentence on the printed values that runs reach from either first rotation."""
    sums: dict[str, list[int]] = {}
    for section in sections:
        for label, row in section.rows:
            counts = [int(entry.value or 0) for entry in row[:3]]
            sums[label] = [a + b for a, b in zip(sums.get(label, [0, 0, 0]), counts, strict=True)]
    listed = "; ".join(
        f"{label} {random} and {identity} of {of}" for label, (of, random, identity) in sums.items()
    )
    start = " Printed cut values that some run reaches from random labels and from the identity: "
    return f"{start}{listed}." if listed else ""


def _by_first_rotation(runs: Evidence, table: str, column: Column) -> tuple[int, ...]:
    """Return the numbers for the columns :data:`FIRST_ROTATIONS` of a method."""
    label = "Ours" if column.method == "first_order" else column.label
    outcomes = []
    for name, cut in ((name, cut) for one, name, cut in printed.rows_printed() if one == table):
        paper = printed.value(table, name, cut, label)
        of_method = runs.of(name, cut, column.label)
        identical = [run.value for run in of_method if run.kind == IDENTITY]
        random = [run.value for run in of_method if run.kind in (SEEDS, SINGLE)]
        if paper is None or not identical or not random:
            continue
        is_constant = max(identical) - min(identical) < 10.0**-printed.DIGITS
        by_random = any(printed.is_printed(value, paper) for value in random)
        by_identity = any(printed.is_printed(value, paper) for value in identical)
        outcomes.append((by_random, by_identity, is_constant and not by_identity))
    return (
        len(outcomes),
        sum(random for random, _, _ in outcomes),
        sum(identical for _, identical, _ in outcomes),
        sum(random and not identical for random, identical, _ in outcomes),
        sum(identical and not random for random, identical, _ in outcomes),
        sum(always_other for _, _, always_other in outcomes),
    )


def signs(records: list[Record]) -> Table:
    """Return the cut values of SR over choices of signs, and how many equal the printed value."""
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
        "SR for all choices of the signs of the eigenvectors, or for a random sample if there are "
        f"too many. Partitions and range are those of the first {N_KEPT} choices.",
    )
    title = "Dependence of SR on the signs of the eigenvectors"
    return Table("signs", title, sections, short="Signs", notes=notes)


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
    # not strict: the single starts include first order
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
        f"Medians of {N_SINGLE} single starts, of the best of ten starts by the method's own loss, "
        "and of the best of ten by the cut value, which the method itself does not use."
        f"{_gains(sections)}",
    )
    return Table("restarts", "Effect of the starts", sections, short="Starts", notes=notes)


def _gains(sections: tuple[Section, ...]) -> str:
    """Return a sentence on the average decrease of the cut value by ten starts."""
    by_loss, by_cut = [], []
    for section in sections:
        for _, row in section.rows:
            for single, ten, judged in zip(row[::3], row[1::3], row[2::3], strict=True):
                if single.value and ten.value and judged.value:
                    by_loss.append(ten.value / single.value)
                    by_cut.append(judged.value / single.value)
    if not by_loss:
        return ""
    loss, cut = (geometric_mean(ratios) - 1.0 for ratios in (by_loss, by_cut))
    return (
        f" Relative to a single start, ten starts change the cut value by {loss:+.1%} (by loss) "
        f"and {cut:+.1%} (by cut value), in the geometric mean over all methods and cells."
    ).replace("-", "−")

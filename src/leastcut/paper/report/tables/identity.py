"""A table of ours: did the paper begin with random labels, or with the identity as rotation?"""

from __future__ import annotations

from leastcut.paper.data import printed
from leastcut.paper.report.evidence import IDENTITY, SEEDS, SINGLE, Evidence, evidence
from leastcut.paper.report.flaws_of_the_paper import rows_printed
from leastcut.paper.report.table import Entry, Section, Table
from leastcut.paper.runs.methods import Column, identity_starts
from leastcut.paper.runs.records import Record

HEADS = (
    "printed values",
    "by random labels",
    "by the identity",
    "by random labels only",
    "by the identity only",
    "identity always at one other",
)
"""What is counted: how many printed values runs of ours reach, begun so or so."""

TITLES = {"tiny": "The paper’s Table I", "objective": "The paper’s Table II"}
"""The tables of cut values, as blocks."""


def identity(records: list[Record]) -> Table:
    """Return how many printed cut values are reached by either way to begin, and by one alone."""
    found = evidence(records)
    sections = []
    for table, title in TITLES.items():
        rows = tuple(
            (column.label, tuple(Entry((float(n),), text=str(n)) for n in counts))
            for column in identity_starts()
            if (counts := _counts(found, table, column))[0]
        )
        sections.append(Section(title, HEADS, rows))
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


def _counts(found: Evidence, table: str, column: Column) -> tuple[int, ...]:
    """Return the counts of :data:`HEADS` for a method."""
    label = "Ours" if column.method == "first_order" else column.label
    outcomes = []
    for name, cut in ((name, cut) for one, name, cut in rows_printed() if one == table):
        paper = printed.value(table, name, cut, label)
        runs = found.of(name, cut, column.label)
        turned = [run.value for run in runs if run.kind == IDENTITY]
        random = [run.value for run in runs if run.kind in (SEEDS, SINGLE)]
        if paper is None or not turned or not random:
            continue
        elsewhere = max(turned) - min(turned) < 10.0**-printed.DIGITS
        by_random = any(printed.is_printed(value, paper) for value in random)
        by_identity = any(printed.is_printed(value, paper) for value in turned)
        outcomes.append((by_random, by_identity, elsewhere and not by_identity))
    return (
        len(outcomes),
        sum(random for random, _, _ in outcomes),
        sum(turned for _, turned, _ in outcomes),
        sum(random and not turned for random, turned, _ in outcomes),
        sum(turned and not random for random, turned, _ in outcomes),
        sum(elsewhere for _, _, elsewhere in outcomes),
    )

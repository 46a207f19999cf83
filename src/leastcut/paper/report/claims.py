"""What the paper claims, each claim judged by its own numbers or by our records."""

from __future__ import annotations

from leastcut.paper.report.findings import SAME, Check, counted
from leastcut.paper.report.flaws_measured import ITERATIONS, iterations_needed
from leastcut.paper.report.flaws_of_the_paper import rows_not_smallest, rows_printed
from leastcut.paper.report.flaws_of_the_theory import says_nothing, theorem_records
from leastcut.paper.report.record_selection import select
from leastcut.paper.report.tables import TABLES
from leastcut.paper.report.tallies import places
from leastcut.paper.runs.methods import FIRST_ORDER, METHODS
from leastcut.paper.runs.records import Record


def claims(records: list[Record]) -> list[Check]:
    """Return the paper's claims, and in how many cells each holds; what has no records is left out.

    Its own numbers are judged beside ours, and not where there are none of ours.
    """
    ours = _smallest_in_ours(records)
    n_rows = len(rows_printed())
    found = [
        Check(
            "The paper: its method has the smallest value of the row (in its own numbers)",
            n_rows - len(rows_not_smallest()) if ours else 0,
            n_rows if ours else 0,
        ),
        counted(
            "The paper: its method has the smallest value of the row (medians of ours, its methods "
            "alone)",
            ours,
        ),
        counted(
            f"The paper: its method converges within {ITERATIONS} iterations (runs of ours)",
            [iterations_needed(r) <= ITERATIONS for r in select(records, "convergence")],
        ),
        *_theory(records),
    ]
    return [claim for claim in found if claim.of]


def _smallest_in_ours(records: list[Record]) -> list[bool]:
    """Return for every row whether first order is the smallest of the paper's methods, by ours."""
    labels = [column.label for column in METHODS if column.printed is not None]
    rows: dict[tuple[str, str, str], dict[str, float]] = {}
    for table in ("tiny", "objective"):
        for cut, row, head, entry in places(TABLES[table](records)):
            if head in labels and entry.value is not None:
                rows.setdefault((table, cut, row), {})[head] = entry.value
    return [
        row[FIRST_ORDER.label] <= min(row.values()) * (1.0 + SAME)
        for row in rows.values()
        if FIRST_ORDER.label in row and len(row) > 1
    ]


def _theory(records: list[Record]) -> list[Check]:
    first, second = (theorem_records(records, f"theorem {number}") for number in (1, 2))
    pairs = theorem_records(records, "corollary 1")
    gradients = theorem_records(records, "gradient")
    low, high = 1.0 - SAME, 1.0 + SAME  # what rounding may do
    return [
        counted(
            "Theorem 1 holds, and so does the limit 1 + ε, which is at most 2",
            [low <= r["value"] <= high * min(r["limit"], r["our_limit"], 2.0) for r in first],
        ),
        counted(
            "Corollary 1 holds for every pair of partitions on record that meets its condition",
            [r["broken"] == 0 for r in pairs],
        ),
        counted(
            "Theorem 2 holds for the best partition known",
            [r["rho2_best"] <= r["limit"] * high for r in second],
        ),
        counted(
            "Theorem 2 says more than what holds for every partition",
            [not says_nothing(r) for r in second],
        ),
        counted(
            "The gradient term is at most λ_c times the squared distance",
            [max(r["share"], r["share_best"]) <= high for r in gradients],
        ),
    ]

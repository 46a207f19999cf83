"""Tables of ours: the paper's Theorems 1 and 2 and Corollary 1, measured on its datasets."""

from __future__ import annotations

from leastcut.page_design.numbers import number_text
from leastcut.paper.data import printed
from leastcut.paper.report.record_selection import in_order, select
from leastcut.paper.report.table import Entry, Row, Section, Table
from leastcut.paper.runs.methods import Column
from leastcut.paper.runs.records import Record


def theorem1(records: list[Record]) -> Table:
    """Return Theorem 1 measured: the losses of k-means and rotation, and both limits."""
    heads = (
        "J_km",
        "J_ISR",
        "J_ISR / J_km",
        "our limit",
        "the paper's limit",
        "largest singular value",
    )
    fields = ("j_kmeans", "j_isr", "value", "our_limit", "limit", "sigma")
    sections = []
    for method, of in (("kmeans", "k-means"), ("improved_rotation", "improved rotation")):
        found = select(records, "theorems", Column("", "theorem 1", {"labels": method}))
        rows = tuple(
            (
                printed.row_label(record["dataset"]),
                tuple(Entry((float(record[name]),)) for name in fields),
            )
            for record in in_order(found)
        )
        sections.append(Section(f"Partition by {of}", heads, rows))
    notes = (
        "Theorem 1 says that the ratio lies between 1 and (1 + √ε)², which is at most 4; 1 + ε is "
        "a limit too, and at most 2. Ratio Cut; the best of 10 starts by the method's own loss.",
    )
    return Table("theorem1", "Theorem 1, measured", tuple(sections), short="Theorem 1", notes=notes)


def corollary1(records: list[Record]) -> Table:
    """Return how often the condition of Corollary 1 is met."""
    heads = ("partitions", "pairs", "condition met", "met, our limit", "broken", "order swapped")
    names = ("different", "pairs", "met", "met_ours", "broken", "swapped")
    found = [r for r in select(records, "theorems") if r["method"] == "corollary 1"]
    rows = tuple(
        (
            printed.row_label(record["dataset"]),
            tuple(Entry((float(record[name]),), text=f"{record[name]:,}") for name in names),
        )
        for record in in_order(found)
    )
    notes = (
        "Different partitions by single starts of k-means and ISR, Ratio Cut, in ordered pairs. "
        "The condition is that J_km of the first, times the limit of Theorem 1 for it, is at most "
        "J_km of the second; broken would be a larger J_ISR of the first. Swapped are pairs of "
        "which the first has the smaller J_km and the larger J_ISR.",
    )
    section = Section(printed.CUT_TITLES["ratio"], heads, rows)
    title = "Corollary 1, counted"
    return Table("corollary1", title, (section,), short="Corollary 1", notes=notes)


def theorem2(records: list[Record]) -> Table:
    """Return Theorem 2 measured: both sides of its inequality, and what holds anyway."""
    heads = ("ρ²(Δ*)", "ρ²(Δ†)", "λmax/λmin", "O(1)", "right side", "right / left", "2c")
    fields = ("rho2_best", "rho2_closest", "ratio", "constant", "limit", "value", "trivial")
    found = [r for r in select(records, "theorems") if r["method"] == "theorem 2"]
    sections = tuple(
        Section(
            title,
            heads,
            tuple(_row(record, fields) for record in in_order(r for r in found if r["cut"] == cut)),
        )
        for cut, title in printed.CUT_TITLES.items()
    )
    notes = (
        "Theorem 2 says ρ²(Δ*) ≤ (λmax/λmin) ρ²(Δ†) + O(1), and its proof that the O(1) is "
        "2 Σλ/λmin. For every partition ρ²(Δ) ≤ 2c. The optimum G* is stood in for by the best "
        "partition known (partition), the closest G† by the best of 10 starts of ISR.",
    )
    return Table("theorem2", "Theorem 2, measured", sections, short="Theorem 2", notes=notes)


def _row(record: Record, fields: tuple[str, ...]) -> Row:
    """Return numbers that range over many orders of magnitude: with significant digits."""
    return printed.row_label(record["dataset"]), tuple(
        Entry((float(record[name]),), text=number_text(float(record[name]))) for name in fields
    )

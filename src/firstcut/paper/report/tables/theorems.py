"""Two tables of ours: the paper's Theorems 1 and 2, measured on its datasets."""

from __future__ import annotations

from firstcut.paper.data import printed
from firstcut.paper.report.record_selection import in_order, select
from firstcut.paper.report.table import Entry, Row, Section, Table
from firstcut.paper.runs.methods import Column
from firstcut.paper.runs.records import Record


def theorem1(records: list[Record]) -> Table:
    """Return Theorem 1 measured: the losses of k-means and rotation, and the limits."""
    heads = ("J_km", "J_ISR", "J_ISR / J_km", "its limit", "limit / ratio")
    sections = []
    for method, of in (("kmeans", "k-means"), ("improved_rotation", "improved rotation")):
        found = select(records, "theorems", Column("", "theorem 1", {"labels": method}))
        rows = tuple(_first_row(record) for record in in_order(found))
        sections.append(Section(f"Partition by {of}", heads, rows))
    notes = (
        "Theorem 1 says that the ratio lies between 1 and its limit (1 + √ε)², which is at most 4. "
        "Ratio Cut; the best of 10 starts by the method's own loss.",
    )
    return Table("theorem1", "Theorem 1, measured", tuple(sections), short="Theorem 1", notes=notes)


def _first_row(record: Record) -> Row:
    shown = (record["j_kmeans"], record["j_isr"], record["value"], record["limit"])
    # nothing is relative to a ratio of 0
    room = Entry((record["limit"] / record["value"],)) if record["value"] else Entry()
    return printed.row_label(record["dataset"]), (*(Entry((x,)) for x in shown), room)


def theorem2(records: list[Record]) -> Table:
    """Return Theorem 2 measured: both sides of its inequality."""
    heads = ("ρ²(Δ*)", "ρ²(Δ†)", "λmax/λmin", "O(1)", "right side", "right / left")
    found = [r for r in select(records, "theorems") if r["method"] == "theorem 2"]
    sections = tuple(
        Section(
            title,
            heads,
            tuple(_second_row(record) for record in in_order(r for r in found if r["cut"] == cut)),
        )
        for cut, title in printed.CUT_TITLES.items()
    )
    notes = (
        "Theorem 2 says ρ²(Δ*) ≤ (λmax/λmin) ρ²(Δ†) + O(1), and its proof that the O(1) is "
        "2 Σλ/λmin. The optimum G* is stood in for by the best partition known (partition), the "
        "closest G† by the best of 10 starts of ISR.",
    )
    return Table("theorem2", "Theorem 2, measured", sections, short="Theorem 2", notes=notes)


def _second_row(record: Record) -> Row:
    lengths = tuple(Entry((record[name],)) for name in ("rho2_best", "rho2_closest"))
    # these range over ten orders of magnitude: significant digits instead of decimals
    large = tuple(
        Entry((record[name],), text=f"{record[name]:,.4g}")
        for name in ("ratio", "constant", "limit", "value")
    )
    return printed.row_label(record["dataset"]), lengths + large

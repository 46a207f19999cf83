"""Tables of certified bounds, and of the paper's theorems and gradient term as measured."""

from __future__ import annotations

from collections.abc import Iterable

from reproduction.data import printed
from reproduction.report.certified import (
    PROVEN,
    certificates,
    gap,
    is_proven,
    values_printed,
)
from reproduction.report.formats import number_text
from reproduction.report.selection import in_order, select, theorem_records
from reproduction.report.table import Entry, Row, Section, Table
from reproduction.runs.experiments import IMPLICATION
from reproduction.runs.methods import RELAXED, Column
from reproduction.runs.records import Record

DIGITS = 6
"""Decimals of certificates: the cuts of MSRA and SEGMENT are a few thousandths."""


def certified(records: list[Record]) -> Table:
    """Return OPT_r, the certified bound and our cut for every certificate."""
    heads = (
        RELAXED.label,
        "certified bound",
        "our cut",
        "gap",
        "optimal",
        "smallest printed",
        "seconds of proof",
    )
    listed = certificates(records)
    sections = tuple(
        Section(title, heads, tuple(_proof(record) for record in listed if record["cut"] == cut))
        for cut, title in printed.CUT_TITLES.items()
    )
    notes = (
        "No partition of the graph has a cut value below the certified bound. The gap is the "
        "difference between our cut and the bound, relative to our cut; below "
        f"{PROVEN:.4%} the cut is proven optimal.",
    )
    return Table(
        "certificates",
        "Certified lower bounds",
        sections,
        short="Certificates",
        notes=notes,
        digits=DIGITS,
    )


def _proof(record: Record) -> Row:
    numbers = tuple(Entry((float(record[name]),)) for name in ("relaxed", "bound", "value"))
    seconds = float(record["seconds"])
    values = [value for _, _, value in values_printed(record)]
    return printed.row_label(record["dataset"]), (
        *numbers,
        Entry((gap(record),), text=f"{gap(record):.4%}"),
        Entry(text="proven" if is_proven(record) else "open"),
        Entry(text=f"{min(values):.{printed.DIGITS}f}" if values else None),
        Entry((seconds,), text=number_text(seconds)),
    )


def theorem1(records: list[Record]) -> Table:
    """Return the losses of k-means and rotation, and both bounds on their ratio."""
    heads = (
        "J_km",
        "J_ISR",
        "J_ISR / J_km",
        "our bound",
        "the paper's bound",
        "largest singular value",
    )
    fields = ("j_kmeans", "j_isr", "value", "our_limit", "limit", "sigma")
    sections = []
    for method, of in (("kmeans", "k-means"), ("improved_rotation", "improved rotation")):
        listed = select(records, "theorems", Column("", "theorem 1", {"labels": method}))
        rows = tuple(
            (
                printed.row_label(record["dataset"]),
                tuple(Entry((float(record[name]),)) for name in fields),
            )
            for record in in_order(listed)
        )
        sections.append(Section(f"Partition by {of}", heads, rows))
    notes = (
        "Theorem 1 bounds J_ISR / J_km by (1 + √ε)² ≤ 4, the paper's bound; ours is 1 + ε ≤ 2. "
        "Ratio Cut, the best of 10 starts by the method's own loss.",
    )
    title = "Theorem 1: ratio of the losses"
    return Table("theorem1", title, tuple(sections), short="Theorem 1", notes=notes)


def corollary1(records: list[Record]) -> Table:
    """Return the number of pairs of partitions that meet the condition of Corollary 1."""
    heads = ("partitions", "pairs", "condition met", "met, factor 1 + ε", "violated", "reversed")
    names = ("different", "pairs", "met", "met_ours", "broken", "swapped")
    rows = tuple(
        (
            printed.row_label(record["dataset"]),
            tuple(Entry((float(record[name]),), text=f"{record[name]:,}") for name in names),
        )
        for record in in_order(theorem_records(records, "corollary 1"))
    )
    notes = (
        "Ordered pairs of partitions by single starts of k-means and ISR, Ratio Cut. The condition "
        "is that J_km of the first, times its factor in Theorem 1, is at most J_km of the second; "
        "it is violated if J_ISR of the first is larger. In reversed pairs J_km of the first is "
        "smaller and J_ISR larger.",
    )
    section = Section(printed.CUT_TITLES["ratio"], heads, rows)
    title = "Corollary 1: how often it applies"
    return Table("corollary1", title, (section,), short="Corollary 1", notes=notes)


def theorem2(records: list[Record]) -> Table:
    """Return both sides of the inequality of Theorem 2, and the trivial bound."""
    heads = ("ρ²(Δ*)", "ρ²(Δ†)", "λmax/λmin", "O(1)", "right side", "right / left", "2c")
    fields = ("rho2_best", "rho2_closest", "ratio", "constant", "limit", "value", "trivial")
    sections = _by_cut(theorem_records(records, "theorem 2"), heads, fields)
    notes = (
        "Theorem 2 states ρ²(Δ*) ≤ (λmax/λmin) ρ²(Δ†) + O(1); in its proof the O(1) is 2 Σλ/λmin. "
        "The optimum G* is approximated by the best known partition (partition), the closest "
        "solution G† by the best of 10 starts of ISR.",
    )
    title = "Theorem 2: both sides of the inequality"
    return Table("theorem2", title, sections, short="Theorem 2", notes=notes)


def _by_cut(
    listed: list[Record], heads: Iterable[str], fields: Iterable[str]
) -> tuple[Section, ...]:
    """Return a block per cut with a row per record and a column per field.

    Numbers are shown with significant digits, as they range over many orders of magnitude.
    """
    return tuple(
        Section(
            title,
            tuple(heads),
            tuple(
                (
                    printed.row_label(record["dataset"]),
                    tuple(
                        Entry((float(record[name]),), text=number_text(float(record[name])))
                        for name in fields
                    ),
                )
                for record in in_order(record for record in listed if record["cut"] == cut)
            ),
        )
        for cut, title in printed.CUT_TITLES.items()
    )


HEADS = {
    "lambda_c": "λc",
    "distance": "distance²",
    "inner": "gradient term",
    "share": "relative size",
    "second": "second order",
    "distance_best": "distance², best",
    "inner_best": "gradient term, best",
    "share_best": "relative size, best",
    "second_best": "second order, best",
}
"""The fields of a record of the gradient term, and the heads of their columns."""


def gradient(records: list[Record]) -> Table:
    """Return the gradient term of the closest and of the best partition of every cell."""
    sections = _by_cut(theorem_records(records, "gradient"), HEADS.values(), HEADS)
    notes = (
        "The cut value is OPT_r + ⟨Δ, ∇⟩ + ⟨Δ, A Δ⟩; the paper's criterion neglects the last term. "
        "The table has both terms, and the relative size |⟨Δ, ∇⟩| / (λc ‖Δ‖²) ≤ 1, for the closest "
        "partition (the best of 10 starts of ISR) and the best known one (partition).",
    )
    title = "Size of the gradient term"
    return Table("gradient", title, sections, short="Gradient term", notes=notes)


def implication(records: list[Record]) -> Table:
    """Return how often the smaller gradient term has the larger cut, on random graphs."""
    heads = (
        "graphs",
        "pairs",
        "fails",
        "pairs, closest tenth",
        "fails, closest tenth",
        "pairs, both smaller",
        "fails, both smaller",
    )
    rows = tuple(
        (f"{_n_nodes(record)} nodes", _counts(record))
        for record in sorted(select(records, IMPLICATION), key=_n_nodes)
    )
    notes = (
        "Pairs of partitions of random graphs (complete, weights uniform on [0, 1], Ratio Cut) "
        "whose ‖Δ‖ differ by less than 1%. The inference fails if the smaller gradient term has "
        "the larger cut.",
    )
    return Table(
        "implication",
        "Does a smaller gradient term mean a smaller cut?",
        (Section("Three clusters", heads, rows),),
        short="Gradient term and cut",
        notes=notes,
    )


def _n_nodes(record: Record) -> int:
    """Return the number of nodes of the random graphs of a record, as in "random:5"."""
    return printed.split_name(record["dataset"])[1] or 0


def _counts(record: Record) -> tuple[Entry, ...]:
    entries = [
        Entry((float(record["parameters"]["graphs"]),), text=str(record["parameters"]["graphs"]))
    ]
    for prefix in ("", "near_", "both_"):
        pairs, fails = int(record[f"{prefix}pairs"]), int(record[f"{prefix}fails"])
        rate = fails / max(pairs, 1)
        entries += [
            Entry((float(pairs),), text=f"{pairs:,}"),
            Entry((rate,), text=f"{rate:.1%}"),
        ]
    return tuple(entries)

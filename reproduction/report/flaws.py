"""Flaws of the paper that follow from its text, its numbers, short proofs or certificates.

Flaws that follow from runs are in ``flaws_measured``.
"""

from __future__ import annotations

from dataclasses import dataclass

from reproduction.data import printed
from reproduction.report.certified import VALUES, unreachable
from reproduction.report.selection import select, theorem_records
from reproduction.runs.experiments import IMPLICATION
from reproduction.runs.methods import FIRST_ORDER, METHODS
from reproduction.runs.records import Record


@dataclass(frozen=True)
class Flaw:
    """A flaw of the paper.

    Attributes
    ----------
    name : str
        A few words, used as the text of links.
    where : tuple of str
        The tables and figures that show it.
    text : str
    cells : tuple of str
        The cells that show it, in words; listed on the HTML page only.
    """

    name: str
    where: tuple[str, ...]
    text: str
    cells: tuple[str, ...] = ()


TWO_CLUSTERS = Flaw(
    "two clusters",
    ("motivation", "closest", "tiny"),
    "For two clusters the gradient term does not change the minimizer of the paper's criterion. Up "
    "to a constant, it is 2 (1 − |1 − ηλ₂| m), where m measures how close a discrete solution is "
    "to the relaxed optimum, so for every η ≠ 1/λ₂ the minimizer is the closest solution, as for "
    "ISR. At c = 2 first order and ISR differ by starts, sweeps and selection only.",
)

FIRST_ROWS = Flaw(
    "first rows",
    ("tiny",),
    "The text uses the first 10–15 samples, the table 11–15: with k = 10, ten samples have no "
    "11th neighbor, which determines the scale.",
)


def rows_not_smallest() -> list[tuple[str, str, str, float, float]]:
    """Return the printed rows in which another method is smaller than the paper's.

    Returns
    -------
    list of (row, title of the cut, method, its value, the value of the paper's method)
        The smallest other method of every such row.
    """
    rows = []
    for table, name, cut in printed.rows_printed():
        first_order = printed.value(table, name, cut, FIRST_ORDER.printed)
        others = [
            (value, column.label)
            for column in METHODS
            if column is not FIRST_ORDER
            and (value := printed.value(table, name, cut, column.printed)) is not None
        ]
        assert first_order is not None
        value, label = min(others)
        if value < first_order:
            place = printed.row_label(name), printed.CUT_TITLES[cut]
            rows.append((*place, label, value, first_order))
    return rows


def _not_smallest() -> Flaw:
    rows = rows_not_smallest()
    listed = "; ".join(
        f"{row}, {cut} ({label} {value:.4f}, first order {first_order:.4f})"
        for row, cut, label, value, first_order in rows
    )
    return Flaw(
        "smallest",
        ("tiny", "objective"),
        "The paper states that its method attains the smallest value on all datasets. In "
        f"{len(rows)} of its {len(printed.rows_printed())} rows another printed value is smaller: "
        f"{listed}.",
    )


FLAWS = (TWO_CLUSTERS, _not_smallest(), FIRST_ROWS)
"""The flaws that need no records."""


# -- the theory


def _first(records: list[Record]) -> list[Flaw]:
    listed = theorem_records(records, "theorem 1")
    if not listed:
        return []
    largest = max(float(record["sigma"]) for record in listed)
    ratio = max(float(record["value"]) for record in listed)
    return [
        Flaw(
            "factor two",
            ("theorem1",),
            "The factor 4 of Theorem 1 can be improved to 2. With J_ISR − J_km = Σ (1 − σ)², "
            "J_km = Σ (1 − σ)(1 + σ) and ε = max (1 − σ)/(1 + σ) ≤ 1, each (1 − σ)² is at most "
            "ε (1 − σ)(1 + σ), hence J_ISR ≤ (1 + ε) J_km ≤ 2 J_km. The largest measured ratio is "
            f"{ratio:.4f}.",
        ),
        Flaw(
            "lemma one",
            ("theorem1",),
            "Lemma 1 states σ < 1; its proof gives σ ≤ 1, and equality always occurs, because √b "
            f"is in the span of both F and G. The largest measured σ is {largest:.12g}.",
        ),
    ]


def _corollary(records: list[Record]) -> list[Flaw]:
    listed = theorem_records(records, "corollary 1")
    pairs, met, ours, broken = (
        sum(int(record[name]) for record in listed)
        for name in ("pairs", "met", "met_ours", "broken")
    )
    if not pairs:
        return []
    return [
        Flaw(
            "corollary one",
            ("corollary1",),
            "Corollary 1 refers to the ε of Lemma 1, which defines none; it is that of Theorem 1. "
            f"The corollary is true but rarely applies: of {pairs:,} ordered pairs of different "
            f"partitions by k-means and ISR, {met:,} meet its condition ({ours:,} with the factor "
            f"1 + ε), and {broken:,} of these violate its conclusion.",
        )
    ]


def says_nothing(record: Record) -> bool:
    """Return whether the bound of Theorem 2 is at least the trivial bound."""
    return float(record["limit"]) >= float(record["trivial"])


def _second(records: list[Record]) -> list[Flaw]:
    listed = theorem_records(records, "theorem 2")
    empty = sum(says_nothing(record) for record in listed)
    if not empty:
        return []
    least = min(float(record["limit"]) / max(float(record["trivial"]), 1.0) for record in listed)
    return [
        Flaw(
            "theorem two",
            ("theorem2",),
            "Since ρ²(Δ) ≤ ‖Δ‖² = 2 Σ (1 − σ) ≤ 2c for every partition, Theorem 2 is informative "
            f"only if its right-hand side is below 2c. In {empty} of {len(listed)} cells it is "
            f"not; the smallest right-hand side is {least:.3g} times 2c.",
        )
    ]


def _gradient(records: list[Record]) -> list[Flaw]:
    listed = theorem_records(records, "gradient")
    if not listed:
        return []
    shares = [float(record["share"]) for record in listed]
    return [
        Flaw(
            "second order",
            ("gradient", "sensitivity"),
            "The “first-order” term is of second order in Δ: with FᵀG = U Σ Vᵀ, "
            "⟨Δ, ∇⟩ = −2 Σ λⱼ (1 − (U Σ Uᵀ)ⱼⱼ), whose terms have one sign, and "
            "‖Δ‖² = 2 Σ (1 − (U Σ Uᵀ)ⱼⱼ), so |⟨Δ, ∇⟩| ≤ λ_c ‖Δ‖². At the closest partition the "
            f"ratio of the two sides is {min(shares):.2f} to {max(shares):.2f} over "
            f"{len(listed)} cells. The neglected term ⟨Δ, A Δ⟩ is of the same order.",
        )
    ]


def _implication(records: list[Record]) -> list[Flaw]:
    listed = select(records, IMPLICATION)
    names = ("pairs", "fails", "near_pairs", "near_fails", "both_pairs", "both_fails")
    pairs, fails, near, near_fails, both, both_fails = (
        sum(int(record[name]) for record in listed) for name in names
    )
    if not fails:
        return []
    return [
        Flaw(
            "equal distance",
            ("gradient", "implication"),
            "For two partitions with equal ‖Δ‖, the paper infers that the one with the smaller "
            "⟨Δ, ∇⟩ has the smaller cut. This does not follow. Over all partitions of random "
            f"graphs into three clusters, it fails for {fails:,} of {pairs:,} pairs "
            f"({fails / pairs:.0%}) whose ‖Δ‖ differ by less than 1%, and for {near_fails:,} of "
            f"{near:,} pairs ({near_fails / max(near, 1):.0%}) among the tenth of the partitions "
            "closest to the relaxed optimum. Even if both ‖Δ‖ and ⟨Δ, ∇⟩ are smaller, the cut is "
            f"larger in {both_fails:,} of {both:,} such pairs "
            f"({both_fails / max(both, 1):.0%}). For two clusters ⟨Δ, ∇⟩ = −λ₂ ‖Δ‖², so the "
            "condition is never met.",
        )
    ]


def flaws_of_the_theory(records: list[Record]) -> list[Flaw]:
    """Return the flaws of the theory that the records show."""
    return [
        flaw
        for find in (_first, _corollary, _second, _gradient, _implication)
        for flaw in find(records)
    ]


def flaws_proven(records: list[Record]) -> list[Flaw]:
    """Return the printed values below their certified bound, one flaw per table of cut values."""
    below = unreachable(records)
    flaws = []
    for table in VALUES:
        listed = "; ".join(
            f"{one.row}, {one.cut}, {one.column}: {one.paper:.{printed.DIGITS}f}, bound "
            f"{one.bound:.6f}"
            for one in below
            if one.table == table
        )
        if listed:
            text = f"These printed values are below the certified bound of our graph: {listed}."
            flaws.append(Flaw(f"below the bound in {table}", (table,), text))
    return flaws

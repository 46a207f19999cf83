"""Flaws of the paper that follow from its text, its numbers, short proofs or certificates.

The flaws that runs show are in ``flaws_measured``.
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
    """A flaw of the paper, with the tables and figures in which it shows.

    ``name`` is a few words, which the links on a page use.
    """

    name: str
    where: tuple[str, ...]
    text: str


TWO_CLUSTERS = Flaw(
    "two clusters",
    ("motivation", "closest", "tiny"),
    "With two clusters the gradient term changes nothing: the paper's criterion ranks the discrete "
    "solutions by 2 (1 − |1 − ηλ₂| m) up to a constant, where m says how near each is to the "
    "relaxed optimum, so for every η (but 1/λ₂) its best is the closest one, ISR's. Where first "
    "order and ISR differ with c = 2, starts, sweeps and the choice between them do it.",
)

FIRST_ROWS = Flaw(
    "first rows",
    ("tiny",),
    "The text says that the first 10–15 samples are used, the table has 11–15: with k = 10 and 10 "
    "samples there is no 11th neighbour to scale by.",
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
        own = printed.value(table, name, cut, FIRST_ORDER.printed)
        others = [
            (value, column.label)
            for column in METHODS
            if column is not FIRST_ORDER
            and (value := printed.value(table, name, cut, column.printed)) is not None
        ]
        assert own is not None
        value, label = min(others)
        if value < own:
            place = printed.row_label(name), printed.CUT_TITLES[cut]
            rows.append((*place, label, value, own))
    return rows


def _not_smallest() -> Flaw:
    rows = rows_not_smallest()
    listed = "; ".join(
        f"{label} on {row}, {cut} ({value:.4f} against {own:.4f})"
        for row, cut, label, value, own in rows
    )
    return Flaw(
        "smallest",
        ("tiny", "objective"),
        "The paper says that its method finds the smallest value on all datasets, and sets it in "
        f"bold. In {len(rows)} of its {len(printed.rows_printed())} rows another of its own "
        f"numbers is smaller: {listed}.",
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
            "Theorem 1 allows a factor of 4 where 2 is enough: J_ISR − J_km = Σ (1 − σ)² and "
            "J_km = Σ (1 − σ)(1 + σ), and as 0 ≤ σ ≤ 1 every (1 − σ)² is at most ε (1 − σ)(1 + σ) "
            "with ε = max (1 − σ)/(1 + σ) ≤ 1. So J_ISR ≤ (1 + ε) J_km ≤ 2 J_km, without the "
            f"triangle inequality. The largest ratio measured is {ratio:.4f}.",
        ),
        Flaw(
            "lemma one",
            ("theorem1",),
            "Lemma 1 says that the singular values are smaller than 1; its proof shows that they "
            "are at most 1, and 1 is always among them here, as F and G both have √b in their "
            f"span. The largest one measured is {largest:.12g}.",
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
            "Corollary 1 takes its ε from Lemma 1, which has none; it is that of Theorem 1. It is "
            f"true, and seldom applies: of {pairs:,} ordered pairs of different partitions by "
            f"k-means and ISR, {met:,} meet its condition ({ours:,} with the factor 1 + ε), and "
            f"{broken:,} of these break its conclusion.",
        )
    ]


def says_nothing(record: Record) -> bool:
    """Return whether the limit of Theorem 2 is at least the trivial limit."""
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
            "ρ²(Δ) ≤ ‖Δ‖² = 2 Σ (1 − σ) ≤ 2c holds for every partition, so Theorem 2 says "
            f"something only where its right side is below 2c. In {empty} of {len(listed)} cells "
            f"it is not; the smallest is {least:.3g} times 2c.",
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
            "The “first-order” term is of second order: with FᵀG = U Σ Vᵀ, "
            "⟨Δ, ∇⟩ = −2 Σ λⱼ (1 − (U Σ Uᵀ)ⱼⱼ), whose terms have one sign, and "
            "‖Δ‖² = 2 Σ (1 − (U Σ Uᵀ)ⱼⱼ), so |⟨Δ, ∇⟩| ≤ λ_c ‖Δ‖². Of that it is "
            f"{min(shares):.2f} to {max(shares):.2f} at the closest partition of {len(listed)} "
            "cells. The term ⟨Δ, A Δ⟩ that the criterion leaves out is of the same order.",
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
            "That of two partitions with the same ‖Δ‖ the one with the smaller ⟨Δ, ∇⟩ has the "
            "smaller cut does not follow. Counted over all partitions into three clusters of "
            f"random graphs: of {pairs:,} pairs whose ‖Δ‖ differ by less than 1%, it fails in "
            f"{fails:,} ({fails / pairs:.0%}); among the nearest tenth of the partitions in "
            f"{near_fails:,} of {near:,} ({near_fails / max(near, 1):.0%}). Even where ‖Δ‖ and "
            f"⟨Δ, ∇⟩ are both smaller, the cut is larger in {both_fails:,} of {both:,} of these "
            f"({both_fails / max(both, 1):.0%}). With two clusters ⟨Δ, ∇⟩ = −λ₂ ‖Δ‖², and the "
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
    """Return for each table of cut values the printed values below their certified bound."""
    below = unreachable(records)
    flaws = []
    for table in VALUES:
        listed = "; ".join(
            f"{one.row}, {one.cut}, {one.column}: {one.paper:.{printed.DIGITS}f} against at least "
            f"{one.bound:.6f}"
            for one in below
            if one.table == table
        )
        if listed:
            text = f"No labels on our graph have these printed values, proven: {listed}."
            flaws.append(Flaw(f"below the bound in {table}", (table,), text))
    return flaws

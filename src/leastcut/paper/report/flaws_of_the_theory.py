"""What the paper proves or promises and what it is worth: short proofs, and counts from records."""

from __future__ import annotations

from leastcut.paper.report.flaws_of_the_paper import Flaw
from leastcut.paper.report.record_selection import select
from leastcut.paper.runs.experiments import IMPLICATION
from leastcut.paper.runs.records import Record


def theorem_records(records: list[Record], method: str) -> list[Record]:
    """Return the records of a theorem."""
    return [record for record in select(records, "theorems") if record["method"] == method]


def _first(records: list[Record]) -> list[Flaw]:
    found = theorem_records(records, "theorem 1")
    if not found:
        return []
    largest = max(float(record["sigma"]) for record in found)
    ratio = max(float(record["value"]) for record in found)
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
    found = theorem_records(records, "corollary 1")
    pairs, met, ours, broken = (
        sum(int(record[name]) for record in found)
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
    """Return whether the limit of Theorem 2 is no lower than what holds for every partition."""
    return float(record["limit"]) >= float(record["trivial"])


def _second(records: list[Record]) -> list[Flaw]:
    found = theorem_records(records, "theorem 2")
    empty = sum(says_nothing(record) for record in found)
    if not empty:
        return []
    least = min(float(record["limit"]) / max(float(record["trivial"]), 1.0) for record in found)
    return [
        Flaw(
            "theorem two",
            ("theorem2",),
            "ρ²(Δ) ≤ ‖Δ‖² = 2 Σ (1 − σ) ≤ 2c holds for every partition, so Theorem 2 says "
            f"something only where its right side is below 2c. In {empty} of {len(found)} cells it "
            f"is not; the smallest is {least:.3g} times 2c.",
        )
    ]


def _gradient(records: list[Record]) -> list[Flaw]:
    found = theorem_records(records, "gradient")
    if not found:
        return []
    shares = [float(record["share"]) for record in found]
    return [
        Flaw(
            "second order",
            ("gradient", "sensitivity"),
            "The “first-order” term is of second order: with FᵀG = U Σ Vᵀ, "
            "⟨Δ, ∇⟩ = −2 Σ λⱼ (1 − (U Σ Uᵀ)ⱼⱼ), whose terms have one sign, and "
            "‖Δ‖² = 2 Σ (1 − (U Σ Uᵀ)ⱼⱼ), so |⟨Δ, ∇⟩| ≤ λ_c ‖Δ‖². Of that it is "
            f"{min(shares):.2f} to {max(shares):.2f} at the closest partition of {len(found)} "
            "cells. The term ⟨Δ, A Δ⟩ that the criterion leaves out is of the same order.",
        )
    ]


def _implication(records: list[Record]) -> list[Flaw]:
    found = select(records, IMPLICATION)
    names = ("pairs", "fails", "near_pairs", "near_fails", "both_pairs", "both_fails")
    pairs, fails, near, near_fails, both, both_fails = (
        sum(int(record[name]) for record in found) for name in names
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
    """Return what can be said of the theory, as far as the records go."""
    return [
        flaw
        for find in (_first, _corollary, _second, _gradient, _implication)
        for flaw in find(records)
    ]

"""Three sentences for who reads no more: what was reproduced, what was not, what is new."""

from __future__ import annotations

from statistics import median

from leastcut.paper.data import printed
from leastcut.paper.report.certified import certificates, is_proven
from leastcut.paper.report.flaws_of_the_paper import rows_printed
from leastcut.paper.report.reasons import (
    ALL_BETTER,
    ALL_WORSE,
    ALONE,
    AMONG,
    BY_CHANCE,
    CROSSED,
    NO_PARTITION,
    UNREACHABLE,
    Reason,
)
from leastcut.paper.report.record_selection import numbers, select
from leastcut.paper.report.tallies import Tally
from leastcut.paper.runs.methods import DIRECT, METHODS, OPTIMUM, PARTITION, RELAXED
from leastcut.paper.runs.records import Record

UNEXPLAINED = (
    UNREACHABLE,
    CROSSED,
    NO_PARTITION,
    ALONE,
    BY_CHANCE,
    AMONG,
    ALL_BETTER,
    ALL_WORSE,
)
"""Reasons that do not lead to a run or partition of ours with the printed numbers."""


def summary(records: list[Record], tallies: list[Tally], reasons: list[Reason]) -> list[str]:
    """Return the sentences, as far as there are records for them."""
    found = (_reproduced(tallies), _not_reproduced(tallies, reasons), _added(records))
    return [sentence for sentence in found if sentence]


def _reproduced(tallies: list[Tally]) -> str:
    of = sum(tally.of for tally in tallies)
    if not of:
        return ""
    same, near = sum(tally.same for tally in tallies), sum(tally.near for tally in tallies)
    optima = ", ".join(
        f"{tally.same} of {tally.of} {kind} optima"
        for kind, column in (("enumerated", OPTIMUM), ("relaxed", RELAXED))
        for tally in tallies
        if tally.column == column.label
    )
    told = f", among them {optima}" if optima else ""
    return (
        f"Of the {of} numbers in the paper's tables of cut values, accuracy and NMI, ours are the "
        f"same to the digits printed in {same}{told}, and within 2% in {near} more."
    )


def _not_reproduced(tallies: list[Tally], reasons: list[Reason]) -> str:
    if not any(tally.of for tally in tallies):
        return ""
    listed = sum(len(reason.places) for reason in reasons)
    if not listed:
        return "None differs by more than 2%."
    left = [place for one in reasons if one.text.startswith(UNEXPLAINED) for place in one.places]
    others = sum(place.column == DIRECT.label for place in left)
    told = f", {others} of them of DNC, for which the paper ran another program" if others else ""
    better = sum(tally.better for tally in tallies)
    return (
        f"The other {listed} differ by more, ours being better in {better}: "
        f"{listed - len(left)} of the printed numbers come up in runs of ours with other seeds, "
        "starts or signs of the eigenvectors, or with another partition of the same value, and "
        f"{len(left)} in none, or by chance{told}."
    )


def _added(records: list[Record]) -> str:
    below = []
    found = {table: select(records, table, PARTITION) for table in ("tiny", "objective")}
    for table, name, cut in rows_printed():
        ours = numbers(found[table], name, cut, "value")
        values = [
            value
            for column in METHODS
            if (value := printed.value(table, name, cut, column.printed)) is not None
        ]
        if ours:
            below.append(1.0 - median(ours) / min(values))
    if not below:
        return ""
    # less than a printed digit is no difference
    smaller = [share for share in below if share > 0.001]
    by = f", by {median(smaller):.0%} in the median" if smaller else ""
    proofs = certificates(records)
    proven = sum(is_proven(record) for record in proofs)
    told = (
        f"; {proven} of its {len(proofs)} cuts are proven to be the smallest there are"
        if proofs
        else ""
    )
    return (
        "leastcut adds a search for the cut itself, which is below the smallest printed value in "
        f"{len(smaller)} of {len(below)} cells{by}{told}."
    )

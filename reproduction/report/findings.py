"""Checks of our numbers and claims of the paper, with the number of cells in which each holds."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from reproduction.data import printed
from reproduction.report.certified import (
    certificates,
    is_proven,
    is_tiny,
    unreachable,
    values_printed,
)
from reproduction.report.flaws import rows_not_smallest, says_nothing
from reproduction.report.selection import datasets_of, numbers, select, theorem_records
from reproduction.report.table import AGREEMENT, Place, places
from reproduction.report.tables import TABLES
from reproduction.runs.methods import (
    FIRST_ORDER,
    IMPROVED,
    KMEANS,
    METHODS,
    OPTIMUM,
    PARTITION,
    RELAXED,
)
from reproduction.runs.records import Record

COMPARED = (KMEANS.label, IMPROVED.label, FIRST_ORDER.label)
"""Methods whose values must be within 2% of the printed ones where k-means is stable."""

SAME = 1e-9
"""Relative rounding error of a cut value."""

SHORTENED = 1e-5
"""The same for a value recorded with few digits."""

ITERATIONS = 10
"""Number of iterations within which the paper's method converges, according to the paper."""


@dataclass(frozen=True)
class Check:
    """A statement, the number of cells in which it holds, and the number of all cells."""

    text: str
    met: int
    of: int

    @property
    def holds(self) -> bool:
        """Whether the statement holds in all cells."""
        return self.met == self.of


def checks(records: list[Record]) -> list[Check]:
    """Return the checks of our numbers that have records."""
    large = list(places(TABLES["objective"](records)))
    small = list(places(TABLES["tiny"](records)))
    relaxed = [e.agrees for _, _, head, e in large if head == RELAXED.label and e.paper is not None]
    optima = [e.agrees for _, _, head, e in small if head == OPTIMUM.label and e.paper is not None]
    # equal digits suffice, as 2% of a small number may be less than its last digit
    stable = stable_datasets(records)
    near = [
        entry.agrees or abs(entry.difference) <= AGREEMENT
        for _, row, head, entry in large
        if row in stable and head in COMPARED and entry.difference is not None
    ]
    listed = [
        counted("OPT_r equals the printed value", relaxed),
        counted("The enumerated optimum equals the printed value", optima),
        counted(
            f"{', '.join(COMPARED[:-1])} and {COMPARED[-1]} are within 2% of the printed value "
            "where all seeds of k-means agree within 2%",
            near,
        ),
        counted("partition has the smallest median of its row", _smallest(large, every=False)),
        counted(
            "The worst seed of partition is at most the best seed of every other method",
            _smallest(large, every=True),
        ),
        counted("Every seed of partition reaches the enumerated optimum", _at_optimum(small)),
        *_proven(records),
    ]
    return [check for check in listed if check.of]


def counted(text: str, outcomes: list[bool]) -> Check:
    """Return the check that counts some outcomes."""
    return Check(text, sum(outcomes), len(outcomes))


def stable_datasets(records: list[Record]) -> list[str]:
    """Return the rows of the datasets on which all seeds of k-means agree within 2%."""
    kmeans = select(records, "objective", KMEANS)
    return [
        printed.row_label(name)
        for name in datasets_of(kmeans)
        if all(
            max(values) <= (1.0 + AGREEMENT) * min(values)
            for cut in printed.CUT_TITLES
            if (values := numbers(kmeans, name, cut, "value"))
        )
    ]


def _smallest(listed: list[Place], *, every: bool) -> list[bool]:
    """Return for every row whether the median or the worst seed of partition is the smallest."""
    outcomes = []
    for cut, row, head, entry in listed:
        # the other methods of the row, without the relaxed optimum, which is a bound
        others = [
            other
            for title, label, name, other in listed
            if (title, label) == (cut, row) and name not in (PARTITION.label, RELAXED.label)
        ]
        if head != PARTITION.label or not others:
            continue
        if every:
            ours, goal = max(entry.ours), min(min(other.ours) for other in others)
        else:
            ours, goal = median(entry.ours), min(median(other.ours) for other in others)
        outcomes.append(ours <= goal * (1.0 + SAME))
    return outcomes


def _at_optimum(listed: list[Place]) -> list[bool]:
    """Return for every row with a known optimum whether every seed of partition reaches it."""
    optimum = {(cut, row): e.value for cut, row, head, e in listed if head == OPTIMUM.label}
    return [
        max(entry.ours) <= (optimum[cut, row] or 0.0) * (1.0 + SAME)
        for cut, row, head, entry in listed
        if head == PARTITION.label and (cut, row) in optimum
    ]


def _proven(records: list[Record]) -> list[Check]:
    """Return the checks by certificates: of our cuts, of all cuts, and of the printed ones."""
    proofs = certificates(records)
    optimal = {(record["dataset"], record["cut"]): is_proven(record) for record in proofs}
    if proofs:
        # a cut without a certificate is not proven optimal
        for experiment in ("tiny", "objective"):
            for record in select(records, experiment, PARTITION):
                optimal.setdefault((record["dataset"], record["cut"]), False)
    small = {(r["dataset"], r["cut"]) for r in records if is_tiny(r)}
    lowest = _lowest(records)
    above = [
        lowest.get((proof["dataset"], proof["cut"]), 1e308) >= proof["bound"] for proof in proofs
    ]
    n_printed = sum(len(values_printed(proof)) for proof in proofs)
    return [
        counted(
            "The certificate proves our cut optimal (tiny datasets)",
            [is_optimal for place, is_optimal in optimal.items() if place in small],
        ),
        counted(
            "The certificate proves our cut optimal (all other datasets)",
            [is_optimal for place, is_optimal in optimal.items() if place not in small],
        ),
        counted("No recorded cut is below the certified bound", above),
        Check(
            "No printed cut value is below the certified bound",
            n_printed - len(unreachable(records)),
            n_printed,
        ),
    ]


def _lowest(records: list[Record]) -> dict[tuple[str, str], float]:
    """Return the smallest recorded cut of every dataset and cut, plus its rounding error."""
    lowest: dict[tuple[str, str], float] = {}
    for record in records:
        # the value is that of a cut if the record has the hash of a partition
        if "labels" in record:
            value = float(record["value"]) * (1.0 + SAME)
        elif "partitions" in record:
            value = min(record["values"]) * (1.0 + SHORTENED)
        else:
            continue
        place = record["dataset"], record["cut"]
        lowest[place] = min(value, lowest.get(place, value))
    return lowest


# -- the claims of the paper


def claims(records: list[Record]) -> list[Check]:
    """Return the claims of the paper that have records.

    Claims about printed numbers are included if there are numbers of ours to compare with.
    """
    ours = _smallest_in_ours(records)
    n_rows = len(printed.rows_printed())
    listed = [
        Check(
            "Claim: the paper's method has the smallest value of the row (printed values)",
            n_rows - len(rows_not_smallest()) if ours else 0,
            n_rows if ours else 0,
        ),
        counted(
            "Claim: the paper's method has the smallest value of the row (our medians)",
            ours,
        ),
        counted(
            f"Claim: the paper's method converges within {ITERATIONS} iterations",
            [iterations_needed(r) <= ITERATIONS for r in select(records, "convergence")],
        ),
        *_theory(records),
    ]
    return [claim for claim in listed if claim.of]


def _smallest_in_ours(records: list[Record]) -> list[bool]:
    """Return for every row whether first order has the smallest value of the paper's methods."""
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


def iterations_needed(record: Record) -> int:
    """Return the number of iterations after which the loss of a run stops decreasing."""
    history = record["history"]
    slack = 1e-9 * max(abs(history[-1]), 1e-300)
    return 1 + next(i for i, loss in enumerate(history) if loss <= history[-1] + slack)


def _theory(records: list[Record]) -> list[Check]:
    first, second = (theorem_records(records, f"theorem {number}") for number in (1, 2))
    pairs = theorem_records(records, "corollary 1")
    gradients = theorem_records(records, "gradient")
    low, high = 1.0 - SAME, 1.0 + SAME  # rounding errors
    return [
        counted(
            "Theorem 1 holds, also with the factor 1 + ε ≤ 2",
            [low <= r["value"] <= high * min(r["limit"], r["our_limit"], 2.0) for r in first],
        ),
        counted(
            "Corollary 1 holds for all pairs that meet its condition",
            [r["broken"] == 0 for r in pairs],
        ),
        counted(
            "Theorem 2 holds for the best known partition",
            [r["rho2_best"] <= r["limit"] * high for r in second],
        ),
        counted(
            "Theorem 2 is stronger than the trivial bound 2c",
            [not says_nothing(r) for r in second],
        ),
        counted(
            "The gradient term is at most λ_c ‖Δ‖²",
            [max(r["share"], r["share_best"]) <= high for r in gradients],
        ),
    ]

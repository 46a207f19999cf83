"""The words at the head and the foot of a page: summary, counts, settings, versions."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import median

from reproduction.data import printed
from reproduction.report.certified import certificates, is_proven
from reproduction.report.evidence import MEASURES
from reproduction.report.formats import number_text
from reproduction.report.reasons import (
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
from reproduction.report.selection import numbers, select
from reproduction.report.table import places
from reproduction.report.tables import TABLES
from reproduction.runs.methods import (
    CERTIFIED,
    DIRECT,
    ETA_GRID,
    METHODS,
    N_INIT,
    OPTIMUM,
    PARTITION,
    RELAXED,
    ROTATION,
    UNIT_ROWS,
    Column,
)
from reproduction.runs.protocol import N_NEIGHBORS, OFFSET
from reproduction.runs.records import Record

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
"""Reasons without a run or partition on record that has the printed numbers."""


@dataclass(frozen=True)
class Tally:
    """The number of printed values in a column of a table, by their comparison with ours.

    ``same`` are equal to the printed digits, ``near`` within 2%; the others of ours are ``better``
    or ``worse`` than printed.
    """

    table: str
    column: str
    same: int
    near: int
    better: int
    worse: int

    @property
    def of(self) -> int:
        """Number of all values."""
        return self.same + self.near + self.better + self.worse


def tallies(records: list[Record]) -> list[Tally]:
    """Return a tally for every printed column that has records."""
    listed = []
    for name, measure in MEASURES.items():
        counts: dict[str, Counter[str]] = {}
        for _, _, head, entry in places(TABLES[name](records)):
            verdict = entry.verdict(larger_is_better=measure != "value")
            if verdict:
                counts.setdefault(head, Counter())[verdict] += 1
        for head, count in counts.items():
            sizes = (count[verdict] for verdict in ("same", "near", "better", "worse"))
            listed.append(Tally(name, head, *sizes))
    return listed


def summary(records: list[Record], tallies: list[Tally], reasons: list[Reason]) -> list[str]:
    """Return sentences on what was reproduced, what was not, and what is new."""
    sentences = (_reproduced(tallies), _not_reproduced(tallies, reasons), _added(records))
    return [sentence for sentence in sentences if sentence]


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
    among = f", among them {optima}" if optima else ""
    return (
        f"Of the {of} numbers in the paper's tables of cut values, accuracy and NMI, ours are the "
        f"same to the digits printed in {same}{among}, and within 2% in {near} more."
    )


def _not_reproduced(tallies: list[Tally], reasons: list[Reason]) -> str:
    if not any(tally.of for tally in tallies):
        return ""
    listed = sum(len(reason.places) for reason in reasons)
    if not listed:
        return "None differs by more than 2%."
    left = [place for one in reasons if one.text.startswith(UNEXPLAINED) for place in one.places]
    others = sum(place.column == DIRECT.label for place in left)
    of_dnc = f", {others} of them of DNC, for which the paper ran another program" if others else ""
    better = sum(tally.better for tally in tallies)
    return (
        f"The other {listed} differ by more, ours being better in {better}: "
        f"{listed - len(left)} of the printed numbers come up in runs of ours with other seeds, "
        "starts or signs of the eigenvectors, or with another partition of the same value, and "
        f"{len(left)} in none, or by chance{of_dnc}."
    )


def _added(records: list[Record]) -> str:
    below = []
    partition = {table: select(records, table, PARTITION) for table in ("tiny", "objective")}
    for table, name, cut in printed.rows_printed():
        ours = numbers(partition[table], name, cut, "value")
        values = [
            value
            for column in METHODS
            if (value := printed.value(table, name, cut, column.printed)) is not None
        ]
        if ours:
            below.append(1.0 - median(ours) / min(values))
    if not below:
        return ""
    # differences below a printed digit do not count
    smaller = [fraction for fraction in below if fraction > 0.001]
    by = f", by {median(smaller):.0%} in the median" if smaller else ""
    proofs = certificates(records)
    proven = sum(is_proven(record) for record in proofs)
    optimal = (
        f"; {proven} of its {len(proofs)} cuts are proven to be the smallest there are"
        if proofs
        else ""
    )
    return (
        "leastcut adds a search for the cut itself, which is below the smallest printed value in "
        f"{len(smaller)} of {len(below)} cells{by}{optimal}."
    )


# -- settings

REFERENCE = (
    "H. Zhang and X. Li, “Discretize Relaxed Solution of Spectral Clustering via A Non-Heuristic "
    "Algorithm”, IEEE Transactions on Neural Networks and Learning Systems: every table and "
    "figure, run again with leastcut, beside the numbers printed."
)
"""The subject of the pages."""

ABBREVIATIONS = (
    "KM: k-means on the eigenvectors. KM-norm: the same on rows of length 1. SR: spectral "
    "rotation. ISR: improved spectral rotation. DNC: direct normalized cut. First order: the "
    "paper’s method. OPT: the optimum, of all partitions. OPT_r: the optimum of the relaxed "
    "problem, the sum of the c smallest eigenvalues. NMI: normalized mutual information. "
    "partition: leastcut’s search."
)
"""The full names of the columns."""


def settings(records: list[Record]) -> list[tuple[str, str]]:
    """Return the settings by name, as the records have them."""
    seeds = {record["seed"] for record in records if record["experiment"] == "objective"}
    grid = ", ".join(f"{eta:g}" for eta in ETA_GRID)
    return [
        (
            "Graph",
            f"Adaptive neighbours with k = {N_NEIGHBORS}, the sample itself among them, "
            f"{number_text(OFFSET)} added to the (k+1)-th squared distance; X divided by its "
            "largest entry (SEGMENT is z-scored in its file). Not all of this is in the paper’s "
            "text; the rest was inferred from its tables.",
        ),
        ("Relaxed solution", "One per dataset and cut, shared by all methods."),
        (
            "Starts",
            f"{N_INIT} for every method that starts at random, from labels drawn uniformly where "
            "it starts from labels. KM, KM-norm and ISR keep the best by their own loss, as they "
            "do not know the cut; DNC and first order by the cut value. first order runs its "
            "starts for every η. partition has no starts to set; its effort is "
            f"“{PARTITION.parameters['effort']}”.",
        ),
        (
            "SR",
            "The column SR rotates the eigenvectors as they are, from the identity, and has no "
            f"starts: it has {_n_met(records, ROTATION)} of the printed cut values of SR. Yu and "
            "Shi’s rotation of the unit rows, the column “SR, unit rows”, has "
            f"{_n_met(records, UNIT_ROWS)}.",
        ),
        (
            "DNC",
            "The paper ran the program of its authors, ours is written from its idea; under the "
            "ratio cut the paper has no DNC.",
        ),
        (
            "η",
            f"Searched over {grid} and chosen by the cut value, as the paper says; “η auto” adds "
            "0.1, 0.3, 0.5, 0.7 and 0.9 times 1/λ_c, and “η adaptive” chooses anew at every sweep.",
        ),
        (
            "Seeds",
            f"{len(seeds)} in the tables, of which a cell shows the median; how often other seeds, "
            "single starts and signs give a printed number is counted over more runs. The paper "
            "shows one number and no spread.",
        ),
        (
            "Measures",
            "Accuracy by the best one-to-one matching; NMI = MI / max(H(true), H(found)).",
        ),
        *_certificates(records),
    ]


def _n_met(records: list[Record], column: Column) -> int:
    """Return the number of printed cut values of SR that a column reproduces."""
    met = 0
    for table in ("tiny", "objective"):
        found = select(records, table, column)
        for name, cut in {(record["dataset"], record["cut"]) for record in found}:
            paper = printed.value(table, name, cut, ROTATION.printed)
            ours = numbers(found, name, cut, "value")
            met += paper is not None and printed.is_printed(median(ours), paper)
    return met


def _certificates(records: list[Record]) -> list[tuple[str, str]]:
    """Return the settings of the certificates, if there are any."""
    limits = sorted(
        {r["parameters"]["time_limit"] for r in records if r["experiment"] == "certificates"}
    )
    if not limits:
        return []
    text = (
        f"Of partition’s labels with the effort “{CERTIFIED.parameters['effort']}”, or better ones "
        f"if the proof meets some; at most {' or '.join(f'{limit:g}' for limit in limits)} seconds "
        "each. A bound with a gap that is left is what could be proven in that time, and no more "
        "is known of the optimum."
    )
    return [("Certificates", text)]


def environments(records: list[Record]) -> list[str]:
    """Return versions and machines, with most records first."""
    counts: dict[str, int] = {}
    for record in records:
        if "versions" in record:
            versions = ", ".join(f"{name} {text}" for name, text in record["versions"].items())
            machine = record["machine"]
            text = (
                f"{versions}; {machine['processor']}, {machine['cores']} cores, "
                f"{machine['system']} {machine['architecture']}"
            )
            counts[text] = counts.get(text, 0) + 1
    ordered = sorted(counts, key=lambda text: -counts[text])
    return [f"{text} ({counts[text]:,} records)" for text in ordered]

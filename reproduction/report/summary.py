"""The text at the head and the foot of a page: summary, counts, settings, versions."""

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
"""Reasons without a recorded run or partition that has the printed numbers."""


@dataclass(frozen=True)
class Tally:
    """The numbers of printed values in a column of a table, by their comparison with ours.

    ``same`` values agree in the printed digits and ``near`` ones within 2%; for the others our
    value is ``better`` or ``worse`` than the printed one.
    """

    table: str
    column: str
    same: int
    near: int
    better: int
    worse: int

    @property
    def of(self) -> int:
        """Number of printed values."""
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


def agreement(table: str, tallies: list[Tally], reasons: list[Reason]) -> str:
    """Return a sentence on the agreement of a table of values with the paper, or ""."""
    columns = [tally for tally in tallies if tally.table == table]
    of = sum(tally.of for tally in columns)
    if not of:
        return ""
    same, near = (sum(getattr(tally, name) for tally in columns) for name in ("same", "near"))
    cells = [(reason, place) for reason in reasons for place in reason.places]
    here = [(reason, place.column) for reason, place in cells if place.table == table]
    text = f"Of {of} printed values, {same} agree in all digits and {near} within 2%"
    if not here:
        return f"{text}."
    open_columns = [column for reason, column in here if reason.text.startswith(UNEXPLAINED)]
    of_dnc = open_columns.count(DIRECT.label)
    return (
        f"{text}; {len(here)} differ by more, of which {len(here) - len(open_columns)} occur in "
        f"other runs of ours and {len(open_columns)} are unexplained"
        f"{f' (DNC: {of_dnc})' if of_dnc else ''}."
    )


def _reproduced(tallies: list[Tally]) -> str:
    of = sum(tally.of for tally in tallies)
    if not of:
        return ""
    same, near = sum(tally.same for tally in tallies), sum(tally.near for tally in tallies)
    optima = " and ".join(
        f"{tally.same} of {tally.of} {kind} optima"
        for kind, column in (("enumerated", OPTIMUM), ("relaxed", RELAXED))
        for tally in tallies
        if tally.column == column.label
    )
    including = f" (including {optima})" if optima else ""
    return (
        f"Of the {of} values in the paper's tables of cut values, accuracy and NMI, {same} agree "
        f"with ours in all printed digits{including} and {near} more within 2%."
    )


def _not_reproduced(tallies: list[Tally], reasons: list[Reason]) -> str:
    if not any(tally.of for tally in tallies):
        return ""
    listed = sum(len(reason.places) for reason in reasons)
    if not listed:
        return "None differs by more than 2%."
    left = [place for one in reasons if one.text.startswith(UNEXPLAINED) for place in one.places]
    others = sum(place.column == DIRECT.label for place in left)
    of_dnc = (
        f", {others} of them for DNC, for which the paper used another program" if others else ""
    )
    better = sum(tally.better for tally in tallies)
    return (
        f"The other {listed} differ by more than 2%, ours being better in {better}. Of these "
        f"printed values, {listed - len(left)} occur in our runs with other seeds, starts or signs "
        "of the eigenvectors, or for another partition with the same cut value; "
        f"{len(left)} do not, or possibly by chance{of_dnc}."
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
    by = f", by a median of {median(smaller):.0%}" if smaller else ""
    proofs = certificates(records)
    proven = sum(is_proven(record) for record in proofs)
    optimal = f"; {proven} of {len(proofs)} cuts are certified optimal" if proofs else ""
    return (
        "leastcut's search, partition, finds a cut below the smallest printed value in "
        f"{len(smaller)} of {len(below)} cells{by}{optimal}."
    )


# -- settings

REFERENCE = (
    "Every table and figure of H. Zhang and X. Li, “Discretize Relaxed Solution of Spectral "
    "Clustering via A Non-Heuristic Algorithm”, IEEE Transactions on Neural Networks and Learning "
    "Systems, recomputed with leastcut and compared with the printed values."
)
"""The subject of the pages."""

ABBREVIATIONS = (
    "KM: k-means on the eigenvectors. KM-norm: k-means on rows scaled to length 1. SR: spectral "
    "rotation. ISR: improved spectral rotation. DNC: direct normalized cut. First order: the "
    "paper’s method. Partition: leastcut’s search. OPT: the optimum over all partitions. OPT_r: "
    "the relaxed optimum, the sum of the c smallest eigenvalues. NMI: normalized mutual "
    "information."
)
"""The names of the columns in full."""


def settings(records: list[Record]) -> list[tuple[str, str]]:
    """Return the settings of the records by name."""
    seeds = {record["seed"] for record in records if record["experiment"] == "objective"}
    grid = ", ".join(f"{eta:g}" for eta in ETA_GRID)
    return [
        (
            "Graph",
            f"Adaptive neighbors with k = {N_NEIGHBORS} including the sample itself, and "
            f"{number_text(OFFSET)} added to the (k+1)-th squared distance; X is divided by its "
            "largest entry (SEGMENT is z-scored in its file). What the paper’s text omits was "
            "inferred from its tables.",
        ),
        (
            "Starts",
            f"{N_INIT} for every randomly started method. KM, KM-norm and ISR keep the best start "
            "by their own loss, DNC and first order by the cut value; first order runs all starts "
            f"for every η. Partition runs with effort “{PARTITION.parameters['effort']}”.",
        ),
        (
            "SR",
            "Rotation of the unscaled eigenvectors from the identity, which is deterministic; it "
            f"reproduces {_n_met(records, ROTATION)} printed cut values of SR. Yu and Shi’s "
            f"rotation of unit rows reproduces {_n_met(records, UNIT_ROWS)}.",
        ),
        (
            "DNC",
            "The paper used the program of DNC’s authors; ours is a separate implementation. The "
            "paper has no DNC for the ratio cut.",
        ),
        (
            "η",
            f"Chosen from {grid} by the cut value, as in the paper; “η auto” adds 0.1, 0.3, 0.5, "
            "0.7 and 0.9 times 1/λ_c, and “η adaptive” chooses η again at every sweep.",
        ),
        (
            "Seeds",
            f"{len(seeds)} per cell of Tables I, II, IV and V. The paper prints one number without "
            "a spread.",
        ),
        (
            "Measures",
            "Accuracy is that of the best one-to-one matching; NMI = MI / max(H(classes), "
            "H(clusters)).",
        ),
        *_certificates(records),
    ]


def _n_met(records: list[Record], column: Column) -> int:
    """Return the number of printed cut values of SR that a column reproduces."""
    met = 0
    for table in ("tiny", "objective"):
        selected = select(records, table, column)
        for name, cut in {(record["dataset"], record["cut"]) for record in selected}:
            paper = printed.value(table, name, cut, ROTATION.printed)
            ours = numbers(selected, name, cut, "value")
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
        f"Computed for the labels of partition with effort “{CERTIFIED.parameters['effort']}”, or "
        "for better ones met during the proof, in at most "
        f"{' or '.join(f'{limit:g}' for limit in limits)} seconds. A remaining gap is what could "
        "not be closed in that time."
    )
    return [("Certificates", text)]


def environments(records: list[Record]) -> list[str]:
    """Return versions and machines, those with the most records first."""
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

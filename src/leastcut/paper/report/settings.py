"""How the numbers were made, in words: for the foot of every page."""

from __future__ import annotations

from statistics import median

from leastcut.page_design.numbers import number_text
from leastcut.paper.data import printed
from leastcut.paper.report.record_selection import numbers, select
from leastcut.paper.runs.methods import (
    CERTIFIED,
    ETA_GRID,
    N_INIT,
    PARTITION,
    ROTATION,
    UNIT_ROWS,
    Column,
)
from leastcut.paper.runs.protocol import N_NEIGHBORS, OFFSET
from leastcut.paper.runs.records import Record

REFERENCE = (
    "H. Zhang and X. Li, “Discretize Relaxed Solution of Spectral Clustering via A Non-Heuristic "
    "Algorithm”, IEEE Transactions on Neural Networks and Learning Systems: every table and "
    "figure, run again with leastcut, beside the numbers printed."
)
"""What the pages are about."""

ABBREVIATIONS = (
    "KM: k-means on the eigenvectors. KM-norm: the same on rows of length 1. SR: spectral "
    "rotation. ISR: improved spectral rotation. DNC: direct normalized cut. First order: the "
    "paper’s method. OPT: the optimum, of all partitions. OPT_r: the optimum of the relaxed "
    "problem, the sum of the c smallest eigenvalues. NMI: normalized mutual information. "
    "partition: leastcut’s search."
)
"""What the columns of the tables are called in full."""


def settings(records: list[Record]) -> list[tuple[str, str]]:
    """Return the settings by name, as far as the records know them."""
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
    """Return how many of the cut values that the paper prints for SR a column has."""
    met = 0
    for table in ("tiny", "objective"):
        found = select(records, table, column)
        for name, cut in {(record["dataset"], record["cut"]) for record in found}:
            paper = printed.value(table, name, cut, ROTATION.printed)
            ours = numbers(found, name, cut, "value")
            met += paper is not None and printed.is_printed(median(ours), paper)
    return met


def _certificates(records: list[Record]) -> list[tuple[str, str]]:
    """Return how the certificates were made, if there are any."""
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
    """Return versions and machines, the most used first."""
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

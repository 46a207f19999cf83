"""Two tables of ours: how large the paper's gradient term is, and how often its promise fails."""

from __future__ import annotations

from leastcut.page_design.numbers import number_text
from leastcut.paper.data import printed
from leastcut.paper.report.record_selection import in_order, select
from leastcut.paper.report.table import Entry, Row, Section, Table
from leastcut.paper.runs.experiments import IMPLICATION
from leastcut.paper.runs.records import Record

HEADS = {
    "lambda_c": "λc",
    "distance": "distance²",
    "inner": "gradient term",
    "share": "its share",
    "second": "second order",
    "distance_best": "distance², best",
    "inner_best": "gradient term, best",
    "share_best": "its share, best",
    "second_best": "second order, best",
}
"""The fields of a record that are shown, and how they are called."""


def gradient(records: list[Record]) -> Table:
    """Return the gradient term of the closest and of the best partition of every cell."""
    found = [r for r in select(records, "theorems") if r["method"] == "gradient"]
    sections = tuple(
        Section(
            title,
            tuple(HEADS.values()),
            tuple(_row(record) for record in in_order(r for r in found if r["cut"] == cut)),
        )
        for cut, title in printed.CUT_TITLES.items()
    )
    notes = (
        "The cut value is OPT_r + the gradient term ⟨Δ, ∇⟩ + the second order ⟨Δ, A Δ⟩, of which "
        "the paper's criterion keeps the former. Its share is |⟨Δ, ∇⟩| / (λc ‖Δ‖²), at most 1. For "
        "the closest partition (the best of 10 starts of ISR) and the best known (partition).",
    )
    title = "The gradient term, measured"
    return Table("gradient", title, sections, short="Gradient term", notes=notes)


def _row(record: Record) -> Row:
    return printed.row_label(record["dataset"]), tuple(
        Entry((float(record[name]),), text=number_text(float(record[name]))) for name in HEADS
    )


def implication(records: list[Record]) -> Table:
    """Return how often a smaller gradient term comes with a larger cut, on random graphs."""
    heads = (
        "graphs",
        "pairs",
        "fails",
        "pairs, nearest tenth",
        "fails, nearest tenth",
        "pairs, both smaller",
        "fails, both smaller",
    )
    rows = tuple(
        (f"{_n_nodes(record)} nodes", _counts(record))
        for record in sorted(select(records, IMPLICATION), key=_n_nodes)
    )
    notes = (
        "Every pair of partitions of a random graph (complete, weights uniform on [0, 1], Ratio "
        "Cut) whose distances ‖Δ‖ differ by less than 1%, and whose gradient terms differ; it "
        "fails where the smaller term has the larger cut. The same among the tenth of the "
        "partitions that is nearest to the relaxed optimum; and there, pairs in which distance "
        "and term are both smaller.",
    )
    return Table(
        "implication",
        "Does a smaller gradient term mean a smaller cut?",
        (Section("Three clusters", heads, rows),),
        short="The gradient's promise",
        notes=notes,
    )


def _n_nodes(record: Record) -> int:
    """Return the number of nodes of the random graphs of a record, "random:5"."""
    return printed.split_name(record["dataset"])[1] or 0


def _counts(record: Record) -> tuple[Entry, ...]:
    entries = [
        Entry((float(record["parameters"]["graphs"]),), text=str(record["parameters"]["graphs"]))
    ]
    for prefix in ("", "near_", "both_"):
        pairs, fails = int(record[f"{prefix}pairs"]), int(record[f"{prefix}fails"])
        share = fails / max(pairs, 1)
        entries += [
            Entry((float(pairs),), text=f"{pairs:,}"),
            Entry((share,), text=f"{share:.1%}"),
        ]
    return tuple(entries)

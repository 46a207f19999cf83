"""Update the tables of ``learned_graphs.md`` from ``benchmarks/results/learned_graphs.json``."""

from __future__ import annotations

from typing import Any

from docs.tables import Tables, markdown, record, write

COLUMNS = {
    "plain cut": "ratio cut",
    "learned, multilevel": "learned",
    "learned, spectral": "learned, eigenvectors",
    "CAN, as described": "CAN, as published",
    "nearest l2, multilevel": "nearest, ℓ2",
    "nearest l1, multilevel": "nearest, ℓ1",
}
"""The methods of the record that are shown, and the heads of their columns."""


def agreement() -> str:
    """Return the NMI of every method on every dataset as a table."""
    table = []
    for row in record("learned_graphs")["rows"]:
        methods = {name: row["methods"][name] for name in COLUMNS if name in row["methods"]}
        best = max(scores["nmi"] for scores in methods.values())
        cells = [_cell(methods[name], row, best) if name in methods else "–" for name in COLUMNS]
        star = "" if row["looked_at"] else " *"
        table.append([f"{row['data']}{star}", *cells])
    return markdown(["dataset", *COLUMNS.values()], table)


def _cell(scores: dict[str, Any], row: dict[str, Any], best: float) -> str:
    text = f"{100 * scores['nmi']:.1f}"
    text = f"**{text}**" if scores["nmi"] == best else text
    # The number of components, if it is not the number of clusters.
    count = scores.get("n_components", row["n_clusters"])
    return text if count == row["n_clusters"] else f"{text} ({count})"


def summary() -> str:
    """Return counts of components, wins and losses, and seconds, as a list."""
    result = record("learned_graphs")
    rows = result["rows"]
    runs = [
        scores
        for row in rows
        for name, scores in row["methods"].items()
        if "n_iter" in scores and name != "CAN, as described"
    ]
    exact = sum(scores["converged"] for scores in runs)
    many = result["many"]
    lines = [
        f"- Exactly c components in {exact} of {len(runs)} runs, after at most "
        f"{max(scores['n_iter'] for scores in runs)} iterations.",
        f"- NMI of the learned graph: {_compared(rows, 'learned, multilevel', 'plain cut')} the "
        f"ratio cut; {_compared(rows, 'learned, multilevel', 'CAN, as described')} CAN.",
        f"- {many['n']:,} samples of {many['n_features']} features take {many['seconds']:.0f} s "
        f"on 2 cores, of which {many['seconds_of_neighbors']:.0f} s for neighbors.",
    ]
    return "\n".join(lines) + "\n"


def _compared(rows: list[dict[str, Any]], name: str, other: str) -> str:
    """Return on how many sets a method has more NMI than another, and on how many less."""
    pairs = [
        (row["methods"][name]["nmi"], row["methods"][other]["nmi"])
        for row in rows
        if other in row["methods"]
    ]
    above = sum(left > right for left, right in pairs)
    below = sum(left < right for left, right in pairs)
    return f"higher on {above} and lower on {below} of {len(pairs)} sets than"


TABLES: Tables = {"learned_graphs.md": {"agreement": agreement, "summary": summary}}


if __name__ == "__main__":
    write(TABLES)

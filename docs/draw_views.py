"""Update the table of ``multiview.md`` from ``benchmarks/results/views.json``."""

from __future__ import annotations

from typing import Any

from docs.tables import Tables, markdown, record, write

WAYS = {
    "best view": "best view",
    "mean": "mean graph",
    "AMGL": "AMGL",
    "partition_views": "**`partition_views`**",
}
"""The methods that are compared, and their names on the page."""


def views() -> str:
    """Return objective and NMI of every method on every dataset, and the proven gap."""
    rows = []
    for name, row in record("views")["sets"].items():
        ways = {way: scores for way, scores in row["ways"].items() if way in WAYS}
        cells = [_scores(ways[way]) if way in ways else _best(row) for way in WAYS]
        objective = row["ways"]["partition_views"]["objective"]
        gap = f"{1 - row['lower_bound'] / objective:.0%}"
        size = f"{row['n']:,}, {row['n_clusters']}"
        rows.append([f"{name}: {', '.join(row['views'])}", size, *cells, gap])
    heads = ["dataset: views", "samples, clusters", *WAYS.values(), "proven gap"]
    return markdown(heads, rows, n_text=2)


def counts() -> str:
    """Return on how many datasets the NMI is higher than another method's, and lower."""
    sets, parts = record("views")["sets"].values(), []
    for way, name in (("best view", "the best view"), ("mean", "the mean graph"), ("AMGL", "AMGL")):
        higher = lower = 0
        for row in sets:
            ways = row["ways"]
            others = [way] if way in ways else row["views"]
            ours, other = ways["partition_views"]["nmi"], max(ways[one]["nmi"] for one in others)
            higher, lower = higher + (ours > other), lower + (ours < other)
        parts.append(f"{name} on {higher} ({lower})")
    return (
        f"Of {len(sets)} datasets, the NMI of `partition_views` is higher (lower) than that of "
        f"{', '.join(parts[:-1])} and {parts[-1]}.\n"
    )


def _scores(scores: dict[str, Any]) -> str:
    return f"{scores['objective']:.4f}, {scores['nmi']:.3f}"


def _best(row: dict[str, Any]) -> str:
    """Return the best of the single views in each number, possibly of different views."""
    views = [row["ways"][view] for view in row["views"]]
    best = {"objective": min(view["objective"] for view in views)}
    return _scores(best | {"nmi": max(view["nmi"] for view in views)})


TABLES: Tables = {"multiview.md": {"views": views, "counts": counts}}


if __name__ == "__main__":
    write(TABLES)

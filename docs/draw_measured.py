"""Update the tables of ``measured.md`` from records in ``benchmarks/results``."""

from __future__ import annotations

from statistics import median
from typing import Any

from docs.tables import Tables, markdown, record, write

FAMILIES = {
    "mesh": "meshes (6)",
    "circuit": "circuits (2)",
    "network": "networks (4)",
    "friends": "friends, synthetic (2)",
}
METHODS = {
    "fast": "**`fast`**",
    "auto": "**`auto`**, the estimator's default",
    "balanced": "**`balanced`**, the default of `partition`",
    "METIS": "METIS",
    "Graclus, local search": "Graclus, local search",
    "scikit-learn, kmeans": "scikit-learn, k-means",
    "scikit-learn, discretize": "scikit-learn, discretize",
    "k-means, refined": "k-means, refined",
}
"""The methods of the comparison, and their names on the page."""

ROUNDED = 5e-5
"""The cuts of some programs are known to four digits."""


def comparison() -> str:
    """Return the mean excess and CPU time of every method, by family of graphs."""
    curves = record("real_graphs")["summary"]["curves"]
    return markdown(
        ["", *FAMILIES.values()],
        (
            [title, *(_cell(curves[family].get(name)) for family in FAMILIES)]
            for name, title in METHODS.items()
        ),
    )


def _cell(scores: dict[str, Any] | None) -> str:
    if scores is None:
        return "–"
    seconds = "" if scores["seconds"] is None else f", {scores['seconds']:.2f} s"
    return f"{100 * (scores['over_best'] - 1):.1f}%{seconds}"


def cases() -> str:
    """Return in how many cases another method is below leastcut, by effort, as a list."""
    rows, lines = record("real_graphs")["rows"], []
    for effort in ("balanced", "auto", "fast"):
        ratios = []
        for row in rows:
            ours = median(row["ours"][effort]["values"])
            best = min(peer["value"] for peer in row["peers"].values() if peer["value"])
            if best + ROUNDED < ours:
                ratios.append(ours / best)
        most = f", by at most {100 * (max(ratios) - 1):.1f}%" if ratios else ""
        lines.append(
            f"- Another method is below `{effort}` in {len(ratios)} of {len(rows)} cases{most}.\n"
        )
    return "".join(lines)


TABLES: Tables = {"measured.md": {"comparison": comparison, "cases": cases}}


if __name__ == "__main__":
    write(TABLES)

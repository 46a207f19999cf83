"""Update the tables of ``measured.md`` from records in ``benchmarks/results``."""

from __future__ import annotations

from statistics import median
from typing import Any

from docs.tables import Tables, markdown, record, write

FAMILIES = {
    "mesh": "meshes (6)",
    "circuit": "circuits (2)",
    "network": "networks (4)",
    "friends": "social, synthetic (2)",
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


def steps() -> str:
    """Return the speed of single steps as a list."""
    scale = {(row["order"], row["n_nodes"]): row for row in record("partition_scale")["rows"]}
    by_order = [
        ", ".join(f"{scale[order, n]['fast']['seconds']:.2g} s" for n in (10**5, 10**6, 10**7))
        for order in ("random", "spatial")
    ]
    auto = max(row["auto"]["seconds"] / row["fast"]["seconds"] for row in scale.values())
    rows = record("relaxation")["rows"]
    ratios = [row["ratio_to_faster_peer"] for row in rows]
    at_equal = max(row["ratio_to_faster_peer_same_tol"] for row in rows)
    sizes = [row["n"] for row in rows]
    sweeps = [row for row in record("sweep") if row["c"] == 10]
    fastest = min(row["settled_sweep_ns_per_row"] for row in sweeps)
    slowest = max(row["first_sweep_ns_per_row"] for row in sweeps)
    return (
        '- `partition` with `effort="fast"` on graphs of ten neighbors of 100,000, 1 million and '
        f"10 million points in the plane takes {by_order[0]} in random order and {by_order[1]} in "
        f'spatial order. `"auto"` takes up to {auto:.1f} times as long '
        "(`partition_scale.json`).\n"
        f"- `relax` takes {min(ratios):.2f} to {max(ratios):.2f} times as long as the faster of "
        "SciPy's Lanczos method and scikit-learn's shift-invert with default tolerances, and at "
        f"most {at_equal:.2f} times as long at equal tolerance, on {len(rows)} neighbor graphs of "
        f"{min(sizes):,} to {max(sizes):,} nodes (`relaxation.json`).\n"
        f"- One sweep of a discretizer takes {fastest:.0f} to {slowest:.0f} ns per row with ten "
        "clusters (`sweep.json`).\n"
    )


TABLES: Tables = {"measured.md": {"comparison": comparison, "cases": cases, "steps": steps}}


if __name__ == "__main__":
    write(TABLES)

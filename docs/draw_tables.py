"""Update tables of the user guide from the records in ``benchmarks/results``."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import mean
from typing import Any

from docs.tables import Tables, markdown, record, write

RULES = {
    "leastcut": "leastcut",
    "eigengap": "eigengap",
    "relative eigengap": "relative",
    "growth": "growth",
    "NME": "NME",
    "silhouette": "silhouette",
    "Leiden": "Leiden",
    "HDBSCAN": "HDBSCAN",
    "ratio": "leastcut, ratio cut",
}
"""The column head of each rule in the results."""

NAMES = {
    "blobs of scikit-learn": "scikit-learn's blobs",
    "far apart": "well separated",
    "among noise": "with noise",
    "one cloud": "single cloud",
    "one shape": "single shape",
    "one network": "single network",
    "plain": "clear structure",
    "not plain": "unclear structure",
    "surely told": "choice not weak",
}
"""What the pages call a kind of sets in the results; other names are the same."""


def single_cells() -> str:
    """Return Leiden and leastcut at each resolution, and their means."""
    result = record("single_cells")
    rows = [
        [
            f"{row['resolution']:g}",
            str(row["n_clusters"]),
            f"{row['leiden_cut_value']:.3f}",
            f"{row['cut_value']:.3f}",
            f"{row['lower_bound']:.3f}",
            f"{row['leiden_agreement']:.3f}",
            f"{row['agreement']:.3f}",
            f"{row['leiden_seconds']:.3f}",
            f"{row['seconds']:.2f}",
        ]
        for row in result["rows"]
    ]
    leiden, ours = result["mean_leiden_agreement"], result["mean_agreement"]
    rows.append(["mean", "", "", "", "", f"{leiden:.3f}", f"{ours:.3f}", "", ""])
    heads = ["resolution", "clusters", "cut, Leiden", "cut, leastcut", "lower bound"]
    heads += ["ARI, Leiden", "ARI, leastcut", "seconds, Leiden", "seconds, leastcut"]
    return markdown(heads, rows)


def _estimator(line: str) -> str:
    """Return scikit-learn / leastcut on every dataset, for one way to construct the estimator."""
    rows: dict[str, dict[str, Any]] = {}
    for row in record("estimator")["rows"]:
        if row["line"] == line:
            rows.setdefault(row["dataset"], {})[row["import"]] = row
    table = []
    for name, pair in rows.items():
        theirs, ours = pair["scikit-learn"], pair["leastcut"]
        limit = record("estimator")["time_limit_s"]
        process = f"over {limit}" if theirs.get("timed_out") else f"{theirs['process_s']:.2f}"
        cells = [_both(theirs, ours, key, "{:.4f}") for key in ("cut_value",)]
        cells += [_both(theirs, ours, key, "{:.3f}") for key in ("accuracy", "nmi")]
        cells.append(f"{process} / {ours['process_s']:.2f}")
        cells += [_both(theirs, ours, "fit_s", "{:.2f}"), _both(theirs, ours, "peak_mib", "{:.0f}")]
        table.append([name, f"{ours['n']:,}", *cells])
    heads = ["dataset", "n", "cut value", "accuracy", "NMI", "process, s", "fit, s", "MiB"]
    return markdown(heads, table)


def _both(theirs: dict[str, Any], ours: dict[str, Any], key: str, form: str) -> str:
    return " / ".join(form.format(row[key]) if key in row else "–" for row in (theirs, ours))


def relaxation_gaps() -> str:
    """Return the range of the gap that the eigenvalues leave, as a sentence."""
    gaps = [row["gap_of_eigenvalues"] for row in record("certify")["rows"]]
    return (
        f"On the {len(gaps)} problems in [Certificates](certify.md) this gap is between "
        f"{min(gaps):.0%} and {max(gaps):.0%}, although nearly all of these cuts are optimal.\n"
    )


def rule_summary() -> str:
    """Return the percentages of every rule for the number of clusters, on the held-out half."""
    table = record("number_of_clusters")["tables"]["reported"]
    groups = {"all": "all", "points": "points", "plain": "clear", "not plain": "unclear"}
    heads = ["rule", *(f"{name} ({table[group]['sets']})" for group, name in groups.items())]
    rows = [
        [name, *(_right(table[group][rule]) for group in groups)] for rule, name in RULES.items()
    ]
    return markdown(heads, rows)


def rule_percentages(half: str) -> str:
    """Return the percentages of every rule on every kind of set of one half."""
    table = record("number_of_clusters")["tables"][half]
    rows = [
        [NAMES.get(name, name), str(row["sets"]), *(_right(row[rule]) for rule in RULES)]
        for name, row in table.items()
    ]
    return markdown(["sets", "", *RULES.values()], rows)


def _right(right_and_near: list[float] | None) -> str:
    return "–" if right_and_near is None else " / ".join(f"{value:.0f}" for value in right_and_near)


def rule_numbers() -> str:
    """Return the number that every rule chooses on sets with classes."""
    rules = [rule for rule in RULES if rule != "ratio"]
    rows = [
        [row["name"], str(row["number"]), *(_number(row, rule) for rule in rules)]
        for row in record("number_of_clusters")["real"]
    ]
    return markdown(["set", "classes", *(RULES[rule] for rule in rules)], rows)


def _number(row: dict[str, Any], rule: str) -> str:
    if row[rule] is None:
        return "–"
    weak = " (weak)" if rule == "leastcut" and row["is_weak"] else ""
    return f"{row[rule]}{weak}"


def cost_of_choosing() -> str:
    """Return the CPU seconds of a fit with and without choosing the number of clusters."""
    costs = record("number_of_clusters")["cost"]
    rows = []
    for name, cost in costs.items():
        size, effort = name.split(", ")
        if effort == "by default":
            n, n_features = map(int, size.split(" x "))
            seconds = [f"{cost['fit_s']:.3f}", f"{cost['choosing_fit_s']:.3f}"]
            ratios = [f"{row['ratio']:.1f}" for row in (cost, costs[f"{size}, balanced"])]
            rows.append([f"{n:,} × {n_features}", *seconds, *ratios])
    heads = ["points × features", "number given", '`"auto"`', "ratio", "ratio, `balanced`"]
    return markdown(heads, rows)


def speeds() -> str:
    """Return one measured comparison with each other tool."""
    return markdown(
        ["task (record)", "tool", "seconds", "result"],
        [
            *_neighbor_graph(),
            *_equal_blocks(),
            *_cells(),
            *_many_points("plane", "1,000,000 points in the plane, 10 clusters"),
            *_many_points("mixture", "mixture of 50 Gaussians, 1,000,000 points, 32 features"),
            *_first_fit(),
        ],
        n_text=2,
    )


def _rows(task: str, name: str, tools: Iterable[tuple[str, str, str]]) -> list[list[str]]:
    """Return the rows of a task, which is named in the first with its record."""
    head = f"{task} (`{name}.json`)"
    return [["" if i else head, *tool] for i, tool in enumerate(tools)]


def _neighbor_graph() -> list[list[str]]:
    names = {
        "METIS": "pymetis",
        "KaHIP (eco)": "kahip",
        "scikit-learn": "scikit-learn arpack kmeans",
        "leastcut, `fast`": "leastcut fast",
        "leastcut, `balanced`": "leastcut balanced",
    }
    rows = {
        row["method"]: row
        for row in record("partition")["rows"]
        if row["graph"] == "usps" and row["cut"] == "normalized"
    }
    tools = [
        (tool, f"{rows[name]['seconds']:.2f}", f"normalized cut {rows[name]['cut_value']:.4f}")
        for tool, name in names.items()
    ]
    return _rows("neighbor graph of 9,298 images, 10 clusters", "partition", tools)


def _equal_blocks() -> list[list[str]]:
    summary = record("balance")["summary"]["games"]["edge cut"]["reported"]
    seconds, over = summary["seconds"], summary["over"]
    kahip = [value for name, value in seconds.items() if name.startswith("KaHIP")]
    tools = [
        ("METIS", f"{seconds['METIS, k-way']:.2f}", ""),
        ("KaHIP", f"{min(kahip):.2f} to {max(kahip):.1f}", ""),
    ]
    for effort in ("fast", "balanced"):
        ratios = (f"{over[f'{effort} over {tool}']:.2f} × {tool}" for tool in ("METIS", "KaHIP"))
        tools.append(
            (
                f"leastcut, `{effort}`",
                f"{seconds[f'leastcut, {effort}']:.1f}",
                "edge cut " + ", ".join(ratios),
            )
        )
    return _rows("blocks of equal size, real graphs", "balance", tools)


def _cells() -> list[list[str]]:
    result = record("single_cells")
    rows = result["rows"]
    return _rows(
        "700 single cells, as many clusters as Leiden returns",
        "single_cells",
        [
            (
                "Leiden",
                f"{mean(row['leiden_seconds'] for row in rows):.3f}",
                f"ARI {result['mean_leiden_agreement']:.3f}",
            ),
            (
                "leastcut, `balanced`",
                f"{mean(row['seconds'] for row in rows):.2f}",
                f"ARI {result['mean_agreement']:.3f}",
            ),
        ],
    )


def _many_points(data: str, task: str) -> list[list[str]]:
    rows = [
        row
        for row in record("points_to_labels")["rows"]
        if row["data"] == data and row["n"] == 1_000_000 and "nmi" in row
    ]
    tools = []
    for row in rows:
        cut = row.get("cut_on_the_exact_graph", row.get("cut"))
        quality = f"normalized cut {cut:.1g}, NMI {row['nmi']:.2f}"
        tools.append((row["method"], f"{row['seconds']:.1f}", quality))
    return _rows(task, "points_to_labels", sorted(tools, reverse=True))


def _first_fit() -> list[list[str]]:
    rows = [row for row in record("startup")["rows"] if row["dataset"] == "digits"]
    tools = [(row["peer"], f"{row['total_s']:.2f}", "imports included") for row in rows]
    return _rows("first fit of a process, 1,797 digits", "startup", tools)


TABLES: Tables = {
    "coming_from/scanpy.md": {"single cells": single_cells},
    "estimator.md": {
        "gaps": relaxation_gaps,
        "defaults": lambda: _estimator("defaults"),
        "nearest neighbors": lambda: _estimator("nearest_neighbors"),
    },
    "number_of_clusters.md": {"summary": rule_summary, "cost": cost_of_choosing},
    "number_of_clusters_tables.md": {
        "held out": lambda: rule_percentages("reported"),
        "tuned on": lambda: rule_percentages("looked_at"),
        "real": rule_numbers,
    },
    "when_to_use.md": {"speeds": speeds},
}
"""The pages, and what makes each of their tables."""


if __name__ == "__main__":
    write(TABLES)

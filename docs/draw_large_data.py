"""Draw seconds of anchor graphs against points, and renew the tables of ``large_data.md``.

Reads the records ``anchors*.json`` of ``benchmarks/results``. The figure goes to
``docs/large_data.svg``, and every table behind its mark into ``large_data.md``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "large_data.md"


def result_of(name: str) -> dict[str, Any]:
    """Return what a benchmark found."""
    return dict(json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["result"])


def markdown(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table; all columns but the first are numbers."""
    heads = list(heads)
    lines = [f"| {' | '.join(heads)} |", "|---" + "|---:" * (len(heads) - 1) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"


def seconds(value: float | None) -> str:
    """Return seconds as people read them."""
    if value is None:
        return ""
    return f"{value:.1f} s" if value >= 10 else f"{value:.2f} s"


def plane(result: dict[str, Any]) -> str:
    """Points in the plane beside U-SPEC."""
    return markdown(
        ["points", "clusters", "seconds", "of that graph, cut", "memory", "NMI", "U-SPEC"],
        (
            [
                f"{row['data']}, {row['n']:,}",
                str(row["n_clusters"]),
                seconds(row["seconds"]),
                f"{seconds(row['of_which_graph_seconds'])}, {seconds(row['of_which_cut_seconds'])}",
                f"{row['peak_gib']:.2f} GiB",
                f"{row['nmi']:.3f}",
                seconds(row["published_seconds_of_u_spec"]),
            ]
            for row in result["rows"]
        ),
    )


def fashion(result: dict[str, Any]) -> str:
    """Fashion-MNIST by several methods."""
    return markdown(
        ["", "seconds", "CPU", "memory", "NMI", "cut, 10-NN graph", "cut, adaptive weights"],
        (
            [
                name,
                seconds(row["seconds"]),
                seconds(row["cpu_seconds"]),
                f"{row['peak_gib']:.2f} GiB",
                f"{row['nmi']:.3f}",
                f"{row['cut_on_the_10_nn_graph']:.3f}",
                f"{row['cut_on_the_adaptive_graph']:.3f}",
            ]
            for name, row in result["rows"].items()
        ),
    )


def out_of_core(result: dict[str, Any]) -> str:
    """Points in files."""
    return markdown(
        ["file", "size", "`max_memory`", "memory held", "ties on disk", "seconds", "NMI"],
        (
            [
                f"{row['data']}, {row['n']:,} x {row['n_features']}",
                f"{row['gib_of_the_file']:.1f} GiB",
                row["max_memory"],
                f"{row['peak_gib']:.2f} GiB",
                f"{row['gib_spilled']:.1f} GiB",
                seconds(row["seconds"]),
                f"{row['nmi']:.3f}",
            ]
            for row in result["rows"]
        ),
    )


def gpu(result: dict[str, Any]) -> str:
    """Points of many features on a GPU."""
    return markdown(
        ["points", "they lie on", "", "seconds", "NMI", "cut, 10-NN graph of a sample"],
        (
            [
                f"{row['n']:,} x {row['n_features']}",
                f"the {row['where']}",
                name,
                seconds(found["seconds"]),
                f"{found['nmi']:.3f}",
                f"{found['cut_on_the_10_nn_graph']:.3f}",
            ]
            for row in result["rows"]
            for name, found in row["methods"].items()
        ),
    )


def workers(result: dict[str, Any]) -> str:
    """One process beside workers of Dask."""
    said = {check["n_workers"]: check["seconds"] for check in result["scaling"]["checks"]}
    rows = []
    for row in result["workers"]:
        known = said.get(int(row["workers"].split()[0])) if "worker" in row["workers"] else None
        rows.append([row["workers"], seconds(row["seconds"]), seconds(known), row["labels"][:8]])
    return markdown(["", "seconds", "by the model", "labels, hashed"], rows)


def beside_dask_ml(result: dict[str, Any]) -> str:
    """dask-ml's estimator on the same cluster and data."""
    rows = []
    for row in result["beside_dask_ml"]:
        name = row["method"] if row["method"] == "leastcut" else f"dask-ml, {row['method']}"
        if "seconds" in row:
            cells = [
                seconds(row["seconds"]),
                f"{row['cut_on_the_10_nn_graph']:.2g}",
                f"{row['nmi']:.3f}",
            ]
        else:
            cells = [row.get("failed") or f"not within {row['stopped_after']} s", "", ""]
        rows.append([f"{row['data']}, {row['n']:,}", name, *cells])
    return markdown(["points", "", "seconds", "cut, 10-NN graph", "NMI"], rows)


def constants(result: dict[str, Any]) -> str:
    """What the model of scaling is made of."""
    scaling = result["scaling"]
    kinds = [scaling["2 features"], scaling["784 features"]]
    lines: list[tuple[str, Callable[[dict[str, Any]], str]]] = [
        (
            "nearest anchors, points per second and core",
            lambda k: f"{k['points_per_second_and_core_nearest']:,}",
        ),
        (
            "a sweep, points per second and core",
            lambda k: f"{k['points_per_second_and_core_sweep']:,}",
        ),
        ("all passes, microseconds per point and core", lambda k: f"{_per_point(k) * 1e6:.2f}"),
        ("sweeps of a fit", lambda k: f"{k['rounds']:g}"),
        ("passes over all blocks of a fit", lambda k: f"{_n_passes(k):g}"),
        (
            "table that every worker gets in a round, 8 c p bytes",
            lambda k: f"{k['table_bytes_to_a_worker_and_round']:,}",
        ),
        (
            "what a block tells in a round, bytes",
            lambda k: f"{k['told_bytes_of_a_block_and_sweep']:,}",
        ),
        (
            "Dask's latency, milliseconds per sweep, and per task",
            lambda k: (
                f"{k['milliseconds_per_sweep']:.1f}, {k['milliseconds_per_task_and_sweep']:.1f}"
            ),
        ),
        ("what one does for all", lambda k: seconds(k["once_seconds"])),
    ]
    return markdown(
        ["", "2 features, 11 clusters", "784 features, 10 clusters"],
        ([head, *(cell(kind) for kind in kinds)] for head, cell in lines),
    )


def _per_point(kind: dict[str, Any]) -> float:
    passes = kind["passes"].values()
    return float(sum(one["passes"] * one["seconds_per_point"] for one in passes))


def _n_passes(kind: dict[str, Any]) -> float:
    return float(sum(one["passes"] for one in kind["passes"].values()))


def forecast(result: dict[str, Any]) -> str:
    """A billion points on a hundred workers."""
    parts = ("nearest_anchors", "other_passes", "scheduling", "once")
    return markdown(
        [
            "features",
            "points per block",
            "seconds",
            "nearest anchors",
            "other passes",
            "scheduling",
            "once",
        ],
        (
            [
                str(row["n_features"]),
                f"{row['points_per_block']:,}",
                f"{row['seconds']:.0f} s",
                *(f"{row[part]:.0f} s" for part in parts),
            ]
            for row in result["scaling"]["forecasts"]
        ),
    )


TABLES: dict[str, tuple[str, Callable[[dict[str, Any]], str]]] = {
    "plane": ("anchors", plane),
    "fashion": ("anchors_fashion", fashion),
    "out of core": ("anchors_out_of_core", out_of_core),
    "gpu": ("anchors_gpu", gpu),
    "workers": ("anchors_dask", workers),
    "dask-ml": ("anchors_dask", beside_dask_ml),
    "constants": ("anchors_dask", constants),
    "forecast": ("anchors_dask", forecast),
}
"""The mark that a table stands behind, the record it comes from, and who makes it."""


def renewed(text: str) -> str:
    """Return the page with every table as the records are now."""
    for mark, (record, table) in TABLES.items():
        pattern = re.compile(rf"(<!-- {mark} -->\n)(?:.*\n)*?(<!-- end -->\n)")
        there = (RESULTS / f"{record}.json").exists()
        fresh = table(result_of(record)) if there else "Not measured yet.\n"
        text, count = pattern.subn(lambda match, fresh=fresh: match[1] + fresh + match[2], text)
        if count != 1:
            raise ValueError(f"{PAGE.name} must have one mark {mark!r}, and it has {count}.")
    return text


def draw(result: dict[str, Any]) -> None:
    """Draw seconds against points, both on logarithmic scales."""
    import matplotlib.pyplot as plt

    from leastcut.report.figures import BLUE, ORANGE, STYLE, TEAL

    lines = {
        "two bananas": (BLUE, "o-"),
        "smiling face": (ORANGE, "s--"),
        "concentric circles": (TEAL, "^-."),
    }
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(5.2, 3.6))
        for name, (colour, style) in lines.items():
            found = [(row["n"], row["seconds"]) for row in result["rows"] if row["data"] == name]
            axis.plot(*zip(*found, strict=True), style, color=colour, label=name)
        published = [
            (row["n"], row["published_seconds_of_u_spec"])
            for row in result["rows"]
            if row["published_seconds_of_u_spec"]
        ]
        axis.plot(*zip(*published, strict=True), "x", color="black", label="U-SPEC, as published")
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlabel("points in the plane")
        axis.set_ylabel("seconds, points to labels")
        axis.legend()
        figure.tight_layout()
        figure.savefig(ROOT / "docs" / "large_data.svg", metadata={"Date": None})


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    draw(result_of("anchors"))

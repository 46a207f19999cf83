"""Draw seconds from points to labels against their number, and renew the tables of ``scale.md``.

Reads ``points_to_labels.json`` and ``gpu.json`` of ``benchmarks/results``. The figure goes to
``docs/scale.svg``, and every table behind its mark into ``scale.md``.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from leastcut.report.figures import BLUE, ORANGE, SOFT, STYLE, TEAL

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
SIZES = {"1M": 10**6, "5M": 5 * 10**6, "10M": 10**7, "20M": 2 * 10**7}
LINES = {
    "leastcut": (BLUE, "o", "-"),
    "cKDTree.query": (SOFT, "v", ":"),
    "scikit-learn": (ORANGE, "s", "--"),
    "ncut-pytorch": (TEAL, "^", "-."),
}
"""Colour, mark and line of every method that is drawn: they differ in black and white too."""


def result_of(name: str) -> dict[str, Any]:
    """Return what a benchmark found."""
    return dict(json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["result"])


def labels_table(result: dict[str, Any]) -> str:
    """Return the rows of ``points_to_labels`` as a Markdown table."""
    lines = [
        "| points | clusters | method | seconds | after imports | CPU | memory | recall "
        "| cut on the exact graph | NMI |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in result["rows"]:
        if "seconds" not in row:
            said = row.get("failed") or f"stopped after {row['stopped_after']} s"
            cells = [said, "", "", "", "", "", ""]
        else:
            cut, nmi = row.get("cut_on_the_exact_graph", row.get("cut")), row.get("nmi")
            recall = row.get("recall")
            cells = [
                f"{row['seconds']:.3g} s",
                f"{row['seconds_after_imports']:.3g} s",
                f"{row['cpu_seconds']:.3g} s",
                f"{row['peak_gib']:.2g} GiB",
                "" if recall is None else f"{recall:.3f}",
                "" if cut is None else f"{cut:.4g}" + ("" if "cut" not in row else " (of ours)"),
                "" if nmi is None else f"{nmi:.2f}",
            ]
        head = [f"{row['data']}, {row['n']:,}", str(row["n_clusters"]), row["method"]]
        lines.append(f"| {' | '.join(head + cells)} |")
    return "\n".join(lines) + "\n"


def gpu_table(result: dict[str, Any]) -> str:
    """Return the rows of ``gpu`` as a Markdown table."""
    lines = [
        "| points | neighbours | plain PyTorch | recall | searched again | memory there "
        "| from the host to labels | of that graph, cut |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in result["rows"]:
        plain = row.get("plain_torch_seconds")
        peer = "" if plain is None else f"{plain:.3g} s at {row['plain_torch_recall']:.3f}"
        lines.append(
            f"| {row['data']}, {row['n']:,} x {row['n_features']} "
            f"| {row['neighbour_seconds']:.3g} s "
            f"| {peer} | {row['recall']:.4f} | {row.get('searched_again', '')} "
            f"| {row['device_peak_gib']:.3g} GiB | {row['points_to_labels_seconds']:.3g} s "
            f"| {row['of_which_graph_seconds']:.3g} s, {row['of_which_cut_seconds']:.3g} s |"
        )
    return "\n".join(lines) + "\n"


def draw(result: dict[str, Any]) -> None:
    """Draw seconds against points in the plane, both on logarithmic scales."""
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(5.2, 3.6))
        for method, (colour, mark, line) in LINES.items():
            found = [
                (row["n"], row["seconds"])
                for row in result["rows"]
                if row["data"] == "plane" and row["method"] == method and "seconds" in row
            ]
            if found:
                axis.plot(*zip(*found, strict=True), mark + line, color=colour, label=method)
        published = result["published_seconds_of_u_spec"]
        axis.plot(
            [SIZES[size] for size in published],
            list(published.values()),
            "x",
            color="black",
            label="U-SPEC, as published",
        )
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlabel("points in the plane")
        axis.set_ylabel("seconds, points to labels")
        axis.legend()
        figure.tight_layout()
        figure.savefig(ROOT / "docs" / "scale.svg", metadata={"Date": None})


def renewed(text: str, mark: str, table: str) -> str:
    """Return the page with the table behind a mark replaced."""
    pattern = re.compile(rf"(<!-- {mark} -->\n)(?:.*\n)*?(<!-- end -->\n)")
    fresh, count = pattern.subn(lambda match: match[1] + table + match[2], text)
    if count != 1:
        raise ValueError(f"scale.md must have one mark {mark!r}, and it has {count}.")
    return fresh


def main() -> None:
    """Renew the page and the figure."""
    page = ROOT / "docs" / "scale.md"
    labels = result_of("points_to_labels")
    text = renewed(page.read_text(encoding="utf-8"), "points to labels", labels_table(labels))
    text = renewed(text, "gpu", gpu_table(result_of("gpu")))
    page.write_text(text, encoding="utf-8")
    draw(labels)


if __name__ == "__main__":
    main()

"""Plot bounds and cut values over time, and update the table of ``certify.md``.

Reads ``benchmarks/results/certify.json``, which ``python -m benchmarks certify`` writes. The figure
is ``docs/certify.svg``.
"""

from __future__ import annotations

import csv
from typing import Any

from docs.tables import DOCS, Tables, markdown, record, write

PLOTTED = ("wine", "orl", "coil20")
CUT = "normalized"


def shown() -> list[dict[str, Any]]:
    """Return the rows of the record that are shown."""
    return [row for row in record("certify")["rows"] if row["cut"] == CUT]


def certificates() -> str:
    """Return the gaps that are left, and the times."""
    rows = []
    for row in shown():
        times = [row["seconds_to_1%"], row["seconds_to_proven"]]
        rows.append(
            [
                row["graph"],
                f"{row['n']:,}",
                str(row["n_clusters"]),
                f"{100 * row['gap_of_eigenvalues']:.1f}%",
                "0" if row["gap"] < 1e-6 else f"{100 * row['gap']:.2g}%",
                *("–" if time is None else f"{time:.3g}" for time in times),
            ]
        )
    heads = ["graph", "nodes", "clusters", "gap of Σλ", "certified gap", "seconds to 1%"]
    return markdown([*heads, "to 1e-6"], rows)


def larger() -> str:
    """Return the gaps of the paper's largest datasets, as a sentence."""
    with (DOCS / "results" / "certificates.csv").open(encoding="utf-8", newline="") as file:
        values = {
            (row["row"], row["column"]): row["ours"]
            for row in csv.DictReader(file)
            if row["section"] == "Normalized Cut"
        }
    texts = []
    for name in ("USPS", "Fashion"):
        eigenvalues, value = (float(values[name, column]) for column in ("OPT_r", "our cut"))
        gap = float(values[name, "gap"])
        texts.append(f"{gap:.0%} on {name} ({1 - eigenvalues / value:.0%} by Σλ)")
    return (
        f"On about 10,000 nodes a gap remains: after five minutes, {' and '.join(texts)}; see "
        "[all certificates](results.md#certificates).\n"
    )


TABLES: Tables = {"certify.md": {"certificates": certificates, "larger": larger}}


def draw(rows: list[dict[str, Any]]) -> None:
    """Plot lower bound and cut value over time, relative to the final cut value."""
    import matplotlib.pyplot as plt

    from leastcut.report.figures import BLUE, ORANGE, SOFT, STYLE

    rows = [row for name in PLOTTED for row in rows if row["graph"] == name]
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, len(rows), figsize=(2.6 * len(rows), 2.4), sharey=True)
        for axis, row in zip(axes, rows, strict=True):
            seconds, bound, value = zip(*row["course"], strict=True)
            axis.plot(seconds, [v / row["value"] for v in value], color=ORANGE, label="cut value")
            axis.plot(seconds, [v / row["value"] for v in bound], color=BLUE, label="lower bound")
            axis.axhline(1.0 - row["gap_of_eigenvalues"], color=SOFT, ls=":", label="Σλ")
            axis.set_title(f"{row['graph']}: {row['n']:,} nodes, {row['n_clusters']} clusters")
            axis.set_xlabel("seconds")
        axes[0].set_ylabel("relative to the cut value")
        axes[0].legend(loc="center right")
        figure.tight_layout()
        figure.savefig(DOCS / "certify.svg", metadata={"Date": None})


if __name__ == "__main__":
    write(TABLES)
    draw(shown())

"""Compare every method on real data: the cut each one finds, and how far from optimal it can be.

Run ``make demo``, or ``python examples/compare_methods.py [picture.png]``. The data ships with
scikit-learn. One table per dataset and cut goes to the terminal, a picture of one of them to
``out/digits.png``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import scale

import firstcut

COLUMNS = f"{'method':<20}{'cut value':>11}{'clusters':>10}{'accuracy':>10}{'NMI':>8}{'seconds':>9}"


class Row(NamedTuple):
    """What one method found."""

    name: str
    value: float
    labels: np.ndarray
    seconds: float


def methods(graph, n_clusters: int, cut: str) -> dict[str, Callable[[], np.ndarray]]:
    """Return every method as a function from nothing to labels."""

    def discretized(name: str, **options) -> Callable[[], np.ndarray]:
        def run() -> np.ndarray:
            relaxation = firstcut.relax(graph, n_clusters, cut, random_state=0)
            return firstcut.discretize(
                relaxation, name, graph=graph, random_state=0, **options
            ).labels

        return run

    every: dict[str, Callable[[], np.ndarray]] = {}
    for name in firstcut.DISCRETIZERS:
        every[name] = discretized(name, **({"eta": "auto"} if name == "first_order" else {}))
    every["direct_cut"] = lambda: firstcut.direct_cut(graph, n_clusters, cut, random_state=0).labels
    every["partition"] = lambda: firstcut.partition(graph, n_clusters, cut, random_state=0).labels
    return every


def compare(title: str, graph, y: np.ndarray, cut: str) -> tuple[float, list[Row]]:
    """Print the table of one dataset and cut; return the lower bound and the rows."""
    n_clusters = len(np.unique(y))
    bound = firstcut.lower_bound(graph, n_clusters, cut, random_state=0)
    rows = []
    for name, run in methods(graph, n_clusters, cut).items():
        start = time.perf_counter()
        labels = run()
        seconds = time.perf_counter() - start
        rows.append(Row(name, firstcut.cut_value(graph, labels, cut), labels, seconds))
    best = min(row.value for row in rows)

    print(f"\n{title}, {cut} cut into {n_clusters}: no partition is below {bound:.4f}")
    print(COLUMNS)
    for row in rows:
        mark = "*" if row.value <= best * (1 + 1e-9) else " "
        print(
            f"{row.name:<20}{row.value:>10.4f}{mark}{len(np.unique(row.labels)):>10}"
            f"{firstcut.clustering_accuracy(y, row.labels):>10.3f}"
            f"{firstcut.normalized_mutual_info(y, row.labels):>8.3f}{row.seconds:>9.2f}"
        )
    return bound, rows


def picture(path: Path, images: np.ndarray, bound: float, rows: list[Row]) -> None:
    """Draw the cut value of every method, and the mean image of every cluster of the best."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    best = min(rows, key=lambda row: row.value)
    limit = 1.15 * sorted(row.value for row in rows)[-2]
    figure = plt.figure(figsize=(11, 4.2), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[1.25, 1])
    axes = left.subplots()
    for position, row in enumerate(reversed(rows)):
        axes.barh(position, row.value, color="#1f5f8b" if row is best else "#b8c4ce")
        axes.text(min(row.value, limit) * 0.985, position, f"{row.value:.4f}", ha="right",
                  va="center", color="white" if row is best else "black", fontsize=9)  # fmt: skip
    axes.axvline(bound, color="black", linewidth=1, linestyle="--")
    axes.text(bound, len(rows) - 0.45, "proven lower bound", ha="center", va="bottom", fontsize=9)
    axes.set_yticks(range(len(rows)), [row.name for row in reversed(rows)])
    axes.set(
        xlim=(0, limit),
        ylim=(-0.6, len(rows)),
        xlabel="normalized cut of the digits into 10 clusters",
    )
    axes.spines[["top", "right"]].set_visible(False)

    right.suptitle(f"The clusters of {best.name}: mean image and size", fontsize=10)
    for k, cell in enumerate(right.subplots(2, 5).flat):
        members = best.labels == k
        cell.imshow(images[members].mean(axis=0), cmap="gray_r")
        cell.set_title(str(np.count_nonzero(members)), fontsize=9)
        cell.set_axis_off()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    print(f"\nThe picture is {path}.")


def main() -> None:
    """Run the comparison on digits and wine, for both cuts."""
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "out/digits.png")
    digits, wine = load_digits(), load_wine()
    print("The smaller the cut value the better; * marks the smallest of each table.")
    for title, X, y in [
        ("Wine", scale(wine.data), wine.target),
        ("Digits", digits.data, digits.target),
    ]:
        graph = firstcut.adaptive_neighbors_graph(X)
        for cut in firstcut.CUTS:
            bound, rows = compare(f"{title} ({len(y)} points)", graph, y, cut)
    picture(path, digits.images, bound, rows)


if __name__ == "__main__":
    main()

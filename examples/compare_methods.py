"""Compare all methods on data of scikit-learn by their cut values and a lower bound.

Run ``make demo`` or ``python examples/compare_methods.py [figure.png]``. Prints a table for each
dataset and cut, and saves a figure of one of them to ``out/digits.png``.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import scale

import leastcut

COLUMNS = f"{'method':<20}{'cut value':>11}{'clusters':>10}{'accuracy':>10}{'NMI':>8}{'seconds':>9}"


def compare(title: str, graph, y: np.ndarray, cut: str) -> leastcut.Comparison:
    """Print the table of a dataset and a cut, and return the comparison."""
    n_clusters = len(np.unique(y))
    comparison = leastcut.compare(graph, n_clusters, cut, random_state=0)
    best = comparison.best.cut_value
    print(f"\n{title}, {n_clusters} clusters, {cut} cut: lower bound {comparison.lower_bound:.4f}")
    print(COLUMNS)
    for row in comparison.compared:
        mark = "*" if row.cut_value <= best * (1 + 1e-9) else " "
        print(
            f"{row.method:<20}{row.cut_value:>10.4f}{mark}{len(row.sizes):>10}"
            f"{leastcut.clustering_accuracy(y, row.labels):>10.3f}"
            f"{leastcut.normalized_mutual_info(y, row.labels):>8.3f}{row.seconds:>9.2f}"
        )
    return comparison


def plot(path: Path, images: np.ndarray, comparison: leastcut.Comparison) -> None:
    """Plot the cut values of all methods, and the mean images of the best method's clusters."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(11, 4.2), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[1.25, 1])
    # The large value of direct_cut would hide the differences between the others.
    rows = tuple(row for row in comparison.compared if row.method != "direct_cut")
    leastcut.plot.comparison(replace(comparison, compared=rows), ax=left.subplots())
    best = comparison.best
    right.suptitle(f"The clusters of {best.method}: mean image and size", fontsize=10)
    for k, cell in enumerate(right.subplots(2, 5).flat):
        members = best.labels == k
        cell.imshow(images[members].mean(axis=0), cmap="gray_r")
        cell.set_title(str(np.count_nonzero(members)), fontsize=9)
        cell.set_axis_off()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    print(f"\nThe figure was saved to {path}.")


def main() -> None:
    """Compare the methods on digits and wine, for both cuts."""
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "out/digits.png")
    digits, wine = load_digits(), load_wine()
    print("Smaller cut values are better; * marks the smallest of each table.")
    for title, X, y in [
        ("Wine", scale(wine.data), wine.target),
        ("Digits", digits.data, digits.target),
    ]:
        graph = leastcut.adaptive_neighbors_graph(X)
        for cut in leastcut.CUTS:
            comparison = compare(f"{title} ({len(y)} points)", graph, y, cut)
    plot(path, digits.images, comparison)


if __name__ == "__main__":
    main()

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

import numpy as np
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import scale

import firstcut

COLUMNS = f"{'method':<20}{'cut value':>11}{'clusters':>10}{'accuracy':>10}{'NMI':>8}{'seconds':>9}"


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


def compare(title: str, graph, y: np.ndarray, cut: str) -> np.ndarray:
    """Print the table of one dataset and cut; return the best labels."""
    n_clusters = len(np.unique(y))
    bound = firstcut.lower_bound(graph, n_clusters, cut, random_state=0)
    rows = []
    for name, run in methods(graph, n_clusters, cut).items():
        start = time.perf_counter()
        labels = run()
        seconds = time.perf_counter() - start
        rows.append((firstcut.cut_value(graph, labels, cut), name, labels, seconds))
    best = min(value for value, *_ in rows)

    print(f"\n{title}, {cut} cut into {n_clusters}: no partition is below {bound:.4f}")
    print(COLUMNS)
    for value, name, labels, seconds in rows:
        mark = "*" if value <= best * (1 + 1e-9) else " "
        print(
            f"{name:<20}{value:>10.4f}{mark}{len(np.unique(labels)):>10}"
            f"{firstcut.clustering_accuracy(y, labels):>10.3f}"
            f"{firstcut.normalized_mutual_info(y, labels):>8.3f}{seconds:>9.2f}"
        )
    return min(rows, key=lambda row: row[0])[2]


def picture(path: Path, X: np.ndarray, graph, labels: np.ndarray) -> None:
    """Draw the points by their two leading non-trivial eigenvectors, coloured by cluster."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    relaxation = firstcut.relax(graph, 4, random_state=0)
    x, y = relaxation.eigenvectors[:, 1:3].T / np.sqrt(relaxation.node_weights)
    figure, axes = plt.subplots(figsize=(8, 6), layout="constrained")
    axes.scatter(x, y, c=labels, cmap="tab10", s=12, linewidths=0)
    for k in np.unique(labels):
        inset = axes.inset_axes([1.02, 0.9 - 0.1 * k, 0.09, 0.09])
        inset.imshow(X[labels == k].mean(axis=0).reshape(8, 8), cmap="gray_r")
        inset.set(xticks=[], yticks=[])
        plt.setp(inset.spines.values(), color=plt.get_cmap("tab10")(k), linewidth=2)
    value = firstcut.cut_value(graph, labels)
    axes.set(
        title=f"Digits cut into 10: normalized cut {value:.4f}; the mean image of each cluster",
        xlabel="second eigenvector",
        ylabel="third eigenvector",
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    print(f"\nThe picture is {path}.")


def main() -> None:
    """Run the comparison on digits and wine, for both cuts."""
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "out/digits.png")
    digits, wine = load_digits(), load_wine()
    print("The smaller the cut value the better; * marks the smallest of each table.")
    for title, X, y in [
        ("Digits", digits.data, digits.target),
        ("Wine", scale(wine.data), wine.target),
    ]:
        graph = firstcut.adaptive_neighbors_graph(X)
        for cut in firstcut.CUTS:
            labels = compare(f"{title} ({len(y)} points)", graph, y, cut)
        if title == "Digits":
            picture(path, X, graph, labels)


if __name__ == "__main__":
    main()

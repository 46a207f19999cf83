"""Draw the figure of the README into ``docs/front.png``: clusters, cut values, and a proof.

scikit-learn's digits in ten clusters. Labels and cut values are computed here; the course of the
proof, which takes minutes, is read from ``benchmarks/results/certify.json``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import SpectralClustering
from sklearn.datasets import load_digits

import leastcut
from leastcut.report.figures import BLUE, INK, ORANGE, SOFT, STYLE

DOCS = Path(__file__).parent
RECORD = DOCS.parent / "benchmarks" / "results" / "certify.json"
N_CLUSTERS = 10
GRAY = "#c3ccd5"


def labels_of_methods(graph: Any) -> dict[str, np.ndarray]:
    """Return the labels of scikit-learn's three assignments and of leastcut on the same graph."""
    labels = {}
    for assign in ("cluster_qr", "discretize", "kmeans"):
        model = SpectralClustering(
            N_CLUSTERS, affinity="precomputed", assign_labels=assign, random_state=0
        )
        labels[f"scikit-learn, {assign}"] = model.fit_predict(graph.toarray())
    labels["leastcut"] = leastcut.partition(graph, N_CLUSTERS, random_state=0).labels
    return labels


def draw_clusters(figure: Any, images: np.ndarray, labels: np.ndarray) -> None:
    """Draw the mean image of each cluster, with the cluster's size."""
    for k, axes in enumerate(figure.subplots(2, 5).flat):
        members = labels == k
        axes.imshow(images[members].mean(axis=0), cmap="gray_r")
        axes.set_title(str(np.count_nonzero(members)), fontsize=9, loc="center", color=SOFT)
        axes.set_axis_off()


def draw_values(axes: Any, values: dict[str, float], accuracies: dict[str, float]) -> None:
    """Draw the cut value of each method, with its accuracy."""
    for y, (name, value) in enumerate(values.items()):
        ours = name == "leastcut"
        axes.barh(y, value, color=BLUE if ours else GRAY)
        axes.text(0.004, y, f"{value:.4f}", va="center", color="white" if ours else INK)
        axes.text(value + 0.004, y, f"accuracy {accuracies[name]:.3f}", va="center", color=SOFT)
    axes.set_xlim(0, 1.4 * max(values.values()))
    axes.set_yticks(range(len(values)), list(values))
    axes.tick_params(axis="y", length=0, labelcolor=INK)
    axes.set_xlabel("normalized cut (smaller is better)")


def draw_proof(axes: Any, row: dict[str, Any]) -> None:
    """Draw the lower bound as it rises to the cut value."""
    seconds, bound, value = zip(*row["course"], strict=True)
    axes.plot(seconds, value, color=BLUE, label="cut value")
    axes.plot(seconds, bound, color=ORANGE, ls="--", label="proven lower bound")
    axes.set_ylim(0, 1.15 * row["value"])
    axes.set_xlabel("seconds")
    axes.legend(loc="lower right", frameon=False)


def main() -> None:
    """Draw the figure; raise if the recorded proof is not of the partition computed here."""
    digits = load_digits()
    graph = leastcut.nearest_neighbors_graph(digits.data, 10)
    labels = labels_of_methods(graph)
    values = {name: leastcut.cut_value(graph, of) for name, of in labels.items()}
    accuracies = {
        name: leastcut.clustering_accuracy(digits.target, of) for name, of in labels.items()
    }
    rows = json.loads(RECORD.read_text(encoding="utf-8"))["result"]["rows"]
    (row,) = (row for row in rows if (row["graph"], row["cut"]) == ("digits", "normalized"))
    if abs(values["leastcut"] - row["value"]) > 1e-9 or row["gap"] > 1e-6:
        raise ValueError(f"The proof is of {row['value']}, not of {values['leastcut']}.")
    with plt.rc_context({**STYLE, "font.size": 9.5, "axes.titlesize": 10}):
        figure = plt.figure(figsize=(11.5, 3.1), layout="constrained")
        left, middle, right = figure.subfigures(1, 3, width_ratios=[1, 1.25, 1])
        left.suptitle(f"{len(digits.data):,} images in {N_CLUSTERS} clusters", fontsize=11)
        draw_clusters(left, digits.images, labels["leastcut"])
        middle.suptitle("The smallest cut of four methods …", fontsize=11)
        draw_values(middle.subplots(), values, accuracies)
        right.suptitle("… and the proof that none is smaller", fontsize=11)
        draw_proof(right.subplots(), row)
        figure.savefig(DOCS / "front.png", dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()

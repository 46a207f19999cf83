"""Draw the picture of the README into ``docs/front.png``: labels, a small cut, and its proof.

The first 600 digits of scikit-learn, cut into ten. Clusters and cut values are computed here; the
course of the proof, which takes most of a minute, is read from ``benchmarks/results/certify.json``.
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
RESULT = DOCS.parent / "benchmarks" / "results" / "certify.json"
N_SAMPLES, N_CLUSTERS = 600, 10
GREY = "#c3ccd5"


def rivals(graph: Any) -> dict[str, np.ndarray]:
    """Return the labels that scikit-learn's three assignments give on the same graph."""
    found = {}
    for assign in ("cluster_qr", "discretize", "kmeans"):
        model = SpectralClustering(
            N_CLUSTERS, affinity="precomputed", assign_labels=assign, random_state=0
        )
        found[f"scikit-learn, {assign}"] = model.fit_predict(graph.toarray())
    return found


def draw_clusters(figure: Any, images: np.ndarray, labels: np.ndarray) -> None:
    """Draw the mean image of every cluster, and how many are in it."""
    for k, axis in enumerate(figure.subplots(2, 5).flat):
        members = labels == k
        axis.imshow(images[members].mean(axis=0), cmap="gray_r")
        axis.set_title(str(np.count_nonzero(members)), fontsize=9, loc="center", color=SOFT)
        axis.set_axis_off()


def draw_values(axis: Any, values: dict[str, float], bound: float) -> None:
    """Draw the cut value of every method, and the bound below which there is none."""
    for place, (name, value) in enumerate(values.items()):
        ours = name.startswith("leastcut")
        axis.barh(place, value, color=BLUE if ours else GREY)
        axis.text(
            0.01, place, f"{value:.4f}", va="center", color="white" if ours else INK,
        )  # fmt: skip
    axis.set_yticks(range(len(values)), list(values))
    axis.tick_params(axis="y", length=0, labelcolor=INK)
    axis.axvline(bound, color=ORANGE, lw=1.5, ls="--")
    axis.set_xlabel("normalized cut (smaller is better)")


def draw_proof(axis: Any, row: dict[str, Any]) -> None:
    """Draw how the lower bound reaches the value."""
    seconds, low, value = zip(*row["course"], strict=True)
    axis.plot(seconds, value, color=BLUE, label="cut found")
    axis.plot(seconds, low, color=ORANGE, ls="--", label="proven lower bound")
    axis.set_ylim(0, 1.15 * row["value"])
    axis.set_xlabel("seconds of proving")
    axis.legend(loc="lower right", frameon=False)


def main() -> None:
    """Draw it; raise if the proof on record is not one of the value found here."""
    digits = load_digits()
    graph = leastcut.nearest_neighbors_graph(digits.data[:N_SAMPLES], 10)
    found = leastcut.partition(graph, N_CLUSTERS, random_state=0)
    rows = json.loads(RESULT.read_text(encoding="utf-8"))["result"]["rows"]
    wanted = ("digits, the first 600", "normalized")
    (row,) = (row for row in rows if (row["graph"], row["cut"]) == wanted)
    if abs(found.cut_value - row["value"]) > 1e-9 or row["gap"] > 1e-6:
        raise ValueError(f"The proof is of {row['value']}, and the cut found is {found.cut_value}.")
    values = {name: leastcut.cut_value(graph, labels) for name, labels in rivals(graph).items()}
    values["leastcut"] = found.cut_value
    with plt.rc_context({**STYLE, "font.size": 9.5, "axes.titlesize": 10}):
        figure = plt.figure(figsize=(11.5, 3.1), layout="constrained")
        left, middle, right = figure.subfigures(1, 3, width_ratios=[1, 1.2, 1])
        left.suptitle(f"{N_SAMPLES} images into {N_CLUSTERS} clusters", fontsize=11)
        draw_clusters(left, digits.images[:N_SAMPLES], found.labels)
        middle.suptitle("the smallest cut that is found …", fontsize=11)
        draw_values(middle.subplots(), values, row["value"])
        right.suptitle("… and the proof that none is smaller", fontsize=11)
        draw_proof(right.subplots(), row)
        figure.savefig(DOCS / "front.png", dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()

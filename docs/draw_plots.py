"""Plot every figure of ``leastcut.plot`` once, on small data, into ``docs/plots.png``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import networkx as nx
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import scale

import leastcut

DOCS = Path(__file__).parent
N_DIGITS = 600


def main() -> None:
    """Plot the wines, the first digits and the karate club."""
    wine = scale(load_wine().data)
    graph = leastcut.adaptive_neighbors_graph(wine)
    path = leastcut.cut_path(wine, range(2, 9), random_state=0)
    digits = leastcut.SpectralClustering(10, random_state=0).fit(load_digits().data[:N_DIGITS])
    club = nx.karate_club_graph()
    result = leastcut.partition(club, 4, random_state=0)
    progress: list[Any] = []
    leastcut.certify(graph, path[3].labels, time_limit=60, callback=progress.append)

    figure, axes = plt.subplots(2, 4, figsize=(17, 8.2), layout="constrained")
    first, second = axes
    leastcut.plot.evidence(path, ax=first[0])
    leastcut.plot.cut_values(path, ax=first[1])
    leastcut.plot.embedding(digits, ax=first[2])
    leastcut.plot.affinity(digits, ax=first[3])
    leastcut.plot.sizes(digits, ax=second[0])
    leastcut.plot.graph(result, club, ax=second[1])
    leastcut.plot.comparison(leastcut.compare(graph, 3, random_state=0), ax=second[2])
    leastcut.plot.closing_in(progress, ax=second[3])
    figure.savefig(DOCS / "plots.png", dpi=80, metadata={"Software": None})


if __name__ == "__main__":
    main()

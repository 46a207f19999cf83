"""Draw every picture of ``firstcut.plot`` once, on small data, into ``docs/pictures.png``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import networkx as nx
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import scale

import firstcut

DOCS = Path(__file__).parent
N_DIGITS = 600


def main() -> None:
    """Draw the wines, the first digits and a club, each where it shows most."""
    wine = scale(load_wine().data)
    graph = firstcut.adaptive_neighbors_graph(wine)
    path = firstcut.cut_path(wine, range(2, 9), random_state=0)
    digits = firstcut.SpectralClustering(10, random_state=0).fit(load_digits().data[:N_DIGITS])
    club = nx.karate_club_graph()
    found = firstcut.partition(club, 4, random_state=0)
    told: list[Any] = []
    firstcut.certify(graph, path[3].labels, time_limit=60, callback=told.append)

    figure, axes = plt.subplots(2, 4, figsize=(17, 8.2), layout="constrained")
    first, second = axes
    firstcut.plot.evidence(path, ax=first[0])
    firstcut.plot.cut_values(path, ax=first[1])
    firstcut.plot.embedding(digits, ax=first[2])
    firstcut.plot.affinity(digits, ax=first[3])
    firstcut.plot.sizes(digits, ax=second[0])
    firstcut.plot.graph(found, club, ax=second[1])
    firstcut.plot.comparison(firstcut.compare(graph, 3, random_state=0), ax=second[2])
    firstcut.plot.closing_in(told, ax=second[3])
    figure.savefig(DOCS / "pictures.png", dpi=80, metadata={"Software": None})


if __name__ == "__main__":
    main()

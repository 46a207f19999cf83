"""The benefit of an η that adapts during the iteration: first-order cuts at equal work.

The paper chooses one η from a grid and proposes a dynamic η as future work. Compared are its grid
with ten starts, the ladder ``eta="auto"`` and ``eta="adaptive"``. The latter two get as many starts
as fit into the time of the grid: ten are timed, then the number is scaled. Cut values are means
over the seeds, as ratios to that of the grid in the same cell.

The ladder of ``adaptive`` was chosen on the paper's datasets, digits, breast cancer and five of the
graphs of ``real_graphs`` (folder ``LEASTCUT_GRAPHS``). These are marked ``was_looked_at``; the
others were not used for any choice.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

import leastcut
from benchmarks._graphs import hard_graphs, paper_graphs
from benchmarks.real_graphs import graphs as real_graphs
from leastcut.spectral.discretizers.first_order import PAPER_ETAS

CHOICES: dict[str, Any] = {"grid": PAPER_ETAS, "auto": "auto", "adaptive": "adaptive"}
"""Choices of η; the first is the reference."""

STARTS, SEEDS = 10, 3

LARGEST = 10_000
"""Largest number of nodes: beyond, computing eigenvectors dominates."""

LOOKED_AT = ("add20", "power", "hep-th", "polblogs", "friends, 3,000")
"""The graphs used for choosing constants."""


def cases(quick: bool) -> Iterator[tuple[str, sp.csr_array, int, bool]]:
    """Yield name, graph, number of clusters, and whether it was used for choosing constants."""
    for name, loader, c, seen in (
        ("iris", load_iris, 5, False),
        ("wine, scaled", load_wine, 6, False),
        ("breast cancer", load_breast_cancer, 6, True),
        ("digits", load_digits, 10, True),
    ):
        X = loader().data
        spread = X.std(axis=0)
        spread[spread == 0.0] = 1.0
        X = X if name == "digits" else (X - X.mean(axis=0)) / spread
        yield name, leastcut.adaptive_neighbors_graph(X), c, seen
        if quick:
            return
    for name, graph, c in paper_graphs():
        yield name, graph, c, True
    for _, name, graph in real_graphs(quick):
        if graph.shape[0] <= LARGEST:
            for c in (4, 16):
                yield name, graph, c, name in LOOKED_AT
    for name, graph, c in hard_graphs(quick=True):
        yield name, graph, c, False


def run(quick: bool = False) -> dict[str, Any]:
    """Return a row per graph and cut, and the geometric means of their ratios."""
    rows = []
    for name, graph, c, seen in cases(quick):
        for cut in leastcut.CUTS:
            relaxation = leastcut.relax(graph, c, cut, random_state=0)
            row: dict[str, Any] = {
                "graph": name,
                "n_clusters": c,
                "cut": cut,
                "was_looked_at": seen,
            }
            limit = None
            for choice, eta in CHOICES.items():
                _mean_cut(relaxation, graph, eta, 1, 1)  # warm-up
                ten, seconds = _mean_cut(relaxation, graph, eta, STARTS, SEEDS)
                limit = limit or seconds
                starts = max(1, round(STARTS * limit / seconds))
                value = (
                    ten if starts == STARTS else _mean_cut(relaxation, graph, eta, starts, SEEDS)[0]
                )
                row[choice] = {"cut": value, "starts": starts, "seconds_of_ten": seconds}
            rows.append(row)
            ratio = row["adaptive"]["cut"] / row["grid"]["cut"]
            print(f"{name}, {c}, {cut}: adaptive / grid {ratio:.4f}", flush=True)
    return {"rows": rows, "means": _means(rows)}


def _mean_cut(
    relaxation: leastcut.Relaxation, graph: sp.csr_array, eta: Any, starts: int, seeds: int
) -> tuple[float, float]:
    """Return the mean cut value over the seeds, and the CPU seconds of one run."""
    begin = time.process_time()
    values = [
        leastcut.discretize(
            relaxation, eta=eta, graph=graph, n_init=starts, random_state=seed
        ).cut_value
        for seed in range(seeds)
    ]
    return float(np.mean(values)), (time.process_time() - begin) / seeds


def _means(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return mean ratios to the grid, wins and losses, for both halves of the graphs."""
    means: dict[str, Any] = {}
    for group, seen in (("looked at", True), ("others", False)):
        chosen = [row for row in rows if row["was_looked_at"] is seen]
        if not chosen:
            continue
        means[group] = {"cells": len(chosen)}
        for choice in list(CHOICES)[1:]:
            ratios = np.array([row[choice]["cut"] / row["grid"]["cut"] for row in chosen])
            means[group][choice] = {
                "mean": float(np.exp(np.mean(np.log(ratios)))),
                "smaller": int(np.sum(ratios < 1 - 1e-3)),
                "larger": int(np.sum(ratios > 1 + 1e-3)),
            }
    return means

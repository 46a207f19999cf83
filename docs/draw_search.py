"""Plot one multilevel pass on a small graph, for ``partition.md``, into ``search.svg``.

Levels, first labels and moves come from the functions of the package, on points in the plane. The
top row shows coarsening; the bottom row, from right to left, shows refinement.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import leastcut
from leastcut.multilevel.coarsening import agglomerate, build
from leastcut.multilevel.refinement import refine_problem
from leastcut.problem import Problem, as_problem
from leastcut.report.figures import BLUE, INK, ORANGE, SOFT, STYLE, TEAL

DOCS = Path(__file__).parent
N_POINTS, N_CLUSTERS, SMALLEST, SEED = 260, 3, 24, 44
WIDTHS = 4
"""Number of line widths."""

LOOKS = ((BLUE, "o"), (ORANGE, "s"), (TEAL, "^"))
"""Color and marker of every cluster, which differ in black and white, too."""


def plot_level(axis: Any, problem: Problem, places: np.ndarray, labels: np.ndarray | None) -> None:
    """Plot a level: the area of a node is its weight, and cut edges are dark."""
    rows, cols, weights = problem.graph.rows, problem.graph.indices, problem.graph.weights
    once = rows < cols
    rows, cols, weights = rows[once], cols[once], weights[once]
    is_cut = np.zeros(rows.size, bool) if labels is None else labels[rows] != labels[cols]
    # Lines of similar width are one curve with gaps, which keeps the file small.
    width = np.ceil(WIDTHS * weights / weights.max())
    for here, color, opaque in ((~is_cut, SOFT, 0.35), (is_cut, INK, 1.0)):
        for thick in np.unique(width[here]):
            these = here & (width == thick)
            gap = np.full((int(these.sum()), 1, 2), np.nan)
            ends = np.stack([places[rows[these]], places[cols[these]]], axis=1)
            line = np.concatenate([ends, gap], axis=1).reshape(-1, 2)
            axis.plot(*line.T, color=color, lw=0.4 + 0.6 * thick, alpha=opaque, zorder=1)
    sizes = np.round(np.sqrt(3000 * problem.node_weights / problem.node_weights.sum() + 4))
    for k, (color, mark) in enumerate(LOOKS):
        members = np.full(sizes.size, k == 0) if labels is None else labels == k
        looks = (SOFT, "o") if labels is None else (color, mark)
        for size in np.unique(sizes[members]):
            here = places[members & (sizes == size)]
            axis.plot(*here.T, looks[1], color=looks[0], ms=size, mew=0.5, mec="white", zorder=2)
    axis.set_axis_off()
    axis.set_aspect("equal")


def aggregated(places: np.ndarray, problem: Problem, parent: np.ndarray) -> np.ndarray:
    """Return the positions of aggregates: the weighted means of their nodes."""
    weights = problem.node_weights
    total = np.bincount(parent, weights)
    return np.stack([np.bincount(parent, weights * x) / total for x in places.T], axis=1)


def main() -> None:
    """Plot the pass."""
    rng = np.random.default_rng(SEED)
    X = rng.uniform(size=(N_POINTS, 2)) * (1.5, 1.0)
    finest = as_problem(leastcut.adaptive_neighbors_graph(X, n_neighbors=7), "normalized")

    # 1. Coarsen until few nodes are left.
    steps = build(finest, rng, SMALLEST)
    levels, places = [finest], [X]
    for step in steps:
        places.append(aggregated(places[-1], levels[-1], step.parent))
        levels.append(step.problem)

    # 2. Cut the smallest level by greedy merging.
    labels = np.arange(N_CLUSTERS)
    for step in reversed(agglomerate(levels[-1], N_CLUSTERS) or []):
        labels = labels[step.parent]

    # 3. Project labels to finer levels, and refine them.
    results = []
    for depth in range(len(levels) - 1, -1, -1):
        before = levels[depth].value(labels)
        labels = refine_problem(levels[depth], labels).labels
        results.insert(0, (labels, before, levels[depth].value(labels)))
        labels = labels[steps[depth - 1].parent] if depth else labels

    with plt.rc_context({**STYLE, "font.size": 13, "axes.titlesize": 13}):
        shown = (0, 1, len(levels) - 1)
        figure, axes = plt.subplots(2, len(shown), figsize=(3.7 * len(shown), 6.0))
        for (top, bottom), depth in zip(axes.T, shown, strict=True):
            level = levels[depth]
            plot_level(top, level, places[depth], None)
            words = f"{level.n_nodes} nodes"
            top.set_title(words if depth == 0 else f"coarsened to {words}")
            moved, before, after = results[depth]
            plot_level(bottom, level, places[depth], moved)
            step = "merged" if depth == len(levels) - 1 else "projected"
            bottom.set_title(f"{step}: cut {before:.4f}, refined: {after:.4f}")
        figure.tight_layout(h_pad=2.0)
        figure.savefig(DOCS / "search.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()

"""Laws of anchor graphs: exact values, and answers that do not depend on where samples lie."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import leastcut
from fuzz.cases import PointsCase
from fuzz.outcome import close, only_if, require, shown

UNITS = 2**22
"""Weights are whole numbers, divided by this one."""

VALUE_SLACK = Fraction(1, 10**12)
FALL_SLACK = 1.0 + 1e-11
GRAPH = "graph = leastcut.anchor_graph(X, **options)"


def value_is_exact(case: PointsCase) -> None:
    """The cut value of labels on an anchor graph is that of the edges Z Λ⁻¹ Zᵀ, exactly."""
    graph = built(case)
    labels = labels_of(case, graph)
    true = exact_value(graph, labels)
    got = leastcut.cut_value(graph, labels)
    require(close(got, true, VALUE_SLACK, 2 * case.n), f"{got!r}, and truly {shown(true)}", GRAPH)
    found = cut(case, graph)
    true = exact_value(graph, found.labels)
    require(
        close(found.cut_value, true, VALUE_SLACK, 2 * case.n),
        f"{found.cut_value!r} is reported for labels of {shown(true)}",
        GRAPH,
    )
    require(
        set(found.labels.tolist()) == set(range(clusters_of(case, graph))),
        f"clusters {np.unique(found.labels)[:20].tolist()}",
        GRAPH,
    )


def sources_do_not_matter(case: PointsCase) -> None:
    """Samples in an array, a mapped file, a file or slices have one anchor graph, in any blocks."""
    graph = built(case)
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "X.npy"
        np.save(path, case.X)
        others = {
            "columns": np.asfortranarray(case.X),
            "file": path,
            "map": np.load(path, mmap_mode="r"),
            "slices": Sliced(case.X),
        }
        for name, X in others.items():
            require_equal(graph, built(case, X), f"samples as {name} have another graph")
    # Blocks change labels but not the graph.
    whole = built(case, block_rows=case.n)
    require(np.array_equal(graph.masses, whole.masses), "blocks change masses", GRAPH)
    require((graph.weights != whole.weights).nnz == 0, "blocks change the weights", GRAPH)


def folder_does_not_matter(case: PointsCase) -> None:
    """A folder gives the same graph and labels, again and after other calls, and only to its X."""
    graph = built(case)
    alone = {effort: cut(case, graph, effort=effort) for effort in ("balanced", "fast")}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "run"
        for _ in range(2):
            filed = built(case, folder=folder)
            require_equal(graph, filed, "a folder has another graph")
            for effort, expected in alone.items():
                found = cut(case, filed, effort=effort)
                require(
                    np.array_equal(found.labels, expected.labels),
                    f"effort={effort!r} has other labels in a folder",
                    GRAPH,
                )
        changed = case.X.copy()
        row = case.number % case.n
        changed[row, 0] = np.nextafter(changed[row, 0], 0.0) if changed[row, 0] else 1.0
        try:
            built(case, changed, folder=folder)
        except ValueError as error:
            require("holds another run" in str(error), str(error), GRAPH)
        else:
            require(False, f"row {row} has changed, and the folder is accepted", GRAPH)


def effort_never_hurts(case: PointsCase) -> None:
    """More effort on an anchor graph never gives a larger value, with the same seed."""
    graph = built(case)
    efforts = ("fast", "auto", "balanced", "thorough")[: 4 if case.n <= 30 else 3]
    values = [cut(case, graph, effort=effort).cut_value for effort in efforts]
    for less, more in pairwise(values):
        require(more <= less * FALL_SLACK, f"values {values} of efforts {efforts}", GRAPH)


def refinement_never_hurts(case: PointsCase) -> None:
    """`refine` on an anchor graph reports the exact value of its labels, never a larger one."""
    graph = built(case)
    labels = labels_of(case, graph)
    found = leastcut.refine(graph, labels)
    before, after = exact_value(graph, labels), exact_value(graph, found.labels)
    require(after <= before * (1 + VALUE_SLACK), f"{shown(before)} became {shown(after)}", GRAPH)
    require(
        close(found.cut_value, after, VALUE_SLACK, 2 * case.n),
        f"{found.cut_value!r} is reported for labels of {shown(after)}",
        GRAPH,
    )
    again = leastcut.refine(graph, found.labels)
    require(np.array_equal(again.labels, found.labels), "refined labels are refined further", GRAPH)


def threads_do_not_matter(case: PointsCase) -> None:
    """One thread and three give the same anchor graph and the same labels."""
    one, three = built(case, n_jobs=1), built(case, n_jobs=3)
    require_equal(one, three, "three threads have another graph")
    labels = [cut(case, graph, n_jobs=jobs).labels for graph, jobs in ((one, 1), (three, 3))]
    require(np.array_equal(*labels), "three threads have other labels", GRAPH)


class Sliced:
    """Samples of another library: read when they are sliced."""

    def __init__(self, array: np.ndarray) -> None:
        self._array, self.shape, self.dtype = array, array.shape, array.dtype

    def __getitem__(self, rows: slice) -> np.ndarray:
        return self._array[rows]


def built(case: PointsCase, X: Any = None, **changes: Any) -> leastcut.AnchorGraph:
    """Return the anchor graph of a case."""
    only_if(case.n >= 4)
    n_anchors = 3 + case.number % (case.n - 3)
    options = {
        "n_anchors": n_anchors,
        "n_neighbors": min(case.n_neighbors, n_anchors - 1),
        "random_state": case.settings["random_state"],
        "block_rows": 1 + case.seed % 7 + case.number % case.n,
        "n_jobs": 1,
        **changes,
    }
    return leastcut.anchor_graph(case.X if X is None else X, **options)


def clusters_of(case: PointsCase, graph: leastcut.AnchorGraph) -> int:
    """Return a number of clusters that the graph can have."""
    nearest = np.concatenate(
        [graph.store.load(number).anchors[:, 0] for number in range(len(graph.store.sizes))]
    )
    return min(case.n_clusters, np.unique(nearest).size)


def labels_of(case: PointsCase, graph: leastcut.AnchorGraph) -> np.ndarray:
    """Return random labels, every cluster among them."""
    count = clusters_of(case, graph)
    labels = np.random.default_rng([case.seed % 2**32, case.number]).integers(count, size=case.n)
    labels[:count] = np.arange(count)
    return labels


def cut(case: PointsCase, graph: leastcut.AnchorGraph, **options: Any) -> leastcut.Partition:
    """Cut the graph of a case, quickly unless another effort is asked for."""
    seed = case.settings["random_state"]
    options = {"effort": "fast", "random_state": seed, "lower_bound": False, **options}
    return leastcut.partition(graph, clusters_of(case, graph), **options)


def exact_value(graph: leastcut.AnchorGraph, labels: np.ndarray) -> Fraction:
    """Return the cut value in rational arithmetic, from the edges Z Λ⁻¹ Zᵀ themselves."""
    Z = [[0] * graph.n_anchors for _ in labels]
    row = 0
    for number in range(len(graph.store.sizes)):
        block = graph.store.load(number)
        for anchors, weights in zip(block.anchors, block.weights, strict=True):
            for j, w in zip(anchors.tolist(), weights.tolist(), strict=True):
                units = w * UNITS
                require(units >= 0 and units == int(units), f"a weight is {w!r}", GRAPH)
                Z[row][j] += int(units)
            require(sum(Z[row]) == UNITS, f"weights of row {row} do not add up to 1", GRAPH)
            row += 1
    masses = [sum(column) for column in zip(*Z, strict=True)]
    require(
        [Fraction(m, UNITS) for m in masses] == [Fraction(m) for m in graph.masses.tolist()],
        "masses are not the sums of weights",
        GRAPH,
    )
    used = [j for j, mass in enumerate(masses) if mass]
    count = int(labels.max()) + 1
    boundary = [Fraction(0)] * count
    # Every edge through every anchor, between points of different clusters.
    for j in used:
        tied = [(row[j], k) for row, k in zip(Z, labels.tolist(), strict=True) if row[j]]
        leaving = [0] * count
        for w, k in tied:
            leaving[k] += sum(w * other for other, cluster in tied if cluster != k)
        for k in range(count):
            boundary[k] += Fraction(leaving[k], masses[j] * UNITS)
    sizes = np.bincount(labels, minlength=count).tolist()
    return sum((b / size for b, size in zip(boundary, sizes, strict=True)), Fraction(0))


def require_equal(graph: leastcut.AnchorGraph, other: leastcut.AnchorGraph, message: str) -> None:
    """Raise unless every number of two graphs is the same."""
    require(graph.store.sizes == other.store.sizes, message, GRAPH)
    pairs = [(graph.anchors, other.anchors), (graph.masses, other.masses)]
    for number in range(len(graph.store.sizes)):
        pairs += list(zip(graph.store.load(number), other.store.load(number), strict=True))
    same = all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)
    require(same, message, GRAPH)

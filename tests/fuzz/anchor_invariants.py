"""Invariants of anchor graphs."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import leastcut
from fuzz.cases import PointsCase
from fuzz.outcome import assume, close, require, shown

UNITS = 2**22
"""Weights are integers divided by this number."""

VALUE_SLACK = Fraction(1, 10**12)
FALL_SLACK = 1.0 + 1e-11
GRAPH = "graph = leastcut.anchor_graph(X, **options)"


def value_is_exact(case: PointsCase) -> None:
    """The cut value on an anchor graph is that of the edges Z Λ⁻¹ Zᵀ, to 1e-12."""
    graph = built(case)
    labels = labels_of(case, graph)
    expected = exact_value(graph, labels)
    value = leastcut.cut_value(graph, labels)
    require(
        close(value, expected, VALUE_SLACK, 2 * case.n),
        f"cut_value is {value!r}, expected {shown(expected)}",
        GRAPH,
    )
    result = cut(case, graph)
    expected = exact_value(graph, result.labels)
    require(
        close(result.cut_value, expected, VALUE_SLACK, 2 * case.n),
        f"partition reports {result.cut_value!r}, expected {shown(expected)}",
        GRAPH,
    )
    require(
        set(result.labels.tolist()) == set(range(clusters_of(case, graph))),
        f"clusters {np.unique(result.labels)[:20].tolist()}",
        GRAPH,
    )


def sources_do_not_matter(case: PointsCase) -> None:
    """Arrays, memory maps, files and slices give the same anchor graph, in blocks of any size."""
    graph = built(case)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "X.npy"
        np.save(path, case.X)
        others = {
            "columns": np.asfortranarray(case.X),
            "file": path,
            "map": np.load(path, mmap_mode="r"),
            "slices": Sliced(case.X),
        }
        for name, X in others.items():
            require_equal(graph, built(case, X), f"samples as {name} give another graph")
    # Blocks may change labels but not the graph.
    single = built(case, block_rows=case.n)
    require(np.array_equal(graph.masses, single.masses), "blocks change masses", GRAPH)
    require((graph.weights != single.weights).nnz == 0, "blocks change the weights", GRAPH)


def folder_does_not_matter(case: PointsCase) -> None:
    """A run folder gives the same graph and labels again, and is only accepted for its own X."""
    graph = built(case)
    in_memory = {effort: cut(case, graph, effort=effort) for effort in ("balanced", "fast")}
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory) / "run"
        for _ in range(2):
            stored = built(case, folder=folder)
            require_equal(graph, stored, "a folder gives another graph")
            for effort, expected in in_memory.items():
                result = cut(case, stored, effort=effort)
                require(
                    np.array_equal(result.labels, expected.labels),
                    f"effort={effort!r} gives other labels in a folder",
                    GRAPH,
                )
        changed = case.X.copy()
        row = case.number % case.n
        changed[row, 0] = np.nextafter(changed[row, 0], 0.0) if changed[row, 0] else 1.0
        try:
            built(case, changed, folder=folder)
        except ValueError as error:
            require("has another run" in str(error), str(error), GRAPH)
        else:
            require(False, f"the folder is accepted although row {row} has changed", GRAPH)


def effort_never_hurts(case: PointsCase) -> None:
    """On an anchor graph, more effort never gives a larger cut value with the same seed."""
    graph = built(case)
    efforts = ("fast", "auto", "balanced", "thorough")[: 4 if case.n <= 30 else 3]
    values = [cut(case, graph, effort=effort).cut_value for effort in efforts]
    for less, more in pairwise(values):
        require(more <= less * FALL_SLACK, f"values {values} of efforts {efforts}", GRAPH)


def refinement_never_hurts(case: PointsCase) -> None:
    """On an anchor graph, `refine` never increases the cut value and reports it to 1e-12."""
    graph = built(case)
    labels = labels_of(case, graph)
    result = leastcut.refine(graph, labels)
    before, after = exact_value(graph, labels), exact_value(graph, result.labels)
    require(after <= before * (1 + VALUE_SLACK), f"{shown(before)} became {shown(after)}", GRAPH)
    require(
        close(result.cut_value, after, VALUE_SLACK, 2 * case.n),
        f"refine reports {result.cut_value!r}, expected {shown(after)}",
        GRAPH,
    )
    again = leastcut.refine(graph, result.labels)
    require(np.array_equal(again.labels, result.labels), "refining again changes labels", GRAPH)


def threads_do_not_matter(case: PointsCase) -> None:
    """One and three threads give the same anchor graph and the same labels."""
    one, three = built(case, n_jobs=1), built(case, n_jobs=3)
    require_equal(one, three, "three threads give another graph")
    labels = [cut(case, graph, n_jobs=jobs).labels for graph, jobs in ((one, 1), (three, 3))]
    require(np.array_equal(*labels), "three threads give other labels", GRAPH)


class Sliced:
    """Samples that are read by slicing, as objects of other libraries."""

    def __init__(self, array: np.ndarray) -> None:
        self._array, self.shape, self.dtype = array, array.shape, array.dtype

    def __getitem__(self, rows: slice) -> np.ndarray:
        return self._array[rows]


def built(case: PointsCase, X: Any = None, **changes: Any) -> leastcut.AnchorGraph:
    """Return the anchor graph of a case."""
    assume(case.n >= 4)
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
    """Return a feasible number of clusters."""
    nearest = np.concatenate(
        [graph.store.load(number).anchors[:, 0] for number in range(len(graph.store.sizes))]
    )
    return min(case.n_clusters, np.unique(nearest).size)


def labels_of(case: PointsCase, graph: leastcut.AnchorGraph) -> np.ndarray:
    """Return random labels without empty clusters."""
    count = clusters_of(case, graph)
    labels = np.random.default_rng([case.seed % 2**32, case.number]).integers(count, size=case.n)
    labels[:count] = np.arange(count)
    return labels


def cut(case: PointsCase, graph: leastcut.AnchorGraph, **options: Any) -> leastcut.Partition:
    """Partition the graph of a case, by default with ``effort="fast"``."""
    seed = case.settings["random_state"]
    options = {"effort": "fast", "random_state": seed, "lower_bound": False, **options}
    return leastcut.partition(graph, clusters_of(case, graph), **options)


def exact_value(graph: leastcut.AnchorGraph, labels: np.ndarray) -> Fraction:
    """Return the cut value in rational arithmetic, from the explicit edges Z Λ⁻¹ Zᵀ."""
    Z = [[0] * graph.n_anchors for _ in labels]
    row = 0
    for number in range(len(graph.store.sizes)):
        block = graph.store.load(number)
        for anchors, weights in zip(block.anchors, block.weights, strict=True):
            for j, w in zip(anchors.tolist(), weights.tolist(), strict=True):
                units = w * UNITS
                require(units >= 0 and units == int(units), f"a weight is {w!r}", GRAPH)
                Z[row][j] += int(units)
            require(sum(Z[row]) == UNITS, f"the weights of row {row} do not sum to 1", GRAPH)
            row += 1
    masses = [sum(column) for column in zip(*Z, strict=True)]
    require(
        [Fraction(m, UNITS) for m in masses] == [Fraction(m) for m in graph.masses.tolist()],
        "masses differ from the sums of weights",
        GRAPH,
    )
    used = [j for j, mass in enumerate(masses) if mass]
    count = int(labels.max()) + 1
    boundary = [Fraction(0)] * count
    # Sum the edges through each anchor between points of different clusters.
    for j in used:
        points = [(row[j], k) for row, k in zip(Z, labels.tolist(), strict=True) if row[j]]
        leaving = [0] * count
        for w, k in points:
            leaving[k] += sum(w * other for other, cluster in points if cluster != k)
        for k in range(count):
            boundary[k] += Fraction(leaving[k], masses[j] * UNITS)
    sizes = np.bincount(labels, minlength=count).tolist()
    return sum((b / size for b, size in zip(boundary, sizes, strict=True)), Fraction(0))


def require_equal(graph: leastcut.AnchorGraph, other: leastcut.AnchorGraph, message: str) -> None:
    """Raise unless two graphs are equal."""
    require(graph.store.sizes == other.store.sizes, message, GRAPH)
    pairs = [(graph.anchors, other.anchors), (graph.masses, other.masses)]
    for number in range(len(graph.store.sizes)):
        pairs += list(zip(graph.store.load(number), other.store.load(number), strict=True))
    same = all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)
    require(same, message, GRAPH)

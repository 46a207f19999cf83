"""One cell run: from (experiment, dataset, cut, method, parameters, seed) to its record."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import firstcut
from firstcut.paper.data.printed import split_name
from firstcut.paper.runs.certificates import certificate
from firstcut.paper.runs.experiments import SINGLE_STARTS, Cell
from firstcut.paper.runs.methods import N_INIT
from firstcut.paper.runs.protocol import Problem, graph_of, problem
from firstcut.paper.runs.records import N_DIGITS, Record
from firstcut.paper.runs.small_graphs import example, missed
from firstcut.paper.runs.theorems import first_theorem, second_theorem
from firstcut.validation import number_by_appearance

Found = tuple[np.ndarray, int, dict[str, Any]]
"""Labels, iterations, and what else is worth a field."""


def _discretized(
    problem: Problem, method: str, seed: int, judge: str, **options: Any
) -> firstcut.Discretization:
    """Discretize, the starts judged by the method's own loss or, with the graph, by the cut."""
    graph = {"graph": problem.graph} if judge == "cut" else {}
    return firstcut.discretize(problem.relaxation, method, random_state=seed, **graph, **options)


def _discretizer(method: str) -> Callable[..., Found]:
    """Return the labeller of a method that ``firstcut.discretize`` knows."""

    def run(problem: Problem, seed: int, *, judge: str, **options: Any) -> Found:
        found = _discretized(problem, method, seed, judge, **options)
        return found.labels, found.n_iter, {} if found.eta is None else {"eta": found.eta}

    return run


def _refined(problem: Problem, seed: int, *, judge: str, **options: Any) -> Found:
    found = _discretized(problem, "first_order", seed, judge, **options)
    refined = firstcut.refine(problem.graph, found.labels, problem.cut)
    return refined.labels, found.n_iter, {"eta": found.eta}


def _direct(problem: Problem, seed: int, *, n_init: int) -> Found:
    found = firstcut.direct_cut(
        problem.graph, problem.n_clusters, problem.cut, n_init=n_init, random_state=seed
    )
    return found.labels, found.n_iter, {}


def _partition(problem: Problem, seed: int, *, effort: str) -> Found:
    found = firstcut.partition(
        problem.graph, problem.n_clusters, problem.cut, effort=effort, random_state=seed
    )
    return found.labels, 0, {}


def _exact(problem: Problem, seed: int) -> Found:
    found = firstcut.exact_partition(problem.graph, problem.n_clusters, problem.cut)
    return found.labels, 0, {}


LABELLERS: dict[str, Callable[..., Found]] = {
    "kmeans": _discretizer("kmeans"),
    "kmeans_norm": _discretizer("kmeans_norm"),
    "rotation": _discretizer("rotation"),
    "improved_rotation": _discretizer("improved_rotation"),
    "first_order": _discretizer("first_order"),
    "first_order+refine": _refined,
    "direct_cut": _direct,
    "partition": _partition,
    "exact_partition": _exact,
}
"""Every method that gives labels."""


def measure(cell: Cell, data: str | None = None) -> Record:
    """Run a cell and return its record.

    Parameters
    ----------
    cell : Cell
    data : str, optional
        Folder of datasets.

    Returns
    -------
    dict
        The fields of its key, what was measured, and the seconds that it took.
    """
    # its key comes first, so that a line of the file begins with what it is
    record: Record = {
        "experiment": cell.experiment,
        "dataset": cell.dataset,
        "cut": cell.cut,
        "method": cell.method,
        "parameters": dict(cell.parameters),
        "seed": cell.seed,
    }
    # most experiments measure labels; the others have a function of their own
    special = SPECIAL.get(cell.experiment)
    if special is not None:
        record.update(special(cell, data))
    elif cell.method == "relax":
        record.update(_relaxed(cell, data))
    else:
        record.update(_labelled(cell, data))
    # a time is never the same twice; more digits would only make the records longer
    record["seconds"] = float(f"{record['seconds']:.3g}")
    return {name: _compact(value) for name, value in record.items()}


def _labelled(cell: Cell, data: str | None) -> Record:
    """Measure a method that gives labels; the time is without the graph and its relaxation."""
    shared = problem(cell.dataset, cell.cut, data)
    begin = time.perf_counter()
    # only the method is timed: graph and relaxation are shared, the scores not its work
    labels, iterations, more = LABELLERS[cell.method](shared, cell.seed, **cell.parameters)
    seconds = time.perf_counter() - begin
    return {
        "value": firstcut.cut_value(shared.graph, labels, cell.cut),
        "accuracy": firstcut.clustering_accuracy(shared.classes, labels),
        "nmi": firstcut.normalized_mutual_info(shared.classes, labels),
        "iterations": iterations,
        "seconds": seconds,
        "labels": _hash(labels),
        **more,
    }


def _relaxed(cell: Cell, data: str | None) -> Record:
    """Measure the lower bound, the sum of the c smallest eigenvalues: the paper's OPT_r."""
    shared = problem(cell.dataset, cell.cut, data)
    relaxation = shared.relaxation
    return {
        "value": float(relaxation.eigenvalues.sum()),
        "seconds": shared.seconds,
        "largest": float(relaxation.eigenvalues[-1]),  # λ_c, on whose scale η is to be seen
        "solver": relaxation.solver,
    }


def _loaded(cell: Cell, data: str | None) -> Record:
    """Measure a dataset and its graph."""
    begin = time.perf_counter()
    graph, classes, n_features = graph_of(cell.dataset, data)
    return {
        "value": float(graph.sum()),
        "seconds": time.perf_counter() - begin,
        "shape": [int(graph.shape[0]), n_features, int(classes.max()) + 1],
        "stored": int(graph.nnz),
        "components": _n_components(graph),
    }


def _n_components(graph: Any) -> int:
    from scipy.sparse.csgraph import connected_components

    return int(connected_components(graph, directed=False)[0])


def _theorem(cell: Cell, data: str | None) -> Record:
    """Measure a theorem; for the optimum and the closest solution stand the best ones found."""
    shared = problem(cell.dataset, cell.cut, data)
    if cell.method == "theorem 1":
        name = cell.parameters["labels"]
        begin = time.perf_counter()
        found = _discretized(shared, name, cell.seed, "loss", n_init=N_INIT)
        measured = first_theorem(shared, found.labels)
    else:
        closest = _discretized(shared, "improved_rotation", cell.seed, "loss", n_init=N_INIT)
        begin = time.perf_counter()
        best, _, _ = _partition(shared, cell.seed, **cell.parameters)
        measured = second_theorem(shared, best, closest.labels)
    return {**measured, "seconds": time.perf_counter() - begin}


def _certified(cell: Cell, data: str | None) -> Record:
    """Measure how small the cut can be, proven; the time is that of the proof alone."""
    shared = problem(cell.dataset, cell.cut, data)
    best, _, _ = _partition(shared, cell.seed, effort=cell.parameters["effort"])
    found = certificate(shared, best, cell.parameters["time_limit"], cell.seed)
    return {**found, "labels": _hash(found["labels"])}


def _converging(cell: Cell, data: str | None) -> Record:
    """Measure a method that gives labels, and keep its loss after every iteration."""
    shared = problem(cell.dataset, cell.cut, data)
    begin = time.perf_counter()
    found = _discretized(shared, cell.method, cell.seed, **cell.parameters)
    return {
        "value": firstcut.cut_value(shared.graph, found.labels, cell.cut),
        "iterations": found.n_iter,
        "seconds": time.perf_counter() - begin,
        "labels": _hash(found.labels),
        "history": [float(loss) for loss in found.history],
    }


def _single_starts(cell: Cell, data: str | None) -> Record:
    """Measure every start of a method by itself: where do they end, and how often there?"""
    shared = problem(cell.dataset, cell.cut, data)
    options = {name: value for name, value in cell.parameters.items() if name != "starts"}
    begin = time.perf_counter()
    found = []
    # start number s has seed s, in every method and dataset
    for seed in range(cell.parameters["starts"]):
        if cell.parameters.get("rotation") == "identity":
            # random labels too: a rotation alone fixes the start, and all would be the same one
            options["rotation"] = np.eye(shared.n_clusters)
            options["init"] = _any_labels(shared, seed)
        found.append(_discretized(shared, cell.method, seed, **options).labels)
    seconds = time.perf_counter() - begin
    values = [firstcut.cut_value(shared.graph, labels, cell.cut) for labels in found]
    matched = [firstcut.clustering_accuracy(shared.classes, labels) for labels in found]
    informed = [firstcut.normalized_mutual_info(shared.classes, labels) for labels in found]
    return {
        "value": float(np.median(values)),
        # of one start
        "seconds": seconds / len(found),
        # five digits tell which printed number it is; there are fifty of each in every record
        "values": [float(f"{value:.5g}") for value in values],
        "accuracies": [float(f"{value:.5g}") for value in matched],
        "nmis": [float(f"{value:.5g}") for value in informed],
    }


def _any_labels(shared: Problem, seed: int) -> np.ndarray:
    """Return random labels, clusters of about equal size."""
    n = shared.graph.shape[0]
    return np.random.default_rng(seed).permutation(np.arange(n) % shared.n_clusters)


def _random(cell: Cell, data: str | None) -> Record:
    """Measure how often a method misses the optimum of random graphs; the seed makes the graphs."""
    begin = time.perf_counter()
    n_nodes = split_name(cell.dataset)[1]
    assert n_nodes is not None
    misses = missed(n_nodes, cell.method, cell.parameters, cell.seed)
    rate = misses / cell.parameters["graphs"]
    return {"value": rate, "misses": misses, "seconds": time.perf_counter() - begin}


def _example(cell: Cell, data: str | None) -> Record:
    """Measure the paper's 4-node example, all of it by enumeration."""
    begin = time.perf_counter()
    return {**example(), "seconds": time.perf_counter() - begin}


SPECIAL: dict[str, Callable[[Cell, str | None], Record]] = {
    "datasets": _loaded,
    "theorems": _theorem,
    "certificates": _certified,
    "convergence": _converging,
    SINGLE_STARTS: _single_starts,
    "random": _random,
    "motivation": _example,
}
"""Experiments whose records are not the cut value of some labels."""


def _hash(labels: np.ndarray) -> str:
    """Return a hash of a partition: the same for the same clusters, however they are numbered."""
    # bytes in one order, so that other machines get the same hash
    return hashlib.sha256(number_by_appearance(labels).astype("<i8").tobytes()).hexdigest()[:12]


def _compact(value: Any) -> Any:
    """Return numbers with the digits that records have."""
    if isinstance(value, float):
        return float(f"{value:.{N_DIGITS}g}")
    if isinstance(value, list):
        return [_compact(entry) for entry in value]
    return value

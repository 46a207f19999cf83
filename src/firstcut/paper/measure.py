"""One cell run: from (experiment, dataset, cut, method, parameters, seed) to its record."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import firstcut
from firstcut.paper.experiments import Cell
from firstcut.paper.protocol import Problem, graph_of, problem
from firstcut.paper.records import Record
from firstcut.paper.theorems import first_theorem, second_theorem
from firstcut.paper.toys import example, missed

Found = tuple[np.ndarray, int, dict[str, Any]]
"""Labels, iterations, and what else is worth a field."""


def _discretized(
    problem: Problem, method: str, seed: int, judge: str, **options: Any
) -> firstcut.Discretization:
    graph = {"graph": problem.graph} if judge == "cut" else {}
    return firstcut.discretize(problem.relaxation, method, random_state=seed, **graph, **options)


def _discretizer(method: str) -> Callable[..., Found]:
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
    """
    record: Record = {
        "experiment": cell.experiment,
        "dataset": cell.dataset,
        "cut": cell.cut,
        "method": cell.method,
        "parameters": dict(cell.parameters),
        "seed": cell.seed,
    }
    special = SPECIAL.get(cell.experiment)
    if special is not None:
        record.update(special(cell, data))
    elif cell.method == "relax":
        record.update(_relaxed(cell, data))
    else:
        record.update(_labelled(cell, data))
    record["seconds"] = float(f"{record['seconds']:.3g}")
    return {name: _compact(value) for name, value in record.items()}


def _labelled(cell: Cell, data: str | None) -> Record:
    shared = problem(cell.dataset, cell.cut, data)
    begin = time.perf_counter()
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
    shared = problem(cell.dataset, cell.cut, data)
    relaxation = shared.relaxation
    return {
        "value": float(relaxation.eigenvalues.sum()),
        "seconds": shared.seconds,
        "largest": float(relaxation.eigenvalues[-1]),
        "solver": relaxation.solver,
    }


def _loaded(cell: Cell, data: str | None) -> Record:
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
    shared = problem(cell.dataset, cell.cut, data)
    closest = _discretized(shared, "improved_rotation", cell.seed, "loss", n_init=10)
    begin = time.perf_counter()
    if cell.method == "theorem 1":
        name = cell.parameters["labels"]
        found = _discretized(shared, name, cell.seed, "loss", n_init=10)
        measured = first_theorem(shared, found.labels)
    else:
        labels, _, _ = _partition(shared, cell.seed, **cell.parameters)
        measured = second_theorem(shared, labels, closest.labels)
    return {**measured, "seconds": time.perf_counter() - begin}


def _converging(cell: Cell, data: str | None) -> Record:
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


def _spread(cell: Cell, data: str | None) -> Record:
    shared = problem(cell.dataset, cell.cut, data)
    options = {name: value for name, value in cell.parameters.items() if name != "starts"}
    begin = time.perf_counter()
    found = []
    for seed in range(cell.parameters["starts"]):
        if cell.parameters.get("rotation") == "identity":
            options["rotation"] = np.eye(shared.n_clusters)
            options["init"] = _any_labels(shared, seed)
        found.append(_discretized(shared, cell.method, seed, **options).labels)
    seconds = time.perf_counter() - begin
    values = [firstcut.cut_value(shared.graph, labels, cell.cut) for labels in found]
    matched = [firstcut.clustering_accuracy(shared.classes, labels) for labels in found]
    shared_information = [firstcut.normalized_mutual_info(shared.classes, each) for each in found]
    return {
        "value": float(np.median(values)),
        "seconds": seconds / len(found),
        "values": [float(f"{value:.5g}") for value in values],
        "accuracies": [float(f"{value:.5g}") for value in matched],
        "nmis": [float(f"{value:.5g}") for value in shared_information],
    }


def _any_labels(shared: Problem, seed: int) -> np.ndarray:
    """Return random labels, clusters of about equal size."""
    n = shared.graph.shape[0]
    return np.random.default_rng(seed).permutation(np.arange(n) % shared.n_clusters)


def _random(cell: Cell, data: str | None) -> Record:
    begin = time.perf_counter()
    n_nodes = int(cell.dataset.partition(":")[2])
    misses = missed(n_nodes, cell.method, cell.parameters, cell.seed)
    rate = misses / cell.parameters["graphs"]
    return {"value": rate, "misses": misses, "seconds": time.perf_counter() - begin}


def _example(cell: Cell, data: str | None) -> Record:
    begin = time.perf_counter()
    return {**example(), "seconds": time.perf_counter() - begin}


SPECIAL: dict[str, Callable[[Cell, str | None], Record]] = {
    "datasets": _loaded,
    "theorems": _theorem,
    "convergence": _converging,
    "spread": _spread,
    "random": _random,
    "motivation": _example,
}
"""Experiments whose records are not the cut value of some labels."""


def _hash(labels: np.ndarray) -> str:
    """Return a hash of a partition: the same for the same clusters, however they are numbered."""
    _, first, renumbered = np.unique(labels, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))
    return hashlib.sha256(order[renumbered].astype("<i8").tobytes()).hexdigest()[:12]


def _compact(value: Any) -> Any:
    """Return numbers with 9 significant digits: all that is reproducible of them."""
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, list):
        return [_compact(entry) for entry in value]
    return value

"""One cell run: from (experiment, dataset, cut, method, parameters, seed) to its record."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import leastcut
from leastcut.paper.data.printed import split_name
from leastcut.paper.runs.certificates import certificate
from leastcut.paper.runs.experiments import (
    EVIDENCE,
    IMPLICATION,
    SEARCH,
    TINY_EVIDENCE,
    Cell,
)
from leastcut.paper.runs.implication import implied
from leastcut.paper.runs.labellers import LABELLERS, discretized, hash_of, partitioned
from leastcut.paper.runs.methods import N_INIT
from leastcut.paper.runs.protocol import Problem, graph_of, problem
from leastcut.paper.runs.records import N_DIGITS, Record
from leastcut.paper.runs.repeated import for_many_seeds, for_many_signs
from leastcut.paper.runs.small_graphs import example, missed
from leastcut.paper.runs.theorems import corollary, first_theorem, gradient_term, second_theorem


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
    begin = time.process_time()
    # only the method is timed: graph and relaxation are shared, the scores not its work
    labels, iterations, more = LABELLERS[cell.method](shared, cell.seed, **cell.parameters)
    seconds = time.process_time() - begin
    return {
        "value": leastcut.cut_value(shared.graph, labels, cell.cut),
        "accuracy": leastcut.clustering_accuracy(shared.classes, labels),
        "nmi": leastcut.normalized_mutual_info(shared.classes, labels),
        "iterations": iterations,
        "seconds": seconds,
        "labels": hash_of(labels),
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
    begin = time.process_time()
    graph, classes, n_features = graph_of(cell.dataset, data)
    return {
        "value": float(graph.sum()),
        "seconds": time.process_time() - begin,
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
    begin = time.process_time()
    found = THEOREMS[cell.method](shared, cell)
    return {**found, "seconds": time.process_time() - begin}


def _first_theorem(shared: Problem, cell: Cell) -> Record:
    name = cell.parameters["labels"]
    return first_theorem(shared, discretized(shared, name, cell.seed, "loss", n_init=N_INIT).labels)


def _corollary(shared: Problem, cell: Cell) -> Record:
    runs = range(cell.parameters["runs"])
    return corollary(
        shared,
        [
            discretized(shared, name, seed, "loss", n_init=1).labels
            for name in ("kmeans", "improved_rotation")
            for seed in runs
        ],
    )


def _best_and_closest(shared: Problem, cell: Cell) -> tuple[np.ndarray, np.ndarray]:
    best, _, _ = partitioned(shared, cell.seed, **cell.parameters)
    closest = discretized(shared, "improved_rotation", cell.seed, "loss", n_init=N_INIT)
    return best, closest.labels


THEOREMS: dict[str, Callable[[Problem, Cell], Record]] = {
    "theorem 1": _first_theorem,
    "corollary 1": _corollary,
    "theorem 2": lambda shared, cell: second_theorem(shared, *_best_and_closest(shared, cell)),
    "gradient": lambda shared, cell: gradient_term(shared, *_best_and_closest(shared, cell)),
}
"""What the paper proves or promises, and how each is measured."""


def _certified(cell: Cell, data: str | None) -> Record:
    """Measure how small the cut can be, proven; the time is that of the proof alone."""
    shared = problem(cell.dataset, cell.cut, data)
    best, _, _ = partitioned(shared, cell.seed, effort=cell.parameters["effort"])
    found = certificate(shared, best, cell.parameters["time_limit"], cell.seed)
    return {**found, "labels": hash_of(found["labels"])}


def _converging(cell: Cell, data: str | None) -> Record:
    """Measure a method that gives labels, and keep its loss after every iteration."""
    shared = problem(cell.dataset, cell.cut, data)
    begin = time.process_time()
    found = discretized(shared, cell.method, cell.seed, **cell.parameters)
    return {
        "value": leastcut.cut_value(shared.graph, found.labels, cell.cut),
        "iterations": found.n_iter,
        "seconds": time.process_time() - begin,
        "labels": hash_of(found.labels),
        "history": [float(loss) for loss in found.history],
    }


def _many_runs(cell: Cell, data: str | None) -> Record:
    """Measure a method many times: where do its runs end, and how often there?"""
    shared = problem(cell.dataset, cell.cut, data)
    if "signs" in cell.parameters:
        return for_many_signs(shared, cell.method, cell.parameters, cell.seed)
    return for_many_seeds(shared, cell.method, cell.parameters)


def _random(cell: Cell, data: str | None) -> Record:
    """Measure how often a method misses the optimum of random graphs; the seed makes the graphs."""
    begin = time.process_time()
    n_nodes = split_name(cell.dataset)[1]
    assert n_nodes is not None
    misses = missed(n_nodes, cell.method, cell.parameters, cell.seed)
    rate = misses / cell.parameters["graphs"]
    return {"value": rate, "misses": misses, "seconds": time.process_time() - begin}


def _example(cell: Cell, data: str | None) -> Record:
    """Measure the paper's 4-node example, all of it by enumeration."""
    begin = time.process_time()
    return {**example(), "seconds": time.process_time() - begin}


def _implied(cell: Cell, data: str | None) -> Record:
    """Measure on random graphs how often the gradient's promise fails, all by enumeration."""
    begin = time.process_time()
    n_nodes = split_name(cell.dataset)[1]
    assert n_nodes is not None
    found = implied(n_nodes, cell.parameters["clusters"], cell.parameters["graphs"], cell.seed)
    return {**found, "seconds": time.process_time() - begin}


SPECIAL: dict[str, Callable[[Cell, str | None], Record]] = {
    "datasets": _loaded,
    "theorems": _theorem,
    "certificates": _certified,
    "convergence": _converging,
    EVIDENCE: _many_runs,
    TINY_EVIDENCE: _many_runs,
    SEARCH: _many_runs,
    IMPLICATION: _implied,
    "random": _random,
    "motivation": _example,
}
"""Experiments whose records are not the cut value of some labels."""


def _compact(value: Any) -> Any:
    """Return numbers with the digits that records have."""
    if isinstance(value, float):
        return float(f"{value:.{N_DIGITS}g}")
    if isinstance(value, list):
        return [_compact(entry) for entry in value]
    return value

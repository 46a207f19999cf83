"""Measure one cell: from (experiment, dataset, cut, method, parameters, seed) to its record."""

from __future__ import annotations

import time
from collections.abc import Callable
from decimal import ROUND_FLOOR, Context
from typing import Any

import numpy as np

import leastcut
from reproduction.data.printed import split_name
from reproduction.runs.experiments import (
    EVIDENCE,
    IMPLICATION,
    SEARCH,
    TINY_EVIDENCE,
    Cell,
)
from reproduction.runs.labeling import (
    LABELERS,
    discretized,
    for_many_seeds,
    for_many_signs,
    hash_of,
    partitioned,
)
from reproduction.runs.methods import N_INIT
from reproduction.runs.protocol import Problem, graph_of, problem
from reproduction.runs.records import N_DIGITS, Record
from reproduction.runs.small_graphs import example, implied, missed
from reproduction.runs.theorems import corollary, first_theorem, gradient_term, second_theorem


def measure(cell: Cell, data: str | None = None) -> Record:
    """Measure a cell and return its record.

    Parameters
    ----------
    cell : Cell
    data : str, optional
        Folder of datasets.

    Returns
    -------
    dict
        The fields of its key, the measurements, and the time in seconds.
    """
    # the key comes first, so that lines of the file start with it
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
        record.update(_labeled(cell, data))
    # times vary, so three digits are enough
    record["seconds"] = float(f"{record['seconds']:.3g}")
    return {name: _compact(value) for name, value in record.items()}


def _labeled(cell: Cell, data: str | None) -> Record:
    """Measure a method that returns labels; the time excludes the graph and its relaxation."""
    shared = problem(cell.dataset, cell.cut, data)
    begin = time.process_time()
    labels, iterations, more = LABELERS[cell.method](shared, cell.seed, **cell.parameters)
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
    """Measure the paper's OPT_r, the sum of the c smallest eigenvalues."""
    shared = problem(cell.dataset, cell.cut, data)
    relaxation = shared.relaxation
    return {
        "value": float(relaxation.eigenvalues.sum()),
        "seconds": shared.seconds,
        "largest": float(relaxation.eigenvalues[-1]),  # λ_c, the scale of η
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
    """Measure a theorem, with the best known partitions as optimum and closest solution."""
    shared = problem(cell.dataset, cell.cut, data)
    begin = time.process_time()
    measured = THEOREMS[cell.method](shared, cell)
    return {**measured, "seconds": time.process_time() - begin}


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
"""The function that measures each theorem or statement of the paper."""


def _certified(cell: Cell, data: str | None) -> Record:
    """Measure a certified bound on the cut value; the time is that of the proof."""
    shared = problem(cell.dataset, cell.cut, data)
    best, _, _ = partitioned(shared, cell.seed, effort=cell.parameters["effort"])
    proof = certificate(shared, best, cell.parameters["time_limit"], cell.seed)
    return {**proof, "labels": hash_of(proof["labels"])}


def certificate(shared: Problem, labels: np.ndarray, time_limit: float, seed: int) -> Record:
    """Return the cut value of some labels, or of better ones, and its certified lower bound.

    The certified bound is closer to the cut than OPT_r, with which the paper compares, and proves
    the cut optimal if both are equal.

    Parameters
    ----------
    shared : Problem
    labels : ndarray of shape (n,)
        The best known labels.
    time_limit : float
        In seconds. A proof that ends earlier is reproducible; otherwise the bound depends on the
        speed of the machine.
    seed : int
        Seed of the search for better labels that precedes the proof.
    """
    begin = time.perf_counter()
    proof = leastcut.certify(
        shared.graph, labels, shared.cut, time_limit=time_limit, random_state=seed
    )
    seconds = time.perf_counter() - begin
    assert proof.lower_bound is not None
    return {
        "value": proof.cut_value,
        "bound": rounded_down(proof.lower_bound),
        # the tiny table has no record of OPT_r
        "relaxed": float(shared.relaxation.eigenvalues.sum()),
        "seconds": seconds,
        "labels": proof.labels,
    }


def rounded_down(bound: float) -> float:
    """Return a lower bound rounded down to the digits of a record, so that it remains valid.

    >>> rounded_down(0.66666666666), rounded_down(2.0)
    (0.666666666, 2.0)
    """
    return float(Context(prec=N_DIGITS, rounding=ROUND_FLOOR).create_decimal_from_float(bound))


def _converging(cell: Cell, data: str | None) -> Record:
    """Measure a method that returns labels, with its loss after every iteration."""
    shared = problem(cell.dataset, cell.cut, data)
    begin = time.process_time()
    result = discretized(shared, cell.method, cell.seed, **cell.parameters)
    return {
        "value": leastcut.cut_value(shared.graph, result.labels, cell.cut),
        "iterations": result.n_iter,
        "seconds": time.process_time() - begin,
        "labels": hash_of(result.labels),
        "history": [float(loss) for loss in result.history],
    }


def _many_runs(cell: Cell, data: str | None) -> Record:
    """Measure many runs of a method."""
    shared = problem(cell.dataset, cell.cut, data)
    if "signs" in cell.parameters:
        return for_many_signs(shared, cell.method, cell.parameters, cell.seed)
    return for_many_seeds(shared, cell.method, cell.parameters)


def _random(cell: Cell, data: str | None) -> Record:
    """Measure how often a method misses the optimum of random graphs."""
    begin = time.process_time()
    n_nodes = split_name(cell.dataset)[1]
    assert n_nodes is not None
    misses = missed(n_nodes, cell.method, cell.parameters, cell.seed)
    rate = misses / cell.parameters["graphs"]
    return {"value": rate, "misses": misses, "seconds": time.process_time() - begin}


def _example(cell: Cell, data: str | None) -> Record:
    """Measure the paper's 4-node example by enumeration."""
    begin = time.process_time()
    return {**example(), "seconds": time.process_time() - begin}


def _implied(cell: Cell, data: str | None) -> Record:
    """Measure how often the statement about the gradient term fails on random graphs."""
    begin = time.process_time()
    n_nodes = split_name(cell.dataset)[1]
    assert n_nodes is not None
    counts = implied(n_nodes, cell.parameters["clusters"], cell.parameters["graphs"], cell.seed)
    return {**counts, "seconds": time.process_time() - begin}


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
"""The functions of experiments that do not measure the labels of one run."""


def _compact(value: Any) -> Any:
    """Return numbers rounded to the digits of a record."""
    if isinstance(value, float):
        return float(f"{value:.{N_DIGITS}g}")
    if isinstance(value, list):
        return [_compact(entry) for entry in value]
    return value

"""The methods that return labels, run once, for many seeds, or for many signs of the eigenvectors.

A record of many runs has the cut value, accuracy, NMI and the hash of the partition of each run, so
that printed numbers can be traced to partitions.

The sign of an eigenvector is arbitrary. The labels of a method that starts with the identity as
rotation depend on the signs. (The order of the eigenvectors affects only the numbering of the
clusters.)
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

import leastcut
from reproduction.data.printed import is_printed, split_name
from reproduction.data.printed import value as printed_value
from reproduction.runs.methods import PRINTED_AS
from reproduction.runs.protocol import Problem
from reproduction.runs.records import Record

Labeling = tuple[np.ndarray, int, dict[str, Any]]
"""Labels, number of iterations, and further fields of the record."""


def discretized(
    problem: Problem, method: str, seed: int, judge: str, **options: Any
) -> leastcut.Discretization:
    """Discretize, with the best start chosen by the method's own loss or by the cut value."""
    graph = {"graph": problem.graph} if judge == "cut" else {}
    return leastcut.discretize(problem.relaxation, method, random_state=seed, **graph, **options)


def _discretizer(method: str) -> Callable[..., Labeling]:
    """Return the function for a method of ``leastcut.discretize``."""

    def run(problem: Problem, seed: int, *, judge: str, **options: Any) -> Labeling:
        result = discretized(problem, method, seed, judge, **options)
        return result.labels, result.n_iter, {} if result.eta is None else {"eta": result.eta}

    return run


def _refined(problem: Problem, seed: int, *, judge: str, **options: Any) -> Labeling:
    result = discretized(problem, "first_order", seed, judge, **options)
    refined = leastcut.refine(problem.graph, result.labels, problem.cut)
    return refined.labels, result.n_iter, {"eta": result.eta}


def _direct(problem: Problem, seed: int, *, n_init: int) -> Labeling:
    result = leastcut.direct_cut(
        problem.graph, problem.n_clusters, problem.cut, n_init=n_init, random_state=seed
    )
    return result.labels, result.n_iter, {}


def partitioned(problem: Problem, seed: int, *, effort: str) -> Labeling:
    result = leastcut.partition(
        problem.graph, problem.n_clusters, problem.cut, effort=effort, random_state=seed
    )
    return result.labels, 0, {}


def _exact(problem: Problem, seed: int) -> Labeling:
    result = leastcut.exact_partition(problem.graph, problem.n_clusters, problem.cut)
    return result.labels, 0, {}


LABELERS: dict[str, Callable[..., Labeling]] = {
    "kmeans": _discretizer("kmeans"),
    "kmeans_norm": _discretizer("kmeans_norm"),
    "rotation": _discretizer("rotation"),
    "unscaled_rotation": _discretizer("unscaled_rotation"),
    "improved_rotation": _discretizer("improved_rotation"),
    "first_order": _discretizer("first_order"),
    "first_order+refine": _refined,
    "direct_cut": _direct,
    "partition": partitioned,
    "exact_partition": _exact,
}
"""Every method that returns labels."""

COUNTS = ("runs", "signs")
"""Parameters for the number of runs in a record, which are not options of the method."""

N_KEPT = 128
"""Choices of signs whose runs are all recorded; of the others only runs at the printed cut value
are recorded."""

SHORT = 6
"""Significant digits of the numbers of each run."""


def hash_of(labels: np.ndarray) -> str:
    """Return a hash of a partition that does not depend on the numbering of its clusters."""
    _, first, clusters = np.unique(labels, return_index=True, return_inverse=True)
    by_appearance = np.argsort(np.argsort(first))[clusters]
    # in a fixed byte order, so that all machines have the same hash
    return hashlib.sha256(by_appearance.astype("<i8").tobytes()).hexdigest()[:12]


def for_many_seeds(shared: Problem, method: str, parameters: Mapping[str, Any]) -> Record:
    """Return the results of a method for the seeds 0 to ``parameters["runs"] - 1``.

    With ``parameters["kept"]``, only the first run and runs at the printed cut value are recorded.
    """
    options = options_of(parameters)
    identity = options.get("rotation") == "identity"
    most = 1 if options.pop("kept", None) else parameters["runs"]
    is_kept = _keeper(shared, method, most)
    begin = time.process_time()
    kept = []
    for seed in range(parameters["runs"]):
        if identity:
            # with random labels, as the rotation alone would make all starts equal
            options["rotation"] = np.eye(shared.n_clusters)
            options["init"] = any_labels(shared.graph.shape[0], shared.n_clusters, seed)
        labels = LABELERS[method](shared, seed, **options)[0]
        if is_kept(seed, labels):
            kept.append(labels)
    record = _record(shared, kept, parameters["runs"], time.process_time() - begin)
    return _grouped(record) if "kept" in parameters else record


def any_labels(n_nodes: int, n_clusters: int, seed: int) -> np.ndarray:
    """Return uniformly random labels with at least one node in every cluster."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_clusters, size=n_nodes)
    labels[rng.permutation(n_nodes)[:n_clusters]] = np.arange(n_clusters)
    return labels


def for_many_signs(
    shared: Problem, method: str, parameters: Mapping[str, Any], seed: int
) -> Record:
    """Return the results of a method for choices of signs, the first of which is unchanged.

    ``choices`` is the number of all choices, of which a random sample is run if there are too many.
    """
    options = options_of(parameters)
    chosen = signs(shared.n_clusters, parameters["signs"], seed)
    is_kept = _keeper(shared, method, N_KEPT)
    begin = time.process_time()
    kept = []
    for number, row in enumerate(chosen):
        changed = replace(shared, relaxation=with_signs(shared.relaxation, row))
        labels = LABELERS[method](changed, seed, **options)[0]
        if is_kept(number, labels):
            kept.append(labels)
    record = _record(shared, kept, len(chosen), time.process_time() - begin)
    return {**record, "choices": 2**shared.n_clusters}


def _keeper(shared: Problem, method: str, first: int) -> Callable[[int, np.ndarray], bool]:
    """Return the rule that records the first runs and runs at the printed cut value."""
    table = "objective" if split_name(shared.dataset)[1] is None else "tiny"
    paper = printed_value(table, shared.dataset, shared.cut, PRINTED_AS.get(method))

    def is_kept(number: int, labels: np.ndarray) -> bool:
        return number < first or (
            paper is not None
            and is_printed(leastcut.cut_value(shared.graph, labels, shared.cut), paper)
        )

    return is_kept


def options_of(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that are options of the method."""
    return {name: value for name, value in parameters.items() if name not in COUNTS}


def signs(n_clusters: int, most: int, seed: int) -> np.ndarray:
    """Return at most ``most`` choices of signs as rows of 1 and −1, all or a random sample.

    >>> signs(2, 4, seed=0).tolist()
    [[1, 1], [1, -1], [-1, 1], [-1, -1]]
    """
    if 2**n_clusters <= most:
        return np.array(list(product((1, -1), repeat=n_clusters)))
    # a choice is the bits of a number; 0 changes no sign, others are sampled without replacement
    rng = np.random.default_rng(seed)
    codes = np.append(0, 1 + rng.choice(2**n_clusters - 1, size=most - 1, replace=False))
    return 1 - 2 * ((codes[:, None] >> np.arange(n_clusters)) & 1)


def with_signs(relaxation: leastcut.Relaxation, row: np.ndarray) -> leastcut.Relaxation:
    """Return the relaxed solution with its eigenvectors multiplied by signs.

    Starting with diag(signs) as rotation is equivalent unless a cluster becomes empty: then the
    next rotation is not unique, and the result of the SVD depends on the signs.
    """
    product = relaxation.operator_product
    return replace(
        relaxation,
        eigenvectors=relaxation.eigenvectors * row,
        operator_product=None if product is None else product * row,
    )


def _record(shared: Problem, listed: list[np.ndarray], tried: int, seconds: float) -> Record:
    """Return the record of many runs; ``seconds`` is the time of all runs, recorded or not."""
    # each partition is measured once
    hashes = [hash_of(labels) for labels in listed]
    measured = {
        name: (
            leastcut.cut_value(shared.graph, labels, shared.cut),
            leastcut.clustering_accuracy(shared.classes, labels),
            leastcut.normalized_mutual_info(shared.classes, labels),
        )
        for name, labels in dict(zip(hashes, listed, strict=True)).items()
    }
    values, accuracies, nmis = zip(*(measured[name] for name in hashes), strict=True)
    return {
        "value": float(np.median(values)),
        "seconds": seconds / tried,  # of one run
        "tried": tried,
        "values": [_short(value) for value in values],
        "accuracies": [_short(value) for value in accuracies],
        "nmis": [_short(value) for value in nmis],
        "partitions": hashes,
    }


def _grouped(record: Record) -> Record:
    """Return a record with every partition once and the number of its runs."""
    counts: Counter[str] = Counter(record["partitions"])
    first = [record["partitions"].index(name) for name in counts]
    once = {
        name: [record[name][i] for i in first]
        for name in ("values", "accuracies", "nmis", "partitions")
    }
    return {**record, **once, "counts": list(counts.values())}


def _short(value: float) -> float:
    return float(f"{value:.{SHORT}g}")

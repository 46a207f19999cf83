"""A method run many times: for many seeds, or for many choices of the eigenvectors' signs.

All runs share a record, which keeps of each its cut value, accuracy, NMI and the hash of its
partition. By these a printed number is traced to the partition it belongs to.

An eigenvector is one only up to its sign, and what a solver returns is chance. A method that begins
with the identity as rotation begins elsewhere for every choice of signs, so its labels depend on
them. (The order of the columns does not matter: it numbers the clusters.)
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

import leastcut
from leastcut.paper.data.printed import is_printed, split_name
from leastcut.paper.data.printed import value as printed_value
from leastcut.paper.runs.labellers import LABELLERS, hash_of
from leastcut.paper.runs.methods import PRINTED_AS
from leastcut.paper.runs.protocol import Problem
from leastcut.paper.runs.records import Record

COUNTS = ("runs", "signs")
"""Parameters that say how many runs a record holds, and are no options of the method."""

N_KEPT = 128
"""Choices of signs whose runs are on record whatever they give; of the others only those that end
at the printed cut value are, and how many there were."""

SHORT = 6
"""Significant digits of the numbers of one run: they tell which printed number it is."""


def for_many_seeds(shared: Problem, method: str, parameters: Mapping[str, Any]) -> Record:
    """Return what a method gives for the seeds 0, 1, …, as many as ``parameters["runs"]``.

    With ``parameters["kept"]`` the first run is on record, and those at the printed cut value.
    """
    options = options_of(parameters)
    identity = options.get("rotation") == "identity"
    most = 1 if options.pop("kept", None) else parameters["runs"]
    is_kept = _keeper(shared, method, most)
    begin = time.process_time()
    found = []
    for seed in range(parameters["runs"]):
        if identity:
            # random labels too: a rotation alone fixes the start, and all would be the same one
            options["rotation"] = np.eye(shared.n_clusters)
            options["init"] = any_labels(shared.graph.shape[0], shared.n_clusters, seed)
        labels = LABELLERS[method](shared, seed, **options)[0]
        if is_kept(seed, labels):
            found.append(labels)
    record = _record(shared, found, parameters["runs"], time.process_time() - begin)
    return _grouped(record) if "kept" in parameters else record


def any_labels(n_nodes: int, n_clusters: int, seed: int) -> np.ndarray:
    """Return labels drawn uniformly, but for one node of every cluster, so that none is empty."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_clusters, size=n_nodes)
    labels[rng.permutation(n_nodes)[:n_clusters]] = np.arange(n_clusters)
    return labels


def for_many_signs(
    shared: Problem, method: str, parameters: Mapping[str, Any], seed: int
) -> Record:
    """Return what a method gives for choices of signs, the first of which changes none.

    ``choices`` is how many there are; if not all were tried, those that were are drawn.
    """
    options = options_of(parameters)
    chosen = signs(shared.n_clusters, parameters["signs"], seed)
    is_kept = _keeper(shared, method, N_KEPT)
    begin = time.process_time()
    found = []
    for number, row in enumerate(chosen):
        turned = replace(shared, relaxation=with_signs(shared.relaxation, row))
        labels = LABELLERS[method](turned, seed, **options)[0]
        if is_kept(number, labels):
            found.append(labels)
    record = _record(shared, found, len(chosen), time.process_time() - begin)
    return {**record, "choices": 2**shared.n_clusters}


def _keeper(shared: Problem, method: str, first: int) -> Callable[[int, np.ndarray], bool]:
    """Return which runs are put on record: the first ones, and those at the printed cut value."""
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
    """Return choices of signs as rows of 1 and −1: all if there are at most ``most``, else so many.

    >>> signs(2, 4, seed=0).tolist()
    [[1, 1], [1, -1], [-1, 1], [-1, -1]]
    """
    if 2**n_clusters <= most:
        return np.array(list(product((1, -1), repeat=n_clusters)))
    # a choice is the bits of a number; 0 changes no sign, and the others are drawn, each once
    rng = np.random.default_rng(seed)
    codes = np.append(0, 1 + rng.choice(2**n_clusters - 1, size=most - 1, replace=False))
    return 1 - 2 * ((codes[:, None] >> np.arange(n_clusters)) & 1)


def with_signs(relaxation: leastcut.Relaxation, row: np.ndarray) -> leastcut.Relaxation:
    """Return the same relaxed solution, its eigenvectors multiplied by signs.

    To begin with diag(signs) as rotation is the same only as long as no cluster is empty: with one,
    the next rotation is not unique, and the SVD's choice knows the vectors' signs.
    """
    product = relaxation.operator_product
    return replace(
        relaxation,
        eigenvectors=relaxation.eigenvectors * row,
        operator_product=None if product is None else product * row,
    )


def _record(shared: Problem, listed: list[np.ndarray], tried: int, seconds: float) -> Record:
    """Return the record of many runs; ``seconds`` are those of all that were tried."""
    # many runs end at the same partition, which is measured once
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
        # of one run
        "seconds": seconds / tried,
        "tried": tried,
        "values": [_short(value) for value in values],
        "accuracies": [_short(value) for value in accuracies],
        "nmis": [_short(value) for value in nmis],
        "partitions": hashes,
    }


def _grouped(record: Record) -> Record:
    """Return a record with every partition once, and how many runs ended there."""
    counts: Counter[str] = Counter(record["partitions"])
    first = [record["partitions"].index(name) for name in counts]
    once = {
        name: [record[name][i] for i in first]
        for name in ("values", "accuracies", "nmis", "partitions")
    }
    return {**record, **once, "counts": list(counts.values())}


def _short(value: float) -> float:
    return float(f"{value:.{SHORT}g}")

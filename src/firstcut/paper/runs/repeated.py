"""A method run many times: for many seeds, or for many choices of the eigenvectors' signs.

All runs share a record, which keeps of each its cut value, accuracy, NMI and the hash of its
partition. By these a printed number is traced to the partition it belongs to.

An eigenvector is one only up to its sign, and what a solver returns is chance. A method that begins
with the identity as rotation begins elsewhere for every choice of signs, so its labels depend on
them. (The order of the columns does not matter: it numbers the clusters.)
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

import firstcut
from firstcut.paper.data.printed import is_printed, split_name
from firstcut.paper.data.printed import value as printed_value
from firstcut.paper.runs.labellers import LABELLERS, hash_of
from firstcut.paper.runs.methods import ROTATION
from firstcut.paper.runs.protocol import Problem
from firstcut.paper.runs.records import Record

COUNTS = ("runs", "signs")
"""Parameters that say how many runs a record holds, and are no options of the method."""

N_KEPT = 128
"""Choices of signs whose runs are on record whatever they give; of the others only those that end
at the printed cut value are, and how many there were."""

SHORT = 6
"""Significant digits of the numbers of one run: they tell which printed number it is."""


def for_many_seeds(shared: Problem, method: str, parameters: Mapping[str, Any]) -> Record:
    """Return what a method gives for the seeds 0, 1, …, as many as ``parameters["runs"]``."""
    options = options_of(parameters)
    identity = options.get("rotation") == "identity"
    begin = time.process_time()
    found = []
    for seed in range(parameters["runs"]):
        if identity:
            # random labels too: a rotation alone fixes the start, and all would be the same one
            options["rotation"] = np.eye(shared.n_clusters)
            options["init"] = any_labels(shared.graph.shape[0], shared.n_clusters, seed)
        found.append(LABELLERS[method](shared, seed, **options)[0])
    return _record(shared, found, time.process_time() - begin)


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

    ``choices`` is how many there are, and ``tried`` how many of them were; if these are not all,
    they were drawn.
    """
    options = options_of(parameters)
    chosen = signs(shared.n_clusters, parameters["signs"], seed)
    table = "objective" if split_name(shared.dataset)[1] is None else "tiny"
    paper = printed_value(table, shared.dataset, shared.cut, ROTATION.printed)
    begin = time.process_time()
    found = []
    for number, row in enumerate(chosen):
        turned = replace(shared, relaxation=with_signs(shared.relaxation, row))
        labels = LABELLERS[method](turned, seed, **options)[0]
        if number < N_KEPT or (
            paper is not None
            and is_printed(firstcut.cut_value(shared.graph, labels, shared.cut), paper)
        ):
            found.append(labels)
    seconds = time.process_time() - begin
    record = _record(shared, found, seconds * len(found) / len(chosen))
    return {**record, "choices": 2**shared.n_clusters, "tried": len(chosen)}


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


def with_signs(relaxation: firstcut.Relaxation, row: np.ndarray) -> firstcut.Relaxation:
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


def _record(shared: Problem, found: Iterable[np.ndarray], seconds: float) -> Record:
    """Return the record of many runs; ``seconds`` are those of all."""
    listed = list(found)
    # many runs end at the same partition, which is measured once
    hashes = [hash_of(labels) for labels in listed]
    measured = {
        name: (
            firstcut.cut_value(shared.graph, labels, shared.cut),
            firstcut.clustering_accuracy(shared.classes, labels),
            firstcut.normalized_mutual_info(shared.classes, labels),
        )
        for name, labels in dict(zip(hashes, listed, strict=True)).items()
    }
    values, accuracies, nmis = zip(*(measured[name] for name in hashes), strict=True)
    return {
        "value": float(np.median(values)),
        # of one run
        "seconds": seconds / len(listed),
        "values": [_short(value) for value in values],
        "accuracies": [_short(value) for value in accuracies],
        "nmis": [_short(value) for value in nmis],
        "partitions": hashes,
    }


def _short(value: float) -> float:
    return float(f"{value:.{SHORT}g}")

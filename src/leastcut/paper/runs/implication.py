"""What the gradient promises, tried on every pair of partitions of small random graphs.

The paper says: of two partitions at the same small distance ‖Δ‖ from the relaxed optimum, the one
with the smaller ⟨Δ, ∇⟩ has the smaller cut. The cut value is Σλ + ⟨Δ, ∇⟩ + ⟨Δ, A Δ⟩, whose last
term the promise leaves out; it is of the order of ‖Δ‖², and so is ⟨Δ, ∇⟩ (see ``theorems``).

Equal distances are rare, so pairs are counted whose distances differ by less than CLOSE. With two
clusters there is nothing to count: ⟨Δ, ∇⟩ = −λ₂ ‖Δ‖² there, so equal distances are equal terms.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from leastcut.cuts import indicator
from leastcut.paper.runs.records import Record
from leastcut.paper.runs.small_graphs import random_graphs

CLOSE = 0.01
"""Relative difference of two distances ‖Δ‖ that count as the same."""

NEAREST = 0.1
"""The part of the partitions, nearest first, whose ‖Δ‖ counts as “small enough”."""

ROUNDING = 1e-9
"""Numbers that differ by less are the same."""


def partitions(n_nodes: int, n_clusters: int) -> np.ndarray:
    """Return every partition into exactly so many clusters, numbered by appearance, as rows."""
    found = [
        row
        for row in product(range(n_clusters), repeat=n_nodes)
        # the first of each cluster come in order, and there are all of them
        if list(dict.fromkeys(row)) == list(range(n_clusters))
    ]
    return np.array(found)


def terms(graph: np.ndarray, goals: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ratio cut, ‖Δ‖ and ⟨Δ, ∇⟩ of every indicator G in ``goals``, (n_partitions, n, c)."""
    c = goals.shape[2]
    laplacian = np.diag(graph.sum(axis=1)) - graph
    values, vectors = np.linalg.eigh(laplacian)
    values, vectors = values[:c], vectors[:, :c]
    cuts = np.einsum("pik,ij,pjk->p", goals, laplacian, goals, optimize=True)
    left, sigma, _ = np.linalg.svd(np.einsum("ij,pik->pjk", vectors, goals))
    distance = np.sqrt(np.maximum(2.0 * np.sum(1.0 - sigma, axis=1), 0.0))
    # (U Σ Uᵀ)_jj of every partition
    diagonal = np.einsum("pjk,pk,pjk->pj", left, sigma, left, optimize=True)
    return cuts, distance, -2.0 * np.sum(values * (1.0 - diagonal), axis=1)


def implied(n_nodes: int, n_clusters: int, n_graphs: int, seed: int) -> Record:
    """Return how often the promise fails, over all pairs of partitions of random graphs.

    Returns
    -------
    dict
        ``pairs`` have the same distance and another gradient term, and in ``fails`` of them the
        smaller term has the larger cut; ``near_pairs`` and ``near_fails`` are those of the nearest
        tenth of the partitions. In ``both_pairs`` of the nearest tenth distance and term are both
        smaller, and in ``both_fails`` of them the cut is larger. ``value`` is the part of fails.
    """
    rows = partitions(n_nodes, n_clusters)
    goals = np.array([indicator(row, np.ones(n_nodes)) for row in rows])
    counts = np.zeros(6, dtype=np.int64)
    for graph in random_graphs(n_graphs, n_nodes, seed):
        counts += _counts(*terms(graph, goals))
    names = ("pairs", "fails", "near_pairs", "near_fails", "both_pairs", "both_fails")
    found: Record = {name: int(count) for name, count in zip(names, counts, strict=True)}
    return {"value": found["fails"] / max(found["pairs"], 1), **found}


def _counts(cuts: np.ndarray, distance: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """Return the six counts of one graph."""
    every = _fails(cuts, inner, _same(distance))
    # the nearest ones alone, for "small enough"
    near = np.argsort(distance, kind="stable")[: max(2, int(NEAREST * distance.size))]
    cuts, distance, inner = cuts[near], distance[near], inner[near]
    closer = distance[:, None] < distance[None, :] * (1.0 - ROUNDING)
    return np.array(
        [*every, *_fails(cuts, inner, _same(distance)), *_fails(cuts, inner, closer)],
        dtype=np.int64,
    )


def _same(distance: np.ndarray) -> np.ndarray:
    larger = np.maximum(distance[:, None], distance[None, :])
    return np.asarray(np.abs(distance[:, None] - distance[None, :]) < CLOSE * larger)


def _fails(cuts: np.ndarray, inner: np.ndarray, compared: np.ndarray) -> tuple[int, int]:
    """Return how many compared pairs have a smaller term first, and how many a larger cut then."""
    # each pair once: in one of its two orders the first term is the smaller one
    smaller = compared & (inner[:, None] < inner[None, :] - ROUNDING)
    return int(smaller.sum()), int((smaller & (cuts[:, None] > cuts[None, :] + ROUNDING)).sum())

"""Graphs whose partitions can be enumerated: the paper's 4-node example and random graphs.

For c = 2 and the ratio cut, G(Y) has columns 1_C/√|C|, F = [1/√n, f], and the closest rotation
leaves the distance ‖G − F R‖² = 4 − 2 ‖GᵀF‖_*. A 2-by-2 matrix has the nuclear norm
√(‖M‖² + 2 |det M|), so all bipartitions of many graphs are evaluated at once.

The paper states that of two partitions at the same small distance ‖Δ‖ from the relaxed optimum, the
one with the smaller ⟨Δ, ∇⟩ has the smaller cut. The cut value is Σλ + ⟨Δ, ∇⟩ + ⟨Δ, A Δ⟩; the
statement neglects the last term, which is of the order of ‖Δ‖² like ⟨Δ, ∇⟩ (see ``theorems``). As
equal distances are rare, :func:`implied` counts pairs whose distances differ by less than CLOSE, in
three clusters: for two, ⟨Δ, ∇⟩ = −λ₂ ‖Δ‖², so equal distances have equal terms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

import leastcut
from reproduction.runs.records import Record

EXAMPLE = np.array(
    [[0.0, 0.5, 0.1, 0.8], [0.5, 0.0, 0.4, 0.2], [0.1, 0.4, 0.0, 0.5], [0.8, 0.2, 0.5, 0.0]]
)
"""The paper's example, for which it prints the relaxed optimum, the best and the closest cut."""

PRINTED_CLOSEST = (0, 0, 0, 1)
"""The closest bipartition according to the paper."""

TOLERANCE = 1e-9
"""Relative tolerance for equal cut values: far above rounding errors and far below the differences
between cuts of random weights."""

CLOSE = 0.01
"""Relative difference below which two distances ‖Δ‖ count as equal."""

NEAREST = 0.1
"""Fraction of the partitions, closest first, whose ‖Δ‖ counts as “small enough”."""

ROUNDING = 1e-9
"""Numbers that differ by less are equal."""


def indicator(labels: np.ndarray, node_weights: np.ndarray) -> np.ndarray:
    """Return G = B^½ Y (YᵀBY)^-½ for labels 0..k-1, whose columns are orthonormal."""
    cluster_weights = np.bincount(labels, node_weights)
    scale = np.sqrt(node_weights / cluster_weights[labels])
    return np.asarray(np.eye(cluster_weights.size)[labels] * scale[:, None])


def bipartitions(n_nodes: int) -> np.ndarray:
    """Return all 2^(n-1) − 1 bipartitions as rows of 0 and 1, with node 0 in cluster 0."""
    codes = np.arange(1, 2 ** (n_nodes - 1))  # bit i is the cluster of node i + 1
    others = (codes[:, None] >> np.arange(n_nodes - 1)) & 1
    return np.hstack([np.zeros((codes.size, 1), dtype=np.int64), others])


def set_text(part: Sequence[int]) -> str:
    """Return a bipartition as text, with nodes counted from 1.

    >>> set_text((0, 0, 1, 0))
    '{1,2,4} | {3}'
    """
    sides = [
        ",".join(str(i + 1) for i, entry in enumerate(part) if entry == side) for side in (0, 1)
    ]
    return f"{{{sides[0]}}} | {{{sides[1]}}}"


def random_graphs(n_graphs: int, n_nodes: int, seed: int) -> np.ndarray:
    """Return complete graphs with weights uniform on [0, 1), as (n_graphs, n, n)."""
    rng = np.random.default_rng([seed, n_nodes])  # independent for every size
    upper = np.triu(rng.random((n_graphs, n_nodes, n_nodes)), 1)
    return np.asarray(upper + upper.transpose(0, 2, 1))


def cut_values(graphs: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """Return the ratio cut of every bipartition of every graph: (n_graphs, n_parts)."""
    n = graphs.shape[1]
    size = parts.sum(axis=1)
    # the weight of the edges between the two parts, divided by the size of each
    crossing = np.einsum("pi,gij,pj->gp", parts, graphs, 1 - parts, optimize=True)
    return np.asarray(crossing * (1.0 / size + 1.0 / (n - size)))


def relaxed(graphs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the two smallest eigenvalues (n_graphs, 2) and eigenvectors (n_graphs, n, 2)."""
    n = graphs.shape[1]
    # L = diag(d) − S of every graph, (n_graphs, n, n)
    laplacians = graphs.sum(axis=2)[:, :, None] * np.eye(n) - graphs
    values, vectors = np.linalg.eigh(laplacians)
    # the first eigenvector is known exactly
    vectors[:, :, 0] = 1.0 / np.sqrt(n)
    return values[:, :2], vectors[:, :, :2]


def distances(
    values: np.ndarray, vectors: np.ndarray, parts: np.ndarray, eta: float = 0.0
) -> np.ndarray:
    """Return min_R ‖G − F R‖² + η ⟨G − F R, ∇⟩ of every bipartition of every graph.

    This is the squared distance to the relaxed optimum for η = 0, else the paper's criterion.
    """
    n, size = parts.shape[1], parts.sum(axis=1)
    # Gᵀ of every bipartition, (n_parts, 2, n)
    indicators = np.stack(
        [(1 - parts) / np.sqrt(n - size)[:, None], parts / np.sqrt(size)[:, None]], axis=1
    )
    # F − η L F = F (I − η Λ): the gradient only weights the eigenvectors
    weights = 1.0 - eta * values
    # GᵀF, (n_graphs, n_parts, 2, 2), its columns weighted
    overlap = np.einsum("pki,gij->gpkj", indicators, vectors, optimize=True)
    overlap *= weights[:, None, None, :]
    # the nuclear norms of all 2-by-2 matrices GᵀF (I − η Λ)
    square = np.sum(overlap**2, axis=(2, 3))
    determinant = overlap[..., 0, 0] * overlap[..., 1, 1] - overlap[..., 0, 1] * overlap[..., 1, 0]
    nuclear = np.sqrt(square + 2.0 * np.abs(determinant))
    # the loss 2 Σ (1 − ηλ) − 2 ‖·‖_*
    return np.asarray(2.0 * weights.sum(axis=1, keepdims=True) - 2.0 * nuclear)


def missed(n_nodes: int, method: str, parameters: Mapping[str, Any], seed: int) -> int:
    """Return the number of random graphs on which a method misses the smallest ratio cut.

    ``method`` is "closest" (the bipartition closest to the relaxed optimum over all rotations),
    "first_order" or "partition"; ``parameters`` has the number of ``graphs``.
    """
    graphs = random_graphs(parameters["graphs"], n_nodes, seed)
    parts = bipartitions(n_nodes)
    values = cut_values(graphs, parts)
    optimum = values.min(axis=1)
    if method == "closest":
        # every bipartition with its best rotation
        nearest = distances(*relaxed(graphs), parts).argmin(axis=1)
        reached = values[np.arange(len(graphs)), nearest]
    else:
        reached = np.array([_ratio_cut(graph, method, parameters, seed) for graph in graphs])
    return int(np.sum(reached > optimum * (1.0 + TOLERANCE)))


def _ratio_cut(graph: np.ndarray, method: str, parameters: Mapping[str, Any], seed: int) -> float:
    """Return the ratio cut that a method finds on a graph."""
    if method == "partition":
        effort = parameters["effort"]
        return float(
            leastcut.partition(graph, 2, "ratio", effort=effort, random_state=seed).cut_value
        )
    # the seed determines only the starts, as in every experiment
    relaxation = leastcut.relax(graph, 2, "ratio", random_state=0)
    discretized = leastcut.discretize(
        relaxation,
        method,
        graph=graph,
        n_init=parameters["n_init"],
        eta=parameters["eta"],
        random_state=seed,
    )
    assert discretized.cut_value is not None
    return discretized.cut_value


def example() -> Record:
    """Return the paper's example: relaxed coordinates, and all 7 cuts with value and distance."""
    parts = bipartitions(4)
    graphs = EXAMPLE[None]
    eigenvalues, vectors = relaxed(graphs)
    second = vectors[0, :, 1] * np.sign(vectors[0, 0, 1])  # with the printed sign
    values, squared = cut_values(graphs, parts)[0], distances(eigenvalues, vectors, parts)[0]
    goals = [indicator(part, np.ones(4)) for part in parts]
    return {
        "value": float(values.min()),
        "eigenvalues": [float(value) for value in eigenvalues[0]],
        "coordinates": [float(entry) for entry in second],
        "parts": [[int(entry) for entry in row] for row in parts],
        "values": [float(value) for value in values],
        "distances": [float(value) for value in squared],
        "indicators": [goal.tolist() for goal in goals],
        "rotated": [rotated(vectors[0], goal).tolist() for goal in goals],
    }


def rotated(vectors: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """Return F R for the rotation R with the smallest ‖G − F R‖."""
    # R = U Vᵀ by the SVD of FᵀG
    left, _, right = np.linalg.svd(vectors.T @ goal)
    return np.asarray(vectors @ (left @ right))


def partitions(n_nodes: int, n_clusters: int) -> np.ndarray:
    """Return every partition into ``n_clusters`` clusters as rows, numbered by first appearance."""
    return np.array(
        [
            row
            for row in product(range(n_clusters), repeat=n_nodes)
            if list(dict.fromkeys(row)) == list(range(n_clusters))
        ]
    )


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
    """Return how often the statement fails over all pairs of partitions of random graphs.

    Returns
    -------
    dict
        ``pairs`` have the same distance and different gradient terms; in ``fails`` of them the
        smaller term has the larger cut. ``near_pairs`` and ``near_fails`` are the counts among the
        closest tenth of the partitions. In ``both_pairs`` of these, distance and term are both
        smaller, and in ``both_fails`` the cut is larger nevertheless. ``value`` is the fraction
        of ``fails``.
    """
    rows = partitions(n_nodes, n_clusters)
    goals = np.array([indicator(row, np.ones(n_nodes)) for row in rows])
    counts = np.zeros(6, dtype=np.int64)
    for graph in random_graphs(n_graphs, n_nodes, seed):
        counts += _counts(*terms(graph, goals))
    names = ("pairs", "fails", "near_pairs", "near_fails", "both_pairs", "both_fails")
    counted: Record = {name: int(count) for name, count in zip(names, counts, strict=True)}
    return {"value": counted["fails"] / max(counted["pairs"], 1), **counted}


def _counts(cuts: np.ndarray, distance: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """Return the six counts of one graph."""
    every = _fails(cuts, inner, _same(distance))
    # the closest partitions only, for "small enough"
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
    """Return the numbers of compared pairs, and of pairs whose smaller term has the larger cut."""
    # each pair is counted in the order with the smaller term first
    smaller = compared & (inner[:, None] < inner[None, :] - ROUNDING)
    return int(smaller.sum()), int((smaller & (cuts[:, None] > cuts[None, :] + ROUNDING)).sum())

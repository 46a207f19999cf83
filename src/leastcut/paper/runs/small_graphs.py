"""Graphs small enough to try every bipartition: the paper's 4-node example and random graphs.

For c = 2 and the ratio cut, G(Y) has columns 1_C/√|C|, F = [1/√n, f], and the closest rotation
leaves the distance ‖G − F R‖² = 4 − 2 ‖GᵀF‖_*. A 2-by-2 matrix has the nuclear norm
√(‖M‖² + 2 |det M|), so all bipartitions of many graphs are tried at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import leastcut
from leastcut.cuts import indicator

EXAMPLE = np.array(
    [[0.0, 0.5, 0.1, 0.8], [0.5, 0.0, 0.4, 0.2], [0.1, 0.4, 0.0, 0.5], [0.8, 0.2, 0.5, 0.0]]
)
"""The paper's example, of which it prints the relaxed optimum, the best and the closest cut."""

PRINTED_CLOSEST = (0, 0, 0, 1)
"""The bipartition that the paper says is the closest one."""

TOLERANCE = 1e-9
"""Cut values that differ by less, relatively, are the same cut: far above rounding, far below the
difference of two cuts of random weights."""


def bipartitions(n_nodes: int) -> np.ndarray:
    """Return all 2^(n-1) − 1 bipartitions as rows of 0 and 1, node 0 always in part 0."""
    codes = np.arange(1, 2 ** (n_nodes - 1))  # bit i says where node i + 1 is
    others = (codes[:, None] >> np.arange(n_nodes - 1)) & 1
    return np.hstack([np.zeros((codes.size, 1), dtype=np.int64), others])


def random_graphs(n_graphs: int, n_nodes: int, seed: int) -> np.ndarray:
    """Return complete graphs with weights uniform on [0, 1), as (n_graphs, n, n)."""
    rng = np.random.default_rng([seed, n_nodes])  # other graphs for every size, not larger ones
    upper = np.triu(rng.random((n_graphs, n_nodes, n_nodes)), 1)
    return np.asarray(upper + upper.transpose(0, 2, 1))


def cut_values(graphs: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """Return the ratio cut of every bipartition of every graph: (n_graphs, n_parts)."""
    n = graphs.shape[1]
    size = parts.sum(axis=1)
    # edges from part 1 to part 0, which leave either: they count once by either size
    crossing = np.einsum("pi,gij,pj->gp", parts, graphs, 1 - parts, optimize=True)
    return np.asarray(crossing * (1.0 / size + 1.0 / (n - size)))


def relaxed(graphs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the two smallest eigenvalues (n_graphs, 2) and their vectors (n_graphs, n, 2)."""
    n = graphs.shape[1]
    # L = diag(d) − S of every graph, (n_graphs, n, n)
    laplacians = graphs.sum(axis=2)[:, :, None] * np.eye(n) - graphs
    values, vectors = np.linalg.eigh(laplacians)
    # the first vector is known: the solver's has rounding in it, and any sign
    vectors[:, :, 0] = 1.0 / np.sqrt(n)
    return values[:, :2], vectors[:, :, :2]


def distances(
    values: np.ndarray, vectors: np.ndarray, parts: np.ndarray, eta: float = 0.0
) -> np.ndarray:
    """Return min_R ‖G − F R‖² + η ⟨G − F R, ∇⟩ of every bipartition of every graph.

    With η = 0 that is the squared distance to the relaxed optimum, else the paper's criterion.
    """
    n, size = parts.shape[1], parts.sum(axis=1)
    # Gᵀ of every bipartition, (n_parts, 2, n)
    indicators = np.stack(
        [(1 - parts) / np.sqrt(n - size)[:, None], parts / np.sqrt(size)[:, None]], axis=1
    )
    # F − η L F = F (I − η Λ): the gradient only weighs the eigenvectors
    weights = 1.0 - eta * values
    # GᵀF, (n_graphs, n_parts, 2, 2), its columns weighed
    overlap = np.einsum("pki,gij->gpkj", indicators, vectors, optimize=True)
    overlap *= weights[:, None, None, :]
    # the nuclear norm of all the 2-by-2 matrices GᵀF (I − η Λ) at once
    square = np.sum(overlap**2, axis=(2, 3))
    determinant = overlap[..., 0, 0] * overlap[..., 1, 1] - overlap[..., 0, 1] * overlap[..., 1, 0]
    nuclear = np.sqrt(square + 2.0 * np.abs(determinant))
    # the loss 2 Σ (1 − ηλ) − 2 ‖·‖_*, which is the distance for η = 0
    return np.asarray(2.0 * weights.sum(axis=1, keepdims=True) - 2.0 * nuclear)


def missed(n_nodes: int, method: str, parameters: Mapping[str, Any], seed: int) -> int:
    """Return on how many random graphs a method does not find the smallest ratio cut.

    ``method`` is "closest" (the bipartition nearest to the relaxed optimum, over all rotations),
    "first_order" or "partition"; ``parameters`` has the number of ``graphs``.
    """
    graphs = random_graphs(parameters["graphs"], n_nodes, seed)
    parts = bipartitions(n_nodes)
    values = cut_values(graphs, parts)
    optimum = values.min(axis=1)
    if method == "closest":
        # exactly, without a heuristic: every bipartition with its own best rotation
        nearest = distances(*relaxed(graphs), parts).argmin(axis=1)
        found = values[np.arange(len(graphs)), nearest]
    else:
        found = np.array([_found(graph, method, parameters, seed) for graph in graphs])
    return int(np.sum(found > optimum * (1.0 + TOLERANCE)))


def _found(graph: np.ndarray, method: str, parameters: Mapping[str, Any], seed: int) -> float:
    """Return the ratio cut that a method finds on a graph."""
    if method == "partition":
        effort = parameters["effort"]
        return float(
            leastcut.partition(graph, 2, "ratio", effort=effort, random_state=seed).cut_value
        )
    # the seed is for the starts, as everywhere
    relaxation = leastcut.relax(graph, 2, "ratio", random_state=0)
    found = leastcut.discretize(
        relaxation,
        method,
        graph=graph,
        n_init=parameters["n_init"],
        eta=parameters["eta"],
        random_state=seed,
    )
    assert found.cut_value is not None
    return found.cut_value


def example() -> dict[str, Any]:
    """Return the paper's example: relaxed coordinates, and all 7 cuts with value and distance."""
    parts = bipartitions(4)
    graphs = EXAMPLE[None]
    eigenvalues, vectors = relaxed(graphs)
    second = vectors[0, :, 1] * np.sign(vectors[0, 0, 1])  # as the paper prints it
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
        "rotated": [_turned(vectors[0], goal).tolist() for goal in goals],
    }


def _turned(vectors: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """Return F R for the rotation that brings F as near to G as can be."""
    left, _, right = np.linalg.svd(vectors.T @ goal)
    return np.asarray(vectors @ (left @ right))

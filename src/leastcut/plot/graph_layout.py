"""Places for the nodes of a small graph: distances on paper that are like those in the graph.

Every component is laid out by itself: the sum of (|x_i − x_j| − d_ij)² / d_ij² over all pairs, for
the shortest ways d_ij through the graph, is lowered step by step (each step solves for the places
that the present directions ask for, and never raises the sum). Components then stand in rows.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import shortest_path

from leastcut.graph import Graph

STEPS = 150
"""Steps of a layout: later ones move nothing that is seen."""

LONGEST = 8.0
"""How many times as long as the strongest edge the weakest is."""


def layout(graph: Graph) -> np.ndarray:
    """Return a place for every node, always the same.

    Parameters
    ----------
    graph : Graph
        Some hundreds of nodes: it takes O(n³).

    Returns
    -------
    ndarray of shape (n, 2)
    """
    count, component = graph.components
    parts = [np.flatnonzero(component == k) for k in range(count)]
    parts.sort(key=lambda part: -part.size)
    places = np.zeros((graph.n_nodes, 2))
    widest = np.sqrt(graph.n_nodes) * 1.5
    left = bottom = highest = 0.0
    for part in parts:
        own = _layout_connected(graph.restrict(part))
        size = own.max(axis=0)
        # A new row where this one is full.
        if left > 0.0 and left + size[0] > widest:
            left, bottom, highest = 0.0, bottom + highest, 0.0
        places[part] = own + np.array([left, bottom])
        left += size[0] + 1.5
        highest = max(highest, size[1] + 1.5)
    return places


def _layout_connected(graph: Graph) -> np.ndarray:
    """Return places from (0, 0) on, about as many square units as there are nodes."""
    n = graph.n_nodes
    if n == 1:
        return np.zeros((1, 2))
    # 1. Ways through the graph: the stronger an edge, the shorter, within bounds.
    strongest = float(graph.weights.max())
    length = np.minimum(np.sqrt(strongest / graph.weights), LONGEST)
    matrix = sp.csr_array((length, graph.indices, graph.indptr), shape=(n, n))
    distance = shortest_path(matrix, directed=False)
    np.fill_diagonal(distance, 0.0)
    # 2. A start: the two directions that distances, squared, spread in most.
    centred = distance**2 - np.mean(distance**2, axis=0)
    centred -= np.mean(centred, axis=1)[:, np.newaxis]
    _, vectors = np.linalg.eigh(-0.5 * (centred + centred.T))
    places = vectors[:, -2:] if n > 2 else np.column_stack([vectors[:, -1], np.zeros(n)])
    places = places * (distance.max() / max(float(np.ptp(places)), np.finfo(float).tiny))
    # Nodes that look alike to the graph start a little apart, or they would never part.
    places = places + 1e-3 * distance.max() * np.random.default_rng(0).standard_normal((n, 2))
    # 3. Lower the sum.
    np.fill_diagonal(distance, 1.0)
    weight = 1.0 / distance**2
    np.fill_diagonal(weight, 0.0)
    inverse = np.linalg.pinv(np.diag(weight.sum(axis=1)) - weight)
    for _ in range(STEPS):
        apart = np.linalg.norm(places[:, np.newaxis] - places, axis=-1)
        pull = weight * distance / np.maximum(apart, 1e-9)
        np.fill_diagonal(pull, 0.0)
        places = inverse @ (np.diag(pull.sum(axis=1)) - pull) @ places
    # 4. Upright: the longer side lies across.
    _, _, axes = np.linalg.svd(places - places.mean(axis=0), full_matrices=False)
    places = places @ axes.T
    size = np.ptp(places, axis=0)
    scale = np.sqrt(n / max(float(size[0] * max(size[1], 0.2 * size[0])), np.finfo(float).tiny))
    return np.asarray((places - places.min(axis=0)) * scale)

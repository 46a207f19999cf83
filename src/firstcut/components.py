"""Eigenpairs, component by component.

A is block diagonal, one block per connected component, and √b on a component spans the null space
of its block. So nothing is left to chance where the eigenvalue 0 repeats: components are found by
graph search, and a solver only ever sees one connected block, without its null vector.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from firstcut.eigensolvers import Eigenpairs

Solve = Callable[[sp.csr_array, np.ndarray, int], Eigenpairs]
"""A solver of :mod:`firstcut.eigensolvers` with its options filled in."""


def indicators_of_components(
    weights: np.ndarray, component: np.ndarray, n_clusters: int
) -> Eigenpairs:
    """Return ``n_clusters`` null vectors of a matrix with at least as many components.

    They are the indicators of groups of components of about even weight, so that whatever turns
    eigenvectors into clusters finds a cut of value 0.
    """
    groups = _balanced_groups(np.bincount(component, weights), n_clusters)
    vectors = _indicator(groups[component], weights)
    return Eigenpairs(np.zeros(n_clusters), vectors, True, "components")


def smallest_by_component(
    matrix: sp.csr_array,
    weights: np.ndarray,
    component: np.ndarray,
    n_clusters: int,
    solve: Solve,
) -> Eigenpairs:
    """Return the smallest eigenpairs of a matrix with fewer components than clusters.

    Every component gives its null vector. The rest are the smallest of what the components have
    beyond it, each solved on its own block.
    """
    sizes = np.bincount(component)
    order = np.argsort(component, kind="stable")
    ends = np.cumsum(sizes)
    wanted = n_clusters - sizes.size
    sorted_matrix = matrix if sizes.size == 1 else matrix[order][:, order]
    blocks = []
    for k in np.argsort(-sizes, kind="stable"):
        if sizes[k] == 1:
            break
        span = slice(ends[k] - sizes[k], ends[k])
        nodes = order[span]
        block, scale = _scaled(sorted_matrix if sizes.size == 1 else sorted_matrix[span, span])
        null = np.sqrt(weights[nodes] / weights[nodes].sum())
        pairs = solve(block, null, min(wanted, int(sizes[k]) - 1))
        blocks.append((nodes, np.maximum(pairs.values, 0.0) * scale, pairs))
    values = np.concatenate([values for _, values, _ in blocks])
    owner = np.repeat(np.arange(len(blocks)), [values.size for _, values, _ in blocks])
    column = np.concatenate([np.arange(values.size) for _, values, _ in blocks])
    smallest = np.argsort(values, kind="stable")[:wanted]
    vectors = np.zeros((component.size, n_clusters))
    vectors[:, : sizes.size] = _indicator(component, weights)
    for position, pick in enumerate(smallest, start=sizes.size):
        nodes, _, pairs = blocks[owner[pick]]
        vectors[nodes, position] = pairs.vectors[:, column[pick]]
    return Eigenpairs(
        np.concatenate([np.zeros(sizes.size), values[smallest]]),
        vectors,
        all(pairs.converged for _, _, pairs in blocks),
        blocks[0][2].solver,
    )


def _scaled(block: sp.csr_array) -> tuple[sp.csr_array, float]:
    """Return the block with its spectrum brought into [0, 1], and what it was divided by.

    A Laplacian is at most twice its diagonal, and so is A, whatever the node weights.
    """
    scale = 2.0 * float(block.diagonal().max()) or 1.0
    return sp.csr_array((block.data / scale, block.indices, block.indptr), block.shape), scale


def _balanced_groups(loads: np.ndarray, n_groups: int) -> np.ndarray:
    """Return a group 0..n_groups-1 for every load, none empty, the sums of loads about even.

    The heaviest ``n_groups`` loads open one group each. The others, heaviest first, are laid end to
    end and poured into the groups up to a common level, the emptiest first.
    """
    order = np.argsort(-loads, kind="stable")
    groups = np.empty(loads.size, dtype=np.int64)
    groups[order[:n_groups]] = np.arange(n_groups)
    rest = order[n_groups:]
    if rest.size:
        base = loads[order[:n_groups]][::-1]  # ascending
        length = np.cumsum(loads[rest])
        # The level at which exactly the first j groups would hold all of the rest; it is the right
        # one for the last j whose own load lies below it.
        levels = (np.cumsum(base) + length[-1]) / np.arange(1, n_groups + 1)
        level = levels[np.flatnonzero(base <= levels)[-1]]
        room = np.cumsum(np.maximum(level - base, 0.0))
        middle = length - 0.5 * loads[rest]
        slot = np.minimum(np.searchsorted(room, middle, side="right"), n_groups - 1)
        groups[rest] = n_groups - 1 - slot
    return groups


def _indicator(labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return G = B^½ Y (YᵀBY)^-½ for labels 0..k-1."""
    totals = np.bincount(labels, weights)
    indicator = np.zeros((labels.size, totals.size))
    indicator[np.arange(labels.size), labels] = np.sqrt(weights / totals[labels])
    return indicator

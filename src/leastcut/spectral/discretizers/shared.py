"""Functions shared by discretizers: selection of the best start, non-empty clusters, rotations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
from scipy.linalg import qr

from leastcut.results import Discretization
from leastcut.validation import as_floats

ORTHOGONAL = 1e-6  # largest deviation of RᵀR from the identity in a rotation passed by the user

# The cut value of labels, which a discretizer receives in place of the graph.
Score = Callable[[np.ndarray], float]


def best_of(candidates: Iterable[Discretization], score: Score | None) -> Discretization:
    """Return the candidate with the smallest cut value, or with the smallest loss without a score.

    Ties are won by the first candidate. NaN is larger than all numbers.
    """
    best: Discretization | None = None
    smallest = np.inf
    for candidate in candidates:
        if score is not None:
            candidate = replace(candidate, cut_value=score(candidate.labels))
        value = candidate.loss if candidate.cut_value is None else candidate.cut_value
        if best is None or value < smallest:
            best, smallest = candidate, np.inf if np.isnan(value) else value
    if best is None:
        raise ValueError("There is no candidate to choose from; n_init must be at least 1.")
    return best


def fill_empty_clusters(labels: np.ndarray, points: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return labels in which all of 0..n_clusters-1 occur, with as few changes as possible.

    Every empty cluster takes the row of ``points`` that is farthest from the mean of its cluster,
    among clusters of more than one row. Ties are won by the first row. If there is no empty
    cluster, ``labels`` itself is returned.
    """
    count = np.bincount(labels, minlength=n_clusters)
    empty = np.flatnonzero(count == 0)
    if empty.size == 0:
        return labels
    labels = labels.copy()
    mean = np.zeros((n_clusters, points.shape[1]))
    for p in range(points.shape[1]):
        mean[:, p] = np.bincount(labels, points[:, p], minlength=n_clusters)
    mean /= np.maximum(count, 1)[:, None]
    distance = np.square(points - mean[labels]).sum(axis=1)
    for k in empty:
        # Exclude the only row of a cluster, also of one that has just been filled.
        distance[count[labels] == 1] = -1.0
        i = int(np.argmax(distance))
        count[labels[i]] -= 1
        labels[i] = k
        count[k] = 1
    return labels


def unit_rows(matrix: np.ndarray) -> np.ndarray:
    """Return the rows scaled to unit length; rows of zeros are not changed."""
    length = np.linalg.norm(matrix, axis=1, keepdims=True)
    units: np.ndarray = np.divide(matrix, length, out=np.zeros_like(matrix), where=length > 0)
    return units


def random_labels(n: int, n_clusters: int, random_state: np.random.Generator) -> np.ndarray:
    """Return independent uniform labels; every empty cluster then takes a random row."""
    labels = random_state.integers(n_clusters, size=n)
    count = np.bincount(labels, minlength=n_clusters)
    for k in np.flatnonzero(count == 0):
        i = int(random_state.choice(np.flatnonzero(count[labels] > 1)))
        count[labels[i]] -= 1
        labels[i] = k
        count[k] = 1
    return labels


def nearest_orthogonal(matrix: np.ndarray, before: np.ndarray | None = None) -> np.ndarray:
    """Return the orthogonal matrix R that maximizes tr(Rᵀ matrix), U Vᵀ of its SVD.

    For a singular matrix, as an empty cluster causes it, R is not unique: the one nearest to
    ``before`` is returned (None: the identity), so it does not depend on rounding.

    For ten clusters this function is faster than ``scipy.linalg.polar``.
    """
    left, sizes, right = np.linalg.svd(matrix)
    rank = int(np.count_nonzero(sizes > sizes.size * np.finfo(float).eps * sizes[0]))
    if rank < sizes.size:
        # R is arbitrary between the left and the right null space.
        unreached, lost = left[:, rank:], right[rank:]
        free = unreached.T @ (lost.T if before is None else before @ lost.T)
        outer, _, inner = np.linalg.svd(free)
        left[:, rank:] = unreached @ (outer @ inner)
    return np.asarray(left @ right)


def pivot_rotation(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of c distant rows, and the rotation that maps them to the axes.

    Each row is the one farthest from the span of those selected before it (pivoted QR).
    """
    pivots = qr(vectors.T, mode="r", pivoting=True)[1][: vectors.shape[1]]
    return pivots, nearest_orthogonal(vectors[pivots].T)


def check_rotation(rotation: np.ndarray, c: int) -> np.ndarray:
    """Return a rotation passed by the user as an array; raise if it is not orthogonal."""
    matrix = as_floats("rotation", rotation)
    if matrix.shape != (c, c):
        raise ValueError(f"rotation must have shape ({c}, {c}), but it has {matrix.shape}.")
    error = float(np.abs(matrix.T @ matrix - np.eye(c)).max())
    # Not ``error > ORTHOGONAL``, which is false for NaN.
    if not error <= ORTHOGONAL:
        raise ValueError(
            f"rotation must be orthogonal, but RᵀR differs from the identity by {error:.3g}; "
            "orthogonalize it with an SVD first."
        )
    return matrix

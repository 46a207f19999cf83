"""What discretizers share: the choice of the best start, exactly c clusters, and rotations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
from scipy.linalg import qr

from leastcut.results import Discretization
from leastcut.validation import as_floats

ORTHOGONAL = 1e-6  # largest error of RᵀR of a rotation from a user: more than rounding

# Labels in, true cut value out: what a discretizer, which never sees the graph, is handed.
Score = Callable[[np.ndarray], float]


def best_of(candidates: Iterable[Discretization], score: Score | None) -> Discretization:
    """Return the candidate of smallest cut value, or of smallest loss without a score.

    The first one wins a tie. NaN wins over nothing but NaN.
    """
    best: Discretization | None = None
    smallest = np.inf
    for candidate in candidates:
        if score is not None:
            candidate = replace(candidate, cut_value=score(candidate.labels))
        # Without a score, candidates that come with a cut value are compared by that.
        value = candidate.loss if candidate.cut_value is None else candidate.cut_value
        if best is None or value < smallest:
            # nothing is smaller than NaN, which would therefore stay
            best, smallest = candidate, np.inf if np.isnan(value) else value
    if best is None:
        raise ValueError("There is no candidate to choose from; n_init must be at least 1.")
    return best


def fill_empty_clusters(labels: np.ndarray, points: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return labels in which all of 0..n_clusters-1 occur, changing as few rows as possible.

    Every empty cluster takes the row of ``points`` that lies farthest from the mean of its own
    cluster, among the clusters that can spare one; the first such row if several are equally far.
    The labels themselves are returned if nothing had to change.
    """
    count = np.bincount(labels, minlength=n_clusters)
    empty = np.flatnonzero(count == 0)
    if empty.size == 0:
        return labels
    labels = labels.copy()
    mean = np.zeros((n_clusters, points.shape[1]))
    # Column by column, as bincount sums one number per row.
    for p in range(points.shape[1]):
        mean[:, p] = np.bincount(labels, points[:, p], minlength=n_clusters)
    # The mean of an empty cluster is 0 / 1 instead of 0 / 0, and no row asks for it.
    mean /= np.maximum(count, 1)[:, None]
    distance = np.square(points - mean[labels]).sum(axis=1)
    for k in empty:
        # The only row of a cluster cannot be spared, nor one that has just filled another.
        distance[count[labels] == 1] = -1.0
        i = int(np.argmax(distance))
        count[labels[i]] -= 1
        labels[i] = k
        count[k] = 1
    return labels


def unit_rows(matrix: np.ndarray) -> np.ndarray:
    """Return the rows scaled to length 1; rows of zeros stay."""
    length = np.linalg.norm(matrix, axis=1, keepdims=True)
    # Where the length is 0 the zeros of ``out`` stand; a division would give NaN.
    units: np.ndarray = np.divide(matrix, length, out=np.zeros_like(matrix), where=length > 0)
    return units


def random_labels(n: int, n_clusters: int, random_state: np.random.Generator) -> np.ndarray:
    """Return labels drawn uniformly, every row for itself; empty clusters take a random row each.

    Clusters of equal size would be a narrower choice, without a small cluster beside a large one.
    """
    labels = random_state.integers(n_clusters, size=n)
    count = np.bincount(labels, minlength=n_clusters)
    for k in np.flatnonzero(count == 0):
        # the only row of a cluster cannot be spared
        i = int(random_state.choice(np.flatnonzero(count[labels] > 1)))
        count[labels[i]] -= 1
        labels[i] = k
        count[k] = 1
    return labels


def nearest_orthogonal(matrix: np.ndarray, before: np.ndarray | None = None) -> np.ndarray:
    """Return the orthogonal R that maximises tr(Rᵀ matrix): U Vᵀ of its SVD (the paper's Eq. R).

    A singular matrix, as an empty cluster makes it, has more than one such R: then it is the one
    nearest to ``before`` (None: the identity). An SVD would let rounding choose among them.

    ``scipy.linalg.polar`` returns it too, in 30 µs instead of 19 for ten clusters, which is a sixth
    of the time of :func:`leastcut.cut_path`.
    """
    left, sizes, right = np.linalg.svd(matrix)
    rank = int(np.count_nonzero(sizes > sizes.size * np.finfo(float).eps * sizes[0]))
    if rank < sizes.size:
        # R is free between what the matrix does not reach and what it loses.
        unreached, lost = left[:, rank:], right[rank:]
        free = unreached.T @ (lost.T if before is None else before @ lost.T)
        outer, _, inner = np.linalg.svd(free)
        left[:, rank:] = unreached @ (outer @ inner)
    return np.asarray(left @ right)


def pivot_rotation(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return c rows that are as far apart as can be, and the rotation that turns them onto axes.

    Each row is the farthest from the span of those before it, so there is one for every cluster.
    """
    pivots = qr(vectors.T, mode="r", pivoting=True)[1][: vectors.shape[1]]
    return pivots, nearest_orthogonal(vectors[pivots].T)


def check_rotation(rotation: np.ndarray, c: int) -> np.ndarray:
    """Return a rotation that a caller gave; it must be orthogonal."""
    matrix = as_floats("rotation", rotation)
    if matrix.shape != (c, c):
        raise ValueError(f"rotation must have shape ({c}, {c}), but it has {matrix.shape}.")
    error = float(np.abs(matrix.T @ matrix - np.eye(c)).max())
    # Not ``error > ORTHOGONAL``, which NaN would pass.
    if not error <= ORTHOGONAL:
        raise ValueError(
            f"rotation must be orthogonal, but RᵀR differs from the identity by {error:.3g}; "
            "orthogonalize it with an SVD first."
        )
    return matrix

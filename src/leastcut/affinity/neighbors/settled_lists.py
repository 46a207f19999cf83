"""From candidates to exact lists: distances recomputed, sorted, and cut off where they must end.

It is the second step of ``products``, which runs it in several threads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

SPARSE = 2**22
"""Coordinates of sparse samples that differences are computed of at once, stored or not."""

CACHED = 2**17
"""Coordinates of dense samples that differences are computed of at once: they stay in the cache."""


class Asked(NamedTuple):
    """What is asked of an index.

    Attributes
    ----------
    queries : float32 or float64 ndarray, or csr_array, of shape (n_queries, n_features)
        The rows that lists are made for.
    own : ndarray of shape (n_queries,)
        Which sample of the index each of them is, or -1: no row lists itself.
    length : int
        How many samples to list.
    offset : float
        If positive, lists go on to every sample strictly nearer than the squared distance of their
        ``length``-th entry plus the offset.
    """

    queries: Any
    own: np.ndarray
    length: int
    offset: float = 0.0


class Settled(NamedTuple):
    """The lists of some rows, of which only the complete ones have entries.

    A row that is not complete has to look again at everything within ``needed``.
    """

    rows: np.ndarray
    complete: np.ndarray
    needed: np.ndarray
    lengths: np.ndarray
    indices: np.ndarray
    squared: np.ndarray


def settled(
    points: Any, asked: Asked, rows: np.ndarray, candidates: np.ndarray, reach: np.ndarray
) -> Settled:
    """Sort the candidates of some rows by recomputed distance and cut the lists off.

    Parameters
    ----------
    points : float32 or float64 ndarray, or csr_array, of shape (n, n_features)
        The samples of the index.
    asked : Asked
        What is asked.
    rows : ndarray of shape (n_rows,)
        The rows of the queries in question.
    candidates : ndarray of shape (n_rows, width)
        Samples of the index. They may name a row's own sample (-1, if it has none) any number of
        times: that is padding.
    reach : ndarray of shape (n_rows,)
        Whatever is not named is at a squared distance above it.

    Returns
    -------
    Settled
    """
    # By index first, which is the order that ties are left in.
    candidates = np.sort(candidates, axis=1)
    squared = _squared_distances(points, asked.queries, rows, candidates)
    # A row's own sample, and padding, go to the end. (For a row of no sample, -1 names the last
    # sample in the line above; its distance is replaced here.)
    squared[candidates == asked.own[rows, None]] = np.inf
    # The sort is stable, so that of equal distances the lower index comes first.
    order = np.argsort(squared, axis=1, kind="stable")
    candidates = np.take_along_axis(candidates, order, axis=1)
    squared = np.take_along_axis(squared, order, axis=1)
    # How far a list has to see; it is right only if whatever is not named lies beyond.
    needed = squared[:, asked.length - 1] + asked.offset
    complete = needed < reach
    listed = np.zeros(candidates.shape, dtype=bool)
    listed[:, : asked.length] = True
    if asked.offset > 0:
        listed |= squared < needed[:, None]
    # Nothing of a list that is not complete: it is made again as a whole.
    listed &= complete[:, None]
    lengths = listed.sum(axis=1)
    return Settled(rows, complete, needed, lengths, candidates[listed], squared[listed])


def _squared_distances(
    points: Any, queries: Any, rows: np.ndarray, others: np.ndarray
) -> np.ndarray:
    """Return those of every row to the samples listed for it, exactly 0 for equal ones."""
    of, to = np.repeat(rows, others.shape[1]), others.reshape(-1)
    squared = np.empty(to.size)
    sparse = sp.issparse(queries)
    step = max(1, (SPARSE if sparse else CACHED) // queries.shape[1])
    for start in range(0, to.size, step):
        part = slice(start, start + step)
        # In double precision, whatever the samples are in.
        difference = queries[of[part]].astype(np.float64, copy=False) - points[to[part]]
        if sparse:
            squared[part] = difference.multiply(difference).sum(axis=1)
        else:
            squared[part] = np.einsum("ij,ij->i", difference, difference)
    return squared.reshape(others.shape)

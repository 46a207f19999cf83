"""Exactly c clusters, none empty: the one repair step that every discretizer shares."""

from __future__ import annotations

import numpy as np


def fill_empty_clusters(labels: np.ndarray, points: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return labels in which all of 0..n_clusters-1 occur, changing as few rows as possible.

    Every empty cluster takes the row that lies farthest from the mean of its own cluster, among
    the clusters that can spare one; the first such row where several are equally far.

    Parameters
    ----------
    labels : ndarray of shape (n,), of integers in 0..n_clusters-1
    points : ndarray of shape (n, p)
        Where the rows lie.
    n_clusters : int, at most n

    Returns
    -------
    ndarray of shape (n,)
        A new array where something had to change, else ``labels`` itself.
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

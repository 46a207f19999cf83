"""Agreement between clusters and known classes, whatever the clusters are called.

All scores are computed from the contingency table: the number of samples of each class in each
cluster.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import (
    adjusted_rand_score,
    homogeneity_completeness_v_measure,
    normalized_mutual_info_score,
)
from sklearn.metrics.cluster import contingency_matrix

from leastcut.validation import as_plain, check_labels


def clustering_accuracy(y_true: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """Return the fraction of correct samples after the best matching of clusters and classes.

    Each cluster is matched with at most one class and each class with at most one cluster, so that
    most samples are correct (the Hungarian method). Samples of an unmatched cluster are wrong.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Known classes, of any type.
    labels : array-like of shape (n,)
        Clusters, of any type; there may be more or fewer of them than classes.

    Returns
    -------
    float
        Between 0 and 1; 1 means that the partitions are the same.

    Examples
    --------
    >>> from leastcut import clustering_accuracy
    >>> clustering_accuracy(["a", "a", "b", "b"], [1, 1, 0, 2])
    0.75
    """
    classes, clusters = _check_pair(y_true, labels)
    # Shape (n_classes, n_clusters), which need not be square.
    table = contingency_matrix(classes, clusters)
    rows, columns = linear_sum_assignment(table, maximize=True)
    return float(table[rows, columns].sum() / classes.size)


def normalized_mutual_info(y_true: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """Return the mutual information of classes and clusters, divided by the larger entropy.

    This is the NMI of the paper. scikit-learn divides by the mean of the entropies by default,
    which is never less than this.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Known classes, of any type.
    labels : array-like of shape (n,)
        Clusters, of any type.

    Returns
    -------
    float
        Between 0 and 1; 1 means that the partitions are the same.

    Examples
    --------
    >>> from leastcut import normalized_mutual_info
    >>> round(normalized_mutual_info([0, 0, 1, 1], [0, 1, 2, 3]), 3)
    0.5
    """
    classes, clusters = _check_pair(y_true, labels)
    return _unit(normalized_mutual_info_score(classes, clusters, average_method="max"))


def scores(y_true: npt.ArrayLike, labels: npt.ArrayLike) -> dict[str, float]:
    """Return every score by name; 1 is perfect in all of them.

    ``purity`` is the fraction of samples in the largest class of their cluster; ``adjusted_rand``
    can be negative.
    """
    classes, clusters = _check_pair(y_true, labels)
    # The third, their harmonic mean, is NMI by the mean of the entropies, and left out.
    homogeneity, completeness, _ = homogeneity_completeness_v_measure(classes, clusters)
    return {
        "accuracy": clustering_accuracy(classes, clusters),
        "nmi": normalized_mutual_info(classes, clusters),
        "purity": float(contingency_matrix(classes, clusters).max(axis=0).sum() / classes.size),
        "adjusted_rand": float(adjusted_rand_score(classes, clusters)),
        "homogeneity": _unit(homogeneity),
        "completeness": _unit(completeness),
    }


def _check_pair(y_true: npt.ArrayLike, labels: npt.ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return both as integers from 0, one per sample."""
    n_true, n_labels = as_plain("y_true", y_true).shape, as_plain("labels", labels).shape
    if len(n_true) != 1 or n_true != n_labels:
        raise ValueError(
            f"y_true and labels must hold one entry per sample, both in one dimension, but their "
            f"shapes are {n_true} and {n_labels}."
        )
    if n_true == (0,):
        raise ValueError("y_true and labels are empty; a score needs at least one sample.")
    return check_labels(y_true, n_true[0], name="y_true"), check_labels(labels, n_true[0])


def _unit(value: float) -> float:
    """Return a score, without the rounding that can put it beyond 0 or 1."""
    return float(np.clip(value, 0.0, 1.0))

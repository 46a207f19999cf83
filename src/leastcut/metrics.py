"""Agreement between found clusters and known classes; the names of clusters never matter.

Everything is read off the contingency table: how many samples of each class are in each cluster.
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
    """Return the share of samples that are right when clusters are matched with classes.

    Every cluster is given at most one class and every class at most one cluster, in the way that
    makes most samples right (the Hungarian method). Samples of what is left over count as wrong.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Known classes, of any type.
    labels : array-like of shape (n,)
        Found clusters, of any type; there may be more or fewer of them than classes.

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
    classes, clusters = _pair(y_true, labels)
    # Shape (n_classes, n_clusters). It need not be square: the longer side has some left over.
    table = contingency_matrix(classes, clusters)
    rows, columns = linear_sum_assignment(table, maximize=True)
    return float(table[rows, columns].sum() / classes.size)


def normalized_mutual_info(y_true: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """Return the mutual information of classes and clusters over the larger of their entropies.

    It is the paper's NMI. scikit-learn's default divides by the mean of the entropies instead,
    which is never less than this.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Known classes, of any type.
    labels : array-like of shape (n,)
        Found clusters, of any type.

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
    classes, clusters = _pair(y_true, labels)
    return _unit(normalized_mutual_info_score(classes, clusters, average_method="max"))


def scores(y_true: npt.ArrayLike, labels: npt.ArrayLike) -> dict[str, float]:
    """Return every score by name; 1 is perfect in all of them.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Known classes, of any type.
    labels : array-like of shape (n,)
        Found clusters, of any type.

    Returns
    -------
    dict
        ``accuracy`` and ``nmi`` as above; ``purity``, the share of samples in the largest class of
        their cluster; ``adjusted_rand``, which can be negative; ``homogeneity`` and
        ``completeness``.

    Examples
    --------
    >>> from leastcut.metrics import scores
    >>> scores([0, 0, 1, 1], [1, 1, 0, 0])["adjusted_rand"]
    1.0
    """
    classes, clusters = _pair(y_true, labels)
    # The third, their harmonic mean, is NMI by the mean of the entropies: left out beside ``nmi``.
    homogeneity, completeness, _ = homogeneity_completeness_v_measure(classes, clusters)
    return {
        "accuracy": clustering_accuracy(classes, clusters),
        "nmi": normalized_mutual_info(classes, clusters),
        "purity": float(contingency_matrix(classes, clusters).max(axis=0).sum() / classes.size),
        "adjusted_rand": float(adjusted_rand_score(classes, clusters)),
        "homogeneity": _unit(homogeneity),
        "completeness": _unit(completeness),
    }


def _pair(y_true: npt.ArrayLike, labels: npt.ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return both as integers from 0, one per sample."""
    # Compared here, as check_labels knows only one of the two.
    n_true, n_found = as_plain("y_true", y_true).shape, as_plain("labels", labels).shape
    if len(n_true) != 1 or n_true != n_found:
        raise ValueError(
            f"y_true and labels must hold one entry per sample, both in one dimension, but their "
            f"shapes are {n_true} and {n_found}."
        )
    if n_true == (0,):
        raise ValueError("y_true and labels are empty; a score needs at least one sample.")
    return (
        check_labels(y_true, n_true[0], name="y_true"),
        check_labels(labels, n_true[0]),
    )


def _unit(value: float) -> float:
    """Return a share, without the rounding that can put it beyond 0 or 1."""
    return float(min(max(value, 0.0), 1.0))

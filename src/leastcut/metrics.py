"""Scores of the agreement between clusters and known classes, invariant to their labels."""

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
    """Compute the clustering accuracy under the best matching of clusters and classes.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Known classes, as integers or strings.
    labels : array-like of shape (n_samples,)
        Clusters, as integers or strings. The numbers of clusters and classes may differ.

    Returns
    -------
    float
        The fraction of samples whose cluster is matched with their class, between 0 and 1.

    See Also
    --------
    normalized_mutual_info : Compute the mutual information of classes and clusters.
    cut_value : Compute the cut value, which needs no known classes.

    Notes
    -----
    Each cluster is matched with at most one class and each class with at most one cluster. The
    Hungarian method finds the matching with the largest accuracy. Samples of unmatched clusters
    count as wrong.

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
    """Compute the mutual information of classes and clusters, divided by the larger entropy.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Known classes, as integers or strings.
    labels : array-like of shape (n_samples,)
        Clusters, as integers or strings.

    Returns
    -------
    float
        Between 0 and 1; 1 means that the partitions are identical.

    See Also
    --------
    clustering_accuracy : Compute the fraction of correct samples under the best matching.

    Notes
    -----
    The score is I / max(H_classes, H_clusters), with the mutual information I and the entropies H.
    :func:`sklearn.metrics.normalized_mutual_info_score` divides by the mean of the entropies by
    default, so its score is never smaller.

    Examples
    --------
    >>> from leastcut import normalized_mutual_info
    >>> round(normalized_mutual_info([0, 0, 1, 1], [0, 1, 2, 3]), 3)
    0.5
    """
    classes, clusters = _check_pair(y_true, labels)
    return _unit(normalized_mutual_info_score(classes, clusters, average_method="max"))


def scores(y_true: npt.ArrayLike, labels: npt.ArrayLike) -> dict[str, float]:
    """Return all scores by name; 1 is the best value of each.

    ``purity`` is the fraction of samples in the largest class of their cluster; ``adjusted_rand``
    can be negative.
    """
    classes, clusters = _check_pair(y_true, labels)
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
    """Validate classes and labels, and return both as integers from 0."""
    n_true, n_labels = as_plain("y_true", y_true).shape, as_plain("labels", labels).shape
    if len(n_true) != 1 or n_true != n_labels:
        raise ValueError(
            f"y_true and labels must be one-dimensional with one entry per sample, but their "
            f"shapes are {n_true} and {n_labels}."
        )
    if n_true == (0,):
        raise ValueError("y_true and labels are empty; a score needs at least one sample.")
    return check_labels(y_true, n_true[0], name="y_true"), check_labels(labels, n_true[0])


def _unit(value: float) -> float:
    """Clip a score to [0, 1], which rounding can leave."""
    return float(np.clip(value, 0.0, 1.0))

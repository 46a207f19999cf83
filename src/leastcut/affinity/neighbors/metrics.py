"""What "near" means: the metrics that samples can be compared by, and how each is searched.

The graphs are made of squared distances. Under the Euclidean metric those are |x − y|². Under
"cosine" and "correlation" they are those of unit rows, |x/|x| − y/|y||² = 2 (1 − cos), so that the
same searches serve. Under any other metric they are the squares of its distances: "minkowski" with
p=2 then gives the graph of "euclidean", and weights fall with the distance as they do there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import scipy.sparse as sp

from leastcut.affinity.neighbors.angles import Angles
from leastcut.affinity.neighbors.pairs import PairMetric, PairSearch
from leastcut.affinity.neighbors.searching import Wanted
from leastcut.validation import is_on_gpu

MetricLike = str | Callable[..., float]
"""What ``metric`` may be: a name in :data:`METRICS`, or a function of two samples."""


class Kind(NamedTuple):
    """How a metric is searched, and what of.

    Attributes
    ----------
    search : {"straight", "angle", "pairs"}
        Straight lines; straight lines between unit rows; or distances of pairs, one by one.
    has_tree : bool
        Whether a ball tree serves: it has this metric, the triangle inequality holds, and few
        distances are equal.
    of_flags : bool
        Whether only zero and not zero are told apart.
    """

    search: Literal["straight", "angle", "pairs"] = "pairs"
    has_tree: bool = False
    of_flags: bool = False


METRICS: dict[str, Kind] = {
    "euclidean": Kind("straight"),
    "l2": Kind("straight"),
    "sqeuclidean": Kind("straight"),
    "cosine": Kind("angle"),
    "correlation": Kind("angle"),
    "manhattan": Kind(has_tree=True),
    "cityblock": Kind(has_tree=True),
    "l1": Kind(has_tree=True),
    "chebyshev": Kind(has_tree=True),
    "minkowski": Kind(has_tree=True),
    "canberra": Kind(has_tree=True),
    "haversine": Kind(has_tree=True),
    "hamming": Kind(),
    "braycurtis": Kind(),
    "seuclidean": Kind(),
    "mahalanobis": Kind(),
    "jaccard": Kind(of_flags=True),
    "dice": Kind(of_flags=True),
    "rogerstanimoto": Kind(of_flags=True),
    "russellrao": Kind(of_flags=True),
    "sokalsneath": Kind(of_flags=True),
    "yule": Kind(of_flags=True),
}
"""The named metrics, by scikit-learn's names."""

ELSEWHERE = {
    "precomputed": "Distances that are given go to affinity='precomputed_nearest_neighbors'.",
    "nan_euclidean": "Samples must be finite here; fill the missing values in first.",
}
"""Names that scikit-learn has and that are refused here, with what to do instead."""


def check_metric(metric: object, metric_params: object = None) -> None:
    """Raise where a metric is not known, or cannot have the parameters given."""
    if not callable(metric) and not (isinstance(metric, str) and metric in METRICS):
        known = ", ".join(map(repr, METRICS))
        elsewhere = ELSEWHERE.get(metric, "") if isinstance(metric, str) else ""
        raise ValueError(
            f"metric={metric!r} is not known; choose one of {known}, or pass a function of two "
            f"samples. {elsewhere}".rstrip()
        )
    if metric_params is None:
        return
    if not isinstance(metric_params, dict):
        raise TypeError(
            f"metric_params={metric_params!r} must be a dict of the metric's own parameters, such "
            "as {'p': 3}."
        )
    if metric_params and isinstance(metric, str) and METRICS[metric].search != "pairs":
        raise ValueError(
            f"metric_params={metric_params!r} has no place: metric={metric!r} takes no parameters."
        )


def angles_of(metric: Any, X: Any, *, warn: bool) -> Angles | None:
    """Return the directions of dense samples, where a metric is of angles."""
    if _kind(metric).search != "angle" or sp.issparse(X):
        return None
    return Angles.of(X, metric, warn=warn)


def pairs_of(
    metric: Any,
    metric_params: dict[str, Any] | None,
    X: Any,
    n_threads: int,
    wanted: Wanted | None,
) -> PairSearch | None:
    """Return the search of samples by distances of pairs, where no other serves a metric."""
    kind = _kind(metric)
    # Centring would fill sparse rows in, and many of them are at right angles: ties without number.
    of_sparse = kind.search == "angle" and sp.issparse(X)
    if kind.search != "pairs" and not of_sparse:
        return None
    if wanted is not None and (wanted.neighbors == "approximate" or wanted.device == "cuda"):
        fast = wanted.neighbors == "approximate"
        told = "neighbors='approximate'" if fast else "device='cuda'"
        raise ValueError(
            f"{told} knows dense samples under 'euclidean', 'cosine' and 'correlation', and "
            f"metric={metric!r}{' of sparse samples' if of_sparse else ''} is searched exactly, on "
            "the processor; leave neighbors and device at 'auto'."
        )
    if is_on_gpu(X):
        from leastcut.affinity.neighbors.devices import on_host

        X = on_host(X)
    pair = PairMetric(metric, metric_params or {}, kind.has_tree, kind.of_flags)
    return PairSearch(X, pair, n_threads, warn=wanted is not None)


def _kind(metric: Any) -> Kind:
    return METRICS[metric] if isinstance(metric, str) else Kind()

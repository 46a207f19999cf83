"""Metrics of samples, and unit rows for the angular metrics.

Graphs use squared distances. For the Euclidean metric these are |x − y|². For "cosine" and
"correlation" they are those of unit rows, |x/|x| − y/|y||² = 2 (1 − cos), so that the same searches
apply. For any other metric they are the squares of its distances (``pairs``), so that "minkowski"
with p=2 gives the graph of "euclidean".

"correlation" subtracts the mean of each row first. A row of zeros (a constant row for
"correlation") has no direction. Such rows count as equal to one another and orthogonal to all other
rows, like scikit-learn's distance of 1; they get an additional coordinate axis. Rounding errors are
removed: nearly equal directions become equal, and nearly right angles become right angles.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp

from leastcut.memory import LITTLE_MEMORY, check_memory
from leastcut.validation import is_on_gpu, warn_caller

BLOCK = 2**20  # coordinates scaled to unit rows at once, in double precision
SMALLEST = 2.0**-200  # smaller coordinates of unit rows become 0, as their squares could underflow
ROUNDING = 4  # maximum error of a coordinate of a unit row, in units in the last place

MetricLike = str | Callable[..., float]
AngleMetric = Literal["cosine", "correlation"]


class Kind(NamedTuple):
    """Properties of a metric that determine its search."""

    # Euclidean distances, Euclidean distances of unit rows, or distances computed pair by pair.
    search: Literal["euclidean", "angle", "pairs"] = "pairs"
    # Whether a ball tree supports the metric and few distances are equal.
    has_tree: bool = False
    # Whether the metric only distinguishes zero from nonzero coordinates.
    is_boolean: bool = False


METRICS: dict[str, Kind] = {
    **dict.fromkeys(("euclidean", "l2", "sqeuclidean"), Kind("euclidean")),
    **dict.fromkeys(("cosine", "correlation"), Kind("angle")),
    **dict.fromkeys(("manhattan", "cityblock", "l1", "chebyshev"), Kind(has_tree=True)),
    **dict.fromkeys(("minkowski", "canberra", "haversine"), Kind(has_tree=True)),
    **dict.fromkeys(("hamming", "braycurtis", "seuclidean", "mahalanobis"), Kind()),
    **dict.fromkeys(("jaccard", "dice", "rogerstanimoto"), Kind(is_boolean=True)),
    **dict.fromkeys(("russellrao", "sokalsneath", "yule"), Kind(is_boolean=True)),
}
# Metrics of scikit-learn that are not supported, with the remedy.
REMEDIES = {
    "precomputed": "For a matrix of distances, use affinity='precomputed_nearest_neighbors'.",
    "nan_euclidean": "Samples must be finite; fill in the missing values first.",
}


def check_metric(metric: object, metric_params: object = None) -> None:
    """Raise if a metric is unknown or does not have the given parameters."""
    if not callable(metric) and not (isinstance(metric, str) and metric in METRICS):
        known = ", ".join(map(repr, METRICS))
        remedy = REMEDIES.get(metric, "") if isinstance(metric, str) else ""
        raise ValueError(
            f"metric={metric!r} is not known; choose one of {known}, or pass a function of two "
            f"samples. {remedy}".rstrip()
        )
    if metric_params is None:
        return
    if not isinstance(metric_params, dict):
        raise TypeError(
            f"metric_params={metric_params!r} must be a dict of the parameters of the metric, such "
            "as {'p': 3}."
        )
    if metric_params and isinstance(metric, str) and METRICS[metric].search != "pairs":
        raise ValueError(
            f"metric_params={metric_params!r} is not supported: metric={metric!r} has no "
            "parameters. Omit metric_params."
        )


def kind_of(metric: MetricLike) -> Kind:
    """Return the properties of a metric."""
    return METRICS[metric] if isinstance(metric, str) else Kind()


@dataclass(frozen=True, eq=False)
class UnitRows:
    """Samples as unit rows; degenerate rows, which have no direction, are zeros.

    ``points`` have one more column if degenerate rows have an additional axis.
    """

    points: Any
    is_degenerate: np.ndarray

    def with_axis(self) -> UnitRows:
        """Return unit rows with one more coordinate, which is 1 for degenerate rows."""
        points, is_degenerate = self.points, self.is_degenerate
        if is_on_gpu(points):
            import torch

            axis = torch.as_tensor(is_degenerate, device=points.device).to(points.dtype)
            return UnitRows(torch.cat([points, axis[:, None]], dim=1), is_degenerate)
        column = is_degenerate[:, None].astype(points.dtype)
        return UnitRows(np.hstack([points, column]), is_degenerate)


@dataclass(frozen=True, eq=False)
class Angles:
    """Unit rows of samples, and corrections of their distances."""

    metric: AngleMetric
    n_samples: int
    degenerate: np.ndarray  # the samples without a direction
    unit_error: float  # maximum error of a coordinate
    points: Any  # the unit rows, with an additional axis if there are degenerate ones

    @classmethod
    def of(cls, X: Any, metric: AngleMetric, *, warn: bool) -> Angles:
        """Return the unit rows of samples; optionally warn about degenerate ones."""
        rows = unit_rows(X, metric)
        degenerate = np.flatnonzero(rows.is_degenerate)
        if warn:
            warn_of_degenerate(degenerate, X.shape[0], metric)
        points = rows.with_axis().points if degenerate.size else rows.points
        kind = np.float32 if str(points.dtype).endswith("float32") else np.float64
        return cls(metric, X.shape[0], degenerate, ROUNDING * float(np.finfo(kind).eps), points)

    def __getstate__(self) -> dict[str, Any]:
        # The index has the points.
        return {**self.__dict__, "points": None}

    def of_new(self, X: Any) -> UnitRows:
        """Return the unit rows of new samples."""
        rows = unit_rows(X.toarray() if sp.issparse(X) else X, self.metric)
        return rows.with_axis() if self.degenerate.size else rows

    def correct_lists(self, indptr: np.ndarray, indices: np.ndarray, squared: np.ndarray) -> None:
        """Correct the rounding errors in the lists of the samples, in place.

        A degenerate sample is equally far from all others with a direction, which are sorted by
        index, after the other degenerate samples.
        """
        self._round(squared)
        if self.degenerate.size == 0:
            return
        counts = np.diff(indptr)[self.degenerate]
        others = self._first_others(int(counts.max()))
        for sample, count in zip(self.degenerate.tolist(), counts.tolist(), strict=True):
            if count + 1 < self.n_samples:  # otherwise the list has all samples
                equal = self.degenerate[: count + 1]
                equal = equal[equal != sample][:count]
                part = slice(indptr[sample], indptr[sample + 1])
                indices[part] = np.concatenate([equal, others])[:count]
                squared[part] = np.where(np.arange(count) < equal.size, 0.0, 2.0)

    def correct_new(self, rows: UnitRows, indices: np.ndarray, squared: np.ndarray) -> None:
        """Correct the rounding errors in the lists of new samples, in place.

        The neighbors of a degenerate sample are the degenerate ones, then the others by index.
        """
        self._round(squared)
        count, degenerate = indices.shape[1], self.degenerate
        neighbors = np.concatenate([degenerate, self._first_others(count)])[:count]
        indices[rows.is_degenerate] = neighbors
        squared[rows.is_degenerate] = np.where(np.arange(count) < degenerate.size, 0.0, 2.0)

    def _round(self, squared: np.ndarray) -> None:
        round_angles(squared, self.unit_error**2, self.unit_error)

    def _first_others(self, count: int) -> np.ndarray:
        """Return the first ``count`` samples that have a direction, or all of them."""
        first = np.arange(min(self.n_samples, count + self.degenerate.size))
        return np.setdiff1d(first, self.degenerate)


def unit_rows(X: Any, metric: AngleMetric) -> UnitRows:
    """Return every sample divided by its length, centered first for "correlation".

    Lengths are computed in double precision, after division by a power of two, so that they neither
    overflow nor underflow. The result has the precision of X, which is not changed.
    """
    if is_on_gpu(X):
        return _unit_rows_on_gpu(X, metric)
    X = X if X.dtype == np.float32 else np.asarray(X, dtype=np.float64)
    n, n_features = X.shape
    if X.nbytes > LITTLE_MEMORY:
        check_memory(
            X.nbytes,
            f"metric={metric!r}, which copies {n} samples as unit rows,",
            "Pass X as float32, or cluster a sample of the data and predict the rest.",
        )
    units, is_degenerate = np.empty((n, n_features), dtype=X.dtype), np.empty(n, dtype=bool)
    step = max(1, BLOCK // n_features)
    for start in range(0, n, step):
        rows = slice(start, start + step)
        block = X[rows].astype(np.float64)
        # A constant row is recognized by its extremes, as its mean may be rounded.
        low, high = block.min(axis=1), block.max(axis=1)
        zero = low == high if metric == "correlation" else (low == 0) & (high == 0)
        is_degenerate[rows] = zero
        block = np.ldexp(block, -np.frexp(np.maximum(-low, high))[1][:, None])
        if metric == "correlation":
            block -= block.mean(axis=1, keepdims=True)
            block[zero] = 0.0
        length = np.sqrt(np.einsum("ij,ij->i", block, block))
        length[zero] = 1.0
        block /= length[:, None]
        block[np.abs(block) < SMALLEST] = 0.0
        units[rows] = block
    return UnitRows(units, is_degenerate)


def _unit_rows_on_gpu(X: Any, metric: AngleMetric) -> UnitRows:
    """Return the unit rows of a tensor on its device, block by block as on the CPU."""
    import torch

    X = torch.as_tensor(X)
    units = torch.empty_like(X)
    is_degenerate = np.empty(X.shape[0], dtype=bool)
    step = max(1, 16 * BLOCK // X.shape[1])
    for start in range(0, X.shape[0], step):
        rows = slice(start, start + step)
        block = X[rows].to(torch.float64)
        low, high = block.aminmax(dim=1)
        zero = low == high if metric == "correlation" else (low == 0) & (high == 0)
        is_degenerate[rows] = zero.cpu().numpy()
        exponent = torch.frexp(torch.maximum(-low, high)).exponent
        # In two steps, as a single power of two of this size may overflow.
        half = exponent // 2
        block = torch.ldexp(torch.ldexp(block, -half[:, None]), (half - exponent)[:, None])
        if metric == "correlation":
            block -= block.mean(dim=1, keepdim=True)
            block[zero] = 0.0
        length = torch.linalg.vector_norm(block, dim=1)
        length[zero] = 1.0
        block /= length[:, None]
        block[block.abs() < SMALLEST] = 0.0
        units[rows] = block.to(X.dtype)
    return UnitRows(units, is_degenerate)


def round_angles(squared: np.ndarray, equal: float, right: float) -> None:
    """Set squared distances of unit rows up to ``equal`` to 0, and within ``right`` of 2 to 2."""
    squared[squared <= equal] = 0.0
    squared[np.abs(squared - 2.0) <= right] = 2.0


def warn_of_degenerate(rows: np.ndarray, n: int, metric: str) -> None:
    """Warn about samples without a direction."""
    if rows.size:
        what = "all zeros" if metric == "cosine" else "constant"
        warn_caller(
            f"metric={metric!r}: {rows.size} of {n} samples {'is' if rows.size == 1 else 'are'} "
            f"{what} and have no direction (first: sample {rows[0]}). They are treated as equal to "
            "one another and orthogonal to all other samples; drop them if they are invalid."
        )

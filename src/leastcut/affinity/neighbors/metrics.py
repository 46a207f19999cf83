"""What "near" means: the metrics that samples can be compared by, and unit rows for angles.

Graphs are made of squared distances. Under the Euclidean metric those are |x − y|². Under "cosine"
and "correlation" they are those of unit rows, |x/|x| − y/|y||² = 2 (1 − cos), so that the same
searches serve. Under any other metric they are the squares of its distances (``pairs``):
"minkowski" with p=2 then gives the graph of "euclidean".

Under "correlation" rows are centered first, each by its own mean. A row of zeros (under
"correlation", a constant row) has no direction. Such rows count as equal to one another and at
right angles to all others, cos = 0, as scikit-learn's distance of 1 says, too; here they get an
axis of their own. Directions that only rounding tells apart are equal, and right angles are right.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp

from leastcut.memory import LITTLE_MEMORY, check_memory
from leastcut.validation import is_on_gpu, warn_caller

BLOCK = 2**20  # coordinates that are made unit rows at once, in double precision
NOTHING = 2.0**-200  # coordinates of unit rows below this are 0: their squares could vanish
ROUNDING = 4  # units in the last place that a coordinate of a unit row may be wrong by

MetricLike = str | Callable[..., float]
AngleMetric = Literal["cosine", "correlation"]


class Kind(NamedTuple):
    """How a metric is searched, and what of."""

    # Straight lines; straight lines between unit rows; or distances of pairs, one by one.
    search: Literal["straight", "angle", "pairs"] = "pairs"
    # Whether a ball tree has it, the triangle inequality holds, and few distances are equal.
    has_tree: bool = False
    # Whether only zero and not zero differ.
    of_flags: bool = False


METRICS: dict[str, Kind] = {
    **dict.fromkeys(("euclidean", "l2", "sqeuclidean"), Kind("straight")),
    **dict.fromkeys(("cosine", "correlation"), Kind("angle")),
    **dict.fromkeys(("manhattan", "cityblock", "l1", "chebyshev"), Kind(has_tree=True)),
    **dict.fromkeys(("minkowski", "canberra", "haversine"), Kind(has_tree=True)),
    **dict.fromkeys(("hamming", "braycurtis", "seuclidean", "mahalanobis"), Kind()),
    **dict.fromkeys(("jaccard", "dice", "rogerstanimoto"), Kind(of_flags=True)),
    **dict.fromkeys(("russellrao", "sokalsneath", "yule"), Kind(of_flags=True)),
}
# Names that scikit-learn has and that are refused here, with what to do instead.
ELSEWHERE = {
    "precomputed": "Distances that are given go to affinity='precomputed_nearest_neighbors'.",
    "nan_euclidean": "Samples must be finite here; fill the missing values in first.",
}


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


def kind_of(metric: MetricLike) -> Kind:
    """Return how a metric is searched."""
    return METRICS[metric] if isinstance(metric, str) else Kind()


@dataclass(frozen=True, eq=False)
class Directions:
    """Samples as unit rows, zeros where there is no direction, and which rows have none.

    ``points`` have one more column where the rows without a direction have an axis of their own.
    """

    points: Any
    is_lost: np.ndarray

    def with_axis(self) -> Directions:
        """Return them with one more coordinate, which is 1 in the rows without a direction."""
        points, lost = self.points, self.is_lost
        if is_on_gpu(points):
            import torch

            own = torch.as_tensor(lost, device=points.device).to(points.dtype)
            return Directions(torch.cat([points, own[:, None]], dim=1), lost)
        return Directions(np.hstack([points, lost[:, None].astype(points.dtype)]), lost)


@dataclass(frozen=True, eq=False)
class Angles:
    """The directions of samples, and how those of new ones and their distances are made."""

    metric: AngleMetric
    n_samples: int
    lost: np.ndarray  # the samples without a direction
    unit_error: float  # what a unit row may be wrong by
    points: Any  # the unit rows, with an axis for lost ones if there are any

    @classmethod
    def of(cls, X: Any, metric: AngleMetric, *, warn: bool) -> Angles:
        """Return the directions of samples, with a warning of those without one if asked for."""
        rows = directions(X, metric)
        lost = np.flatnonzero(rows.is_lost)
        if warn:
            warn_of_lost(lost, X.shape[0], metric)
        points = rows.with_axis().points if lost.size else rows.points
        kind = np.float32 if str(points.dtype).endswith("float32") else np.float64
        return cls(metric, X.shape[0], lost, ROUNDING * float(np.finfo(kind).eps), points)

    def __getstate__(self) -> dict[str, Any]:
        # The index keeps the points, and they need not be kept twice.
        return {**self.__dict__, "points": None}

    def of_new(self, X: Any) -> Directions:
        """Return the directions of new samples."""
        rows = directions(X.toarray() if sp.issparse(X) else X, self.metric)
        return rows.with_axis() if self.lost.size else rows

    def correct_lists(self, indptr: np.ndarray, indices: np.ndarray, squared: np.ndarray) -> None:
        """Correct the lists of the samples themselves, in place.

        All others with a direction are equally far from a sample without one, and rounding would
        choose among them: they come by index, after the others of its kind. Lists that go on beyond
        a number have all of them already.
        """
        self._round(squared)
        if self.lost.size == 0:
            return
        counts = np.diff(indptr)[self.lost]
        others = self._first_others(int(counts.max()))
        for sample, count in zip(self.lost.tolist(), counts.tolist(), strict=True):
            if count + 1 < self.n_samples:
                kind = self.lost[: count + 1]
                kind = kind[kind != sample][:count]
                place = slice(indptr[sample], indptr[sample + 1])
                indices[place] = np.concatenate([kind, others])[:count]
                squared[place] = np.where(np.arange(count) < kind.size, 0.0, 2.0)

    def correct_new(self, rows: Directions, indices: np.ndarray, squared: np.ndarray) -> None:
        """Correct the nearest samples of new ones, in place.

        Those without a direction are nearest to the others of their kind, and then to all by index.
        """
        self._round(squared)
        count, lost = indices.shape[1], self.lost
        indices[rows.is_lost] = np.concatenate([lost, self._first_others(count)])[:count]
        squared[rows.is_lost] = np.where(np.arange(count) < lost.size, 0.0, 2.0)

    def _round(self, squared: np.ndarray) -> None:
        round_angles(squared, self.unit_error**2, self.unit_error)

    def _first_others(self, count: int) -> np.ndarray:
        """Return the first samples that have a direction, ``count`` of them if there are."""
        return np.setdiff1d(np.arange(min(self.n_samples, count + self.lost.size)), self.lost)


def directions(X: Any, metric: AngleMetric) -> Directions:
    """Return every sample divided by its length, centered first under "correlation".

    Lengths are taken in double precision, after division by a power of two: they neither overflow
    nor vanish. The result is in the precision of X; X is not changed.
    """
    if is_on_gpu(X):
        return _directions_on_gpu(X, metric)
    X = X if X.dtype == np.float32 else np.asarray(X, dtype=np.float64)
    n, n_features = X.shape
    if X.nbytes > LITTLE_MEMORY:
        check_memory(
            X.nbytes,
            f"metric={metric!r} of {n} samples, which are copied as unit rows,",
            "Pass X as float32, or cut a sample of the data and predict the rest.",
        )
    units, lost = np.empty((n, n_features), dtype=X.dtype), np.empty(n, dtype=bool)
    step = max(1, BLOCK // n_features)
    for start in range(0, n, step):
        rows = slice(start, start + step)
        block = X[rows].astype(np.float64)
        # A constant row is recognized by its extremes: its mean may be off by rounding.
        low, high = block.min(axis=1), block.max(axis=1)
        lost[rows] = low == high if metric == "correlation" else (low == 0) & (high == 0)
        block = np.ldexp(block, -np.frexp(np.maximum(-low, high))[1][:, None])
        if metric == "correlation":
            block -= block.mean(axis=1, keepdims=True)
            block[lost[rows]] = 0.0
        length = np.sqrt(np.einsum("ij,ij->i", block, block))
        length[lost[rows]] = 1.0
        block /= length[:, None]
        block[np.abs(block) < NOTHING] = 0.0
        units[rows] = block
    return Directions(units, lost)


def _directions_on_gpu(X: Any, metric: AngleMetric) -> Directions:
    """Return the unit rows of a tensor, where it lies, block by block as on the CPU."""
    import torch

    X = torch.as_tensor(X)
    units = torch.empty_like(X)
    lost = np.empty(X.shape[0], dtype=bool)
    step = max(1, 16 * BLOCK // X.shape[1])
    for start in range(0, X.shape[0], step):
        rows = slice(start, start + step)
        block = X[rows].to(torch.float64)
        low, high = block.aminmax(dim=1)
        gone = low == high if metric == "correlation" else (low == 0) & (high == 0)
        lost[rows] = gone.cpu().numpy()
        exponent = torch.frexp(torch.maximum(-low, high)).exponent
        # In two steps: a single power of two of this size may not be a number.
        half = exponent // 2
        block = torch.ldexp(torch.ldexp(block, -half[:, None]), (half - exponent)[:, None])
        if metric == "correlation":
            block -= block.mean(dim=1, keepdim=True)
            block[gone] = 0.0
        length = torch.linalg.vector_norm(block, dim=1)
        length[gone] = 1.0
        block /= length[:, None]
        block[block.abs() < NOTHING] = 0.0
        units[rows] = block.to(X.dtype)
    return Directions(units, lost)


def round_angles(squared: np.ndarray, equal: float, right: float) -> None:
    """Set squared distances of unit rows up to ``equal`` to 0, and within ``right`` of 2 to 2."""
    squared[squared <= equal] = 0.0
    squared[np.abs(squared - 2.0) <= right] = 2.0


def warn_of_lost(lost: np.ndarray, n: int, metric: str) -> None:
    """Warn of samples that have no direction."""
    if lost.size:
        what = "all zeros" if metric == "cosine" else "constant"
        warn_caller(
            f"metric={metric!r}: {lost.size} of {n} samples {'is' if lost.size == 1 else 'are'} "
            f"{what} and so without a direction (the first is {lost[0]}). They count as equal to "
            "one another and at right angles to all others; drop them if they mean nothing."
        )

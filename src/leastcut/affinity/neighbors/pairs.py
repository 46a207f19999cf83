"""Neighbors under any metric: distances of pairs by scikit-learn, and the smallest of every row.

Distances are computed a block of rows at a time, against all samples, so that memory is linear in
the samples; or, for few features and a metric that has one, a ball tree leaves most of them out.
Either way the lists are exact, nearest first, and of equal distances the lower index comes first.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from leastcut.affinity.neighbors.metrics import (
    MetricLike,
    kind_of,
    round_angles,
    warn_of_lost,
)
from leastcut.threads import in_blocks
from leastcut.validation import canonical_csr, index_type

# Distances, or coordinates of samples filled in, that each thread holds at once: 16 MiB.
BLOCK = 2**21
TREE_FEATURES = 12  # up to so many features a ball tree is asked, where the metric has one
TREE_SAMPLES = 2**11  # from so many samples on: below, all pairs take no time either
# Metrics that scikit-learn has for sparse rows as they are.
OF_SPARSE = ("manhattan", "cityblock", "l1")
OF_ANGLES = ("cosine", "correlation")  # metrics of directions, which are for sparse rows here
# Squared distances of sparse unit rows that are rounding: they are differences of products, and
# directions that are a millionth of a radian apart are equal.
EQUAL = 2.0**-40
# By how much, relatively, a radius is widened: a tree rounds distances one way or another.
SLACK = 1e-9


class PairSearch:
    """Search of samples by distances of pairs, under a named metric or a function of two samples.

    "cosine" and "correlation" are for sparse samples here, by products that fill nothing in: with
    means m and lengths s when centered, the correlation of x and y is
    (x·y − n_features m_x m_y) / (s_x s_y).
    """

    recall = 1.0

    def __init__(
        self, X: Any, metric: MetricLike, params: dict[str, Any], n_threads: int, *, warn: bool
    ) -> None:
        # A function of the user's is called from one thread only.
        self.n_threads = 1 if callable(metric) else n_threads
        self.metric, self._kind = metric, kind_of(metric)
        self.points = self._read(X)
        self.params = _completed(metric, params, self.points)
        self.method = "ball tree" if self._suits_a_tree() else "pairs"
        if metric in OF_ANGLES:
            self._standard = _standard(self.points, str(metric))
            self._columns = self._standard.rows.T.tocsr()
            if warn:
                lost = np.flatnonzero(self._standard.is_lost)
                warn_of_lost(lost, self.points.shape[0], str(metric))

    @cached_property
    def _tree(self) -> Any:
        """A ball tree, or None where all pairs are compared."""
        if self.method != "ball tree":
            return None
        from sklearn.neighbors import BallTree

        return BallTree(self.points, metric=self.metric, **self.params)

    def _suits_a_tree(self) -> bool:
        n, n_features = self.points.shape
        many = n >= TREE_SAMPLES and n_features <= TREE_FEATURES and not sp.issparse(self.points)
        # Below p=1 there is no triangle inequality, which trees live by.
        return many and self._kind.has_tree and self.params.get("p", 2) >= 1

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_tree"}

    def nearest_others(self, count: int, offset: float = 0.0) -> tuple[np.ndarray, ...]:
        """Return ``indptr``, ``indices`` and ``squared`` of ``Neighborhoods``."""
        n = self.points.shape[0]
        _ = self._tree  # made before threads ask for it

        def of_block(start: int, stop: int) -> tuple[np.ndarray, ...]:
            own = np.arange(start, stop)
            return self._lists(self.points[start:stop], count, offset, own)

        lists = in_blocks(of_block, n, self._rows_at_once(), self.n_threads)
        counts, indices, squared = (np.concatenate(part) for part in zip(*lists, strict=True))
        indptr = np.append(0, np.cumsum(counts, dtype=np.int64))
        return indptr, indices.astype(index_type(n), copy=False), squared

    def nearest(self, new: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the samples nearest to new ones, and their squared distances."""
        queries = self._read(new)
        if not sp.issparse(self.points) and sp.issparse(queries):
            queries = queries.toarray()
        found = np.empty((queries.shape[0], count), dtype=index_type(self.points.shape[0]))
        squared = np.empty((queries.shape[0], count))
        _ = self._tree  # made before threads ask for it

        def of_block(start: int, stop: int) -> None:
            _, indices, values = self._lists(queries[start:stop], count, 0.0, None)
            found[start:stop] = indices.reshape(-1, count)
            squared[start:stop] = values.reshape(-1, count)

        in_blocks(of_block, queries.shape[0], self._rows_at_once(), self.n_threads)
        return found, squared

    def _read(self, X: Any) -> Any:
        """Return samples as the metric takes them."""
        if self.metric in OF_ANGLES:
            return canonical_csr(sp.csr_array(X)).astype(np.float64, copy=False)
        if self.metric == "haversine" and X.shape[1] != 2:
            raise ValueError(
                f"metric='haversine' is between points on a sphere, so X needs two columns, "
                f"latitude and longitude in radians, but it has {X.shape[1]}."
            )
        X = canonical_csr(X) if sp.issparse(X) else np.asarray(X)
        # As scikit-learn reads them: what is not zero is true. Sparse rows become so when filled.
        if self._kind.of_flags and not sp.issparse(X):
            return X != 0
        return X.astype(np.float64, copy=False)

    def _rows_at_once(self) -> int:
        n, n_features = self.points.shape
        return max(1, BLOCK // int(max(n, n_features if self._is_filled else 1)))

    @property
    def _is_filled(self) -> bool:
        """Whether sparse rows are filled in, a few at a time: most metrics want that."""
        return sp.issparse(self.points) and self.metric not in (*OF_SPARSE, *OF_ANGLES)

    def _lists(
        self, queries: Any, count: int, offset: float, own: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the lists of some rows: how long each is, the samples, their squared distances.

        ``own`` are the samples that the rows are, which are not in their own lists.
        """
        # 1. All that may be in a list, in any order: row, sample and squared distance.
        find = self._by_pairs if self._tree is None else self._by_tree
        row, column, squared = find(queries, count, offset, own)
        # 2. By row, then by distance, then by index.
        order = np.lexsort((column, squared, row))
        row, column, squared = row[order], column[order], squared[order]
        counts = np.bincount(row, minlength=queries.shape[0])
        starts = np.cumsum(counts) - counts
        # 3. The first so many, and with an offset whatever is nearer than the last of them plus it.
        keep = np.arange(row.size) - starts[row] < count
        if offset > 0:
            keep |= squared < (squared[starts + count - 1] + offset)[row]
        return np.bincount(row[keep], minlength=counts.size), column[keep], squared[keep]

    def _by_pairs(
        self, queries: Any, count: int, offset: float, own: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        squared = self._squared(queries)
        if own is not None:
            squared[np.arange(own.size), own] = np.inf
        reach = np.partition(squared, count - 1, axis=1)[:, count - 1 : count] + offset
        row, column = np.nonzero(squared <= reach)
        return row, column, squared[row, column]

    def _by_tree(
        self, queries: np.ndarray, count: int, offset: float, own: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        # One more where the sample itself is among them; then all within the farthest of those.
        farthest = self._tree.query(queries, count + (own is not None))[0][:, -1]
        radius = np.sqrt(farthest**2 + offset) * (1 + SLACK)
        found, distances = self._tree.query_radius(queries, radius, return_distance=True)
        row = np.repeat(np.arange(queries.shape[0]), [part.size for part in found])
        column, distance = np.concatenate(found), np.concatenate(distances)
        if own is not None:
            others = column != own[row]
            row, column, distance = row[others], column[others], distance[others]
        return row, column, self._checked_squares(distance)

    def _squared(self, queries: Any) -> np.ndarray:
        """Return squared distances from every query to all samples."""
        if self.metric in OF_ANGLES:
            return self._squared_of_angles(queries)
        if not self._is_filled:
            return self._checked_squares(self._distances(queries, self.points))
        n, n_features = self.points.shape
        filled, step = self._filled(queries), max(1, BLOCK // n_features)
        found = np.empty((queries.shape[0], n))
        for start in range(0, n, step):
            columns = slice(start, start + step)
            found[:, columns] = self._distances(filled, self._filled(self.points[columns]))
        return self._checked_squares(found)

    def _filled(self, X: Any) -> np.ndarray:
        dense = X.toarray()
        return np.asarray(dense != 0 if self._kind.of_flags else dense)

    def _distances(self, queries: Any, points: Any) -> np.ndarray:
        from sklearn.metrics import pairwise_distances

        found = pairwise_distances(queries, points, metric=self.metric, **self.params)
        distances = np.asarray(found, dtype=float)
        if not callable(self.metric):
            distances[np.isnan(distances)] = 0.0  # 0 / 0, of two rows of zeros, which are equal
        return distances

    def _checked_squares(self, distances: np.ndarray) -> np.ndarray:
        """Return the squares of distances, or say why they are none."""
        metric = self.metric
        if not np.isfinite(distances).all() or distances.min(initial=0.0) < 0:
            raise ValueError(
                f"metric={metric!r} gives distances that are negative, infinite or NaN; they must "
                "be finite and none below 0."
            )
        with np.errstate(over="ignore", under="ignore"):
            squared: np.ndarray = np.square(distances)
        largest = float(distances.max(initial=0.0))
        if np.isinf(squared).any() or np.any((squared == 0) != (distances == 0)):
            raise ValueError(
                f"The squares of distances under metric={metric!r} overflow or vanish: the largest "
                f"distance is {largest:.3g}. Scale X by a constant."
            )
        return squared

    def _squared_of_angles(self, queries: sp.csr_array) -> np.ndarray:
        new, known = _standard(queries, str(self.metric)), self._standard
        products = (new.rows @ self._columns).toarray()
        if self.metric == "correlation":
            products -= np.outer(new.means, known.means)
        squared: np.ndarray = np.maximum(2.0 - 2.0 * products, 0.0)
        round_angles(squared, EQUAL, EQUAL)
        # By rule where there is no direction: right angles, and equal to one another.
        squared[new.is_lost] = 2.0
        squared[:, known.is_lost] = 2.0
        squared[np.ix_(new.is_lost, known.is_lost)] = 0.0
        return squared


class _Standard(NamedTuple):
    """Sparse rows over their length, that of the centered row under "correlation", and then also
    √n_features times their means over it. Rows without a direction are zeros."""

    rows: sp.csr_array
    means: np.ndarray
    is_lost: np.ndarray


def _standard(X: sp.csr_array, metric: str) -> _Standard:
    n, n_features = X.shape
    stored = np.diff(X.indptr)
    row = np.repeat(np.arange(n), stored)
    high, low = (np.asarray(side.toarray()).reshape(-1) for side in (X.max(axis=1), X.min(axis=1)))
    data = np.ldexp(X.data, -np.repeat(np.frexp(np.maximum(high, -low))[1], stored))
    mean = np.zeros(n)
    if metric == "correlation":
        mean = np.bincount(row, data, minlength=n) / n_features
    # Of what is not stored every coordinate is 0, and −mean when centered.
    cannot_link = np.bincount(row, np.square(data - mean[row]), minlength=n)
    length = np.sqrt(cannot_link + (n_features - stored) * np.square(mean))
    # A constant row is recognized by its extremes: its mean may be off by rounding.
    lost = low == high if metric == "correlation" else (low == 0) & (high == 0)
    length[lost] = np.inf
    rows = sp.csr_array((data / length[row], X.indices, X.indptr), shape=X.shape)
    return _Standard(rows, np.sqrt(n_features) * mean / length, lost)


def _completed(metric: MetricLike, given: dict[str, Any], points: Any) -> dict[str, Any]:
    """Return a metric's parameters, with those that are of the samples as they were fitted."""
    params = dict(given)
    if metric == "seuclidean" and "V" not in params:
        dense = points.toarray() if sp.issparse(points) else points
        params["V"] = np.var(dense, axis=0, ddof=1)
        if not (params["V"] > 0).all():
            column = int(np.argmin(params["V"]))
            raise ValueError(
                f"metric='seuclidean' divides by the variances of the columns, and that of column "
                f"{column} is 0. Drop the column, or pass metric_params={{'V': ...}}."
            )
    if metric == "mahalanobis" and not {"V", "VI"} & set(params):
        dense = points.toarray() if sp.issparse(points) else points
        covariance = np.atleast_2d(np.cov(dense.T))
        if np.linalg.matrix_rank(covariance) < covariance.shape[0]:
            raise ValueError(
                "metric='mahalanobis' needs the inverse of the covariance of the columns, which "
                "has none here. Drop columns that follow from others, or pass metric_params="
                "{'VI': ...}."
            )
        params["VI"] = np.linalg.inv(covariance)
    return params

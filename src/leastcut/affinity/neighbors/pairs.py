"""Exact neighbors for any metric, from pairwise distances computed by scikit-learn.

Distances are computed for a block of rows at a time, so that memory is linear in the number of
samples. For few features and a metric that supports it, a ball tree avoids most of them. Lists are
sorted by distance, then by index.
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
    warn_of_degenerate,
)
from leastcut.threads import in_blocks
from leastcut.validation import canonical_csr, index_type

# Distances, or coordinates of dense rows, that each thread holds at once: 16 MiB.
BLOCK = 2**21
TREE_FEATURES = 12  # maximum number of features for a ball tree
TREE_SAMPLES = 2**11  # minimum number of samples for a ball tree
# Metrics for which scikit-learn supports sparse rows.
OF_SPARSE = ("manhattan", "cityblock", "l1")
OF_ANGLES = ("cosine", "correlation")  # angular metrics, in this module for sparse rows only
# Squared distances of sparse unit rows up to this are rounding errors of products: directions that
# differ by a millionth of a radian are equal.
EQUAL = 2.0**-40
# Relative increase of a radius, to allow for the rounding of distances in a tree.
SLACK = 1e-9


class PairSearch:
    """Search with pairwise distances, for a named metric or a function of two samples.

    "cosine" and "correlation" of sparse samples use sparse products: with the means m of rows and
    the lengths s of centered rows, the correlation is (x·y − n_features m_x m_y) / (s_x s_y).
    """

    recall = 1.0

    def __init__(
        self, X: Any, metric: MetricLike, params: dict[str, Any], n_threads: int, *, warn: bool
    ) -> None:
        # A user's function is called from one thread only.
        self.n_threads = 1 if callable(metric) else n_threads
        self.metric, self._kind = metric, kind_of(metric)
        self.points = self._convert(X)
        self.params = _completed(metric, params, self.points)
        self.method = "ball tree" if self._suits_a_tree() else "pairs"
        if metric in OF_ANGLES:
            self._standard = _standard(self.points, str(metric))
            self._columns = self._standard.rows.T.tocsr()
            if warn:
                degenerate = np.flatnonzero(self._standard.is_degenerate)
                warn_of_degenerate(degenerate, self.points.shape[0], str(metric))

    @cached_property
    def _tree(self) -> Any:
        """A ball tree, or None if all pairs are compared."""
        if self.method != "ball tree":
            return None
        from sklearn.neighbors import BallTree

        return BallTree(self.points, metric=self.metric, **self.params)

    def _suits_a_tree(self) -> bool:
        n, n_features = self.points.shape
        many = n >= TREE_SAMPLES and n_features <= TREE_FEATURES and not sp.issparse(self.points)
        # Trees need the triangle inequality, which does not hold for p < 1.
        return many and self._kind.has_tree and self.params.get("p", 2) >= 1

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_tree"}

    def neighborhoods(self, count: int, offset: float = 0.0) -> tuple[np.ndarray, ...]:
        """Return ``indptr``, ``indices`` and ``squared`` of ``Neighborhoods``."""
        n = self.points.shape[0]
        _ = self._tree  # created before threads need it

        def lists_of_block(start: int, stop: int) -> tuple[np.ndarray, ...]:
            rows = np.arange(start, stop)
            return self._lists(self.points[start:stop], count, offset, rows)

        lists = in_blocks(lists_of_block, n, self._rows_at_once(), self.n_threads)
        counts, indices, squared = (np.concatenate(part) for part in zip(*lists, strict=True))
        indptr = np.append(0, np.cumsum(counts, dtype=np.int64))
        return indptr, indices.astype(index_type(n), copy=False), squared

    def nearest(self, new: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the samples nearest to new samples, and their squared distances."""
        queries = self._convert(new)
        if not sp.issparse(self.points) and sp.issparse(queries):
            queries = queries.toarray()
        nearest = np.empty((queries.shape[0], count), dtype=index_type(self.points.shape[0]))
        squared = np.empty((queries.shape[0], count))
        _ = self._tree  # created before threads need it

        def search_block(start: int, stop: int) -> None:
            _, indices, values = self._lists(queries[start:stop], count, 0.0, None)
            nearest[start:stop] = indices.reshape(-1, count)
            squared[start:stop] = values.reshape(-1, count)

        in_blocks(search_block, queries.shape[0], self._rows_at_once(), self.n_threads)
        return nearest, squared

    def _convert(self, X: Any) -> Any:
        """Return samples in the format that the metric needs."""
        if self.metric in OF_ANGLES:
            return canonical_csr(sp.csr_array(X)).astype(np.float64, copy=False)
        if self.metric == "haversine" and X.shape[1] != 2:
            raise ValueError(
                f"metric='haversine' needs two columns, latitude and longitude in radians, but X "
                f"has {X.shape[1]}."
            )
        X = canonical_csr(X) if sp.issparse(X) else np.asarray(X)
        # Nonzero coordinates are True, as in scikit-learn; sparse rows are converted later.
        if self._kind.is_boolean and not sp.issparse(X):
            return X != 0
        return X.astype(np.float64, copy=False)

    def _rows_at_once(self) -> int:
        n, n_features = self.points.shape
        return max(1, BLOCK // int(max(n, n_features if self._densifies else 1)))

    @property
    def _densifies(self) -> bool:
        """Whether sparse rows are made dense, a few at a time, as most metrics need."""
        return sp.issparse(self.points) and self.metric not in (*OF_SPARSE, *OF_ANGLES)

    def _lists(
        self, queries: Any, count: int, offset: float, excluded: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the lists of some rows: their lengths, the samples, their squared distances.

        ``excluded`` is the sample that each row excludes, its own.
        """
        # 1. Row, sample and squared distance of all candidates, in any order.
        find = self._by_pairs if self._tree is None else self._by_tree
        row, column, squared = find(queries, count, offset, excluded)
        # 2. Sort by row, then by distance, then by index.
        order = np.lexsort((column, squared, row))
        row, column, squared = row[order], column[order], squared[order]
        counts = np.bincount(row, minlength=queries.shape[0])
        starts = np.cumsum(counts) - counts
        # 3. Keep the first ``count``, and with an offset all within the last of them plus it.
        keep = np.arange(row.size) - starts[row] < count
        if offset > 0:
            keep |= squared < (squared[starts + count - 1] + offset)[row]
        return np.bincount(row[keep], minlength=counts.size), column[keep], squared[keep]

    def _by_pairs(
        self, queries: Any, count: int, offset: float, excluded: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        squared = self._squared(queries)
        if excluded is not None:
            squared[np.arange(excluded.size), excluded] = np.inf
        reach = np.partition(squared, count - 1, axis=1)[:, count - 1 : count] + offset
        row, column = np.nonzero(squared <= reach)
        return row, column, squared[row, column]

    def _by_tree(
        self, queries: np.ndarray, count: int, offset: float, excluded: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        # Query the farthest neighbor (one more if the sample itself is included), then the radius.
        farthest = self._tree.query(queries, count + (excluded is not None))[0][:, -1]
        radius = np.sqrt(farthest**2 + offset) * (1 + SLACK)
        columns, distances = self._tree.query_radius(queries, radius, return_distance=True)
        row = np.repeat(np.arange(queries.shape[0]), [part.size for part in columns])
        column, distance = np.concatenate(columns), np.concatenate(distances)
        if excluded is not None:
            others = column != excluded[row]
            row, column, distance = row[others], column[others], distance[others]
        return row, column, self._checked_squares(distance)

    def _squared(self, queries: Any) -> np.ndarray:
        """Return squared distances from every query to all samples."""
        if self.metric in OF_ANGLES:
            return self._squared_of_angles(queries)
        if not self._densifies:
            return self._checked_squares(self._distances(queries, self.points))
        n, n_features = self.points.shape
        dense, step = self._dense(queries), max(1, BLOCK // n_features)
        distances = np.empty((queries.shape[0], n))
        for start in range(0, n, step):
            columns = slice(start, start + step)
            distances[:, columns] = self._distances(dense, self._dense(self.points[columns]))
        return self._checked_squares(distances)

    def _dense(self, X: Any) -> np.ndarray:
        dense = X.toarray()
        return np.asarray(dense != 0 if self._kind.is_boolean else dense)

    def _distances(self, queries: Any, points: Any) -> np.ndarray:
        from sklearn.metrics import pairwise_distances

        distances = pairwise_distances(queries, points, metric=self.metric, **self.params)
        distances = np.asarray(distances, dtype=float)
        if not callable(self.metric):
            distances[np.isnan(distances)] = 0.0  # 0 / 0 of two rows of zeros, which are equal
        return distances

    def _checked_squares(self, distances: np.ndarray) -> np.ndarray:
        """Return the squares of distances, or raise if they are invalid."""
        metric = self.metric
        if not np.isfinite(distances).all() or distances.min(initial=0.0) < 0:
            raise ValueError(
                f"metric={metric!r} returns distances that are negative, infinite or NaN; they "
                "must be finite and at least 0."
            )
        with np.errstate(over="ignore", under="ignore"):
            squared: np.ndarray = np.square(distances)
        largest = float(distances.max(initial=0.0))
        if np.isinf(squared).any() or np.any((squared == 0) != (distances == 0)):
            raise ValueError(
                f"The squared distances with metric={metric!r} overflow or vanish: the largest "
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
        # Degenerate rows are equal to one another and orthogonal to all other rows.
        squared[new.is_degenerate] = 2.0
        squared[:, known.is_degenerate] = 2.0
        squared[np.ix_(new.is_degenerate, known.is_degenerate)] = 0.0
        return squared


class _Standard(NamedTuple):
    """Sparse rows and √n_features times their means, divided by the length of the (centered) rows.

    Degenerate rows, which have no direction, are zeros.
    """

    rows: sp.csr_array
    means: np.ndarray
    is_degenerate: np.ndarray


def _standard(X: sp.csr_array, metric: str) -> _Standard:
    n, n_features = X.shape
    stored = np.diff(X.indptr)
    row = np.repeat(np.arange(n), stored)
    high, low = (np.asarray(side.toarray()).reshape(-1) for side in (X.max(axis=1), X.min(axis=1)))
    data = np.ldexp(X.data, -np.repeat(np.frexp(np.maximum(high, -low))[1], stored))
    mean = np.zeros(n)
    if metric == "correlation":
        mean = np.bincount(row, data, minlength=n) / n_features
    # Coordinates that are not stored are 0, and −mean when centered.
    squares = np.bincount(row, np.square(data - mean[row]), minlength=n)
    length = np.sqrt(squares + (n_features - stored) * np.square(mean))
    # A constant row is recognized by its extremes, as its mean may be rounded.
    is_degenerate = low == high if metric == "correlation" else (low == 0) & (high == 0)
    length[is_degenerate] = np.inf
    rows = sp.csr_array((data / length[row], X.indices, X.indptr), shape=X.shape)
    return _Standard(rows, np.sqrt(n_features) * mean / length, is_degenerate)


def _completed(metric: MetricLike, params: dict[str, Any], points: Any) -> dict[str, Any]:
    """Return the parameters of a metric, with defaults computed from the samples."""
    params = dict(params)
    if metric == "seuclidean" and "V" not in params:
        dense = points.toarray() if sp.issparse(points) else points
        params["V"] = np.var(dense, axis=0, ddof=1)
        if not (params["V"] > 0).all():
            column = int(np.argmin(params["V"]))
            raise ValueError(
                f"metric='seuclidean' divides by the variances of the columns, but column {column} "
                "has variance 0. Drop the column, or pass metric_params={'V': ...}."
            )
    if metric == "mahalanobis" and not {"V", "VI"} & set(params):
        dense = points.toarray() if sp.issparse(points) else points
        covariance = np.atleast_2d(np.cov(dense.T))
        if np.linalg.matrix_rank(covariance) < covariance.shape[0]:
            raise ValueError(
                "metric='mahalanobis' inverts the covariance matrix of the columns, which is "
                "singular. Drop linearly dependent columns, or pass metric_params={'VI': ...}."
            )
        params["VI"] = np.linalg.inv(covariance)
    return params

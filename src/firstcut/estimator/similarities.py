"""Every ``affinity`` option of the estimator: samples to a graph, and new samples to the old ones.

An option is a name from :data:`firstcut.affinity.AFFINITIES`, a kernel of scikit-learn, a callable,
``"precomputed"`` or ``"precomputed_nearest_neighbors"``. Between a new sample and the training
samples the weights are those that the option gives along a row of the training graph; so a
training sample that comes again gets the row it had.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from firstcut.affinity import AFFINITIES
from firstcut.estimator.precomputed import check_affinities, neighbors_of_distances
from firstcut.neighbors import nearest_others

PRECOMPUTED = ("precomputed", "precomputed_nearest_neighbors")
"""The options for which X is not samples but a matrix between them."""

KERNEL_OPTIONS = {"gamma": 1.0, "degree": 3, "coef0": 1}
"""The parameters that only kernels have, and their defaults."""

SPARE = 8
"""Candidates beyond the neighbours needed, among which exact distances decide."""

BLOCK = 2**22
"""Numbers held at once while distances or affinities of new samples are computed."""


@dataclass(frozen=True, eq=False)
class Similarity:
    """An ``affinity`` option with its parameters, in scikit-learn's names."""

    affinity: str | Callable[..., Any]
    n_neighbors: int = 10
    gamma: float = 1.0
    degree: float = 3
    coef0: float = 1
    kernel_params: dict[str, Any] | None = None
    n_jobs: int | None = None

    @property
    def precomputed(self) -> bool:
        """Whether X is a matrix between samples."""
        return self.affinity in PRECOMPUTED

    def check(self) -> None:
        """Raise for parameters that contradict the affinity, warn of those it does not have."""
        known = self._kernel_options()
        unused = [
            f"{name}={getattr(self, name)!r}"
            for name, default in KERNEL_OPTIONS.items()
            if name not in known and getattr(self, name) != default
        ]
        if unused:
            warnings.warn(
                f"{', '.join(unused)} has no effect: affinity={self.affinity!r} does not have it. "
                "Pass affinity='rbf' for a Gaussian kernel.",
                UserWarning,
                stacklevel=4,
            )
        given = set(self.kernel_params or ())
        named = sorted(given & set(known))
        if named:
            raise ValueError(
                f"kernel_params holds {', '.join(map(repr, named))}, which the estimator has a "
                f"parameter for; pass {named[0]}=... itself."
            )
        if callable(self.affinity):
            return
        allowed = self._graph_options()
        unknown = sorted(given - set(allowed))
        if unknown:
            listed = ", ".join(map(repr, allowed)) or "none"
            raise ValueError(
                f"kernel_params holds {', '.join(map(repr, unknown))}, which "
                f"affinity={self.affinity!r} does not take; what it takes there: {listed}."
            )

    def graph(self, X: Any) -> Any:
        """Return the affinities between the samples: an array, or a sparse array.

        ``n_neighbors`` is cut down to what the number of samples allows.
        """
        n = X.shape[0]
        if self.affinity == "precomputed":
            return check_affinities(X)
        if self.affinity == "precomputed_nearest_neighbors":
            if X.shape[0] != X.shape[1]:
                raise ValueError(
                    f"affinity='precomputed_nearest_neighbors' needs a square matrix of distances "
                    f"between samples, but X has shape {X.shape}."
                )
            near = neighbors_of_distances(X, min(self.n_neighbors, n))
            return sp.csr_array((near + near.T) * 0.5)
        if not isinstance(self.affinity, str) or self.affinity not in AFFINITIES:
            return self._kernel(X, X)
        if n == 1:
            return sp.csr_array(np.ones((1, 1)))
        return AFFINITIES[self.affinity](X, **self._neighbor_options(n), n_jobs=self._threads)

    def _kernel(self, X: Any, Y: Any) -> np.ndarray:
        from sklearn.metrics.pairwise import pairwise_kernels

        options = {name: getattr(self, name) for name in self._kernel_options()}
        if callable(self.affinity):
            options = dict(self.kernel_params or {})
        affinities = pairwise_kernels(X, Y, metric=self.affinity, **options)
        return np.asarray(affinities.toarray() if sp.issparse(affinities) else affinities)

    def _kernel_options(self) -> tuple[str, ...]:
        from sklearn.metrics.pairwise import KERNEL_PARAMS

        if not isinstance(self.affinity, str):
            return ()
        return tuple(sorted(KERNEL_PARAMS.get(self.affinity, ())))

    def _graph_options(self) -> tuple[str, ...]:
        if self.affinity not in AFFINITIES:
            return ()
        names = inspect.signature(AFFINITIES[str(self.affinity)]).parameters
        return tuple(name for name in names if name not in ("X", "n_neighbors", "n_jobs"))

    def _neighbor_options(self, n: int) -> dict[str, Any]:
        """Return the options of the graph function, cut down to n samples."""
        options = {"n_neighbors": self.n_neighbors, **(self.kernel_params or {})}
        most = n - 1
        if self.affinity == "adaptive_neighbors" and not options.get("include_self", True):
            most = max(1, n - 2)
        elif self.affinity == "nearest_neighbors" and options.get("include_self", True):
            most = n
        options["n_neighbors"] = min(options["n_neighbors"], most)
        if self.affinity == "self_tuning":
            options["scale_neighbor"] = min(options.get("scale_neighbor", 7), n - 1)
        elif self.affinity == "adaptive_neighbors" and n == 2:
            options["include_self"] = True  # two samples leave no third to set the threshold
        return options

    @property
    def _threads(self) -> int | None:
        """``n_jobs`` as the neighbour search takes it: other negatives count back from all."""
        if self.n_jobs is None or self.n_jobs > 0:
            return self.n_jobs
        from joblib import effective_n_jobs

        return int(effective_n_jobs(self.n_jobs))


class Reference:
    """The training samples, as new ones are compared with them.

    What a comparison needs beyond the samples is computed when it is first needed, and kept.
    """

    def __init__(self, similarity: Similarity, X: Any) -> None:
        self.similarity = similarity
        self.n_samples = int(X.shape[0])
        self.X = None if similarity.precomputed else X

    @property
    def block(self) -> int:
        """New samples to compare at once."""
        return max(1, BLOCK // max(self.n_samples, 1))

    def affinities(self, X: Any) -> Any:
        """Return the (n_new, n_samples) affinities of new samples; sparse where most are 0."""
        similarity = self.similarity
        if similarity.affinity == "precomputed":
            return X
        if similarity.affinity == "precomputed_nearest_neighbors":
            return neighbors_of_distances(X, min(similarity.n_neighbors, self.n_samples))
        if similarity.affinity not in AFFINITIES:
            return similarity._kernel(X, self.X)
        if self.n_samples == 1:
            return sp.csr_array(np.ones((X.shape[0], 1)))
        return _ROWS[str(similarity.affinity)](self, X)

    def nearest(self, X: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return indices and squared distances of the nearest training samples, nearest first."""
        width = min(self.n_samples, count + SPARE)
        found = np.sort(self._index.kneighbors(X, width, return_distance=False), axis=1)
        squared = np.empty(found.shape)
        step = max(1, BLOCK // (width * X.shape[1]))
        for start in range(0, X.shape[0], step):
            rows = slice(start, start + step)
            squared[rows] = self._squared(X[rows], found[rows])
        order = np.argsort(squared, axis=1, kind="stable")[:, :count]
        return np.take_along_axis(found, order, 1), np.take_along_axis(squared, order, 1)

    def _squared(self, X: Any, found: np.ndarray) -> np.ndarray:
        if sp.issparse(X):
            rows = np.repeat(np.arange(X.shape[0]), found.shape[1])
            difference = sp.csr_array(X)[rows] - sp.csr_array(self.X)[found.reshape(-1)]
            summed = difference.multiply(difference).sum(axis=1)
            return np.asarray(summed, dtype=np.float64).reshape(found.shape)
        own = X.astype(np.float64, copy=False)
        difference = self.X[found].astype(np.float64, copy=False) - own[:, None, :]  # type: ignore[index]
        return np.asarray(np.einsum("ijk,ijk->ij", difference, difference))

    @cached_property
    def _index(self) -> Any:
        from sklearn.neighbors import NearestNeighbors

        return NearestNeighbors(n_jobs=self.similarity.n_jobs).fit(self.X)

    @cached_property
    def scales(self) -> np.ndarray:
        """The distance of every training sample to the neighbour that sets its scale."""
        options = self.similarity._neighbor_options(self.n_samples)
        count = options["scale_neighbor"]
        points = sp.csr_array(self.X) if sp.issparse(self.X) else np.ascontiguousarray(self.X)
        near = nearest_others(points.astype(np.float64), count, n_jobs=self.similarity._threads)
        return np.asarray(np.sqrt(near.squared.reshape(-1, count)[:, -1]))


def _adaptive_rows(reference: Reference, X: Any) -> sp.csr_array:
    """Weights that fall linearly to 0 at the (k+1)-th training sample; every row sums to 1."""
    options = reference.similarity._neighbor_options(reference.n_samples)
    k = options["n_neighbors"]
    found, squared = reference.nearest(X, min(k + 1, reference.n_samples))
    gap = squared[:, -1:] + options.get("offset", 0.0) - squared
    gap[:, k:] = 0.0
    total = gap.sum(axis=1, keepdims=True)
    even = (np.arange(gap.shape[1]) < k) / k
    with np.errstate(invalid="ignore"):
        weights = np.where(total > 0, gap / total, even)
    return _rows(found, weights, reference.n_samples)


def _nearest_rows(reference: Reference, X: Any) -> sp.csr_array:
    """Weight 1 to each of the k nearest training samples."""
    options = reference.similarity._neighbor_options(reference.n_samples)
    found, _ = reference.nearest(X, min(options["n_neighbors"], reference.n_samples))
    return _rows(found, np.ones(found.shape), reference.n_samples)


def _self_tuning_rows(reference: Reference, X: Any) -> sp.csr_array:
    """Gaussian weights of the scales around both samples; one at distance 0 is not counted."""
    options = reference.similarity._neighbor_options(reference.n_samples)
    k, s = options["n_neighbors"], options["scale_neighbor"]
    found, squared = reference.nearest(X, min(max(k, s) + 1, reference.n_samples))
    last = found.shape[1] - 1
    again = (squared[:, 0] == 0).astype(np.int64)
    scale = np.sqrt(np.take_along_axis(squared, np.minimum(s - 1 + again, last)[:, None], 1))
    exponent = np.zeros(squared.shape)
    with np.errstate(divide="ignore", over="ignore"):
        np.divide(squared, scale * reference.scales[found], out=exponent, where=squared > 0)
    weights = np.maximum(np.exp(-exponent), np.finfo(np.float64).tiny)
    weights[np.arange(found.shape[1]) >= k + again[:, None]] = 0.0
    return _rows(found, weights, reference.n_samples)


_ROWS: dict[str, Callable[[Reference, Any], sp.csr_array]] = {
    "adaptive_neighbors": _adaptive_rows,
    "nearest_neighbors": _nearest_rows,
    "self_tuning": _self_tuning_rows,
}


def _rows(found: np.ndarray, weights: np.ndarray, n_samples: int) -> sp.csr_array:
    n_rows, width = found.shape
    indptr = np.arange(0, found.size + 1, width)
    shape = (n_rows, n_samples)
    return sp.csr_array((weights.reshape(-1), found.reshape(-1), indptr), shape=shape)

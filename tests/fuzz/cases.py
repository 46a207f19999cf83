"""Cases: a graph or samples with settings, as a function of two integers.

A generator seeded with (seed, number) determines the case.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

import leastcut
from fuzz.exact import Exact
from fuzz.shapes import CLOUDS, SHAPES

POINTS_FRACTION = 0.2
"""Fraction of cases that are samples for the estimator; the others are graphs."""

SIZES = ((0.5, 2, 7), (0.3, 8, 40), (0.15, 41, 300), (0.03, 301, 700), (0.02, 701, 3000))
"""Probability, minimum and maximum of the number of nodes; most graphs can be enumerated."""

SPANS = (0.0, 1.0, 3.0, 12.0, 40.0, 100.0, 300.0)
"""Orders of magnitude that random weights may span."""

SOLVERS = ("auto", "dense", "lanczos", "shift_invert", "cg_invert", "lobpcg")
"""The eigensolvers without optional dependencies."""

MOST_NODES = {"fast": 3000, "balanced": 300, "thorough": 40}
"""Nodes up to which each effort is used."""

EXPONENTS = (-1000, -500, -100, -1, 1, 100, 500, 1000)
"""Exponents of powers of two that scale all weights of some cases."""

AFFINITIES = (
    "adaptive_neighbors", "nearest_neighbors", "self_tuning",
    "rbf", "laplacian", "cosine", "linear", "chi2",
)  # fmt: skip
"""The affinities of samples; the first three are used in more than half of the cases."""

NON_NEGATIVE = ("cosine", "linear", "chi2")
"""Affinities that need samples with coordinates >= 0."""

Setting = str | int | float | bool | None


@dataclass(frozen=True, eq=False)
class GraphCase:
    """A graph as a list of edges, a cut, a number of clusters, and settings of a search."""

    seed: int
    number: int
    shape: str
    n: int
    i: np.ndarray
    j: np.ndarray
    weights: np.ndarray
    cut: str | np.ndarray
    n_clusters: int
    labels: np.ndarray
    settings: dict[str, Setting] = field(default_factory=dict)

    @cached_property
    def originals(self) -> dict[str, np.ndarray]:
        """Copies of the arrays before they are passed to leastcut."""
        arrays = {"labels": self.labels, "cut": self.cut}
        return {name: array.copy() for name, array in arrays.items() if not isinstance(array, str)}

    @cached_property
    def matrix(self) -> sp.csr_array:
        """The exactly symmetric affinity matrix that is passed to leastcut."""
        off = self.i != self.j
        rows = np.concatenate([self.i, self.j[off]])
        columns = np.concatenate([self.j, self.i[off]])
        weights = np.concatenate([self.weights, self.weights[off]])
        return sp.csr_array((weights, (rows, columns)), shape=(self.n, self.n))

    @cached_property
    def exact(self) -> Exact:
        """The case in integer arithmetic."""
        return Exact(self)

    @cached_property
    def bound(self) -> float:
        """The result of ``lower_bound``."""
        return leastcut.lower_bound(self.matrix, self.n_clusters, self.cut, random_state=0)

    @cached_property
    def relaxations(self) -> dict[str, leastcut.Relaxation]:
        """The results of ``relax``, by solver."""
        return {
            solver: leastcut.relax(
                self.matrix, self.n_clusters, self.cut, solver=solver, random_state=0
            )
            for solver in SOLVERS
        }

    @cached_property
    def partition(self) -> leastcut.Partition:
        """The result of ``partition`` with the settings and a lower bound."""
        return leastcut.partition(
            self.matrix, self.n_clusters, self.cut, lower_bound=True, **self.search
        )

    @property
    def search(self) -> dict[str, Any]:
        """The keyword arguments of ``partition``."""
        efforts = [effort for effort, most in MOST_NODES.items() if self.n <= most]
        effort = self.settings["effort"] if self.settings["effort"] in efforts else efforts[-1]
        options: dict[str, Any] = {"effort": effort, "random_state": self.settings["random_state"]}
        return {**options, "init": self.labels} if self.settings["init"] else options

    def with_edges(self, keep: np.ndarray) -> GraphCase:
        """Return the case with a subset of its edges."""
        return replace(self, i=self.i[keep], j=self.j[keep], weights=self.weights[keep])

    def without(self, start: int, stop: int) -> GraphCase:
        """Return the case without the nodes from ``start`` to ``stop``."""
        removed = stop - start
        n, n_clusters = self.n - removed, min(self.n_clusters, self.n - removed)
        inside = [(start <= end) & (end < stop) for end in (self.i, self.j)]
        smaller = self.with_edges(~(inside[0] | inside[1]))
        labels = np.delete(self.labels, slice(start, stop))
        cut = self.cut if isinstance(self.cut, str) else np.delete(self.cut, slice(start, stop))
        return replace(
            smaller,
            n=n,
            i=smaller.i - removed * (smaller.i >= stop),
            j=smaller.j - removed * (smaller.j >= stop),
            cut=cut,
            n_clusters=n_clusters,
            labels=_exactly(labels, n_clusters),
        )


@dataclass(frozen=True, eq=False)
class PointsCase:
    """Samples, options of their graph, and a number of clusters."""

    seed: int
    number: int
    shape: str
    X: np.ndarray
    sparse: bool
    affinity: str
    n_neighbors: int
    n_clusters: int
    exponent: int
    settings: dict[str, Setting] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Number of samples."""
        return int(self.X.shape[0])

    @property
    def samples(self) -> Any:
        """The dense or sparse X that is passed to leastcut."""
        return sp.csr_array(self.X) if self.sparse else self.X

    def estimator(self, **changes: Any) -> leastcut.SpectralClustering:
        """Return the estimator before fitting."""
        options = {"affinity": self.affinity, "n_neighbors": self.n_neighbors, **self.settings}
        return leastcut.SpectralClustering(self.n_clusters, **{**options, **changes})


Case = GraphCase | PointsCase


def case_of(seed: int, number: int) -> Case:
    """Return the case of two integers."""
    rng = np.random.default_rng([seed, number])
    return (
        _points(rng, seed, number) if rng.random() < POINTS_FRACTION else _graph(rng, seed, number)
    )


def _graph(rng: np.random.Generator, seed: int, number: int) -> GraphCase:
    _, low, high = SIZES[rng.choice(len(SIZES), p=[share for share, _, _ in SIZES])]
    name = str(rng.choice(list(SHAPES)))
    shape = SHAPES[name](rng, int(np.exp(rng.uniform(np.log(low), np.log(high + 0.99)))))
    n, i, j = shape.n, np.minimum(shape.i, shape.j), np.maximum(shape.i, shape.j)
    weights = shape.weights if shape.weights is not None else draw_weights(rng, i.size)
    if shape.weak is not None:
        high = -rng.uniform(0.0, rng.choice([15.0, 15.0, 300.0]))
        low = max(-300.0, high - float(rng.choice([0.0, 5.0, 20.0])))
        weights = np.where(shape.weak, 10.0 ** rng.uniform(low, high, i.size), weights)
    # Add light or heavy self-loops to a fraction of the nodes.
    loops = np.flatnonzero(rng.random(n) < rng.choice([0.0, 0.0, 0.3, 1.0]))
    powers = ([0.0], [3.0], [0.0, 12.0], [0.0, 100.0])[rng.integers(4)]
    heavy = 10.0 ** rng.choice(powers, size=loops.size)
    i, j = np.concatenate([i, loops]), np.concatenate([j, loops])
    # Light edges with equal loops make the optimum hard to find by single moves.
    weights = weights * (1e-3 if loops.size == n and rng.random() < 0.5 else 1.0)
    weights = np.concatenate([weights, draw_weights(rng, loops.size) * heavy])
    cut: Any = rng.choice(["normalized", "normalized", "ratio", "ratio", "given"])
    if cut == "normalized":
        # The normalized cut is undefined for isolated nodes; add loops to them.
        isolated = np.setdiff1d(np.arange(n), np.concatenate([i, j]))
        i, j = np.concatenate([i, isolated]), np.concatenate([j, isolated])
        weights = np.concatenate([weights, draw_weights(rng, isolated.size)])
    cut = str(cut) if cut != "given" else draw_weights(rng, n)
    if rng.random() < 0.1:
        with np.errstate(over="ignore", under="ignore"):
            weights = np.ldexp(weights, int(rng.choice(EXPONENTS)))
    keep, weights = _merged(i, j, np.clip(weights, 0.0, np.finfo(float).max), n)
    n_clusters = _count(rng, n)
    if shape.groups > 2 and rng.random() < 0.5:
        n_clusters = int(rng.integers(2, shape.groups + 1))
    return GraphCase(
        seed, number, name, n, i[keep], j[keep], weights, cut, n_clusters,
        labels=_exactly(rng.integers(n_clusters, size=n), n_clusters),
        settings={
            "effort": str(rng.choice(["fast", "balanced", "thorough"], p=[0.5, 0.4, 0.1])),
            "random_state": int(rng.integers(2**31)),
            "init": bool(rng.random() < 0.2),
            "time_limit": float(rng.choice([0.0, 0.1, 0.3])),
        },
    )  # fmt: skip


def _points(rng: np.random.Generator, seed: int, number: int) -> PointsCase:
    n, features = (
        int(np.exp(rng.uniform(np.log(2), np.log(120)))),
        int(rng.choice([1, 2, 3, 5, 40])),
    )
    shape = str(rng.choice(list(CLOUDS)))
    X = CLOUDS[shape](rng, n, features)
    # Scale all samples, some samples, or one feature.
    X = X * rng.choice([1.0, 1.0, 1e-170, 1e-100, 1e-8, 1e8, 1e100, 1e160])
    if rng.random() < 0.2:
        some = rng.random(n) < rng.choice([0.1, 0.5])
        X[some] *= 2.0 ** float(rng.choice([-450, -100, -30]))
    elif rng.random() < 0.1:
        X[:, 0] *= 2.0 ** float(rng.choice([-400, -30]))
    settings: dict[str, Any] = {"random_state": int(rng.integers(2**31))}
    settings["cut"] = str(rng.choice(["normalized", "ratio"]))
    settings["solver"] = str(rng.choice(["auto", "spectral"]))
    affinity = str(rng.choice(AFFINITIES[:3] if rng.random() < 0.5 else AFFINITIES))
    return PointsCase(
        seed, number, shape, np.abs(X) if affinity in NON_NEGATIVE else X,
        sparse=bool(rng.random() < 0.3 and affinity != "chi2"),
        affinity=affinity,
        n_neighbors=int(rng.integers(1, 12)),
        n_clusters=_count(rng, n),
        exponent=int(rng.choice([-560, -530, -300, -1, 1, 300, 530])),
        settings=settings,
    )  # fmt: skip


def draw_weights(rng: np.random.Generator, count: int) -> np.ndarray:
    """Return positive weights: equal, integers, uniform, or over several orders of magnitude."""
    kind = rng.choice(["equal", "integers", "uniform", "span", "span", "two"])
    if kind == "equal":
        return np.ones(count)
    if kind == "integers":
        return rng.integers(1, 10, size=count).astype(float)
    if kind == "uniform":
        return rng.uniform(0.01, 1.0, size=count)
    low, high = _ends(rng)
    if kind == "two":
        return np.where(rng.random(count) < 0.5, 10.0**low, 10.0**high)
    return np.asarray(10.0 ** rng.uniform(low, high, size=count))


def _ends(rng: np.random.Generator, lowest: float = -150.0) -> tuple[float, float]:
    """Return the smallest and largest exponent of weights, from ``lowest`` to at most 150."""
    span = float(rng.choice(SPANS))
    low = float(np.clip(-rng.choice([0.0, 0.5, 1.0]) * span, lowest, 0.0))
    return low, min(150.0, low + span)


def _merged(
    i: np.ndarray, j: np.ndarray, weights: np.ndarray, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of unique edges of positive weight, and their weights."""
    _, first = np.unique(i * n + j, return_index=True)
    first = first[weights[first] > 0]
    return first, weights[first]


def _count(rng: np.random.Generator, n: int) -> int:
    """Return a number of clusters, often near 1 or n."""
    several = int(rng.integers(2, max(3, min(n, 12))))
    many = int(rng.integers(1, n + 1))
    count = int(rng.choice([1, 2, n - 1, n, several, many], p=[0.04, 0.3, 0.08, 0.04, 0.44, 0.1]))
    return int(np.clip(count, 1, n))


def _exactly(labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return labels 0..n_clusters-1 without empty clusters."""
    labels = np.minimum(labels, n_clusters - 1)
    labels[:n_clusters] = np.arange(n_clusters)
    return labels

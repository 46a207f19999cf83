"""The path of cuts: one relaxation, discretized and refined for many numbers of clusters.

The leading k columns of one relaxation solve the relaxed k-way cut for every k, so the
eigenproblem, the expensive part, is solved once. The eigengap λ_(k+1) − λ_k says how much the next
cluster would cost beyond the last one; the k where it is largest is the usual choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from firstcut.cuts import CutLike, node_weights
from firstcut.discretization import discretize
from firstcut.estimator.blocksolvers import relax_with
from firstcut.estimator.leading import leading
from firstcut.estimator.similarities import Similarity
from firstcut.graph import Graph, as_graph
from firstcut.inputs import RandomState, as_generator, check_n_clusters
from firstcut.partitioning.refinement import refine
from firstcut.relaxation import Relaxation, relax
from firstcut.result import Partition

STARTS = 2
"""Starts of the discretization of every k; the ladder of eta varies them more than further ones."""


@dataclass(frozen=True, eq=False)
class CutPath:
    """Partitions of one graph into different numbers of clusters.

    Attributes
    ----------
    n_clusters : ndarray of shape (m,)
        The numbers k, ascending.
    cut_values : ndarray of shape (m,)
        The cut value of each partition.
    lower_bounds : ndarray of shape (m,)
        What no partition into k clusters is below.
    eigengaps : ndarray of shape (m,)
        λ_(k+1) − λ_k; NaN where k is the number of nodes.
    eigenvalues : ndarray
        The smallest eigenvalues, ascending: at least one more than the largest k, if there is one.
    labels : ndarray of shape (m, n)
        The labels of each partition.
    relaxation : Relaxation
        The eigenpairs that served all of them.
    """

    n_clusters: np.ndarray
    cut_values: np.ndarray
    lower_bounds: np.ndarray
    eigengaps: np.ndarray
    eigenvalues: np.ndarray
    labels: np.ndarray
    relaxation: Relaxation

    @property
    def best(self) -> int:
        """The k with the largest eigengap, the largest such k where several are equal."""
        gaps = np.nan_to_num(self.eigengaps, nan=-np.inf)
        return int(self.n_clusters[np.flatnonzero(gaps == gaps.max())[-1]])

    @property
    def gaps(self) -> np.ndarray:
        """How far above the optimum each cut value can be, as a fraction of it."""
        pairs = zip(self.cut_values, self.lower_bounds, strict=True)
        return np.array([Partition(self.labels[0], *map(float, pair)).gap for pair in pairs])

    def __len__(self) -> int:
        return len(self.n_clusters)

    def __iter__(self) -> Iterator[int]:
        return iter(self.n_clusters.tolist())

    def __getitem__(self, n_clusters: int) -> Partition:
        """Return the partition into that many clusters."""
        found = np.flatnonzero(self.n_clusters == n_clusters)
        if found.size == 0:
            raise KeyError(f"{n_clusters} is not among the numbers of clusters, {list(self)}.")
        i = int(found[0])
        return Partition(self.labels[i], float(self.cut_values[i]), float(self.lower_bounds[i]))

    def table(self) -> dict[str, np.ndarray]:
        """Return the columns of the evidence by name; ``pandas.DataFrame`` takes it as it is."""
        return {
            "n_clusters": self.n_clusters,
            "eigengap": self.eigengaps,
            "cut_value": self.cut_values,
            "lower_bound": self.lower_bounds,
            "gap": self.gaps,
        }

    def __str__(self) -> str:
        columns = self.table()
        lines = ["  ".join(f"{name:>11}" for name in columns)]
        for row in zip(*columns.values(), strict=True):
            lines.append("  ".join([f"{row[0]:>11}", *(f"{value:>11.4g}" for value in row[1:])]))
        return "\n".join(lines)


def cut_path(
    X: Any,
    n_clusters: Iterable[int] = range(2, 30),
    *,
    affinity: Any = "adaptive_neighbors",
    n_neighbors: int = 10,
    cut: CutLike = "normalized",
    random_state: RandomState = None,
) -> CutPath:
    """Cut one graph into many numbers of clusters, with a single relaxation.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, n_features), or (n, n)
        Samples; or a graph, with ``affinity="precomputed"``.
    n_clusters : iterable of int, default=range(2, 30)
        The numbers of clusters; those above n are left out.
    affinity : str or callable, default="adaptive_neighbors"
        As in :class:`firstcut.SpectralClustering`.
    n_neighbors : int, default=10
        Neighbours of a sample, where the affinity has them.
    cut : {"ratio", "normalized"} or array-like of shape (n,), default="normalized"
        The name of a cut, or a positive weight for every node.
    random_state : int, Generator, RandomState or None
        Seed of the start vectors and starts.

    Returns
    -------
    CutPath

    Examples
    --------
    >>> import firstcut
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [9.0], [9.1], [9.2]]
    >>> path = firstcut.cut_path(X, range(1, 5), n_neighbors=3, random_state=0)
    >>> path.best, path[3].cut_value
    (3, 0.0)
    """
    if affinity == "precomputed":
        graph = as_graph(X)
    else:
        points = X if hasattr(X, "shape") else np.asarray(X)
        graph = as_graph(Similarity(affinity, n_neighbors).graph(points))
    return path_of(graph, n_clusters, cut, random_state)


def path_of(
    graph: Graph,
    n_clusters: Iterable[int],
    cut: CutLike,
    random_state: RandomState,
    **eigen_options: Any,
) -> CutPath:
    """Return the path of a graph; the options choose the eigensolver and its tolerance."""
    weights = node_weights(graph, cut)
    n = graph.n_nodes
    wanted = sorted({check_n_clusters(k, max(n, int(k))) for k in n_clusters})
    numbers = np.array([k for k in wanted if k <= n], dtype=np.int64)
    if numbers.size == 0:
        raise ValueError(f"n_clusters={wanted} has no number from 1 to {n}, the number of nodes.")
    rng = as_generator(random_state)
    width = min(n, int(numbers[-1]) + 1)
    relaxation = relax_with(graph, width, weights, random_state=rng, **eigen_options)
    n_components, _ = graph.components()
    found, bounds = [], []
    for k in numbers.tolist():
        # Up to the number of components they are grouped afresh, by graph search: the value is 0.
        part = relax(graph, k, weights) if k <= n_components else leading(relaxation, k)
        start = discretize(part, graph=graph, random_state=rng, eta="auto", n_init=STARTS)
        found.append(refine(graph, start.labels, weights))
        bounds.append(part.lower_bound)
    values = relaxation.eigenvalues
    following = np.append(values, np.nan)
    return CutPath(
        numbers,
        np.array([partition.cut_value for partition in found]),
        np.minimum(bounds, [partition.cut_value for partition in found]),
        following[numbers] - values[numbers - 1],
        values,
        np.stack([partition.labels for partition in found]),
        relaxation,
    )

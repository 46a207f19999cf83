"""Every method on one graph: what each cuts, how far that can be from the optimum, and how long.

All methods that start from eigenvectors get the same ones, and all gaps come from one lower bound,
so that the rows of a comparison differ by the method and by nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np

from leastcut.formatting import Words, one_line
from leastcut.graph import Graph
from leastcut.multilevel.direct_cut import direct_cut
from leastcut.multilevel.efforts import EFFORTS
from leastcut.multilevel.partition import partition
from leastcut.problem import CutLike, as_cut, as_problem
from leastcut.results import Discretization, Partition
from leastcut.seeds import RandomState, as_seed
from leastcut.spectral.discretizers import DISCRETIZERS
from leastcut.spectral.discretizers.discretize import discretize
from leastcut.spectral.relax import relax
from leastcut.validation import check_choice, check_n_clusters

WITHOUT_EIGENVECTORS = ("direct_cut", "partition")
"""The methods that are compared with the discretizers, each by the name of its function."""

WARM_UP_NODES = 300
"""Nodes of the ring that compiles what a method needs: above what is solved by trying it all."""

WARM_UP_NEAR = (-2, -1, 1, 2)
"""The neighbours of a node of that ring, by how far along it they are."""

SHOWN_SIZES = 6
"""Cluster sizes that a table shows, the largest first; of more only the ends."""


@dataclass(frozen=True, eq=False)
class Compared:
    """What one method made of a graph.

    Attributes
    ----------
    method : str
        A name in ``leastcut.DISCRETIZERS``, "direct_cut" or "partition".
    cut_value : float
        The true cut value of ``labels``.
    labels : ndarray of shape (n,)
        The cluster of every node.
    sizes : tuple of int
        Nodes of every cluster, in the order of the labels.
    seconds : float
        What it took, the eigenvectors included where the method needs them, and what is compiled
        on first use left out.
    gap : float or None
        How far above the optimum the value can be, as a fraction of it.

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 2], [0, 0, 2, 0]]
    >>> (row,) = leastcut.compare(S, 2, cut="ratio", methods=["cluster_qr"]).compared
    >>> row.method, row.cut_value, row.sizes
    ('cluster_qr', 1.0, (2, 2))
    """

    method: str
    cut_value: float
    labels: np.ndarray
    sizes: tuple[int, ...]
    seconds: float
    gap: float | None

    def __repr__(self) -> str:
        """Return the method and its value, without the labels."""
        return (
            f"Compared({self.method!r}, cut_value={self.cut_value:.6g}, "
            f"gap={'unknown' if self.gap is None else f'{self.gap:.3g}'}, "
            f"seconds={self.seconds:.3g})"
        )


@dataclass(frozen=True, eq=False)
class Comparison:
    """What several methods made of one graph; ``print`` it for a table.

    Attributes
    ----------
    compared : tuple of Compared
        One for every method, in the order in which they were asked for.
    lower_bound : float
        No partition into as many clusters has a smaller value; every gap is measured from it.
    cut : str
        The name of the cut, "given" for node weights.
    n_clusters : int
        The number of clusters.

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 2], [0, 0, 2, 0]]
    >>> compared = leastcut.compare(S, 2, cut="ratio", methods=["kmeans", "partition"])
    >>> compared.best.cut_value, len(compared.compared)
    (1.0, 2)
    """

    compared: tuple[Compared, ...]
    lower_bound: float
    cut: str
    n_clusters: int

    @property
    def best(self) -> Compared:
        """The smallest cut; of equal ones the one that took least time."""
        return min(self.compared, key=lambda row: (row.cut_value, row.seconds))

    def __repr__(self) -> str:
        """Return the best of it in one line."""
        return one_line(
            self,
            Words(f"{len(self.compared)} methods"),
            n_clusters=self.n_clusters,
            best=Words(f"{self.best.method!r} at {self.best.cut_value:.4g}"),
            lower_bound=self.lower_bound,
            cut=self.cut,
        )

    def __str__(self) -> str:
        """Return a table for people, the smallest cut first."""
        head = ("method", f"{self.cut} cut", "gap", "seconds", "cluster sizes")
        rows = sorted(self.compared, key=lambda row: row.cut_value)
        cells = [head, *(_cells(row) for row in rows)]
        widths = [max(len(line[column]) for line in cells) for column in range(len(head))]
        lines = []
        for line in cells:
            # Numbers are flush right, words flush left.
            texts = [line[0].ljust(widths[0])]
            texts += [line[column].rjust(widths[column]) for column in (1, 2, 3)]
            lines.append("  ".join([*texts, line[4]]).rstrip())
        lines.append(f"No cut into {self.n_clusters} clusters is below {self.lower_bound:.6g}.")
        return "\n".join(lines)


def compare(
    graph: Any,
    n_clusters: int,
    cut: CutLike = "normalized",
    *,
    methods: Iterable[str] | None = None,
    effort: str = "balanced",
    random_state: RandomState = None,
    symmetrize: str | None = None,
) -> Comparison:
    """Cut a graph by every method there is, and tell what each comes to.

    Parameters
    ----------
    graph : Graph, sparse matrix or array-like of shape (n, n)
        Symmetric non-negative affinities.
    n_clusters : int
        Number of clusters, from 1 to n.
    cut : {"ratio", "normalized"} or array-like of shape (n,), default="normalized"
        The name of a cut, or a positive weight for every node.
    methods : iterable of str, optional
        Names in ``leastcut.DISCRETIZERS``, "direct_cut" and "partition"; by default all of them.
    effort : {"fast", "auto", "balanced", "thorough"}, default="balanced"
        How long "partition" searches.
    random_state : int, Generator, RandomState or None
        Seed. Every method gets the same one, so that its labels do not depend on which others are
        compared.
    symmetrize : {"mean", "max"} or None, default=None
        What to make of a directed graph: (S + Sᵀ) / 2, or the larger of both directions. With None
        it is an error.

    Returns
    -------
    Comparison
        With labels, cut value, gap, sizes and seconds of every method.

    Examples
    --------
    >>> import leastcut
    >>> from sklearn.datasets import load_iris
    >>> S = leastcut.nearest_neighbors_graph(load_iris().data, 10)
    >>> compared = leastcut.compare(S, 3, random_state=0)
    >>> [row.method for row in compared.compared][-3:]
    ['cluster_qr', 'direct_cut', 'partition']
    >>> all(row.cut_value >= compared.lower_bound for row in compared.compared)
    True
    """
    # 1. Everything is checked before anything is computed, and the graph once.
    names = _check_methods(methods)
    effort = check_choice("effort", effort, EFFORTS)
    seed = as_seed(random_state)
    checked = as_problem(graph, cut, symmetrize=symmetrize).graph
    n_clusters = check_n_clusters(n_clusters, checked.n_nodes)
    name = as_cut(cut, checked.n_nodes).name
    # 2. The eigenvectors, once, for the bound and for all methods that start from them.
    for method in names:
        _warm_up(method, checked.indices.dtype)
    began = perf_counter()
    relaxation = relax(checked, n_clusters, cut, random_state=seed)
    relaxed = perf_counter() - began
    # 3. Every method.
    calls: dict[str, Callable[[], Discretization | Partition]] = {
        method: lambda method=method: discretize(  # type: ignore[misc]
            relaxation, method, graph=checked, cut=cut, random_state=seed
        )
        for method in DISCRETIZERS
    }
    calls["direct_cut"] = lambda: direct_cut(checked, n_clusters, cut, random_state=seed)
    calls["partition"] = lambda: partition(
        checked, n_clusters, cut, effort=effort, lower_bound=False, random_state=seed
    )
    bound = relaxation.lower_bound
    found: list[tuple[str, Discretization | Partition, float]] = []
    for method in names:
        began = perf_counter()
        outcome = calls[method]()
        seconds = perf_counter() - began
        found.append(
            (method, outcome, seconds if method in WITHOUT_EIGENVECTORS else relaxed + seconds)
        )
        # On tiny graphs the search proves more than the eigenvalues do.
        if isinstance(outcome, Partition) and outcome.lower_bound is not None:
            bound = max(bound, outcome.lower_bound)
    # 4. The gaps of all, from the one bound.
    rows = tuple(_compared(*row, bound) for row in found)
    return Comparison(rows, bound, name, n_clusters)


def _check_methods(methods: Iterable[str] | None) -> tuple[str, ...]:
    """Return the names of the methods, each once, in the order given."""
    known = (*DISCRETIZERS, *WITHOUT_EIGENVECTORS)
    if methods is None:
        return known
    if isinstance(methods, str):
        raise TypeError(
            f"methods={methods!r} must be a list of names; for one method pass [{methods!r}]."
        )
    if not isinstance(methods, Iterable):
        raise TypeError(f"methods={methods!r} must be a list of names, of {', '.join(known)}.")
    names = tuple(dict.fromkeys(check_choice("methods", name, known) for name in methods))
    if not names:
        raise ValueError("methods is empty; name at least one method, or leave it out for all.")
    return names


def _compared(
    method: str, outcome: Discretization | Partition, seconds: float, bound: float
) -> Compared:
    """Return what a method made of the graph, measured from a bound."""
    value = outcome.cut_value
    assert value is not None  # every method was given the graph
    sizes = tuple(int(size) for size in np.bincount(outcome.labels))
    gap = Partition(outcome.labels, value, bound).gap
    return Compared(method, value, outcome.labels, sizes, seconds, gap)


@cache
def _warm_up(method: str, index: np.dtype[Any]) -> None:
    """Run a method once on a small ring, so that what it compiles is not counted as its time."""
    nodes = np.arange(WARM_UP_NODES)[:, None]
    neighbors = np.sort((nodes + np.array(WARM_UP_NEAR)) % WARM_UP_NODES, axis=1)
    ring = Graph(
        np.arange(0, neighbors.size + 1, len(WARM_UP_NEAR), dtype=index),
        neighbors.reshape(-1).astype(index),
        np.ones(neighbors.size),
    )
    if method == "partition":
        partition(ring, 3, effort="auto", lower_bound=False, random_state=0)
    elif method == "direct_cut":
        direct_cut(ring, 3, n_init=1, random_state=0)
    else:
        relaxation = relax(ring, 3, random_state=0)
        discretize(relaxation, method, graph=ring, random_state=0)


def _cells(row: Compared) -> tuple[str, str, str, str, str]:
    """Return a row of the table as texts."""
    gap = "" if row.gap is None else f"{100 * row.gap:.1f}%"
    sizes = sorted(row.sizes, reverse=True)
    listed = [str(size) for size in sizes]
    if len(sizes) > SHOWN_SIZES:
        listed = [*listed[: SHOWN_SIZES - 1], "…", listed[-1]]
    return row.method, f"{row.cut_value:.6g}", gap, f"{row.seconds:.3g}", " ".join(listed)

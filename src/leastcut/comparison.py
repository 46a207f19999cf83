"""Comparison of several methods on one graph by cut value, gap and time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np

from leastcut.formatting import Unquoted, one_line, sizes_text, text_table
from leastcut.graph import Graph
from leastcut.multilevel.direct_cut import direct_cut
from leastcut.multilevel.efforts import EFFORTS
from leastcut.multilevel.partition import partition
from leastcut.problem import CutLike, as_cut, as_problem
from leastcut.results import Discretization, Partition
from leastcut.seeds import RandomState, as_seed
from leastcut.spectral.discretizers import DISCRETIZERS, discretizer_of
from leastcut.spectral.discretizers.discretize import discretize
from leastcut.spectral.relax import relax
from leastcut.validation import check_choice, check_n_clusters

WITHOUT_EIGENVECTORS = ("direct_cut", "partition")  # compared with the discretizers
WARM_UP_NODES = 300  # of the ring that is cut to compile a method; too many to enumerate

Method = str | Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Compared:
    """Result of one method in a comparison.

    Attributes
    ----------
    method : str
        A key of :data:`leastcut.DISCRETIZERS`, "direct_cut", "partition", or the ``__name__`` of a
        function.
    cut_value : float
        The cut value of ``labels``.
    labels : ndarray of shape (n_nodes,)
        The cluster of every node.
    sizes : tuple of int
        The number of nodes in every cluster.
    seconds : float
        Run time, including the eigenvectors if the method needs them, without compilation.
    gap : float or None
        Relative optimality gap; see :class:`leastcut.Partition`.

    See Also
    --------
    compare : Run several methods on one graph.
    Comparison : The results of all methods.

    Notes
    -----
    The gap is measured from the lower bound that all methods of a comparison share.

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
        return one_line(
            self, self.method, cut_value=self.cut_value, gap=self.gap, seconds=self.seconds
        )


@dataclass(frozen=True, eq=False)
class Comparison:
    """Results of several methods on one graph; ``print`` shows them as a table.

    Attributes
    ----------
    compared : tuple of Compared
        The result of every method, in the order in which the methods were passed.
    lower_bound : float
        Lower bound on the cut value of every partition into ``n_clusters`` clusters, from which all
        gaps are measured.
    cut : str
        The name of the cut; "given" if node weights were passed.
    n_clusters : int
        The number of clusters.
    best : Compared
        The result with the smallest cut value; the fastest if several are equal.

    See Also
    --------
    compare : Run several methods on one graph.
    Compared : The result of one method.

    Notes
    -----
    The printed table is sorted by cut value.

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 2], [0, 0, 2, 0]]
    >>> comparison = leastcut.compare(S, 2, cut="ratio", methods=["kmeans", "partition"])
    >>> comparison.best.cut_value, len(comparison.compared)
    (1.0, 2)
    """

    compared: tuple[Compared, ...]
    lower_bound: float
    cut: str
    n_clusters: int

    @property
    def best(self) -> Compared:
        """The result with the smallest cut value; the fastest if several are equal."""
        return min(self.compared, key=lambda row: (row.cut_value, row.seconds))

    def __repr__(self) -> str:
        return one_line(
            self,
            Unquoted(f"{len(self.compared)} methods"),
            n_clusters=self.n_clusters,
            best=Unquoted(f"{self.best.method!r} at {self.best.cut_value:.4g}"),
            lower_bound=self.lower_bound,
            cut=self.cut,
        )

    def __str__(self) -> str:
        """Return a table, the smallest cut first."""
        compared = sorted(self.compared, key=lambda row: row.cut_value)
        sizes = ["cluster sizes", *(sizes_text(row.sizes) for row in compared)]
        head, *sizes = (text.ljust(max(map(len, sizes))) for text in sizes)
        rows = [
            (
                row.method,
                f"{row.cut_value:.6g}",
                "" if row.gap is None else f"{row.gap:.1%}",
                f"{row.seconds:.3g}",
                listed,
            )
            for row, listed in zip(compared, sizes, strict=True)
        ]
        table = text_table(("method", f"{self.cut} cut", "gap", "seconds", head), rows)
        return f"{table}\nNo cut into {self.n_clusters} clusters is below {self.lower_bound:.6g}."


def compare(
    graph: Any,
    n_clusters: int,
    cut: CutLike = "normalized",
    *,
    methods: Iterable[Method] | None = None,
    effort: str = "balanced",
    random_state: RandomState = None,
    symmetrize: str | None = None,
) -> Comparison:
    """Cut a graph by several methods and compare the results.

    Parameters
    ----------
    graph : sparse matrix or array-like of shape (n_nodes, n_nodes), or graph of a library
        Symmetric non-negative affinities, or a graph of a library as for
        :func:`leastcut.partition`.
    n_clusters : int
        Number of clusters, from 1 to n_nodes.
    cut : {"ratio", "normalized"} or array-like of shape (n_nodes,), default="normalized"
        The name of a cut, or a positive weight for every node.
    methods : iterable of str or callable, optional
        Keys of :data:`leastcut.DISCRETIZERS`, "direct_cut" and "partition"; all of them by default.
        A callable is a discretizer ``f(relaxation, *, random_state, score)`` that returns a
        :class:`leastcut.Discretization`; its row is labeled by its ``__name__``.
    effort : {"fast", "auto", "balanced", "thorough"}, default="balanced"
        Effort of "partition".
    random_state : int, Generator, RandomState or None, default=None
        Seed. Every method gets the same one, so its labels do not depend on the other methods.
    symmetrize : {"mean", "max"} or None, default=None
        How to symmetrize a directed graph: (S + Sᵀ) / 2, or the larger of both directions. None
        raises an error.

    Returns
    -------
    Comparison
        Labels, cut value, gap, cluster sizes and run time of every method.

    See Also
    --------
    partition : Search for the smallest cut.
    direct_cut : Minimize the cut directly, without eigenvectors.
    discretize : Turn eigenvectors into labels by one method.

    Notes
    -----
    The eigenvectors are computed once, and their time is added to every method that uses them. All
    gaps are measured from the same lower bound. Methods are compiled before they are timed.

    Examples
    --------
    >>> import leastcut
    >>> from sklearn.datasets import load_iris
    >>> S = leastcut.nearest_neighbors_graph(load_iris().data, 10)
    >>> comparison = leastcut.compare(S, 3, random_state=0)
    >>> [row.method for row in comparison.compared][-3:]
    ['cluster_qr', 'direct_cut', 'partition']
    >>> all(row.cut_value >= comparison.lower_bound for row in comparison.compared)
    True
    """
    # 1. Check everything before computing anything.
    checked = _check_methods(methods)
    effort = check_choice("effort", effort, EFFORTS)
    seed = as_seed(random_state)
    problem = as_problem(graph, cut, symmetrize=symmetrize)
    graph = problem.graph
    n_clusters = check_n_clusters(n_clusters, graph.n_nodes)
    # 2. Compute the eigenvectors once, for the bound and for all methods that use them.
    for method in checked:
        _warm_up(method if _is_compiled(method) else "cluster_qr", graph.indices.dtype)
    began = perf_counter()
    relaxation = relax(graph, n_clusters, cut, random_state=seed)
    relaxed = perf_counter() - began

    def run(method: Any) -> Discretization | Partition:
        if method == "direct_cut":
            return direct_cut(graph, n_clusters, cut, random_state=seed)
        if method == "partition":
            return partition(
                graph, n_clusters, cut, effort=effort, lower_bound=False, random_state=seed
            )
        return discretize(relaxation, method, graph=graph, cut=cut, random_state=seed)

    # 3. Run every method.
    bound = relaxation.lower_bound
    results: list[tuple[str, np.ndarray, float]] = []
    for method in checked:
        began = perf_counter()
        result = run(method)
        seconds = perf_counter() - began + (0.0 if method in WITHOUT_EIGENVECTORS else relaxed)
        name = method if isinstance(method, str) else getattr(method, "__name__", repr(method))
        results.append((name, result.labels, seconds))
        # On tiny graphs the search proves a larger bound than the eigenvalues.
        if isinstance(result, Partition) and result.lower_bound is not None:
            bound = max(bound, result.lower_bound)
    # 4. Measure all gaps from the same bound.
    rows = []
    for name, labels, seconds in results:
        value, sizes = problem.value(labels), tuple(np.bincount(labels).tolist())
        gap = Partition(labels, value, bound).gap
        rows.append(Compared(name, value, labels, sizes, seconds, gap))
    return Comparison(tuple(rows), bound, as_cut(cut, graph.n_nodes).name, n_clusters)


def _check_methods(methods: Iterable[Method] | None) -> tuple[Method, ...]:
    """Return the methods without duplicates, in the order in which they were passed."""
    known = (*DISCRETIZERS, *WITHOUT_EIGENVECTORS)
    methods = known if methods is None else methods
    if isinstance(methods, str) or callable(methods):
        raise TypeError(f"methods={methods!r} must be a list; for one method pass [{methods!r}].")
    if not isinstance(methods, Iterable):
        raise TypeError(
            f"methods={methods!r} must be a list of functions or names; known names are "
            f"{', '.join(known)}."
        )
    checked: list[Method] = []
    for method in methods:
        one = method if callable(method) else check_choice("methods", method, known)
        if one not in WITHOUT_EIGENVECTORS:
            discretizer_of(one)
        if one not in checked:
            checked.append(one)
    if not checked:
        raise ValueError("methods is empty; pass at least one method, or omit it to run all.")
    return tuple(checked)


def _is_compiled(method: Method) -> bool:
    """Return whether a method belongs to this package; user functions are not warmed up."""
    function = DISCRETIZERS.get(method, partition) if isinstance(method, str) else method
    return str(getattr(function, "__module__", "")).startswith("leastcut.")


@cache
def _warm_up(method: str, index: np.dtype[Any]) -> None:
    """Run a method once on a small ring, so that compilation is not part of its time."""
    nodes = np.arange(WARM_UP_NODES)[:, None]
    neighbors = np.sort((nodes + np.array([-2, -1, 1, 2])) % WARM_UP_NODES, axis=1)
    ring = Graph(
        np.arange(0, neighbors.size + 1, neighbors.shape[1], dtype=index),
        neighbors.reshape(-1).astype(index),
        np.ones(neighbors.size),
    )
    if method == "partition":
        partition(ring, 3, effort="auto", lower_bound=False, random_state=0)
    elif method == "direct_cut":
        direct_cut(ring, 3, n_init=1, random_state=0)
    else:
        discretize(relax(ring, 3, random_state=0), method, graph=ring, random_state=0)

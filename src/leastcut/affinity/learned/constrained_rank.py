"""``constrained_rank_graph``: the graph nearest to a given one that has c components."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from leastcut.affinity.learned.alternation import learn
from leastcut.affinity.learned.result import LearnedGraph
from leastcut.affinity.learned.rows import Rows
from leastcut.affinity.learned.vectors import SOLVERS
from leastcut.graph import Graph
from leastcut.problem import given_graph
from leastcut.seeds import RandomState, as_generator
from leastcut.threads import count_threads
from leastcut.validation import check_choice, check_count, check_n_clusters

NORMS = ("l2", "l1")
"""How near is measured: by the squares of differences, or by their sizes."""


def constrained_rank_graph(
    graph: Any,
    n_clusters: int,
    norm: str = "l2",
    *,
    solver: str = "multilevel",
    max_iter: int = 200,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    symmetrize: str | None = None,
) -> LearnedGraph:
    """Return the graph nearest to a given one that has a component for every cluster.

    With A the given affinities, every row divided by its sum, the rows of S add up to 1, use only
    the edges of A, and minimise

        ‖S − A‖² + 2 λ tr(Fᵀ L F)   or   ‖S − A‖₁ + 2 λ tr(Fᵀ L F),

    with L the Laplacian of (S + Sᵀ) / 2, whose rank is n − c where there are c components, and F
    its vectors with orthonormal columns. λ is raised until there are exactly ``n_clusters``.

    Parameters
    ----------
    graph : Graph, sparse matrix, array-like of shape (n, n) or graph of a library
        Symmetric non-negative affinities; self-loops are left out. Libraries: as for
        :func:`leastcut.partition`.
    n_clusters : int
        Number of components c, from 1 to n. A node without edges is a component.
    norm : {"l2", "l1"}, default="l2"
        What is near: small squares of differences, which spread over many edges, or small sums of
        their sizes, so that most edges keep their weight and some are given up.
    solver : {"multilevel", "spectral"}, default="multilevel"
        What F is. "multilevel": the indicators of the clusters of the smallest ratio cut that
        :func:`leastcut.partition` finds with ``effort="fast"``. "spectral": the eigenvectors of the
        c smallest eigenvalues of L, as in the reference.
    max_iter : int, default=200
        Turns of weights and vectors, at most.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the eigensolver and of the search.
    n_jobs : int or None, default=None
        Threads; None and -1 mean one per available core. The result does not depend on it.
    symmetrize : {"mean", "max"} or None, default=None
        What to make of a directed graph: (S + Sᵀ) / 2, or the larger of both directions. With None
        it is an error.

    Returns
    -------
    LearnedGraph
        With ``graph``, ``labels``, ``n_iter``, ``converged`` and ``history``.

    Notes
    -----
    Sizes of differences are smoothed to √(x² + δ²) − δ with δ = 1e-4, and minimised by squares that
    are weighted anew, as in the reference. Turns and λ are those of :func:`leastcut.learned_graph`.
    Where the given graph has more than c components, no λ makes fewer: ``converged`` is False then.

    References
    ----------
    F. Nie, X. Wang, M. I. Jordan, H. Huang, "The constrained Laplacian rank algorithm for
    graph-based clustering", AAAI 2016.

    Examples
    --------
    Two triangles, joined by a weaker edge, which goes:

    >>> import leastcut
    >>> S = [[0, 2, 2, 0, 0, 0], [2, 0, 2, 0, 0, 0], [2, 2, 0, 1, 0, 0],
    ...      [0, 0, 1, 0, 2, 2], [0, 0, 0, 2, 0, 2], [0, 0, 0, 2, 2, 0]]
    >>> found = leastcut.constrained_rank_graph(S, 2)
    >>> found.labels, found.converged
    (array([0, 0, 0, 1, 1, 1]), True)
    >>> found.graph.toarray()[2].round(3)
    array([0.5, 0.5, 0. , 0. , 0. , 0. ])
    """
    # 1. Check everything.
    norm = check_choice("norm", norm, NORMS)
    solver = check_choice("solver", solver, SOLVERS)
    max_iter = check_count("max_iter", max_iter)
    seed = int(as_generator(random_state).integers(2**31))
    n_threads = count_threads(n_jobs)
    given = given_graph(graph, symmetrize)
    n_clusters = check_n_clusters(n_clusters, given.n_nodes)
    # 2. Learn the weights of its edges.
    rows = _rows_of(given, norm, n_threads)
    found = learn(rows, n_clusters, solver=solver, max_iter=max_iter, seed=seed, n_jobs=n_jobs)
    return replace(found, nodes=given.names)


def _rows_of(graph: Graph, norm: str, n_threads: int) -> Rows:
    """Return the edges of a graph without self-loops, as shares of their row."""
    source = graph.rows
    others = source != graph.indices
    source, indices, weights = source[others], graph.indices[others], graph.weights[others]
    n = graph.n_nodes
    indptr = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=n))])
    # Divided by the largest of the row first: no sum of very large weights overflows.
    largest = np.zeros(n)
    np.maximum.at(largest, source, weights)
    shares = weights / largest[source]
    shares /= np.bincount(source, shares, minlength=n)[source]
    spreads = np.full(shares.size, 0.5)
    return Rows(indptr, indices, shares, np.zeros(shares.size), spreads, norm == "l1", n_threads)

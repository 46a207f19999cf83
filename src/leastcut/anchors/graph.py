"""The anchor graph, and the implementations of functions of graphs for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from leastcut.anchors.blocks import Block, LocalWorkers
from leastcut.anchors.checkpoint import FolderCheckpoint
from leastcut.anchors.nearest import NearestAnchors
from leastcut.anchors.problem import AnchorProblem, count_products, edges_of, inverse_of
from leastcut.anchors.run_folder import BlocksInFolder, checksum
from leastcut.anchors.search import local_search, search_anchors
from leastcut.bounds.certify import certify_labels
from leastcut.budget import Budget
from leastcut.formatting import one_line
from leastcut.graph import FactoredGraph
from leastcut.memory import check_memory
from leastcut.multilevel.efforts import SearchOptions
from leastcut.multilevel.partition import solve
from leastcut.multilevel.refinement import refine_problem
from leastcut.problem import CUTS, ISOLATED, Problem
from leastcut.reductions import Start
from leastcut.results import Partition, Relaxation
from leastcut.seeds import RandomState
from leastcut.spectral.relax import lower_bound_problem, relax_problem
from leastcut.validation import check_choice, check_symmetrize

ENTRY_BYTES = 12  # of a stored edge: a weight and an index
EPSILON = float(np.finfo(np.float64).eps)

LARGEST_EIGENVALUE = 1.0 - 1e-9  # larger eigenvalues have no eigenvectors spanned by anchors


@dataclass(frozen=True, eq=False)
class InMemory:
    """Blocks of Z in memory; see :class:`leastcut.anchors.run_folder.BlocksInFolder`."""

    blocks: Sequence[Block]
    folder: None = None  # searches are not saved

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of points of every block."""
        return tuple(block.n_points for block in self.blocks)

    def load(self, number: int) -> Block:
        """Return a block."""
        return self.blocks[number]


@dataclass(frozen=True, eq=False, repr=False)
class AnchorGraph(FactoredGraph):
    """A graph of points connected through anchors, returned by :func:`leastcut.anchor_graph`.

    Attributes
    ----------
    anchors : ndarray of shape (n_anchors, n_features)
        The anchors.
    masses : ndarray of shape (n_anchors,)
        Λ, the exact sum of the weights of all points at every anchor.
    n_neighbors : int
        Number K of anchors of every point.
    store : object
        The weights Z, in blocks: K anchors and weights for every point.
    n_threads : int
        Number of threads; results do not depend on it.
    most_clusters : int or None
        Maximum number of clusters within ``max_memory``; None means no limit.

    See Also
    --------
    anchor_graph : Build an anchor graph from samples.
    AnchorSpectralClustering : Estimator that builds an anchor graph and cuts it.

    Notes
    -----
    The edge weights are S = ZΛ⁻¹Zᵀ. :func:`leastcut.partition`, :func:`leastcut.refine`,
    :func:`leastcut.cut_value`, :func:`leastcut.relax` and :func:`leastcut.lower_bound` accept an
    anchor graph without forming S. Every degree is 1, so that the ratio cut equals the normalized
    cut.

    Examples
    --------
    >>> import leastcut
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> graph = leastcut.anchor_graph(X, n_anchors=4, n_neighbors=2, random_state=0)
    >>> graph
    AnchorGraph(n_nodes=6, n_anchors=4, n_neighbors=2)
    >>> graph.to_sparse().sum(axis=1)
    array([1., 1., 1., 1., 1., 1.])
    >>> leastcut.partition(graph, 2, random_state=0).labels
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    """

    anchors: np.ndarray
    masses: np.ndarray
    n_neighbors: int
    store: InMemory | BlocksInFolder
    n_threads: int = 1
    most_clusters: int | None = None

    @property
    def n_nodes(self) -> int:
        """Number of points n."""
        return sum(self.store.sizes)

    @property
    def n_anchors(self) -> int:
        """Number of anchors p."""
        return int(self.anchors.shape[0])

    @cached_property
    def problem(self) -> AnchorProblem:
        """The problem of partitioning the points."""
        workers = LocalWorkers(self.store.load, self.store.sizes, self.n_threads)
        checkpoint = None if self.store.folder is None else self._checkpoint
        return AnchorProblem(workers, self.masses, self.most_clusters, checkpoint)

    def as_problem(  # type: ignore[override]
        self,
        cut: Any,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
        balance: Any = None,
        allow_edges: bool = False,
        symmetrize: str | None = None,
        isolated: str = "error",
    ) -> AnchorProblem:
        """Return the problem; raise if an option needs the edges, which are not stored."""
        # These options have no effect on symmetric edges, but are validated.
        check_symmetrize(symmetrize)
        check_choice("isolated", isolated, ISOLATED)
        remedy = "or pass graph.to_sparse() if it is small enough."
        if must_link is not None or cannot_link is not None:
            raise ValueError(
                "Link constraints need the edges, which an anchor graph does not store; omit "
                f"must_link and cannot_link, {remedy}"
            )
        if balance is not None:
            raise ValueError(f"balance is not supported for anchor graphs; omit it, {remedy}")
        if not isinstance(cut, str):
            raise ValueError(
                "Node weights (cut=array) are not supported for anchor graphs, whose points have "
                f"the weight and degree 1; omit them, {remedy}"
            )
        check_choice("cut", cut, CUTS)
        return self.problem

    def _checkpoint(self, n_clusters: int, effort: str, seed: int) -> FolderCheckpoint:
        """Return the checkpoint of a search in the folder of the graph."""
        assert self.store.folder is not None
        name = f"{n_clusters}-clusters-{effort}-seed-{seed}"
        graph = checksum([self.anchors, self.masses])
        return FolderCheckpoint(self.store.folder, name, graph, self.store.sizes, n_clusters)

    @property
    def nearest(self) -> NearestAnchors:
        """The search for the nearest anchors of new points."""
        return NearestAnchors(self.anchors, self.n_neighbors, self.n_threads)

    @property
    def weights(self) -> sp.csr_array:
        """The weights Z as a sparse array, created on every access."""
        return self.problem.weights

    def to_sparse(self) -> sp.csr_array:
        """Return the edges S as a sparse array, for small graphs.

        Returns
        -------
        csr_array of shape (n_nodes, n_nodes)
            S = ZΛ⁻¹Zᵀ, with about (K n_nodes)² / n_anchors entries.

        Raises
        ------
        MemoryError
            If there is not enough memory.
        """
        weights = self.weights
        check_memory(
            ENTRY_BYTES * count_products(weights),
            f"The edge matrix of {self!r}",
            "Pass the anchor graph itself to partition, refine or cut_value.",
        )
        matrix = edges_of(weights, self.masses)
        matrix = sp.csr_array(0.5 * (matrix + matrix.T))
        matrix.sort_indices()
        matrix.eliminate_zeros()
        return matrix

    def __repr__(self) -> str:
        return one_line(
            self, n_nodes=self.n_nodes, n_anchors=self.n_anchors, n_neighbors=self.n_neighbors
        )


# -- implementations of generic functions


@solve.register(AnchorProblem)
def solve_anchors(
    problem: AnchorProblem,
    n_clusters: int,
    starts: Sequence[Start],
    options: SearchOptions,
    budget: Budget,
) -> Partition:
    """Partition all points; see :func:`leastcut.partition`."""
    if options.is_tight:
        raise ValueError(
            "lower_bound='tight' needs the edges, which an anchor graph does not store; pass "
            "lower_bound=True, or graph.to_sparse() if it is small enough."
        )
    problem = problem.with_threads(options.n_jobs)
    result = search_anchors(
        problem, n_clusters, [problem.split(labels) for _, labels in starts], options, budget
    )
    bound = None
    if options.lower_bound or (
        options.wants_bound(problem.masses.size) and budget.seconds_left > 0.0
    ):
        bound = lower_bound_problem(problem, n_clusters, 0)
    return Partition(np.concatenate(result.labels), result.table.value, bound)


@refine_problem.register(AnchorProblem)
def refine_anchors(problem: AnchorProblem, labels: np.ndarray) -> Partition:
    """Move points until no single move makes the cut smaller."""
    blocks = problem.split(labels)
    result = local_search(problem.workers, blocks, problem.table(blocks, int(labels.max()) + 1))
    return Partition(np.concatenate(result.labels), result.table.value)


@certify_labels.register(AnchorProblem)
def certify_anchors(problem: AnchorProblem, labels: np.ndarray, **options: Any) -> NoReturn:
    """Raise, as a proof needs the edges."""
    raise TypeError(
        "A proof needs the edges, but an anchor graph stores no edges; leastcut.lower_bound "
        "returns a bound from eigenvalues. If there are few samples, pass graph.to_sparse() and "
        "the labels to leastcut.certify."
    )


@lower_bound_problem.register(AnchorProblem)
def lower_bound_anchors(
    problem: AnchorProblem, n_clusters: int, random_state: RandomState
) -> float:
    """Return a lower bound on the cut value of every partition of the points."""
    return relax_core(problem.core, problem.workers.sizes, n_clusters, random_state).lower_bound


@relax_problem.register(AnchorProblem)
def relax_anchors(
    problem: AnchorProblem, n_clusters: int, *, random_state: RandomState, **options: Any
) -> Relaxation:
    """Return the smallest eigenpairs of I − S.

    With the eigenvectors V and eigenvalues 1 − λ of Λ^-½ ZᵀZ Λ^-½, the eigenvectors of S are
    Z Λ^-½ V / √(1 − λ).
    """
    n, p = problem.n_nodes, problem.masses.size
    check_memory(
        3.0 * 8.0 * n * n_clusters,
        f"{n_clusters} eigenvectors of {n} points",
        "Use lower_bound or partition, which need only eigenvectors of anchors.",
    )
    sizes = problem.workers.sizes
    small = relax_core(problem.core, sizes, n_clusters, random_state, **options)
    if small.eigenvalues[-1] > LARGEST_EIGENVALUE:
        raise ValueError(
            f"n_clusters={n_clusters} is more than the rank of the graph of {p} anchors; pass "
            "fewer clusters, or a larger n_anchors to anchor_graph."
        )
    used, scaled = problem.masses > 0, np.zeros((p, n_clusters))
    scaled[used] = small.eigenvectors / np.sqrt(problem.masses[used])[:, None]
    weights = problem.weights
    vectors = np.asarray(weights @ scaled) / np.sqrt(1.0 - small.eigenvalues)
    products = weights @ (inverse_of(problem.masses)[:, None] * (weights.T @ vectors))
    return Relaxation(
        small.eigenvalues,
        vectors,
        np.ones(n),
        vectors - products,
        small.solver,
        small.converged,
        small.floors,
    )


def relax_core(
    core: Problem,
    sizes: Sequence[int],
    n_clusters: int,
    random_state: RandomState,
    **options: Any,
) -> Relaxation:
    """Return the eigenpairs of the graph of anchors, with floors that are valid for all points.

    The eigenvalues are the same. Sums of ZᵀZ over blocks of these sizes are rounded by at most half
    a unit in the last place per term. All terms are non-negative, so that the relative error of the
    matrix and its degrees, whose norm is 1, has the same bound.
    """
    relaxation: Relaxation = relax_problem(core, n_clusters, random_state=random_state, **options)
    if relaxation.floors is None:
        return relaxation
    error = 2.0 * (max(sizes) + len(sizes) + 8) * EPSILON
    return replace(relaxation, floors=np.maximum(relaxation.floors - error, 0.0))

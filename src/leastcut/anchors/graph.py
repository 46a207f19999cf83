"""The anchor graph: points joined through few anchors, where functions take a graph."""

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
from leastcut.anchors.run_folder import BlocksInFolder, sum_of
from leastcut.anchors.search import descend, search_anchors
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

LARGEST_EIGENVALUE = 1.0 - 1e-9  # from here on eigenvectors are not made of anchors


@dataclass(frozen=True, eq=False)
class InMemory:
    """Blocks of Z in memory; see :class:`leastcut.anchors.run_folder.BlocksInFolder`."""

    blocks: Sequence[Block]
    folder: None = None  # where a search may save its state

    @property
    def sizes(self) -> tuple[int, ...]:
        """The points of every block."""
        return tuple(block.n_points for block in self.blocks)

    def load(self, number: int) -> Block:
        """Return a block."""
        return self.blocks[number]


@dataclass(frozen=True, eq=False, repr=False)
class AnchorGraph(FactoredGraph):
    """Points joined through anchors: what :func:`leastcut.anchor_graph` returns.

    ``partition``, ``refine``, ``cut_value``, ``relax`` and ``lower_bound`` take it where they take
    a graph.

    Attributes
    ----------
    anchors : ndarray of shape (p, n_features)
        The anchors.
    masses : ndarray of shape (p,)
        Λ: the weight that all points have at every anchor, exactly.
    n_neighbors : int
        Anchors that every point is joined to, K.
    store : InMemory or BlocksInFolder
        The blocks of Z: for every point K anchors and weights.
    n_threads : int
        Threads that work on them; no result depends on it.
    most_clusters : int or None
        Clusters for whose tables ``max_memory`` leaves room; None is any number.

    See Also
    --------
    leastcut.AnchorSpectralClustering : The estimator that makes one of samples, and cuts it.

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
        """The problem of cutting the points."""
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
        # Options that mean nothing here, as edges are symmetric, must be such as others take.
        check_symmetrize(symmetrize)
        check_choice("isolated", isolated, ISOLATED)
        remedy = "or pass graph.to_sparse() if it is small enough."
        if must_link is not None or cannot_link is not None:
            raise ValueError(
                "Links need the edges, which an anchor graph does not store; leave must_link and "
                f"cannot_link out, {remedy}"
            )
        if balance is not None:
            raise ValueError(f"balance is not offered for an anchor graph; leave it out, {remedy}")
        if not isinstance(cut, str):
            raise ValueError(
                "An anchor graph weighs every point by 1, which is its degree, so cut= as node "
                f"weights has no place; leave it out, {remedy}"
            )
        check_choice("cut", cut, CUTS)
        return self.problem

    def _checkpoint(self, n_clusters: int, effort: str, seed: int) -> FolderCheckpoint:
        """Return where a search saves its state, in the folder of the graph."""
        assert self.store.folder is not None
        name = f"{n_clusters}-clusters-{effort}-seed-{seed}"
        numbers = sum_of([self.anchors, self.masses])
        return FolderCheckpoint(self.store.folder, name, numbers, self.store.sizes, n_clusters)

    @property
    def nearest(self) -> NearestAnchors:
        """The search for the anchors nearest to new points."""
        return NearestAnchors(self.anchors, self.n_neighbors, self.n_threads)

    @property
    def weights(self) -> sp.csr_array:
        """Z as a sparse array, made anew every time."""
        return self.problem.weights

    def to_sparse(self) -> sp.csr_array:
        """Return S itself: about (K n)² / p edges, for small graphs.

        Raises
        ------
        MemoryError
            If there is not enough memory for it.
        """
        weights = self.weights
        check_memory(
            ENTRY_BYTES * count_products(weights),
            f"The edges of {self!r}",
            "Cut it as it is: partition, refine and cut_value need none of them.",
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


# -- what functions do with the problem


@solve.register(AnchorProblem)
def solve_anchors(
    problem: AnchorProblem,
    n_clusters: int,
    starts: Sequence[Start],
    options: SearchOptions,
    budget: Budget,
) -> Partition:
    """Cut all points; see :func:`leastcut.partition`."""
    if options.is_tight:
        raise ValueError(
            "lower_bound='tight' needs the edges, which an anchor graph does not store; pass "
            "lower_bound=True, or graph.to_sparse() if it is small enough."
        )
    problem = problem.with_threads(options.n_jobs)
    found = search_anchors(
        problem, n_clusters, [problem.split(labels) for _, labels in starts], options, budget
    )
    bound = None
    if options.lower_bound or (
        options.wants_bound(problem.masses.size) and budget.seconds_left > 0.0
    ):
        bound = lower_bound_problem(problem, n_clusters, 0)
    return Partition(np.concatenate(found.kept), found.table.value, bound)


@refine_problem.register(AnchorProblem)
def refine_anchors(problem: AnchorProblem, labels: np.ndarray) -> Partition:
    """Move points until no single move makes the cut smaller."""
    kept = problem.split(labels)
    found = descend(problem.workers, kept, problem.table(kept, int(labels.max()) + 1))
    return Partition(np.concatenate(found.kept), found.table.value)


@certify_labels.register(AnchorProblem)
def certify_anchors(problem: AnchorProblem, labels: np.ndarray, **options: Any) -> NoReturn:
    """Raise: a proof needs the edges."""
    raise TypeError(
        "A proof needs the edges, and an anchor graph stores no edges; lower_bound gives a bound "
        "by eigenvalues. If there are few samples, pass graph.to_sparse() and the labels to "
        "leastcut.certify."
    )


@lower_bound_problem.register(AnchorProblem)
def lower_bound_anchors(
    problem: AnchorProblem, n_clusters: int, random_state: RandomState
) -> float:
    """Return a lower bound on every cut of all points."""
    return relax_core(problem.core, problem.workers.sizes, n_clusters, random_state).lower_bound


@relax_problem.register(AnchorProblem)
def relax_anchors(
    problem: AnchorProblem, n_clusters: int, *, random_state: RandomState, **options: Any
) -> Relaxation:
    """Return the smallest eigenpairs of I − S.

    With V the eigenvectors of Λ^-½ ZᵀZ Λ^-½ and 1 − λ their eigenvalues, those of S are
    Z Λ^-½ V / √(1 − λ).
    """
    n, p = problem.n_nodes, problem.masses.size
    check_memory(
        3.0 * 8.0 * n * n_clusters,
        f"{n_clusters} eigenvectors of {n} points",
        "lower_bound and partition need no eigenvectors of points.",
    )
    sizes = problem.workers.sizes
    small = relax_core(problem.core, sizes, n_clusters, random_state, **options)
    if small.eigenvalues[-1] > LARGEST_EIGENVALUE:
        raise ValueError(
            f"n_clusters={n_clusters} is more than the directions that {p} anchors have; pass "
            "fewer, or more n_anchors to anchor_graph."
        )
    used, scaled = problem.masses > 0, np.zeros((p, n_clusters))
    scaled[used] = small.eigenvectors / np.sqrt(problem.masses[used])[:, None]
    weights = problem.weights
    vectors = np.asarray(weights @ scaled) / np.sqrt(1.0 - small.eigenvalues)
    joined = weights @ (inverse_of(problem.masses)[:, None] * (weights.T @ vectors))
    return Relaxation(
        small.eigenvalues,
        vectors,
        np.ones(n),
        vectors - joined,
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
    """Return the eigenpairs of the anchors' own graph, with floors that hold for all points.

    The eigenvalues are the same. Sums of ZᵀZ over blocks of these sizes are rounded: of terms that
    are not negative, each by at most half a unit in the last place per term, so that the matrix and
    its degrees are off by at most that fraction of their norm, which is 1.
    """
    found: Relaxation = relax_problem(core, n_clusters, random_state=random_state, **options)
    if found.floors is None:
        return found
    off = 2.0 * (max(sizes) + len(sizes) + 8) * EPSILON
    return replace(found, floors=np.maximum(found.floors - off, 0.0))

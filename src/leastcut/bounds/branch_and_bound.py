"""Branch and bound: decide pairs of nodes until every subproblem is closed.

A subproblem is a set of decisions, must-links and cannot-links (``decisions``). Must-links are
contracted, which is exact; a cannot-link has Z_ij = 0 in the relaxation. Best first:

1. Take the open subproblem with the smallest bound, and deduce what follows from its decisions.
2. One with few partitions is closed by enumeration, one with none at once.
3. Otherwise raise its bound, from the multipliers of its parent, until it reaches the best value
   known, which closes it, or does not get there soon.
4. Round the relaxed solution to a partition: it may be the best so far.
5. Decide pairs whose links the multipliers prove for every better partition, and what follows from
   them; if that contracts nodes, go on with 3.
6. Branch on the pair about which the relaxed solution is least sure.

No partition is below the smallest bound of all subproblems, open and closed, and of what step 5
leaves out, which is not below the value known at that time.
"""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass, field

import numpy as np

from leastcut.bounds.decisions import Decisions
from leastcut.bounds.incumbent import Incumbent, are_few, best_of_all
from leastcut.bounds.semidefinite import SemidefiniteBound, recent_gain
from leastcut.budget import Budget
from leastcut.problem import Problem
from leastcut.reductions import contracted_by_labels

LARGEST_SPLIT = 1000  # nodes of a problem for branch and bound, at most
# A subproblem is closed soon if, at the pace of its last rounds, its bound gets there in so many.
PACE_ROUNDS, SOON = 3, 15
PATIENCE_WORK = 2e10  # subproblems times n³ examined without a noticeable rise of the bound
MOST_PATIENCE, LEAST_PATIENCE = 2000, 20  # subproblems that is at most, and at least
RISE = 0.01  # noticeable rise, as a fraction of what is left between bound and value
MOST_KEPT = 2**30  # bytes of the multipliers of open subproblems; further ones start from none
KEPT_MATRICES = 6  # n × n matrices of doubles that a relaxation keeps
SAFETY = 4.0  # rounding errors per stored edge and node that a contraction is trusted to stay in
EPSILON = float(np.finfo(np.float64).eps)
CERTAIN = 1.0 - 1e-9  # fraction of a rise that is counted to prove a link: the rest is for rounding


@dataclass(eq=False)
class Subproblem:
    """A bound, decisions, and the relaxation it starts from, or has.

    ``merged`` is the group here of every group of the parent.
    """

    bound: float
    decisions: Decisions
    parent: SemidefiniteBound | None = None
    merged: np.ndarray | None = None
    relaxation: SemidefiniteBound | None = None
    history: list[float] = field(default_factory=list)
    is_root: bool = False

    def is_near(self, enough: float) -> bool:
        """Return whether the bound will soon be enough, at its pace."""
        gained = recent_gain(self.history, PACE_ROUNDS)
        return gained * (SOON / PACE_ROUNDS) > enough - self.bound


class BranchAndBound:
    """A bound of all partitions that rises as subproblems are closed, and renews the incumbent.

    ``gap`` is the fraction of the incumbent's value by which a closed bound may be below it,
    ``root`` the dense relaxation of the problem, and ``bound`` what is proven already.
    """

    def __init__(
        self, incumbent: Incumbent, gap: float, root: SemidefiniteBound, bound: float
    ) -> None:
        problem, n = incumbent.problem, incumbent.problem.n_nodes
        links = problem.cannot_link
        pairs = None if links is None else links.pairs.astype(np.int64)
        self._incumbent, self._gap = incumbent, gap
        self._problem = problem.unconstrained()
        self.bound, self._n_examined = bound, 0
        # What rounding may do to the values of contractions.
        self._certain = 1.0 - SAFETY * EPSILON * (problem.graph.n_stored + n)
        # The smallest bound of what is closed, and the open subproblems: the current one, and a
        # heap of the others.
        self._closed = np.inf
        self._current: Subproblem | None = Subproblem(
            bound, Decisions.of_pairs(n, pairs), relaxation=root, is_root=True
        )
        self._waiting: list[tuple[float, int, Subproblem]] = []
        self._n_made = 0
        self._patience = int(np.clip(PATIENCE_WORK / n**3, LEAST_PATIENCE, MOST_PATIENCE))
        self._milestone = bound, 0
        self._branch_seconds = 0.0  # of steps 4 to 6 the last time

    @property
    def n_open(self) -> int:
        """Number of open subproblems."""
        return len(self._waiting) + (self._current is not None)

    def improve(self, budget: Budget | None = None, target: float = np.inf) -> bool:
        """Make one round of one subproblem, and return whether another may raise the bound.

        Raises TimeoutError if it would not end within the budget.
        """
        budget = budget or Budget()
        if self._current is None:
            if not self._waiting or self.bound >= target or not self._is_patient():
                return False
            self._current = heapq.heappop(self._waiting)[2]
            self._n_examined += 1
        if self._current.relaxation is None:
            self._open(self._current, budget)
        else:
            self._raise(self._current, self._current.relaxation, budget)
        self._measure()
        return self.n_open > 0

    # -- the steps

    def _enough(self) -> float:
        """Return the bound at which a subproblem is closed."""
        return self._incumbent.value * (1.0 - self._gap)

    def _close(self, bound: float) -> None:
        self._closed = min(self._closed, bound)
        self._current = None

    def _measure(self) -> None:
        """Take the smallest bound of all subproblems."""
        bounds = [self._closed, *(entry[0] for entry in self._waiting[:1])]
        if self._current is not None:
            bounds.append(self._current.bound)
        self.bound = max(self.bound, min(bounds))

    def _is_patient(self) -> bool:
        """Return whether the bound of all has risen noticeably in the last subproblems."""
        bound, _ = self._milestone
        if self.bound - bound > RISE * (self._incumbent.value - bound):
            self._milestone = self.bound, self._n_examined
        return self._n_examined - self._milestone[1] <= self._patience

    def _open(self, part: Subproblem, budget: Budget) -> None:
        """Make step 2, or the relaxation of a subproblem with many partitions."""
        if part.bound >= self._enough():
            self._close(part.bound)
            return
        c, decisions = self._incumbent.n_clusters, part.decisions
        problem = contracted_by_labels(self._problem, decisions.groups).symmetrized()
        # Without edges between the groups any partition will do.
        if are_few(problem.n_nodes, c) or not problem.graph.outward.any():
            self._enumerate(problem, decisions)
            return
        links, value = decisions.pairs, self._incumbent.value
        part.relaxation = SemidefiniteBound(
            problem, c, links, value, parent=part.parent, merged=part.merged, budget=budget
        )
        part.parent = None
        self._note(part, part.relaxation)

    def _enumerate(self, problem: Problem, decisions: Decisions) -> None:
        """Close a subproblem by its best partition."""
        best = best_of_all(problem, self._incumbent.n_clusters, decisions.pairs)
        if best is None:
            self._close(np.inf)
            return
        self._incumbent.consider(best.labels[decisions.groups])
        assert best.lower_bound is not None
        self._close(best.lower_bound * self._certain)

    def _raise(self, part: Subproblem, relaxation: SemidefiniteBound, budget: Budget) -> None:
        """Make a round of step 3 and, if it was the last of the subproblem, the other steps."""
        # The root comes here with nothing more to give.
        is_late, has_more = False, False
        if not part.is_root:
            has_more = relaxation.improve(budget, self._enough() / self._certain)
            is_late = budget.is_exhausted
        self._note(part, relaxation)
        if part.bound >= self._enough():
            self._close(part.bound)
        elif not is_late and not (has_more and part.is_near(self._enough())):
            budget.require(self._branch_seconds)
            began = time.monotonic()
            self._branch(part, relaxation)
            self._branch_seconds = time.monotonic() - began

    def _note(self, part: Subproblem, relaxation: SemidefiniteBound) -> None:
        """Take the bound of a relaxation, less what rounding may have done to its problem."""
        part.bound = max(part.bound, relaxation.bound * self._certain)
        part.history.append(part.bound)

    def _branch(self, part: Subproblem, relaxation: SemidefiniteBound) -> None:
        """Make steps 4, 5 and 6."""
        c, decisions = self._incumbent.n_clusters, part.decisions
        if relaxation.similarity.size:
            self._incumbent.round(relaxation.similarity, decisions.groups)
        if part.bound >= self._enough():
            self._close(part.bound)
            return
        fixed = self._fixed(decisions, relaxation)
        # What is left out of the subproblem is not below the value.
        self._closed = min(self._closed, self._incumbent.value * self._certain)
        if fixed is None:
            self._current = None
            return
        if fixed.n_groups < decisions.n_groups:
            self._current = self._child(part, fixed, relaxation)
            return
        pair = _least_sure(relaxation.similarity, fixed.cannot_link)
        for child in (fixed.merged(pair), fixed.separated(pair)):
            further = None if child is None else child.deduced(c)
            if further is not None:
                self._n_made += 1
                made = self._child(part, further, relaxation)
                heapq.heappush(self._waiting, (made.bound, self._n_made, made))
        self._current = None

    def _fixed(self, decisions: Decisions, relaxation: SemidefiniteBound) -> Decisions | None:
        """Return the decisions of every better partition of a subproblem; None if there is none."""
        c, value = self._incumbent.n_clusters, self._incumbent.value
        weights = np.bincount(decisions.groups, self._problem.node_weights)
        fixed: Decisions | None = decisions
        count = -1
        while fixed is not None and fixed.n_groups == decisions.n_groups:
            if count == (count := int(fixed.cannot_link.sum())):
                break
            # A cluster with both holds nothing that has a cannot-link to one of them.
            possible = (~fixed.cannot_link).astype(np.float64)
            heaviest = np.maximum((possible * weights) @ possible, weights + weights[:, None])
            fixed = fixed.separated(proven_cannot_links(relaxation, value, heaviest)).deduced(c)
        # Groups are numbered as in the relaxation as long as no must-link was deduced.
        if fixed is not None and fixed.n_groups == decisions.n_groups:
            fixed = fixed.merged(proven_must_links(relaxation, value))
            fixed = None if fixed is None else fixed.deduced(c)
        return fixed

    def _child(
        self, part: Subproblem, decisions: Decisions, relaxation: SemidefiniteBound
    ) -> Subproblem:
        """Return a subproblem of another, with its multipliers if memory allows."""
        size = 8 * KEPT_MATRICES * part.decisions.n_groups**2
        if (len(self._waiting) + 1) * size > MOST_KEPT:
            return Subproblem(part.bound, decisions)
        merged = np.empty(part.decisions.n_groups, dtype=np.int64)
        merged[part.decisions.groups] = decisions.groups
        same = decisions.n_groups == merged.size
        return Subproblem(part.bound, decisions, relaxation, None if same else merged)


def _least_sure(similarity: np.ndarray, cannot_link: np.ndarray) -> np.ndarray:
    """Return the undecided pair, of shape (1, 2), that is farthest from both kinds of links.

    Z_ij / √(Z_ii Z_jj) is 1 for nodes that share a cluster, and 0 for others. Without a Z, all
    pairs are alike.
    """
    if similarity.size == 0:
        doubt = np.zeros(cannot_link.shape)
    else:
        root = np.sqrt(np.maximum(similarity.diagonal(), EPSILON))
        ratio = np.clip(similarity / np.outer(root, root), 0.0, 1.0)
        doubt = np.minimum(ratio, 1.0 - ratio)
    doubt[cannot_link] = -1.0
    doubt[np.tril_indices(cannot_link.shape[0])] = -1.0
    return np.array([np.unravel_index(np.argmax(doubt), doubt.shape)])


# -- links that multipliers prove
#
# A partition's value is at least the bound that multipliers y prove, plus Σ y_t ⟨T_t, Z⟩ over their
# inequalities ⟨T_t, Z⟩ ≥ 0. One with slack in a partition lifts its value by y_t times that slack;
# if this is above the best value known, the partition is not better.


def proven_cannot_links(
    bound: SemidefiniteBound, value: float, heaviest: np.ndarray | None = None
) -> np.ndarray:
    """Return pairs of nodes that share no cluster in any partition with a value below ``value``.

    In one cluster they have Z_ij ≥ √(b_i b_j) / (its weight), which is the slack of Z_ij ≥ 0.
    ``heaviest`` (n, n) is what is known of how much a cluster with both can weigh.
    """
    multipliers = bound.multipliers
    both = np.triu(multipliers.pairs, 1) + np.tril(multipliers.pairs, -1).T
    i, j = np.nonzero(both)
    weights = bound.problem.node_weights
    most: float | np.ndarray = _heaviest(weights, bound.n_clusters)
    if heaviest is not None:
        most = np.minimum(heaviest[i, j], most)
    rise = both[i, j] * (np.sqrt(weights[i]) * np.sqrt(weights[j]) / most)
    certain = bound.proven + rise * CERTAIN > value
    return np.column_stack([i[certain], j[certain]])


def proven_must_links(bound: SemidefiniteBound, value: float) -> np.ndarray:
    """Return pairs of nodes that share a cluster in every partition with a value below ``value``.

    In two clusters, the star of center i and the one leaf j has the slack Z_ii ≥ b_i / (the weight
    of i's cluster).
    """
    multipliers = bound.multipliers
    single = multipliers.leaves[:, 1] < 0
    i, j = multipliers.centers[single], multipliers.leaves[single, 0]
    weights = bound.problem.node_weights
    rise = multipliers.stars[single] * (weights[i] / _heaviest(weights, bound.n_clusters))
    certain = bound.proven + rise * CERTAIN > value
    return np.column_stack([i[certain], j[certain]])


def _heaviest(weights: np.ndarray, n_clusters: int) -> float:
    """Return what a cluster can weigh, as each of the others has a node."""
    return float(weights.sum() - np.sort(weights)[: n_clusters - 1].sum())

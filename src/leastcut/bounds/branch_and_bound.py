"""Branch and bound on pairs of nodes.

A subproblem is a set of must-links and cannot-links (``decisions``). Must-links are contracted,
which is exact; a cannot-link is Z_ij = 0 in the relaxation. The search is best first:

1. Select the open subproblem with the smallest bound, and propagate its links.
2. If it has few partitions, enumerate them; if it has none, close it.
3. Otherwise raise its bound, starting from the multipliers of its parent, until it reaches the best
   known value, which closes the subproblem, or is not expected to reach it soon.
4. Round the relaxed solution to a partition, which may be the best so far.
5. Add the links that the multipliers prove for every better partition, and propagate them. If this
   contracts nodes, continue with 3.
6. Branch on the pair for which the relaxed solution is most ambiguous.

The lower bound for all partitions is the smallest bound of all subproblems, open and closed, and of
the best values at the time of each step 5, which excludes only partitions that are not better.
"""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass, field

import numpy as np

from leastcut.bounds.decisions import Decisions
from leastcut.bounds.incumbent import Incumbent, enumerated_optimum, is_enumerable
from leastcut.bounds.semidefinite import SemidefiniteBound, recent_gain
from leastcut.budget import Budget
from leastcut.problem import Problem
from leastcut.reductions import contracted_by_labels

LARGEST_BRANCHED = 1000  # largest number of nodes for branch and bound
# A subproblem closes soon if, at its pace over PACE_ROUNDS, SOON rounds reach the target.
PACE_ROUNDS, SOON = 3, 15
PATIENCE_WORK = 2e10  # subproblems · n³ examined without a noticeable rise of the bound
MOST_PATIENCE, LEAST_PATIENCE = 2000, 20  # limits of that number of subproblems
RISE = 0.01  # noticeable rise, as a fraction of the gap between bound and value
MOST_KEPT = 2**30  # bytes for the multipliers of open subproblems; beyond, children start cold
KEPT_MATRICES = 6  # n × n matrices of doubles in a relaxation
SAFETY = 4.0  # assumed rounding errors of a contraction, per stored edge and node
EPSILON = float(np.finfo(np.float64).eps)
CERTAIN = 1.0 - 1e-9  # fraction of a rise that proves a link; the rest covers rounding


@dataclass(eq=False)
class Subproblem:
    """A bound, links, and the relaxation of the subproblem or of its parent.

    ``merged`` maps each group of the parent to a group of the subproblem.
    """

    bound: float
    decisions: Decisions
    parent: SemidefiniteBound | None = None
    merged: np.ndarray | None = None
    relaxation: SemidefiniteBound | None = None
    history: list[float] = field(default_factory=list)
    is_root: bool = False

    def closes_soon(self, target: float) -> bool:
        """Return whether the bound will reach the target soon, at its pace."""
        gain = recent_gain(self.history, PACE_ROUNDS)
        return gain * (SOON / PACE_ROUNDS) > target - self.bound


class BranchAndBound:
    """A lower bound that rises as subproblems are closed; it updates the incumbent.

    ``gap`` is the relative gap at which a subproblem is closed, ``root`` the dense relaxation of
    the problem, and ``bound`` the bound proven so far.
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
        # Factor for the rounding errors in the values of contractions.
        self._certain = 1.0 - SAFETY * EPSILON * (problem.graph.n_stored + n)
        # The smallest bound of closed subproblems, and the open ones: the current one, and a heap.
        self._closed = np.inf
        self._current: Subproblem | None = Subproblem(
            bound, Decisions.from_cannot_links(n, pairs), relaxation=root, is_root=True
        )
        self._waiting: list[tuple[float, int, Subproblem]] = []
        self._n_made = 0
        self._patience = int(np.clip(PATIENCE_WORK / n**3, LEAST_PATIENCE, MOST_PATIENCE))
        self._milestone = bound, 0
        self._branch_seconds = 0.0  # duration of the last steps 4 to 6

    @property
    def n_open(self) -> int:
        """Number of open subproblems."""
        return len(self._waiting) + (self._current is not None)

    def improve(self, budget: Budget | None = None, target: float = np.inf) -> bool:
        """Run one round on one subproblem, and return whether another may raise the bound.

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
        self._update_bound()
        return self.n_open > 0

    # -- the steps

    def _target(self) -> float:
        """Return the bound at which a subproblem is closed."""
        return self._incumbent.value * (1.0 - self._gap)

    def _close(self, bound: float) -> None:
        self._closed = min(self._closed, bound)
        self._current = None

    def _update_bound(self) -> None:
        """Set the bound to the smallest of all subproblems."""
        bounds = [self._closed, *(entry[0] for entry in self._waiting[:1])]
        if self._current is not None:
            bounds.append(self._current.bound)
        self.bound = max(self.bound, min(bounds))

    def _is_patient(self) -> bool:
        """Return whether the bound has risen noticeably over the last subproblems."""
        bound, _ = self._milestone
        if self.bound - bound > RISE * (self._incumbent.value - bound):
            self._milestone = self.bound, self._n_examined
        return self._n_examined - self._milestone[1] <= self._patience

    def _open(self, subproblem: Subproblem, budget: Budget) -> None:
        """Run step 2, or create the relaxation of a subproblem with many partitions."""
        if subproblem.bound >= self._target():
            self._close(subproblem.bound)
            return
        c, decisions = self._incumbent.n_clusters, subproblem.decisions
        problem = contracted_by_labels(self._problem, decisions.groups).symmetrized()
        # Without edges between groups, every partition has the value 0.
        if is_enumerable(problem.n_nodes, c) or not problem.graph.outward.any():
            self._enumerate(problem, decisions)
            return
        links, value, parent = decisions.pairs, self._incumbent.value, subproblem.parent
        subproblem.relaxation = SemidefiniteBound(
            problem, c, links, value, parent=parent, merged=subproblem.merged, budget=budget
        )
        subproblem.parent = None
        self._record_bound(subproblem, subproblem.relaxation)

    def _enumerate(self, problem: Problem, decisions: Decisions) -> None:
        """Close a subproblem by enumerating its partitions."""
        best = enumerated_optimum(problem, self._incumbent.n_clusters, decisions.pairs)
        if best is None:
            self._close(np.inf)
            return
        self._incumbent.consider(best.labels[decisions.groups])
        assert best.lower_bound is not None
        self._close(best.lower_bound * self._certain)

    def _raise(self, subproblem: Subproblem, relaxation: SemidefiniteBound, budget: Budget) -> None:
        """Run a round of step 3 and, after the last one of the subproblem, steps 4 to 6."""
        # The root has been solved already.
        is_late, has_more = False, False
        if not subproblem.is_root:
            has_more = relaxation.improve(budget, self._target() / self._certain)
            is_late = budget.is_exhausted
        self._record_bound(subproblem, relaxation)
        if subproblem.bound >= self._target():
            self._close(subproblem.bound)
        elif not is_late and not (has_more and subproblem.closes_soon(self._target())):
            budget.require(self._branch_seconds)
            start = time.monotonic()
            self._branch(subproblem, relaxation)
            self._branch_seconds = time.monotonic() - start

    def _record_bound(self, subproblem: Subproblem, relaxation: SemidefiniteBound) -> None:
        """Record the bound of a relaxation, reduced by the rounding errors of its contraction."""
        subproblem.bound = max(subproblem.bound, relaxation.bound * self._certain)
        subproblem.history.append(subproblem.bound)

    def _branch(self, subproblem: Subproblem, relaxation: SemidefiniteBound) -> None:
        """Run steps 4, 5 and 6."""
        c, decisions = self._incumbent.n_clusters, subproblem.decisions
        if relaxation.similarity.size:
            self._incumbent.round(relaxation.similarity, decisions.groups)
        if subproblem.bound >= self._target():
            self._close(subproblem.bound)
            return
        fixed = self._with_proven_pairs(decisions, relaxation)
        # Partitions excluded by step 5 are not below the value.
        self._closed = min(self._closed, self._incumbent.value * self._certain)
        if fixed is None:
            self._current = None
            return
        if fixed.n_groups < decisions.n_groups:
            self._current = self._child(subproblem, fixed, relaxation)
            return
        pair = _most_ambiguous(relaxation.similarity, fixed.cannot_link)
        for child in (fixed.with_must_links(pair), fixed.with_cannot_links(pair)):
            propagated = None if child is None else child.propagated(c)
            if propagated is not None:
                self._n_made += 1
                open_child = self._child(subproblem, propagated, relaxation)
                heapq.heappush(self._waiting, (open_child.bound, self._n_made, open_child))
        self._current = None

    def _with_proven_pairs(
        self, decisions: Decisions, relaxation: SemidefiniteBound
    ) -> Decisions | None:
        """Return the links of every better partition of a subproblem; None if none exists."""
        c, value = self._incumbent.n_clusters, self._incumbent.value
        weights = np.bincount(decisions.groups, self._problem.node_weights)
        fixed: Decisions | None = decisions
        count = -1
        while fixed is not None and fixed.n_groups == decisions.n_groups:
            if count == (count := int(fixed.cannot_link.sum())):
                break
            # A cluster with both contains no node that has a cannot-link to one of them.
            possible = (~fixed.cannot_link).astype(np.float64)
            heaviest = np.maximum((possible * weights) @ possible, weights + weights[:, None])
            fixed = fixed.with_cannot_links(
                proven_cannot_links(relaxation, value, heaviest)
            ).propagated(c)
        # Groups are numbered as in the relaxation unless a must-link was derived.
        if fixed is not None and fixed.n_groups == decisions.n_groups:
            fixed = fixed.with_must_links(proven_must_links(relaxation, value))
            fixed = None if fixed is None else fixed.propagated(c)
        return fixed

    def _child(
        self, subproblem: Subproblem, decisions: Decisions, relaxation: SemidefiniteBound
    ) -> Subproblem:
        """Return a child of a subproblem, with its multipliers if memory allows."""
        size = 8 * KEPT_MATRICES * subproblem.decisions.n_groups**2
        if (len(self._waiting) + 1) * size > MOST_KEPT:
            return Subproblem(subproblem.bound, decisions)
        merged = np.empty(subproblem.decisions.n_groups, dtype=np.int64)
        merged[subproblem.decisions.groups] = decisions.groups
        same = decisions.n_groups == merged.size
        return Subproblem(subproblem.bound, decisions, relaxation, None if same else merged)


def _most_ambiguous(similarity: np.ndarray, cannot_link: np.ndarray) -> np.ndarray:
    """Return the undecided pair, of shape (1, 2), whose relaxed link is farthest from 0 and 1.

    Z_ij / √(Z_ii Z_jj) is 1 if two nodes share a cluster and 0 otherwise. Without a Z, all are
    equal.
    """
    if similarity.size == 0:
        ambiguity = np.zeros(cannot_link.shape)
    else:
        root = np.sqrt(np.maximum(similarity.diagonal(), EPSILON))
        ratio = np.clip(similarity / np.outer(root, root), 0.0, 1.0)
        ambiguity = np.minimum(ratio, 1.0 - ratio)
    ambiguity[cannot_link] = -1.0
    ambiguity[np.tril_indices(cannot_link.shape[0])] = -1.0
    return np.array([np.unravel_index(np.argmax(ambiguity), ambiguity.shape)])


# -- links that multipliers prove


def proven_cannot_links(
    bound: SemidefiniteBound, value: float, heaviest: np.ndarray | None = None
) -> np.ndarray:
    """Return pairs of nodes in different clusters of every partition with a value below ``value``.

    In one cluster they have Z_ij ≥ √(b_i b_j) / (its weight), the slack of Z_ij ≥ 0. ``heaviest``
    (n, n) is an upper bound on the weight of a cluster that contains both.
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
    """Return pairs of nodes in the same cluster of every partition with a value below ``value``.

    In two clusters, the star with center i and the single leaf j has the slack Z_ii ≥ b_i / (the
    weight of the cluster of i).
    """
    multipliers = bound.multipliers
    single = multipliers.leaves[:, 1] < 0
    i, j = multipliers.centers[single], multipliers.leaves[single, 0]
    weights = bound.problem.node_weights
    rise = multipliers.stars[single] * (weights[i] / _heaviest(weights, bound.n_clusters))
    certain = bound.proven + rise * CERTAIN > value
    return np.column_stack([i[certain], j[certain]])


def _heaviest(weights: np.ndarray, n_clusters: int) -> float:
    """Return the largest possible weight of a cluster, given that the others are not empty."""
    return float(weights.sum() - np.sort(weights)[: n_clusters - 1].sum())

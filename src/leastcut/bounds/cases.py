"""Cases of a problem, by branch and bound: decide pairs of nodes until every case is closed.

A case is a set of decisions, pairs of nodes together or apart (``decisions``). What is together is
contracted, which is exact; what is apart has Z_ij = 0 in the relaxation. Best first:

1. Take the open case with the smallest bound, and deduce what follows from its decisions.
2. A case with few partitions is closed by going through them all, one with none at once.
3. Otherwise raise its bound, from the multipliers of the case it comes from, until it reaches the
   best value known, where the case is closed, or does not get there soon.
4. Make a partition of the relaxed solution: it may be the best so far.
5. Pairs that the multipliers prove to be apart, or together, in every better partition are decided,
   and what follows from them; where that contracts nodes, go on with 3.
6. Decide the pair about which the relaxed solution is least sure, one way and the other.

No partition is below the smallest bound of all cases, open and closed, and of what step 5 leaves
out, which is not below the value known at that time.
"""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass, field

import numpy as np

from leastcut.bounds.decisions import Decisions
from leastcut.bounds.enumeration import are_few, best_of_all
from leastcut.bounds.fixing import pairs_apart, pairs_together
from leastcut.bounds.rounding import Best
from leastcut.bounds.semidefinite import SemidefiniteBound
from leastcut.bounds.time_left import require_time
from leastcut.problem import Problem
from leastcut.reductions import contracted_by_labels

LARGEST_SPLIT = 1000
"""Nodes up to which a problem is split into cases."""

PACE_ROUNDS = 3
"""Rounds over which the pace of a bound is taken."""

SOON = 15
"""Rounds in which, at its pace, the bound of a case must reach the value to go on with it."""

PATIENCE_WORK = 2e10
"""What may be done, in cases times n³, without a noticeable rise of the bound of all."""

MOST_PATIENCE, LEAST_PATIENCE = 2000, 20
"""Cases that is at most, and at least."""

RISE = 0.01
"""Part of what is left between bound and value that is a noticeable rise."""

MOST_KEPT = 2**30
"""Bytes that the multipliers of open cases may take; further cases start from none."""

KEPT_MATRICES = 6
"""Matrices of n × n doubles that a relaxation keeps."""

SAFETY = 4.0
"""Rounding errors per stored edge and node that a contraction is trusted to stay within."""

EPSILON = float(np.finfo(np.float64).eps)


@dataclass(eq=False)
class Case:
    """One case: its bound, its decisions, and the relaxation it starts from, or has.

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
        if len(self.history) <= PACE_ROUNDS:
            return True
        gained = self.history[-1] - self.history[-1 - PACE_ROUNDS]
        return gained * (SOON / PACE_ROUNDS) > enough - self.bound


class Cases:
    """A bound of all partitions that rises as cases are closed.

    Parameters
    ----------
    best : Best
        The best partition known, which is renewed.
    gap : float
        Part of its value by which the bound of a closed case may be below it.
    root : SemidefiniteBound
        The bound of the whole problem, of every pair of nodes.
    bound : float
        What is proven already.

    Attributes
    ----------
    bound : float
        No partition is below. It never falls.
    n_open, n_cases : int
        Cases that are open, and cases looked at so far.
    """

    def __init__(self, best: Best, gap: float, root: SemidefiniteBound, bound: float) -> None:
        problem, n = best.problem, best.problem.n_nodes
        links = problem.cannot_link
        pairs = None if links is None else links.pairs.astype(np.int64)
        self._best, self._gap = best, gap
        self._problem = problem.unconstrained()
        self.bound, self.n_cases = bound, 0
        # What rounding may do to the values of contractions.
        self._certain = 1.0 - SAFETY * EPSILON * (problem.graph.n_stored + n)
        # The smallest bound of what is closed, and the open cases: the one that is being looked
        # at, and a heap of the others.
        self._closed = np.inf
        self._current: Case | None = Case(
            bound, Decisions.of_pairs(n, pairs), relaxation=root, is_root=True
        )
        self._waiting: list[tuple[float, int, Case]] = []
        self._n_made = 0
        self._patience = int(np.clip(PATIENCE_WORK / n**3, LEAST_PATIENCE, MOST_PATIENCE))
        self._milestone = bound, 0
        # What steps 4 to 6 took the last time.
        self._settle_seconds = 0.0

    @property
    def n_open(self) -> int:
        """Cases that are open."""
        return len(self._waiting) + (self._current is not None)

    def improve(self, deadline: float = np.inf, target: float = np.inf) -> bool:
        """Make one round of one case, and return whether another may raise the bound further.

        Raises TimeoutError where it would not end by ``deadline``.
        """
        if self._current is None:
            if not self._waiting or self.bound >= target or not self._is_patient():
                return False
            self._current = heapq.heappop(self._waiting)[2]
            self.n_cases += 1
        if self._current.relaxation is None:
            self._open(self._current, deadline)
        else:
            self._raise(self._current, self._current.relaxation, deadline)
        self._measure()
        return self.n_open > 0

    # -- the steps

    def _enough(self) -> float:
        """Return the bound at which a case is closed."""
        return self._best.value * (1.0 - self._gap)

    def _close(self, bound: float) -> None:
        self._closed = min(self._closed, bound)
        self._current = None

    def _measure(self) -> None:
        """Take the smallest bound of all cases."""
        bounds = [self._closed, *(case[0] for case in self._waiting[:1])]
        if self._current is not None:
            bounds.append(self._current.bound)
        self.bound = max(self.bound, min(bounds))

    def _is_patient(self) -> bool:
        """Return whether the bound of all has risen noticeably in the last cases."""
        bound, _ = self._milestone
        if self.bound - bound > RISE * (self._best.value - bound):
            self._milestone = self.bound, self.n_cases
        return self.n_cases - self._milestone[1] <= self._patience

    def _open(self, case: Case, deadline: float) -> None:
        """Make step 2, or the relaxation of the case where it has many partitions."""
        if case.bound >= self._enough():
            self._close(case.bound)
            return
        c, decisions = self._best.n_clusters, case.decisions
        problem = contracted_by_labels(self._problem, decisions.groups).symmetrised()
        # Without edges between the groups any partition will do.
        if are_few(problem.n_nodes, c) or not problem.graph.outward.any():
            self._enumerate(problem, decisions)
            return
        case.relaxation = SemidefiniteBound(
            problem,
            c,
            decisions.pairs,
            self._best.value,
            parent=case.parent,
            merged=case.merged,
            deadline=deadline,
        )
        case.parent = None
        self._note(case, case.relaxation)

    def _enumerate(self, problem: Problem, decisions: Decisions) -> None:
        """Close a case by its best partition."""
        found = best_of_all(problem, self._best.n_clusters, decisions.pairs)
        if found is None:
            self._close(np.inf)
            return
        self._best.consider(found.labels[decisions.groups])
        assert found.lower_bound is not None
        self._close(found.lower_bound * self._certain)

    def _raise(self, case: Case, relaxation: SemidefiniteBound, deadline: float) -> None:
        """Make a round of step 3, and where it was the last of the case the others."""
        # The root comes here with nothing more to give.
        is_late, going = False, False
        if not case.is_root:
            going = relaxation.improve(deadline, self._enough() / self._certain)
            is_late = time.monotonic() > deadline
        self._note(case, relaxation)
        if case.bound >= self._enough():
            self._close(case.bound)
        elif not is_late and not (going and case.is_near(self._enough())):
            require_time(deadline, self._settle_seconds)
            began = time.monotonic()
            self._settle(case, relaxation)
            self._settle_seconds = time.monotonic() - began

    def _note(self, case: Case, relaxation: SemidefiniteBound) -> None:
        """Take the bound of a relaxation, less what rounding may have done to its problem."""
        case.bound = max(case.bound, relaxation.bound * self._certain)
        case.history.append(case.bound)

    def _settle(self, case: Case, relaxation: SemidefiniteBound) -> None:
        """Make steps 4, 5 and 6."""
        c, decisions = self._best.n_clusters, case.decisions
        if relaxation.similarity.size:
            self._best.round(relaxation.similarity, decisions.groups)
        if case.bound >= self._enough():
            self._close(case.bound)
            return
        fixed = self._fixed(decisions, relaxation)
        # What is left out of the case is not below the value.
        self._closed = min(self._closed, self._best.value * self._certain)
        if fixed is None:
            self._current = None
            return
        if fixed.n_groups < decisions.n_groups:
            self._current = self._child(case, fixed, relaxation)
            return
        i, j = _least_sure(relaxation.similarity, fixed.apart)
        for child in (fixed.joined(i, j), fixed.parted(np.array([[i, j]]))):
            further = None if child is None else child.deduced(c)
            if further is not None:
                self._n_made += 1
                made = self._child(case, further, relaxation)
                heapq.heappush(self._waiting, (made.bound, self._n_made, made))
        self._current = None

    def _fixed(self, decisions: Decisions, relaxation: SemidefiniteBound) -> Decisions | None:
        """Return the decisions that every better partition of a case keeps to; None if none is."""
        weights = np.bincount(decisions.groups, self._problem.node_weights)
        found: Decisions | None = decisions
        count = -1
        while found is not None and found.n_groups == decisions.n_groups:
            if count == (count := int(found.apart.sum())):
                break
            # A cluster with both holds nothing that is apart from one of them.
            beside = (~found.apart).astype(np.float64)
            most = np.maximum((beside * weights) @ beside, weights + weights[:, None])
            pairs = pairs_apart(relaxation, self._best.value, most)
            found = found.parted(pairs).deduced(self._best.n_clusters)
        # Groups are numbered as in the relaxation as long as nothing was deduced to be together.
        if found is not None and found.n_groups == decisions.n_groups:
            joined = found.together(pairs_together(relaxation, self._best.value))
            found = None if joined is None else joined.deduced(self._best.n_clusters)
        return found

    def _child(self, case: Case, decisions: Decisions, relaxation: SemidefiniteBound) -> Case:
        """Return a case that is part of another, with its multipliers if there is room."""
        size = 8 * KEPT_MATRICES * case.decisions.n_groups**2
        if (len(self._waiting) + 1) * size > MOST_KEPT:
            return Case(case.bound, decisions)
        merged = np.empty(case.decisions.n_groups, dtype=np.int64)
        merged[case.decisions.groups] = decisions.groups
        same = decisions.n_groups == merged.size
        return Case(case.bound, decisions, relaxation, None if same else merged)


def _least_sure(similarity: np.ndarray, apart: np.ndarray) -> tuple[int, int]:
    """Return the pair of groups, not decided yet, that is farthest from together and apart.

    Z_ij / √(Z_ii Z_jj) is 1 for nodes that share a cluster, and 0 for others. Where there is no Z,
    all pairs are alike.
    """
    if similarity.size == 0:
        doubt = np.zeros(apart.shape)
    else:
        root = np.sqrt(np.maximum(similarity.diagonal(), EPSILON))
        share = np.clip(similarity / np.outer(root, root), 0.0, 1.0)
        doubt = np.minimum(share, 1.0 - share)
    doubt[apart] = -1.0
    doubt[np.tril_indices(apart.shape[0])] = -1.0
    i, j = np.unravel_index(np.argmax(doubt), doubt.shape)
    return int(i), int(j)

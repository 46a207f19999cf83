"""A lower bound of every partition's cut value, by a semidefinite relaxation with inequalities.

The matrix Z = GGᵀ of a partition has Zu = u for u = √b / ‖√b‖, tr Z = c, 0 ⪯ Z ⪯ I and Z ≥ 0, its
cut value is ⟨A, Z⟩, and it satisfies all of ``kernels.star_inequalities``. Let N = Σ_t y_t
T_t with y ≥ 0 collect inequalities ⟨T_t, Z⟩ ≥ 0. Then the value is at least ⟨A − N, Z⟩, hence

    value ≥ bound(y) = uᵀ(A − N)u + the c − 1 smallest eigenvalues of A − N outside u

for *any* y ≥ 0: whatever finds y, the bound is proven (``proven_floor``). Here y comes from the
alternating direction method of multipliers. Z keeps to the spectral conditions, its copy W to the
inequalities, and N is what it costs that they are one matrix:

1. Z = the nearest matrix to W + (N − A) / ρ with the spectral conditions (``spaces``);
2. W = the nearest matrix to Z − N / ρ that fulfils the inequalities: its positive part, and
   Hildreth's steps for the stars, which start from the multipliers of the last time;
3. N = ρ times what W was moved by in 2, which is Σ y_t T_t with the y ≥ 0 of these steps.

All pairs are in from the start; stars that Z violates are added in rounds, those without a
multiplier dropped. ρ follows the two residuals.
"""

from __future__ import annotations

import time

import numpy as np

from leastcut.bounds.multipliers import Multipliers, indicator_of, no_multipliers
from leastcut.bounds.proven_floor import Floor
from leastcut.bounds.spaces import DenseSpace, GroupedSpace, groups_within
from leastcut.budget import Budget
from leastcut.kernels.star_inequalities import LEAVES, project_on_star_inequalities, update_pairs
from leastcut.problem import Problem
from leastcut.spectral.relax import relax_problem

SMALLEST_SCALE = 1e-280  # of A's entries: smaller ones may lack digits, and nothing is proven
TINY = float(np.finfo(np.float64).tiny)

# Large problems: pairs of groups of nodes have multipliers, until the groups are split to nodes.
LARGEST_DENSE = 3000  # nodes up to which every pair has a multiplier in the end
DENSE_AT_ONCE = 1000  # nodes up to which every pair has one from the start
GROUPS, MOST_GROUPS = 600, 2000  # groups to start with, and that splitting may make
SPLIT_FROM = 6  # rounds before the first groups are split
SPLIT_FRACTION = 0.07  # of the groups that a round may split
FEW_SPLITS = 0.02  # fraction of groups worth a split, below which groups are fine enough
SPLIT_SPREAD = 1e-3  # least spread of a group that is split, in units of c / n
MOST_GROWTH = 2.0  # of the stars by a split; the least of more are dropped
SLOW = 0.005  # fraction of the value by which the bound must rise in three proofs to keep groups

# Time: what a proof takes for every n³, at first a guess, then as the last one in this process.
SECONDS = {DenseSpace: 3e-10, GroupedSpace: 6e-11}
SMALL = 300  # nodes below which a proof takes about as long as with so many
RESERVED = 1.3  # what is kept for a proof, in multiples of its time estimate
PROOF_EVERY = 8  # rounds between two proofs of a large problem, as long as a few rounds each

# The method.
ITERATIONS = 15  # steps in a round, after which stars are sought and the bound is proven
SWEEPS = 5  # passes over the stars in a projection, which starts near its end
VIOLATED = 2e-3  # least violation of a star that is added, in units of c / rows, as Z's entries
BALANCE = 2.0  # ratio of the residuals from which on ρ is changed
RHO_STEP = 2.0  # ρ is changed by the fourth root of the ratio, up to this
BALANCE_EVERY = 5  # steps between two changes of ρ, at first
BALANCE_LATER = 20  # later a change waits for one step in so many of all so far
SETTLED = 1e-7  # both residuals, relative to Z and N, at which there is nothing more to gain
# A bound has stalled if it did not rise by this fraction of the value in so many rounds.
NOTICEABLE, STALLED = 1e-5, 20


class SemidefiniteBound:
    """A lower bound of the cut value that rises from round to round.

    The bound is of partitions in which no cluster holds both nodes of a pair of ``cannot_link``
    (m, 2). Rises are compared with ``value``, the best cut value known; good ``labels``
    0..c-1 to start from save rounds. The method may start from a ``parent``, a bound of partitions
    that include all those here; ``merged`` is then the node that each of the parent's is part of
    if nodes were contracted. ``known`` is a bound that is proven already; without it, large
    problems start from their eigenvalues. Raises TimeoutError if the first bound is estimated to
    take longer than the budget.

    Attributes
    ----------
    bound : float
        No partition is below. It never falls.
    proven : float
        What ``multipliers`` prove; ``bound`` may be of a parent or of eigenvalues, and larger.
    similarity : ndarray of shape (n, n)
        The last Z: near √(b_i b_j) / b(C) if the relaxation has i and j in one cluster C. Of groups
        if the problem is large, and empty if it was solved at once.
    """

    def __init__(
        self,
        problem: Problem,
        n_clusters: int,
        cannot_link: np.ndarray | None = None,
        value: float = np.inf,
        *,
        labels: np.ndarray | None = None,
        parent: SemidefiniteBound | None = None,
        merged: np.ndarray | None = None,
        known: float | None = None,
        budget: Budget | None = None,
    ) -> None:
        budget = budget or Budget()
        self.problem, self.n_clusters, self._value = problem, n_clusters, value
        # In units in which the diagonal of A is at most 1.
        self._scale = float(problem.operator_parts()[0].max(initial=0.0))
        self.bound, self._n_rounds = known or 0.0, 0
        self._floor: Floor | None = None
        self.proven = 0.0
        self._residuals = (np.inf, np.inf)
        self._history: list[float] = []
        self._n_steps, self._next_balance = 0, BALANCE_EVERY
        # One cluster cuts nothing; without edges nothing is cut.
        self._open = n_clusters > 1 and self._scale > SMALLEST_SCALE
        if not self._open:
            self.similarity = np.zeros((0, 0))
            return
        derived = cannot_link is not None or parent is not None
        at_once = problem.n_nodes <= (LARGEST_DENSE if derived else DENSE_AT_ONCE)
        self._step_seconds = 0.0
        self._proof_seconds = _estimated(problem.n_nodes, DenseSpace if at_once else GroupedSpace)
        if at_once:
            budget.require(self._proof_seconds)
        self._space, self._W = self._make_space(labels, at_once)
        self._cannot_link = np.zeros((0, 2), dtype=np.int64)
        if cannot_link is not None and self._is_dense:
            self._cannot_link = np.asarray(cannot_link)
        self._penalty = 1.0
        self._multipliers = no_multipliers(self._space.root.size)
        if parent is not None:
            self._inherit(parent, merged)
        self.similarity = self._W
        self._N, self._size = self._multipliers.combined(self._space.root)
        if self._is_dense:
            self._prove(Budget())  # to its end: there is a first bound in any case
        elif known is None:
            self.bound = relax_problem(problem, n_clusters, random_state=0).lower_bound

    @property
    def _is_dense(self) -> bool:
        return isinstance(self._space, DenseSpace)

    def _make_space(
        self, labels: np.ndarray | None, is_dense: bool
    ) -> tuple[DenseSpace | GroupedSpace, np.ndarray]:
        """Return the space that rows and columns are of, and the W to start from."""
        problem, n, c = self.problem, self.problem.n_nodes, self.n_clusters
        root = np.sqrt(problem.node_weights)
        if labels is not None:
            G = np.zeros((n, c))
            G[np.arange(n), labels] = root
            G /= np.linalg.norm(G, axis=0)
        if is_dense:
            dense = DenseSpace(problem, c, self._scale)
            if labels is None:
                nothing = np.zeros((n, n))
                return dense, dense.nearest(nothing, nothing, 1.0)
            return dense, G @ G.T
        group = groups_within(problem, labels, GROUPS)
        if labels is None:
            G = np.outer(root, np.ones(c)) / np.linalg.norm(root) / np.sqrt(c)
        grouped = GroupedSpace(problem, c, self._scale, group, G)
        return grouped, grouped.image()

    # -- what others read

    @property
    def prices(self) -> tuple[np.ndarray, float]:
        """Dual prices λ of nodes and μ of a cluster: boundary(C) / b(C) ≥ μ + Σ_{i ∈ C} λ_i.

        About: they come from the eigenvalues' mean, and Σλ + cμ is about the bound.
        """
        n = self.problem.n_nodes
        if self._floor is None:
            return np.zeros(n), 0.0
        floor, root = self._floor, np.sqrt(self.problem.node_weights)
        vector = floor.vector + 0.5 * (floor.mean - floor.value) * self._space.unit
        nodes = (-2.0 * self._scale / np.linalg.norm(root)) * root * vector
        return nodes, floor.mean * self._scale

    @property
    def multipliers(self) -> Multipliers:
        """The multipliers that prove ``proven``, in the problem's units; none if of groups."""
        if not self._open or not self._is_dense:
            return no_multipliers(self.problem.n_nodes)
        return self._best.scaled(self._scale)

    # -- a round

    def improve(self, budget: Budget | None = None, target: float = np.inf) -> bool:
        """Make one round, and return whether another may raise the bound further.

        A bound of ``target`` is enough. Large problems are proven every few rounds, and in the last
        that there is time for. Raises TimeoutError if there is no time for a proof.
        """
        budget = budget or Budget()
        if not self._open or self.bound >= target:
            return False
        # Without time for a proof there is nothing to gain by further steps.
        reserved = RESERVED * self._proof_seconds
        budget.require(self._step_seconds + reserved)
        # 1. Groups are split, and stars that Z violates come in, from the second round on.
        added = 0
        if isinstance(self._space, GroupedSpace) and self._n_rounds >= SPLIT_FROM:
            added += self._refine(self._space, budget, reserved)
        if self._n_rounds and budget.seconds_left > reserved:
            root = self._space.root
            tolerance = VIOLATED * self.n_clusters / root.size
            self._multipliers, n_new = self._multipliers.exchanged(
                self.similarity, root, tolerance, budget
            )
            added += n_new
        # 2. Steps of the method.
        for _ in range(ITERATIONS):
            if self._step_seconds > budget.seconds_left - reserved:
                break
            began = time.monotonic()
            self._step()
            self._step_seconds = time.monotonic() - began
        self._n_rounds += 1
        settled = added == 0 and max(self._residuals) < SETTLED
        is_last = settled or self._step_seconds > budget.seconds_left - reserved
        # 3. The bound of the multipliers that it has come to.
        if self._is_dense or is_last or self._n_rounds % PROOF_EVERY == 0:
            self._prove(budget)
        self._history.append(self.bound)
        return not (settled or self.bound >= target) and self._has_gained(NOTICEABLE, STALLED)

    def _step(self) -> None:
        """Make steps 1, 2 and 3 of the module's text."""
        space, ours = self._space, self._multipliers
        Z = space.nearest(self._W, self._N, self._penalty)
        lifted = Z - ours.pairs / self._penalty
        i, j = self._cannot_link.T
        lifted[i, j] = lifted[j, i] = -np.inf
        if ours.stars.size:
            scaled, scratch = ours.stars / self._penalty, np.empty(LEAVES)
            stars = ours.centers, ours.leaves, scaled
            project_on_star_inequalities(lifted, space.root, space.mass, *stars, SWEEPS, scratch)
            ours = self._multipliers = ours._replace(stars=scaled * self._penalty)
        distance, moved = update_pairs(lifted, Z, self._W, ours.pairs, self._penalty)
        self.similarity = Z
        self._N, self._size = ours.combined(space.root)
        length = max(float(np.linalg.norm(self._N)), TINY)
        primal = float(np.sqrt(distance) / np.linalg.norm(Z))
        self._residuals = primal, float(self._penalty * np.sqrt(moved) / length)
        self._balance()

    def _balance(self) -> None:
        """Move ρ so that Z comes to W as fast as W comes to rest, ever more rarely.

        The method is sure to converge only where ρ comes to rest.
        """
        self._n_steps += 1
        if self._n_steps < self._next_balance:
            return
        self._next_balance = self._n_steps + max(BALANCE_EVERY, self._n_steps // BALANCE_LATER)
        primal, dual = self._residuals
        ratio = (primal + TINY) / (dual + TINY)
        if not 1.0 / BALANCE <= ratio <= BALANCE:
            self._penalty *= float(np.clip(ratio**0.25, 1.0 / RHO_STEP, RHO_STEP))

    def _refine(self, space: GroupedSpace, budget: Budget, reserved: float) -> int:
        """Split the groups that hide most of Z, and return how many.

        If few are worth it, little is gained and nodes are not too many, all groups become the
        nodes they hold, if there is time for some steps of them beyond the seconds ``reserved``.
        """
        old_root, n = space.root, self.problem.n_nodes
        most = min(int(SPLIT_FRACTION * old_root.size) + 1, MOST_GROUPS - old_root.size)
        added, most_stars = 0, int(MOST_GROWTH * self._multipliers.stars.size)
        if most > 0:
            old_of = space.split(most, SPLIT_SPREAD * self.n_clusters / n)
            added = int(old_of.size - old_root.size)
            split = self._multipliers.split(old_root, space.root, old_of)
            self._multipliers, self._W = split.heaviest(most_stars), space.image()
        seconds = _estimated(n, DenseSpace)
        in_time = (1 + ITERATIONS) * seconds <= budget.seconds_left - reserved
        is_fine = added <= FEW_SPLITS * old_root.size
        if (
            is_fine
            and in_time
            and n <= LARGEST_DENSE
            and not self._has_gained(SLOW, 2 * PROOF_EVERY)
        ):
            self._step_seconds = self._proof_seconds = seconds
            self._space = DenseSpace(self.problem, self.n_clusters, self._scale)
            # Parts are numbered group by group: the nodes in that order, and then by their names.
            order = np.argsort(space.group, kind="stable")
            roots = space.root, self._space.root[order]
            split = self._multipliers.split(*roots, space.group[order])
            self._multipliers = split.heaviest(most_stars).renamed(order)
            self._W = space.full()
            added = n - old_root.size
        self.similarity = self._W
        self._N, self._size = self._multipliers.combined(self._space.root)
        if self._space is space:
            space.rest_at(self._N, self._penalty)
        return added

    def _has_gained(self, fraction: float, n_rounds: int) -> bool:
        """Return whether so many rounds have raised the bound by a fraction of the value."""
        value = self._value if np.isfinite(self._value) else self.bound
        return recent_gain(self._history, n_rounds) > fraction * value

    def _prove(self, budget: Budget) -> None:
        """Prove the bound of the multipliers there are, and keep them if it is the best."""
        start = time.monotonic()
        try:
            floor = self._space.floor(0.5 * (self._N + self._N.T), self._size, budget)
        except TimeoutError:
            self._note_seconds(max(self._proof_seconds, 2.0 * (time.monotonic() - start)))
            raise
        self._note_seconds(time.monotonic() - start)
        if self._floor is None or floor.bound > self._floor.bound:
            self._floor = floor
            self._best = Multipliers(*(array.copy() for array in self._multipliers))
            self.proven = floor.bound * self._scale
            self.bound = max(self.bound, self.proven)

    def _note_seconds(self, seconds: float) -> None:
        """Note what a proof takes, for later ones of this process too."""
        self._proof_seconds = seconds
        SECONDS[type(self._space)] = seconds / float(max(self.problem.n_nodes, SMALL)) ** 3

    def _inherit(self, parent: SemidefiniteBound, merged: np.ndarray | None) -> None:
        """Start from the multipliers of a bound of more partitions, contracted if need be."""
        self.bound = parent.bound
        if not (parent._open and parent._is_dense and self._is_dense):
            return
        self._penalty, self._W = parent._penalty, parent._W.copy()
        ours = parent._multipliers.scaled(parent._scale / self._scale)
        if merged is not None:
            roots = parent._space.root, self._space.root
            Q = indicator_of(merged, *roots)
            self._W, ours = Q.T @ self._W @ Q, ours.contracted(*roots, merged)
        # Only cannot-link pairs may have negative multipliers.
        free = np.zeros(ours.pairs.shape, dtype=bool)
        i, j = self._cannot_link.T
        free[i, j] = free[j, i] = True
        ours.pairs[~free & (ours.pairs < 0.0)] = 0.0
        self._multipliers = ours


def recent_gain(history: list[float], n_rounds: int) -> float:
    """Return by how much the last rounds have raised a bound; inf if there were fewer."""
    return history[-1] - history[-1 - n_rounds] if len(history) > n_rounds else np.inf


def _estimated(n_nodes: int, space: type[DenseSpace] | type[GroupedSpace]) -> float:
    """Return the seconds that a proof is estimated to take."""
    return SECONDS[space] * float(max(n_nodes, SMALL)) ** 3

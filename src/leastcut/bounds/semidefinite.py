"""A lower bound on the cut value from a semidefinite relaxation with inequalities.

The matrix Z = GGᵀ of a partition satisfies Zu = u for u = √b / ‖√b‖, tr Z = c, 0 ⪯ Z ⪯ I, Z ≥ 0 and
the inequalities of ``kernels.star_inequalities``; its cut value is ⟨A, Z⟩. Let N = Σ_t y_t T_t with
y ≥ 0 be a combination of inequalities ⟨T_t, Z⟩ ≥ 0. Then the value is at least ⟨A − N, Z⟩, hence

    value ≥ bound(y) = uᵀ(A − N)u + the c − 1 smallest eigenvalues of A − N outside u

for *any* y ≥ 0: the bound is rigorous however y was computed (``proven_floor``). Here y is computed
by the alternating direction method of multipliers (ADMM). Z satisfies the spectral constraints, its
copy W the inequalities, and N is the multiplier of Z = W:

1. Z is the projection of W + (N − A) / ρ on the spectral constraints (``spaces``);
2. W is the projection of Z − N / ρ on the inequalities: its positive part, and Hildreth's method
   for the stars, warm-started from the previous multipliers;
3. N is ρ times the change in step 2, which is Σ y_t T_t with the y ≥ 0 of that projection.

All pairs have multipliers from the start; stars violated by Z are added in rounds, and those with
zero multipliers dropped. ρ is adapted to the two residuals.
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

SMALLEST_SCALE = 1e-280  # of the entries of A; below, they may be inaccurate
TINY = float(np.finfo(np.float64).tiny)

# Large problems: multipliers are for pairs of groups of nodes, until groups are split into nodes.
LARGEST_DENSE = 3000  # nodes up to which every pair eventually has a multiplier
INITIALLY_DENSE = 1000  # nodes up to which every pair has one from the start
GROUPS, MOST_GROUPS = 600, 2000  # initial groups, and the limit for splitting
FIRST_SPLIT = 6  # rounds before the first groups are split
SPLIT_FRACTION = 0.07  # fraction of the groups that a round may split
FEW_SPLITS = 0.02  # fraction of groups worth splitting below which groups are fine enough
SPLIT_SPREAD = 1e-3  # smallest spread of a group that is split, in units of c / n
MOST_GROWTH = 2.0  # growth factor of the number of stars by a split; the smallest are dropped
SLOW = 0.005  # relative rise of the bound in three proofs below which groups become nodes

# Time of a proof divided by n³: initially a guess, then measured in the last proof of this process.
SECONDS = {DenseSpace: 3e-10, GroupedSpace: 6e-11}
SMALL = 300  # problems with fewer nodes take about as long as with this many
RESERVED = 1.3  # time reserved for a proof, as a multiple of its estimate
PROOF_EVERY = 8  # rounds between two proofs of a large problem, which take as long as a few rounds

# ADMM.
ITERATIONS = 15  # steps per round, after which stars are separated and the bound is proven
SWEEPS = 5  # passes over the stars in a projection, which is warm-started
VIOLATED = 2e-3  # smallest violation of a star that is added, in units of c / rows
BALANCE = 2.0  # ratio of the residuals beyond which ρ is changed
RHO_STEP = 2.0  # ρ changes by the fourth root of the ratio, at most by this factor
BALANCE_EVERY = 5  # initial number of steps between two changes of ρ
BALANCE_LATER = 20  # later, the interval is 1 / BALANCE_LATER of all steps so far
CONVERGED = 1e-7  # convergence: both residuals, relative to Z and N
# A bound has stalled if it rose by less than this fraction of the value in this many rounds.
NOTICEABLE, STALLED = 1e-5, 20


class SemidefiniteBound:
    """A lower bound on the cut value that rises from round to round.

    The bound holds for partitions that satisfy the pairs ``cannot_link`` (m, 2). Rises are relative
    to ``value``, the best known cut value; good ``labels`` 0..c-1 save rounds. The method can be
    warm-started from a ``parent``, the bound of a superset of these partitions; if nodes were
    contracted, ``merged`` maps nodes of the parent to nodes of the problem. ``known`` is a bound
    proven before; without it, large problems start from their eigenvalues. Raises TimeoutError if
    the first bound is estimated to exceed the budget.

    Attributes
    ----------
    bound : float
        The lower bound, which never falls.
    proven : float
        The bound of ``multipliers``; ``bound`` may be larger, from a parent or from eigenvalues.
    similarity : ndarray of shape (n, n)
        The last Z, which is near √(b_i b_j) / b(C) if the relaxation has i and j in one cluster C.
        Its rows are groups for a large problem; it is empty for a trivial one.
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
        # Units in which the diagonal of A is at most 1.
        self._scale = float(problem.operator_parts()[0].max(initial=0.0))
        self.bound, self._n_rounds = known or 0.0, 0
        self._floor: Floor | None = None
        self.proven = 0.0
        self._residuals = (np.inf, np.inf)
        self._history: list[float] = []
        self._n_steps, self._next_balance = 0, BALANCE_EVERY
        # With one cluster or without edges nothing is cut.
        self._open = n_clusters > 1 and self._scale > SMALLEST_SCALE
        if not self._open:
            self.similarity = np.zeros((0, 0))
            return
        is_child = cannot_link is not None or parent is not None
        is_dense = problem.n_nodes <= (LARGEST_DENSE if is_child else INITIALLY_DENSE)
        self._step_seconds = 0.0
        space = DenseSpace if is_dense else GroupedSpace
        self._proof_seconds = _estimated_seconds(problem.n_nodes, space)
        if is_dense:
            budget.require(self._proof_seconds)
        self._space, self._W = self._make_space(labels, is_dense)
        self._cannot_link = np.zeros((0, 2), dtype=np.int64)
        if cannot_link is not None and self._is_dense:
            self._cannot_link = np.asarray(cannot_link)
        self._penalty = 1.0
        self._multipliers = no_multipliers(self._space.root.size)
        if parent is not None:
            self._warm_start(parent, merged)
        self.similarity = self._W
        self._N, self._size = self._multipliers.combined(self._space.root)
        if self._is_dense:
            self._prove(Budget())  # without a limit, so that there is a first bound
        elif known is None:
            self.bound = relax_problem(problem, n_clusters, random_state=0).lower_bound

    @property
    def _is_dense(self) -> bool:
        return isinstance(self._space, DenseSpace)

    def _make_space(
        self, labels: np.ndarray | None, is_dense: bool
    ) -> tuple[DenseSpace | GroupedSpace, np.ndarray]:
        """Return the space of the rows and columns, and the initial W."""
        problem, n, c = self.problem, self.problem.n_nodes, self.n_clusters
        root = np.sqrt(problem.node_weights)
        if labels is not None:
            G = np.zeros((n, c))
            G[np.arange(n), labels] = root
            G /= np.linalg.norm(G, axis=0)
        if is_dense:
            dense = DenseSpace(problem, c, self._scale)
            if labels is None:
                zeros = np.zeros((n, n))
                return dense, dense.nearest(zeros, zeros, 1.0)
            return dense, G @ G.T
        group = groups_within(problem, labels, GROUPS)
        if labels is None:
            G = np.outer(root, np.ones(c)) / np.linalg.norm(root) / np.sqrt(c)
        grouped = GroupedSpace(problem, c, self._scale, group, G)
        return grouped, grouped.image()

    # -- results

    @property
    def dual_prices(self) -> tuple[np.ndarray, float]:
        """Dual prices λ of nodes and μ of a cluster: boundary(C) / b(C) ≥ μ + Σ_{i ∈ C} λ_i.

        This is approximate, as prices come from the mean of the eigenvalues; Σλ + cμ is about the
        bound.
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
        """The multipliers that prove ``proven``, in units of the problem; none for groups."""
        if not self._open or not self._is_dense:
            return no_multipliers(self.problem.n_nodes)
        return self._best.scaled(self._scale)

    # -- a round

    def improve(self, budget: Budget | None = None, target: float = np.inf) -> bool:
        """Run one round, and return whether another may raise the bound.

        A bound of ``target`` is sufficient. Large problems are proven every few rounds, and in the
        last one that time allows. Raises TimeoutError if there is no time for a proof.
        """
        budget = budget or Budget()
        if not self._open or self.bound >= target:
            return False
        # Steps are useless without time for a proof.
        reserved = RESERVED * self._proof_seconds
        budget.require(self._step_seconds + reserved)
        # 1. From the second round on, split groups, and add stars violated by Z.
        added = 0
        if isinstance(self._space, GroupedSpace) and self._n_rounds >= FIRST_SPLIT:
            added += self._refine(self._space, budget, reserved)
        if self._n_rounds and budget.seconds_left > reserved:
            root = self._space.root
            tolerance = VIOLATED * self.n_clusters / root.size
            self._multipliers, n_new = self._multipliers.updated(
                self.similarity, root, tolerance, budget
            )
            added += n_new
        # 2. Run ADMM steps.
        for _ in range(ITERATIONS):
            if self._step_seconds > budget.seconds_left - reserved:
                break
            start = time.monotonic()
            self._step()
            self._step_seconds = time.monotonic() - start
        self._n_rounds += 1
        is_converged = added == 0 and max(self._residuals) < CONVERGED
        is_last = is_converged or self._step_seconds > budget.seconds_left - reserved
        # 3. Prove the bound of the current multipliers.
        if self._is_dense or is_last or self._n_rounds % PROOF_EVERY == 0:
            self._prove(budget)
        self._history.append(self.bound)
        return not (is_converged or self.bound >= target) and self._has_risen(NOTICEABLE, STALLED)

    def _step(self) -> None:
        """Run steps 1, 2 and 3 of the module docstring."""
        space, multipliers = self._space, self._multipliers
        Z = space.nearest(self._W, self._N, self._penalty)
        lifted = Z - multipliers.pairs / self._penalty
        i, j = self._cannot_link.T
        lifted[i, j] = lifted[j, i] = -np.inf
        if multipliers.stars.size:
            scaled, scratch = multipliers.stars / self._penalty, np.empty(LEAVES)
            stars = multipliers.centers, multipliers.leaves, scaled
            project_on_star_inequalities(lifted, space.root, space.mass, *stars, SWEEPS, scratch)
            multipliers = self._multipliers = multipliers._replace(stars=scaled * self._penalty)
        distance, change = update_pairs(lifted, Z, self._W, multipliers.pairs, self._penalty)
        self.similarity = Z
        self._N, self._size = multipliers.combined(space.root)
        length = max(float(np.linalg.norm(self._N)), TINY)
        primal = float(np.sqrt(distance) / np.linalg.norm(Z))
        self._residuals = primal, float(self._penalty * np.sqrt(change) / length)
        self._adapt_penalty()

    def _adapt_penalty(self) -> None:
        """Change ρ to balance both residuals, at increasing intervals.

        Convergence of the method requires that ρ becomes constant.
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
        """Split the groups of largest spread, and return how many.

        If few are worth splitting, the bound hardly rises and there are not too many nodes, all
        groups are replaced by their nodes, if there is time for some steps in addition to
        ``reserved``.
        """
        old_root, n = space.root, self.problem.n_nodes
        most = min(int(SPLIT_FRACTION * old_root.size) + 1, MOST_GROUPS - old_root.size)
        added, most_stars = 0, int(MOST_GROWTH * self._multipliers.stars.size)
        if most > 0:
            old_of = space.split(most, SPLIT_SPREAD * self.n_clusters / n)
            added = int(old_of.size - old_root.size)
            split = self._multipliers.split(old_root, space.root, old_of)
            self._multipliers, self._W = split.largest(most_stars), space.image()
        seconds = _estimated_seconds(n, DenseSpace)
        in_time = (1 + ITERATIONS) * seconds <= budget.seconds_left - reserved
        is_fine = added <= FEW_SPLITS * old_root.size
        if (
            is_fine
            and in_time
            and n <= LARGEST_DENSE
            and not self._has_risen(SLOW, 2 * PROOF_EVERY)
        ):
            self._step_seconds = self._proof_seconds = seconds
            self._space = DenseSpace(self.problem, self.n_clusters, self._scale)
            # Nodes are parts, which ``split`` numbers by group; ``permuted`` restores their order.
            order = np.argsort(space.group, kind="stable")
            roots = space.root, self._space.root[order]
            split = self._multipliers.split(*roots, space.group[order])
            self._multipliers = split.largest(most_stars).permuted(order)
            self._W = space.full()
            added = n - old_root.size
        self.similarity = self._W
        self._N, self._size = self._multipliers.combined(self._space.root)
        if self._space is space:
            space.reset_last(self._N, self._penalty)
        return added

    def _has_risen(self, fraction: float, n_rounds: int) -> bool:
        """Return whether ``n_rounds`` rounds raised the bound by a fraction of the value."""
        value = self._value if np.isfinite(self._value) else self.bound
        return recent_gain(self._history, n_rounds) > fraction * value

    def _prove(self, budget: Budget) -> None:
        """Prove the bound of the current multipliers, and keep them if it is the best."""
        start = time.monotonic()
        try:
            floor = self._space.floor(0.5 * (self._N + self._N.T), self._size, budget)
        except TimeoutError:
            self._record_seconds(max(self._proof_seconds, 2.0 * (time.monotonic() - start)))
            raise
        self._record_seconds(time.monotonic() - start)
        if self._floor is None or floor.bound > self._floor.bound:
            self._floor = floor
            self._best = Multipliers(*(array.copy() for array in self._multipliers))
            self.proven = floor.bound * self._scale
            self.bound = max(self.bound, self.proven)

    def _record_seconds(self, seconds: float) -> None:
        """Record the time of a proof, also for later bounds of this process."""
        self._proof_seconds = seconds
        SECONDS[type(self._space)] = seconds / float(max(self.problem.n_nodes, SMALL)) ** 3

    def _warm_start(self, parent: SemidefiniteBound, merged: np.ndarray | None) -> None:
        """Start from the multipliers of a parent, contracted if nodes were merged."""
        self.bound = parent.bound
        if not (parent._open and parent._is_dense and self._is_dense):
            return
        self._penalty, self._W = parent._penalty, parent._W.copy()
        multipliers = parent._multipliers.scaled(parent._scale / self._scale)
        if merged is not None:
            roots = parent._space.root, self._space.root
            Q = indicator_of(merged, *roots)
            self._W, multipliers = Q.T @ self._W @ Q, multipliers.contracted(*roots, merged)
        # Only pairs with a cannot-link may have negative multipliers.
        free = np.zeros(multipliers.pairs.shape, dtype=bool)
        i, j = self._cannot_link.T
        free[i, j] = free[j, i] = True
        multipliers.pairs[~free & (multipliers.pairs < 0.0)] = 0.0
        self._multipliers = multipliers


def recent_gain(history: list[float], n_rounds: int) -> float:
    """Return the rise of a bound in the last rounds; inf if there were fewer."""
    return history[-1] - history[-1 - n_rounds] if len(history) > n_rounds else np.inf


def _estimated_seconds(n_nodes: int, space: type[DenseSpace] | type[GroupedSpace]) -> float:
    """Return the estimated time of a proof."""
    return SECONDS[space] * float(max(n_nodes, SMALL)) ** 3

"""Multilevel passes: coarsen, partition the smallest level, and refine while uncoarsening.

1. Coarsen: aggregate nodes and contract the aggregates, level by level (see ``coarsening``).
2. Partition the smallest level: by agglomeration, bisection or a spectral solution.
3. Uncoarsen: project the labels to the finer level, and improve them by moves, level by level.
4. V-cycle: coarsen inside the clusters of a partition, and uncoarsen from that partition.
5. Recombination: coarsen inside the intersections of two partitions, and uncoarsen from the better.

The methods of :class:`Passes` are ``fresh`` for steps 1 to 3 (``descend``, then ``grow``; a
``spectral`` start can share the hierarchy), ``cycle`` for step 4 and ``recombine`` for step 5.
Steps 4 and 5 never increase the cut value, because coarsening does not split clusters and moves do
not increase the value. The constants were tuned on half of a collection of meshes, circuits,
networks and neighbor graphs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from leastcut.constraints import Limits
from leastcut.multilevel.bisection import Sides, bisected, slack, split_recursively
from leastcut.multilevel.coarsening import (
    HEAVY_EDGES,
    Coarsening,
    Step,
    agglomerate,
    build,
    coarse_labels,
    smallest_level,
)
from leastcut.multilevel.refinement import State
from leastcut.multilevel.repair import respecting, start_of_merged, within_limits
from leastcut.multilevel.spectral_start import rough_labels
from leastcut.problem import Problem

# FM search refines levels up to FM_NODES, and all levels of problems up to SMALL_NODES; on others,
# further passes are more effective.
FM_NODES, SMALL_NODES = 200, 1000
PATIENCE = 15  # moves without a new best after which an FM chain ends
FM_EDGES = 20  # limit on the edges visited in a round of chains, per stored edge; rarely reached
EXCHANGE_ROUNDS = 4  # rounds of exchanges and moves on a level; most levels need two
# V-cycles and recombinations coarsen to about this many nodes per cluster. With fewer, aggregates
# are too large to move; with more, further coarsening is cheaper than refinement.
CYCLE_NODES = 4
LEVEL_EDGES = 10_000  # fixed cost of a level, in edges visited in the same time
LEVEL_VISITS = 3  # visits of each edge to build a level: one to aggregate nodes, two to contract
SMALLER = 1.0 - 1e-9  # a value counts as smaller below this fraction of the other
MOST_PRODUCT = 46_340  # most clusters for which the product of two labels fits into an int32
BISECTION_PASSES = 2  # passes for every bisection, whose results are recombined


@dataclass(frozen=True, eq=False)
class Candidate:
    """The labels of a pass, their cut value, and the work of the pass in visited edges.

    The work of a spectral start is the number of edges that could be visited in the same time.
    """

    labels: np.ndarray
    value: float
    work: int

    def beats(self, other: Candidate | None) -> bool:
        """Return whether the value is smaller than that of ``other`` by more than rounding."""
        return other is None or self.value < SMALLER * other.value


@dataclass(frozen=True, eq=False)
class Passes:
    """Passes over a problem with one random generator and one coarsening."""

    problem: Problem
    n_clusters: int
    rng: np.random.Generator
    coarsening: Coarsening = HEAVY_EDGES

    # -- from scratch

    def fresh(self, smallest: int) -> Candidate | None:
        """Make a pass from scratch, with a smallest level of about ``smallest`` nodes.

        Returns None like :meth:`grow`.
        """
        return self.grow(self.descend(smallest))

    def descend(self, smallest: int, enough: int = 0) -> list[Step]:
        """Coarsen to about ``smallest`` nodes, but not to fewer than clusters.

        Stops at the first level of at most ``enough`` nodes.
        """
        smallest = max(smallest, self.n_clusters)
        steps = build(self.problem, self.rng, smallest, None, self.coarsening, enough)
        # With heavy nodes, a level may have too few nodes.
        while steps and steps[-1].problem.n_nodes < self.n_clusters:
            steps.pop()
        return steps

    def grow(self, steps: list[Step]) -> Candidate | None:
        """Partition the smallest level of a hierarchy, and uncoarsen.

        If the graph has enough components, the partition cuts no edge. Returns None if time runs
        out before there is a partition.
        """
        low = self._last(steps)
        # All levels have the same number of components.
        uncut = low.uncut_labels(self.n_clusters)
        if uncut is not None and low.allows(uncut):
            labels = uncut.astype(np.int32)
            for step in reversed(steps):
                labels = labels[step.parent]
            return Candidate(labels, 0.0, hierarchy_work(self.problem, steps))
        start = self.initial(low)
        if start is not None:
            return self.refined(start.labels, steps, start.work)
        if self.problem.limits is None or not steps or self.coarsening.is_late():
            return None
        # The nodes may be too heavy for the limits: try the next finer level.
        return self.grow(steps[:-1])

    def spectral(self, steps: list[Step], *, n_starts: int, most_work: float) -> Candidate | None:
        """Discretize rough eigenvectors of the finest level affordable, and uncoarsen.

        The smallest level of ``steps`` must have enough nodes. Returns None if ``most_work`` is not
        enough for any level.
        """
        start = rough_labels(
            self.problem, steps, self.n_clusters, self.rng,
            n_starts=n_starts, most_work=most_work, is_late=self.coarsening.is_late,
        )  # fmt: skip
        if start is None:
            return None
        labels, level, work = start
        if self.problem.cannot_link is not None:
            kept = respecting(self._last(steps[:level]), labels, self.n_clusters)
            if kept is None:
                return None
            labels = kept
        return self.refined(labels, steps[:level], work)

    def initial(self, low: Problem) -> Candidate | None:
        """Partition a level by bisection, if it has limits, or else by agglomeration, and refine.

        Returns None if time runs out, or if no allowed partition is found.
        """
        steps: list[Step] = []
        work = 0
        if low.limits is not None:
            start, work = bisected(low, self.n_clusters, self.rng)
            labels = within_limits(low, start, self.n_clusters)
            if labels is None:
                return None
        else:
            merged = agglomerate(low, self.n_clusters, self.coarsening)
            if merged is None:
                return None
            steps, labels = merged, np.arange(self.n_clusters, dtype=np.int32)
            if low.cannot_link is not None:
                merged_start = start_of_merged(low, steps, self.n_clusters)
                if merged_start is None:
                    return None
                steps, labels = merged_start
        state = self.uncoarsen(steps, labels, low)
        return Candidate(state.labels, state.value, state.work + work)

    # -- from partitions

    def cycle(self, labels: np.ndarray) -> Candidate:
        """Make a V-cycle: coarsen inside the clusters, and uncoarsen; never worse."""
        steps = self.coarsen_inside(labels)
        return self.refined(coarse_labels(steps, labels), steps, before=labels)

    def recombine(
        self, better: np.ndarray, other: np.ndarray, *, regrow: bool = False
    ) -> Candidate:
        """Coarsen inside the intersections of two partitions, and uncoarsen from the better one.

        With ``regrow`` the coarsest level is also partitioned from scratch, and the better of the
        two starts is used. Never worse than ``better``. The graph must have fewer components than
        clusters.
        """
        # 1. Number the intersections by pairs of labels, in int64.
        intersections = better.astype(np.int64) * self.n_clusters + other
        if self.n_clusters > MOST_PRODUCT:
            intersections = np.unique(intersections, return_inverse=True)[1].reshape(-1)
        # 2. Coarsen inside the intersections.
        steps = self.coarsen_inside(intersections.astype(np.int32))
        low = self._last(steps)
        # 3. Start from the better parent, or from a new partition of the level. Both are refined
        #    before they are compared.
        labels, work = coarse_labels(steps, better), 0
        if regrow and not self.coarsening.is_late():
            start = State(low, labels, self.n_clusters)
            self.improve(start)
            labels, work = start.labels, start.work
            grown = self.initial(low)
            if grown is not None:
                labels = grown.labels if grown.value < start.value else labels
                work += grown.work
        # 4. Uncoarsen.
        return self.refined(labels, steps, work, before=better)

    # -- uncoarsening

    def refined(
        self,
        labels: np.ndarray,
        steps: Sequence[Step] = (),
        work: float = 0,
        before: np.ndarray | None = None,
    ) -> Candidate:
        """Uncoarsen labels of the last level of a hierarchy, which took ``work`` to compute.

        ``before`` are refined labels of the problem that ``labels`` come from, or None.
        """
        state = self.uncoarsen(steps, labels.astype(np.int32))
        state.refine_by_flows(before, self.coarsening.is_late)
        return Candidate(state.labels, state.value, state.work + int(work))

    def uncoarsen(
        self, steps: Sequence[Step], labels: np.ndarray, top: Problem | None = None
    ) -> State:
        """Project labels of the coarsest level to finer ones, improving them; changes ``labels``.

        Between the coarsest and the finest level, local search starts with the nodes of coarse
        border nodes. Once time is up, labels are only projected. ``top`` is the finest level, by
        default the problem.
        """
        top = self.problem if top is None else top
        levels = [top, *(step.problem for step in steps)]
        state = State(levels[-1], labels, self.n_clusters)
        if not self.coarsening.is_late():
            self.improve(state)
        work = hierarchy_work(top, steps)
        for finer, step in zip(levels[-2::-1], steps[::-1], strict=True):
            late = self.coarsening.is_late()
            active = None  # all nodes
            if finer is not top and not late:
                active = np.flatnonzero(state.on_border()[step.parent])
            work += state.work
            # A partition has the same sums on every level.
            state = State(finer, state.labels[step.parent], self.n_clusters, same=state)
            if not late:
                self.improve(state, active)
        # Recompute the sums, because values of candidates are compared.
        state.work += work
        state.measure()
        return state

    def improve(self, state: State, nodes: np.ndarray | None = None) -> None:
        """Refine a level by local search from ``nodes`` (default: all); small ones by FM too."""
        state.local_search(nodes)
        if state.cannot_link is not None or state.limits is not None:
            for _ in range(EXCHANGE_ROUNDS):
                if state.exchange() == 0:
                    break
                state.measure()
                state.local_search()
        is_small = state.problem.n_nodes <= FM_NODES or self.problem.n_nodes <= SMALL_NODES
        if is_small or state.limits is not None:
            seeds = np.flatnonzero(state.on_border()).astype(np.int32)
            # Nodes moved in a chain are not available to later chains.
            self.rng.shuffle(seeds)
            state.fm_search(seeds, PATIENCE, FM_EDGES * state.problem.graph.n_stored)
            # Remove the rounding errors of many moves.
            state.measure()

    def coarsen_inside(self, parts: np.ndarray) -> list[Step]:
        """Coarsen without merging nodes of different parts."""
        smallest = CYCLE_NODES * self.n_clusters
        return build(self.problem, self.rng, smallest, parts, self.coarsening)

    def _last(self, steps: Sequence[Step]) -> Problem:
        """Return the smallest level of a hierarchy."""
        return steps[-1].problem if steps else self.problem

    # -- recursive bisection

    def bisect(self) -> tuple[np.ndarray, int] | None:
        """Return labels by recursive bisection, and the work.

        Each part is bisected by passes while its number of clusters is even, and then partitioned
        by one pass. On meshes this finds long borders that passes for all clusters rarely find, as
        they consist of many short borders between clusters. The limits may be slightly violated.
        Returns None if time runs out.
        """
        limits = self.problem.limits
        assert limits is not None
        free = self.problem.with_limits(limits.of_level())

        def divide(nodes: np.ndarray, count: int) -> Sides | None:
            if self.coarsening.is_late():
                return None
            part = replace(self, problem=free.restrict(nodes), n_clusters=count)
            half = count // 2
            # 1. Bisect the part, if each side gets enough nodes for its clusters.
            if count == 2 * half < nodes.size:
                best = part._in_two()
                if best is not None:
                    size = np.count_nonzero(best.labels)
                    if half <= size <= nodes.size - half:
                        return best.labels, (half, half), best.work
            # 2. Otherwise partition it into all of its clusters.
            full = part.fresh(smallest_level(nodes.size, count))
            if full is None:
                labels, work = bisected(part.problem, count, self.rng)
            else:
                labels, work = full.labels, full.work
            return labels, [1] * count, work

        return split_recursively(self.problem.n_nodes, self.n_clusters, divide)

    def _in_two(self) -> Candidate | None:
        """Bisect the problem by several passes and recombinations."""
        problem, limits = self.problem, self.problem.limits
        assert limits is not None
        half = 0.5 * float(problem.node_weights.sum())
        margin = slack(problem.node_weights, limits.heaviest, self.n_clusters, half)
        problem = problem.with_limits(Limits(half - margin, half + margin))
        passes, best, work = replace(self, problem=problem, n_clusters=2), None, 0
        for _ in range(BISECTION_PASSES):
            candidate = passes.fresh(smallest_level(problem.n_nodes, 2))
            if candidate is None:
                continue
            work += candidate.work
            if best is not None and candidate.value > 0.0:
                better, other = (candidate, best) if candidate.beats(best) else (best, candidate)
                child = passes.recombine(better.labels, other.labels)
                work += child.work
                candidate = child if child.beats(better) else better
            best = candidate
        return None if best is None else replace(best, work=work)


def hierarchy_work(problem: Problem, steps: Sequence[Step]) -> int:
    """Return the work to build a hierarchy in visited edges, with a fixed cost per level."""
    # The edges of the coarsest level are not visited.
    stored = problem.graph.n_stored + sum(step.problem.graph.n_stored for step in steps[:-1])
    return (LEVEL_VISITS * stored if steps else 0) + LEVEL_EDGES * (len(steps) + 1)

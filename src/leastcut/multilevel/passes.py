"""Multilevel passes: solve a small problem that stands for a large one, and refine on the way up.

1. Coarsen: aggregate nodes and contract the aggregates, level by level (see ``coarsening``).
2. Solve the smallest level: clusters from agglomeration or bisection, or a spectral solution.
3. Uncoarsen: carry the labels up, and improve them by moves at every level.
4. V-cycle: coarsen inside the clusters of a partition, and go up again from that partition.
5. Recombination: coarsen inside the intersections of two partitions, and go up from the better.

:class:`Passes` does all of that. Its ``fresh`` is steps 1 to 3: ``descend``, then ``grow``, with
which a ``spectral`` start can share the hierarchy. ``cycle`` is step 4 and ``recombine`` step 5. As
neither of these two cuts a cluster apart on the way down, and moves never raise the value, neither
ends above where it starts. The constants were set on half of a collection of meshes, circuits,
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

# Levels up to the first size, and all levels of problems up to the second, are also refined by
# FM search; elsewhere it costs more than passes that find as much.
FM_NODES, SMALL_NODES = 200, 1000
# Moves without a new best after which a chain ends: longer ones step over higher walls.
PATIENCE = 15
# A round of chains may visit this many times the stored edges; hardly any comes near it.
FM_EDGES = 20
# Rounds of exchanges and moves on a level, if moves are barred; most levels need two.
EXCHANGE_ROUNDS = 4
# V-cycles and recombinations coarsen to about this many nodes per cluster: fewer and entire
# aggregates change sides, more and the level is faster to polish than to make.
CYCLE_NODES = 4
LEVEL_EDGES = 10_000  # edges that could be visited in the time that a level takes at least
# Times that making a level visits its edges: once to aggregate nodes, twice to contract them.
LEVEL_VISITS = 3
SMALLER = 1.0 - 1e-9  # a value counts as smaller below this fraction of the other
MOST_PRODUCT = 46_340  # most clusters for which the product of two labels fits an int32
HALVES = 2  # passes by which a part is cut in two; what they find is recombined


@dataclass(frozen=True, eq=False)
class Candidate:
    """A partition found by a pass, its cut value, and the edges visited to find it.

    Work counts the way down, the start on the smallest level and the way up; for a spectral start,
    as many edges as could have been visited meanwhile.
    """

    labels: np.ndarray
    value: float
    work: int

    def beats(self, other: Candidate | None) -> bool:
        """Return whether its value is smaller by more than rounding."""
        return other is None or self.value < SMALLER * other.value


@dataclass(frozen=True, eq=False)
class Passes:
    """Passes over a problem that draw from one generator and make hierarchies in one way."""

    problem: Problem
    n_clusters: int
    rng: np.random.Generator
    coarsening: Coarsening = HEAVY_EDGES

    # -- from nothing

    def fresh(self, smallest: int) -> Candidate | None:
        """Find a partition from nothing, in one pass down to about ``smallest`` nodes and up.

        Fewer are faster, more find finer clusters. None as for :meth:`grow`.
        """
        return self.grow(self.descend(smallest))

    def descend(self, smallest: int, enough: int = 0) -> list[Step]:
        """Coarsen down to about ``smallest`` nodes, but to no fewer than clusters.

        Ends early at a level of no more than ``enough`` nodes.
        """
        smallest = max(smallest, self.n_clusters)
        steps = build(self.problem, self.rng, smallest, None, self.coarsening, enough)
        # Heavy nodes may leave few for the rest.
        while steps and steps[-1].problem.n_nodes < self.n_clusters:
            steps.pop()
        return steps

    def grow(self, steps: list[Step]) -> Candidate | None:
        """Partition the smallest level of a hierarchy, and go up from there.

        If the graph has enough components, the partition cuts no edge. None if time was up before
        there was any.
        """
        low = self._last(steps)
        # The level has as many components as the problem, as edges are never lost. If they are
        # enough, nothing need be cut and nothing can be improved.
        uncut = low.uncut_labels(self.n_clusters)
        if uncut is not None and low.allows(uncut):
            labels = uncut.astype(np.int32)
            for step in reversed(steps):
                labels = labels[step.parent]
            return Candidate(labels, 0.0, hierarchy_work(self.problem, steps))
        found = self.initial(low)
        if found is not None:
            return self.refined(found.labels, steps, found.work)
        if self.problem.limits is None or not steps or self.coarsening.is_late():
            return None
        # The nodes of this level are too heavy for the limits; those of the one above are lighter.
        return self.grow(steps[:-1])

    def spectral(self, steps: list[Step], *, n_starts: int, most_work: float) -> Candidate | None:
        """Discretize rough eigenvectors on the finest level affordable, and go up from there.

        ``steps`` is a hierarchy with enough nodes on its smallest level. None if ``most_work`` is
        not enough for any level.
        """
        found = rough_labels(
            self.problem, steps, self.n_clusters, self.rng,
            n_starts=n_starts, most_work=most_work, is_late=self.coarsening.is_late,
        )  # fmt: skip
        if found is None:
            return None
        labels, level, work = found
        if self.problem.cannot_link is not None:
            kept = respecting(self._last(steps[:level]), labels, self.n_clusters)
            if kept is None:
                return None
            labels = kept
        return self.refined(labels, steps[:level], work)

    def initial(self, low: Problem) -> Candidate | None:
        """Partition a level by bisection, if weights are limited, or else agglomeration; refine it.

        None if time is up before, or if no partition is found that the constraints allow.
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
                found = start_of_merged(low, steps, self.n_clusters)
                if found is None:
                    return None
                steps, labels = found
        state = self.uncoarsen(steps, labels, low)
        return Candidate(state.labels, state.value, state.work + work)

    # -- from partitions

    def cycle(self, labels: np.ndarray) -> Candidate:
        """Coarsen inside the clusters and refine on the way up again: a V-cycle, never worse."""
        steps = self.coarsen_inside(labels)
        return self.refined(coarse_labels(steps, labels), steps, before=labels)

    def recombine(
        self, better: np.ndarray, other: np.ndarray, *, regrow: bool = False
    ) -> Candidate:
        """Coarsen inside the intersections of two partitions and refine from the better one.

        With ``regrow`` the intersections are also partitioned anew, and the better of the two
        starts is taken. Never worse than ``better``. The graph must have fewer components than
        clusters.
        """
        # 1. Number the intersections by the pair of their labels, in int64 as the product may
        #    need it.
        cells = better.astype(np.int64) * self.n_clusters + other
        if self.n_clusters > MOST_PRODUCT:
            cells = np.unique(cells, return_inverse=True)[1].reshape(-1)
        # 2. Coarsen inside them: both partitions are made of entire intersections.
        steps = self.coarsen_inside(cells.astype(np.int32))
        low = self._last(steps)
        # 3. Start from the better one, or from clusters that grow anew out of the intersections.
        #    Those come refined, so the better one is refined too before they are compared.
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

    # -- the way up

    def refined(
        self,
        labels: np.ndarray,
        steps: Sequence[Step] = (),
        work: float = 0,
        before: np.ndarray | None = None,
    ) -> Candidate:
        """Go up from labels of the last level of a hierarchy, which it has cost ``work`` to find.

        ``before`` are refined labels of the problem that these were made from, if there are any.
        """
        # A copy, as going up changes it in place.
        state = self.uncoarsen(steps, labels.astype(np.int32))
        state.refine_by_flows(before, self.coarsening.is_late)
        return Candidate(state.labels, state.value, state.work + int(work))

    def uncoarsen(
        self, steps: Sequence[Step], labels: np.ndarray, top: Problem | None = None
    ) -> State:
        """Carry labels of the coarsest level up to the finest, improving at each; changes them.

        Between the coarsest and the finest level, only nodes of coarse border nodes are looked at
        to begin with: the others have all their neighbors in their own cluster. Once time is up,
        labels are carried up as they are. The hierarchy begins at ``top`` if that is not the
        problem but a level of it.
        """
        top = self.problem if top is None else top
        levels = [top, *(step.problem for step in steps)]
        state = State(levels[-1], labels, self.n_clusters)
        if not self.coarsening.is_late():
            self.improve(state)
        work = hierarchy_work(top, steps)
        # From the second coarsest level up; ``step`` leads from each to the one below it.
        for finer, step in zip(levels[-2::-1], steps[::-1], strict=True):
            late = self.coarsening.is_late()
            # None: every node, which is what the finest level gets.
            active = None
            if finer is not top and not late:
                active = np.flatnonzero(state.on_border()[step.parent])
            work += state.work
            # A partition has the same value on every level, so the sums go over as they are.
            state = State(finer, state.labels[step.parent], self.n_clusters, same=state)
            if not late:
                self.improve(state, active)
        # Values of candidates are compared, so the last one is taken from fresh sums.
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
            # A chain uses nodes up for those after it: no end of the graph should always be first.
            self.rng.shuffle(seeds)
            state.fm_search(seeds, PATIENCE, FM_EDGES * state.problem.graph.n_stored)
            # Chains make many moves and take many back: fresh sums are rid of their rounding.
            state.measure()

    def coarsen_inside(self, parts: np.ndarray) -> list[Step]:
        """Coarsen inside parts, for a V-cycle or a recombination."""
        smallest = CYCLE_NODES * self.n_clusters
        return build(self.problem, self.rng, smallest, parts, self.coarsening)

    def _last(self, steps: Sequence[Step]) -> Problem:
        """Return the smallest level of a hierarchy."""
        return steps[-1].problem if steps else self.problem

    # -- halves of halves

    def halved(self) -> tuple[np.ndarray, int] | None:
        """Return labels of clusters of about equal weight, and the edges visited to find them.

        Parts are cut in two by passes as long as their number of clusters is even, and then into
        all of them by one pass. Limits leave most room for that, and what a graph has of few long
        borders, as meshes do, is hardly found by passes that make all clusters at once: each of
        these borders is then a chain of many short ones. The limits may be passed slightly. None if
        time is up before.
        """
        limits = self.problem.limits
        assert limits is not None
        free = self.problem.with_limits(limits.of_level())

        def divide(nodes: np.ndarray, count: int) -> Sides | None:
            if self.coarsening.is_late():
                return None
            part = replace(self, problem=free.restrict(nodes), n_clusters=count)
            half = count // 2
            # 1. Cut it in two, if each side has nodes enough for its clusters.
            if count == 2 * half < nodes.size:
                found = part._in_two()
                if found is not None:
                    size = np.count_nonzero(found.labels)
                    if half <= size <= nodes.size - half:
                        return found.labels, (half, half), found.work
            # 2. Or into all of its clusters, which keep to the limits about.
            full = part.fresh(smallest_level(nodes.size, count))
            if full is None:
                labels, work = bisected(part.problem, count, self.rng)
            else:
                labels, work = full.labels, full.work
            return labels, [1] * count, work

        return split_recursively(self.problem.n_nodes, self.n_clusters, divide)

    def _in_two(self) -> Candidate | None:
        """Cut the problem in halves, each of half of the clusters, by passes and recombination."""
        problem, limits = self.problem, self.problem.limits
        assert limits is not None
        half = 0.5 * float(problem.node_weights.sum())
        room = slack(problem.node_weights, limits.heaviest, self.n_clusters, half)
        problem = problem.with_limits(Limits(half - room, half + room))
        passes, best, work = replace(self, problem=problem, n_clusters=2), None, 0
        for _ in range(HALVES):
            found = passes.fresh(smallest_level(problem.n_nodes, 2))
            if found is None:
                continue
            work += found.work
            if best is not None and found.value > 0.0:
                better, other = (found, best) if found.beats(best) else (best, found)
                child = passes.recombine(better.labels, other.labels)
                work += child.work
                found = child if child.beats(better) else better
            best = found
        return None if best is None else replace(best, work=work)


def hierarchy_work(problem: Problem, steps: Sequence[Step]) -> int:
    """Return the edges visited to build a hierarchy, its levels' fixed costs counted as edges."""
    # Each level is made from the one above it, so the edges of the coarsest are not visited.
    stored = problem.graph.n_stored + sum(step.problem.graph.n_stored for step in steps[:-1])
    return (LEVEL_VISITS * stored if steps else 0) + LEVEL_EDGES * (len(steps) + 1)

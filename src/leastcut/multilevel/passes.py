"""Multilevel passes: solve a small problem that stands for a large one, and refine on the way up.

1. Coarsen: aggregate nodes and contract the aggregates, level by level (see ``coarsening``).
2. Solve the smallest level: clusters from agglomeration or bisection, or a spectral solution.
3. Uncoarsen: carry the labels up, and improve them by moves at every level.
4. V-cycle: coarsen inside the clusters of a partition, and go up again from that partition.
5. Recombination: coarsen inside the intersections of two partitions, and go up from the better.

:func:`fresh` is steps 1 to 3: :func:`descend`, then :func:`grow`, with which a :func:`spectral`
start can share the hierarchy. :func:`cycle` is step 4 and :func:`recombine` step 5. As neither of
these two cuts a cluster apart on the way down, and moves never raise the value, neither ends above
where it starts. All are functions of a problem and a generator. The constants were set on half of a
collection of meshes, circuits, networks and neighbor graphs.
"""

from __future__ import annotations

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


# -- from nothing


def fresh(
    problem: Problem,
    n_clusters: int,
    rng: np.random.Generator,
    smallest: int,
    *,
    coarsening: Coarsening = HEAVY_EDGES,
) -> Candidate | None:
    """Find a partition from nothing, in one pass down to about ``smallest`` nodes and up.

    Fewer are faster, more find finer clusters. None as for :func:`grow`.
    """
    steps = descend(problem, n_clusters, rng, smallest, coarsening)
    return grow(problem, steps, n_clusters, rng, coarsening)


def descend(
    problem: Problem,
    n_clusters: int,
    rng: np.random.Generator,
    smallest: int,
    coarsening: Coarsening,
    enough: int = 0,
) -> list[Step]:
    """Coarsen down to about ``smallest`` nodes, but to no fewer than ``n_clusters``.

    Ends early at a level of no more than ``enough`` nodes.
    """
    steps = build(problem, rng, max(smallest, n_clusters), coarsening=coarsening, enough=enough)
    while steps and steps[-1].problem.n_nodes < n_clusters:  # heavy nodes leave few for the rest
        steps.pop()
    return steps


def grow(
    problem: Problem,
    steps: list[Step],
    n_clusters: int,
    rng: np.random.Generator,
    coarsening: Coarsening,
) -> Candidate | None:
    """Partition the smallest level of a hierarchy, and go up from there.

    If the graph has at least ``n_clusters`` components, the partition cuts no edge. None if time
    was up before there was any.
    """
    low = steps[-1].problem if steps else problem
    # The level has as many components as the problem, as edges are never lost. If they are enough,
    # nothing need be cut and nothing can be improved.
    uncut = low.uncut_labels(n_clusters)
    if uncut is not None and low.allows(uncut):
        labels = uncut.astype(np.int32)
        for step in reversed(steps):
            labels = labels[step.parent]
        return Candidate(labels, 0.0, _hierarchy_work(problem, steps))
    found = _initial(low, n_clusters, rng, coarsening, problem.n_nodes)
    if found is None:
        if problem.limits is None or not steps or coarsening.is_late():
            return None
        # The nodes of this level are too heavy for the limits; those of the one above are lighter.
        return grow(problem, steps[:-1], n_clusters, rng, coarsening)
    return refined(problem, steps, found.labels, n_clusters, rng, found.work, coarsening)


def spectral(
    problem: Problem,
    steps: list[Step],
    n_clusters: int,
    rng: np.random.Generator,
    *,
    n_starts: int,
    most_work: float,
    coarsening: Coarsening = HEAVY_EDGES,
) -> Candidate | None:
    """Discretize rough eigenvectors on the finest level affordable, and go up from there.

    ``steps`` is a hierarchy with at least ``n_clusters`` nodes on its smallest level. None if
    ``most_work`` is not enough for any level.
    """
    late = coarsening.is_late
    found = rough_labels(
        problem, steps, n_clusters, rng, n_starts=n_starts, most_work=most_work, is_late=late
    )
    if found is None:
        return None
    labels, level, work = found
    if problem.cannot_link is not None:
        kept = respecting(steps[level - 1].problem if level else problem, labels, n_clusters)
        if kept is None:
            return None
        labels = kept
    return refined(problem, steps[:level], labels, n_clusters, rng, work, coarsening)


def _initial(
    problem: Problem,
    n_clusters: int,
    rng: np.random.Generator,
    coarsening: Coarsening,
    n_full: int,
) -> Candidate | None:
    """Partition a level by bisection, if weights are limited, or else agglomeration; refine it.

    None if time is up before, or if no partition is found that the constraints allow. ``n_full`` is
    the size of the problem that it is a level of.
    """
    steps: list[Step] = []
    work = 0
    if problem.limits is not None:
        start, work = bisected(problem, n_clusters, rng)
        labels = within_limits(problem, start, n_clusters)
        if labels is None:
            return None
    else:
        merged = agglomerate(problem, n_clusters, coarsening)
        if merged is None:
            return None
        steps, labels = merged, np.arange(n_clusters, dtype=np.int32)
        if problem.cannot_link is not None:
            found = start_of_merged(problem, steps, n_clusters)
            if found is None:
                return None
            steps, labels = found
    state = uncoarsen(problem, steps, labels, n_clusters, rng, coarsening, n_full)
    return Candidate(state.labels, state.value, state.work + work)


# -- from partitions


def cycle(
    problem: Problem,
    labels: np.ndarray,
    n_clusters: int,
    rng: np.random.Generator,
    *,
    coarsening: Coarsening = HEAVY_EDGES,
) -> Candidate:
    """Coarsen inside the clusters and refine on the way up again: a V-cycle, never worse."""
    steps = build(problem, rng, CYCLE_NODES * n_clusters, labels, coarsening)
    start = coarse_labels(steps, labels)
    return refined(problem, steps, start, n_clusters, rng, 0, coarsening, labels)


def recombine(
    problem: Problem,
    better: np.ndarray,
    other: np.ndarray,
    n_clusters: int,
    rng: np.random.Generator,
    *,
    regrow: bool = False,
    coarsening: Coarsening = HEAVY_EDGES,
) -> Candidate:
    """Coarsen inside the intersections of two partitions and refine from the better one.

    With ``regrow`` the intersections are also partitioned anew, and the better of the two starts
    is taken. Never worse than ``better``. The graph must have fewer components than clusters.
    """
    # 1. Number the intersections by the pair of their labels, in int64 as the product may need it.
    cells = better.astype(np.int64) * n_clusters + other
    if n_clusters > MOST_PRODUCT:
        cells = np.unique(cells, return_inverse=True)[1].reshape(-1)
    # 2. Coarsen inside them: both partitions are made of entire intersections.
    steps = build(problem, rng, CYCLE_NODES * n_clusters, cells.astype(np.int32), coarsening)
    low = steps[-1].problem if steps else problem
    # 3. Start from the better one, or from clusters that grow anew out of the intersections. Those
    #    come refined, so the better one is refined too before they are compared.
    labels, work = coarse_labels(steps, better), 0
    if regrow and not coarsening.is_late():
        start = State(low, labels, n_clusters)
        improve(start, rng, n_full=problem.n_nodes)
        labels, work = start.labels, start.work
        grown = _initial(low, n_clusters, rng, coarsening, problem.n_nodes)
        if grown is not None:
            labels = grown.labels if grown.value < start.value else labels
            work += grown.work
    # 4. Uncoarsen.
    return refined(problem, steps, labels, n_clusters, rng, work, coarsening, better)


# -- the way up


def refined(
    problem: Problem,
    steps: list[Step],
    labels: np.ndarray,
    n_clusters: int,
    rng: np.random.Generator,
    work: float = 0,
    coarsening: Coarsening = HEAVY_EDGES,
    before: np.ndarray | None = None,
) -> Candidate:
    """Go up from labels of the last level of a hierarchy, which it has cost ``work`` to find.

    ``before`` are refined labels of the problem that these were made from, if there are any.
    """
    start = labels.astype(np.int32)  # a copy, as going up changes it in place
    state = uncoarsen(problem, steps, start, n_clusters, rng, coarsening)
    state.refine_by_flows(before, coarsening.is_late)
    return Candidate(state.labels, state.value, state.work + int(work))


def uncoarsen(
    problem: Problem,
    steps: list[Step],
    labels: np.ndarray,
    n_clusters: int,
    rng: np.random.Generator,
    coarsening: Coarsening = HEAVY_EDGES,
    n_full: int | None = None,
) -> State:
    """Carry labels of the coarsest level up to the finest, improving at each; changes ``labels``.

    Between the coarsest and the finest level, only nodes of coarse border nodes are looked at to
    begin with: the others have all their neighbors in their own cluster. Once time is up, labels
    are carried up as they are. ``n_full`` is the size of the problem that ``problem`` is a level
    of, if it is one.
    """
    n_full = problem.n_nodes if n_full is None else n_full
    levels = [problem, *(step.problem for step in steps)]
    state = State(levels[-1], labels, n_clusters)
    if not coarsening.is_late():
        improve(state, rng, n_full=n_full)
    work = _hierarchy_work(problem, steps)
    # From the second coarsest level up; ``step`` leads from each to the one below it.
    for finer, step in zip(levels[-2::-1], steps[::-1], strict=True):
        late = coarsening.is_late()
        # None: every node, which is what the finest level gets.
        active = None
        if finer is not problem and not late:
            active = np.flatnonzero(state.on_border()[step.parent])
        work += state.work
        # A partition has the same value on every level, so the sums go over as they are.
        state = State(finer, state.labels[step.parent], n_clusters, same=state)
        if not late:
            improve(state, rng, active, n_full=n_full)
    # Values of candidates are compared, so the last one is taken from fresh sums.
    state.work += work
    state.measure()
    return state


def improve(
    state: State, rng: np.random.Generator, nodes: np.ndarray | None = None, *, n_full: int
) -> None:
    """Refine by local search from ``nodes`` (default: all); on small levels also by FM search.

    ``n_full`` is the size of the problem that the state is a level of.
    """
    state.local_search(nodes)
    if state.cannot_link is not None or state.limits is not None:
        for _ in range(EXCHANGE_ROUNDS):
            if state.exchange() == 0:
                break
            state.measure()
            state.local_search()
    if state.problem.n_nodes <= FM_NODES or n_full <= SMALL_NODES or state.limits is not None:
        seeds = np.flatnonzero(state.on_border()).astype(np.int32)
        # A chain uses nodes up for those after it, so no end of the graph should always be first.
        rng.shuffle(seeds)
        state.fm_search(seeds, PATIENCE, FM_EDGES * state.problem.graph.n_stored)
        # Chains make many moves and take many back: fresh sums are rid of their rounding.
        state.measure()


def _hierarchy_work(problem: Problem, steps: list[Step]) -> int:
    """Return the edges visited to build a hierarchy, its levels' fixed costs counted as edges."""
    # Each level is made from the one above it, so the edges of the coarsest are not visited.
    stored = problem.graph.n_stored + sum(step.problem.graph.n_stored for step in steps[:-1])
    return (LEVEL_VISITS * stored if steps else 0) + LEVEL_EDGES * (len(steps) + 1)


# -- halves of halves


def halved(
    problem: Problem, n_clusters: int, rng: np.random.Generator, coarsening: Coarsening
) -> tuple[np.ndarray, int] | None:
    """Return labels of clusters of about equal weight, and the edges visited to find them.

    Parts are cut in two by passes as long as their number of clusters is even, and then into all of
    them by one pass. Limits leave most room for that, and what a graph has of few long borders, as
    meshes do, is hardly found by passes that make all clusters at once: each of these borders is
    then a chain of many short ones. The limits may be passed slightly. None if time is up before.
    """
    limits = problem.limits
    assert limits is not None
    free = problem.with_limits(limits.of_level())

    def divide(nodes: np.ndarray, count: int) -> Sides | None:
        if coarsening.is_late():
            return None
        part, half = free.restrict(nodes), count // 2
        # 1. Cut it in two, if each side has nodes enough for its clusters.
        if count == 2 * half < nodes.size:
            found = _in_two(part, count, rng, coarsening)
            if found is not None and half <= np.count_nonzero(found.labels) <= nodes.size - half:
                return found.labels, (half, half), found.work
        # 2. Or into all of its clusters, which keep to the limits about.
        smallest = smallest_level(part.n_nodes, count)
        full = fresh(part, count, rng, smallest, coarsening=coarsening)
        labels, work = bisected(part, count, rng) if full is None else (full.labels, full.work)
        return labels, [1] * count, work

    return split_recursively(problem.n_nodes, n_clusters, divide)


def _in_two(
    part: Problem, count: int, rng: np.random.Generator, coarsening: Coarsening
) -> Candidate | None:
    """Cut a part in halves, each of half of ``count`` clusters, by passes and recombination."""
    assert part.limits is not None
    half = 0.5 * float(part.node_weights.sum())
    room = slack(part.node_weights, part.limits.heaviest, count, half)
    part = part.with_limits(Limits(half - room, half + room))
    smallest, best, work = smallest_level(part.n_nodes, 2), None, 0
    for _ in range(HALVES):
        found = fresh(part, 2, rng, smallest, coarsening=coarsening)
        if found is None:
            continue
        work += found.work
        if best is not None and found.value > 0.0:
            better, other = (found, best) if found.beats(best) else (best, found)
            joined = recombine(part, better.labels, other.labels, 2, rng, coarsening=coarsening)
            work += joined.work
            found = joined if joined.beats(better) else better
        best = found
    return None if best is None else replace(best, work=work)

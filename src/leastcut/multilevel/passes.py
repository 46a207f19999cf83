"""Multilevel passes: solve a small problem that stands for a large one, and refine on the way up.

1. Coarsen: gather nodes and contract the groups, level by level (see ``levels``).
2. Solve the smallest level: clusters grown by agglomeration, or a spectral solution.
3. Uncoarsen: carry the labels up, and improve them by moves at every level.
4. V-cycle: coarsen inside the clusters of a partition, and go up again from that partition.
5. Recombination: coarsen inside the intersections of two partitions, and go up from the better.

:func:`fresh` is steps 1 to 3: :func:`descend`, then :func:`grow`, with which a :func:`spectral`
start can share the hierarchy. :func:`cycle` is step 4 and :func:`recombine` step 5. As neither of
these two cuts a cluster apart on the way down, and moves never raise the value, neither ends above
where it starts. All are functions of a problem and a generator. The constants were set on half of a
collection of meshes, circuits, networks and neighbour graphs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from leastcut.multilevel.balance import balanced_start
from leastcut.multilevel.borders import straighten
from leastcut.multilevel.levels import (
    Coarsening,
    Step,
    agglomerate,
    build,
    coarse_labels,
    never,
)
from leastcut.multilevel.refinement import EXCHANGE_EDGES, State
from leastcut.multilevel.repair import respecting, start_of_merged
from leastcut.multilevel.spectral_start import rough_labels
from leastcut.problem import Problem

# Levels up to the first size, and all levels of problems up to the second, are also refined by
# chains of moves; elsewhere they cost more than passes that find as much.
CLIMB_NODES, SMALL_NODES = 200, 1000
# Moves without a new best after which a chain ends: longer ones step over higher walls.
PATIENCE = 15
# A round of chains may visit this many times the stored edges; hardly any comes near it.
CLIMB_EDGES = 20
# Rounds of exchanges and moves on a level, where moves are barred; most levels need two.
EXCHANGE_ROUNDS = 4
# V-cycles and recombinations coarsen to about this many nodes per cluster: fewer and whole groups
# of nodes change sides, more and the level is faster to polish than to make.
CYCLE_NODES = 4
# Edges that could be visited in the time that a level takes however small it is.
LEVEL_EDGES = 10_000
# Times that making a level visits its edges: once to gather nodes, twice to contract them.
LEVEL_VISITS = 3
# A value counts as smaller below this fraction of the other; the rest is rounding.
SMALLER = 1.0 - 1e-9
MOST_PRODUCT = 46_340  # most clusters for which the product of two labels fits an int32


@dataclass(frozen=True, eq=False)
class Trial:
    """A partition found by a pass, its cut value, and the edges visited to find it.

    Work counts the way down, the start on the smallest level and the way up; for a spectral start,
    as many edges as could have been visited meanwhile.
    """

    labels: np.ndarray
    value: float
    work: int

    def beats(self, other: Trial | None) -> bool:
        """Whether its value is smaller by more than rounding."""
        return other is None or self.value < SMALLER * other.value


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


def fresh(
    problem: Problem,
    n_clusters: int,
    rng: np.random.Generator,
    smallest: int,
    *,
    coarsening: Coarsening | None = None,
) -> Trial | None:
    """Find a partition from nothing, in one pass down to about ``smallest`` nodes and up.

    Fewer are faster, more find finer clusters. None as for :func:`grow`.
    """
    coarsening = coarsening or Coarsening()
    steps = descend(problem, n_clusters, rng, smallest, coarsening)
    return grow(problem, steps, n_clusters, rng, coarsening)


def grow(
    problem: Problem,
    steps: list[Step],
    n_clusters: int,
    rng: np.random.Generator,
    coarsening: Coarsening,
) -> Trial | None:
    """Agglomerate the smallest level of a hierarchy, and go up from there.

    When the graph has at least ``n_clusters`` components, the partition cuts no edge. None where
    time was up before there was any.
    """
    low = steps[-1].problem if steps else problem
    # The level has the components of the whole, as edges are never lost. Where they are enough,
    # nothing need be cut and nothing can be improved.
    uncut = low.uncut_labels(n_clusters)
    if uncut is not None and low.allows(uncut):
        labels = uncut.astype(np.int32)
        for step in reversed(steps):
            labels = labels[step.parent]
        return Trial(labels, 0.0, _hierarchy_work(problem, steps))
    found = _grown(low, n_clusters, rng, coarsening, problem.n_nodes)
    if found is None:
        if problem.limits is None or not steps or coarsening.is_late():
            return None
        # The nodes of this level are too heavy for the limits; those of the one above are lighter.
        return grow(problem, steps[:-1], n_clusters, rng, coarsening)
    state = uncoarsen(problem, steps, found.labels, n_clusters, rng, coarsening.is_late)
    _straighten(state, coarsening.is_late)
    return Trial(state.labels, state.value, state.work + found.work)


def spectral(
    problem: Problem,
    steps: list[Step],
    n_clusters: int,
    rng: np.random.Generator,
    *,
    n_starts: int,
    most_work: float,
    is_late: Callable[[], bool] = never,
) -> Trial | None:
    """Discretize rough eigenvectors on the finest level affordable, and go up from there.

    ``steps`` is a hierarchy with at least ``n_clusters`` nodes on its smallest level. None where
    ``most_work`` is not enough for any level.
    """
    found = rough_labels(
        problem, steps, n_clusters, rng, n_starts=n_starts, most_work=most_work, is_late=is_late
    )
    if found is None:
        return None
    labels, level, work = found
    if problem.cannot_link is not None:
        kept = respecting(steps[level - 1].problem if level else problem, labels, n_clusters)
        if kept is None:
            return None
        labels = kept
    return refined(problem, steps[:level], labels, n_clusters, rng, work, is_late)


def refined(
    problem: Problem,
    steps: list[Step],
    labels: np.ndarray,
    n_clusters: int,
    rng: np.random.Generator,
    work: float,
    is_late: Callable[[], bool] = never,
) -> Trial:
    """Go up from labels of the last level of a hierarchy, which it has cost ``work`` to find."""
    start = labels.astype(np.int32)
    state = uncoarsen(problem, steps, start, n_clusters, rng, is_late)
    _straighten(state, is_late)
    return Trial(state.labels, state.value, state.work + int(work))


def cycle(
    problem: Problem,
    labels: np.ndarray,
    n_clusters: int,
    rng: np.random.Generator,
    *,
    coarsening: Coarsening | None = None,
) -> Trial:
    """Coarsen inside the clusters and refine on the way up again: a V-cycle, never worse."""
    # Down inside the clusters, so the partition itself is one of the coarsest level. Labels are
    # copied on the way, as going up changes them in place.
    coarsening = coarsening or Coarsening()
    steps = build(problem, rng, CYCLE_NODES * n_clusters, labels, coarsening)
    start = coarse_labels(steps, labels)
    state = uncoarsen(problem, steps, start, n_clusters, rng, coarsening.is_late)
    _straighten(state, coarsening.is_late, labels)
    return Trial(state.labels, state.value, state.work)


def recombine(
    problem: Problem,
    better: np.ndarray,
    other: np.ndarray,
    n_clusters: int,
    rng: np.random.Generator,
    *,
    regrow: bool = False,
    coarsening: Coarsening | None = None,
) -> Trial:
    """Coarsen inside the intersections of two partitions and refine from the better one.

    With ``regrow`` the intersections are also agglomerated anew, and the better of the two starts
    is taken. Never worse than ``better``. The graph must have fewer components than clusters.
    """
    coarsening = coarsening or Coarsening()
    # 1. Number the intersections by the pair of their labels, in int64 as the product may need it.
    cells = better.astype(np.int64) * n_clusters + other
    if n_clusters > MOST_PRODUCT:
        cells = np.unique(cells, return_inverse=True)[1].reshape(-1)
    # 2. Coarsen inside them: both partitions are made of whole intersections.
    steps = build(problem, rng, CYCLE_NODES * n_clusters, cells.astype(np.int32), coarsening)
    low = steps[-1].problem if steps else problem
    # 3. Start from the better one, or from clusters that grow anew out of the intersections. Those
    #    come refined, so the better one is refined too before they are compared.
    labels, work = coarse_labels(steps, better), 0
    if regrow and not coarsening.is_late():
        start = State(low, labels, n_clusters)
        improve(start, rng, n_whole=problem.n_nodes)
        labels, work = start.labels, start.work
        grown = _grown(low, n_clusters, rng, coarsening, problem.n_nodes)
        if grown is not None:
            labels = grown.labels if grown.value < start.value else labels
            work += grown.work
    # 4. Uncoarsen.
    state = uncoarsen(problem, steps, labels, n_clusters, rng, coarsening.is_late)
    _straighten(state, coarsening.is_late, better)
    return Trial(state.labels, state.value, state.work + work)


def improve(
    state: State, rng: np.random.Generator, nodes: np.ndarray | None = None, *, n_whole: int
) -> None:
    """Settle, starting at ``nodes`` (default: all); on small levels also climb from the border.

    ``n_whole`` is the size of the problem that the state is a level of.
    """
    state.settle(nodes)
    if state.cannot_link is not None or state.limits is not None:
        for _ in range(EXCHANGE_ROUNDS):
            if state.exchange(EXCHANGE_EDGES * state.problem.graph.n_stored) == 0:
                break
            state.measure()
            state.settle()
    if state.problem.n_nodes <= CLIMB_NODES or n_whole <= SMALL_NODES or state.limits is not None:
        seeds = np.flatnonzero(state.on_border()).astype(np.int32)
        # A chain uses nodes up for those after it, so no end of the graph should always be first.
        rng.shuffle(seeds)
        state.climb(seeds, PATIENCE, CLIMB_EDGES * state.problem.graph.n_stored)
        # Chains make many moves and take many back: fresh sums are rid of their rounding.
        state.measure()


def uncoarsen(
    problem: Problem,
    steps: list[Step],
    labels: np.ndarray,
    n_clusters: int,
    rng: np.random.Generator,
    is_late: Callable[[], bool] = never,
    n_whole: int | None = None,
) -> State:
    """Carry labels of the coarsest level up to the finest, improving at each; changes ``labels``.

    Between the coarsest and the finest level, only nodes of coarse border nodes are looked at to
    begin with: the others have all their neighbours in their own cluster. When ``is_late`` says so,
    the labels are carried up as they are. ``n_whole`` is the size of the problem that ``problem``
    is a level of, if it is one.
    """
    n_whole = problem.n_nodes if n_whole is None else n_whole
    levels = [problem, *(step.problem for step in steps)]
    state = State(levels[-1], labels, n_clusters)
    if not is_late():
        improve(state, rng, n_whole=n_whole)
    work = _hierarchy_work(problem, steps)
    # From the second coarsest level up; ``step`` leads from each to the one below it.
    for finer, step in zip(levels[-2::-1], steps[::-1], strict=True):
        late = is_late()
        # None: every node, which is what the finest level gets.
        active = None
        if finer is not problem and not late:
            active = np.flatnonzero(state.on_border()[step.parent])
        work += state.work
        # A partition has the same value on every level, so the sums go over as they are.
        state = State(finer, state.labels[step.parent], n_clusters, same=state)
        if not late:
            improve(state, rng, active, n_whole=n_whole)
    # Values of trials are compared, so the last one is taken from fresh sums.
    state.work += work
    state.measure()
    return state


def _straighten(
    state: State, is_late: Callable[[], bool], before: np.ndarray | None = None
) -> None:
    """Where clusters keep to limits, move borders that single moves cannot; never worse."""
    if state.limits is None or is_late():
        return
    straighten(state, before, is_late)


def _grown(
    problem: Problem,
    n_clusters: int,
    rng: np.random.Generator,
    coarsening: Coarsening,
    n_whole: int,
) -> Trial | None:
    """Agglomerate a level to ``n_clusters`` nodes, each a cluster, and refine on the way up.

    None where time is up before there are so few nodes. ``n_whole`` is the size of the problem that
    it is a level of.
    """
    if problem.limits is not None:
        kept, work = balanced_start(problem, n_clusters, rng)
        if kept is None:
            return None
        state = uncoarsen(problem, [], kept, n_clusters, rng, coarsening.is_late, n_whole)
        return Trial(state.labels, state.value, state.work + work)
    steps = agglomerate(problem, n_clusters, coarsening)
    if steps is None:
        return None
    labels = np.arange(n_clusters, dtype=np.int32)
    if problem.cannot_link is not None:
        start = start_of_merged(problem, steps, n_clusters)
        if start is None:
            return None
        steps, labels = start
    state = uncoarsen(problem, steps, labels, n_clusters, rng, coarsening.is_late, n_whole)
    return Trial(state.labels, state.value, state.work)


def _hierarchy_work(problem: Problem, steps: list[Step]) -> int:
    """Return the edges visited to build a hierarchy, its levels' fixed costs counted as edges."""
    # Each level is made from the one above it, so the edges of the coarsest are not visited.
    stored = problem.graph.n_stored + sum(step.problem.graph.n_stored for step in steps[:-1])
    return (LEVEL_VISITS * stored if steps else 0) + LEVEL_EDGES * (len(steps) + 1)

"""The search for the smallest cut of an anchor graph, on any workers.

1. A start: the anchors' own graph is cut, and points follow their anchors; or points are cut in
   groups, those of one nearest anchor, and follow their group.
2. Exact moves of all points (:func:`descend`), until none makes the cut smaller.
3. From the second start on, the result is recombined with the best so far, unless it is the same:
   points that are together in both, and have one nearest anchor, become one node. The cut of this
   graph is exactly that of its points, and the search on it begins with both, so that it ends at or
   below the better of them; moves follow.

An effort is a list of starts, and each begins with the list of the one before it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from leastcut.anchors.blocks import Block, Workers
from leastcut.anchors.checkpoint import FolderCheckpoint
from leastcut.anchors.problem import (
    AnchorProblem,
    Entries,
    Table,
    contracted,
    count_products,
    entries_of,
    follow,
    groups_of,
    inverse_of,
    label_groups,
    labels_of_keys,
)
from leastcut.budget import Budget
from leastcut.kernels.anchors import sweep_points
from leastcut.multilevel.efforts import Progress, SearchOptions
from leastcut.multilevel.search import partition_problem
from leastcut.problem import Problem
from leastcut.seeds import as_generator

MOST_PRODUCTS = 3 * 10**8
"""Products that contracting groups may take: some seconds. A start that takes more is left out."""

VISIBLE = 1e-12
"""Fraction of the cut value that a move must gain, far above the rounding of sums."""


class Start(NamedTuple):
    """How a search begins: of anchors or of points in groups, cut with some effort and seed.

    Or of initial ``labels``, as the workers keep them.
    """

    stage: str
    of: str
    effort: str
    seed: int
    labels: list[Any] | None = None


STARTS: dict[str, tuple[Start, ...]] = {
    "fast": (Start("fast", "anchors", "fast", 0),),
    "auto": (Start("auto", "points", "fast", 0),),
    "balanced": (
        Start("balanced", "anchors", "balanced", 1),
        Start("balanced", "points", "balanced", 1),
    ),
    "thorough": tuple(
        Start("thorough", of, "thorough", seed) for seed in (2, 3) for of in ("anchors", "points")
    ),
}
"""What every effort adds to the one before it."""


class Found(NamedTuple):
    """Labels as the workers keep them, their table, and the rounds of moves that it took."""

    kept: list[Any]
    table: Table
    n_rounds: int


def starts_of(effort: str) -> list[Start]:
    """Return the starts of an effort, in order."""
    names = list(STARTS)
    return [start for name in names[: names.index(effort) + 1] for start in STARTS[name]]


def search_anchors(
    problem: AnchorProblem,
    n_clusters: int,
    starts: Sequence[list[Any]],
    options: SearchOptions,
    budget: Budget,
) -> Found:
    """Search for the smallest cut of all points; ``starts`` are labels as the workers keep them.

    At least the first start and a round of moves are made, whatever the budget. The state is saved
    after every round if the problem has a place for it and the call can be repeated.
    """
    seed = int(as_generator(options.random_state).integers(2**31))
    is_repeatable = not starts and budget.time_limit is None and options.random_state is not None
    checkpoint = None
    if problem.checkpoint is not None and is_repeatable:
        checkpoint = problem.checkpoint(n_clusters, options.effort, seed)
    search = _Search(problem, n_clusters, seed, budget, checkpoint)
    initial = [Start("fast", "labels", "fast", 0, list(labels)) for labels in starts]
    return search.run([*initial, *starts_of(options.effort)])


class _State(NamedTuple):
    """How far a search is: all that its rest depends on.

    The step ``number`` counts initial labels and the starts after them. The ``phase`` that comes
    next in it is "start", "moves", "recombine" or "last moves". ``best`` and ``current`` are labels
    as the workers keep them: the best of the steps before, and those of this one.
    """

    number: int = 0
    phase: str = "start"
    best: list[Any] | None = None
    current: list[Any] | None = None


class _Search:
    """One search, step by step."""

    def __init__(
        self,
        problem: AnchorProblem,
        n_clusters: int,
        seed: int,
        budget: Budget,
        checkpoint: FolderCheckpoint | None,
    ) -> None:
        self._problem, self._n_clusters, self._seed = problem, n_clusters, seed
        self._workers, self._masses = problem.workers, problem.masses
        self._budget, self._checkpoint = budget, checkpoint
        self._value, self._n_rounds = math.inf, 0

    def run(self, steps: Sequence[Start]) -> Found:
        """Take one step after another, from where an earlier search was ended."""
        state = self._resumed()
        try:
            while state.number < len(steps) and not (
                self._budget.is_exhausted and state.best is not None
            ):
                state = self._next(state, steps)
                self._save(state)
        except KeyboardInterrupt:
            # What a step had begun with is a partition as well.
            if self._budget.on_interrupt == "raise" or (
                state.best is None and state.current is None
            ):
                raise
        kept = state.best if state.best is not None else state.current
        assert kept is not None  # there is a step, and the first is always taken
        return Found(kept, self._table(kept), max(1, self._n_rounds))

    def _next(self, state: _State, steps: Sequence[Start]) -> _State:
        """Return the state after the phase that comes next."""
        step, current = steps[state.number], state.current
        if state.phase == "start":
            current = self._begun(step)
            if current is None:  # a start that would take too long
                return state._replace(number=state.number + 1)
            return state._replace(phase="moves", current=current)
        assert current is not None  # whatever comes after the start has something to go on with
        if state.phase == "recombine":
            current = self._recombined(state, step.effort)
            return state._replace(phase="last moves", current=current)
        current, table = self._descended(state, current, step.stage, state.number / len(steps))
        if state.phase == "moves" and state.best is not None:
            if self._are_alike(state.best, table):
                return _State(state.number + 1, "start", state.best, None)
            return state._replace(phase="recombine", current=current)
        self._value = table.value
        return _State(state.number + 1, "start", current, None)

    def _table(self, kept: Sequence[Any]) -> Table:
        return self._problem.table(kept, self._n_clusters)

    # -- the phases

    def _begun(self, start: Start) -> list[Any] | None:
        """Cut anchors, or points in groups, and let points follow."""
        workers, c = self._workers, self._n_clusters
        if start.labels is not None:
            return start.labels
        if start.of == "anchors":
            label_of_anchor = np.zeros(self._masses.size, dtype=np.int32)
            label_of_anchor[self._masses > 0] = self._cut(
                self._problem.core, start.effort, start.seed, ()
            )
            kept, _ = workers.run("leastcut-start", follow, None, label_of_anchor, c)
            if self._table(kept).sizes.min() > 0:
                return kept
            # An anchor that no point follows was a cluster by itself: groups always have points.
            return self._from_groups(None, start.effort, start.seed, at_any_cost=True)
        return self._from_groups(None, start.effort, start.seed)

    def _recombined(self, state: _State, effort: str) -> list[Any]:
        """Cut points in groups that are together in both, at or below the better of them."""
        pairs = list(zip(state.best or [], state.current or [], strict=True))
        found = self._from_groups(pairs, effort, state.number)
        tables = [
            (self._table(kept).value, number, kept)
            for number, kept in enumerate((state.best, state.current, found))
            if kept is not None
        ]
        return list(min(tables)[2])

    def _are_alike(self, best: list[Any], table: Table) -> bool:
        """Whether the clusters of a table are those of the best so far, in whatever order."""
        known = self._table(best)
        return {column.tobytes() for column in known.weights.T} == {
            column.tobytes() for column in table.weights.T
        }

    def _from_groups(
        self, pairs: list[Any] | None, effort: str, seed: int, at_any_cost: bool = False
    ) -> list[Any] | None:
        """Cut points in groups; return None if these are too few, or it would take too long."""
        workers, masses, c = self._workers, self._masses, self._n_clusters
        groups = groups_of(workers, masses, pairs, c)
        n_groups = groups.keys.size
        if not at_any_cost and (n_groups < c or count_products(groups.weights) > MOST_PRODUCTS):
            return None
        if n_groups < c:
            raise ValueError(
                f"n_clusters={c} is more than the {n_groups} anchors that any point is "
                "nearest to; pass fewer, or more n_anchors to anchor_graph."
            )
        problem = contracted(groups, masses)
        starts = labels_of_keys(groups.keys, 0 if pairs is None else 2, c)
        labels = self._cut(problem, effort, seed, starts)
        return workers.run("leastcut-groups", label_groups, pairs, groups.keys, labels, c)[0]

    def _cut(
        self, problem: Problem, effort: str, seed: int, starts: Sequence[np.ndarray]
    ) -> np.ndarray:
        left = self._budget.seconds_left
        limit = None if math.isinf(left) else max(0.0, left)
        arguments = problem, self._n_clusters, effort, self._seed + seed, starts, limit
        found: np.ndarray = self._workers.once(
            "leastcut-start", cut_small, *arguments, self._workers.n_threads
        )
        return found

    def _descended(
        self, state: _State, current: list[Any], stage: str, fraction: float
    ) -> tuple[list[Any], Table]:
        def go_on(kept: list[Any], table: Table) -> bool:
            self._n_rounds += 1
            self._save(state._replace(current=kept))
            value = min(self._value, table.value)
            self._budget.report(Progress(stage, fraction, value, self._budget.seconds))
            return not self._budget.is_exhausted

        found = descend(self._workers, current, self._table(current), go_on=go_on)
        return found.kept, found.table

    # -- where it is left

    def _save(self, state: _State) -> None:
        # What comes after a search was stopped is not what it would have come to.
        if self._checkpoint is None or self._budget.is_exhausted:
            return
        facts = {"number": state.number, "phase": state.phase, "n_rounds": self._n_rounds}
        arrays = {"best": state.best, "current": state.current}
        self._checkpoint.save(facts, {k: v for k, v in arrays.items() if v is not None})

    def _resumed(self) -> _State:
        found = None if self._checkpoint is None else self._checkpoint.load()
        if found is None:
            return _State()
        facts, arrays = found
        self._n_rounds = int(facts["n_rounds"])
        best, current = arrays.get("best"), arrays.get("current")
        if best is not None:
            self._value = self._table(best).value
        return _State(int(facts["number"]), str(facts["phase"]), best, current)


def cut_small(
    problem: Problem,
    n_clusters: int,
    effort: str,
    seed: int,
    starts: Sequence[np.ndarray],
    time_limit: float | None,
    n_threads: int,
) -> np.ndarray:
    """Return labels of a graph of the size of the anchors."""
    found = partition_problem(
        problem,
        n_clusters,
        effort=effort,
        starts=starts,
        budget=Budget(time_limit),
        lower_bound=False,
        random_state=seed,
        n_jobs=n_threads,
    )
    return np.asarray(found.labels)


# -- moves


class Descended(NamedTuple):
    """Labels as the workers keep them, their table, rounds, and whether no move is left."""

    kept: list[Any]
    table: Table
    n_rounds: int
    converged: bool


def descend(
    workers: Workers,
    kept: Sequence[Any],
    table: Table,
    *,
    go_on: Callable[[list[Any], Table], bool] = lambda kept, table: True,
) -> Descended:
    """Move points until no single move makes the cut smaller, and never to a larger one.

    In a round every block moves its points against the table as it was when the round began, and
    returns how that changes the table. Each move makes the cut smaller by itself; those that
    several blocks make at the same time may together make it larger. The exact value decides:

    1. All changes are taken if the value falls; else half of them, then one block after another,
       each if the value falls.
    2. A block takes its moves to be made by points like its own in all others as well, which is
       what happens if blocks are alike. A round in which nothing could be taken, or in which points
       of a small cluster were held back, is made again without that: then the moves of any block
       alone make the value fall.

    Changes are exact sums: who works on which block, and when, makes no difference. ``go_on`` is
    asked with labels and table after every round that made the cut smaller.
    """
    kept, n_rounds = list(kept), 0
    n_points = sum(workers.sizes)
    alike = len(workers.sizes) > 1
    while True:
        before = table.value
        shared = table.weights, table.masses, n_points if alike else 0, before
        moved, changes = workers.run("leastcut-sweep", sweep_block, kept, *shared)
        n_rounds += 1
        movers = {b: change for b, change in enumerate(changes) if change is not None}
        if not movers:
            if alike and _are_held(workers.sizes, table):
                alike = False
                continue
            return Descended(kept, table, n_rounds, True)
        taken, table = _taken(table, before, movers)
        for b in taken:
            kept[b] = moved[b]
        if not taken:
            if not alike:
                # Only rounding stands between a move that gains and a value that does not fall.
                return Descended(kept, table, n_rounds, True)
            alike = False
            continue
        alike = len(workers.sizes) > 1
        if not go_on(kept, table):
            return Descended(kept, table, n_rounds, False)


def _are_held(sizes: Sequence[int], table: Table) -> bool:
    """Whether a cluster is so small that no point leaves it if all blocks move alike."""
    return bool(table.sizes.min() <= sum(sizes) / min(size for size in sizes if size))


def _taken(table: Table, value: float, changes: dict[int, Entries]) -> tuple[list[int], Table]:
    """Return the blocks whose changes are taken, and the table with them."""
    # 1. All of them, or half.
    for some in (list(changes), list(changes)[::2]):
        found = table.with_changes([changes[b] for b in some])
        if found.value < value:
            return some, found
    # 2. One by one.
    taken = []
    for b, change in changes.items():
        found = table.with_changes([change])
        found_value = found.value
        if found_value < value:
            taken.append(b)
            table, value = found, found_value
    return taken, table


def sweep_block(
    block: Block,
    labels: np.ndarray,
    weights: np.ndarray,
    masses: np.ndarray,
    n_points: int,
    value: float,
) -> tuple[np.ndarray, Entries | None]:
    """Move the points of a block; keep their new labels and return what changes in the table.

    ``weights`` is the table of all points and ``value`` its cut value; ``n_points`` is the number
    of points in all blocks if these are taken to move alike, else 0.
    """
    table = Table(weights, masses)
    labels, change = labels.copy(), np.zeros_like(weights)
    if block.n_points == 0:
        return labels, None
    sums = weights.copy(), table.boundaries, table.sizes
    moves = sweep_points(
        block.anchors,
        block.weights,
        labels,
        inverse_of(masses),
        sums,
        n_points / block.n_points if n_points else 1.0,
        VISIBLE * value,
        change,
        np.empty(weights.shape[1]),
    )
    return labels, entries_of(change) if moves else None

"""The search for the smallest cut of an anchor graph, on any workers.

1. A start: partition the graph of anchors, and label points by their anchors; or partition groups
   of points with the same nearest anchor.
2. A local search: exact moves of points (:func:`local_search`), until none decreases the cut.
3. From the second start on, recombine the result with the best so far, unless they are equal:
   points in the same cluster in both, with the same nearest anchor, become one node. The cuts of
   this graph are exactly those of its points. The search on it starts with both partitions, so that
   its result is no worse than the better of them; a local search follows.

An effort is a list of starts, which begins with the list of the previous effort.
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
    groups_of,
    inverse_of,
    label_by_anchors,
    label_by_groups,
    labels_of_keys,
)
from leastcut.budget import Budget
from leastcut.kernels.anchors import sweep_points
from leastcut.multilevel.efforts import Progress, SearchOptions
from leastcut.multilevel.search import partition_problem
from leastcut.problem import Problem
from leastcut.seeds import as_generator

MOST_PRODUCTS = 3 * 10**8
"""Maximum number of products for contracting groups, some seconds. Larger starts are skipped."""

MIN_DECREASE = 1e-12
"""Minimum decrease by a move, as a fraction of the cut value, far above the rounding of sums."""


class Start(NamedTuple):
    """A start of a search: the partition of "anchors" or groups of "points", with effort and seed.

    Or initial ``labels``, in the form that the workers keep.
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
"""The starts that every effort adds to the previous one."""


class SearchResult(NamedTuple):
    """Labels of every block, their table, and the number of rounds of local search."""

    labels: list[Any]
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
) -> SearchResult:
    """Search for the smallest cut of all points; ``starts`` are initial labels of every block.

    The first start and one round of local search run with any budget. The state is saved after
    every round if the problem has a checkpoint and the call is reproducible.
    """
    seed = int(as_generator(options.random_state).integers(2**31))
    is_reproducible = not starts and budget.time_limit is None and options.random_state is not None
    checkpoint = None
    if problem.checkpoint is not None and is_reproducible:
        checkpoint = problem.checkpoint(n_clusters, options.effort, seed)
    search = _Search(problem, n_clusters, seed, budget, checkpoint)
    initial = [Start("fast", "labels", "fast", 0, list(labels)) for labels in starts]
    return search.run([*initial, *starts_of(options.effort)])


class _State(NamedTuple):
    """The state of a search, which determines its remaining steps.

    ``number`` is the step, counted over initial labels and starts. ``phase`` is its next phase,
    "start", "moves", "recombine" or "last moves". ``best`` and ``current`` are labels of every
    block: the best of the previous steps, and those of this step.
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

    def run(self, steps: Sequence[Start]) -> SearchResult:
        """Run all steps, starting from a checkpoint if there is one."""
        state = self._resumed()
        try:
            while state.number < len(steps) and not (
                self._budget.is_exhausted and state.best is not None
            ):
                state = self._next(state, steps)
                self._save(state)
        except KeyboardInterrupt:
            # The start of a step is a valid partition, too.
            if self._budget.on_interrupt == "raise" or (
                state.best is None and state.current is None
            ):
                raise
        labels = state.best if state.best is not None else state.current
        assert labels is not None  # the first step always runs
        return SearchResult(labels, self._table(labels), max(1, self._n_rounds))

    def _next(self, state: _State, steps: Sequence[Start]) -> _State:
        """Run the next phase and return the new state."""
        step, current = steps[state.number], state.current
        if state.phase == "start":
            current = self._start(step)
            if current is None:  # the start would take too long
                return state._replace(number=state.number + 1)
            return state._replace(phase="moves", current=current)
        assert current is not None  # set by the phase "start"
        if state.phase == "recombine":
            current = self._recombine(state, step.effort)
            return state._replace(phase="last moves", current=current)
        current, table = self._improve(state, current, step.stage, state.number / len(steps))
        if state.phase == "moves" and state.best is not None:
            if self._are_equal(state.best, table):
                return _State(state.number + 1, "start", state.best, None)
            return state._replace(phase="recombine", current=current)
        self._value = table.value
        return _State(state.number + 1, "start", current, None)

    def _table(self, labels: Sequence[Any]) -> Table:
        return self._problem.table(labels, self._n_clusters)

    # -- the phases

    def _start(self, start: Start) -> list[Any] | None:
        """Partition the anchors, or groups of points, and label the points."""
        workers, c = self._workers, self._n_clusters
        if start.labels is not None:
            return start.labels
        if start.of == "anchors":
            label_of_anchor = np.zeros(self._masses.size, dtype=np.int32)
            label_of_anchor[self._masses > 0] = self._partition(
                self._problem.core, start.effort, start.seed, ()
            )
            labels, _ = workers.run("leastcut-start", label_by_anchors, None, label_of_anchor, c)
            if self._table(labels).sizes.min() > 0:
                return labels
            # A cluster of anchors has no points, which cannot happen for groups.
            return self._partition_groups(None, start.effort, start.seed, is_required=True)
        return self._partition_groups(None, start.effort, start.seed)

    def _recombine(self, state: _State, effort: str) -> list[Any]:
        """Partition groups of points that are together in both; keep the best of all three."""
        pairs = list(zip(state.best or [], state.current or [], strict=True))
        recombined = self._partition_groups(pairs, effort, state.number)
        tables = [
            (self._table(labels).value, number, labels)
            for number, labels in enumerate((state.best, state.current, recombined))
            if labels is not None
        ]
        return list(min(tables)[2])

    def _are_equal(self, best: list[Any], table: Table) -> bool:
        """Return whether the clusters of a table are those of the best labels, in any order."""
        known = self._table(best)
        return {column.tobytes() for column in known.weights.T} == {
            column.tobytes() for column in table.weights.T
        }

    def _partition_groups(
        self, pairs: list[Any] | None, effort: str, seed: int, is_required: bool = False
    ) -> list[Any] | None:
        """Partition groups of points; return None if there are too few groups or too much work."""
        workers, masses, c = self._workers, self._masses, self._n_clusters
        groups = groups_of(workers, masses, pairs, c)
        n_groups = groups.keys.size
        if not is_required and (n_groups < c or count_products(groups.weights) > MOST_PRODUCTS):
            return None
        if n_groups < c:
            raise ValueError(
                f"n_clusters={c} is more than the {n_groups} anchors that are the nearest of a "
                "point; pass fewer clusters, or a larger n_anchors to anchor_graph."
            )
        problem = contracted(groups, masses)
        starts = labels_of_keys(groups.keys, 0 if pairs is None else 2, c)
        labels = self._partition(problem, effort, seed, starts)
        return workers.run("leastcut-groups", label_by_groups, pairs, groups.keys, labels, c)[0]

    def _partition(
        self, problem: Problem, effort: str, seed: int, starts: Sequence[np.ndarray]
    ) -> np.ndarray:
        left = self._budget.seconds_left
        limit = None if math.isinf(left) else max(0.0, left)
        arguments = problem, self._n_clusters, effort, self._seed + seed, starts, limit
        labels: np.ndarray = self._workers.once(
            "leastcut-start", partition_labels, *arguments, self._workers.n_threads
        )
        return labels

    def _improve(
        self, state: _State, current: list[Any], stage: str, fraction: float
    ) -> tuple[list[Any], Table]:
        """Run a local search, and report and save every round."""

        def should_continue(labels: list[Any], table: Table) -> bool:
            self._n_rounds += 1
            self._save(state._replace(current=labels))
            value = min(self._value, table.value)
            self._budget.report(Progress(stage, fraction, value, self._budget.seconds))
            return not self._budget.is_exhausted

        result = local_search(
            self._workers, current, self._table(current), should_continue=should_continue
        )
        return result.labels, result.table

    # -- the checkpoint

    def _save(self, state: _State) -> None:
        # The state after a search was stopped is not reproducible.
        if self._checkpoint is None or self._budget.is_exhausted:
            return
        facts = {"number": state.number, "phase": state.phase, "n_rounds": self._n_rounds}
        arrays = {"best": state.best, "current": state.current}
        self._checkpoint.save(facts, {k: v for k, v in arrays.items() if v is not None})

    def _resumed(self) -> _State:
        saved = None if self._checkpoint is None else self._checkpoint.load()
        if saved is None:
            return _State()
        facts, arrays = saved
        self._n_rounds = int(facts["n_rounds"])
        best, current = arrays.get("best"), arrays.get("current")
        if best is not None:
            self._value = self._table(best).value
        return _State(int(facts["number"]), str(facts["phase"]), best, current)


def partition_labels(
    problem: Problem,
    n_clusters: int,
    effort: str,
    seed: int,
    starts: Sequence[np.ndarray],
    time_limit: float | None,
    n_threads: int,
) -> np.ndarray:
    """Return the labels of a partition of a small problem."""
    partition = partition_problem(
        problem,
        n_clusters,
        effort=effort,
        starts=starts,
        budget=Budget(time_limit),
        lower_bound=False,
        random_state=seed,
        n_jobs=n_threads,
    )
    return np.asarray(partition.labels)


# -- local search


class LocalSearchResult(NamedTuple):
    """Labels of every block, their table, the number of rounds, and whether no move remains."""

    labels: list[Any]
    table: Table
    n_rounds: int
    converged: bool


def local_search(
    workers: Workers,
    labels: Sequence[Any],
    table: Table,
    *,
    should_continue: Callable[[list[Any], Table], bool] = lambda labels, table: True,
) -> LocalSearchResult:
    """Move points until no single move decreases the cut; the cut never increases.

    In every round, each block moves its points relative to the table at the start of the round, and
    returns the changes of the table. Each move decreases the cut by itself, but simultaneous moves
    of several blocks may increase it. The exact value decides:

    1. All changes are accepted if the value decreases; otherwise half of them; otherwise the
       changes of single blocks, if the value decreases.
    2. A block assumes that all other blocks make similar moves, which is correct if blocks are
       similar. If no change was accepted, or if points of a small cluster could not move, the round
       is repeated without this assumption: then the moves of any single block decrease the value.

    Changes are exact sums, so that results do not depend on the schedule of the blocks.
    ``should_continue`` is called with labels and table after every round that decreased the cut.
    """
    labels, n_rounds = list(labels), 0
    n_points = sum(workers.sizes)
    are_similar = len(workers.sizes) > 1
    while True:
        before = table.value
        shared = table.weights, table.masses, n_points if are_similar else 0, before
        moved, changes = workers.run("leastcut-sweep", sweep_block, labels, *shared)
        n_rounds += 1
        changed = {b: change for b, change in enumerate(changes) if change is not None}
        if not changed:
            if are_similar and _has_immovable_points(workers.sizes, table):
                are_similar = False
                continue
            return LocalSearchResult(labels, table, n_rounds, True)
        accepted, table = _accepted(table, before, changed)
        for b in accepted:
            labels[b] = moved[b]
        if not accepted:
            if not are_similar:
                # The decrease of these moves is lost to rounding.
                return LocalSearchResult(labels, table, n_rounds, True)
            are_similar = False
            continue
        are_similar = len(workers.sizes) > 1
        if not should_continue(labels, table):
            return LocalSearchResult(labels, table, n_rounds, False)


def _has_immovable_points(sizes: Sequence[int], table: Table) -> bool:
    """Return whether a cluster is too small for similar moves in all blocks."""
    return bool(table.sizes.min() <= sum(sizes) / min(size for size in sizes if size))


def _accepted(table: Table, value: float, changes: dict[int, Entries]) -> tuple[list[int], Table]:
    """Return the blocks whose changes are accepted, and the table with these changes."""
    # 1. All of them, or half.
    for some in (list(changes), list(changes)[::2]):
        changed = table.with_changes([changes[b] for b in some])
        if changed.value < value:
            return some, changed
    # 2. One by one.
    accepted = []
    for b, change in changes.items():
        changed = table.with_changes([change])
        changed_value = changed.value
        if changed_value < value:
            accepted.append(b)
            table, value = changed, changed_value
    return accepted, table


def sweep_block(
    block: Block,
    labels: np.ndarray,
    weights: np.ndarray,
    masses: np.ndarray,
    n_points: int,
    value: float,
) -> tuple[np.ndarray, Entries | None]:
    """Move the points of a block; return their new labels and the changes of the table.

    ``weights`` is the table of all points and ``value`` its cut value. ``n_points`` is the number
    of points in all blocks, which are assumed to make similar moves, or 0.
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
        MIN_DECREASE * value,
        change,
        np.empty(weights.shape[1]),
    )
    return labels, entries_of(change) if moves else None

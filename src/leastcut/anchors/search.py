"""The search for the smallest cut of an anchor graph, whoever holds its points.

1. A start: the anchors' own graph is cut, and points follow their anchors; or points are cut in
   groups, those of one nearest anchor, and follow their group.
2. Exact moves of all points, until none makes the cut smaller.
3. From the second start on, what was found is recombined with the best so far, unless it is the
   same: points that are together in both, and have one nearest anchor, become one node. The cut
   of this graph is exactly that of its points, and the search on it begins with both, so that it
   ends at or below the better of them; moves follow.

An effort is a list of starts, and each begins with the whole list of the one before it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from leastcut.anchors.contraction import (
    MOST_PRODUCTS,
    contracted,
    follow,
    groups_of,
    label_groups,
    labels_of_keys,
    products_of,
)
from leastcut.anchors.descent import descend
from leastcut.anchors.problem import AnchorProblem
from leastcut.anchors.table import Table
from leastcut.budget import Budget
from leastcut.multilevel.efforts import Progress, SearchOptions
from leastcut.multilevel.search import partition_problem
from leastcut.problem import Problem
from leastcut.seeds import as_generator


class Start(NamedTuple):
    """How a search begins: of anchors or of points in groups, cut with some effort and seed."""

    stage: str
    of: str
    effort: str
    seed: int


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


class Checkpoint(Protocol):
    """Where a search leaves how far it is, so that it can go on from there."""

    def load(self) -> tuple[dict[str, Any], dict[str, list[np.ndarray]]] | None:
        """Return facts and, by name, arrays of every block, or None if there are none."""

    def save(self, facts: dict[str, Any], arrays: dict[str, list[np.ndarray]]) -> None:
        """Keep them in place of those before."""


class Found(NamedTuple):
    """Labels as the workers keeps them, their value, and the rounds of moves that it took."""

    kept: list[Any]
    value: float
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
    return search.run([*starts, *starts_of(options.effort)])


class _State(NamedTuple):
    """How far a search is: all that its rest depends on.

    Attributes
    ----------
    number : int
        The step, as an index of those given and the starts after them.
    phase : {"start", "moves", "recombine", "last moves"}
        What comes next in it.
    best, current : list or None
        Labels as the workers keeps them: the best of the steps before, and those of this one.
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
        checkpoint: Checkpoint | None,
    ) -> None:
        self._problem, self._n_clusters, self._seed = problem, n_clusters, seed
        self._workers, self._masses = problem.workers, problem.masses
        self._budget, self._checkpoint = budget, checkpoint
        self._value, self._n_rounds = math.inf, 0

    def run(self, steps: Sequence[Start | list[Any]]) -> Found:
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
        return Found(kept, self._table(kept).value, max(1, self._n_rounds))

    def _next(self, state: _State, steps: Sequence[Start | list[Any]]) -> _State:
        """Return the state after the phase that comes next."""
        step, current = steps[state.number], state.current
        if state.phase == "start":
            current = self._begun(step) if isinstance(step, Start) else list(step)
            if current is None:  # a start that would take too long
                return state._replace(number=state.number + 1)
            return state._replace(phase="moves", current=current)
        assert current is not None  # whatever comes after the start has something to go on with
        if state.phase == "recombine":
            effort = step.effort if isinstance(step, Start) else "fast"
            return state._replace(phase="last moves", current=self._recombined(state, effort))
        current, table = self._descended(state, current, steps)
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
        if start.of == "anchors":
            used = np.flatnonzero(self._masses > 0)
            found = self._cut(self._problem.core, start.effort, start.seed, ())
            label_of_anchor = np.zeros(self._masses.size, dtype=np.int32)
            label_of_anchor[used] = found
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
        """Cut points in groups; return None where these are too few, or it would take too long."""
        workers, masses, c = self._workers, self._masses, self._n_clusters
        groups = groups_of(workers, masses, pairs, c)
        if not at_any_cost and (groups.keys.size < c or products_of(groups) > MOST_PRODUCTS):
            return None
        if groups.keys.size < c:
            raise ValueError(
                f"n_clusters={c} is more than the {groups.keys.size} anchors that any point is "
                "nearest to; pass fewer, or more n_anchors to anchor_graph."
            )
        problem = contracted(groups, masses)
        given = labels_of_keys(groups.keys, 0 if pairs is None else 2, c)
        labels = self._cut(problem, effort, seed, given)
        return workers.run("leastcut-groups", label_groups, pairs, groups.keys, labels, c)[0]

    def _cut(
        self, problem: Problem, effort: str, seed: int, given: Sequence[np.ndarray]
    ) -> np.ndarray:
        left = self._budget.seconds_left
        limit = None if math.isinf(left) else max(0.0, left)
        arguments = problem, self._n_clusters, effort, self._seed + seed, given, limit
        found: np.ndarray = self._workers.once(
            "leastcut-start", cut_small, *arguments, self._workers.n_threads
        )
        return found

    def _descended(
        self, state: _State, current: list[Any], steps: Sequence[Start | list[Any]]
    ) -> tuple[list[Any], Table]:
        def go_on(kept: list[Any], table: Table) -> bool:
            self._n_rounds += 1
            self._save(state._replace(current=kept))
            step = steps[state.number]
            stage = step.stage if isinstance(step, Start) else "fast"
            value, done = min(self._value, table.value), state.number / len(steps)
            self._budget.report(Progress(stage, done, value, self._budget.seconds))
            return not self._budget.is_exhausted

        table = self._table(current)
        found = descend(self._workers, current, table, go_on=go_on)
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
    given: Sequence[np.ndarray],
    time_limit: float | None,
    n_threads: int,
) -> np.ndarray:
    """Return labels of a graph of the size of the anchors."""
    found = partition_problem(
        problem,
        n_clusters,
        effort=effort,
        starts=given,
        budget=Budget(time_limit),
        lower_bound=False,
        random_state=seed,
        n_jobs=n_threads,
    )
    return np.asarray(found.labels)

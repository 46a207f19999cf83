"""Workers of a Dask cluster as a crew: blocks and labels stay with them, tables come and go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

from firstcut.anchors.blocks import Block
from firstcut.anchors.crew import Task
from firstcut.dask.scheduling import Scheduler


class DaskCrew:
    """Workers of Dask, each with its blocks; see :class:`firstcut.anchors.crew.Crew`.

    Parameters
    ----------
    scheduler : Scheduler
    blocks : sequence of Delayed
        The blocks, kept on the workers.
    sizes : sequence of int
        The points of every block.
    """

    n_threads = -1  # of work that one does for all: as many as the machine of that one has cores

    def __init__(self, scheduler: Scheduler, blocks: Sequence[Any], sizes: Sequence[int]) -> None:
        self.sizes = tuple(sizes)
        self._scheduler, self._blocks = scheduler, list(blocks)

    def run(
        self,
        name: str,
        task: Task,
        kept: Sequence[Any] | None,
        *shared: Any,
        which: Sequence[int] | None = None,
    ) -> tuple[list[Any], list[Any]]:
        """Do a task for blocks, where they lie; what is kept are tasks whose values stay there."""
        numbers = range(len(self.sizes)) if which is None else which
        new = self._scheduler.task
        # 1. Tables are one task's value: it reaches every worker once, and from one another.
        tables = self._scheduler.given(f"{name}-tables", *shared)
        # 2. A task for every block, run where the block is, and the two halves of what it returns.
        work = partial(_work, task)
        pairs = [
            new(name, work, self._blocks[number], None if kept is None else kept[number], tables)
            for number in numbers
        ]
        halves = [new(f"{name}-keeps", itemgetter(0), pair) for pair in pairs]
        halves += [new(f"{name}-tells", itemgetter(1), pair) for pair in pairs]
        # 3. One half stays, the other comes here.
        there = self._scheduler.keep(halves)
        return there[: len(pairs)], self._scheduler.fetch(there[len(pairs) :])

    def once(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return ``function(*arguments)``, which some worker computes."""
        task = self._scheduler.task(name, partial(function, *arguments))
        return self._scheduler.fetch(self._scheduler.keep([task]))[0]


def _work(task: Task, block: Block, kept: Any, tables: tuple[Any, ...]) -> tuple[Any, Any]:
    return task(block, kept, *tables)

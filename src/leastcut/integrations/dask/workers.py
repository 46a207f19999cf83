"""Workers of a Dask cluster as a workers: blocks and labels stay with them, tables come and go.

A task of Dask takes about a millisecond of the scheduler's time, however short it is. So blocks
that lie on one worker are bundled, and a bundle is worked on by one task, block by block: which
blocks are together makes no difference to what is found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

from leastcut.anchors.blocks import Add, Block, Task, Workers, added
from leastcut.integrations.dask.scheduling import Scheduler

BUNDLED_POINTS = 2**20
"""Points of a bundle, at most: a sweep over them takes much longer than Dask takes for the task."""

BUNDLES_PER_THREAD = 4
"""Bundles for every thread of the cluster, at least: who is done early takes another."""


class Bundle(NamedTuple):
    """Blocks that are worked on by one task: their numbers, and the task that holds them."""

    numbers: tuple[int, ...]
    task: Any


class Piece(NamedTuple):
    """What is kept beside a block: a place in what a task has kept for blocks of its bundle."""

    task: Any
    place: int


class DaskWorkers(Workers):
    """Workers of Dask, each with its blocks; see :class:`leastcut.anchors.blocks.Workers`.

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
        self._scheduler = scheduler
        most = min(BUNDLED_POINTS, sum(sizes) / (BUNDLES_PER_THREAD * scheduler.n_threads))
        bundles = bundled(self.sizes, scheduler.owners(blocks), most)
        tasks = [
            scheduler.task("leastcut-blocks", list, [blocks[number] for number in numbers])
            for numbers in bundles
        ]
        self._bundles = list(map(Bundle, bundles, scheduler.keep(tasks)))

    def run(
        self,
        name: str,
        task: Task,
        kept: Sequence[Any] | None,
        *shared: Any,
        which: Sequence[int] | None = None,
    ) -> tuple[list[Any], list[Any]]:
        """Do a task for blocks, where they lie; what is kept are tasks whose values stay there."""
        wanted = range(len(self.sizes)) if which is None else which
        new = self._scheduler.task
        # 1. A task for every bundle, and the two halves of what it returns.
        done = self._begun(name, partial(_work, task), kept, shared, set(wanted))
        halves = [new(f"{name}-keeps", itemgetter(0), pair) for _, pair in done]
        halves += [new(f"{name}-tells", itemgetter(1), pair) for _, pair in done]
        # 2. One half stays, the other comes here.
        there = self._scheduler.keep(halves)
        told = self._scheduler.fetch(there[len(done) :])
        found = {
            number: (Piece(half, place), words[place])
            for (numbers, _), half, words in zip(done, there[: len(done)], told, strict=True)
            for place, number in enumerate(numbers)
        }
        return [found[number][0] for number in wanted], [found[number][1] for number in wanted]

    def total(
        self,
        name: str,
        task: Task,
        kept: Sequence[Any] | None,
        add: Add,
        *shared: Any,
        is_exact: bool = False,
    ) -> Any:
        """Return the sum of what a task tells of all blocks; workers add, and the sum comes here.

        Where sums are exact every bundle is added up where it lies, and else block by block in the
        order that rounding depends on.
        """
        new, asked = self._scheduler.task, set(range(len(self.sizes)))
        work = partial(_add_up, task, add) if is_exact else partial(_tell, task)
        done = self._begun(name, work, kept, shared, asked)
        if is_exact:
            terms = [told for _, told in done]
        else:
            # Each by itself: what travels to where it is added need not take its neighbours along.
            of_block = {
                number: new(f"{name}-tells", itemgetter(place), told)
                for numbers, told in done
                for place, number in enumerate(numbers)
            }
            terms = [of_block[number] for number in range(len(self.sizes))]

        whole = added(terms, lambda several: new(f"{name}-adds", add, list(several)))
        return self._scheduler.fetch(self._scheduler.keep([whole]))[0]

    def once(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return ``function(*arguments)``, which some worker computes."""
        task = self._scheduler.task(name, partial(function, *arguments))
        return self._scheduler.fetch(self._scheduler.keep([task]))[0]

    def _begun(
        self,
        name: str,
        work: Callable[..., Any],
        kept: Sequence[Any] | None,
        shared: tuple[Any, ...],
        asked: set[int],
    ) -> list[tuple[list[int], Any]]:
        """Return tasks for all bundles that have blocks asked for, with the numbers of those."""
        # Tables are one task's value: it reaches every worker once, and from one another.
        tables = self._scheduler.given(f"{name}-tables", *shared)
        done: list[tuple[list[int], Any]] = []
        for bundle in self._bundles:
            places = [place for place, number in enumerate(bundle.numbers) if number in asked]
            if places:
                numbers = [bundle.numbers[place] for place in places]
                sources, where = _sources(None if kept is None else [kept[b] for b in numbers])
                own = partial(work, places, where)
                done.append(
                    (numbers, self._scheduler.task(name, own, bundle.task, sources, tables))
                )
        return done


def bundled(sizes: Sequence[int], owners: Sequence[Any], most: float) -> list[tuple[int, ...]]:
    """Return the numbers of blocks that are together: of one owner, and up to so many points.

    Examples
    --------
    >>> from leastcut.integrations.dask.workers import bundled
    >>> bundled([5, 5, 5, 9, 1], ["a", "b", "a", "a", "a"], most=10)
    [(0, 2), (1,), (3, 4)]
    """
    found: list[list[int]] = []
    points: list[int] = []
    latest: dict[Any, int] = {}
    for number, (size, owner) in enumerate(zip(sizes, owners, strict=True)):
        last = latest.get(owner)
        if last is None or points[last] + size > most:
            last = latest[owner] = len(found)
            found.append([])
            points.append(0)
        found[last].append(number)
        points[last] += size
    return [tuple(numbers) for numbers in found]


def _sources(kept: Sequence[Any] | None) -> tuple[list[Any], list[Any] | None]:
    """Return the tasks that pieces come from, each once, and where the pieces are in them.

    A block has one piece, or a tuple of them; where they are is a pair of numbers, task and place,
    or a list of pairs.
    """
    if kept is None:
        return [], None
    tasks: dict[str, Any] = {}
    order: dict[str, int] = {}

    def find(piece: Piece) -> tuple[int, int]:
        tasks[piece.task.key] = piece.task
        return order.setdefault(piece.task.key, len(order)), piece.place

    where = [find(own) if isinstance(own, Piece) else list(map(find, own)) for own in kept]
    return list(tasks.values()), where


def _work(
    task: Task,
    places: list[int],
    where: list[Any] | None,
    blocks: list[Block],
    sources: list[list[Any]],
    tables: tuple[Any, ...],
) -> tuple[list[Any], list[Any]]:
    """Do a task for the blocks at some places of a bundle, on a worker."""

    def own(found: Any) -> Any:
        if isinstance(found, list):
            return tuple(map(own, found))
        source, place = found
        return sources[source][place]

    kept = [None] * len(places) if where is None else map(own, where)
    done = [
        task(blocks[place], beside, *tables) for place, beside in zip(places, kept, strict=True)
    ]
    return [pair[0] for pair in done], [pair[1] for pair in done]


def _tell(task: Task, *arguments: Any) -> list[Any]:
    """Do a task for some blocks of a bundle, and tell only."""
    return _work(task, *arguments)[1]


def _add_up(task: Task, add: Add, *arguments: Any) -> Any:
    """Do a task for some blocks of a bundle, and tell the sum."""
    return added(_tell(task, *arguments), add)

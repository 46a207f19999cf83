"""Dask workers for the search on anchor graphs: they store blocks and labels.

All inputs of a task are other tasks or part of the task itself, never data scattered to a worker,
so the results of a failed worker can be recomputed elsewhere.

A Dask task takes about a millisecond of the scheduler's time. Blocks on the same worker are
therefore bundled, and one task processes all blocks of a bundle. Results do not depend on the
bundles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple
from uuid import uuid4

from leastcut.anchors.blocks import Add, Block, Task, Workers, tree_sum
from leastcut.optional_packages import needed_for
from leastcut.threads import available_cores

LARGEST_DESCRIPTION = "1GiB"  # size of a task without a warning; tables are part of a task
BUNDLED_POINTS = 2**20  # maximum per bundle: a sweep over them takes much longer than scheduling
BUNDLES_PER_THREAD = 4  # minimum over the cluster, for load balancing


class Scheduler:
    """Runs tasks on the cluster of a client, or with the scheduler that Dask is configured to use.

    Without a client, the current client is used if there is one.
    """

    def __init__(self, client: Any = None) -> None:
        with needed_for("Clusterings of Dask collections", "dask", "dask"):
            import dask
            from dask.base import get_scheduler
        if client is not None and not (hasattr(client, "persist") and hasattr(client, "gather")):
            raise TypeError(
                f"client={client!r} is not a client of dask.distributed; pass one, or None for "
                "the current one."
            )
        # The scheduler of a client is a method of the client; the others are functions.
        client = getattr(get_scheduler(), "__self__", None) if client is None else client
        if getattr(client, "asynchronous", False):
            raise ValueError(
                "The client is asynchronous, but fit waits for results; pass a "
                "Client(..., asynchronous=False)."
            )
        self.client = client
        self._dask = dask

    @property
    def n_threads(self) -> int:
        """Current number of threads for tasks."""
        if self.client is None:
            return available_cores()
        return max(1, sum(map(int, self.client.nthreads().values())))

    def owners(self, kept: Sequence[Any]) -> list[str]:
        """Wait for persisted tasks, and return the addresses of the workers that store them."""
        if self.client is None:
            return [""] * len(kept)
        from distributed import wait

        futures = _futures(kept)
        with self.client.as_current():
            wait(futures)
        holders = self.client.who_has(futures)
        return [min(holders.get(future.key, ()), default="") for future in futures]

    def task(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return a task that calls a function; its arguments may contain other tasks."""
        return self._dask.delayed(function, pure=False)(*arguments, dask_key_name=key_of(name))

    def constant(self, name: str, *values: Any) -> Any:
        """Return a task whose value is a tuple of local values."""
        # Dask does not search the arguments of a partial function for tasks.
        return self.task(name, partial(_tuple_of, *values))

    def keep(self, tasks: Sequence[Any]) -> list[Any]:
        """Run tasks and keep their values on the workers; does not wait if there is a client."""
        if not tasks:
            return []
        no_warning = {"distributed.admin.large-graph-warning-threshold": LARGEST_DESCRIPTION}
        with self._dask.config.set(no_warning):
            if self.client is not None:
                return list(self.client.persist(list(tasks)))
            return list(self._dask.persist(*tasks))

    def fetch(self, kept: Sequence[Any]) -> list[Any]:
        """Return the values of persisted tasks."""
        if self.client is None:
            return list(self._dask.compute(*kept))
        return list(self.client.gather(_futures(kept)))

    def compute(self, tasks: Sequence[Any]) -> list[Any]:
        """Run tasks and return their values."""
        return self.fetch(self.keep(tasks))


def key_of(name: str) -> str:
    """Return a unique key for a task with this name."""
    return f"{name}-{uuid4().hex}"


def _futures(kept: Sequence[Any]) -> list[Any]:
    """Return the futures of tasks persisted on a cluster."""
    from distributed import futures_of

    return [futures_of(task)[0] for task in kept]


def _tuple_of(*values: Any) -> tuple[Any, ...]:
    return values


class Bundle(NamedTuple):
    """Blocks that are processed by one task: their numbers, and the task that contains them."""

    numbers: tuple[int, ...]
    task: Any


class Piece(NamedTuple):
    """Data of a block on a worker: a position in the result of a task for a bundle."""

    task: Any
    place: int


class DaskWorkers(Workers):
    """Dask workers with blocks; see :class:`leastcut.anchors.blocks.Workers`.

    ``blocks`` are persisted Delayed objects, and ``sizes`` their numbers of points.
    """

    n_threads = -1  # for work that one worker does for all: one per core

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
        self, name: str, task: Task, kept: Sequence[Any] | None, *shared: Any
    ) -> tuple[list[Any], list[Any]]:
        new = self._scheduler.task
        # 1. Create a task for every bundle, and tasks for the two elements of its result.
        pairs = self._begun(name, partial(_work, task), kept, shared)
        halves = [new(f"{name}-keeps", itemgetter(0), pair) for pair in pairs]
        halves += [new(f"{name}-results", itemgetter(1), pair) for pair in pairs]
        # 2. Keep the first element on the worker, and fetch the second.
        halves = self._scheduler.keep(halves)
        results = self._scheduler.fetch(halves[len(pairs) :])
        pieces = [
            [Piece(half, place) for place in range(len(bundle.numbers))]
            for bundle, half in zip(self._bundles, halves, strict=False)
        ]
        return self._in_order(pieces), self._in_order(results)

    def total(
        self,
        name: str,
        task: Task,
        kept: Sequence[Any] | None,
        add: Add,
        *shared: Any,
        is_exact: bool = False,
    ) -> Any:
        new = self._scheduler.task
        if is_exact:
            # The order of additions does not matter: add up every bundle on its worker.
            terms = self._begun(name, partial(_add_up, task, add), kept, shared)
        else:
            # Separate tasks for all blocks, as their order of addition is fixed.
            results = self._begun(name, partial(_results, task), kept, shared)
            terms = self._in_order(
                [
                    new(f"{name}-results", itemgetter(place), of_bundle)
                    for place in range(len(numbers))
                ]
                for (numbers, _), of_bundle in zip(self._bundles, results, strict=True)
            )
        total = tree_sum(terms, lambda several: new(f"{name}-adds", add, list(several)))
        return self._scheduler.compute([total])[0]

    def once(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        task = self._scheduler.task(name, partial(function, *arguments))
        return self._scheduler.compute([task])[0]

    def _begun(
        self,
        name: str,
        work: Callable[..., Any],
        kept: Sequence[Any] | None,
        shared: tuple[Any, ...],
    ) -> list[Any]:
        """Return a task for every bundle."""
        # The tables are a task, so each worker receives them once.
        tables = self._scheduler.constant(f"{name}-tables", *shared)
        tasks = []
        for numbers, blocks in self._bundles:
            sources, where = _sources(None if kept is None else [kept[b] for b in numbers])
            function = partial(work, where)
            tasks.append(self._scheduler.task(name, function, blocks, sources, tables))
        return tasks

    def _in_order(self, of_bundles: Iterable[Sequence[Any]]) -> list[Any]:
        """Return values of all blocks in the order of the blocks."""
        values: list[Any] = [None] * len(self.sizes)
        for bundle, of_bundle in zip(self._bundles, of_bundles, strict=True):
            for number, value in zip(bundle.numbers, of_bundle, strict=True):
                values[number] = value
        return values


def bundled(sizes: Sequence[int], owners: Sequence[Any], most: float) -> list[tuple[int, ...]]:
    """Group consecutive blocks of the same owner into bundles of at most ``most`` points.

    Returns the numbers of the blocks of every bundle.

    >>> bundled([5, 5, 5, 9, 1], ["a", "b", "a", "a", "a"], most=10)
    [(0, 2), (1,), (3, 4)]
    """
    bundles: list[list[int]] = []
    points: list[int] = []
    latest: dict[Any, int] = {}
    for number, (size, owner) in enumerate(zip(sizes, owners, strict=True)):
        last = latest.get(owner)
        if last is None or points[last] + size > most:
            last = latest[owner] = len(bundles)
            bundles.append([])
            points.append(0)
        bundles[last].append(number)
        points[last] += size
    return [tuple(numbers) for numbers in bundles]


def _sources(kept: Sequence[Any] | None) -> tuple[list[Any], list[Any] | None]:
    """Return the distinct tasks that pieces belong to, and the positions of the pieces.

    A block has one piece or a tuple of pieces. Their positions are a pair (task, place) or a list
    of pairs.
    """
    if kept is None:
        return [], None
    tasks: dict[str, tuple[int, Any]] = {}

    def find(piece: Piece) -> tuple[int, int]:
        number, _ = tasks.setdefault(piece.task.key, (len(tasks), piece.task))
        return number, piece.place

    where = [find(of) if isinstance(of, Piece) else list(map(find, of)) for of in kept]
    return [task for _, task in tasks.values()], where


def _work(
    task: Task,
    where: list[Any] | None,
    blocks: list[Block],
    sources: list[list[Any]],
    tables: tuple[Any, ...],
) -> tuple[list[Any], list[Any]]:
    """Run a task on the blocks of a bundle, and return the values to keep and the results."""

    def pieces_at(position: Any) -> Any:
        if isinstance(position, list):
            return tuple(map(pieces_at, position))
        source, place = position
        return sources[source][place]

    kept = [None] * len(blocks) if where is None else map(pieces_at, where)
    pairs = [task(block, piece, *tables) for block, piece in zip(blocks, kept, strict=True)]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _results(task: Task, *arguments: Any) -> list[Any]:
    """Run a task on the blocks of a bundle, and return the results only."""
    return _work(task, *arguments)[1]


def _add_up(task: Task, add: Add, *arguments: Any) -> Any:
    """Run a task on the blocks of a bundle, and return the sum of the results."""
    return tree_sum(_results(task, *arguments), add)

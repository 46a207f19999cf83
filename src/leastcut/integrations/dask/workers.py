"""Workers of Dask: blocks and labels stay with them, tables come and go.

Whatever a task needs is another task or stands in its own description, never data that was put on
a worker: what a worker held when it died is computed again elsewhere, as it was.

A task of Dask takes about a millisecond of the scheduler's time, however short it is. So blocks
that lie on one worker are bundled, and a bundle is worked on by one task, block by block: which
blocks are together makes no difference to the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple
from uuid import uuid4

from leastcut.anchors.blocks import Add, Block, Task, Workers, added
from leastcut.optional_packages import needed_for
from leastcut.threads import available_cores

LARGEST_DESCRIPTION = "1GiB"  # of a task without a warning: shared tables travel in it, once
BUNDLED_POINTS = 2**20  # at most: a sweep over them takes much longer than Dask takes for the task
BUNDLES_PER_THREAD = 4  # at least, of the cluster: threads that are done early take another


class Scheduler:
    """What runs tasks: the cluster of a client, or what Dask is configured to use.

    Without a client it is the current one, if there is one, and else a scheduler of this process.
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
        # Of the schedulers only a client's is a method, of the client.
        client = getattr(get_scheduler(), "__self__", None) if client is None else client
        if getattr(client, "asynchronous", False):
            raise ValueError(
                "The client is asynchronous, and fit waits for what it finds; pass a "
                "Client(..., asynchronous=False)."
            )
        self.client = client
        self._dask = dask

    @property
    def n_threads(self) -> int:
        """Threads that there are for tasks, at this moment."""
        if self.client is None:
            return available_cores()
        return max(1, sum(map(int, self.client.nthreads().values())))

    def owners(self, kept: Sequence[Any]) -> list[str]:
        """Wait for tasks that are kept, and return the addresses of the workers that hold them."""
        if self.client is None:
            return [""] * len(kept)
        from distributed import wait

        futures = _futures(kept)
        with self.client.as_current():
            wait(futures)
        holders = self.client.who_has(futures)
        return [min(holders.get(future.key, ()), default="") for future in futures]

    def task(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return a task that calls a function, whose arguments may be or hold other tasks."""
        return self._dask.delayed(function, pure=False)(*arguments, dask_key_name=key_of(name))

    def constant(self, name: str, *values: Any) -> Any:
        """Return a task whose value is a tuple of values that are known here."""
        # Dask does not look into the arguments of a partial function.
        return self.task(name, partial(_tuple_of, *values))

    def keep(self, tasks: Sequence[Any]) -> list[Any]:
        """Have tasks run; their values stay on the workers. It does not wait for a cluster."""
        if not tasks:
            return []
        calm = {"distributed.admin.large-graph-warning-threshold": LARGEST_DESCRIPTION}
        with self._dask.config.set(calm):
            if self.client is not None:
                return list(self.client.persist(list(tasks)))
            return list(self._dask.persist(*tasks))

    def fetch(self, kept: Sequence[Any]) -> list[Any]:
        """Return the values of tasks that are kept: they travel here."""
        if self.client is None:
            return list(self._dask.compute(*kept))
        return list(self.client.gather(_futures(kept)))

    def compute(self, tasks: Sequence[Any]) -> list[Any]:
        """Have tasks run, and return their values."""
        return self.fetch(self.keep(tasks))


def key_of(name: str) -> str:
    """Return a key that no other task has; what people see of it is its name."""
    return f"{name}-{uuid4().hex}"


def _futures(kept: Sequence[Any]) -> list[Any]:
    """Return the futures of tasks that a cluster keeps."""
    from distributed import futures_of

    return [futures_of(task)[0] for task in kept]


def _tuple_of(*values: Any) -> tuple[Any, ...]:
    return values


class Bundle(NamedTuple):
    """Blocks that are worked on by one task: their numbers, and the task that holds them."""

    numbers: tuple[int, ...]
    task: Any


class Piece(NamedTuple):
    """What stays with a block: a place in what a task has kept for the blocks of its bundle."""

    task: Any
    place: int


class DaskWorkers(Workers):
    """Workers of Dask, each with its blocks; see :class:`leastcut.anchors.blocks.Workers`.

    ``blocks`` are tasks (Delayed) that are kept, of so many points.
    """

    n_threads = -1  # of work that one does for all: one per core of its machine

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
        # 1. A task for every bundle, and the two halves of what it returns.
        pairs = self._begun(name, partial(_work, task), kept, shared)
        halves = [new(f"{name}-keeps", itemgetter(0), pair) for pair in pairs]
        halves += [new(f"{name}-results", itemgetter(1), pair) for pair in pairs]
        # 2. One half stays, the other comes here.
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
            # Every bundle is added up where it lies.
            terms = self._begun(name, partial(_add_up, task, add), kept, shared)
        else:
            # Each by itself: what travels to where it is added need not take its neighbors along.
            results = self._begun(name, partial(_results, task), kept, shared)
            terms = self._in_order(
                [
                    new(f"{name}-results", itemgetter(place), of_bundle)
                    for place in range(len(numbers))
                ]
                for (numbers, _), of_bundle in zip(self._bundles, results, strict=True)
            )
        total = added(terms, lambda several: new(f"{name}-adds", add, list(several)))
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
        # Tables are one task's value: it reaches every worker once, and from one another.
        tables = self._scheduler.constant(f"{name}-tables", *shared)
        begun = []
        for numbers, blocks in self._bundles:
            sources, where = _sources(None if kept is None else [kept[b] for b in numbers])
            own = partial(work, where)
            begun.append(self._scheduler.task(name, own, blocks, sources, tables))
        return begun

    def _in_order(self, of_bundles: Iterable[Sequence[Any]]) -> list[Any]:
        """Return what bundles have for their blocks in the order of all blocks."""
        found: list[Any] = [None] * len(self.sizes)
        for bundle, some in zip(self._bundles, of_bundles, strict=True):
            for number, one in zip(bundle.numbers, some, strict=True):
                found[number] = one
        return found


def bundled(sizes: Sequence[int], owners: Sequence[Any], most: float) -> list[tuple[int, ...]]:
    """Return the numbers of blocks that are together: of one owner, and up to so many points.

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
    tasks: dict[str, tuple[int, Any]] = {}

    def find(piece: Piece) -> tuple[int, int]:
        number, _ = tasks.setdefault(piece.task.key, (len(tasks), piece.task))
        return number, piece.place

    where = [find(own) if isinstance(own, Piece) else list(map(find, own)) for own in kept]
    return [task for _, task in tasks.values()], where


def _work(
    task: Task,
    where: list[Any] | None,
    blocks: list[Block],
    sources: list[list[Any]],
    tables: tuple[Any, ...],
) -> tuple[list[Any], list[Any]]:
    """Run a task on the blocks of a bundle, on a worker."""

    def own(found: Any) -> Any:
        if isinstance(found, list):
            return tuple(map(own, found))
        source, place = found
        return sources[source][place]

    kept = [None] * len(blocks) if where is None else map(own, where)
    done = [task(block, beside, *tables) for block, beside in zip(blocks, kept, strict=True)]
    return [pair[0] for pair in done], [pair[1] for pair in done]


def _results(task: Task, *arguments: Any) -> list[Any]:
    """Run a task on the blocks of a bundle, and return the results alone."""
    return _work(task, *arguments)[1]


def _add_up(task: Task, add: Add, *arguments: Any) -> Any:
    """Run a task on the blocks of a bundle, and return the sum of the results."""
    return added(_results(task, *arguments), add)

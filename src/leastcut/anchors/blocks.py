"""Blocks of points with their anchor weights, and the workers that hold them.

Whatever has the size of the points stays with the workers, threads of this process or processes of
a Dask cluster: a search sends a task and a few shared tables, and gets a small result of every
block.

Weights are whole multiples of 2⁻²² that add up to exactly 1 in every row. Sums of them are exact in
double precision for up to 2³¹ points, whatever the order they are added in: tables of clusters and
anchors, and so all labels, do not depend on who adds up what first.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from leastcut.threads import in_blocks

UNIT = 2.0**-22  # what weights are multiples of: single precision holds them
MOST_POINTS = 2**31  # whose weights add up without rounding

Task = Callable[..., tuple[Any, Any]]
"""``task(block, kept_of_block, *shared)``, a function of a module, returns a pair: what stays with
the block (an array of its size, or None) and a small result. It changes none of its arguments."""

Add = Callable[[Sequence[Any]], Any]
"""``add(terms)`` returns the sum of up to :data:`ADDED` results, in their order."""

ADDED = 8  # terms that are added at once: a sum of more is a sum of sums
TOGETHER = 64  # blocks whose results are held at once before they are added up


class Block(NamedTuple):
    """Some consecutive points: their anchors, nearest first, and their weights on these.

    Both arrays have the shape (n_points, n_neighbors); anchors are int32, weights float32.
    """

    anchors: np.ndarray
    weights: np.ndarray

    @property
    def n_points(self) -> int:
        """Number of points."""
        return int(self.anchors.shape[0])

    def to_sparse(self, n_anchors: int) -> sp.csr_array:
        """Return the rows of Z in double precision, of shape (n_points, n_anchors)."""
        n, count = self.anchors.shape
        indptr = np.arange(0, n * count + 1, count)
        entries = self.weights.reshape(-1).astype(np.float64), self.anchors.reshape(-1), indptr
        return sp.csr_array(entries, shape=(n, n_anchors))


class Workers(ABC):
    """The workers that hold the blocks of points.

    ``sizes`` has the points of every block, in order, and ``n_threads`` the threads that a worker
    may use; no result depends on the latter. The ``name`` of work is what people see while it runs.
    """

    sizes: tuple[int, ...]
    n_threads: int

    @abstractmethod
    def run(
        self, name: str, task: Task, kept: Sequence[Any] | None, *shared: Any
    ) -> tuple[list[Any], list[Any]]:
        """Run a task on all blocks; return what stays with each, and the results, in their order.

        ``kept`` is what earlier tasks left with every block, or a tuple of such things for every
        block; the caller never looks into it. Every block gets the tables ``shared``.
        """

    @abstractmethod
    def total(
        self,
        name: str,
        task: Task,
        kept: Sequence[Any] | None,
        add: Add,
        *shared: Any,
        is_exact: bool = False,
    ) -> Any:
        """Return the sum of the results of a task on all blocks; see :func:`added`.

        Terms may be added in any order if ``is_exact``, that is, if sums are not rounded.
        """

    def once(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return ``function(*arguments)``, computed by one worker: work of the size of anchors."""
        return function(*arguments)

    def with_threads(self, n_threads: int) -> Self:
        """Return the same workers, each with so many threads if these can be set."""
        return self


class LocalWorkers(Workers):
    """Threads of this process; ``load(number)`` returns a block, from memory or from a file."""

    def __init__(
        self, load: Callable[[int], Block], sizes: tuple[int, ...], n_threads: int
    ) -> None:
        self.sizes = sizes
        self._load, self.n_threads = load, n_threads

    def run(
        self, name: str, task: Task, kept: Sequence[Any] | None, *shared: Any
    ) -> tuple[list[Any], list[Any]]:
        pairs = self._pairs(task, kept, shared, range(len(self.sizes)))
        return [pair[0] for pair in pairs], [pair[1] for pair in pairs]

    def total(
        self,
        name: str,
        task: Task,
        kept: Sequence[Any] | None,
        add: Add,
        *shared: Any,
        is_exact: bool = False,
    ) -> Any:
        def results() -> Iterator[Any]:
            numbers = range(len(self.sizes))
            for start in range(0, len(numbers), TOGETHER):
                some = numbers[start : start + TOGETHER]
                yield from (result for _, result in self._pairs(task, kept, shared, some))

        return added(results(), add)

    def _pairs(
        self,
        task: Task,
        kept: Sequence[Any] | None,
        shared: tuple[Any, ...],
        numbers: Sequence[int],
    ) -> list[tuple[Any, Any]]:
        """Return what a task returns for some blocks."""

        def work(start: int, _: int) -> tuple[Any, Any]:
            number = numbers[start]
            return task(self._load(number), None if kept is None else kept[number], *shared)

        return in_blocks(work, len(numbers), 1, self.n_threads)

    def with_threads(self, n_threads: int) -> Self:
        return type(self)(self._load, self.sizes, n_threads)


def added(terms: Iterable[Any], add: Add) -> Any:
    """Return the sum of terms, of which few are held at a time.

    The order of additions, and so the rounding, depends on the number of terms alone: sums of the
    first eight, the next eight and so on, ((abcdefgh)(ijklmnop)(qrs)), then of these sums in the
    same way.
    """
    # Sums that wait for others: terms themselves, sums of eight, of 64, and so on.
    waiting: list[list[Any]] = [[]]

    def put(term: Any, level: int) -> None:
        if level == len(waiting):
            waiting.append([])
        waiting[level].append(term)
        if len(waiting[level]) == ADDED:
            full, waiting[level] = add(waiting[level]), []
            put(full, level + 1)

    for term in terms:
        put(term, 0)
    rest: list[Any] = []
    for level in waiting:
        several = [*level, *rest]
        rest = [add(several)] if len(several) > 1 else several
    return rest[0]

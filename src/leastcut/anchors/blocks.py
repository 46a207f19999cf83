"""Blocks of points with their anchor weights, and the workers that hold them.

All data of the size of the points stays with the workers, which are threads of this process or
processes of a Dask cluster. A search sends a task with a few shared tables, and receives a small
result for every block.

Weights are integer multiples of 2⁻²² that sum to exactly 1 in every row. Sums of weights are exact
in double precision for up to 2³¹ points, in any order, so that tables of clusters and anchors, and
therefore all labels, do not depend on the order of additions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from leastcut.threads import in_blocks

UNIT = 2.0**-22  # weights are multiples of this, which single precision represents exactly
MOST_POINTS = 2**31  # number of points up to which sums of weights are exact

Task = Callable[..., tuple[Any, Any]]
"""``task(block, kept_of_block, *shared)``, a function of a module, returns a pair: data that stays
with the block (an array of its size, or None) and a small result. It does not change its arguments.
"""

Add = Callable[[Sequence[Any]], Any]
"""``add(terms)`` returns the sum of up to :data:`ADDED` results, in order."""

ADDED = 8  # terms added at once; a sum of more terms is a sum of sums
TOGETHER = 64  # blocks whose results are held at once before they are added


class Block(NamedTuple):
    """Consecutive points: their anchors, nearest first, and their weights on these anchors.

    Both arrays have shape (n_points, n_neighbors); anchors are int32, weights float32.
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

    ``sizes`` are the numbers of points of the blocks, in order. ``n_threads`` is the number of
    threads of a worker, which has no effect on results. The ``name`` of a task is displayed while
    it runs.
    """

    sizes: tuple[int, ...]
    n_threads: int

    @abstractmethod
    def run(
        self, name: str, task: Task, kept: Sequence[Any] | None, *shared: Any
    ) -> tuple[list[Any], list[Any]]:
        """Run a task on all blocks; return the data that stays with each, and the results.

        ``kept`` is the data that earlier tasks left with every block (or a tuple of such data for
        every block), which is opaque to the caller. All blocks receive the tables ``shared``.
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
        """Return the sum of the results of a task on all blocks; see :func:`tree_sum`.

        If ``is_exact``, sums are not rounded, and terms may be added in any order.
        """

    def once(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return ``function(*arguments)``, computed by one worker, for problems of the anchors."""
        return function(*arguments)

    def with_threads(self, n_threads: int) -> Self:
        """Return the same workers with this number of threads, if it can be changed."""
        return self


class LocalWorkers(Workers):
    """Threads of this process; ``load(number)`` returns a block from memory or from a file."""

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

        return tree_sum(results(), add)

    def _pairs(
        self,
        task: Task,
        kept: Sequence[Any] | None,
        shared: tuple[Any, ...],
        numbers: Sequence[int],
    ) -> list[tuple[Any, Any]]:
        """Run a task on some blocks."""

        def work(start: int, _: int) -> tuple[Any, Any]:
            number = numbers[start]
            return task(self._load(number), None if kept is None else kept[number], *shared)

        return in_blocks(work, len(numbers), 1, self.n_threads)

    def with_threads(self, n_threads: int) -> Self:
        return type(self)(self._load, self.sizes, n_threads)


def tree_sum(terms: Iterable[Any], add: Add) -> Any:
    """Return the sum of terms, of which few are held at a time.

    The order of additions, and so the rounding, depends only on the number of terms: every eight
    consecutive terms are added, ((abcdefgh)(ijklmnop)(qrs)), then these sums in the same way.
    """
    # Pending terms, sums of eight, sums of 64, and so on.
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

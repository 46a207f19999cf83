"""Whoever holds the points and works on them: threads here, workers elsewhere.

Everything that is of the size of the points stays where they are: the search hands out a task and
a few shared tables, and gets back what was told of every block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from leastcut.anchors.blocks import Block
from leastcut.threads import in_blocks

Task = Callable[..., tuple[Any, Any]]
"""``task(block, labels, *shared)`` returns what is kept beside a block, and what is told of it."""

Add = Callable[[Sequence[Any]], Any]
"""``add(terms)`` returns the sum of some things that tasks tell, in their order."""

ADDED = 8
"""Terms that are added at once: a sum of more is a sum of sums, as their number alone has it."""

TOGETHER = 64
"""Blocks of which something large is told at once before it is added up."""


class Crew(Protocol):
    """Blocks of points, and whoever works on them.

    Attributes
    ----------
    sizes : tuple of int
        The points of every block, in order.
    n_threads : int
        Threads that one of them may use; no answer depends on it.
    """

    sizes: tuple[int, ...]
    n_threads: int

    def run(
        self,
        name: str,
        task: Task,
        kept: Sequence[Any] | None,
        *shared: Any,
        which: Sequence[int] | None = None,
    ) -> tuple[list[Any], list[Any]]:
        """Do a task for blocks, where they lie.

        Parameters
        ----------
        name : str
            What people see while it runs, as ``"leastcut-sweep"``.
        task : callable
            A function of a module: ``task(block, kept_of_block, *shared)`` returns a pair, what is
            kept beside the block (an array of the size of the block, or None) and what is told of
            it (small, and it travels). It changes none of its arguments.
        kept : sequence or None
            What earlier tasks kept, for every block (not only those of ``which``), or a tuple of
            such things for every block; they are handed on and never looked into. None hands None
            to the task.
        *shared
            Tables that every block gets.
        which : sequence of int, optional
            The blocks to work on; by default all.

        Returns
        -------
        kept, told : list
            Of the blocks worked on, in the order of ``which``.
        """
        ...

    def total(
        self,
        name: str,
        task: Task,
        kept: Sequence[Any] | None,
        add: Add,
        *shared: Any,
        is_exact: bool = False,
    ) -> Any:
        """Return the sum of what a task tells of all blocks; see :func:`added`.

        Parameters
        ----------
        name, task, kept, *shared
            As :meth:`run` has them; what the task keeps is dropped.
        add : callable
            A function of a module: ``add(terms)`` returns the sum of up to :data:`ADDED` terms.
        is_exact : bool, default=False
            Whether sums are not rounded, so that terms may be added in any order.
        """
        ...

    def once(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return ``function(*arguments)``: work of the size of anchors, which one does for all."""
        ...


def added(terms: Iterable[Any], add: Add) -> Any:
    """Return the sum of terms, of which few are held at a time.

    What is added to what depends on the number of terms alone, and so does the rounding: sums of
    the first eight, the next eight and so on, then of these sums in the same way.

    Examples
    --------
    >>> from leastcut.anchors.crew import added
    >>> added("abcdefghijklmnopqrs", lambda terms: f"({''.join(terms)})")
    '((abcdefgh)(ijklmnop)(qrs))'
    """
    # Sums that wait for others: terms themselves, sums of eight, of 64, and so on.
    waiting: list[list[Any]] = [[]]

    def put(term: Any, level: int) -> None:
        if level == len(waiting):
            waiting.append([])
        waiting[level].append(term)
        if len(waiting[level]) == ADDED:
            whole, waiting[level] = add(waiting[level]), []
            put(whole, level + 1)

    for term in terms:
        put(term, 0)
    rest: list[Any] = []
    for level in waiting:
        several = [*level, *rest]
        rest = [add(several)] if len(several) > 1 else several
    return rest[0]


class Threads:
    """Threads of this process; blocks lie in memory, or are read when their turn comes.

    Parameters
    ----------
    load : callable
        ``load(number)`` returns a :class:`leastcut.anchors.blocks.Block`.
    sizes : tuple of int
        The points of every block.
    n_threads : int
        Threads; nothing depends on it but time, and how many blocks are in memory at once.
    """

    def __init__(
        self, load: Callable[[int], Block], sizes: tuple[int, ...], n_threads: int
    ) -> None:
        self.sizes = sizes
        self._load, self.n_threads = load, n_threads

    def run(
        self,
        name: str,
        task: Task,
        kept: Sequence[Any] | None,
        *shared: Any,
        which: Sequence[int] | None = None,
    ) -> tuple[list[Any], list[Any]]:
        """Do a task for blocks; see :class:`Crew`."""
        numbers = range(len(self.sizes)) if which is None else which

        def work(start: int, _: int) -> tuple[Any, Any]:
            number = numbers[start]
            return task(self._load(number), None if kept is None else kept[number], *shared)

        pairs = in_blocks(work, len(numbers), 1, self.n_threads)
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
        """Return the sum of what a task tells of all blocks; see :class:`Crew`."""

        def told() -> Iterator[Any]:
            n_blocks = len(self.sizes)
            for start in range(0, n_blocks, TOGETHER):
                which = range(start, min(start + TOGETHER, n_blocks))
                yield from self.run(name, task, kept, *shared, which=which)[1]

        return added(told(), add)

    def once(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return ``function(*arguments)``."""
        return function(*arguments)

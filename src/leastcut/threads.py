"""How many threads there are to use, and one BLAS thread where an answer could depend on them.

Sums that BLAS splits over threads are rounded differently for every number of threads, and in a
repeated eigenspace or at a tie the last bit decides the labels. A seed must fix them.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import cache
from typing import Any
from weakref import WeakSet

from threadpoolctl import ThreadpoolController

from leastcut.validation import check_count

# Packages that are loaded where they are first needed and bring a BLAS or OpenMP of their own.
LOADED_LATER = ("sklearn", "scipy.linalg", "torch")


def available_cores() -> int:
    """Return how many cores this process may use: affinity masks and container limits count."""
    from joblib import cpu_count  # 30 ms, which a small graph need not wait for

    return int(cpu_count())


def count_threads(n_jobs: int | None) -> int:
    """Return the number of threads that ``n_jobs`` means.

    None is one per available core; so is -1, and -2 is one less, as in scikit-learn.
    """
    if n_jobs is None:
        return available_cores()
    if isinstance(n_jobs, int) and not isinstance(n_jobs, bool) and n_jobs < 0:
        return max(1, available_cores() + 1 + n_jobs)
    return check_count("n_jobs", n_jobs)


def in_blocks(
    task: Callable[[int, int], Any], n_rows: int, most_rows: int, n_threads: int
) -> list[Any]:
    """Return ``task(start, stop)`` of one block of rows after another, on several threads.

    Ctrl-C, or an error in one of them, waits for the blocks that are being worked on and cancels
    the others: ``most_rows`` should take a fraction of a second.
    """
    step = max(1, most_rows)
    starts = range(0, n_rows, step)
    stops = [min(start + step, n_rows) for start in starts]
    if n_threads == 1 or len(starts) < 2:
        return [task(start, stop) for start, stop in zip(starts, stops, strict=True)]
    with Threads(n_threads) as each:
        return each(task, starts, stops)


class Threads:
    """Threads for the tasks of one call; what has not begun when something is raised never does."""

    def __init__(self, n_threads: int) -> None:
        from concurrent.futures import ThreadPoolExecutor  # which little data need not wait for

        self._pool = ThreadPoolExecutor(n_threads)

    def __enter__(self) -> Callable[..., list[Any]]:
        return self._each

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def _each(self, task: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
        return list(self._pool.map(task, *arguments))


def single_threaded() -> AbstractContextManager[None]:
    """Return a context in which BLAS and OpenMP use one thread.

    BLAS has one number of threads for the whole process. Whoever is first in sets it to one and
    whoever is last out sets it back, so that calls from several threads may overlap in any order.
    """
    return _SingleThreaded()


class _SingleThreaded:
    """One stay inside. However it ends, BLAS gets its threads back when nobody else is inside."""

    _openmp: Any = None

    def __init__(self) -> None:
        self._thread = threading.get_ident()

    def __enter__(self) -> None:
        try:
            # Every thread has an OpenMP number of its own, so that this one needs no counting.
            self._openmp = _libraries("openmp").limit(limits=None)
            _libraries("openmp").limit(limits=1)
            with _blas.lock:
                _blas.inside.add(self)
                _blas.settle()
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        with _blas.lock:
            _blas.inside.discard(self)
            _blas.settle()
        if self._openmp is not None:
            self._openmp.restore_original_limits()
            self._openmp = None

    def __del__(self) -> None:
        # Only after Ctrl-C between the body and __exit__, or inside it, is anything left to do.
        if self._openmp is None:
            return
        # This may run in the middle of anything, also while this very thread holds the lock.
        # Whoever holds it settles, and soon counts this one no more: the set is weak.
        if _blas.lock.acquire(blocking=False):
            try:
                _blas.inside.discard(self)
                _blas.settle()
            finally:
                _blas.lock.release()
        if self.is_here():
            self._openmp.restore_original_limits()

    def is_here(self) -> bool:
        """Return whether it is the running thread's own."""
        return self._thread == threading.get_ident()


class _Blas:
    """Who wants BLAS to use one thread, and what it used before."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside: WeakSet[_SingleThreaded] = WeakSet()
        self._before: Any = None

    def settle(self) -> None:
        """Set the number of threads to one if anybody is inside, else back; with the lock held."""
        if self.inside and self._before is None:
            # Remembered before it is changed: Ctrl-C may come between the two.
            self._before = _libraries("blas").limit(limits=None)
            self._take_control()
            _libraries("blas").limit(limits=1)
        elif not self.inside and self._before is not None:
            self._take_control()
            self._before.restore_original_limits()
            self._before = None
            self._take_control()  # and leave it to whoever comes next

    def _take_control(self) -> None:
        # threadpoolctl >= 3.8 lets one thread at a time set OpenBLAS and ignores the others in
        # silence. The last out, who sets it back, need not be the thread that was first in.
        for library in _libraries("blas").lib_controllers:
            if hasattr(library, "clear_controlling_thread"):
                library.clear_controlling_thread(force=True)

    def forget_other_threads(self) -> None:
        """Start anew in a forked process, which has none of the threads that were inside."""
        self.lock = threading.Lock()
        for stay in list(self.inside):
            if not stay.is_here():
                self.inside.discard(stay)
        self.settle()


_blas = _Blas()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_blas.forget_other_threads)


def _libraries(user_api: str) -> ThreadpoolController:
    """Return the loaded libraries of a kind, "blas" or "openmp"."""
    return _found(user_api, tuple(name in sys.modules for name in LOADED_LATER))


@cache
def _found(user_api: str, is_loaded: tuple[bool, ...]) -> ThreadpoolController:
    # Finding the loaded libraries takes milliseconds: once, and once more after each of these.
    return ThreadpoolController().select(user_api=user_api)

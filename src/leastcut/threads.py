"""Number of threads, parallel tasks, and single-threaded BLAS for reproducible results.

The rounding of sums in BLAS depends on the number of threads, and in a repeated eigenspace or at a
tie the last bit decides the labels. With a seed, labels must not depend on it.
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

# Packages that are imported when they are first needed, with their own BLAS or OpenMP libraries.
LOADED_LATER = ("sklearn", "scipy.linalg", "torch")


def available_cores() -> int:
    """Return the number of cores for this process, given its CPU affinity and container limits."""
    from joblib import cpu_count  # slow to import

    return int(cpu_count())


def count_threads(n_jobs: int | None) -> int:
    """Return the number of threads for the parameter ``n_jobs``.

    None and -1 mean all available cores, and -2 one less, as in scikit-learn.
    """
    if n_jobs is None:
        return available_cores()
    if isinstance(n_jobs, int) and not isinstance(n_jobs, bool) and n_jobs < 0:
        return max(1, available_cores() + 1 + n_jobs)
    return check_count("n_jobs", n_jobs)


def in_blocks(
    task: Callable[[int, int], Any], n_rows: int, most_rows: int, n_threads: int
) -> list[Any]:
    """Run ``task(start, stop)`` for all blocks of rows in threads; return the results in order.

    After Ctrl-C or an error, running tasks are completed and the others are canceled, so
    ``most_rows`` rows should take a fraction of a second.
    """
    step = max(1, most_rows)
    starts = range(0, n_rows, step)
    stops = [min(start + step, n_rows) for start in starts]
    if n_threads == 1 or len(starts) < 2:
        return [task(start, stop) for start, stop in zip(starts, stops, strict=True)]
    with Threads(n_threads) as each:
        return each(task, starts, stops)


class Threads:
    """A context of threads for the tasks of a call; an exception cancels tasks not yet started."""

    def __init__(self, n_threads: int) -> None:
        from concurrent.futures import ThreadPoolExecutor  # slow to import

        self._pool = ThreadPoolExecutor(n_threads)

    def __enter__(self) -> Callable[..., list[Any]]:
        return self._each

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def _each(self, task: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
        return list(self._pool.map(task, *arguments))


def single_threaded() -> AbstractContextManager[None]:
    """Return a context in which BLAS and OpenMP use one thread.

    The number of BLAS threads is global to the process. The first context that is entered sets it
    to one and the last that is left restores it, so that contexts in several threads may overlap.
    """
    return _SingleThreaded()


class _SingleThreaded:
    """One context; when the last one ends in any way, the number of BLAS threads is restored."""

    _openmp: Any = None

    def __init__(self) -> None:
        self._thread = threading.get_ident()

    def __enter__(self) -> None:
        try:
            # The number of OpenMP threads is local to each thread, so no counting is needed.
            self._openmp = _libraries("openmp").limit(limits=None)
            _libraries("openmp").limit(limits=1)
            with _blas.lock:
                _blas.active.add(self)
                _blas.update()
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        with _blas.lock:
            _blas.active.discard(self)
            _blas.update()
        if self._openmp is not None:
            self._openmp.restore_original_limits()
            self._openmp = None

    def __del__(self) -> None:
        # Needed only after Ctrl-C between the body and __exit__, or inside __exit__.
        if self._openmp is None:
            return
        # This may run at any time, even while this thread holds the lock. Then the holder updates
        # the number of threads, and this object leaves the weak set by itself.
        if _blas.lock.acquire(blocking=False):
            try:
                _blas.active.discard(self)
                _blas.update()
            finally:
                _blas.lock.release()
        if self.is_of_this_thread():
            self._openmp.restore_original_limits()

    def is_of_this_thread(self) -> bool:
        """Return whether the running thread entered this context."""
        return self._thread == threading.get_ident()


class _Blas:
    """The active contexts, and the number of BLAS threads outside of them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.active: WeakSet[_SingleThreaded] = WeakSet()
        self._before: Any = None

    def update(self) -> None:
        """Set or restore the number of BLAS threads; the caller holds the lock."""
        if self.active and self._before is None:
            # Stored before the change, as Ctrl-C may come between the two.
            self._before = _libraries("blas").limit(limits=None)
            self._take_control()
            _libraries("blas").limit(limits=1)
        elif not self.active and self._before is not None:
            self._take_control()
            self._before.restore_original_limits()
            self._before = None
            self._take_control()  # and release it

    def _take_control(self) -> None:
        # threadpoolctl >= 3.8 lets only one thread set OpenBLAS and silently ignores others. The
        # thread of the last context need not be that of the first.
        for library in _libraries("blas").lib_controllers:
            if hasattr(library, "clear_controlling_thread"):
                library.clear_controlling_thread(force=True)

    def forget_other_threads(self) -> None:
        """Reset in a forked process, which does not have the other threads."""
        self.lock = threading.Lock()
        for context in list(self.active):
            if not context.is_of_this_thread():
                self.active.discard(context)
        self.update()


_blas = _Blas()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_blas.forget_other_threads)


def _libraries(user_api: str) -> ThreadpoolController:
    """Return the loaded libraries of an API, "blas" or "openmp"."""
    return _find_libraries(user_api, tuple(name in sys.modules for name in LOADED_LATER))


@cache
def _find_libraries(user_api: str, is_loaded: tuple[bool, ...]) -> ThreadpoolController:
    # This takes milliseconds, so results are cached until one of these packages is loaded.
    return ThreadpoolController().select(user_api=user_api)

"""Cells measured by several processes, each result handed back as soon as it is there.

Every cell is a task of its own. Workers keep the graph and the relaxed solution of the last
datasets, and the cells of a dataset come one after another, so these are made once per worker and
not once per cell; in return no work waits for a process that holds a whole dataset, and a kill
costs the cells that were being run and no others.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
import warnings
from collections.abc import Generator, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import cache, lru_cache

from leastcut.paper.runs.experiments import Cell
from leastcut.paper.runs.measure import measure
from leastcut.paper.runs.protocol import forget
from leastcut.paper.runs.records import Record

Result = tuple[Cell, Record | None, str]
"""A cell, its record, and if there is none, why."""

WATCH_SECONDS = 1.0
"""How often a worker looks whether its parent is still there: the longest that it outlives it."""


class WorkerLostError(RuntimeError):
    """A worker was killed before its work was done."""


def results(cells: list[Cell], data: str | None, n_jobs: int) -> Generator[Result, None, None]:
    """Measure cells and yield what comes of each, in any order.

    Parameters
    ----------
    cells : list of Cell
        In the order in which they are begun; those of a dataset and a cut together.
    data : str or None
        Folder of datasets.
    n_jobs : int
        Number of processes; with 1 it is this one.

    Raises
    ------
    WorkerLostError
        If a worker was killed. What was yielded before is not touched by that.
    """
    from joblib import Parallel, delayed

    n_jobs = min(n_jobs, max(len(cells), 1))  # a process takes seconds to start
    # one cell a batch: joblib would hand back the results of a batch together
    parallel = Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator_unordered")
    # tasks are made in this process, so the number is that of the parent
    tasks = (delayed(_attempt)(cell, data, os.getpid()) for cell in cells)
    # workers are started by this call, and inherit the signal that is ignored in it
    with _not_for_workers(signal.SIGINT):
        found = parallel(tasks)
    try:
        for result in found:  # noqa: UP028  (yield from would close it before the warnings are off)
            yield result
    except BrokenProcessPool:
        raise WorkerLostError(
            "A worker was killed before its work was done; most likely it ran out of memory. What "
            "was finished is kept: run again to continue, with fewer jobs."
        ) from None
    finally:
        with warnings.catch_warnings():
            # closed early, joblib warns of the tasks that are given up; whoever closes knows
            warnings.simplefilter("ignore")
            found.close()
        # with one process the graphs were kept in this one
        forget()


def _attempt(cell: Cell, data: str | None, parent: int) -> Result:
    """Measure a cell, in whatever process this is."""
    if os.getpid() != parent:
        _leave_with(parent)
        _set_aside(cell.dataset)
    try:
        return cell, measure(cell, data), ""
    except Exception as error:  # one bad cell must not cost the others
        # as text: not every exception can be pickled on its way back
        return cell, None, f"{type(error).__name__}: {error}"


@contextmanager
def _not_for_workers(number: signal.Signals) -> Iterator[None]:
    """Return a context in which started processes inherit to ignore a signal.

    Ctrl-C goes to all processes of a terminal, and is the parent's to answer. Workers that ignored
    it themselves, when they are up, would miss one that comes before.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # Python lets no other thread set a signal, nor does it interrupt another
        return
    before = signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(number, before)


@lru_cache(maxsize=1)
def _set_aside(dataset: str) -> None:
    """Keep the garbage collector from what is there when a worker comes to another dataset.

    joblib's workers collect garbage every second, which takes a tenth of one as long as it goes
    through all that numba, scikit-learn and the others have loaded.
    """
    gc.collect()  # garbage that is set aside would stay for good
    gc.freeze()


@cache
def _leave_with(parent: int) -> None:
    """End this process when its parent is gone, killed perhaps: no one is left to write for.

    joblib's workers would run what is queued and then wait five minutes for more.
    """

    def watch() -> None:
        # an orphan is given another parent
        while os.getppid() == parent:
            time.sleep(WATCH_SECONDS)
        # sys.exit would end this thread only
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()

"""Run many cells in parallel, resume where an earlier run ended, and record each result.

Only the parent process writes, so a record is complete or absent. The result of a cell depends on
its seed only, so any number of processes gives the same records.

Every cell is a task of its own, which limits the cost of a kill to the cells under way. Workers
cache the graph and the relaxation of the last datasets, and the cells of a dataset follow one
another, so a worker computes them once and not for every cell.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cache, lru_cache

from reproduction import datasets
from reproduction.data.printed import split_name
from reproduction.runs.experiments import Cell
from reproduction.runs.measure import measure
from reproduction.runs.progress import Progress, cost
from reproduction.runs.protocol import forget
from reproduction.runs.records import Record, Store

SYNTHETIC = ("random", "example")
"""The names of the small graphs, which need no dataset."""

Result = tuple[Cell, Record | None, str]
"""A cell, its record, and an error message if there is no record."""

WATCH_SECONDS = 1.0
"""Seconds between two checks of a worker that its parent is running."""


class WorkerLostError(RuntimeError):
    """A worker was killed before it finished."""


@dataclass
class Summary:
    """The outcome of a run."""

    finished: int = 0
    resumed: int = 0
    missing: dict[str, str] = field(default_factory=dict)
    damaged: dict[str, str] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    stopped: str = ""
    interrupted: bool = False


def run(
    cells: Iterable[Cell],
    store: Store,
    *,
    data: str | None = None,
    n_jobs: int = 1,
    progress: bool = True,
    report: Callable[[str], None] | None = None,
) -> Summary:
    """Run the cells that have no record.

    Parameters
    ----------
    cells : iterable of Cell
    store : Store
        Records are read from it and appended to it.
    data : str, optional
        Folder of datasets.
    n_jobs : int, default=1
        Number of processes.
    progress : bool, default=True
        Whether to show the progress on the standard error.
    report : callable, optional
        Called with a line for every dataset that is left out, before any cell is run.

    Returns
    -------
    Summary
        ``missing`` lists the datasets that were not found, and ``damaged`` those that cannot be
        read or whose records cannot; they were left out, for the given reason. ``stopped`` is the
        reason why no more could be written; ``interrupted`` says whether Ctrl-C ended the run, with
        all finished records kept.

    Raises
    ------
    OSError
        If the store cannot be written to, before any cell is run.
    WorkerLostError
        If a worker was killed; all finished records are kept.
    """
    summary = Summary(damaged=store.damaged())
    # 1. leave out the cells that have a record
    listed = list(cells)
    known = store.keys(without=summary.damaged)
    waiting = [cell for cell in listed if cell.key not in known]
    summary.resumed = len(listed) - len(waiting)
    # 2. leave out the datasets that cannot be read; damaged records of others do not matter
    stems = {split_name(cell.dataset)[0] for cell in waiting}
    summary.damaged = {stem: why for stem, why in summary.damaged.items() if stem in stems}
    _leave_out(waiting, data, summary)
    left_out = {**summary.missing, **summary.damaged}
    waiting = [cell for cell in waiting if split_name(cell.dataset)[0] not in left_out]
    if report is not None:
        for name, why in left_out.items():
            report(f"Left out {name}: {why}")
    if waiting:
        store.prepare()
    # 3. measure the others, and write every record at once
    bar = Progress(waiting) if progress else None
    try:
        # closing it on Ctrl-C cancels the tasks under way
        with closing(results(_in_groups(waiting), data, n_jobs)) as measured:
            for cell, record, failure in measured:
                try:
                    if record is not None:
                        store.append(record)
                        summary.finished += 1
                except ValueError as error:  # a NaN, which is no result
                    failure = str(error)
                except OSError as error:
                    # a full disk will not accept the next record either
                    summary.stopped = str(error)
                    break
                if failure:
                    summary.failed.append(f"{cell.key}: {failure}")
                if bar is not None:
                    bar.advance(cell)
    except KeyboardInterrupt:
        # the usual way to end a long run, which the next one continues
        summary.interrupted = True
    finally:
        store.close()
        if bar is not None:
            bar.close()
    return summary


def _leave_out(cells: list[Cell], data: str | None, summary: Summary) -> None:
    """Add to a summary the datasets that cannot be loaded, with the reason."""
    # every dataset once, in the order of the cells
    for stem in dict.fromkeys(split_name(cell.dataset)[0] for cell in cells):
        if stem in SYNTHETIC or stem in summary.damaged:
            continue
        try:
            datasets.load(stem, data=data)
        except FileNotFoundError as error:
            summary.missing[stem] = str(error)
        except (ValueError, OSError) as error:
            summary.damaged[stem] = str(error)


def _in_groups(cells: list[Cell]) -> list[Cell]:
    """Return the cells grouped by dataset and cut, the most expensive group first.

    Workers can then use the graph in their cache, and no long cell remains for the end.
    """
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.dataset, cell.cut), []).append(cell)
    ordered = sorted(groups.values(), key=lambda group: -sum(map(cost, group)))
    return [cell for group in ordered for cell in group]


# -- workers


def results(cells: list[Cell], data: str | None, n_jobs: int) -> Generator[Result, None, None]:
    """Measure cells in several processes and yield the results in any order.

    Parameters
    ----------
    cells : list of Cell
        In the order in which they are started; those of a dataset and a cut together.
    data : str or None
        Folder of datasets.
    n_jobs : int
        Number of processes; with 1 it is this process.

    Raises
    ------
    WorkerLostError
        If a worker was killed; results yielded before are not affected.
    """
    from joblib import Parallel, delayed

    n_jobs = min(n_jobs, max(len(cells), 1))  # a process takes seconds to start
    # one cell a batch, as joblib returns the results of a batch together
    parallel = Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator_unordered")
    # tasks are made in this process, so the id is that of the parent
    tasks = (delayed(_attempt)(cell, data, os.getpid()) for cell in cells)
    # this call starts the workers, which inherit the ignored signal
    with _ignored_by_workers(signal.SIGINT):
        measured = parallel(tasks)
    try:
        # no "yield from", which would close the generator before the warnings are ignored
        for result in measured:  # noqa: UP028
            yield result
    except BrokenProcessPool:
        raise WorkerLostError(
            "A worker was killed before it finished; most likely it ran out of memory. All "
            "finished records are kept: run again to continue, with fewer jobs."
        ) from None
    finally:
        with warnings.catch_warnings():
            # closed early, joblib warns about the tasks that it cancels
            warnings.simplefilter("ignore")
            measured.close()
        # with one process the graphs are cached in this one
        forget()


def _attempt(cell: Cell, data: str | None, parent: int) -> Result:
    """Measure a cell in this process, be it a worker or the parent."""
    if os.getpid() != parent:
        _exit_with(parent)
        _freeze_garbage(cell.dataset)
    try:
        return cell, measure(cell, data), ""
    except Exception as error:  # a failing cell must not affect the others
        # as text, as not every exception can be pickled
        return cell, None, f"{type(error).__name__}: {error}"


@contextmanager
def _ignored_by_workers(number: signal.Signals) -> Iterator[None]:
    """Return a context in which started processes inherit that a signal is ignored.

    Ctrl-C goes to all processes of a terminal, and only the parent handles it. Workers that ignored
    it themselves after their start could be interrupted before.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # Python allows only the main thread to set a signal, and interrupts no other
        return
    before = signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(number, before)


@lru_cache(maxsize=1)
def _freeze_garbage(dataset: str) -> None:
    """Exclude all existing objects from garbage collection, once for every dataset.

    joblib's workers collect garbage every second, which takes a tenth of a second as long as it
    includes the objects of numba, scikit-learn and other packages.
    """
    gc.collect()  # otherwise existing garbage would never be freed
    gc.freeze()


@cache
def _exit_with(parent: int) -> None:
    """End this process when its parent has ended, for instance by a kill.

    joblib's workers would run the queued tasks and then wait five minutes for more.
    """

    def watch() -> None:
        # the parent of an orphan changes
        while os.getppid() == parent:
            time.sleep(WATCH_SECONDS)
        # sys.exit would end this thread only
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()

"""Run cells in parallel, resume where an earlier run ended, and record each result.

Only the parent process writes records. The result of a cell depends only on its seed, so any number
of processes gives the same records.

Every cell is a separate task, so a killed run loses only the cells in progress. Workers cache the
graph and the relaxation of the last datasets, and the cells of a dataset follow one another.
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
"""A cell, its record or None, and an error message if there is no record."""

WATCH_SECONDS = 1.0
"""Seconds between a worker's checks that its parent is running."""


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
        Called with a message for every dataset that is left out, before any cell is run.

    Returns
    -------
    Summary
        ``missing`` has the datasets that were not found and ``damaged`` the datasets that cannot be
        read, or whose records cannot, with the reasons; both were left out. ``stopped`` is the
        error that prevented further writing. ``interrupted`` is True if Ctrl-C ended the run; all
        finished records are kept.

    Raises
    ------
    OSError
        If the store cannot be written to; raised before any cell is run.
    WorkerLostError
        If a worker was killed; all finished records are kept.
    """
    summary = Summary(damaged=store.damaged())
    # 1. leave out the cells that have a record
    listed = list(cells)
    known = store.keys(without=summary.damaged)
    waiting = [cell for cell in listed if cell.key not in known]
    summary.resumed = len(listed) - len(waiting)
    # 2. leave out the datasets that cannot be read
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
    # 3. measure the others and write every record immediately
    bar = Progress(waiting) if progress else None
    try:
        # closing it on Ctrl-C cancels the tasks in progress
        with closing(results(_in_groups(waiting), data, n_jobs)) as measured:
            for cell, record, failure in measured:
                try:
                    if record is not None:
                        store.append(record)
                        summary.finished += 1
                except ValueError as error:  # the result has a NaN
                    failure = str(error)
                except OSError as error:
                    # the next record would fail too, as on a full disk
                    summary.stopped = str(error)
                    break
                if failure:
                    summary.failed.append(f"{cell.key}: {failure}")
                if bar is not None:
                    bar.advance(cell)
    except KeyboardInterrupt:
        # the usual way to stop a long run and resume it later
        summary.interrupted = True
    finally:
        store.close()
        if bar is not None:
            bar.close()
    return summary


def _leave_out(cells: list[Cell], data: str | None, summary: Summary) -> None:
    """Add the datasets that cannot be loaded to a summary, with the reasons."""
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

    Workers can then use their cached graphs, and no expensive cell is started last.
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
        In the order of execution, with the cells of a dataset and a cut together.
    data : str or None
        Folder of datasets.
    n_jobs : int
        Number of processes; 1 means this process.

    Raises
    ------
    WorkerLostError
        If a worker was killed; results yielded before are not affected.
    """
    from joblib import Parallel, delayed

    n_jobs = min(n_jobs, max(len(cells), 1))  # starting a process takes seconds
    # batches of one cell, as joblib returns the results of a batch together
    parallel = Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator_unordered")
    # evaluated in this process, so the id is that of the parent
    tasks = (delayed(_attempt)(cell, data, os.getpid()) for cell in cells)
    # starts the workers, which inherit the ignored signal
    with _ignored_by_workers(signal.SIGINT):
        measured = parallel(tasks)
    try:
        # "yield from" would close the generator before the warnings are ignored
        for result in measured:  # noqa: UP028
            yield result
    except BrokenProcessPool:
        raise WorkerLostError(
            "A worker was killed before it finished; most likely it ran out of memory. All "
            "finished records are kept: run again to continue, with fewer jobs."
        ) from None
    finally:
        with warnings.catch_warnings():
            # joblib warns about canceled tasks
            warnings.simplefilter("ignore")
            measured.close()
        # with a single process the graphs are cached in this one
        forget()


def _attempt(cell: Cell, data: str | None, parent: int) -> Result:
    """Measure a cell in this process, which is a worker or the parent."""
    if os.getpid() != parent:
        _exit_with(parent)
        _freeze_garbage(cell.dataset)
    try:
        return cell, measure(cell, data), ""
    except Exception as error:  # other cells continue
        # as text, as some exceptions cannot be pickled
        return cell, None, f"{type(error).__name__}: {error}"


@contextmanager
def _ignored_by_workers(number: signal.Signals) -> Iterator[None]:
    """Return a context in which new processes inherit that a signal is ignored.

    Ctrl-C is sent to all processes of a terminal, but only the parent handles it. If workers
    ignored it only after their start, they could be interrupted before.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread can set signals and is interrupted
        return
    before = signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(number, before)


@lru_cache(maxsize=1)
def _freeze_garbage(dataset: str) -> None:
    """Exclude all existing objects from garbage collection, once per dataset.

    joblib's workers collect garbage every second, which takes 0.1 seconds if it includes the
    objects of numba, scikit-learn and other packages.
    """
    gc.collect()  # frees existing garbage before
    gc.freeze()


@cache
def _exit_with(parent: int) -> None:
    """End this process when its parent has ended, as after a kill.

    joblib's workers would otherwise run the queued tasks and wait five minutes for more.
    """

    def watch() -> None:
        # an orphan has another parent
        while os.getppid() == parent:
            time.sleep(WATCH_SECONDS)
        # sys.exit would only end this thread
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()

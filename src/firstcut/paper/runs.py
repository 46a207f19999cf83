"""Many cells, run: in parallel, resumed where an earlier run ended, recorded one by one.

Cells of one dataset and cut run in one process, where they share the graph and its relaxed
solution. Only this process writes, so a record is there whole or not at all. What a cell gives
depends on its seed alone, so any number of processes gives the same records.
"""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import threading
from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from typing import Any

from firstcut import datasets
from firstcut.paper.experiments import Cell
from firstcut.paper.measure import measure
from firstcut.paper.progress import Progress
from firstcut.paper.protocol import expected_size, graph_of, problem
from firstcut.paper.records import Record, Store

RANDOM_COSTS = {"closest": 0.04, "first_order": 20.0, "fast": 13.0, "balanced": 120.0}
"""What a random graph costs, about, in milliseconds, by method or effort; for the bar."""

COSTS = {
    "direct_cut": (30.0, 0.3),
    "first_order": (40.0, 0.16),
    "first_order+refine": (40.0, 0.16),
    "partition": (350.0, 0.15),
    "theorem 2": (400.0, 0.2),
}
"""What another cell costs, about, in milliseconds: once, and per sample."""

OTHER_COST = (20.0, 0.03)
"""What a cell of any other method costs."""


@dataclass
class Summary:
    """How a run ended."""

    finished: int = 0
    resumed: int = 0
    missing: dict[str, str] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    interrupted: bool = False


def run(
    cells: Iterable[Cell],
    store: Store,
    *,
    data: str | None = None,
    n_jobs: int = 1,
    progress: bool = True,
) -> Summary:
    """Run the cells that have no record yet.

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
        Whether to tell on the standard error how far it is.

    Returns
    -------
    Summary
        ``missing`` says which datasets were left out, and why; ``interrupted`` whether it was ended
        by Ctrl-C, all finished records kept.
    """
    known = store.keys()
    listed = list(cells)
    waiting = [cell for cell in listed if cell.key not in known]
    summary = Summary(resumed=len(listed) - len(waiting))
    present = {}
    for stem in dict.fromkeys(cell.dataset.partition(":")[0] for cell in waiting):
        present[stem] = stem in ("random", "example") or _is_here(stem, data, summary)
    waiting = [cell for cell in waiting if present[cell.dataset.partition(":")[0]]]
    groups = _groups(waiting)
    told = Progress(sum(map(_cost, waiting)), len(waiting)) if progress else None
    results = _in_turn(groups, data) if n_jobs == 1 else _in_parallel(groups, data, n_jobs)
    try:
        for cell, record, failure in results:
            if record is None:
                summary.failed.append(f"{cell.key}: {failure}")
            else:
                store.append(record)
                summary.finished += 1
            if told is not None:
                told.advance(_cost(cell), f"{cell.experiment} {cell.dataset} {cell.method}")
    except KeyboardInterrupt:
        summary.interrupted = True
    finally:
        results.close()
        store.close()
        if told is not None:
            told.close()
    return summary


def _is_here(stem: str, data: str | None, summary: Summary) -> bool:
    try:
        datasets.load(stem, data=data)
    except (FileNotFoundError, ValueError) as error:
        summary.missing[stem] = str(error)
        return False
    return True


def _groups(cells: list[Cell]) -> list[list[Cell]]:
    """Return the cells that share a dataset and a cut together, the costliest group first."""
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.dataset, cell.cut), []).append(cell)
    return sorted(groups.values(), key=lambda group: -sum(map(_cost, group)))


def _cost(cell: Cell) -> float:
    if cell.experiment == "random":
        kind = cell.parameters.get("effort", cell.method)
        return RANDOM_COSTS[kind] * float(cell.parameters["graphs"])
    once, each = COSTS.get(cell.method, OTHER_COST)
    starts = float(cell.parameters.get("starts", 10)) / 10
    return starts * (once + each * expected_size(cell.dataset))


Result = tuple[Cell, Record | None, str]
"""A cell, its record, and if there is none, why."""


def _attempt(cell: Cell, data: str | None) -> Result:
    try:
        return cell, measure(cell, data), ""
    except Exception as error:  # one bad cell must not cost the others
        return cell, None, f"{type(error).__name__}: {error}"


def _in_turn(groups: list[list[Cell]], data: str | None) -> Generator[Result, None, None]:
    try:
        for group in groups:
            for cell in group:
                yield _attempt(cell, data)
    finally:
        problem.cache_clear()
        graph_of.cache_clear()


def _in_parallel(
    groups: list[list[Cell]], data: str | None, n_jobs: int
) -> Generator[Result, None, None]:
    context = multiprocessing.get_context("spawn")
    tasks, results = context.Queue(), context.Queue()
    for group in groups:
        tasks.put(group)
    workers = [
        context.Process(target=_work, args=(tasks, results, data), daemon=True)
        for _ in range(min(n_jobs, max(len(groups), 1)))
    ]
    for _ in workers:
        tasks.put(None)
    for worker in workers:
        worker.start()
    left = sum(map(len, groups))
    try:
        while left:
            try:
                yield results.get(timeout=1.0)
                left -= 1
            except queue.Empty:
                dead = [worker for worker in workers if worker.exitcode not in (None, 0)]
                if dead:
                    raise RuntimeError(
                        f"A worker ended with code {dead[0].exitcode} before its work was done; "
                        "most likely it ran out of memory. Run again to continue, with fewer jobs."
                    ) from None
    finally:
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.join()


def _work(tasks: Any, results: Any, data: str | None) -> None:
    """Run groups until there are no more, or whoever started this is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    for group in iter(tasks.get, None):
        for cell in group:
            results.put(_attempt(cell, data))
    results.close()
    results.join_thread()


def _leave_with_parent() -> None:
    """End this process when its parent is gone, killed perhaps: no one is left to write for."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)

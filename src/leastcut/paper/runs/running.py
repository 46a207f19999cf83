"""Many cells, run: in parallel, resumed where an earlier run ended, recorded one by one.

Only this process writes, so a record is there whole or not at all. What a cell gives depends on its
seed alone, so any number of processes gives the same records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, field

from leastcut.paper.data import datasets
from leastcut.paper.data.printed import split_name
from leastcut.paper.runs.experiments import Cell
from leastcut.paper.runs.progress import Progress, cost
from leastcut.paper.runs.records import Store
from leastcut.paper.runs.workers import results

MADE_HERE = ("random", "example")
"""What takes the place of a dataset in the experiments on small graphs."""


@dataclass
class Summary:
    """How a run ended."""

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
    tell: Callable[[str], None] | None = None,
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
    tell : callable, optional
        Is called with a line for every dataset that is left out, before anything is run.

    Returns
    -------
    Summary
        ``missing`` says which datasets are not there and ``damaged`` which cannot be read, or their
        records cannot: they were left out, with the reason. ``stopped`` says why no more could be
        written, and ``interrupted`` that it was ended by Ctrl-C, all finished records kept.

    Raises
    ------
    OSError
        If the store cannot be written to, before anything is run.
    WorkerLostError
        If a worker was killed; all finished records are kept.
    """
    summary = Summary(damaged=store.damaged())
    # 1. leave out what has a record: that is all there is to resuming
    listed = list(cells)
    known = store.keys(without=summary.damaged)
    waiting = [cell for cell in listed if cell.key not in known]
    summary.resumed = len(listed) - len(waiting)
    # 2. leave out what cannot be read; records that are in the way of nothing are not told of
    stems = {split_name(cell.dataset)[0] for cell in waiting}
    summary.damaged = {stem: why for stem, why in summary.damaged.items() if stem in stems}
    _leave_out(waiting, data, summary)
    left_out = {*summary.missing, *summary.damaged}
    waiting = [cell for cell in waiting if split_name(cell.dataset)[0] not in left_out]
    if tell is not None:
        for name, why in {**summary.missing, **summary.damaged}.items():
            tell(f"Left out {name}: {why}")
    if waiting:
        store.prepare()
    # 3. measure the rest, and write every record as soon as it is there
    told = Progress(waiting) if progress else None
    try:
        # closed here and now on Ctrl-C, which gives up the tasks that are under way
        with closing(results(_in_groups(waiting), data, n_jobs)) as found:
            for cell, record, failure in found:
                try:
                    if record is not None:
                        store.append(record)
                        summary.finished += 1
                except ValueError as error:  # a NaN, which is no result
                    failure = str(error)
                except OSError as error:
                    # a full disk will not take the next one either
                    summary.stopped = str(error)
                    break
                if failure:
                    summary.failed.append(f"{cell.key}: {failure}")
                if told is not None:
                    told.advance(cell)
    except KeyboardInterrupt:
        # the way to end a long run, and no error: the next one goes on from here
        summary.interrupted = True
    finally:
        store.close()
        if told is not None:
            told.close()
    return summary


def _leave_out(cells: list[Cell], data: str | None, summary: Summary) -> None:
    """Note the datasets that cannot be loaded, and why: told at once, not cell by cell."""
    # every dataset once, in the order of the cells
    for stem in dict.fromkeys(split_name(cell.dataset)[0] for cell in cells):
        if stem in MADE_HERE or stem in summary.damaged:
            continue
        try:
            datasets.load(stem, data=data)
        except FileNotFoundError as error:
            summary.missing[stem] = str(error)
        except (ValueError, OSError) as error:
            summary.damaged[stem] = str(error)


def _in_groups(cells: list[Cell]) -> list[Cell]:
    """Return the cells that share a dataset and a cut together, the costliest group first.

    Workers then find the graph where they left it, and no long cell is left for the end.
    """
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.dataset, cell.cut), []).append(cell)
    ordered = sorted(groups.values(), key=lambda group: -sum(map(cost, group)))
    return [cell for group in ordered for cell in group]

"""``leastcut paper run``, ``table``, ``figure`` and ``report``: the paper, reproduced.

Their options take several names each, which only argparse's parser reads, so that they have one of
their own. What each status means is told in :mod:`leastcut.cli.telling`.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from leastcut import __version__
from leastcut.cli.telling import INTERRUPTED, NOTHING, nothing, tell

if TYPE_CHECKING:
    from leastcut.paper.runs.experiments import Scope

DEFAULT_OUT = "paper-results"
"""Folder of records, tables and figures unless another is named."""

STATUSES = (
    "status: 0 done; 1 nothing came of it (nothing to run, no records, or runs that failed); 2 "
    "what is asked for is not known, or cannot be read or written; 130 interrupted"
)
"""What --help says of the exit status."""


def paper(arguments: Sequence[str]) -> int:
    """Run one of the paper's commands and return its exit status."""
    options = _parser().parse_args(["paper", *arguments])
    # set by the parser of each command
    status: int = options.command(options)
    return status


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, without the usage, and whose help ends with lists.

    ``foot`` is called for them when help is asked for, as they take a moment to make.
    """

    foot: Callable[[], list[str]] | None = None

    def format_help(self) -> str:
        """Return the help, the lists at its foot as they are and paragraphs filled."""
        blocks = [super().format_help().rstrip("\n")]
        for block in [*(self.foot() if self.foot else []), STATUSES]:
            blocks.append(block if "\n" in block else textwrap.fill(block, 78))
        return "\n\n".join(blocks) + "\n"

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see '{self.prog} --help'.\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="leastcut", description="Cluster data by the smallest graph cut that can be found."
    )
    parser.add_argument("--version", action="version", version=f"leastcut {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    paper = commands.add_parser("paper", help="reproduce the paper's tables and figures")
    actions = paper.add_subparsers(title="actions", required=True, metavar="ACTION")

    run = actions.add_parser(
        "run",
        help="run experiments and record their results",
        description="Run experiments, appending one record per run to OUT/records. Runs that have "
        "a record are not run again, so a run that was interrupted goes on where it ended. "
        "Datasets that are not there are named first, and left out.",
    )
    run.add_argument("--table", nargs="+", default=[], metavar="NAME", help="what these need")
    run.add_argument("--figure", nargs="+", default=[], metavar="NAME", help="what these need")
    run.add_argument("--all", action="store_true", help="every experiment")
    run.add_argument(
        "--quick",
        action="store_true",
        help="every experiment in small, on scikit-learn's data alone",
    )
    run.add_argument(
        "--datasets", nargs="+", metavar="NAME", help="only these (default: the paper's)"
    )
    run.add_argument("--seeds", type=int, metavar="N", help="per method (default: 10; quick: 2)")
    run.add_argument(
        "--time-limit",
        type=float,
        metavar="SECONDS",
        help="for the proof of each certificate (default: 300; quick: 1)",
    )
    run.add_argument("--jobs", type=int, metavar="N", help="processes (default: one per core)")
    run.add_argument(
        "--data", metavar="DIR", help="folder of datasets, searched before LEASTCUT_DATA's"
    )
    _add_out(run)
    run.set_defaults(command=_run)
    run.foot = partial(_foot, "run")

    table = actions.add_parser("table", help="show a table, from the records")
    table.add_argument("name", metavar="NAME", help="one of the tables below")
    table.add_argument(
        "--format", default="terminal", help="terminal, markdown, csv or latex (default: terminal)"
    )
    table.add_argument(
        "--to", type=Path, metavar="FILE", help="write it there (default: standard output)"
    )
    _add_out(table)
    table.set_defaults(command=_table)
    table.foot = partial(_foot, "table")

    figure = actions.add_parser("figure", help="draw a figure, from the records (PNG and SVG)")
    figure.add_argument("name", metavar="NAME", help="one of the figures below")
    figure.add_argument("--to", type=Path, metavar="DIR", help="folder for it (default: OUT)")
    _add_out(figure)
    figure.set_defaults(command=_figure)
    figure.foot = partial(_foot, "figure")

    report = actions.add_parser(
        "report",
        help="put everything on one page, from the records",
        description="Put every table and figure that has records on one page, ours beside the "
        "paper's numbers.",
    )
    report.add_argument(
        "--to", type=Path, metavar="FILE", help="the page (default: OUT/report.html)"
    )
    report.add_argument(
        "--markdown",
        type=Path,
        metavar="FILE",
        help="also a Markdown page, its tables and figures in OUT (default: none)",
    )
    _add_out(report)
    report.set_defaults(command=_report)
    report.foot = partial(_foot, "report")
    return parser


def _add_out(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(DEFAULT_OUT),
        metavar="DIR",
        help=f"folder of the records (default: {DEFAULT_OUT})",
    )


def _foot(action: str) -> list[str]:
    """Return what the help of an action ends with."""
    from leastcut.paper.report.outputs import foot

    return foot(action)


def _run(options: argparse.Namespace) -> int:
    from dataclasses import replace

    from leastcut.paper.data.datasets import names
    from leastcut.paper.runs.experiments import QUICK, Scope, cells
    from leastcut.paper.runs.records import Store
    from leastcut.paper.runs.running import run
    from leastcut.paper.runs.workers import WorkerLostError
    from leastcut.threads import available_cores
    from leastcut.validation import check_choice, check_count, check_number

    if options.data is not None and not Path(options.data).is_dir():
        raise ValueError(f"--data {options.data} is not a folder; name the one of the datasets.")
    # 1. how much to run: a scope, cut down to the datasets, seeds and seconds asked for
    scope = QUICK if options.quick else Scope()
    if options.datasets:
        known = (check_choice("dataset", name.lower(), names()) for name in options.datasets)
        scope = replace(scope, datasets=tuple(known))
    if options.seeds is not None:
        scope = replace(scope, n_seeds=check_count("seeds", options.seeds))
    if options.time_limit is not None:
        scope = replace(scope, time_limit=check_number("time_limit", options.time_limit))
    # 2. what to run; what has nothing within that scope is named
    experiments = _experiments(options)
    wanted = cells(experiments, scope)
    n_jobs = available_cores() if options.jobs is None else check_count("jobs", options.jobs)
    for what in _without_cells(options, scope):
        tell(what)
    if not wanted:
        return nothing("Nothing to run.")
    # 3. run it; a lost worker is no error of the user, so its status is 1
    try:
        summary = run(wanted, Store(options.out), data=options.data, n_jobs=n_jobs, tell=tell)
    except WorkerLostError as error:
        return nothing(str(error))
    print(
        f"{summary.finished} run, {summary.resumed} there already; records in "
        f"{options.out / 'records'}"
    )
    for failure in summary.failed:
        tell(f"Failed: {failure}")
    if summary.interrupted:
        tell("Interrupted; the same command continues.")
        return INTERRUPTED
    if summary.stopped:
        tell(summary.stopped)
    if summary.stopped or summary.damaged:
        return 2
    if summary.missing and not (summary.finished or summary.resumed or summary.failed):
        return nothing("Nothing to run: no dataset is there of those that are asked for.")
    # who asks for everything gets what there is, but what is named must be there
    if summary.missing and options.datasets:
        return 2
    return NOTHING if summary.failed else 0


def _without_cells(options: argparse.Namespace, scope: Scope) -> list[str]:
    """Return, for every table and figure named that has nothing to run in a scope, why."""
    from leastcut.paper.report.outputs import needs
    from leastcut.paper.runs.experiments import (
        EXPERIMENTS_OF_FIGURE,
        EXPERIMENTS_OF_TABLE,
        cells,
    )

    asked = ", ".join(scope.datasets)
    named = [("table", name, EXPERIMENTS_OF_TABLE[name]) for name in options.table]
    named += [("figure", name, EXPERIMENTS_OF_FIGURE[name]) for name in options.figure]
    return [
        f"Nothing to run for the {kind} {name!r}: it needs {needs(experiments)}, and the datasets "
        f"asked for are {asked}."
        for kind, name, experiments in named
        if not cells(experiments, scope)
    ]


def _experiments(options: argparse.Namespace) -> list[str]:
    """Return the experiments that a run is asked for."""
    from leastcut.paper.runs.experiments import (
        EXPERIMENTS,
        EXPERIMENTS_OF_FIGURE,
        EXPERIMENTS_OF_TABLE,
    )
    from leastcut.validation import check_choice

    wanted: list[str] = []
    for table in options.table:
        wanted += EXPERIMENTS_OF_TABLE[check_choice("table", table, EXPERIMENTS_OF_TABLE)]
    for figure in options.figure:
        wanted += EXPERIMENTS_OF_FIGURE[check_choice("figure", figure, EXPERIMENTS_OF_FIGURE)]
    # --quick alone means everything; with --table or --figure it means those
    if options.all or (options.quick and not wanted):
        wanted = list(EXPERIMENTS)
    if not wanted:
        raise ValueError(
            f"Say what to run: --all, --quick, --table {' | '.join(EXPERIMENTS_OF_TABLE)}, "
            f"--figure {' | '.join(EXPERIMENTS_OF_FIGURE)}."
        )
    return wanted


def _table(options: argparse.Namespace) -> int:
    from leastcut.files.whole_files import write_whole
    from leastcut.paper.report.formats import FORMATS
    from leastcut.paper.report.tables import TABLES
    from leastcut.validation import check_choice

    # both names are checked before the records are read
    build = TABLES[check_choice("table", options.name, TABLES)]
    write = FORMATS[check_choice("format", options.format, FORMATS)]
    table = build(_records(options.out))
    if table.is_empty:
        return _no_records(options, "table")
    text = write(table)
    if options.to is None:
        print(text)
    else:
        write_whole(options.to, text + "\n")
    return 0


def _records(out: Path) -> list[dict[str, Any]]:
    """Return the records of a folder, none where it is not there."""
    from leastcut.paper.runs.records import Store

    if out.exists() and not out.is_dir():
        raise ValueError(f"--out {out} is not a folder; name the one of the records.")
    return list(Store(out))


def _no_records(options: argparse.Namespace, kind: str) -> int:
    """Say that there is nothing to make a table or figure of, and how to make it."""
    return nothing(
        f"There are no records for the {kind} {options.name!r} in {options.out / 'records'}; "
        f"make them with 'leastcut paper run --{kind} {options.name} --out {options.out}'."
    )


def _figure(options: argparse.Namespace) -> int:
    from leastcut.paper.report.drawing import save
    from leastcut.paper.report.figures import FIGURES
    from leastcut.paper.runs.experiments import EXPERIMENTS_OF_FIGURE
    from leastcut.validation import check_choice

    figure = FIGURES[check_choice("figure", options.name, FIGURES)]
    records = _records(options.out)
    if not {*EXPERIMENTS_OF_FIGURE[options.name]} <= {record["experiment"] for record in records}:
        return _no_records(options, "figure")
    for path in save(figure, records, options.to or options.out):
        print(path)
    return 0


def _report(options: argparse.Namespace) -> int:
    from leastcut.paper.report.html_page import write_html
    from leastcut.paper.report.markdown_page import write_markdown
    from leastcut.paper.report.page_contents import contents

    records = _records(options.out)
    found = contents(records)
    if not found.items:
        return nothing(
            f"There are no records in {options.out / 'records'} for any table or figure; make some "
            f"with 'leastcut paper run --quick --out {options.out}'."
        )
    page = options.to or options.out / "report.html"
    write_html(records, page, found)
    print(page)
    if options.markdown is not None:
        write_markdown(records, options.markdown, options.out, found)
        print(options.markdown)
    return 0

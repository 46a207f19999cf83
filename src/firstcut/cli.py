"""The command line: ``firstcut paper run``, ``table``, ``figure`` and ``report``.

Commands import what they need when they run, so that ``--help`` and a mistyped name are answered
at once. What a user can mend, files and disks included, is one line on the standard error and
status 2; Ctrl-C is a line and status 130.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from firstcut import __version__

DEFAULT_OUT = "paper-results"
"""Folder of records, tables and figures unless another is named."""


INTERRUPTED = 130
"""What shells say of Ctrl-C: 128 and the number of the signal."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    options = _parser().parse_args(arguments)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            # set by the parser of each command
            status: int = options.command(options)
        sys.stdout.flush()  # a disk that is full is noticed here, where it can be told
    except BrokenPipeError:
        _let_go_of_output()
        return 1
    except (ValueError, OSError, ImportError) as error:
        # what a user can mend: told in a line, without the trace
        _tell(error)
        try:
            sys.stdout.flush()
        except OSError:
            _let_go_of_output()
        return 2
    except KeyboardInterrupt:
        _tell("Interrupted.")
        return INTERRUPTED
    return status


def _tell(what: object) -> None:
    """Say something on the standard error, in one line."""
    print("firstcut:", " ".join(str(what).split()), file=sys.stderr)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Take the place of Python's way to show a warning, which has the line of code with it."""
    _tell(message)


def _let_go_of_output() -> None:
    """Point the standard output to nowhere: closing it at exit would complain once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, without the usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see '{self.prog} --help'.\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="firstcut", description="Cluster data by the smallest graph cut that can be found."
    )
    parser.add_argument("--version", action="version", version=f"firstcut {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    paper = commands.add_parser("paper", help="reproduce the paper's tables and figures")
    actions = paper.add_subparsers(title="actions", required=True, metavar="ACTION")

    run = actions.add_parser(
        "run",
        help="run experiments and record their results",
        description="Run experiments, appending one record per run to OUT/records. Runs that have "
        "a record are not run again, so a run that was interrupted goes on where it ended.",
    )
    run.add_argument("--table", nargs="+", default=[], metavar="NAME", help="what these need")
    run.add_argument("--figure", nargs="+", default=[], metavar="NAME", help="what these need")
    run.add_argument("--all", action="store_true", help="every experiment")
    run.add_argument(
        "--quick",
        action="store_true",
        help="every experiment in small, on scikit-learn's data alone",
    )
    run.add_argument("--datasets", nargs="+", metavar="NAME", help="only these datasets")
    run.add_argument("--seeds", type=int, metavar="N", help="seeds per method (10; quick: 2)")
    run.add_argument(
        "--time-limit",
        type=float,
        metavar="SECONDS",
        help="for the proof of each certificate (300; quick: 1)",
    )
    run.add_argument("--jobs", type=int, metavar="N", help="processes (one per core)")
    run.add_argument("--data", metavar="DIR", help="folder of datasets, before FIRSTCUT_DATA")
    _add_out(run)
    run.set_defaults(command=_run)

    table = actions.add_parser("table", help="show a table, from the records")
    table.add_argument("name", metavar="NAME")
    table.add_argument("--format", default="terminal", help="terminal, markdown, csv or latex")
    table.add_argument("--to", type=Path, metavar="FILE", help="write it there")
    _add_out(table)
    table.set_defaults(command=_table)

    figure = actions.add_parser("figure", help="draw a figure, from the records (PNG and SVG)")
    figure.add_argument("name", metavar="NAME")
    figure.add_argument("--to", type=Path, metavar="DIR", help="folder for it (OUT)")
    _add_out(figure)
    figure.set_defaults(command=_figure)

    report = actions.add_parser("report", help="put everything on one page, from the records")
    report.add_argument("--to", type=Path, metavar="FILE", help="the page (OUT/report.html)")
    report.add_argument(
        "--markdown", type=Path, metavar="FILE", help="also a Markdown page, its figures in OUT"
    )
    _add_out(report)
    report.set_defaults(command=_report)
    return parser


def _add_out(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", type=Path, default=Path(DEFAULT_OUT), metavar="DIR", help=f"({DEFAULT_OUT})"
    )


def _run(options: argparse.Namespace) -> int:
    from dataclasses import replace

    from firstcut.paper.data.datasets import names
    from firstcut.paper.runs.experiments import QUICK, Scope, cells
    from firstcut.paper.runs.records import Store
    from firstcut.paper.runs.running import run
    from firstcut.paper.runs.workers import WorkerLostError
    from firstcut.threads import available_cores
    from firstcut.validation import check_choice, check_count, check_number

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
    # 2. what to run
    wanted = cells(_experiments(options), scope)
    n_jobs = available_cores() if options.jobs is None else check_count("jobs", options.jobs)
    # 3. run it; a lost worker is no error of the user, so its status is 1
    try:
        summary = run(wanted, Store(options.out), data=options.data, n_jobs=n_jobs)
    except WorkerLostError as error:
        _tell(error)
        return 1
    print(
        f"{summary.finished} run, {summary.resumed} there already; records in "
        f"{options.out / 'records'}"
    )
    for name, why in {**summary.missing, **summary.damaged}.items():
        _tell(f"Left out {name}: {why}")
    for failure in summary.failed:
        _tell(f"Failed: {failure}")
    if summary.interrupted:
        _tell("Interrupted; the same command continues.")
        return INTERRUPTED
    if summary.stopped:
        _tell(summary.stopped)
    # who asks for everything gets what there is, but what is named must be there
    wanting = summary.missing if options.datasets else {}
    if summary.stopped or summary.damaged or wanting:
        return 2
    return 1 if summary.failed else 0


def _experiments(options: argparse.Namespace) -> list[str]:
    """Return the experiments that a run is asked for."""
    from firstcut.paper.runs.experiments import (
        EXPERIMENTS,
        EXPERIMENTS_OF_FIGURE,
        EXPERIMENTS_OF_TABLE,
    )
    from firstcut.validation import check_choice

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
    from firstcut.paper.data.whole_files import write_whole
    from firstcut.paper.report.formats import FORMATS
    from firstcut.paper.report.tables import TABLES
    from firstcut.validation import check_choice

    # both names are checked before the records are read
    build = TABLES[check_choice("table", options.name, TABLES)]
    write = FORMATS[check_choice("format", options.format, FORMATS)]
    table = build(_records(options.out))
    if table.is_empty:
        raise ValueError(
            f"There are no records for the table {options.name!r} in {options.out / 'records'}; "
            f"make them with 'firstcut paper run --table {options.name} --out {options.out}'."
        )
    text = write(table)
    if options.to is None:
        print(text)
    else:
        write_whole(options.to, text + "\n")
    return 0


def _records(out: Path) -> list[dict[str, Any]]:
    """Return the records of a folder; there must be some."""
    from firstcut.paper.runs.records import Store

    records = list(Store(out))
    if not records:
        raise ValueError(
            f"There are no records in {out / 'records'}; make some with 'firstcut paper run "
            f"--quick --out {out}'."
        )
    return records


def _figure(options: argparse.Namespace) -> int:
    from firstcut.paper.report.drawing import save
    from firstcut.paper.report.figures import FIGURES
    from firstcut.paper.runs.records import Store
    from firstcut.validation import check_choice

    figure = FIGURES[check_choice("figure", options.name, FIGURES)]
    for path in save(figure, list(Store(options.out)), options.to or options.out):
        print(path)
    return 0


def _report(options: argparse.Namespace) -> int:
    from firstcut.paper.report.html_page import write_html
    from firstcut.paper.report.markdown_page import write_markdown

    records = _records(options.out)
    page = options.to or options.out / "report.html"
    write_html(records, page)
    print(page)
    if options.markdown is not None:
        write_markdown(records, options.markdown, options.out)
        print(options.markdown)
    return 0


if __name__ == "__main__":
    sys.exit(main())

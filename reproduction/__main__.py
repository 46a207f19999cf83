"""``python -m reproduction run | table | figure | report``: the command line.

Exit status:

- 0: success.
- 1: no result: nothing to run, no records, or failed runs.
- 2: a user error: an unknown name, or a file that cannot be read or written.
- 130: interrupted by Ctrl-C.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import textwrap
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import joblib

from reproduction.data.printed import dataset_labels, split_name
from reproduction.data.sources import BUNDLED, OPENML
from reproduction.datasets import ENVIRONMENT, names
from reproduction.files import write_text
from reproduction.report.contents import contents
from reproduction.report.drawing import save
from reproduction.report.figures import FIGURES
from reproduction.report.formats import FORMATS
from reproduction.report.pages import write_html, write_markdown
from reproduction.report.tables import TABLES
from reproduction.runs.experiments import (
    EXPERIMENTS,
    EXPERIMENTS_OF_FIGURE,
    EXPERIMENTS_OF_TABLE,
    QUICK,
    Scope,
    cells,
)
from reproduction.runs.records import Record, Store
from reproduction.runs.running import WorkerLostError, run

PROGRAM = "python -m reproduction"
"""The name of the program in help and error messages."""

NO_RESULT, ERROR, INTERRUPTED = 1, 2, 130
"""Exit statuses."""

STATUSES = (
    "status: 0 success; 1 no result (nothing to run, no records, or failed runs); 2 an unknown "
    "name, or a file that cannot be read or written; 130 interrupted"
)
"""The help about the exit status."""

DEFAULT_OUT = "paper-results"
"""The default folder of records, tables and figures."""

PACKAGES = {
    "run": "tqdm, for the progress bar",
    "table": "pandas for CSV, pandas and jinja2 for LaTeX, none for the terminal and Markdown",
    "figure": "matplotlib",
    "report": "jinja2 and matplotlib; with --markdown also pandas",
}
"""The packages that each action needs."""

INSTALL = "pip install --editable '.[paper]'"
"""The command that installs the packages, in the root of the repository."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Errors are printed in one line, with ``--debug`` also their tracebacks.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    is_debugged = "--debug" in words
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: _log(message)
            status = _run_command([word for word in words if word != "--debug"])
            sys.stdout.flush()  # raises here if the disk is full
            return status
    except BrokenPipeError:
        _discard_output()
        return NO_RESULT
    except KeyboardInterrupt:
        _log("Interrupted.")
        return INTERRUPTED
    except (ValueError, RuntimeError, OSError, ImportError, MemoryError) as error:
        if is_debugged:
            traceback.print_exc()
        message = str(error) or type(error).__name__
        if isinstance(error, ModuleNotFoundError):
            message += f"; {INSTALL} installs it."
        _log(message)
        _discard_output()
        return ERROR


def _run_command(words: list[str]) -> int:
    options = _parser().parse_args(words)
    status: int = options.command(options)
    return status


def _log(message: object) -> None:
    """Write a line to the standard error."""
    print("reproduction:", " ".join(str(message).split()), file=sys.stderr)


def _no_result(message: str) -> int:
    """Write the reason for having no result and return its exit status."""
    _log(message)
    return NO_RESULT


def _discard_output() -> None:
    """Flush the standard output, or discard it if this fails, as it would fail again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# -- the parser


class _Parser(argparse.ArgumentParser):
    """A parser with errors in one line and lists at the end of its help."""

    action = ""

    def format_help(self) -> str:
        """Return the help, followed by the lists and filled paragraphs."""
        blocks = [super().format_help().rstrip("\n")]
        for block in [*_lists(self.action), STATUSES]:
            blocks.append(block if "\n" in block else textwrap.fill(block, 78))
        return "\n\n".join(blocks) + "\n"

    def error(self, message: str) -> NoReturn:
        self.exit(ERROR, f"{self.prog}: {message}; see '{self.prog} --help'.\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog=PROGRAM, description="Reproduce the paper's tables and figures.")
    actions = parser.add_subparsers(title="actions", required=True, metavar="ACTION")

    def add(action: str, command: Callable[[argparse.Namespace], int], **texts: str) -> _Parser:
        added: _Parser = actions.add_parser(action, **texts)
        added.action = action
        added.set_defaults(command=command)
        return added

    one = add(
        "run",
        _run,
        help="run experiments and record their results",
        description="Run experiments and append one record per run to OUT/records. Runs with a "
        "record are skipped, so the same command resumes an interrupted run. Missing datasets are "
        "listed first and left out.",
    )
    for kind, known in (("table", EXPERIMENTS_OF_TABLE), ("figure", EXPERIMENTS_OF_FIGURE)):
        one.add_argument(
            f"--{kind}",
            nargs="+",
            default=[],
            choices=known,
            metavar="NAME",
            help=f"the experiments of these {kind}s",
        )
    one.add_argument("--all", action="store_true", help="all experiments")
    one.add_argument(
        "--quick",
        action="store_true",
        help="all experiments at reduced size, on datasets of scikit-learn only",
    )
    one.add_argument(
        "--datasets",
        nargs="+",
        type=str.lower,
        choices=names(),
        metavar="NAME",
        help="only these datasets (default: the paper's)",
    )
    one.add_argument(
        "--seeds", type=_count, metavar="N", help="seeds per method (default: 10; quick: 2)"
    )
    one.add_argument(
        "--time-limit",
        type=_seconds,
        metavar="SECONDS",
        help="time limit per certificate (default: 300; quick: 1)",
    )
    one.add_argument(
        "--jobs", type=_count, metavar="N", help="number of processes (default: one per core)"
    )
    one.add_argument(
        "--data", type=_folder, metavar="DIR", help=f"folder of datasets, before {ENVIRONMENT}"
    )
    _add_out(one)

    one = add("table", _table, help="print a table made from the records")
    one.add_argument("name", choices=TABLES, metavar="NAME", help="a table of the list below")
    one.add_argument(
        "--format",
        default="terminal",
        choices=FORMATS,
        metavar="FORMAT",
        help="terminal, markdown, csv or latex (default: terminal)",
    )
    one.add_argument(
        "--to", type=Path, metavar="FILE", help="file to write (default: standard output)"
    )
    _add_out(one)

    one = add("figure", _figure, help="draw a figure from the records (PNG and SVG)")
    one.add_argument("name", choices=FIGURES, metavar="NAME", help="a figure of the list below")
    one.add_argument("--to", type=Path, metavar="DIR", help="folder of the files (default: OUT)")
    _add_out(one)

    one = add(
        "report",
        _report,
        help="write a report with all tables and figures",
        description="Write an HTML report with all tables and figures that have records, compared "
        "with the printed values of the paper.",
    )
    one.add_argument("--to", type=Path, metavar="FILE", help="HTML file (default: OUT/report.html)")
    one.add_argument(
        "--markdown",
        type=Path,
        metavar="FILE",
        help="also write a Markdown page, with tables and figures in OUT",
    )
    _add_out(one)
    return parser


def _add_out(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out",
        type=_records_folder,
        default=Path(DEFAULT_OUT),
        metavar="DIR",
        help=f"folder of the records (default: {DEFAULT_OUT})",
    )


def _count(text: str) -> int:
    """Return a positive integer."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive integer")
    return int(text)


def _seconds(text: str) -> float:
    """Return a nonnegative finite number."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0.0 <= seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a nonnegative finite number")
    return seconds


def _folder(text: str) -> str:
    """Return the name of an existing folder."""
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"{text} is not a folder; pass the folder of datasets")
    return text


def _records_folder(text: str) -> Path:
    """Return a folder that need not exist."""
    if Path(text).exists() and not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"{text} is not a folder; pass the folder of records")
    return Path(text)


# -- the lists at the end of the help


def _lists(action: str) -> list[str]:
    """Return the lists and paragraphs at the end of the help."""
    if not action:
        return []
    tables = {name: build([]).heading for name, build in TABLES.items()}
    figures = {name: figure.heading for name, figure in FIGURES.items()}
    lists = {
        "tables": _listed("tables", tables, EXPERIMENTS_OF_TABLE),
        "figures": _listed("figures", figures, EXPERIMENTS_OF_FIGURE),
        "datasets": (
            f"datasets: {', '.join(names())}. Read from NAME.npz, NAME.mat or NAME.csv in --data, "
            f"in the folder given by the environment variable {ENVIRONMENT}, or in the user's "
            f"cache. {', '.join(BUNDLED)} come with scikit-learn; {', '.join(OPENML)} are "
            "downloaded from OpenML if they are in no folder."
        ),
    }
    shown = {"run": list(lists), "table": ["tables"], "figure": ["figures"]}.get(action, [])
    packages = f"packages: {PACKAGES[action]}; {INSTALL} installs them."
    return [*(lists[kind] for kind in shown), packages]


def _listed(
    kind: str, headings: dict[str, str], experiments_of: Mapping[str, tuple[str, ...]]
) -> str:
    """Return a list of tables or figures with their headings, experiments and datasets."""
    width = max(map(len, headings)) + 4
    lines = [f"{kind}:"]
    for name, heading in headings.items():
        lines.append(f"  {name}".ljust(width) + heading)
        needed = f"experiments {', '.join(experiments_of[name])}; {_needs(experiments_of[name])}"
        lines.append(" " * width + needed)
    return "\n".join(lines)


def _needs(experiments: Iterable[str]) -> str:
    """Return the datasets of the paper that some experiments need, as text."""
    needed = {split_name(cell.dataset)[0] for cell in cells(experiments, Scope())}
    listed = [name for name in dataset_labels() if name in needed]
    if not listed:
        return "no dataset"
    return "any dataset" if len(listed) == len(dataset_labels()) else ", ".join(listed)


# -- the actions


def _run(options: argparse.Namespace) -> int:
    # 1. the scope
    scope = QUICK if options.quick else Scope()
    if options.datasets:
        scope = replace(scope, datasets=tuple(options.datasets))
    if options.seeds is not None:
        scope = replace(scope, n_seeds=options.seeds)
    if options.time_limit is not None:
        scope = replace(scope, time_limit=options.time_limit)
    # 2. the cells; tables and figures without cells in this scope are listed
    wanted = cells(_experiments(options), scope)
    for message in _without_cells(options, scope):
        _log(message)
    if not wanted:
        return _no_result("Nothing to run.")
    # 3. run them; the status for a lost worker is 1, as it is not a user error
    n_jobs = options.jobs or int(joblib.cpu_count())
    try:
        summary = run(wanted, Store(options.out), data=options.data, n_jobs=n_jobs, report=_log)
    except WorkerLostError as error:
        return _no_result(str(error))
    print(
        f"{summary.finished} finished, {summary.resumed} already recorded; records in "
        f"{options.out / 'records'}"
    )
    for failure in summary.failed:
        _log(f"Failed: {failure}")
    if summary.interrupted:
        _log("Interrupted; the same command resumes the run.")
        return INTERRUPTED
    if summary.stopped:
        _log(summary.stopped)
    if summary.stopped or summary.damaged:
        return ERROR
    if summary.missing and not (summary.finished or summary.resumed or summary.failed):
        return _no_result("Nothing to run: none of the datasets was found.")
    # a missing dataset is an error only if it was named
    if summary.missing and options.datasets:
        return ERROR
    return NO_RESULT if summary.failed else 0


def _experiments(options: argparse.Namespace) -> list[str]:
    """Return the experiments that the options of a run name."""
    wanted = [name for table in options.table for name in EXPERIMENTS_OF_TABLE[table]]
    wanted += [name for figure in options.figure for name in EXPERIMENTS_OF_FIGURE[figure]]
    # --quick alone means every experiment; with --table or --figure it means theirs
    if options.all or (options.quick and not wanted):
        return list(EXPERIMENTS)
    if not wanted:
        raise ValueError(
            f"Select what to run: --all, --quick, --table {' | '.join(EXPERIMENTS_OF_TABLE)}, "
            f"--figure {' | '.join(EXPERIMENTS_OF_FIGURE)}."
        )
    return wanted


def _without_cells(options: argparse.Namespace, scope: Scope) -> list[str]:
    """Return a message for every selected table and figure without cells in a scope."""
    named = [("table", name, EXPERIMENTS_OF_TABLE[name]) for name in options.table]
    named += [("figure", name, EXPERIMENTS_OF_FIGURE[name]) for name in options.figure]
    return [
        f"Nothing to run for the {kind} {name!r}: it needs {_needs(experiments)}, but the selected "
        f"datasets are {', '.join(scope.datasets)}."
        for kind, name, experiments in named
        if not cells(experiments, scope)
    ]


def _table(options: argparse.Namespace) -> int:
    table = TABLES[options.name](_records(options))
    if table.is_empty:
        return _no_records(options, "table")
    text = FORMATS[options.format](table)
    if options.to is None:
        print(text)
    else:
        write_text(options.to, text + "\n")
    return 0


def _figure(options: argparse.Namespace) -> int:
    records = _records(options)
    if not {*EXPERIMENTS_OF_FIGURE[options.name]} <= {record["experiment"] for record in records}:
        return _no_records(options, "figure")
    for path in save(FIGURES[options.name], records, options.to or options.out):
        print(path)
    return 0


def _report(options: argparse.Namespace) -> int:
    records = _records(options)
    content = contents(records)
    if not content.items:
        return _no_result(
            f"There are no records in {options.out / 'records'} for any table or figure; create "
            f"some with '{PROGRAM} run --quick --out {options.out}'."
        )
    page = options.to or options.out / "report.html"
    write_html(records, page, content)
    print(page)
    if options.markdown is not None:
        write_markdown(records, options.markdown, options.out, content)
        print(options.markdown)
    return 0


def _records(options: argparse.Namespace) -> list[Record]:
    """Return the records of a folder, or none if it does not exist."""
    return list(Store(options.out))


def _no_records(options: argparse.Namespace, kind: str) -> int:
    """Write how to create the missing records, and return the exit status."""
    return _no_result(
        f"There are no records for the {kind} {options.name!r} in {options.out / 'records'}; "
        f"create them with '{PROGRAM} run --{kind} {options.name} --out {options.out}'."
    )


if __name__ == "__main__":
    sys.exit(main())

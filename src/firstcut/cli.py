"""The command line: ``firstcut paper run``, ``table``, ``figure`` and ``report``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from firstcut import __version__

DEFAULT_OUT = "paper-results"
"""Folder of records, tables and figures unless another is named."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    options = _parser().parse_args(arguments)
    try:
        status: int = options.command(options)
    except (ValueError, FileNotFoundError, ImportError) as error:
        print(f"firstcut: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # the reader has gone; closing the stream at exit would complain about that again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
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
    from firstcut import datasets
    from firstcut.inputs import check_choice, check_count
    from firstcut.paper.experiments import (
        EXPERIMENTS,
        FIGURES,
        N_SEEDS,
        QUICK_DATASETS,
        TABLES,
        Scope,
        cells,
    )
    from firstcut.paper.records import Store
    from firstcut.paper.runs import run

    wanted = [
        name for table in options.table for name in TABLES[check_choice("table", table, TABLES)]
    ]
    for figure in options.figure:
        wanted.extend(FIGURES[check_choice("figure", figure, FIGURES)])
    if options.all or (options.quick and not wanted):
        wanted = list(EXPERIMENTS)
    if not wanted:
        raise ValueError(
            f"Say what to run: --all, --quick, --table {' | '.join(TABLES)}, "
            f"--figure {' | '.join(FIGURES)}."
        )
    n_seeds = options.seeds if options.seeds is not None else 2 if options.quick else N_SEEDS
    chosen = options.datasets or (QUICK_DATASETS if options.quick else Scope.datasets)
    known = tuple(check_choice("dataset", name.lower(), datasets.names()) for name in chosen)
    few = {"n_batches": 1, "batch": 10} if options.quick else {}
    scope = Scope(known, check_count("seeds", n_seeds), **few)
    n_jobs = _cores() if options.jobs is None else check_count("jobs", options.jobs)

    summary = run(cells(wanted, scope), Store(options.out), data=options.data, n_jobs=n_jobs)
    print(
        f"{summary.finished} run, {summary.resumed} there already; records in "
        f"{options.out / 'records'}"
    )
    for name, why in summary.missing.items():
        print(f"Left out {name}: {why}", file=sys.stderr)
    for failure in summary.failed:
        print(f"Failed: {failure}", file=sys.stderr)
    if summary.interrupted:
        print("Interrupted; the same command continues.", file=sys.stderr)
        return 130
    return 1 if summary.failed else 0


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _table(options: argparse.Namespace) -> int:
    from firstcut.inputs import check_choice
    from firstcut.paper.records import Store
    from firstcut.paper.rendering import FORMATS
    from firstcut.paper.tables import TABLES

    build = TABLES[check_choice("table", options.name, TABLES)]
    render = FORMATS[check_choice("format", options.format, FORMATS)]
    text = render(build(list(Store(options.out))))
    if options.to is None:
        print(text)
    else:
        options.to.write_text(text + "\n", encoding="utf-8")
    return 0


def _figure(options: argparse.Namespace) -> int:
    from functools import partial

    from firstcut.inputs import check_choice
    from firstcut.paper.figures import FIGURES, save
    from firstcut.paper.records import Store

    draw = FIGURES[check_choice("figure", options.name, FIGURES)]
    folder = options.to or options.out
    for path in save(partial(draw, list(Store(options.out))), folder, options.name):
        print(path)
    return 0


def _report(options: argparse.Namespace) -> int:
    from firstcut.paper.page import write_markdown
    from firstcut.paper.records import Store
    from firstcut.paper.report import write_html

    records = list(Store(options.out))
    if not records:
        raise ValueError(
            f"There are no records in {options.out / 'records'}; make some with "
            f"'firstcut paper run --quick --out {options.out}'."
        )
    page = options.to or options.out / "report.html"
    write_html(records, page)
    print(page)
    if options.markdown is not None:
        write_markdown(records, options.markdown, options.out)
        print(options.markdown)
    return 0


if __name__ == "__main__":
    sys.exit(main())

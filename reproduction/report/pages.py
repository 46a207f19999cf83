"""The two pages: an HTML file with everything, and a shorter Markdown page with separate files.

Their layout is in ``templates``. Needs jinja2.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from reproduction.datasets import ENVIRONMENT
from reproduction.files import write_text
from reproduction.report.brief import brief
from reproduction.report.contents import Contents, contents
from reproduction.report.drawing import PALETTE, inline_panels, save
from reproduction.report.formats import (
    FORMATS,
    MARKS,
    escaped,
    markdown,
    shown,
    shown_paper,
    shown_range,
)
from reproduction.report.reasons import Reason
from reproduction.report.summary import ABBREVIATIONS, REFERENCE
from reproduction.report.table import Entry, Table
from reproduction.runs.records import Record

if TYPE_CHECKING:
    from jinja2 import Template

ENDINGS = {"csv": "csv", "latex": "tex"}
"""The formats of the tables in files, and their suffixes."""

DIFFERENCES = ("table", "section", "row", "column", "ours", "paper", "reason", "evidence")
"""The header of the CSV file of all differences above 2%."""


def _template(name: str) -> Template:
    """Return a template that escapes HTML and raises for unknown names."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(name)


@dataclass(frozen=True)
class ShownEntry:
    """The texts of an entry on the page.

    ``verdict`` determines color and sign, ``seeds`` is the range over the seeds if they differ, and
    ``change`` is our value relative to the paper's for the verdicts "better" and "worse".
    """

    ours: str
    is_best: bool
    verdict: str
    seeds: str
    paper: str
    change: str


@dataclass(frozen=True)
class ShownBlock:
    """The texts of a section of a table on the page."""

    title: str
    heads: tuple[str, ...]
    rows: list[tuple[str, list[ShownEntry]]]


def write_html(records: list[Record], path: Path, content: Contents | None = None) -> None:
    """Write the HTML page, a single self-contained file.

    Parameters
    ----------
    records : list of records
    path : Path
        Its folder is created if it does not exist.
    content : Contents, optional
        The contents for these records, if already computed.
    """
    page = _template("page.html")
    content = content or contents(records)
    html = page.render(
        reference=REFERENCE,
        abbreviations=ABBREVIATIONS,
        palette=PALETTE,
        marks=MARKS,
        page=content,
        blocks={item.table.name: _blocks(item.table) for item in content.items if item.table},
        drawings={
            item.figure.name: inline_panels(item.figure, records)
            for item in content.items
            if item.figure
        },
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, html)


def _blocks(table: Table) -> list[ShownBlock]:
    """Return the sections of a table with rows."""
    return [
        ShownBlock(
            section.title,
            section.heads,
            [
                (
                    label,
                    [
                        _entry(table, entry, best)
                        for entry, best in zip(row, table.best_of(section, row), strict=True)
                    ],
                )
                for label, row in section.rows
            ],
        )
        for section in table.sections
        if section.rows
    ]


def _entry(table: Table, entry: Entry, best: bool) -> ShownEntry:
    verdict = entry.verdict(larger_is_better=table.best == "large")
    change = ""
    if verdict in ("better", "worse") and entry.difference is not None:
        change = f"{entry.difference:+.0%}".replace("-", "−")
    return ShownEntry(
        shown(entry, table.digits),
        best,
        verdict,
        shown_range(entry, table.digits),
        shown_paper(entry, table.digits),
        change,
    )


def write_markdown(
    records: list[Record], path: Path, folder: Path, content: Contents | None = None
) -> None:
    """Write the Markdown page, and all tables and figures as files next to the records.

    Parameters
    ----------
    records : list of records
    path : Path
    folder : Path
        The folder of the records, in which tables (CSV, LaTeX) and figures (PNG, SVG) are written.
    content : Contents, optional
        The contents for these records, if already computed.
    """
    page = _template("page.md")
    content = content or contents(records)
    path.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    for item in content.items:
        if item.figure is not None:
            save(item.figure, records, folder)
        if item.table is not None:
            for kind, ending in ENDINGS.items():
                text = FORMATS[kind](item.table) + "\n"
                write_text(folder / f"{item.table.name}.{ending}", text)
    if content.reasons:
        write_text(folder / "differences.csv", _differences(content.reasons))
    text = page.render(
        reference=REFERENCE,
        abbreviations=ABBREVIATIONS,
        page=content,
        marks=MARKS,
        markdown=markdown,
        brief=brief,
        escaped=escaped,
        # the path from the page to the files, with / on every system
        files=quote(Path(os.path.relpath(folder, path.parent)).as_posix()),
        environment=ENVIRONMENT,
        # for the shell
        folder=shlex.quote(str(folder)),
        path=shlex.quote(str(path)),
    )
    write_text(path, text)


def _differences(reasons: list[Reason]) -> str:
    """Return all differences above 2% as CSV, with their reasons."""
    import pandas as pd

    rows = [
        [d.table, d.cut, d.row, d.column, f"{d.ours:.9g}", str(d.paper), reason.text, d.detail]
        for reason in reasons
        for d in reason.places
    ]
    text: str = pd.DataFrame(rows, columns=DIFFERENCES).to_csv(index=False, lineterminator="\n")
    return text

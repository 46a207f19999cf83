"""Everything on one page: an HTML file that needs nothing else, ours beside the paper's.

What is shown is made here; how it looks is in ``templates/page.html`` and ``templates/style.css``.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from firstcut.paper.data.whole_files import write_whole
from firstcut.paper.report.drawing import Figure, save
from firstcut.paper.report.formats import shown, shown_paper
from firstcut.paper.report.page_contents import contents
from firstcut.paper.report.settings import REFERENCE
from firstcut.paper.report.table import Entry, Table
from firstcut.paper.report.templating import template
from firstcut.paper.runs.records import Record


@dataclass(frozen=True)
class ShownEntry:
    """An entry as the page shows it.

    ``verdict`` colours it; ``seeds`` is what is told when the pointer rests on it; ``change`` is
    ours relative to the paper's, where that is worth telling.
    """

    ours: str
    is_best: bool
    verdict: str
    seeds: str
    paper: str
    change: str


@dataclass(frozen=True)
class ShownBlock:
    """A section of a table as the page shows it."""

    title: str
    heads: tuple[str, ...]
    rows: list[tuple[str, list[ShownEntry]]]


def write_html(records: list[Record], path: Path) -> None:
    """Write the page.

    Parameters
    ----------
    records : list of records
    path : Path
        The file; its folder is made if need be.
    """
    page = template("page.html")
    found = contents(records)
    html = page.render(
        reference=REFERENCE,
        page=found,
        blocks={item.table.name: _blocks(item.table) for item in found.items if item.table},
        drawings={
            item.figure.name: _drawing(item.figure, records) for item in found.items if item.figure
        },
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, html)


def _blocks(table: Table) -> list[ShownBlock]:
    """Return the sections of a table that have rows."""
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
    digits, ours = table.digits, entry.ours
    verdict = entry.verdict(larger_is_better=table.best == "large")
    seeds = ""
    if len(ours) > 1:
        seeds = f"{len(ours)} seeds, {min(ours):.{digits}f} to {max(ours):.{digits}f}"
    change = ""
    # not where numbers agree or nearly do: the page would be full of zeros
    if verdict in ("better", "worse") and entry.difference is not None:
        change = f"{entry.difference:+.0%}"
    return ShownEntry(
        shown(entry, digits), best, verdict, seeds, shown_paper(entry, digits), change
    )


def _drawing(figure: Figure, records: list[Record]) -> str:
    """Return a figure as SVG to stand inside the page."""
    with tempfile.TemporaryDirectory() as folder:
        files = save(figure, records, Path(folder))
        svg = next(path for path in files if path.suffix == ".svg").read_text(encoding="utf-8")
    # the XML declaration before it has no place inside a page
    svg = svg[svg.index("<svg") :]
    # names inside a drawing must be the only ones of their kind on the whole page
    for before in ('id="', "url(#", 'xlink:href="#'):
        svg = svg.replace(before, f"{before}{figure.name}-")
    return svg

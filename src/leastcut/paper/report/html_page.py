"""Everything on one page: an HTML file that needs nothing else, ours beside the paper's.

What is shown is made here; how it looks is in ``templates/page.html`` and
``leastcut.page_design``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from leastcut.files.whole_files import write_whole
from leastcut.page_design.figures import inline_svg
from leastcut.page_design.palette import PALETTE
from leastcut.page_design.templating import template
from leastcut.paper.report.drawing import EXTRA, Figure, svg_panels
from leastcut.paper.report.formats import MARKS, shown, shown_paper, shown_range
from leastcut.paper.report.page_contents import Contents, contents
from leastcut.paper.report.settings import ABBREVIATIONS, REFERENCE
from leastcut.paper.report.table import Entry, Table
from leastcut.paper.runs.records import Record


@dataclass(frozen=True)
class ShownEntry:
    """An entry as the page shows it.

    ``verdict`` colours and marks it; ``seeds`` is the range over the seeds, where they differ;
    ``change`` is ours relative to the paper's, where that is worth telling.
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


def write_html(records: list[Record], path: Path, found: Contents | None = None) -> None:
    """Write the page.

    Parameters
    ----------
    records : list of records
    path : Path
        The file; its folder is made if need be.
    found : Contents, optional
        The contents of the records, where they are known already.
    """
    page = template("leastcut.paper.report", "page.html", EXTRA)
    found = found or contents(records)
    html = page.render(
        reference=REFERENCE,
        abbreviations=ABBREVIATIONS,
        palette=PALETTE,
        marks=MARKS,
        page=found,
        blocks={item.table.name: _blocks(item.table) for item in found.items if item.table},
        drawings={
            item.figure.name: _drawings(item.figure, records) for item in found.items if item.figure
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
    verdict = entry.verdict(larger_is_better=table.best == "large")
    change = ""
    # not where numbers agree or nearly do: the page would be full of zeros
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


def _drawings(figure: Figure, records: list[Record]) -> list[str]:
    """Return the panels of a figure as SVG to stand inside the page, in the page's colours."""
    return [
        inline_svg(svg, f"{figure.name}-{number}", title)
        for number, (title, svg) in enumerate(svg_panels(figure, records))
    ]

"""The same as a Markdown page, for the documentation, with tables and figures in files beside it.

How it looks is in ``templates/page.md``.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from urllib.parse import quote

from leastcut.files.whole_files import write_whole
from leastcut.page_design.templating import template
from leastcut.paper.data.datasets import ENVIRONMENT
from leastcut.paper.report.drawing import EXTRA, save
from leastcut.paper.report.formats import FORMATS, MARKS, escaped, markdown
from leastcut.paper.report.page_contents import Contents, contents
from leastcut.paper.report.settings import ABBREVIATIONS, REFERENCE
from leastcut.paper.runs.records import Record

ENDINGS = {"csv": "csv", "latex": "tex"}
"""Formats in which the tables lie beside the page, and how their files end."""


def write_markdown(
    records: list[Record], path: Path, folder: Path, found: Contents | None = None
) -> None:
    """Write the page, and tables and figures beside the records.

    Parameters
    ----------
    records : list of records
    path : Path
        The page.
    folder : Path
        The folder of the records; tables (CSV, LaTeX) and figures (PNG, SVG) go there.
    found : Contents, optional
        The contents of the records, where they are known already.
    """
    page = template("leastcut.paper.report", "page.md", EXTRA)
    found = found or contents(records)
    path.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    for item in found.items:
        if item.figure is not None:
            save(item.figure, records, folder)
        if item.table is not None:
            for kind, ending in ENDINGS.items():
                text = FORMATS[kind](item.table) + "\n"
                write_whole(folder / f"{item.table.name}.{ending}", text)
    text = page.render(
        reference=REFERENCE,
        abbreviations=ABBREVIATIONS,
        page=found,
        marks=MARKS,
        markdown=markdown,
        escaped=escaped,
        # links from the page to the files, with / on every system
        beside=quote(Path(os.path.relpath(folder, path.parent)).as_posix()),
        environment=ENVIRONMENT,
        # in commands for a shell
        folder=shlex.quote(str(folder)),
        path=shlex.quote(str(path)),
    )
    write_whole(path, text)

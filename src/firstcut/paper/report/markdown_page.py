"""The same as a Markdown page, for the documentation, with tables and figures in files beside it.

How it looks is in ``templates/page.md``.
"""

from __future__ import annotations

import os
from pathlib import Path

from firstcut.paper.data.datasets import ENVIRONMENT
from firstcut.paper.report.drawing import save
from firstcut.paper.report.formats import FORMATS, markdown
from firstcut.paper.report.page_contents import contents
from firstcut.paper.report.settings import REFERENCE
from firstcut.paper.report.templating import template
from firstcut.paper.runs.records import Record

ENDINGS = {"csv": "csv", "latex": "tex"}
"""Formats in which the tables lie beside the page, and how their files end."""


def write_markdown(records: list[Record], path: Path, folder: Path) -> None:
    """Write the page, and tables and figures beside the records.

    Parameters
    ----------
    records : list of records
    path : Path
        The page.
    folder : Path
        The folder of the records; tables (CSV, LaTeX) and figures (PNG, SVG) go there.
    """
    page = template("page.md")
    found = contents(records)
    path.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    for item in found.items:
        if item.figure is not None:
            save(item.figure, records, folder)
        if item.table is not None:
            for kind, ending in ENDINGS.items():
                text = FORMATS[kind](item.table) + "\n"
                (folder / f"{item.table.name}.{ending}").write_text(text, encoding="utf-8")
    text = page.render(
        reference=REFERENCE,
        page=found,
        markdown=markdown,
        # links from the page to the files, with / on every system
        beside=Path(os.path.relpath(folder, path.parent)).as_posix(),
        environment=ENVIRONMENT,
        folder=folder,
        path=path,
    )
    path.write_text(text, encoding="utf-8")

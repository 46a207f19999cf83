"""The same as a Markdown page, for the documentation."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from firstcut.paper.figures import CAPTIONS, FIGURES, save
from firstcut.paper.findings import checks, differences
from firstcut.paper.flaws import flaws_of
from firstcut.paper.records import Record
from firstcut.paper.rendering import FORMATS
from firstcut.paper.report import HEADINGS, sections
from firstcut.paper.settings import REFERENCE, environments, settings

AGAIN = """\
```sh
export FIRSTCUT_DATA=...  # the folder of the datasets; what is missing is left out, and named
firstcut paper run --all --seeds 10 --jobs 2 --out {folder}
firstcut paper report --out {folder} --markdown {page}
```

Runs that have a record are not run again: remove `{folder}/records` to start from nothing.\
"""

ENDINGS = {"csv": "csv", "latex": "tex"}
"""Formats in which the tables lie beside the page."""


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
    path.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    beside = Path(os.path.relpath(folder, path.parent)).as_posix()
    blocks = ["# The paper, reproduced", REFERENCE, *_summary(records)]
    blocks.append(
        "In the tables: ours, the paper’s in brackets, the best of ours in bold. Medians over the "
        f"seeds. [Records]({beside}/records), [CSV and LaTeX]({beside}) and the "
        f"[same page in colours]({beside}/report.html) lie beside this page, which "
        "`firstcut paper report` wrote from the records."
    )
    for name, table in sections(records):
        if table is not None:
            blocks += [f"## {table.title}", FORMATS["markdown"](table)]
            for kind, ending in ENDINGS.items():
                text = FORMATS[kind](table) + "\n"
                (folder / f"{name}.{ending}").write_text(text, encoding="utf-8")
        else:
            save(partial(FIGURES[name], records), folder, name)
            blocks += [f"## {HEADINGS[name]}", f"![{HEADINGS[name]}]({beside}/{name}.svg)"]
            blocks.append(CAPTIONS[name])
        blocks += [f"> **In the paper.** {flaw.text}" for flaw in flaws_of(name)]
    blocks += _differences(records)
    blocks.append("## Settings")
    blocks.append("\n".join(f"- **{name}.** {text}" for name, text in settings(records)))
    blocks.append("\n".join(f"- {text}" for text in environments(records)))
    blocks += ["## How to make this page again", AGAIN.format(folder=folder, page=path)]
    path.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")


def _summary(records: list[Record]) -> list[str]:
    lines = [
        f"| {'yes' if check.holds else 'no'} | {check.text} | {check.met} of {check.of} |"
        for check in checks(records)
    ]
    return ["\n".join(["| holds | statement | cells |", "|---|---|---:|", *lines])] if lines else []


def _differences(records: list[Record]) -> list[str]:
    found = differences(records)
    if not found:
        return []
    lines = [
        "| table | row | cut | method | ours | paper | | likely reason |",
        "|---|---|---|---|---:|---:|---:|---|",
    ]
    lines += [
        f"| {d.table} | {d.row} | {d.cut} | {d.column} | {d.ours:.4f} | {d.paper:.4f} | "
        f"{d.relative:+.1%} | {d.reason} |"
        for d in found
    ]
    return ["## Every difference over 2%", "\n".join(lines)]

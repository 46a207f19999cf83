"""Everything on one page: an HTML file that needs nothing else, ours beside the paper's."""

from __future__ import annotations

import tempfile
from functools import partial
from html import escape
from pathlib import Path

from firstcut.paper.entries import AGREEMENT, Entry, Section, Table, select
from firstcut.paper.figures import CAPTIONS, FIGURES, save
from firstcut.paper.findings import checks, differences
from firstcut.paper.flaws import flaws_of
from firstcut.paper.records import Record
from firstcut.paper.rendering import shown, shown_paper
from firstcut.paper.settings import REFERENCE, environments, settings
from firstcut.paper.tables import TABLES

ORDER = (
    "datasets",
    "motivation",
    "closest",
    "tiny",
    "objective",
    "accuracy",
    "nmi",
    "restarts",
    "sensitivity",
    "convergence",
    "theorem1",
    "theorem2",
    "seconds",
)
"""Tables and figures in the order of the page."""

HEADINGS = {
    "motivation": "The closest is not the best",
    "closest": "Random graphs",
    "sensitivity": "Sensitivity to η",
    "convergence": "Convergence",
}
"""Headings of the figures; tables have titles of their own."""

SHORT = {
    "tiny": "Tiny datasets",
    "nmi": "Normalized mutual information",
    "restarts": "Starts",
    "theorem1": "Theorem 1",
    "theorem2": "Theorem 2",
    "seconds": "Seconds",
}
"""What the contents call a table whose title is long."""


def sections(records: list[Record]) -> list[tuple[str, Table | None]]:
    """Return the names of what there are records for, with the table where it is one."""
    from firstcut.paper.experiments import FIGURES as EXPERIMENTS_OF

    found: list[tuple[str, Table | None]] = []
    for name in ORDER:
        if name in TABLES:
            table = TABLES[name](records)
            if any(section.rows for section in table.sections):
                found.append((name, table))
        elif any(select(records, experiment) for experiment in EXPERIMENTS_OF[name]):
            found.append((name, None))
    return found


def write_html(records: list[Record], path: Path) -> None:
    """Write the page.

    Parameters
    ----------
    records : list of records
    path : Path
        The file; its folder is made if need be.
    """
    blocks = [_summary(records)]
    contents = []
    for name, table in sections(records):
        title = table.title if table is not None else HEADINGS[name]
        contents.append(f'<a href="#{name}">{escape(SHORT.get(name, title))}</a>')
        body = _table(table) if table is not None else _figure(name, records)
        notes = "".join(f"<p>{escape(note)}</p>" for note in (table.notes if table else ()))
        asides = "".join(
            f'<aside data-flaw="{escape(flaw.name)}"><b>In the paper.</b> '
            f"{escape(flaw.text)}</aside>"
            for flaw in flaws_of(name)
        )
        blocks.append(
            f'<section id="{name}"><h2>{escape(title)}</h2>{notes}{body}{asides}</section>'
        )
    blocks.append(_differences(records))
    page = TEMPLATE.format(
        style=STYLE,
        reference=escape(REFERENCE),
        contents=" · ".join(contents),
        legend=LEGEND,
        body="\n".join(blocks),
        foot=_foot(records),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")


def verdict(entry: Entry, *, larger_is_better: bool) -> str:
    """Return how a cell compares with the paper's: same, near, better, worse, or nothing."""
    if entry.paper is None or entry.value is None:
        return ""
    if entry.agrees:
        return "same"
    difference = entry.difference
    if difference is not None and abs(difference) <= AGREEMENT:
        return "near"
    return "better" if (entry.value > entry.paper) == larger_is_better else "worse"


def _summary(records: list[Record]) -> str:
    rows = "".join(
        f'<tr class="{"holds" if check.holds else "fails"}"><td>{"✓" if check.holds else "✗"}</td>'
        f"<td>{escape(check.text)}</td><td>{check.met} of {check.of}</td></tr>"
        for check in checks(records)
    )
    return f'<section id="summary"><h2>In short</h2><table class="checks">{rows}</table></section>'


def _table(table: Table) -> str:
    return "".join(_block(table, section) for section in table.sections if section.rows)


def _block(table: Table, section: Section) -> str:
    head = "".join(f"<th>{escape(text)}</th>" for text in section.heads)
    rows = []
    for label, row in section.rows:
        cells = [
            _cell(table, entry, best)
            for entry, best in zip(row, table.best_of(section, row), strict=True)
        ]
        rows.append(f"<tr><th>{escape(label)}</th>{''.join(cells)}</tr>")
    return (
        f'<div class="wide"><table class="values" data-table="{table.name}" '
        f'data-section="{escape(section.title)}"><thead><tr><th>{escape(section.title)}</th>{head}'
        f"</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _cell(table: Table, entry: Entry, best: bool) -> str:
    kind = verdict(entry, larger_is_better=table.best == "large")
    paper = shown_paper(entry, table.digits)
    title = ""
    if len(entry.ours) > 1:
        title = (
            f' title="{len(entry.ours)} seeds, {min(entry.ours):.{table.digits}f} to '
            f'{max(entry.ours):.{table.digits}f}"'
        )
    ours = shown(entry, table.digits)
    text = f"<b>{ours}</b>" if best else f"<span>{ours}</span>"
    if paper:
        change = ""
        if kind in ("better", "worse") and entry.difference is not None:
            change = f" {entry.difference:+.0%}"
        text += f"<small>{paper}{change}</small>"
    return f'<td class="{kind}"{title}>{text}</td>'


def _figure(name: str, records: list[Record]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        files = save(partial(FIGURES[name], records), Path(folder), name)
        svg = next(path for path in files if path.suffix == ".svg").read_text(encoding="utf-8")
    drawing = (
        svg[svg.index("<svg") :].replace('id="', f'id="{name}-').replace("url(#", f"url(#{name}-")
    )
    drawing = drawing.replace('xlink:href="#', f'xlink:href="#{name}-')
    return f"<figure>{drawing}<figcaption>{escape(CAPTIONS[name])}</figcaption></figure>"


def _differences(records: list[Record]) -> str:
    rows = "".join(
        f"<tr><td>{d.table}</td><td>{escape(d.row)}</td><td>{escape(d.cut)}</td>"
        f"<td>{escape(d.column)}</td><td>{d.ours:.4f}</td><td>{d.paper:.4f}</td>"
        f"<td>{d.relative:+.1%}</td><td>{escape(d.reason)}</td></tr>"
        for d in differences(records)
    )
    if not rows:
        return ""
    heads = ("table", "row", "cut", "method", "ours", "paper", "", "likely reason")
    head = "".join(f"<th>{text}</th>" for text in heads)
    return (
        '<section id="differences"><h2>Every difference over 2%</h2><div class="wide">'
        f'<table class="list"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
        "</section>"
    )


def _foot(records: list[Record]) -> str:
    lines = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in settings(records)
    )
    made = "".join(f"<dd>{escape(text)}</dd>" for text in environments(records))
    return f"<dl>{lines}<dt>Versions and machine</dt>{made}</dl>"


LEGEND = (
    '<p class="legend">In every cell: ours, and below it the paper’s. '
    '<span class="same">the paper’s, to the digits it prints</span> '
    '<span class="near">within 2%</span> <span class="better">better by more</span> '
    '<span class="worse">worse by more</span> <b>bold</b>: the best of ours in its row. '
    "Medians over the seeds; the range is shown when the pointer rests on a cell.</p>"
)

STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; color: #1f2933;
  background: #fff; margin: 0 auto; max-width: 74rem; padding: 2.5rem 1.5rem 4rem; }
h1 { font-size: 1.7rem; font-weight: 600; margin: 0 0 .3rem; letter-spacing: -.01em; }
h2 { font-size: 1.15rem; font-weight: 600; margin: 2.6rem 0 .6rem; }
p, aside, dd, figcaption { max-width: 52rem; }
header p { margin: .3rem 0; color: #52606d; }
nav { margin-top: 1rem; font-size: .87rem; line-height: 1.9; max-width: 52rem; }
nav a { white-space: nowrap; }
a { color: #2b6cb0; text-decoration: none; } a:hover { text-decoration: underline; }
.wide { overflow-x: auto; margin: .8rem 0 1.4rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .83rem; }
.values thead th { text-align: right; font-weight: 500; color: #52606d; vertical-align: bottom;
  border-bottom: 1px solid #9aa5b1; padding: .25rem .55rem; max-width: 5.2rem; }
.values thead th:first-child { text-align: left; color: #1f2933; font-weight: 600;
  max-width: none; white-space: nowrap; padding-left: .1rem; }
.values tbody th { text-align: left; font-weight: 500; padding: .25rem .9rem .25rem .1rem;
  vertical-align: top; white-space: nowrap; }
.values td { text-align: right; padding: .25rem .55rem; vertical-align: top;
  border-bottom: 1px solid #edf0f3; white-space: nowrap; }
.values small { display: block; color: #7b8794; font-size: .92em; line-height: 1.25; }
.same { background: #eef7ee; } .near { background: #f7f7f2; }
.better { background: #e1eefb; } .worse { background: #fdebd8; }
.legend { font-size: .87rem; color: #52606d; } .legend span { padding: .1rem .4rem;
  white-space: nowrap; }
.checks td { padding: .2rem .7rem .2rem 0; } .checks td:last-child { text-align: right; }
.holds td:first-child { color: #2f855a; } .fails td:first-child { color: #c05621; }
.list th { text-align: left; font-weight: 500; color: #52606d; border-bottom: 1px solid #9aa5b1; }
.list th, .list td { padding: .25rem .8rem .25rem 0; vertical-align: top; }
.list td { border-bottom: 1px solid #edf0f3; } .list td:nth-child(n+5):nth-child(-n+7) {
  text-align: right; } .list td:last-child { min-width: 22rem; }
aside { border-left: 3px solid #d9b36c; padding: .1rem 0 .1rem .9rem; margin: .7rem 0;
  font-size: .9rem; color: #3e4c59; }
figure { margin: .8rem 0; } figure svg { max-width: 100%; height: auto; }
figcaption { font-size: .87rem; color: #52606d; }
footer { margin-top: 3rem; border-top: 1px solid #d3dae0; padding-top: 1rem; font-size: .85rem;
  color: #52606d; }
dl { display: grid; grid-template-columns: 11rem 1fr; gap: .3rem 1rem; }
dt { font-weight: 500; color: #1f2933; grid-column: 1; } dd { margin: 0; grid-column: 2; }
"""

TEMPLATE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>firstcut: the paper, reproduced</title><style>{style}</style></head>
<body><header><h1>The paper, reproduced</h1><p>{reference}</p>
<nav>{contents} · <a href="#differences">Differences</a></nav></header>
{legend}
{body}
<footer><h2>Settings</h2>{foot}</footer></body></html>
"""

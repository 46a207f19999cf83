"""HTML representations of results for notebooks: small tables with inline styles.

Colors work in light and dark notebooks. Displaying a result never starts a computation: the cut
values of a path, for example, can take minutes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from leastcut.formatting import counted, gap_in_words, label_counts, percent, plain

MOST_BARS = 20  # clusters or eigenvalues shown individually
MOST_ROWS = 40  # rows of a table that are shown
BAR = "#4787c4"  # contrast of at least 3:1 on white and on near-black
LINE = "1px solid rgba(128,128,128,.45)"
# Resets the table styles of notebooks.
CELL = "padding:.15em .7em;border:0;background:none;color:inherit"
ROW = '<tr style="background:none">{}</tr>'


def partition_html(partition: Any) -> str:
    """Return the cut value, lower bound, gap and cluster sizes of a partition as HTML."""
    return _partition("Partition", partition, {"cut value": partition.cut_value}, {})


def views_html(partition: Any) -> str:
    """Return the objective, cuts by view and cluster sizes of a partition of views as HTML."""
    views = zip(partition.cuts[:MOST_ROWS], partition.weights, strict=False)
    texts = {
        f"view {v}": f"cut {plain(cut)}, weight {plain(weight)}"
        for v, (cut, weight) in enumerate(views)
    }
    return _partition("PartitionOfViews", partition, {"objective": partition.objective}, texts)


def _partition(kind: str, partition: Any, value: dict[str, float], further: dict[str, str]) -> str:
    labels = np.asarray(partition.labels)
    names, sizes = label_counts(labels)
    facts = {name: plain(number) for name, number in value.items()}
    bound = partition.lower_bound
    facts["lower bound"] = "not computed" if bound is None else plain(bound)
    facts |= {"gap": gap_in_words(partition.gap), **further}
    title = f"{counted(labels.size, 'node')} in {counted(len(sizes), 'cluster')}"
    return _page(
        kind, title, _facts(facts), _bars("cluster", "nodes", list(map(str, names)), sizes)
    )


def path_html(path: Any) -> str:
    """Return a path as HTML: a row per number of clusters, the choice marked, and its reason."""
    # 1. Show only values that have been computed.
    computed = vars(path.source)
    numbers = list(path)
    at = numbers.index(path.best)
    marks = ["next" if number in path.choice.runners_up else "" for number in numbers]
    marks[at] = "◀ chosen"
    columns: dict[str, Sequence[str]] = {"clusters": [str(number) for number in numbers]}
    columns[""] = marks
    columns["evidence"] = [plain(value) for value in path.evidence]
    if "relaxation" in computed:
        columns["eigengap"] = [plain(value) for value in path.eigengaps]
        columns["lower bound"] = [plain(value) for value in path.lower_bounds]
    if "partitions" in computed:
        columns["cut value"] = [plain(value) for value in path.cut_values]
        if "relaxation" in computed:
            values, bounds = path.cut_values, path.lower_bounds
            gaps = (values - bounds) / np.where(values > 0.0, values, np.inf)
            columns["gap"] = [percent(gap) for gap in gaps]
    # 2. Show the rows around the choice.
    first = max(0, min(at - MOST_ROWS // 2, len(numbers) - MOST_ROWS))
    rows = list(zip(*columns.values(), strict=True))[first : first + MOST_ROWS]
    notes = [path.reason]
    if len(rows) < len(numbers):
        notes.append(f"{len(rows)} of {len(numbers)} rows; path.table() has all of them.")
    if "partitions" not in computed:
        notes.append("Cut values are not computed yet; path.cut_values computes them.")
    title = f"{numbers[0]} to {numbers[-1]} clusters, {path.best} chosen"
    table = _rows(list(columns), rows, bold=at - first)
    return _page("CutPath", title, *map(_paragraph, notes), table)


def relaxation_html(relaxation: Any) -> str:
    """Return the lower bound, solver and eigenvalues of a relaxation as HTML."""
    values = relaxation.eigenvalues
    state = "converged" if relaxation.converged else "not converged: the bound is not proven"
    facts = {
        "lower bound": f"{plain(relaxation.lower_bound)} for {relaxation.n_clusters} clusters",
        "solver": f"{relaxation.solver}, {state}",
    }
    nodes = counted(relaxation.n_nodes, "node")
    title = f"{counted(relaxation.n_clusters, 'eigenpair')} of {nodes}"
    names = [f"λ{number}" for number in range(1, values.size + 1)]
    return _page("Relaxation", title, _facts(facts), _bars("", "eigenvalue", names, values))


def columns_html(columns: Any) -> str:
    """Return the first rows of a table as HTML."""
    texts = [[plain(value) for value in column[:MOST_ROWS]] for column in columns.values()]
    n_more = columns.n_rows - MOST_ROWS
    more = [_paragraph(f"and {counted(n_more, 'more row')}")] if n_more > 0 else []
    return _page("", "", _rows(list(columns), zip(*texts, strict=True)), *more)


# -- elements


def _page(kind: str, title: str, *parts: str) -> str:
    """Return a heading followed by ``parts``."""
    heading = f"<div><b>{escape(kind)}</b> {escape(title)}</div>" if kind else ""
    return f'<div style="color:inherit;max-width:60em">{heading}{"".join(parts)}</div>'


def _paragraph(text: str) -> str:
    return f'<div style="margin:.3em 0">{escape(text)}</div>'


def _facts(facts: dict[str, str]) -> str:
    """Return a table of names and texts, one pair per row."""
    style, left = "white-space:nowrap;font-weight:normal;opacity:.75", "text-align:left"
    pairs = ([_head(name, f"{left};{style}"), _cell(text, left)] for name, text in facts.items())
    return _table([], pairs)


def _rows(heads: list[str], rows: Iterable[Sequence[str]], bold: int = -1) -> str:
    """Return a table of numbers with row ``bold`` in bold; a column without a name holds text."""
    cells = []
    for i, row in enumerate(rows):
        style = f"white-space:nowrap{';font-weight:bold' if i == bold else ''};text-align:"
        pairs = zip(row, heads, strict=True)
        cells.append([_cell(text, style + ("right" if head else "left")) for text, head in pairs])
    return _table(heads, cells)


def _bars(kind: str, unit: str, names: list[str], sizes: np.ndarray) -> str:
    """Return a bar chart of the largest counts, or of the first eigenvalues."""
    kept, are_counts = np.arange(len(sizes)), sizes.dtype.kind in "iu"
    if len(sizes) > MOST_BARS and are_counts:
        kept = np.sort(np.argsort(-sizes, kind="stable")[:MOST_BARS])
    kept = kept[:MOST_BARS]
    most = float(sizes[kept].max(initial=0)) or 1.0
    rows = []
    for i in kept:
        width = max(0.0, 100.0 * float(sizes[i]) / most)
        bar = f'<div style="background:{BAR};height:.75em;width:{width:.1f}%"></div>'
        right = "text-align:right"
        number = _cell(plain(sizes[i]), right)
        rows.append([_head(names[i], right), number, _cell("", "width:14em;min-width:8em", bar)])
    n_more = len(sizes) - len(kept)
    text = f"and {n_more:,} more"
    if are_counts:
        others = int(sizes.sum() - sizes[kept].sum())
        text = f"and {n_more:,} smaller, with {others:,} {unit} in total"
    return _table([kind, unit, ""], rows) + (_paragraph(text) if n_more else "")


def _table(heads: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table with column names and rows of cells."""
    names = "".join(_head(head, f"text-align:right;border-bottom:{LINE}", "col") for head in heads)
    body = "".join(ROW.format("".join(cells)) for cells in rows)
    return (
        '<table style="border:0;border-collapse:collapse;margin:.3em 0;'
        'font-variant-numeric:tabular-nums">'
        f"{f'<thead>{ROW.format(names)}</thead>' if heads else ''}<tbody>{body}</tbody></table>"
    )


def _head(text: str, style: str, scope: str = "row") -> str:
    return f'<th scope="{scope}" style="{CELL};{style}">{escape(text)}</th>'


def _cell(text: str, style: str, markup: str = "") -> str:
    return f'<td style="{CELL};{style}">{escape(text)}{markup}</td>'

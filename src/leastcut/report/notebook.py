"""What notebooks show of results: small HTML tables that need nothing but themselves.

Text takes the colour of the page and lines are half-transparent, so that a light and a dark
notebook are served alike; bars have a colour of medium lightness, which both set off, and every
number that a bar stands for is written beside it. Styles are in the tags: there is no sheet that
could reach the rest of the page, and what takes the styles away leaves plain tables.

Showing never computes what is not there yet: a path of a fitted model can take minutes. The module
knows of no class of results, which ask it to be shown, and goes by what they have.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from leastcut.formatting import gap_in_words

MOST_BARS = 20
"""Clusters or eigenvalues that are shown one by one."""

MOST_ROWS = 40
"""Rows of a table that are shown."""

BAR = "#4787c4"
"""The colour of bars: a contrast of at least 3 to 1 on white and on near-black."""

LINE = "1px solid rgba(128,128,128,.45)"
"""The lines of a table."""

CELL = "padding:.15em .7em;border:0;background:none;color:inherit"
"""The style of a cell; it undoes what notebooks do to tables."""


def partition_html(found: Any) -> str:
    """Return a partition: its value, its bound, its gap in words, and the sizes of its clusters."""
    labels = np.asarray(found.labels)
    names, sizes = _sizes(labels)
    bound = None if found.lower_bound is None else _number(found.lower_bound)
    facts = {
        "cut value": _number(found.cut_value),
        "lower bound": "not computed" if bound is None else bound,
        "gap": gap_in_words(found.gap),
    }
    title = f"{_count(labels.size, 'node')} in {_count(len(sizes), 'cluster')}"
    bars = _bars("cluster", "nodes", names, sizes)
    return _page("Partition", title, _facts(facts), bars)


def views_html(found: Any) -> str:
    """Return a partition of several views: what it costs in all and in each, and the sizes."""
    labels = np.asarray(found.labels)
    names, sizes = _sizes(labels)
    bound = None if found.lower_bound is None else _number(found.lower_bound)
    facts = {
        "objective": _number(found.objective),
        "lower bound": "not computed" if bound is None else bound,
        "gap": gap_in_words(found.gap),
    }
    for v, (cut, weight) in enumerate(zip(found.cuts[:MOST_ROWS], found.weights, strict=False)):
        facts[f"view {v}"] = f"cut {_number(cut)}, weight {_number(weight)}"
    title = f"{_count(labels.size, 'node')} in {_count(len(sizes), 'cluster')}"
    bars = _bars("cluster", "nodes", names, sizes)
    return _page("PartitionOfViews", title, _facts(facts), bars)


def path_html(path: Any) -> str:
    """Return a path: a row for every number of clusters, the choice marked, and its reason."""
    # 1. What is there without computing anything: contents that were asked for are kept.
    there = vars(path.source)
    numbers = list(path)
    at = numbers.index(path.best)
    marks = ["next" if number in path.choice.runners_up else "" for number in numbers]
    marks[at] = "◀ chosen"
    columns: dict[str, Sequence[str]] = {"clusters": [str(number) for number in numbers]}
    columns[""] = marks
    columns["evidence"] = [_number(value) for value in path.evidence]
    if "relaxation" in there:
        columns["eigengap"] = [_number(value) for value in path.eigengaps]
        columns["lower bound"] = [_number(value) for value in path.lower_bounds]
    if "partitions" in there:
        columns["cut value"] = [_number(value) for value in path.cut_values]
        if "relaxation" in there:
            columns["gap"] = [
                _percent((value - bound) / value if value > 0.0 else 0.0)
                for value, bound in zip(path.cut_values, path.lower_bounds, strict=True)
            ]
    # 2. The rows around the choice.
    first = max(0, min(at - MOST_ROWS // 2, len(numbers) - MOST_ROWS))
    rows = [list(row) for row in zip(*columns.values(), strict=True)][first : first + MOST_ROWS]
    table = _table(list(columns), rows, strong=at - first)
    notes = [path.reason]
    if len(rows) < len(numbers):
        notes.append(f"{len(rows)} of {len(numbers)} rows; path.table() has all of them.")
    if "partitions" not in there:
        notes.append("Cut values are computed when they are asked for, as by path.cut_values.")
    title = f"{numbers[0]} to {numbers[-1]} clusters, {path.best} chosen"
    return _page("CutPath", title, *(_paragraph(note) for note in notes), table)


def relaxation_html(relaxation: Any) -> str:
    """Return a relaxation: what it proves, who computed it, and its eigenvalues."""
    values = relaxation.eigenvalues
    state = "converged" if relaxation.converged else "not converged: nothing is proven"
    facts = {
        "lower bound": f"{_number(relaxation.lower_bound)} into {relaxation.n_clusters} clusters",
        "solver": f"{relaxation.solver}, {state}",
    }
    nodes = _count(relaxation.n_nodes, "node")
    title = f"{_count(relaxation.n_clusters, 'eigenpair')} of {nodes}"
    names = [f"λ{number}" for number in range(1, values.size + 1)]
    return _page("Relaxation", title, _facts(facts), _bars("", "eigenvalue", names, values))


def columns_html(columns: Any) -> str:
    """Return a table, its first rows where there are many."""
    shown = [[_number(value) for value in column[:MOST_ROWS]] for column in columns.values()]
    table = _table(list(columns), [list(row) for row in zip(*shown, strict=True)])
    left = columns.n_rows - MOST_ROWS
    return _page("", "", table, _paragraph(f"and {_count(left, 'row')} more") if left > 0 else "")


# -- the parts of a page


def _page(kind: str, title: str, *parts: str) -> str:
    """Return what a notebook shows: a heading, and its parts below one another."""
    heading = f"<div><b>{escape(kind)}</b> {escape(title)}</div>" if kind else ""
    return f'<div style="color:inherit;max-width:60em">{heading}{"".join(parts)}</div>'


def _paragraph(text: str) -> str:
    return f'<div style="margin:.3em 0">{escape(text)}</div>'


def _facts(facts: dict[str, str]) -> str:
    """Return names and what they are, one pair a line."""
    rows = "".join(
        f'<tr style="background:none"><th scope="row" style="{CELL};text-align:left;'
        f'white-space:nowrap;font-weight:normal;opacity:.75">{escape(name)}</th>'
        f'<td style="{CELL};text-align:left">{escape(value)}</td></tr>'
        for name, value in facts.items()
    )
    return f'<table style="border:0;border-collapse:collapse;margin:.3em 0">{rows}</table>'


def _bars(kind: str, unit: str, names: list[str], sizes: np.ndarray) -> str:
    """Return a bar for every size, of the largest ones where there are many."""
    kept = np.arange(len(sizes))
    if len(sizes) > MOST_BARS:
        # The largest, in the order in which they come; of eigenvalues these are not the first.
        largest = np.argsort(-sizes, kind="stable")[:MOST_BARS]
        kept = np.sort(largest) if sizes.dtype.kind in "iu" else kept[:MOST_BARS]
    most = float(sizes[kept].max(initial=0)) or 1.0
    rows = []
    for i in kept:
        width = max(0.0, 100.0 * float(sizes[i]) / most)
        bar = f'<div style="background:{BAR};height:.75em;width:{width:.1f}%"></div>'
        rows.append(
            f'<tr style="background:none">'
            f'<th scope="row" style="{CELL};text-align:right">{escape(names[i])}</th>'
            f'<td style="{CELL};text-align:right">{_number(sizes[i])}</td>'
            f'<td style="{CELL};width:14em;min-width:8em">{bar}</td></tr>'
        )
    left = len(sizes) - len(kept)
    more = ""
    if left:
        words = f"and {left:,} more"
        if sizes.dtype.kind in "iu":
            others = int(sizes.sum() - sizes[kept].sum())
            words = f"and {left:,} smaller, with {others:,} {unit} together"
        more = _paragraph(words)
    return _frame([kind, unit, ""], rows) + more


def _table(heads: list[str], rows: list[list[str]], strong: int = -1) -> str:
    """Return a table of numbers, one row of it in bold."""
    lines = []
    # Words, as in a column without a name, begin at the left; numbers end at the right.
    sides = ["right" if head else "left" for head in heads]
    for number, row in enumerate(rows):
        weight = ";font-weight:bold" if number == strong else ""
        style = f"{CELL};white-space:nowrap{weight}"
        cells = "".join(
            f'<td style="{style};text-align:{side}">{escape(cell)}</td>'
            for side, cell in zip(sides, row, strict=True)
        )
        lines.append(f'<tr style="background:none">{cells}</tr>')
    return _frame(heads, lines)


def _frame(heads: list[str], rows: Iterable[str]) -> str:
    """Return rows under the names of their columns."""
    names = "".join(
        f'<th scope="col" style="{CELL};text-align:right;border-bottom:{LINE}">{escape(head)}</th>'
        for head in heads
    )
    return (
        '<table style="border:0;border-collapse:collapse;margin:.3em 0;'
        'font-variant-numeric:tabular-nums">'
        f'<thead><tr style="background:none">{names}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


# -- numbers


def _sizes(labels: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Return the labels that there are, and how often each is."""
    if (
        labels.dtype.kind in "iu"
        and labels.size
        and 0 <= labels.min() <= labels.max() < labels.size
    ):
        counts = np.bincount(labels)  # which needs no sorting
        return [str(label) for label in np.flatnonzero(counts)], counts[counts > 0]
    found, counts = np.unique(labels, return_counts=True)
    return [str(label) for label in found], counts


def _number(value: Any) -> str:
    """Return a number for people: whole ones with commas, others with four digits."""
    if isinstance(value, int | np.integer):
        return f"{int(value):,}"
    value = float(value)
    return "–" if math.isnan(value) else f"{value:.4g}"


def _percent(part: float) -> str:
    return f"{100.0 * part:.1f}%" if math.isfinite(part) else "–"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"

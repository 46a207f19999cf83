"""How results are shown: a table in the terminal, plain text elsewhere, and a bar meanwhile."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

MOST_ROWS = 30
"""Rows of a table that are shown; of more the first ones."""


def show(line: str, to_error: bool = False) -> None:
    """Show a line of text."""
    print(line, file=sys.stderr if to_error else sys.stdout)


def show_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1, to_error: bool = False
) -> None:
    """Show a table.

    Parameters
    ----------
    head : sequence of str
        What the columns are called.
    rows : sequence of sequence of str
    words : int, default=1
        How many columns at the left hold words; the others hold numbers, and are flush right.
    to_error : bool, default=False
        Whether it goes to the standard error.
    """
    shown = rows[:MOST_ROWS]
    file = sys.stderr if to_error else sys.stdout
    if _is_terminal(file):
        _rich_table(head, shown, words, file)
    else:
        widths = [max(len(row[i]) for row in (head, *shown)) for i in range(len(head))]
        for row in (head, *shown):
            cells = [
                cell.ljust(width) if i < words else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            print("  ".join(cells).rstrip(), file=file)
    if len(rows) > len(shown):
        print(f"... and {len(rows) - len(shown)} more", file=file)


def _is_terminal(file: TextIO) -> bool:
    try:
        return file.isatty()
    except ValueError:  # closed
        return False


def _rich_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], words: int, file: TextIO
) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for i, name in enumerate(head):
        table.add_column(Text(name), justify="left" if i < words else "right")
    for row in rows:
        # Text, as a name may hold what rich would take for a style
        table.add_row(*(Text(cell) for cell in row))
    Console(file=file).print(table)


@contextmanager
def bar(
    what: str, fraction: Callable[[Any], float], words: Callable[[Any], str]
) -> Iterator[Callable[[Any], None] | None]:
    """Return a context that gives a callback to draw a bar with; None where nobody would see it.

    Parameters
    ----------
    what : str
        What is being done.
    fraction : callable
        How much of it is done, from 0 to 1, of what the callback receives.
    words : callable
        What to say beside the bar.
    """
    if not _is_terminal(sys.stderr):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[words]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=1.0, words="")

        def listen(told: Any) -> None:
            progress.update(task, completed=fraction(told), words=words(told))

        yield listen

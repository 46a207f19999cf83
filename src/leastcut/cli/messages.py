"""What the command line writes: messages, tables and its exit status.

- 0: done.
- 1: the output was closed before everything was written to it.
- 2: what a user can correct: an unknown name, a file that cannot be read or written.
- 130: Ctrl-C.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

CLOSED, CORRECTABLE, INTERRUPTED = 1, 2, 130
"""Exit statuses; shells report Ctrl-C as 128 and the number of the signal."""

EXPECTED = (ValueError, TypeError, RuntimeError, OSError, ImportError)
"""Errors that say what is wrong and what to do."""

OPTIONS: dict[str, str] = {
    "isolated='ignore'": "--isolated ignore",
    "symmetrize=": "--symmetrize mean or --symmetrize max",
    "cut='ratio'": "--cut ratio",
    "time_limit": "--time-limit",
    "n_neighbors": "--neighbors",
    "metric=": "--metric",
    "leastcut.cut_path(": "--plot evidence.png --picture evidence",
}
"""What errors of the library call a remedy, and the option of the command line that it is."""

MOST_ROWS = 30
"""Rows of a table that are shown; of more the first ones."""


# -- errors and warnings


def log(message: object) -> None:
    """Write a message to the standard error, in one line."""
    print("leastcut:", " ".join(str(message).split()), file=sys.stderr)


@contextmanager
def logged(notes: list[str]) -> Iterator[Callable[[str], None]]:
    """Open a context in which warnings are written in a line each, and added to ``notes``.

    It gives a function that does so with a line.
    """

    def note(line: str) -> None:
        log(line)
        notes.append(line)

    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: note(with_options(str(message)))
        yield note


def guarded(work: Callable[[], int], debug: bool = False) -> int:
    """Do some work and return its exit status; errors become a line, and a trace if ``debug``."""
    try:
        with logged([]):
            status = work()
        sys.stdout.flush()  # a full disk shows here, where it can be reported
    except BrokenPipeError:
        _discard_output()
        return CLOSED
    except (Exception, KeyboardInterrupt) as error:
        if debug:
            traceback.print_exc()
        if isinstance(error, KeyboardInterrupt):
            log("Interrupted.")
            return INTERRUPTED
        log(_in_words(error))
        try:
            sys.stdout.flush()
        except OSError:
            _discard_output()
        return CORRECTABLE
    return status


def _in_words(error: BaseException) -> str:
    """Return what an error says, with the options that its remedies are here."""
    text = str(error) or type(error).__name__
    if isinstance(error, MemoryError):
        return f"There is not enough memory: {text}."
    if not isinstance(error, EXPECTED):
        return (
            f"Something went wrong that should not: {type(error).__name__}: {text}. With --debug "
            "you see where; please report it."
        )
    return with_options(text)


def with_options(text: str) -> str:
    """Return a message of the library with the options that its remedies are here."""
    named = [option for remedy, option in OPTIONS.items() if remedy in text and option not in text]
    return f"{text} (Here: {', '.join(named)}.)" if named else text


def _discard_output() -> None:
    """Point the standard output to nowhere: closing it at exit would fail once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# -- results


def is_terminal(file: TextIO) -> bool:
    """Return whether a file is a terminal."""
    try:
        return file.isatty()
    except ValueError:  # closed
        return False


def show(line: str, to_error: bool = False) -> None:
    """Show a line of text."""
    print(line, file=sys.stderr if to_error else sys.stdout)


def show_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], n_words: int = 1, to_error: bool = False
) -> None:
    """Show a table; its first ``n_words`` columns are words, the others numbers, flush right."""
    shown = rows[:MOST_ROWS]
    file = sys.stderr if to_error else sys.stdout
    if is_terminal(file):
        _show_rich_table(head, shown, n_words, file)
    else:
        from leastcut.formatting import text_table

        print(text_table(head, shown, n_words), file=file)
    if len(rows) > len(shown):
        print(f"... and {len(rows) - len(shown)} more", file=file)


def _show_rich_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], n_words: int, file: TextIO
) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for i, name in enumerate(head):
        table.add_column(Text(name), justify="left" if i < n_words else "right")
    for row in rows:
        # Text, as a name may hold what rich would take for a style
        table.add_row(*(Text(cell) for cell in row))
    Console(file=file).print(table)


def progress_bar() -> Any:
    """Return what ``callback`` is: a bar where somebody looks, else None."""
    return "tqdm" if is_terminal(sys.stderr) else None

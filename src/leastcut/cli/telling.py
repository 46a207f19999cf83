"""What the command line says of its work: lines on the standard error, and the exit status.

- 0: done.
- 1: the output was closed before everything was written to it.
- 2: what a user can mend: an unknown name, a file that cannot be read or written.
- 130: Ctrl-C.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

CLOSED = 1
"""The status if the output was closed by its reader."""

MENDABLE = 2
"""The status of what a user can mend."""

INTERRUPTED = 130
"""What shells say of Ctrl-C: 128 and the number of the signal."""

MENDED = (ValueError, TypeError, RuntimeError, OSError, ImportError)
"""Errors that say what is wrong and how to put it right."""

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


def tell(what: object) -> None:
    """Say something on the standard error, in one line."""
    print("leastcut:", " ".join(str(what).split()), file=sys.stderr)


@contextmanager
def noted(notes: list[str]) -> Iterator[Callable[[str], None]]:
    """Return a context in which warnings are told in a line each, and kept for the report.

    Parameters
    ----------
    notes : list of str
        They are added to it.

    Yields
    ------
    callable
        Tells a line, and keeps it.
    """

    def note(line: str) -> None:
        tell(line)
        notes.append(line)

    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: note(with_options(str(message)))
        yield note


def guarded(work: Callable[[], int], debug: bool = False) -> int:
    """Do some work and return its status; what goes wrong is told in a line.

    Parameters
    ----------
    work : callable
        Returns a status.
    debug : bool, default=False
        Whether to show where in the code an error came from.
    """
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            status = work()
        sys.stdout.flush()  # a disk that is full is noticed here, where it can be told
    except BrokenPipeError:
        _let_go_of_output()
        return CLOSED
    except Exception as error:
        # mostly what a user can mend: told in a line, without the trace
        if debug:
            traceback.print_exc()
        tell(in_words(error))
        try:
            sys.stdout.flush()
        except OSError:
            _let_go_of_output()
        return MENDABLE
    except KeyboardInterrupt:
        if debug:
            traceback.print_exc()
        tell("Interrupted.")
        return INTERRUPTED
    return status


def in_words(error: BaseException) -> str:
    """Return what an error says, with the options that its remedies are here."""
    text = str(error) or type(error).__name__
    if isinstance(error, MemoryError):
        return f"There is not enough memory: {text}."
    if not isinstance(error, MENDED):
        return (
            f"Something went wrong that should not: {type(error).__name__}: {text}. With --debug "
            "you see where; please report it."
        )
    return with_options(text)


def with_options(text: str) -> str:
    """Return what the library says, with the options that its remedies are here."""
    named = [option for remedy, option in OPTIONS.items() if remedy in text and option not in text]
    return f"{text} (Here: {', '.join(named)}.)" if named else text


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Take the place of Python's way to show a warning, which has the line of code with it."""
    tell(with_options(str(message)))


def _let_go_of_output() -> None:
    """Point the standard output to nowhere: closing it at exit would complain once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

"""Errors, warnings and the exit status of the command line.

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
from collections.abc import Callable, Iterator
from contextlib import contextmanager

CLOSED, CORRECTABLE, INTERRUPTED = 1, 2, 130  # shells report Ctrl-C as 128 and the signal's number

# Errors that say what is wrong and what to do.
EXPECTED = (ValueError, TypeError, RuntimeError, OSError, ImportError)

# What errors of the library call a remedy, and the option of the command line that it is.
OPTIONS: dict[str, str] = {
    "isolated='ignore'": "--isolated ignore",
    "symmetrize=": "--symmetrize mean or --symmetrize max",
    "cut='ratio'": "--cut ratio",
    "time_limit": "--time-limit",
    "n_neighbors": "--neighbors",
    "metric=": "--metric",
    "leastcut.cut_path(": "--plot evidence.png --picture evidence",
}


def log(message: object) -> None:
    """Write a message to the standard error, in one line."""
    print("leastcut:", " ".join(str(message).split()), file=sys.stderr)


@contextmanager
def logged(notes: list[str]) -> Iterator[Callable[[str], None]]:
    """Open a context in which warnings are logged, and added to ``notes``.

    It gives a function that does so with a line.
    """

    def note(line: str) -> None:
        log(line)
        notes.append(line)

    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: note(_with_options(str(message)))
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


def _in_words(error: Exception) -> str:
    text = str(error) or type(error).__name__
    if isinstance(error, MemoryError):
        return f"There is not enough memory: {text}."
    if not isinstance(error, EXPECTED):
        return (
            f"Something went wrong that should not: {type(error).__name__}: {text}. With --debug "
            "you see where; please report it."
        )
    return _with_options(text)


def _with_options(text: str) -> str:
    """Return a message of the library with the options that its remedies are here."""
    named = [option for remedy, option in OPTIONS.items() if remedy in text and option not in text]
    return f"{text} (Here: {', '.join(named)}.)" if named else text


def _discard_output() -> None:
    """Point the standard output to nowhere: closing it at exit would fail once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

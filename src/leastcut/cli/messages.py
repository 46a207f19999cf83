"""Errors, warnings and the exit status of the command line.

- 0: success.
- 1: the output was closed before everything was written to it.
- 2: an error, such as an unknown name or a file that cannot be read or written.
- 130: interrupted by Ctrl-C.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

CLOSED, ERROR, INTERRUPTED = 1, 2, 130  # shells report Ctrl-C as 128 plus the signal number

# Errors whose messages state the problem and the remedy; others are internal errors.
EXPECTED = (ValueError, TypeError, RuntimeError, OSError, ImportError)

# Remedies in messages of the library, and the corresponding options of the command line.
OPTIONS: dict[str, str] = {
    "isolated='ignore'": "--isolated ignore",
    "symmetrize=": "--symmetrize mean or --symmetrize max",
    "cut='ratio'": "--cut ratio",
    "time_limit": "--time-limit",
    "n_neighbors": "--neighbors",
    "metric=": "--metric",
    "n_clusters=": "-k",
    "random_state=": "--seed",
    "max_memory=": "--max-memory",
    "leastcut.cut_path(": "--plot evidence.png --plot-kind evidence",
}


def log(message: object) -> None:
    """Write a message to standard error, on one line."""
    print("leastcut:", " ".join(str(message).split()), file=sys.stderr)


@contextmanager
def logged(notes: list[str]) -> Iterator[Callable[[str], None]]:
    """Log warnings and append them to ``notes``; yield a function that does the same to a line."""

    def note(line: str) -> None:
        log(line)
        notes.append(line)

    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: note(_with_options(str(message)))
        yield note


def guarded(run: Callable[[], int], debug: bool = False) -> int:
    """Run a command and return its exit status; log errors, with a traceback if ``debug``."""
    try:
        with logged([]):
            status = run()
        sys.stdout.flush()  # raises here if the disk is full
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
        return ERROR
    return status


def _in_words(error: Exception) -> str:
    text = str(error) or type(error).__name__
    if isinstance(error, MemoryError):
        return f"Not enough memory: {text}."
    if not isinstance(error, EXPECTED):
        return (
            f"Internal error: {type(error).__name__}: {text}. Please report it, with the traceback "
            "that --debug shows."
        )
    return _with_options(text)


def _with_options(text: str) -> str:
    """Return a message of the library with the command-line options for its remedies."""
    code = text.replace('"', "'")
    named = [option for remedy, option in OPTIONS.items() if remedy in code and option not in text]
    return f"{text} (On the command line: {', '.join(named)}.)" if named else text


def _discard_output() -> None:
    """Redirect standard output to the null device: closing it at exit would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

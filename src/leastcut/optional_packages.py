"""Packages that only some parts need: imported when used, and missed with one message."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


def install_command(extra: str) -> str:
    """Return the command that brings every optional package of a part at once."""
    return f"pip install 'leastcut[{extra}]'"


@contextmanager
def needed_for(purpose: str, package: str, extra: str | None = None) -> Iterator[None]:
    """Return a context for the import of a package, which names the remedy if it is missing.

    ``purpose`` is what needs it, in the plural and at the beginning of a sentence; ``extra`` is the
    extra that brings it, if any.

    >>> with needed_for("Miracles", "no_such_package", "plot"):
    ...     import no_such_package
    Traceback (most recent call last):
    ...
    ImportError: Miracles need no_such_package, which is not installed; pip install \
'leastcut[plot]' brings it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        # a package that is there but misses a part of its own is another trouble, told as it is
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        command = f"pip install {package}" if extra is None else install_command(extra)
        raise ImportError(
            f"{purpose} need {package}, which is not installed; {command} brings it."
        ) from None

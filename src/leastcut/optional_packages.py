"""Packages that only some parts need: imported when used, and missed with one message."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


def install_command(extra: str) -> str:
    """Return the command that brings every optional package of a part at once.

    Examples
    --------
    >>> install_command("plot")
    "pip install 'leastcut[plot]'"
    """
    return f"pip install 'leastcut[{extra}]'"


@contextmanager
def needed_for(purpose: str, package: str, extra: str | None = None) -> Iterator[None]:
    """Return a context for the import of an optional package.

    Parameters
    ----------
    purpose : str
        What needs it, in the plural and at the beginning of a sentence.
    package : str
        The name to import it by.
    extra : str or None, default=None
        The extra of this package that brings it; None where it is in none, and is installed by its
        own name.

    Raises
    ------
    ImportError
        If it is not installed; the message names the command that installs it.

    Examples
    --------
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

"""Packages that only the reproduction needs: imported when used, and missed with one message."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

INSTALL = "pip install 'firstcut[paper]'"
"""The command that brings every optional package of this part at once."""


@contextmanager
def needed_for(purpose: str, package: str) -> Iterator[None]:
    """Return a context for the import of an optional package.

    Parameters
    ----------
    purpose : str
        What needs it, in the plural and at the beginning of a sentence.
    package : str
        The name to import it by.

    Raises
    ------
    ImportError
        If it is not installed; the message names the command that installs it.

    Examples
    --------
    >>> with needed_for("Miracles", "no_such_package"):
    ...     import no_such_package
    Traceback (most recent call last):
    ...
    ImportError: Miracles need no_such_package, which is not installed; pip install \
'firstcut[paper]' brings it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        # a package that is there but misses a part of its own is another trouble, told as it is
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise ImportError(
            f"{purpose} need {package}, which is not installed; {INSTALL} brings it."
        ) from None

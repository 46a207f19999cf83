"""Optional dependencies: imported when they are needed, with one error message if missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


def install_command(extra: str) -> str:
    """Return the command that installs the packages of an extra."""
    return f"pip install 'leastcut[{extra}]'"


@contextmanager
def needed_for(purpose: str, package: str, extra: str | None = None) -> Iterator[None]:
    """Import a package within this context; if it is missing, the error says how to install it.

    ``purpose`` is a capitalized plural that begins the message, ``extra`` the extra that installs
    the package, if any.

    >>> with needed_for("Plots", "no_such_package", "plot"):
    ...     import no_such_package
    Traceback (most recent call last):
    ...
    ImportError: Plots need no_such_package, which is not installed; pip install \
'leastcut[plot]' installs it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        # A failed import inside an installed package is a different error, and is not replaced.
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        command = f"pip install {package}" if extra is None else install_command(extra)
        raise ImportError(
            f"{purpose} need {package}, which is not installed; {command} installs it."
        ) from None

"""What counts as a number in a text file, and what as a value that is missing."""

from __future__ import annotations

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "nil", "?", "-", "."})
"""What people write where there is no value, in lower case."""


def is_number(field: str) -> bool:
    """Return whether a field is a finite number.

    Examples
    --------
    >>> is_number(" -1.5e3 "), is_number("1,5"), is_number("inf"), is_number("1_000")
    (True, False, False, False)
    """
    try:
        value = float(field)
    except ValueError:
        return False
    # Python takes underscores between digits, which files do not have
    return "_" not in field and value - value == 0.0


def is_missing(field: str) -> bool:
    """Return whether a field says that there is no value."""
    return field.strip().lower() in MISSING


def is_whole(field: str) -> bool:
    """Return whether a field is a whole number, as the number of a node is."""
    return field.strip().removeprefix("-").isdecimal()

"""What objects show of themselves in a session: one line each, numbers short, arrays as shapes.

A class lists what a person wants to know first and hands it to :func:`one_line`; one that nobody
is meant to meet has ``__repr__ = fields_in_one_line``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

import numpy as np

LONGEST = 100
"""Characters of a line at most: what a terminal shows without wrapping, about."""

LONGEST_PART = 45
"""Characters of one part at most; of a longer one, as of an object inside, its type is told."""

FEW = 7
"""Numbers that a list shows whole; a longer one shows its first three and its last."""


class Words(str):
    """Text that a repr shows as it is, without quotation marks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def one_line(subject: object, /, *unnamed: object, **named: object) -> str:
    """Return ``Name(unnamed, name=value, ...)`` in at most :data:`LONGEST` characters.

    What is None is left out. Where the line would be too long, the last parts are left out, and
    "..." tells so.

    Examples
    --------
    >>> from leastcut.short_reprs import one_line
    >>> one_line({}, "wine", n_samples=178, share=2 / 3, y=None)
    "dict('wine', n_samples=178, share=0.6667)"
    """
    parts = [shown(value) for value in unnamed]
    parts += [f"{name}={shown(value)}" for name, value in named.items() if value is not None]
    name = type(subject).__name__
    line = f"{name}({', '.join(parts)})"
    while len(line) > LONGEST and parts:
        parts.pop()
        line = f"{name}({', '.join([*parts, '...'])})"
    return line


def fields_in_one_line(subject: Any) -> str:
    """Return the fields of a dataclass in one line; assign it to ``__repr__``."""
    return one_line(
        subject, **{field.name: getattr(subject, field.name) for field in fields(subject)}
    )


def shown(value: object) -> str:
    """Return a value as a line shows it: floats with four digits, arrays by type and shape.

    Examples
    --------
    >>> import numpy as np
    >>> from leastcut.short_reprs import shown
    >>> shown(0.123456789), shown(np.float64(2)), shown(np.zeros((3, 2))), shown("a")
    ('0.1235', '2.0', 'float64(3, 2)', "'a'")
    """
    if isinstance(value, np.ndarray) or (hasattr(value, "shape") and hasattr(value, "dtype")):
        if value.shape != ():
            shape = ", ".join(map(str, value.shape))
            return f"{value.dtype}({shape})"
        value = value[()] if isinstance(value, np.ndarray) else value
    if isinstance(value, float | np.floating):
        # With a point, as Python shows what is a float and not an integer.
        text = f"{float(value):.4g}"
        return f"{text}.0" if text.lstrip("-").isdigit() else text
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple | dict | set) and len(value) > FEW:
        return f"{type(value).__name__} of {len(value)}"
    if callable(value) and hasattr(value, "__name__"):
        return str(value.__name__)
    if isinstance(value, Words):
        return str(value)
    text = " ".join(repr(value).split())
    return text if len(text) <= LONGEST_PART else f"{type(value).__name__}(...)"


def some(listed: Iterable[object]) -> Words:
    """Return a list of numbers or names, whole if it is short.

    Examples
    --------
    >>> from leastcut.short_reprs import some
    >>> some([2, 3]), some(range(2, 30))
    ([2, 3], [2, 3, 4, ..., 29])
    """
    words = [shown(one) for one in listed]
    if len(words) > FEW:
        words = [*words[:3], "...", words[-1]]
    return Words(f"[{', '.join(words)}]")

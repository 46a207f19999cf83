"""Numbers, gaps, tables and reprs as short text, the same in a session, on a page and in a plot.

A class lists what a person wants to know first and hands it to :func:`one_line`; one that nobody
is meant to meet has ``__repr__ = fields_in_one_line``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

LONGEST = 100
"""Characters of a line at most: what a terminal shows without wrapping, about."""

LONGEST_PART = 45
"""Characters of one part at most; of a longer one, as of an object inside, its type is told."""

FEW = 7
"""Numbers that a list shows whole; a longer one shows its first three and its last."""


SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
"""Digits of an exponent as they are written above the line."""


PROVEN = 1e-7
"""Gap up to which a cut counts as proven to be the smallest: rounding leaves as much."""


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
    >>> from leastcut.formatting import one_line
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
    >>> from leastcut.formatting import shown
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
    >>> from leastcut.formatting import some
    >>> some([2, 3]), some(range(2, 30))
    ([2, 3], [2, 3, 4, ..., 29])
    """
    words = [shown(one) for one in listed]
    if len(words) > FEW:
        words = [*words[:3], "...", words[-1]]
    return Words(f"[{', '.join(words)}]")


# -- numbers


def power_of_ten(exponent: int) -> str:
    """Return a power of ten as text.

    >>> power_of_ten(-3)
    '10⁻³'
    """
    return f"10{str(exponent).translate(SUPERSCRIPTS)}"


def significant(value: float, digits: int = 4) -> str:
    """Return a number to some significant digits, as cut values are told.

    >>> significant(0.0568149), significant(1.0), significant(0.25), significant(12345.6)
    ('0.05681', '1', '0.25', '12,350')
    >>> significant(3.2e-9), significant(4.56e8)
    ('3.2 × 10⁻⁹', '4.56 × 10⁸')
    """
    if value == 0 or not math.isfinite(value):
        return str(0 if value == 0 else value)
    mantissa, _, tens = f"{value:.{digits - 1}e}".partition("e")
    if not -5 <= int(tens) < 6:
        shortest = f"{float(mantissa):g}".replace("-", "−")
        return f"{shortest} × {power_of_ten(int(tens))}"
    rounded = float(f"{value:.{digits - 1}e}")
    text = f"{rounded:,.{max(digits - 1 - int(tens), 0)}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")


def column_texts(values: Iterable[float], digits: int = 3) -> list[str]:
    """Return the numbers of a column with the same decimals: as many as its largest has for so many
    significant digits.

    >>> column_texts([178, 376.4, 27]), column_texts([0.000765, 0.0112, 0])
    (['178', '376', '27'], ['0.0008', '0.0112', '0.0000'])
    """
    numbers = [float(value) for value in values]
    largest = max((abs(value) for value in numbers if math.isfinite(value)), default=0.0)
    exponent = math.floor(math.log10(largest)) if largest > 0.0 else 0
    if not -4 <= exponent < 9:
        return [number_text(value) for value in numbers]
    decimals = max(digits - 1 - exponent, 0)
    if all(value == round(value) for value in numbers):
        decimals = 0
    return [f"{value:,.{decimals}f}".replace("-", "−") for value in numbers]


def number_text(value: float) -> str:
    """Return a number of any size as text: the one format where decimals are not fixed.

    Three significant digits, but never more than three decimals, and all digits before the point; a
    whole number without decimals; a power of ten below a thousandth and from a million on.

    >>> [number_text(value) for value in (0, 0.00201, 0.0654, 0.9996, 7.834, 20, 299.4, 10416.7)]
    ['0', '0.002', '0.065', '1.00', '7.83', '20', '299', '10,417']
    >>> number_text(1.3156e10), number_text(-0.00042)
    ('1.32 × 10¹⁰', '−4.20 × 10⁻⁴')
    """
    if not math.isfinite(value):
        return str(value)
    if value == 0:
        return "0"
    # rounded first, so that 0.9996 has the digits of 1
    digits, _, tens = f"{abs(value):.2e}".partition("e")
    exponent = int(tens)
    if -3 <= exponent < 6:
        decimals = 0 if value == round(value) else min(max(2 - exponent, 0), 3)
        text = f"{abs(value):,.{decimals}f}"
    else:
        text = f"{digits} × {power_of_ten(exponent)}"
    return f"−{text}" if value < 0 else text


def percent(value: float) -> str:
    """Return a part of a whole as text.

    >>> percent(0.0), percent(0.00004), percent(0.0312), percent(0.257), percent(1.0)
    ('0%', '<0.1%', '3.1%', '26%', '100%')
    """
    if 0.0 < value < 0.0005:
        return "<0.1%"
    return f"{value:.1%}" if 0.0 < value < 0.0995 else f"{value:.0%}"


def counted(count: int, noun: str) -> str:
    """Return a number of things as text.

    >>> counted(1, "cluster"), counted(1797, "node")
    ('1 cluster', '1,797 nodes')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def shortened(name: str, most: int = 24) -> str:
    """Return a name that takes little room.

    >>> shortened("Valjean"), shortened("a name that goes on and on")
    ('Valjean', 'a name that goes on and…')
    """
    return name if len(name) <= most else name[: most - 1].rstrip() + "…"


def seconds_text(seconds: float) -> str:
    """Return how long something took.

    >>> seconds_text(0.0004), seconds_text(0.412), seconds_text(7.04), seconds_text(312.0)
    ('<0.01 s', '0.41 s', '7.0 s', '312 s')
    """
    if seconds < 0.01:
        return "<0.01 s"
    return f"{seconds:.2f} s" if seconds < 1 else f"{seconds:.{0 if seconds >= 100 else 1}f} s"


def gap_in_words(gap: float | None) -> str:
    """Say what a gap means.

    Examples
    --------
    >>> from leastcut.formatting import gap_in_words
    >>> gap_in_words(0.0), gap_in_words(0.12345)
    ('proven: no partition is smaller', 'no partition is more than 12.4% smaller')
    """
    if gap is None:
        return "not known: lower_bound=True computes a bound"
    if gap < 0.0:
        return "none: the lower bound is above the value, so one of them is wrong"
    if gap <= PROVEN:
        return "proven: no partition is smaller"
    # Rounded up to three digits: what is said stays true.
    unit = 10.0 ** (math.floor(math.log10(gap)) - 2)
    return f"no partition is more than {100.0 * math.ceil(gap / unit) * unit:.3g}% smaller"


# -- tables


def text_table(head: Sequence[str], rows: Iterable[Sequence[str]], n_words: int = 1) -> str:
    """Return a table as text; the first ``n_words`` columns are words, flush left.

    >>> print(text_table(["method", "cut"], [["kmeans", "0.125"], ["partition", "0.1"]]))
    method       cut
    kmeans     0.125
    partition    0.1
    """
    lines = [list(head), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i < n_words else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )

"""Formatting of numbers, gaps, tables and reprs for sessions, reports and plots.

A class builds its repr with :func:`one_line`, the most important values first; classes that users
rarely see use ``__repr__ = fields_in_one_line``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

LONGEST = 100  # characters of a repr: about the width of a terminal
LONGEST_PART = 45  # characters of one value; a longer one is replaced by the name of its type
FEW = 7  # numbers of a list that are shown in full; a longer one shows its first three and its last
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
PROVEN = 1e-7  # largest gap that counts as proven optimal, to allow for rounding


# -- reprs


class Unquoted(str):
    """Text that a repr shows without quotation marks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def one_line(subject: object, /, *unnamed: object, **named: object) -> str:
    """Return ``Name(unnamed, name=value, ...)`` in at most :data:`LONGEST` characters.

    Values that are None are left out. If the line is too long, "..." replaces its last parts.
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
    """Format a value for a repr: floats with four digits, arrays by type and shape."""
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape and dtype is not None:
        return f"{dtype}({', '.join(map(str, shape))})"
    if isinstance(value, np.ndarray):
        value = value[()]
    if isinstance(value, float | np.floating):
        # With a decimal point, as Python shows integral floats.
        text = f"{float(value):.4g}"
        return f"{text}.0" if text.lstrip("-").isdigit() else text
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple | dict | set) and len(value) > FEW:
        return f"{type(value).__name__} of {len(value)}"
    if callable(value) and hasattr(value, "__name__"):
        return str(value.__name__)
    if isinstance(value, Unquoted):
        return str(value)
    text = " ".join(repr(value).split())
    return text if len(text) <= LONGEST_PART else f"{type(value).__name__}(...)"


def abbreviated(values: Iterable[object]) -> Unquoted:
    """List numbers or names, abbreviated if there are more than :data:`FEW`."""
    words = [shown(value) for value in values]
    if len(words) > FEW:
        words = [*words[:3], "...", words[-1]]
    return Unquoted(f"[{', '.join(words)}]")


def label_counts(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct labels, of any type, and the number of nodes with each."""
    is_usual = labels.dtype.kind in "iu" and labels.size
    if is_usual and 0 <= labels.min() <= labels.max() < labels.size:
        counts = np.bincount(labels)  # faster than sorting
        return np.flatnonzero(counts), counts[counts > 0]
    return np.unique(labels, return_counts=True)


# -- numbers


def plain(value: Any) -> str:
    """Format an integer with commas, other numbers with four digits, and NaN as a dash."""
    if isinstance(value, int | np.integer):
        return f"{int(value):,}"
    return "–" if math.isnan(value) else f"{float(value):.4g}"


def significant(value: float, digits: int = 4) -> str:
    """Format a number with some significant digits; very small and large ones as powers of ten."""
    if value == 0 or not math.isfinite(value):
        return str(0 if value == 0 else value)
    mantissa, _, tens = f"{value:.{digits - 1}e}".partition("e")
    exponent = int(tens)
    if not -5 <= exponent < 6:
        text = f"{float(mantissa):g} × 10{str(exponent).translate(SUPERSCRIPTS)}"
    else:
        text = f"{float(f'{mantissa}e{tens}'):,.{max(digits - 1 - exponent, 0)}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    return text.replace("-", "−")


def column_texts(values: Iterable[float], digits: int = 3) -> list[str]:
    """Format numbers with the same number of decimals: ``digits`` significant in the largest."""
    numbers = [float(value) for value in values]
    largest = max((abs(value) for value in numbers if math.isfinite(value)), default=0.0)
    exponent = math.floor(math.log10(largest)) if largest > 0.0 else 0
    if not -4 <= exponent < 9:
        return [significant(value, digits) for value in numbers]
    decimals = 0 if all(value == round(value) for value in numbers) else digits - 1 - exponent
    return [f"{value:,.{max(decimals, 0)}f}".replace("-", "−") for value in numbers]


def percent(fraction: float) -> str:
    """Format a fraction as a percentage, such as "<0.1%", "3.1%" or "26%"."""
    if 0.0 < fraction < 0.0005:
        return "<0.1%"
    return f"{fraction:.1%}" if 0.0 < fraction < 0.0995 else f"{fraction:.0%}"


def counted(count: int, noun: str) -> str:
    """Format a count with its noun: "1 cluster", "1,797 nodes"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def shortened(name: str, most: int = 24) -> str:
    """Truncate a name to at most ``most`` characters, the last of which is then "…"."""
    return name if len(name) <= most else name[: most - 1].rstrip() + "…"


def seconds_text(seconds: float) -> str:
    """Format a duration: "<0.01 s", "0.41 s", "7.0 s", "312 s"."""
    if seconds < 0.01:
        return "<0.01 s"
    return f"{seconds:.{2 if seconds < 1 else 1 if seconds < 100 else 0}f} s"


def sizes_text(sizes: Iterable[int], most: int = 6) -> str:
    """List cluster sizes in descending order; if there are more than ``most``, omit some."""
    texts = [str(size) for size in sorted(sizes, reverse=True)]
    return " ".join(texts if len(texts) <= most else [*texts[: most - 1], "…", texts[-1]])


def gap_in_words(gap: float | None) -> str:
    """Describe a gap in words."""
    if gap is None:
        return "unknown: lower_bound=True computes a bound"
    if gap < 0.0:
        return "none: the lower bound is above the value, so one of them is wrong"
    if gap <= PROVEN:
        return "proven: no partition is smaller"
    # Rounded up to three digits, so that the statement remains true.
    unit = 10.0 ** (math.floor(math.log10(gap)) - 2)
    return f"no partition is more than {100.0 * math.ceil(gap / unit) * unit:.3g}% smaller"


# -- tables


def text_table(head: Sequence[str], rows: Iterable[Sequence[str]], n_left: int = 1) -> str:
    """Format a table; its first ``n_left`` columns are left-aligned, the others right-aligned."""
    lines = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i < n_left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )

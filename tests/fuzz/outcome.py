"""Outcomes of checking an invariant, and comparisons with exact values."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np

RELATIVE = Fraction(1, 10**9)
"""Relative rounding error that a bound may have."""

SMALLEST = Fraction(1, 2**1074)
"""The smallest positive double: an absolute error that any result may have."""

REFUSAL = re.compile(r"supports? sums|supported|overflow|too (large|small|wide)|isolated nodes")
"""Messages that reject input whose sums or squares are out of the range of doubles."""


class Violation(Exception):
    """A violated invariant, with a call that shows it."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return Violation, (str(self), self.code)


class NotApplicable(Exception):
    """A case that does not meet the premise of an invariant, and is not counted."""


def require(holds: bool | np.bool_, message: str, code: str = "") -> None:
    """Raise :class:`Violation` unless a condition holds."""
    if not holds:
        raise Violation(message, code)


def assume(applies: bool) -> None:
    """Raise :class:`NotApplicable` unless the premise of an invariant holds."""
    if not applies:
        raise NotApplicable


def is_refusal(error: BaseException) -> bool:
    """Whether an error rejects numbers because of their range, which is always allowed."""
    return isinstance(error, ValueError) and REFUSAL.search(str(error)) is not None


def at_most(number: float, value: Fraction, slack: Fraction = RELATIVE) -> bool:
    """Whether a double is at most a value, up to rounding, and not NaN."""
    if not np.isfinite(number):
        return number == -np.inf
    return Fraction(number) <= value * (1 + slack) + 16 * SMALLEST


def close(number: float, value: Fraction, slack: Fraction, terms: int = 16) -> bool:
    """Whether a double equals a value up to rounding."""
    if not np.isfinite(number):
        return False
    return abs(Fraction(number) - value) <= value * slack + terms * SMALLEST


def shown(value: Fraction) -> str:
    """Return a fraction as text, also if it is out of the range of doubles."""
    try:
        return f"{float(value):.17g}"
    except OverflowError:
        return f"2^{value.numerator.bit_length() - value.denominator.bit_length()}"

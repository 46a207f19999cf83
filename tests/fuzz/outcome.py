"""What a law says of a case: nothing when it holds, and otherwise one of these."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np

RELATIVE = Fraction(1, 10**9)
"""How far above a proven value a bound may lie, as a fraction of it: rounding, and nothing else."""

SMALLEST = Fraction(1, 2**1074)
"""The smallest double: what any result may be off by, however small it is."""

REFUSAL = re.compile(r"supported|overflow|too (large|small|wide)|isolated nodes")
"""Words of the errors by which numbers are refused whose sums or squares doubles cannot hold."""


class Broken(Exception):
    """A law that does not hold, with the call that shows it."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return Broken, (str(self), self.code)


class Inapplicable(Exception):
    """A law that says nothing of a case, so that it does not count as tried."""


def require(holds: bool | np.bool_, message: str, code: str = "") -> None:
    """Raise :class:`Broken` unless a law holds."""
    if not holds:
        raise Broken(message, code)


def only_if(applies: bool) -> None:
    """Raise :class:`Inapplicable` unless a law says something of a case."""
    if not applies:
        raise Inapplicable


def is_refusal(error: BaseException) -> bool:
    """Whether an error refuses numbers by their range, which is a right answer to any case."""
    return isinstance(error, ValueError) and REFUSAL.search(str(error)) is not None


def at_most(number: float, value: Fraction, slack: Fraction = RELATIVE) -> bool:
    """Whether a double is a number and not above a value, but for rounding."""
    if not np.isfinite(number):
        return number == -np.inf
    return Fraction(number) <= value * (1 + slack) + 16 * SMALLEST


def close(number: float, value: Fraction, slack: Fraction, terms: int = 16) -> bool:
    """Whether a double is a value, but for rounding."""
    if not np.isfinite(number):
        return False
    return abs(Fraction(number) - value) <= value * slack + terms * SMALLEST


def shown(value: Fraction) -> str:
    """Return a fraction in words, also one that no double can hold."""
    try:
        return f"{float(value):.17g}"
    except OverflowError:
        return f"2^{value.numerator.bit_length() - value.denominator.bit_length()}"

"""Numbers of any size as short text, the same on every page and picture."""

from __future__ import annotations

from collections.abc import Iterable
from math import floor, isfinite, log10

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
"""Digits of an exponent as they are written above the line."""


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
    if value == 0 or not isfinite(value):
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
    largest = max((abs(value) for value in numbers if isfinite(value)), default=0.0)
    exponent = floor(log10(largest)) if largest > 0.0 else 0
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
    if not isfinite(value):
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

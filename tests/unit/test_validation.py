"""Validation functions that all entry points share."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from leastcut.validation import check_number

NUMBERS = [0, 2, 0.5, np.float32(0.5), np.int8(2), Fraction(1, 2), np.array(0.5)]
NOT_NUMBERS = [
    True,
    np.True_,
    "1",
    None,
    1j,
    [1.0],
    np.array([1.0]),
    np.datetime64("2020-01-01"),
    np.timedelta64(1, "s"),
    np.ma.masked,
    object(),
]


@pytest.mark.parametrize("value", NUMBERS, ids=lambda value: type(value).__name__)
def test_numbers_become_floats(value):
    result = check_number("tol", value)
    assert type(result) is float
    assert result == value


@pytest.mark.parametrize("value", NOT_NUMBERS, ids=lambda value: type(value).__name__)
def test_non_numbers_are_rejected(value):
    with pytest.raises(TypeError, match=r"tol=.* is not a number"):
        check_number("tol", value)


@pytest.mark.parametrize("value", [-1, -0.5, np.nan, -np.inf, np.float32("nan")])
@pytest.mark.parametrize("allow_infinite", [False, True])
def test_numbers_out_of_range_are_rejected(value, allow_infinite):
    with pytest.raises(ValueError, match=r"tol=.* must be"):
        check_number("tol", value, allow_infinite=allow_infinite)


@pytest.mark.parametrize("value", [np.inf, 10**400])
def test_infinity_is_accepted_only_if_allowed(value):
    assert check_number("time_limit", value, allow_infinite=True) == np.inf
    with pytest.raises(ValueError, match="time_limit=inf must be finite"):
        check_number("time_limit", value)


def test_an_integer_below_all_floats_is_below_every_minimum():
    with pytest.raises(ValueError, match=r"tol=-inf must be at least 0"):
        check_number("tol", -(10**400), allow_infinite=True)

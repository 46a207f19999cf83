"""Formatting of numbers, durations, values and tables."""

from __future__ import annotations

import numpy as np
import pytest

from leastcut.formatting import (
    abbreviated,
    column_texts,
    counted,
    gap_in_words,
    one_line,
    percent,
    plain,
    seconds_text,
    shortened,
    shown,
    significant,
    sizes_text,
    text_table,
)


@pytest.mark.parametrize(
    ("function", "value", "text"),
    [
        (shown, 0.123456789, "0.1235"),
        (shown, np.float64(2), "2.0"),
        (shown, np.array(2), "2"),
        (shown, np.zeros((3, 2)), "float64(3, 2)"),
        (shown, "a", "'a'"),
        (abbreviated, [2, 3], "[2, 3]"),
        (abbreviated, range(2, 30), "[2, 3, 4, ..., 29]"),
        (plain, 12345, "12,345"),
        (plain, np.int64(7), "7"),
        (plain, 0.123456, "0.1235"),
        (plain, np.nan, "–"),
        (significant, 0.0568149, "0.05681"),
        (significant, 1.0, "1"),
        (significant, 0.25, "0.25"),
        (significant, 12345.6, "12,350"),
        (significant, 3.2e-9, "3.2 × 10⁻⁹"),
        (significant, -4.56e8, "−4.56 × 10⁸"),
        (significant, 0.0, "0"),
        (percent, 0.0, "0%"),
        (percent, 0.00004, "<0.1%"),
        (percent, 0.0312, "3.1%"),
        (percent, 0.257, "26%"),
        (percent, 1.0, "100%"),
        (seconds_text, 0.0004, "<0.01 s"),
        (seconds_text, 0.412, "0.41 s"),
        (seconds_text, 7.04, "7.0 s"),
        (seconds_text, 312.0, "312 s"),
        (shortened, "Valjean", "Valjean"),
        (shortened, "a name that goes on and on", "a name that goes on and…"),
        (sizes_text, (3, 9, 5), "9 5 3"),
        (sizes_text, range(1, 9), "8 7 6 5 4 … 1"),
        (gap_in_words, 0.0, "proven: no partition is smaller"),
        (gap_in_words, 0.12345, "no partition is more than 12.4% smaller"),
    ],
)
def test_formatted_values(function, value, text):
    assert str(function(value)) == text


def test_counts_agree_with_their_noun():
    assert counted(1, "cluster") == "1 cluster"
    assert counted(1797, "node") == "1,797 nodes"


def test_numbers_of_a_column_have_the_same_decimals():
    assert column_texts([178, 376.4, 27]) == ["178", "376", "27"]
    assert column_texts([0.000765, 0.0112, 0]) == ["0.0008", "0.0112", "0.0000"]
    assert column_texts([2e-9, 3.456e-8]) == ["2 × 10⁻⁹", "3.46 × 10⁻⁸"]


def test_a_repr_omits_none():
    line = one_line({}, "wine", n_samples=178, share=2 / 3, y=None)
    assert line == "dict('wine', n_samples=178, share=0.6667)"


def test_a_table_is_aligned():
    table = text_table(["method", "cut"], [["kmeans", "0.125"], ["partition", "0.1"]])
    assert table.splitlines() == ["method       cut", "kmeans     0.125", "partition    0.1"]
    assert text_table([], []) == ""

"""The numbers printed in the paper, and the names of its rows and columns."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

CUT_TITLES = {"ratio": "Ratio Cut", "normalized": "Normalized Cut"}
"""The cuts, in the paper's order."""

DIGITS = 4
"""Decimals that the paper prints."""

NAMES_IN_FILE = {
    "tiny": "tiny_objective",
    "objective": "objective",
    "accuracy": "accuracy",
    "nmi": "nmi",
}
"""The names of Tables I, II, IV and V here and in ``printed.json``."""


@cache
def tables() -> dict[str, Any]:
    """Return all printed tables as nested dicts: table, row, cut, column.

    The table of datasets has a list of samples, features and classes for each dataset.
    """
    printed: dict[str, Any] = json.loads(
        Path(__file__).with_name("printed.json").read_text(encoding="utf-8")
    )
    return printed


@cache
def dataset_labels() -> dict[str, str]:
    """Return the names of the paper's datasets by their lower-case names, in the paper's order."""
    return {label.lower(): label for label in tables()["datasets"]}


def dataset_shape(name: str) -> tuple[int, int, int] | None:
    """Return samples, features and classes as printed, or None for a dataset not in the paper."""
    label = dataset_labels().get(name)
    return None if label is None else tuple(tables()["datasets"][label])


def split_name(dataset: str) -> tuple[str, int | None]:
    """Return the dataset of a row and the number of its first samples, None for all of them.

    >>> split_name("jaffe"), split_name("usps:11"), split_name("what:else")
    (('jaffe', None), ('usps', 11), ('what:else', None))
    """
    stem, _, first = dataset.partition(":")
    return (stem, int(first)) if first.isdecimal() else (dataset, None)


def row_label(dataset: str) -> str:
    """Return the label of a row: JAFFE, n=11, or the name of another dataset in one line.

    >>> row_label("jaffe"), row_label("usps:11"), row_label("my\\ndata")
    ('JAFFE', 'n=11', 'my data')
    """
    stem, first = split_name(dataset)
    label = dataset_labels().get(stem, stem) if first is None else f"n={first}"
    # line breaks and control characters would break tables, terminals and figures
    return " ".join("".join(c if c.isprintable() else " " for c in label).split())


def numbered(title: str, number: str | None) -> str:
    """Return the title of a table or figure, with the paper's number if it has one.

    >>> numbered("Objective values", "Table II")
    'Objective values (the paper’s Table II)'
    """
    return title if number is None else f"{title} (the paper’s {number})"


def is_printed(ours: float, paper: float) -> bool:
    """Return whether a number, rounded or truncated to the printed digits, is the paper's.

    >>> is_printed(0.09707, 0.0970), is_printed(0.09707, 0.0971), is_printed(0.09707, 0.0972)
    (True, True, False)
    """
    # the paper rounds most numbers and truncates others: half a unit below, one unit above
    unit = 10.0**-DIGITS
    return -0.5001 * unit <= ours - paper < unit


def value(table: str, dataset: str, cut: str, column: str | None) -> float | None:
    """Return the printed number, or None if the paper has none.

    Parameters
    ----------
    table : str
        "tiny", "objective", "accuracy" or "nmi"; the paper has no other table of values.
    dataset : str
        "jaffe", or "usps:11" for the first 11 rows of USPS.
    cut : {"ratio", "normalized"}
    column : str or None
        The name in the paper: "OPT", "OPT_r", "KM", "KM-norm", "SR", "ISR", "DNC" or "Ours"; None
        for a column that is not in the paper.

    Returns
    -------
    float or None

    Examples
    --------
    >>> value("objective", "jaffe", "ratio", "KM")
    0.0971
    """
    if table not in NAMES_IN_FILE or column is None:
        return None
    rows = tables()[NAMES_IN_FILE[table]]
    number: float | None = rows.get(row_label(dataset), {}).get(cut, {}).get(column)
    return number


def rows_printed() -> list[tuple[str, str, str]]:
    """Return table, dataset and cut of every row of the two printed tables of cut values."""
    tiny = [f"usps:{label.partition('=')[2]}" for label in tables()["tiny_objective"]]
    return [
        (table, name, cut)
        for table, names in (("tiny", tiny), ("objective", list(dataset_labels())))
        for name in names
        for cut in CUT_TITLES
    ]

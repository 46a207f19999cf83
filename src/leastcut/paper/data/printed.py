"""The numbers printed in the paper, and how its rows and columns are called here.

Reference: H. Zhang, X. Li, "Discretize relaxed solution of spectral clustering via a non-heuristic
algorithm", IEEE Transactions on Neural Networks and Learning Systems.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

CUT_TITLES = {"ratio": "Ratio Cut", "normalized": "Normalized Cut"}
"""The cuts, in the paper's order."""

DIGITS = 4
"""Decimals the paper prints."""

NAMES_IN_FILE = {
    "tiny": "tiny_objective",
    "objective": "objective",
    "accuracy": "accuracy",
    "nmi": "nmi",
}
"""Our names of the printed tables of values (I, II, IV and V) and what ``printed.json`` has."""


@cache
def tables() -> dict[str, Any]:
    """Return all printed tables: table → row → cut → column → number.

    The table of datasets is dataset → samples, features, classes.
    """
    text = files("leastcut.paper.data").joinpath("printed.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


@cache
def dataset_labels() -> dict[str, str]:
    """Return the paper's datasets in its order: our name → the paper's."""
    return {label.lower(): label for label in tables()["datasets"]}


def dataset_shape(name: str) -> tuple[int, int, int] | None:
    """Return the printed samples, features and classes of a dataset; None if it is not in it."""
    label = dataset_labels().get(name)
    return None if label is None else tuple(tables()["datasets"][label])


def split_name(dataset: str) -> tuple[str, int | None]:
    """Return the dataset that a row is made of, and how many of its first samples.

    >>> split_name("jaffe"), split_name("usps:11"), split_name("what:else")
    (('jaffe', None), ('usps', 11), ('what:else', None))
    """
    stem, _, first = dataset.partition(":")
    return (stem, int(first)) if first.isdecimal() else (dataset, None)


def row_label(dataset: str) -> str:
    """Return how a row is called in the tables: JAFFE, n=11, or the dataset's own name in a line.

    >>> row_label("jaffe"), row_label("usps:11"), row_label("my\\ndata")
    ('JAFFE', 'n=11', 'my data')
    """
    stem, first = split_name(dataset)
    label = dataset_labels().get(stem, stem) if first is None else f"n={first}"
    # line ends and control characters would break tables, terminals and drawings
    return " ".join("".join(c if c.isprintable() else " " for c in label).split())


def numbered(title: str, number: str | None) -> str:
    """Return the title of a table or figure, with the paper's number of it where it has one.

    >>> numbered("Objective values", "Table II")
    'Objective values (the paper’s Table II)'
    """
    return title if number is None else f"{title} (the paper’s {number})"


def is_printed(ours: float, paper: float) -> bool:
    """Return whether a number of ours, rounded or cut off to the digits printed, is the paper's.

    >>> is_printed(0.09707, 0.0970), is_printed(0.09707, 0.0971), is_printed(0.09707, 0.0972)
    (True, True, False)
    """
    # the paper rounds most numbers and cuts others off: half a unit below, a whole one above
    unit = 10.0**-DIGITS
    return -0.5001 * unit <= ours - paper < unit


def value(table: str, dataset: str, cut: str, column: str | None) -> float | None:
    """Return the printed number, or None where the paper has none.

    Parameters
    ----------
    table : str
        "tiny", "objective", "accuracy" or "nmi"; the paper has no other table of values.
    dataset : str
        "jaffe", or "usps:11" for the first 11 rows of USPS.
    cut : {"ratio", "normalized"}
    column : str or None
        The paper's name of it: "OPT", "OPT_r", "KM", "KM-norm", "SR", "ISR", "DNC", "Ours"; None
        for a column that it does not have.

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
    found: float | None = rows.get(row_label(dataset), {}).get(cut, {}).get(column)
    return found

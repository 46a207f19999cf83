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


@cache
def tables() -> dict[str, Any]:
    """Return all printed tables: table → row → cut → column → number."""
    text = files("firstcut.paper").joinpath("printed.json").read_text(encoding="utf-8")
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


def row_label(dataset: str) -> str:
    """Return how a row is called in the tables: JAFFE, n=11, or the dataset's own name."""
    stem, _, first = dataset.partition(":")
    return f"n={first}" if first else dataset_labels().get(stem, stem)


def value(table: str, dataset: str, cut: str, column: str) -> float | None:
    """Return the printed number, or None where the paper has none.

    Parameters
    ----------
    table : {"tiny", "objective", "accuracy", "nmi"}
    dataset : str
        "jaffe", or "usps:11" for the first 11 rows of USPS.
    cut : {"ratio", "normalized"}
    column : str
        The paper's name of it: "OPT", "OPT_r", "KM", "KM-norm", "SR", "ISR", "DNC", "Ours".
    """
    rows = tables()["tiny_objective" if table == "tiny" else table]
    found: float | None = rows.get(row_label(dataset), {}).get(cut, {}).get(column)
    return found

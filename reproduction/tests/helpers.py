"""Helpers of the tests: datasets, graphs, records, commands and pages."""

from __future__ import annotations

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import strategies as st

from reproduction import datasets
from reproduction.__main__ import main
from reproduction.data import printed
from reproduction.runs.experiments import EXPERIMENTS, Scope, cells
from reproduction.runs.methods import METHODS, OPTIMUM, RELAXED
from reproduction.runs.records import Store
from reproduction.runs.running import run

ROOT = Path(__file__).parents[2]
"""The root of the repository, the working directory of commands."""

COMMAND = [sys.executable, "-m", "reproduction"]
"""The command line in a separate process."""


def status_of(arguments: list[str]) -> int:
    """Return the exit status of a command, even if its parser exits."""
    try:
        return main(arguments)
    except SystemExit as ended:
        return int(ended.code or 0)


def load_dataset(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return X, scaled as in the paper, and y, or skip the test if there is no file."""
    try:
        loaded = datasets.load(name, download=False)
    except FileNotFoundError:
        pytest.skip(f"the dataset {name!r} was not found; set LEASTCUT_DATA to its folder")
    return loaded.X / loaded.X.max(), loaded.y


@st.composite
def connected_graphs(draw, min_nodes: int, max_nodes: int) -> np.ndarray:
    """Draw a random connected graph of any density as a dense array."""
    n = draw(st.integers(min_nodes, max_nodes))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    density = draw(st.sampled_from([0.2, 0.5, 1.0]))
    upper = np.triu(rng.random((n, n)) * (rng.random((n, n)) < density), draw(st.integers(0, 1)))
    path = np.arange(n - 1)
    upper[path, path + 1] += 0.05
    return upper + np.triu(upper, 1).T


@cache
def measured_on_wine():
    """Return the records of a small run of every experiment on WINE, computed once."""
    with TemporaryDirectory() as folder:
        store = Store(Path(folder))
        small = {"n_seeds": 2, "n_batches": 1, "batch": 5, "time_limit": 0.2}
        few = {"n_single": 3, "n_many": 2, "n_signs": 4, "n_searched": 4}
        scope = Scope(("wine",), **small, **few)
        summary = run(cells(EXPERIMENTS, scope), store, progress=False)
        assert not summary.failed
        return list(store)


def as_printed(factor=1.0):
    """Return records with the printed values times a factor."""
    records = []
    for table, experiment, bound in (
        ("tiny", "tiny", OPTIMUM),
        ("objective", "objective", RELAXED),
    ):
        names = (
            [f"usps:{n}" for n in range(11, 16)] if table == "tiny" else printed.dataset_labels()
        )
        for name in names:
            for cut in printed.CUT_TITLES:
                for column in (bound, *METHODS):
                    value = printed.value(table, name, cut, column.printed)
                    if value is None:
                        continue
                    record = {
                        "experiment": experiment,
                        "dataset": name,
                        "cut": cut,
                        "method": column.method,
                        "parameters": dict(column.parameters),
                        "seed": 0,
                        "value": value * (1.0 if column is bound else factor),
                    }
                    for field in ("accuracy", "nmi"):
                        record[field] = printed.value(field, name, cut, column.printed) or 0.5
                    records.append(record)
    return records


class Texts(HTMLParser):
    """Collects the texts of a page with their tags, and the attributes of all tags."""

    def __init__(self, html):
        super().__init__()
        self.texts, self.attributes, self.tags, self._open = [], [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        self._open.append(tag)

    def handle_endtag(self, tag):
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data):
        self.texts.append((self._open[-1] if self._open else "", data))

"""Records for the tests of pages, and a reader of pages."""

from __future__ import annotations

from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory

from leastcut.paper.data import printed
from leastcut.paper.runs.experiments import EXPERIMENTS, Scope, cells
from leastcut.paper.runs.methods import METHODS, OPTIMUM, RELAXED
from leastcut.paper.runs.records import Store
from leastcut.paper.runs.running import run


@cache
def measured_on_wine():
    """A small run of every experiment on WINE, made once."""
    with TemporaryDirectory() as folder:
        store = Store(Path(folder))
        scope = Scope(("wine",), n_seeds=2, n_batches=1, batch=5, time_limit=2.0, n_searched=20)
        summary = run(cells(EXPERIMENTS, scope), store, progress=False)
        assert not summary.failed
        return list(store)


def as_printed(factor=1.0):
    """Records in which every number of ours is the paper's times a factor."""
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
    """The texts of a page by the tag that they stand in, and the attributes of all tags."""

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

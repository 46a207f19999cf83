"""What is on a page, in which order: the same for every kind of page."""

from __future__ import annotations

from dataclasses import dataclass

from firstcut.paper.report.certified import flaws_proven
from firstcut.paper.report.drawing import Figure
from firstcut.paper.report.figures import FIGURES
from firstcut.paper.report.findings import Check, Difference, checks, differences
from firstcut.paper.report.flaws_of_the_paper import Flaw, flaws_of
from firstcut.paper.report.record_selection import select
from firstcut.paper.report.settings import environments, settings
from firstcut.paper.report.table import Table
from firstcut.paper.report.tables import TABLES
from firstcut.paper.runs.experiments import EXPERIMENTS_OF_FIGURE
from firstcut.paper.runs.records import Record

ORDER = (
    "datasets",
    "motivation",
    "closest",
    "tiny",
    "objective",
    "certificates",
    "accuracy",
    "nmi",
    "restarts",
    "sensitivity",
    "convergence",
    "theorem1",
    "theorem2",
    "seconds",
)
"""Tables and figures in the order of the page: the paper's, and ours where they explain them."""


@dataclass(frozen=True)
class Item:
    """A table or a figure, and what is wrong in the paper's."""

    content: Table | Figure
    flaws: list[Flaw]

    @property
    def table(self) -> Table | None:
        """The table, if it is one."""
        return self.content if isinstance(self.content, Table) else None

    @property
    def figure(self) -> Figure | None:
        """The figure, if it is one."""
        return self.content if isinstance(self.content, Figure) else None


@dataclass(frozen=True)
class Contents:
    """All that a page shows, without how."""

    checks: list[Check]
    items: list[Item]
    differences: list[Difference]
    settings: list[tuple[str, str]]
    environments: list[str]


def contents(records: list[Record]) -> Contents:
    """Return what there is to show of some records."""
    proven = flaws_proven(records)
    return Contents(
        checks(records),
        [Item(content, flaws_of(content.name, proven)) for content in _shown(records)],
        differences(records),
        settings(records),
        environments(records),
    )


def _shown(records: list[Record]) -> list[Table | Figure]:
    """Return the tables and figures that there are records for."""
    found: list[Table | Figure] = []
    for name in ORDER:
        if name in TABLES:
            table = TABLES[name](records)
            if not table.is_empty:
                found.append(table)
        # a figure is drawn later, by the page, and only if it has something to show
        elif any(select(records, experiment) for experiment in EXPERIMENTS_OF_FIGURE[name]):
            found.append(FIGURES[name])
    return found

"""The contents of the pages and their order."""

from __future__ import annotations

from dataclasses import dataclass

from reproduction.report.drawing import Figure
from reproduction.report.figures import FIGURES
from reproduction.report.findings import Check, checks, claims
from reproduction.report.flaws import FLAWS, Flaw, flaws_of_the_theory, flaws_proven
from reproduction.report.flaws_measured import flaws_measured
from reproduction.report.reasons import Reason, reasons
from reproduction.report.selection import select
from reproduction.report.summary import (
    Tally,
    agreement,
    environments,
    settings,
    summary,
    tallies,
)
from reproduction.report.table import Table
from reproduction.report.tables import TABLES
from reproduction.runs.experiments import EXPERIMENTS_OF_FIGURE
from reproduction.runs.records import Record

ORDER = (
    "datasets",
    "motivation",
    "closest",
    "tiny",
    "objective",
    "certificates",
    "bounds",
    "accuracy",
    "nmi",
    "traces",
    "seeds",
    "identity",
    "signs",
    "restarts",
    "sensitivity",
    "convergence",
    "theorem1",
    "corollary1",
    "theorem2",
    "gradient",
    "implication",
    "seconds",
)
"""Tables and figures in the order of the pages."""


@dataclass(frozen=True)
class Item:
    """A table or a figure, and the flaws of the paper that it shows.

    Attributes
    ----------
    content : Table or Figure
    agreement : str
        A sentence on the agreement with the printed values, "" for other tables and figures.
    flaws : list of Flaw
        The flaws that are described here; each is described once on a page.
    see : list of Flaw
        The flaws that show here too but are described elsewhere.
    """

    content: Table | Figure
    agreement: str
    flaws: list[Flaw]
    see: list[Flaw]

    @property
    def table(self) -> Table | None:
        """The table, or None for a figure."""
        return self.content if isinstance(self.content, Table) else None

    @property
    def figure(self) -> Figure | None:
        """The figure, or None for a table."""
        return self.content if isinstance(self.content, Figure) else None


@dataclass(frozen=True)
class Contents:
    """The contents of a page, independent of its layout."""

    summary: list[str]
    checks: list[Check]
    tallies: list[Tally]
    items: list[Item]
    reasons: list[Reason]
    settings: list[tuple[str, str]]
    environments: list[str]


def contents(records: list[Record]) -> Contents:
    """Return the contents of a page for some records."""
    counts, explained = tallies(records), reasons(records)
    agreements = {name: agreement(name, counts, explained) for name in TABLES}
    return Contents(
        summary(records, counts, explained),
        [*checks(records), *claims(records)],
        counts,
        _items(_shown(records), agreements, all_flaws(records)),
        explained,
        settings(records),
        environments(records),
    )


def all_flaws(records: list[Record]) -> list[Flaw]:
    """Return the flaws that follow from the paper itself, the records or the certificates."""
    return [
        *FLAWS,
        *flaws_measured(records),
        *flaws_of_the_theory(records),
        *flaws_proven(records),
    ]


def _items(
    shown: list[Table | Figure], agreements: dict[str, str], flaws: list[Flaw]
) -> list[Item]:
    """Return tables and figures with their flaws, each described with the first that shows it."""
    described: set[str] = set()
    items = []
    for content in shown:
        here = [flaw for flaw in flaws if content.name in flaw.where]
        new = [flaw for flaw in here if flaw.name not in described]
        known = [flaw for flaw in here if flaw.name in described]
        items.append(Item(content, agreements.get(content.name, ""), new, known))
        described |= {flaw.name for flaw in new}
    return items


def _shown(records: list[Record]) -> list[Table | Figure]:
    """Return the tables and figures that have records."""
    listed: list[Table | Figure] = []
    for name in ORDER:
        if name in TABLES:
            table = TABLES[name](records)
            if not table.is_empty:
                listed.append(table)
        elif all(select(records, experiment) for experiment in EXPERIMENTS_OF_FIGURE[name]):
            listed.append(FIGURES[name])
    return listed

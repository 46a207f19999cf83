"""What is on a page, in which order: the same for every kind of page."""

from __future__ import annotations

from dataclasses import dataclass

from leastcut.paper.report.certified import flaws_proven
from leastcut.paper.report.claims import claims
from leastcut.paper.report.drawing import Figure
from leastcut.paper.report.figures import FIGURES
from leastcut.paper.report.findings import Check, checks
from leastcut.paper.report.flaws_measured import flaws_measured
from leastcut.paper.report.flaws_of_the_paper import FLAWS, Flaw
from leastcut.paper.report.flaws_of_the_theory import flaws_of_the_theory
from leastcut.paper.report.reasons import Difference, Reason, reasons
from leastcut.paper.report.record_selection import select
from leastcut.paper.report.settings import environments, settings
from leastcut.paper.report.summary import summary
from leastcut.paper.report.table import Table
from leastcut.paper.report.tables import TABLES
from leastcut.paper.report.tallies import Tally, tallies
from leastcut.paper.runs.experiments import EXPERIMENTS_OF_FIGURE
from leastcut.paper.runs.records import Record

__all__ = [
    "Check",
    "Contents",
    "Difference",
    "Flaw",
    "Item",
    "Reason",
    "Tally",
    "all_flaws",
    "contents",
]

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
"""Tables and figures in the order of the page: the paper's, and ours where they explain them."""


@dataclass(frozen=True)
class Item:
    """A table or a figure, and what is wrong in the paper's.

    Attributes
    ----------
    content : Table or Figure
    flaws : list of Flaw
        Those to be told here: each is told once on the page, where it shows first.
    see : list of Flaw
        Those that show here too and are told elsewhere.
    """

    content: Table | Figure
    flaws: list[Flaw]
    see: list[Flaw]

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

    summary: list[str]
    checks: list[Check]
    tallies: list[Tally]
    items: list[Item]
    reasons: list[Reason]
    settings: list[tuple[str, str]]
    environments: list[str]


def contents(records: list[Record]) -> Contents:
    """Return what there is to show of some records."""
    counts, why = tallies(records), reasons(records)
    return Contents(
        summary(records, counts, why),
        [*checks(records), *claims(records)],
        counts,
        _items(_shown(records), all_flaws(records)),
        why,
        settings(records),
        environments(records),
    )


def all_flaws(records: list[Record]) -> list[Flaw]:
    """Return every flaw that the paper itself, the records or the certificates show."""
    return [
        *FLAWS,
        *flaws_measured(records),
        *flaws_of_the_theory(records),
        *flaws_proven(records),
    ]


def _items(shown: list[Table | Figure], flaws: list[Flaw]) -> list[Item]:
    """Return tables and figures with their flaws, each told where it shows first."""
    told: set[str] = set()
    items = []
    for content in shown:
        here = [flaw for flaw in flaws if content.name in flaw.where]
        new = [flaw for flaw in here if flaw.name not in told]
        items.append(Item(content, new, [flaw for flaw in here if flaw.name in told]))
        told |= {flaw.name for flaw in new}
    return items


def _shown(records: list[Record]) -> list[Table | Figure]:
    """Return the tables and figures that there are records for."""
    found: list[Table | Figure] = []
    for name in ORDER:
        if name in TABLES:
            table = TABLES[name](records)
            if not table.is_empty:
                found.append(table)
        # a figure is drawn later, by the page, and only if it has something to show
        elif all(select(records, experiment) for experiment in EXPERIMENTS_OF_FIGURE[name]):
            found.append(FIGURES[name])
    return found

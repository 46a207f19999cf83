"""From records to tables: ours beside what the paper prints. One file per table."""

from __future__ import annotations

from collections.abc import Callable

from leastcut.paper.report.table import Table
from leastcut.paper.report.tables.certificates import certified
from leastcut.paper.report.tables.gradient import gradient, implication
from leastcut.paper.report.tables.identity import identity
from leastcut.paper.report.tables.restarts import restarts
from leastcut.paper.report.tables.seconds import seconds
from leastcut.paper.report.tables.seeds import seeds
from leastcut.paper.report.tables.signs import signs
from leastcut.paper.report.tables.table_1_tiny import tiny
from leastcut.paper.report.tables.table_2_objective import objective
from leastcut.paper.report.tables.table_3_datasets import datasets
from leastcut.paper.report.tables.table_4_accuracy import accuracy
from leastcut.paper.report.tables.table_5_nmi import nmi
from leastcut.paper.report.tables.theorems import corollary1, theorem1, theorem2
from leastcut.paper.report.tables.traces import traced
from leastcut.paper.runs.records import Record

TABLES: dict[str, Callable[[list[Record]], Table]] = {
    "datasets": datasets,
    "tiny": tiny,
    "objective": objective,
    "certificates": certified,
    "accuracy": accuracy,
    "nmi": nmi,
    "traces": traced,
    "seeds": seeds,
    "identity": identity,
    "signs": signs,
    "restarts": restarts,
    "theorem1": theorem1,
    "corollary1": corollary1,
    "theorem2": theorem2,
    "gradient": gradient,
    "implication": implication,
    "seconds": seconds,
}
"""Every table by name."""

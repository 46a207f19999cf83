"""The methods that are compared, as columns of the tables.

Every method of the paper has the same number of starts. A method that does not know the cut keeps
its best start by its own loss ("judge": "loss"); first order keeps its best start and η by the cut
value ("judge": "cut"), which is how the paper says to choose η.

Methods and parameters are part of a record's key: another number here is another run, and records
that were made with the old one are no longer read for these columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

N_INIT = 10
"""Starts of every method. The paper does not say how many it had; ten is k-means' usual number."""

N_SINGLE = 50
"""Single starts of every method: enough to tell a value that one start in ten ends at."""

ETA_GRID = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
"""The paper's search for η."""

WIDE_ETAS = tuple(float(f"1e{exponent}") for exponent in range(-5, 6))
"""η in the paper's sensitivity figure."""


@dataclass(frozen=True)
class Column:
    """A column of the tables: a method and its parameters.

    ``printed`` is what the paper calls it, None if it is ours alone.
    """

    label: str
    method: str
    # a dict has no hash, and would leave the column without one
    parameters: Mapping[str, Any] = field(hash=False)
    printed: str | None = None


def _heuristic(label: str, method: str) -> Column:
    return Column(label, method, {"n_init": N_INIT, "judge": "loss"}, label)


# The two bounds: neither is a method, and no method is compared with them for the best of a row.
RELAXED = Column("OPT_r", "relax", {}, "OPT_r")
OPTIMUM = Column("OPT", "exact_partition", {}, "OPT")

# The paper's methods, in the order of its columns.
HEURISTICS = (
    _heuristic("KM", "kmeans"),
    _heuristic("KM-norm", "kmeans_norm"),
    _heuristic("SR", "rotation"),
    _heuristic("ISR", "improved_rotation"),
)
DIRECT = Column("DNC", "direct_cut", {"n_init": N_INIT}, "DNC")
FIRST_ORDER = Column(
    "first order", "first_order", {"n_init": N_INIT, "judge": "cut", "eta": list(ETA_GRID)}, "Ours"
)

# Ours alone.
AUTOMATIC = Column(
    "first order, η auto", "first_order", {"n_init": N_INIT, "judge": "cut", "eta": "auto"}
)
REFINED = Column("first order + refine", "first_order+refine", dict(FIRST_ORDER.parameters))
PARTITION = Column("partition", "partition", {"effort": "balanced"})

# Ours with a proof: the labels that are certified are the best we have, whatever they take.
CERTIFIED = Column("certify", "certify", {"effort": "thorough"})

METHODS = (*HEURISTICS, DIRECT, FIRST_ORDER, AUTOMATIC, REFINED, PARTITION)
"""The methods of all tables of values, in their order; those of the paper first."""

RANDOM_METHODS = (
    (Column("closest", "closest", {}), 20),
    (FIRST_ORDER, 4),
    (Column("partition, fast", "partition", {"effort": "fast"}), 4),
    (PARTITION, 1),
)
"""Methods tried on random graphs, and the most records of each: 10,000 graphs for what is found by
enumeration, as in the paper, and the first 2,000 or 500 of them for what is run graph by graph."""


def columns(table: str) -> list[Column]:
    """Return the columns of a table of values: "tiny", "objective", "accuracy" or "nmi"."""
    bound = {"tiny": [OPTIMUM], "objective": [RELAXED]}.get(table, [])
    return [*bound, *METHODS]


def by_cut() -> list[Column]:
    """Return the heuristics with their starts judged by the cut value, which they do not know."""
    return [
        Column(f"{column.label}, by cut", column.method, {**column.parameters, "judge": "cut"})
        for column in HEURISTICS
    ]


def single_starts() -> list[Column]:
    """Return the methods of the paper with one start each, as many times over as N_SINGLE says."""
    return [
        Column(column.label, column.method, {**column.parameters, "n_init": 1, "starts": N_SINGLE})
        for column in (*HEURISTICS, FIRST_ORDER)
    ]


def identity_starts() -> list[Column]:
    """Return those that alternate, begun with the identity as rotation: as the authors do it.

    The paper's algorithm, and ours, begin by solving for the rotation.
    """
    return [
        Column(column.label, column.method, {**column.parameters, "rotation": "identity"})
        for column in single_starts()
        if column.method in ("improved_rotation", "first_order")
    ]

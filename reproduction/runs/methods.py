"""The compared methods, as columns of the tables.

All randomly started methods of the paper have the same number of starts. A method that does not use
the graph keeps its best start by its own loss ("judge": "loss"); first order keeps its best start
and η by the cut value ("judge": "cut"), as the paper chooses η. The paper's SR rotates F without
scaling, starting from the identity: for given eigenvectors it is deterministic.

Methods and parameters are part of a record's key. After a change of a value here, existing records
no longer belong to these columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

N_INIT = 10
"""Starts of every method. The paper does not state a number; ten is usual for k-means."""

N_SINGLE = 50
"""Single starts of every method, enough to reach a value that one start in ten reaches."""

N_SEARCHED = 2**12
"""Maximum number of single starts in the search for the partition of a printed cell, which may be
the result of one start in a thousand."""

SEARCHED_SAMPLES = 2**21
"""Maximum of samples times starts in such a search; large datasets have fewer starts."""

N_MANY = 40
"""Seeds for counting how often a run reaches a printed value; the tables have ten."""

N_SIGNS = 2**14
"""Maximum number of choices of the eigenvectors' signs: all choices up to 14 clusters, otherwise a
random sample."""

ETA_GRID = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
"""The paper's grid for η."""

WIDE_ETAS = tuple(float(f"1e{exponent}") for exponent in range(-5, 6))
"""The values of η in the paper's sensitivity figure."""


@dataclass(frozen=True)
class Column:
    """A column of the tables: a method and its parameters.

    ``printed`` is its name in the paper, None if it is not in the paper.
    """

    label: str
    method: str
    # dicts are not hashable
    parameters: Mapping[str, Any] = field(hash=False)
    printed: str | None = None


def _heuristic(label: str, method: str) -> Column:
    return Column(label, method, {"n_init": N_INIT, "judge": "loss"}, label)


# The two bounds, which are not methods.
RELAXED = Column("OPT_r", "relax", {}, "OPT_r")
OPTIMUM = Column("OPT", "exact_partition", {}, "OPT")

# The paper's methods, in the order of its columns.
KMEANS = _heuristic("KM", "kmeans")
KMEANS_NORM = _heuristic("KM-norm", "kmeans_norm")
ROTATION = Column("SR", "unscaled_rotation", {"judge": "loss"}, "SR")
IMPROVED = _heuristic("ISR", "improved_rotation")
DIRECT = Column("DNC", "direct_cut", {"n_init": N_INIT}, "DNC")
FIRST_ORDER = Column(
    "first order", "first_order", {"n_init": N_INIT, "judge": "cut", "eta": list(ETA_GRID)}, "Ours"
)

# Not in the paper. Yu and Shi rotate the unit rows of F, which does not reproduce the paper's SR.
UNIT_ROWS = Column("SR, unit rows", "rotation", {"n_init": N_INIT, "judge": "loss"})
AUTOMATIC = Column(
    "first order, η auto", "first_order", {"n_init": N_INIT, "judge": "cut", "eta": "auto"}
)
ADAPTIVE = Column(
    "first order, η adaptive", "first_order", {"n_init": N_INIT, "judge": "cut", "eta": "adaptive"}
)
REFINED = Column("first order + refine", "first_order+refine", dict(FIRST_ORDER.parameters))
PARTITION = Column("partition", "partition", {"effort": "balanced"})

# The labels to certify are the best available.
CERTIFIED = Column("certify", "certify", {"effort": "thorough"})

HEURISTICS = (KMEANS, KMEANS_NORM, UNIT_ROWS, IMPROVED)
"""Randomly started methods that do not use the graph."""

METHODS = (
    KMEANS,
    KMEANS_NORM,
    ROTATION,
    UNIT_ROWS,
    IMPROVED,
    DIRECT,
    FIRST_ORDER,
    AUTOMATIC,
    ADAPTIVE,
    REFINED,
    PARTITION,
)
"""The methods of all tables of values, in order."""

FIXED = ("relax", "exact_partition", "unscaled_rotation")
"""Deterministic methods, which are run once."""

RANDOM_METHODS = (
    (Column("closest", "closest", {}), 20),
    (FIRST_ORDER, 4),
    (Column("partition, fast", "partition", {"effort": "fast"}), 4),
    (PARTITION, 1),
)
"""Methods for random graphs and the maximum number of records of each: 10,000 graphs for the
enumeration, as in the paper, and the first 2,000 or 500 of them for the slower methods."""

PRINTED_AS = {column.method: column.printed for column in METHODS if column.printed is not None}
"""The methods of the paper and their names in it."""


def columns(table: str) -> list[Column]:
    """Return the columns of a table of values: "tiny", "objective", "accuracy" or "nmi"."""
    bound = {"tiny": [OPTIMUM], "objective": [RELAXED]}.get(table, [])
    return [*bound, *METHODS]


def by_cut() -> list[Column]:
    """Return the heuristics with the best start chosen by the cut value."""
    return [
        Column(f"{column.label}, by cut", column.method, {**column.parameters, "judge": "cut"})
        for column in HEURISTICS
    ]


def single_starts(runs: int = N_SINGLE) -> list[Column]:
    """Return the randomly started methods with one start for each of ``runs`` seeds."""
    return [
        Column(column.label, column.method, {**column.parameters, "n_init": 1, "runs": runs})
        for column in (*HEURISTICS, FIRST_ORDER)
    ]


def searched_starts(runs: int = N_SEARCHED) -> list[Column]:
    """Return the paper's methods with one start per seed, recorded if at the printed cut value."""
    return [
        Column(
            column.label,
            column.method,
            {**column.parameters, "n_init": 1, "runs": runs, "kept": "printed"},
        )
        for column in (KMEANS, KMEANS_NORM, IMPROVED, FIRST_ORDER)
    ]


def many_seeds(runs: int = N_MANY) -> list[Column]:
    """Return the paper's randomly started methods, as in the tables, for ``runs`` seeds."""
    return [
        Column(column.label, column.method, {**column.parameters, "runs": runs})
        for column in (KMEANS, KMEANS_NORM, IMPROVED, FIRST_ORDER)
    ]


def identity_starts(runs: int = N_SINGLE) -> list[Column]:
    """Return the alternating methods with one start per seed and the identity as first rotation.

    The paper's algorithm first solves for the rotation; its authors' program starts with the
    identity.
    """
    return [
        Column(column.label, column.method, {**column.parameters, "rotation": "identity"})
        for column in single_starts(runs)
        if column.method in (IMPROVED.method, FIRST_ORDER.method)
    ]


def sign_choices(most: int = N_SIGNS) -> Column:
    """Return the paper's SR for at most ``most`` choices of the eigenvectors' signs."""
    return Column(ROTATION.label, ROTATION.method, {**ROTATION.parameters, "signs": most})

"""What there is to run: experiments made of cells, one record each.

A cell is (experiment, dataset, cut, method, parameters, seed). An experiment lists its cells for a
scope, which says how much of it to run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from firstcut.paper.data.printed import CUT_TITLES, dataset_labels, split_name
from firstcut.paper.runs.methods import (
    CERTIFIED,
    ETA_GRID,
    N_INIT,
    PARTITION,
    RANDOM_METHODS,
    RELAXED,
    WIDE_ETAS,
    Column,
    by_cut,
    columns,
    identity_starts,
    single_starts,
)
from firstcut.paper.runs.records import key_of

N_SEEDS = 10
"""Seeds that a full run uses, enough for a median and a range; a seed fixes all starts."""

TINY = tuple(f"usps:{n}" for n in range(11, 16))
"""The first rows of USPS; with fewer than 11 there is no 11th neighbour."""

NODES = tuple(range(3, 11))
"""Sizes of the random graphs; the paper has the first three, ten nodes have 511 bipartitions."""

BATCH = 500
"""Random graphs in one record: at most about a minute of work, so that a kill costs no more."""

N_BATCHES = 20
"""Most records per size and method; with BATCH that makes the paper's 10,000 graphs."""

TIME_LIMIT = 300.0
"""Seconds for the proof of a certificate: several times what sets of a few hundred samples take."""

SINGLE_STARTS = "spread"
"""The experiment of single starts. The records have called it so from the beginning."""


@dataclass(frozen=True)
class Cell:
    """One run."""

    experiment: str
    dataset: str
    cut: str
    method: str
    # a dict has no hash, and would leave the cell without one
    parameters: Mapping[str, Any] = field(hash=False)
    seed: int

    @property
    def key(self) -> str:
        """The key of its record."""
        return key_of(vars(self))


@dataclass(frozen=True)
class Scope:
    """How much to run: which datasets, how many seeds and random graphs, how long a proof."""

    datasets: tuple[str, ...] = tuple(dataset_labels())
    n_seeds: int = N_SEEDS
    n_batches: int = N_BATCHES
    batch: int = BATCH
    time_limit: float = TIME_LIMIT

    def among(self, names: Iterable[str]) -> list[str]:
        """Return those of ``names`` that are in scope."""
        return [name for name in names if split_name(name)[0] in self.datasets]


QUICK = Scope(
    ("wine", "iris", "breast_cancer", "digits"), n_seeds=2, n_batches=1, batch=10, time_limit=1.0
)
"""Everything in small, in less than a minute, on the datasets that come with scikit-learn."""


def _values(
    experiment: str, names: Iterable[str], found: list[Column], n_seeds: int
) -> Iterator[Cell]:
    """Yield a cell for every dataset, cut, column and seed."""
    for name in names:
        for cut in CUT_TITLES:
            for column in found:
                fixed = column.method in ("relax", "exact_partition")  # these use no randomness
                for seed in range(1 if fixed else n_seeds):
                    yield Cell(experiment, name, cut, column.method, column.parameters, seed)


def _datasets(scope: Scope) -> Iterator[Cell]:
    for name in scope.datasets:
        yield Cell("datasets", name, "ratio", "load", {}, 0)


def _tiny(scope: Scope) -> Iterator[Cell]:
    return _values("tiny", scope.among(TINY), columns("tiny"), scope.n_seeds)


def _objective(scope: Scope) -> Iterator[Cell]:
    return _values("objective", scope.datasets, columns("objective"), scope.n_seeds)


def _certificates(scope: Scope) -> Iterator[Cell]:
    # the limit is a part of the key: with more time it is another proof
    timed = Column("", CERTIFIED.method, {**CERTIFIED.parameters, "time_limit": scope.time_limit})
    names = [*scope.among(TINY), *scope.datasets]
    return _values("certificates", names, [timed], n_seeds=1)


def _restarts(scope: Scope) -> Iterator[Cell]:
    return _values("restarts", scope.datasets, by_cut(), scope.n_seeds)


def _single_starts(scope: Scope) -> Iterator[Cell]:
    # one record holds all single starts of a method, so there is one seed
    names = [*scope.datasets, *scope.among(TINY)]
    return _values(SINGLE_STARTS, names, [*single_starts(), *identity_starts()], n_seeds=1)


def _theorems(scope: Scope) -> Iterator[Cell]:
    for name in scope.datasets:
        for method in ("kmeans", "improved_rotation"):
            yield Cell("theorems", name, "ratio", "theorem 1", {"labels": method}, 0)
        for cut in CUT_TITLES:
            yield Cell("theorems", name, cut, "theorem 2", dict(PARTITION.parameters), 0)


def _random(scope: Scope) -> Iterator[Cell]:
    for n in NODES:
        for column, most in RANDOM_METHODS:
            # the seed makes the graphs, so all methods see the same ones
            parameters = {**column.parameters, "graphs": scope.batch}
            for seed in range(min(scope.n_batches, most)):
                yield Cell("random", f"random:{n}", "ratio", column.method, parameters, seed)


def _motivation(scope: Scope) -> Iterator[Cell]:
    yield Cell("motivation", "example", "ratio", "enumeration", {}, 0)


def _sensitivity(scope: Scope) -> Iterator[Cell]:
    found = [
        Column("", "first_order", {"n_init": N_INIT, "judge": "cut", "eta": eta})
        for eta in WIDE_ETAS
    ]
    # the paper's four datasets; where none of them is in scope, one that is
    names = scope.among(("jaffe", "umist", "orl", "yale")) or scope.datasets[:1]
    return _values("sensitivity", names, [RELAXED, *found], scope.n_seeds)


def _convergence(scope: Scope) -> Iterator[Cell]:
    single = Column("", "first_order", {"n_init": 1, "judge": "loss", "eta": ETA_GRID[0]})
    names = scope.among(("jaffe", "umist")) or scope.datasets[:1]
    return _values("convergence", names, [single], scope.n_seeds)


EXPERIMENTS = {
    "datasets": _datasets,
    "motivation": _motivation,
    "tiny": _tiny,
    "objective": _objective,
    "certificates": _certificates,
    "restarts": _restarts,
    SINGLE_STARTS: _single_starts,
    "theorems": _theorems,
    "sensitivity": _sensitivity,
    "convergence": _convergence,
    "random": _random,
}
"""Every experiment and its cells."""

EXPERIMENTS_OF_TABLE = {
    "datasets": ("datasets",),
    "tiny": ("tiny", SINGLE_STARTS),
    "objective": ("objective", SINGLE_STARTS),
    "certificates": ("certificates",),
    "accuracy": ("objective", SINGLE_STARTS),
    "nmi": ("objective", SINGLE_STARTS),
    "restarts": ("objective", "restarts", SINGLE_STARTS),
    "seconds": ("objective",),
    "theorem1": ("theorems",),
    "theorem2": ("theorems",),
}
"""The experiments that a table reads, single starts for the reasons of its differences."""

EXPERIMENTS_OF_FIGURE = {
    "closest": ("random",),
    "motivation": ("motivation",),
    "sensitivity": ("sensitivity",),
    "convergence": ("convergence",),
}
"""The experiments that a figure reads."""


def cells(experiments: Iterable[str], scope: Scope) -> list[Cell]:
    """Return the cells of some experiments, each once.

    Parameters
    ----------
    experiments : iterable of str
        Keys of :data:`EXPERIMENTS`.
    scope : Scope

    Returns
    -------
    list of Cell
        In the order of :data:`EXPERIMENTS`, whatever the order asked for.
    """
    # by key, so that what is named twice is run once
    wanted = set(experiments)
    found = {
        cell.key: cell
        for name, listed in EXPERIMENTS.items()
        if name in wanted
        for cell in listed(scope)
    }
    return list(found.values())

"""The experiments, each a list of cells with one record per cell.

A cell is (experiment, dataset, cut, method, parameters, seed). A scope limits the cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from reproduction.data.printed import CUT_TITLES, dataset_labels, split_name
from reproduction.runs.methods import (
    CERTIFIED,
    ETA_GRID,
    FIXED,
    N_INIT,
    N_MANY,
    N_SEARCHED,
    N_SIGNS,
    N_SINGLE,
    PARTITION,
    RANDOM_METHODS,
    RELAXED,
    SEARCHED_SAMPLES,
    WIDE_ETAS,
    Column,
    by_cut,
    columns,
    identity_starts,
    many_seeds,
    searched_starts,
    sign_choices,
    single_starts,
)
from reproduction.runs.protocol import expected_size
from reproduction.runs.records import key_of

N_SEEDS = 10
"""Seeds of a full run; a seed determines all starts."""

TINY = tuple(f"usps:{n}" for n in range(11, 16))
"""The first rows of USPS; fewer than 11 have no 11th neighbor."""

NODES = tuple(range(3, 11))
"""Sizes of the random graphs; the paper has the first three. Ten nodes have 511 bipartitions."""

BATCH = 500
"""Random graphs in one record, at most about a minute of work."""

N_BATCHES = 20
"""Maximum number of records per size and method: with BATCH the paper's 10,000 graphs."""

TIME_LIMIT = 300.0
"""Time limit in seconds for the proof of a certificate."""

EVIDENCE, TINY_EVIDENCE = "evidence", "tiny evidence"
"""The experiments of many runs that explain differences. The tiny datasets have a separate one, so
that a table does not require runs of other datasets."""

SEARCH = "search"
"""The experiment of thousands of single starts, as further evidence."""

IMPLICATION = "implication"
"""The experiment on the paper's statement about the gradient term, on random graphs."""

THREE = (6, 7, 8)
"""Sizes of these graphs: eight nodes have 966 partitions into three, half a million pairs."""


@dataclass(frozen=True)
class Cell:
    """One run."""

    experiment: str
    dataset: str
    cut: str
    method: str
    # dicts are not hashable
    parameters: Mapping[str, Any] = field(hash=False)
    seed: int

    @property
    def key(self) -> str:
        """The key of the record."""
        return key_of(vars(self))


@dataclass(frozen=True)
class Scope:
    """The extent of a run: datasets, numbers of seeds, graphs, runs and signs, and time limits."""

    datasets: tuple[str, ...] = tuple(dataset_labels())
    n_seeds: int = N_SEEDS
    n_batches: int = N_BATCHES
    batch: int = BATCH
    time_limit: float = TIME_LIMIT
    n_single: int = N_SINGLE
    n_many: int = N_MANY
    n_signs: int = N_SIGNS
    n_searched: int = N_SEARCHED

    def among(self, names: Iterable[str]) -> list[str]:
        """Return the names in scope."""
        return [name for name in names if split_name(name)[0] in self.datasets]


QUICK = Scope(
    ("wine", "iris", "breast_cancer", "digits"),
    n_seeds=2,
    n_batches=1,
    batch=10,
    time_limit=1.0,
    n_single=5,
    n_many=3,
    n_signs=8,
    n_searched=5,
)
"""Every experiment at reduced size on datasets of scikit-learn, in about a minute."""


def _values(
    experiment: str, names: Iterable[str], listed: list[Column], n_seeds: int
) -> Iterator[Cell]:
    """Yield a cell for every dataset, cut, column and seed."""
    for name in names:
        for cut in CUT_TITLES:
            for column in listed:
                for seed in range(1 if column.method in FIXED else n_seeds):
                    yield Cell(experiment, name, cut, column.method, column.parameters, seed)


def _datasets(scope: Scope) -> Iterator[Cell]:
    for name in scope.datasets:
        yield Cell("datasets", name, "ratio", "load", {}, 0)


def _tiny(scope: Scope) -> Iterator[Cell]:
    return _values("tiny", scope.among(TINY), columns("tiny"), scope.n_seeds)


def _objective(scope: Scope) -> Iterator[Cell]:
    return _values("objective", scope.datasets, columns("objective"), scope.n_seeds)


def _certificates(scope: Scope) -> Iterator[Cell]:
    # the limit is part of the key, as the proof depends on it
    timed = Column("", CERTIFIED.method, {**CERTIFIED.parameters, "time_limit": scope.time_limit})
    names = [*scope.among(TINY), *scope.datasets]
    return _values("certificates", names, [timed], n_seeds=1)


def _restarts(scope: Scope) -> Iterator[Cell]:
    return _values("restarts", scope.datasets, by_cut(), scope.n_seeds)


def _many_runs(experiment: str, names: Iterable[str], scope: Scope) -> Iterator[Cell]:
    """Yield the cells of many runs; one record holds all runs of a method."""
    listed = [
        *single_starts(scope.n_single),
        *many_seeds(scope.n_many),
        *identity_starts(scope.n_single),
        sign_choices(scope.n_signs),
    ]
    return _values(experiment, names, listed, n_seeds=1)


def _evidence(scope: Scope) -> Iterator[Cell]:
    return _many_runs(EVIDENCE, scope.datasets, scope)


def _search(scope: Scope) -> Iterator[Cell]:
    for name in scope.datasets:
        runs = min(scope.n_searched, SEARCHED_SAMPLES // expected_size(name))
        yield from _values(SEARCH, [name], searched_starts(runs), n_seeds=1)


def _tiny_evidence(scope: Scope) -> Iterator[Cell]:
    return _many_runs(TINY_EVIDENCE, scope.among(TINY), scope)


def _theorems(scope: Scope) -> Iterator[Cell]:
    for name in scope.datasets:
        for method in ("kmeans", "improved_rotation"):
            yield Cell("theorems", name, "ratio", "theorem 1", {"labels": method}, 0)
        yield Cell("theorems", name, "ratio", "corollary 1", {"runs": scope.n_single}, 0)
        for cut in CUT_TITLES:
            yield Cell("theorems", name, cut, "theorem 2", dict(PARTITION.parameters), 0)
            yield Cell("theorems", name, cut, "gradient", dict(PARTITION.parameters), 0)


def _implication(scope: Scope) -> Iterator[Cell]:
    for n in THREE:
        parameters = {"clusters": 3, "graphs": min(scope.batch, 200)}
        yield Cell(IMPLICATION, f"random:{n}", "ratio", "enumeration", parameters, 0)


def _random(scope: Scope) -> Iterator[Cell]:
    for n in NODES:
        for column, most in RANDOM_METHODS:
            # the seed determines the graphs, so all methods have the same ones
            parameters = {**column.parameters, "graphs": scope.batch}
            for seed in range(min(scope.n_batches, most)):
                yield Cell("random", f"random:{n}", "ratio", column.method, parameters, seed)


def _motivation(scope: Scope) -> Iterator[Cell]:
    yield Cell("motivation", "example", "ratio", "enumeration", {}, 0)


def _sensitivity(scope: Scope) -> Iterator[Cell]:
    for_each_eta = [
        Column("", "first_order", {"n_init": N_INIT, "judge": "cut", "eta": eta})
        for eta in WIDE_ETAS
    ]
    # the paper's four datasets, or the first in scope
    names = scope.among(("jaffe", "umist", "orl", "yale")) or scope.datasets[:1]
    return _values("sensitivity", names, [RELAXED, *for_each_eta], scope.n_seeds)


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
    EVIDENCE: _evidence,
    SEARCH: _search,
    TINY_EVIDENCE: _tiny_evidence,
    "theorems": _theorems,
    IMPLICATION: _implication,
    "sensitivity": _sensitivity,
    "convergence": _convergence,
    "random": _random,
}
"""The experiments and the functions that return their cells."""

EXPERIMENTS_OF_TABLE = {
    "datasets": ("datasets",),
    "tiny": ("tiny", TINY_EVIDENCE),
    "objective": ("objective", EVIDENCE),
    "certificates": ("certificates",),
    "accuracy": ("objective", EVIDENCE),
    "nmi": ("objective", EVIDENCE),
    "seeds": (EVIDENCE, TINY_EVIDENCE),
    "identity": (EVIDENCE, TINY_EVIDENCE),
    "signs": (EVIDENCE, TINY_EVIDENCE),
    "traces": ("objective", EVIDENCE, SEARCH),
    "restarts": ("objective", "restarts", EVIDENCE),
    "seconds": ("objective",),
    "theorem1": ("theorems",),
    "corollary1": ("theorems",),
    "theorem2": ("theorems",),
    "gradient": ("theorems",),
    "implication": (IMPLICATION,),
}
"""The experiments of a table, including those that explain its differences."""

EXPERIMENTS_OF_FIGURE = {
    "closest": ("random",),
    "motivation": ("motivation",),
    "bounds": ("certificates", "objective"),
    "sensitivity": ("sensitivity",),
    "convergence": ("convergence",),
}
"""The experiments of a figure."""


def cells(experiments: Iterable[str], scope: Scope) -> list[Cell]:
    """Return the cells of some experiments without duplicates.

    Parameters
    ----------
    experiments : iterable of str
        Keys of :data:`EXPERIMENTS`.
    scope : Scope

    Returns
    -------
    list of Cell
        In the order of :data:`EXPERIMENTS`.
    """
    wanted = set(experiments)
    by_key = {
        cell.key: cell
        for name, cells_of in EXPERIMENTS.items()
        if name in wanted
        for cell in cells_of(scope)
    }
    return list(by_key.values())

"""What there is to run: experiments made of cells, one record each.

A cell is (experiment, dataset, cut, method, parameters, seed). Every method of the paper has the
same number of starts. A method that does not know the cut keeps its best start by its own loss
("judge": "loss"); first order keeps its best start and η by the cut value ("judge": "cut"), which
is how the paper says to choose η.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import firstcut
from firstcut.paper.printed import CUT_TITLES, dataset_labels
from firstcut.paper.records import KEY

N_INIT = 10
"""Starts of every method."""

N_SINGLE = 50
"""Single starts that show how far the starts of a method spread."""

N_SEEDS = 10
"""Seeds that a full run uses; a seed fixes all starts."""

ETA_GRID = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
"""The paper's search for η."""

WIDE_ETAS = tuple(float(f"1e{exponent}") for exponent in range(-5, 6))
"""η in the paper's sensitivity figure."""

TINY = tuple(f"usps:{n}" for n in range(11, 16))
"""The first rows of USPS; with fewer than 11 there is no 11th neighbour."""

NODES = tuple(range(3, 11))
"""Sizes of the random graphs; the paper has the first three."""

BATCH = 500
"""Random graphs in one record."""

N_BATCHES = 20
"""Most records per size and method."""

QUICK_DATASETS = ("wine", "iris", "breast_cancer", "digits")
"""Datasets that come with scikit-learn."""


@dataclass(frozen=True)
class Cell:
    """One run."""

    experiment: str
    dataset: str
    cut: str
    method: str
    parameters: Mapping[str, Any] = field(hash=False)
    seed: int

    @property
    def key(self) -> str:
        """The key of its record."""
        return json.dumps([getattr(self, name) for name in KEY], sort_keys=True)


@dataclass(frozen=True)
class Column:
    """A column of the tables: a method and its parameters.

    ``printed`` is what the paper calls it, None if it is ours alone; ``needs`` names the public
    functions without which it is left out.
    """

    label: str
    method: str
    parameters: Mapping[str, Any] = field(hash=False)
    printed: str | None = None
    needs: tuple[str, ...] = ()

    @property
    def available(self) -> bool:
        """Whether this installation can run it."""
        return all(hasattr(firstcut, name) for name in self.needs)


def _heuristic(label: str, method: str) -> Column:
    return Column(label, method, {"n_init": N_INIT, "judge": "loss"}, label)


RELAXED = Column("OPT_r", "relax", {}, "OPT_r")
OPTIMUM = Column("OPT", "exact_partition", {}, "OPT", ("exact_partition",))
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
AUTOMATIC = Column(
    "first order, η auto", "first_order", {"n_init": N_INIT, "judge": "cut", "eta": "auto"}
)
REFINED = Column(
    "first order + refine", "first_order+refine", dict(FIRST_ORDER.parameters), None, ("refine",)
)
PARTITION = Column("partition", "partition", {"effort": "balanced"}, None, ("partition",))

METHODS = (*HEURISTICS, DIRECT, FIRST_ORDER, AUTOMATIC, REFINED, PARTITION)
"""The methods of all tables of values, in their order; those of the paper first."""


RANDOM_METHODS = (
    (Column("closest", "closest", {}), 20),
    (FIRST_ORDER, 4),
    (Column("partition, fast", "partition", {"effort": "fast"}, None, ("partition",)), 4),
    (PARTITION, 1),
)
"""Methods tried on random graphs, and the most records of each: 10,000 graphs for what is found by
enumeration, as in the paper, and the first 2,000 or 500 of them for what is run graph by graph."""


def columns(table: str) -> list[Column]:
    """Return the columns of a table of values: "tiny", "objective", "accuracy" or "nmi"."""
    bound = {"tiny": [OPTIMUM], "objective": [RELAXED]}.get(table, [])
    return [column for column in (*bound, *METHODS) if column.available]


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


@dataclass(frozen=True)
class Scope:
    """How much to run: which datasets, how many seeds, how many random graphs."""

    datasets: tuple[str, ...] = tuple(dataset_labels())
    n_seeds: int = N_SEEDS
    n_batches: int = N_BATCHES
    batch: int = BATCH

    def among(self, names: Iterable[str]) -> list[str]:
        """Return those of ``names`` that are in scope."""
        return [name for name in names if name.partition(":")[0] in self.datasets]


def _values(
    experiment: str, names: Iterable[str], found: list[Column], n_seeds: int
) -> Iterator[Cell]:
    for name in names:
        for cut in CUT_TITLES:
            for column in found:
                fixed = column.method in ("relax", "exact_partition")
                for seed in range(1 if fixed else n_seeds):
                    yield Cell(experiment, name, cut, column.method, column.parameters, seed)


def _datasets(scope: Scope) -> Iterator[Cell]:
    for name in scope.datasets:
        yield Cell("datasets", name, "ratio", "load", {}, 0)


def _tiny(scope: Scope) -> Iterator[Cell]:
    return _values("tiny", scope.among(TINY), columns("tiny"), scope.n_seeds)


def _objective(scope: Scope) -> Iterator[Cell]:
    return _values("objective", scope.datasets, columns("objective"), scope.n_seeds)


def _restarts(scope: Scope) -> Iterator[Cell]:
    return _values("restarts", scope.datasets, by_cut(), scope.n_seeds)


def _spread(scope: Scope) -> Iterator[Cell]:
    names = [*scope.datasets, *scope.among(TINY)]
    return _values("spread", names, [*single_starts(), *identity_starts()], n_seeds=1)


def _theorems(scope: Scope) -> Iterator[Cell]:
    for name in scope.datasets:
        for method in ("kmeans", "improved_rotation"):
            yield Cell("theorems", name, "ratio", "theorem 1", {"labels": method}, 0)
        if PARTITION.available:
            for cut in CUT_TITLES:
                yield Cell("theorems", name, cut, "theorem 2", dict(PARTITION.parameters), 0)


def _random(scope: Scope) -> Iterator[Cell]:
    for n in NODES:
        for column, most in RANDOM_METHODS:
            if column.available:
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
    "restarts": _restarts,
    "spread": _spread,
    "theorems": _theorems,
    "sensitivity": _sensitivity,
    "convergence": _convergence,
    "random": _random,
}
"""Every experiment and its cells."""

TABLES = {
    "datasets": ("datasets",),
    "tiny": ("tiny", "spread"),
    "objective": ("objective", "spread"),
    "accuracy": ("objective", "spread"),
    "nmi": ("objective", "spread"),
    "restarts": ("objective", "restarts", "spread"),
    "seconds": ("objective",),
    "theorem1": ("theorems",),
    "theorem2": ("theorems",),
}
"""The experiments that a table reads."""

FIGURES = {
    "closest": ("random",),
    "motivation": ("motivation",),
    "sensitivity": ("sensitivity",),
    "convergence": ("convergence",),
}
"""The experiments that a figure reads."""


def cells(experiments: Iterable[str], scope: Scope) -> list[Cell]:
    """Return the cells of some experiments, each once."""
    wanted = set(experiments)
    found = {
        cell.key: cell
        for name, listed in EXPERIMENTS.items()
        if name in wanted
        for cell in listed(scope)
    }
    return list(found.values())

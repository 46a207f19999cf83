"""What the stages of a search ask of it: where it stands, and to go on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from leastcut.multilevel.levels import Coarsening, Step
from leastcut.multilevel.passes import Trial
from leastcut.problem import Problem
from leastcut.results import Relaxation


class Search(Protocol):
    """A search, as its stages and its population see it."""

    scaled: Problem
    n_clusters: int
    best: Trial | None
    work: int
    n_tasks: int
    starts: dict[str, list[np.ndarray]]
    level: Level | None

    @property
    def work_left(self) -> float: ...

    @property
    def is_late(self) -> bool: ...

    @property
    def is_done(self) -> bool: ...

    def stop(self) -> None: ...

    def never_late(self) -> bool: ...

    def below(self, problem: Problem) -> Search: ...

    def coarsening(self, rule: str) -> Coarsening: ...

    def budget(self, stage: str) -> float: ...

    def is_spent(self, stage: str) -> bool: ...

    def relax(self) -> Relaxation | None: ...

    def next_generator(self) -> np.random.Generator: ...

    def consider(self, trial: Trial) -> bool: ...

    def note(self, stage: str) -> None: ...

    def report(self, stage: str, fraction: float) -> None: ...


@dataclass(frozen=True, eq=False)
class Level:
    """The level that is searched in place of a huge problem.

    Attributes
    ----------
    steps : list of Step
        Lead from the problem to the level.
    search : Search
        The search of the level.
    trials : list of Trial
        What its first stage has found.
    """

    steps: list[Step]
    search: Search
    trials: list[Trial]

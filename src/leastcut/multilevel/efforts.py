"""What each effort does and how much of it: the one list that the search, options and docs read.

One random stream, read in one order, whatever the effort: each begins with exactly what the one
before it does, and goes on. Effort is counted in edges visited, not in seconds, so a seed fixes the
answer; a time limit only cuts the same search short.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from leastcut.formatting import one_line
from leastcut.seeds import RandomState
from leastcut.threads import count_threads
from leastcut.validation import check_choice

TIGHT = "tight"  # the lower bound that is a certificate, and its stage in reports of progress


@dataclass(frozen=True)
class Effort:
    """What an effort does, as the last of its stages, and how much of it.

    Work is counted in visited edges of the graph.
    """

    # The efforts whose parts of the search are run, in order, itself last. The first of them makes
    # the first passes, and those after it go on from what is there.
    stages: tuple[str, ...]
    # Up to this size the lower bound is computed by default: about as long as the search takes.
    bound_nodes: int
    # What the spectral solution may cost, as a multiple of the work before it; where that is too
    # little for the full graph, a coarser level of it is solved. And how many starts its
    # discretization has.
    spectral_share: float
    spectral_starts: int
    # The work of the search in all when starts and recombinations end: this many edges, or this
    # many times the work of the first stage, or this fraction of the estimated work of the
    # eigenvectors of the graph, which is where spectral clustering would begin.
    edges: int = 0
    passes: int = 0
    eigenproblem_share: float = 0.0
    # If a huge graph is searched on a level, this stage goes on there alone, for at most this
    # fraction of the work of the first stage; 0 for a stage that goes on with the graph itself.
    huge_share: float = 0.0
    # Populations in a row without a new best after which the search for further ones ends.
    idle_populations: int = 0
    # The rules of that part, which take turns: names in ``coarsening.COARSENING_RULES``.
    coarsening: tuple[str, ...] = ("label_propagation", "heavy_edges")

    def __repr__(self) -> str:
        return one_line(
            self,
            stages=self.stages,
            edges=self.edges or None,
            passes=self.passes or None,
            idle_populations=self.idle_populations or None,
        )


EFFORTS: dict[str, Effort] = {
    "fast": Effort(
        stages=("fast",),
        bound_nodes=500,
        spectral_share=5.0,
        spectral_starts=1,
    ),
    "auto": Effort(
        stages=("fast", "auto"),
        bound_nodes=500,
        spectral_share=2.0,
        spectral_starts=2,
        eigenproblem_share=0.25,
        huge_share=0.5,
    ),
    "balanced": Effort(
        stages=("fast", "auto", "balanced"),
        bound_nodes=2000,
        spectral_share=3.0,
        spectral_starts=4,
        edges=150_000_000,  # about a second, by which most values are within 0.3% of the best known
        passes=4,
    ),
    # Without a budget of edges: it ends when populations bring nothing new.
    "thorough": Effort(
        stages=("fast", "auto", "balanced", "thorough"),
        bound_nodes=2000,
        spectral_share=3.0,
        spectral_starts=10,
        idle_populations=2,
    ),
}
"""The efforts, least first: with the same seed, one of more stages never gives a larger value.

The numbers were set on half of a collection of meshes, circuits, networks and neighbor graphs, by
the values that seeds reached in equal time.
"""


@dataclass(frozen=True)
class SearchOptions:
    """The options that every search shares; :meth:`checked` makes them of what a user passed."""

    effort: str = "balanced"
    lower_bound: bool | str | None = None
    random_state: RandomState = None
    n_jobs: int | None = None

    @classmethod
    def checked(
        cls, effort: object, lower_bound: object, random_state: RandomState, n_jobs: int | None
    ) -> SearchOptions:
        """Return the options, or raise an error that names the first bad one."""
        if isinstance(lower_bound, bool | np.bool_):
            lower_bound = bool(lower_bound)
        elif lower_bound is not None and not (
            isinstance(lower_bound, str) and lower_bound == TIGHT
        ):
            raise TypeError(f"lower_bound={lower_bound!r} must be True, False, {TIGHT!r} or None.")
        effort = check_choice("effort", effort, EFFORTS)
        return cls(
            effort, lower_bound, random_state, None if n_jobs is None else count_threads(n_jobs)
        )

    @property
    def is_tight(self) -> bool:
        """Whether the result is to be certified."""
        return self.lower_bound == TIGHT

    @property
    def bound_of_search(self) -> bool | None:
        """The lower bound that the search itself computes: none if a certificate follows."""
        return False if isinstance(self.lower_bound, str) else self.lower_bound

    def wants_bound(self, n_nodes: int) -> bool:
        """Whether a problem of so many nodes gets a lower bound by eigenvalues."""
        if self.lower_bound is None:
            return n_nodes <= EFFORTS[self.effort].bound_nodes
        return bool(self.lower_bound)


class Progress(NamedTuple):
    """What ``callback`` receives.

    Attributes
    ----------
    stage : str
        The effort whose part of the search is running; "tight" while what was found is certified.
    fraction : float
        How much of that part is done, from 0 to 1; an estimate for "thorough". For "tight" it is
        the bound, as a part of the value.
    cut_value : float
        The smallest value so far; infinite before there is any, as in the first pass over a huge
        graph, or while cannot-links and limits are left out first.
    seconds : float
        Since the call began.

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 2], [0, 0, 2, 0]]
    >>> seen = []
    >>> _ = leastcut.partition(S, 2, effort="fast", random_state=0, callback=seen.append)
    >>> [(progress.stage, progress.cut_value) for progress in seen]
    [('fast', 0.4)]

    A callback that returns True stops the search:

    >>> found = leastcut.partition(S, 2, random_state=0, callback=lambda told: told.seconds > 60)
    >>> found.cut_value
    0.4
    """

    stage: str
    fraction: float
    cut_value: float
    seconds: float

    def __repr__(self) -> str:
        return one_line(self, **self._asdict())

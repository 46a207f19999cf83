"""Efforts: how much work the search does.

Each effort starts with exactly the search of the previous one, with the same random numbers, and
continues it. Work is counted in visited edges, not in seconds, so a seed determines the result; a
time limit only stops the same search earlier.
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
    """The work of an effort in the last of its stages, counted in visited edges."""

    # The stages of the search, in order; the last is this effort. The first stage makes the first
    # passes, and each later stage continues from the results of the previous one.
    stages: tuple[str, ...]
    # Largest number of nodes for which the lower bound is computed by default, in about the time of
    # the search.
    bound_nodes: int
    # Work of the spectral solution, as a multiple of the work before it. If the full graph needs
    # more, a coarser level is solved. And the number of starts of its discretization.
    spectral_share: float
    spectral_starts: int
    # Total work at which starts and recombinations end: the largest of a number of edges, a
    # multiple of the work of the first stage, and a fraction of the estimated work of computing the
    # graph's eigenvectors.
    edges: int = 0
    passes: int = 0
    eigenproblem_share: float = 0.0
    # Huge graphs are searched on a coarser level. This stage continues on that level only, for at
    # most this fraction of the work of the first stage; 0 continues on the graph itself.
    huge_share: float = 0.0
    # The search ends after this many consecutive populations without a new best partition.
    idle_populations: int = 0
    # The coarsening rules of further passes, in turn: names in ``coarsening.COARSENING_RULES``.
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
        edges=150_000_000,  # about a second; most values are then within 0.3% of the best known
        passes=4,
    ),
    # No limit on edges: ends when populations bring no improvement.
    "thorough": Effort(
        stages=("fast", "auto", "balanced", "thorough"),
        bound_nodes=2000,
        spectral_share=3.0,
        spectral_starts=10,
        idle_populations=2,
    ),
}
"""The efforts in ascending order: with the same seed, more effort never gives a larger value.

The numbers were tuned on half of a collection of meshes, circuits, networks and neighbor graphs, by
the cut values reached in equal time.
"""


@dataclass(frozen=True)
class SearchOptions:
    """Options shared by all searches; :meth:`checked` validates user input."""

    effort: str = "balanced"
    lower_bound: bool | str | None = None
    random_state: RandomState = None
    n_jobs: int | None = None

    @classmethod
    def checked(
        cls, effort: object, lower_bound: object, random_state: RandomState, n_jobs: int | None
    ) -> SearchOptions:
        """Return the options, or raise an error for the first invalid one."""
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
        """Whether the result is certified."""
        return self.lower_bound == TIGHT

    @property
    def bound_of_search(self) -> bool | None:
        """Whether the search computes a lower bound: not if the result is certified."""
        return False if isinstance(self.lower_bound, str) else self.lower_bound

    def wants_bound(self, n_nodes: int) -> bool:
        """Whether to compute the eigenvalue bound of a problem with ``n_nodes`` nodes."""
        if self.lower_bound is None:
            return n_nodes <= EFFORTS[self.effort].bound_nodes
        return bool(self.lower_bound)


class Progress(NamedTuple):
    """The progress of a search, as passed to ``callback``.

    Attributes
    ----------
    stage : str
        The effort whose stage of the search is running, or "tight" during certification.
    fraction : float
        The completed fraction of the stage, from 0 to 1; an estimate for "thorough". For "tight" it
        is the lower bound divided by the cut value.
    cut_value : float
        The smallest cut value so far; infinite until the first partition that satisfies the
        constraints, such as during the first pass over a huge graph.
    seconds : float
        The time since the start of the call.

    See Also
    --------
    partition : Pass ``callback`` to receive the progress.

    Notes
    -----
    If the callback returns True, the search stops with the best partition so far.

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 2], [0, 0, 2, 0]]
    >>> seen = []
    >>> _ = leastcut.partition(S, 2, effort="fast", random_state=0, callback=seen.append)
    >>> [(progress.stage, progress.cut_value) for progress in seen]
    [('fast', 0.4)]
    >>> partition = leastcut.partition(S, 2, random_state=0, callback=lambda p: p.seconds > 60)
    >>> partition.cut_value
    0.4
    """

    stage: str
    fraction: float
    cut_value: float
    seconds: float

    def __repr__(self) -> str:
        return one_line(self, **self._asdict())

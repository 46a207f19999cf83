"""The path of cuts: one graph cut into many numbers of clusters, and which of them to take.

The leading k columns of one relaxation solve the relaxed k-way cut for every k, so the
eigenproblem is solved once. It gives the lower bounds, the eigengaps λ_(k+1) − λ_k and the evidence
by which a number is chosen; none of these needs a partition. The partitions help one another
(``path_search``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from leastcut.budget import Budget
from leastcut.formatting import fields_in_one_line, one_line, some
from leastcut.multilevel.efforts import EFFORTS
from leastcut.multilevel.number_of_clusters import Choice, choice_of, pairs_needed
from leastcut.multilevel.path_search import path_partitions
from leastcut.problem import Problem
from leastcut.progress import PATH_STAGES, TimeEstimate
from leastcut.results import Columns, Partition, Relaxation
from leastcut.seeds import RandomState, as_seed
from leastcut.spectral.relax import relax_problem
from leastcut.validation import check_count


class PathSource(Protocol):
    """Where a path has its contents from: they may be computed when they are first asked for."""

    @property
    def relaxation(self) -> Relaxation: ...

    @property
    def partitions(self) -> Sequence[Partition]: ...


@dataclass(frozen=True, eq=False)
class Computed:
    """Contents of a path that are there already."""

    relaxation: Relaxation
    partitions: Sequence[Partition]

    __repr__ = fields_in_one_line


@dataclass(frozen=True, eq=False, repr=False)
class CutPath:
    """Partitions of one graph into different numbers of clusters.

    Attributes
    ----------
    n_clusters : ndarray of shape (m,)
        The numbers k, ascending.
    cut_values : ndarray of shape (m,)
        The cut value of each partition; they never fall as k grows.
    lower_bounds : ndarray of shape (m,)
        What no partition into k clusters is below.
    eigengaps : ndarray of shape (m,)
        λ_(k+1) − λ_k; NaN where k is the number of nodes.
    eigenvalues : ndarray
        The smallest eigenvalues, ascending: at least one more than the largest k, if there is one.
    labels : ndarray of shape (m, n)
        The labels of each partition.
    n_components : int
        Connected components of the graph: up to so many clusters the value is 0.
    relaxation : Relaxation
        The eigenpairs that served all of them.
    choice : Choice
        The number that the evidence speaks for: its ``n_clusters`` (``best`` here), ``evidence``,
        ``reason``, ``runners_up`` and ``is_weak``.
    source : PathSource
        Where the eigenpairs and the partitions are from.
    nodes : tuple or None
        The names of the nodes, where the graph has names.

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 2], [0, 0, 2, 0]]
    >>> path = leastcut.cut_path(S, [2, 3], affinity="precomputed", random_state=0)
    >>> path[2].cut_value, list(path)
    (0.4, [2, 3])
    """

    n_clusters: np.ndarray
    n_components: int
    choice: Choice
    source: PathSource
    nodes: tuple[Any, ...] | None = None

    @property
    def relaxation(self) -> Relaxation:
        """The eigenpairs that served all numbers."""
        return self.source.relaxation

    @property
    def eigenvalues(self) -> np.ndarray:
        """The smallest eigenvalues, ascending."""
        return self.relaxation.eigenvalues

    @property
    def eigengaps(self) -> np.ndarray:
        """λ_(k+1) − λ_k for every k; NaN where k is the number of nodes."""
        # λ_k stands at k - 1, so at k ``following`` has λ_(k+1), or NaN.
        following = np.append(self.eigenvalues, np.nan)
        return np.asarray(following[self.n_clusters] - self.eigenvalues[self.n_clusters - 1])

    @cached_property
    def lower_bounds(self) -> np.ndarray:
        """What no partition into k clusters is below, for every k."""
        # Up to the number of components no edge need be cut: 0 is the value itself.
        return np.array(
            [
                0.0 if k <= self.n_components else self.relaxation.leading(k).lower_bound
                for k in self
            ]
        )

    @cached_property
    def cut_values(self) -> np.ndarray:
        """The cut value of each partition."""
        return np.array([partition.cut_value for partition in self.source.partitions])

    @cached_property
    def labels(self) -> np.ndarray:
        """The labels of each partition."""
        return np.stack([partition.labels for partition in self.source.partitions])

    @property
    def best(self) -> int:
        """The number of clusters that the evidence speaks for."""
        return self.choice.n_clusters

    @property
    def reason(self) -> str:
        """Why that one, in plain words, and which come next where the evidence is weak."""
        return self.choice.explanation

    @property
    def evidence(self) -> np.ndarray:
        """How much speaks for every number, the larger the more; NaN where it was not weighed."""
        found = np.full(len(self), np.nan)
        found[np.searchsorted(self.n_clusters, self.choice.numbers)] = self.choice.evidence
        return found

    @property
    def gaps(self) -> np.ndarray:
        """How far above the optimum each cut value can be, as a fraction of it."""
        return np.array([self[k].gap for k in self])

    def __len__(self) -> int:
        return len(self.n_clusters)

    def __iter__(self) -> Iterator[int]:
        return iter(self.n_clusters.tolist())

    def __getitem__(self, n_clusters: int) -> Partition:
        """Return the partition into that many clusters."""
        found = np.flatnonzero(self.n_clusters == n_clusters)
        if found.size == 0:
            raise KeyError(f"{n_clusters} is not among the numbers of clusters, {list(self)}.")
        i = int(found[0])
        value, bound = float(self.cut_values[i]), float(self.lower_bounds[i])
        return Partition(self.labels[i], value, bound, self.nodes)

    def table(self) -> Columns:
        """Return the columns of the evidence by name; ``pandas.DataFrame`` takes it as it is."""
        return Columns(
            n_clusters=self.n_clusters,
            evidence=self.evidence,
            eigengap=self.eigengaps,
            cut_value=self.cut_values,
            lower_bound=self.lower_bounds,
            gap=self.gaps,
        )

    def plot(self, kind: str = "evidence", **options: Any) -> Any:
        """Draw the path; needs ``leastcut[plot]``.

        Parameters
        ----------
        kind : {"evidence", "cut_values"}, default="evidence"
            A picture of paths in :data:`leastcut.plot.PLOTS`.
        **options
            Further arguments of the picture, such as ``ax``.

        Returns
        -------
        Axes
        """
        from leastcut.plot import draw  # which few paths need

        return draw(kind, ("path",), self, **options)

    def __str__(self) -> str:
        return f"{self.table()}\n{self.reason}"

    def __repr__(self) -> str:
        # Without the partitions, which may not be there yet.
        return one_line(self, n_clusters=some(self), best=self.best)

    def _repr_html_(self) -> str:
        from leastcut.report.notebook import path_html  # which only notebooks need

        return path_html(self)


def check_numbers(n_clusters: object) -> list[int]:
    """Return numbers of clusters, ascending and each once; one alone is refused."""
    if not isinstance(n_clusters, Iterable) or isinstance(n_clusters, str):
        raise TypeError(
            f"n_clusters={n_clusters!r} must be several numbers of clusters, such as "
            "range(2, 30) or [5]."
        )
    return sorted({check_count("n_clusters", k) for k in n_clusters})


def cut_path_problem(
    problem: Problem,
    n_clusters: Iterable[int],
    *,
    effort: str,
    random_state: RandomState,
    budget: Budget | None = None,
) -> CutPath:
    """Cut a problem into many numbers of clusters, with a single relaxation.

    Numbers above that of nodes are left out.
    """
    n = problem.n_nodes
    wanted = check_numbers(n_clusters)
    numbers = [k for k in wanted if k <= n]
    if not numbers:
        raise ValueError(f"n_clusters={wanted} has no number from 1 to {n}, the number of nodes.")
    seed = as_seed(random_state, 2**32)
    # 1. Relax once for all k.
    relaxation = relax_problem(problem, pairs_needed(numbers[-1], n), random_state=seed)
    # 2. Choose a number by the eigenpairs, and search for the partitions.
    choice = choice_of(problem, numbers, relaxation, seed)
    stages = EFFORTS[effort].stages
    budget = budget or Budget()
    with budget.shown("cut_path", lambda: TimeEstimate(stages, PATH_STAGES)):
        found = path_partitions(problem, numbers, effort=effort, seed=seed, budget=budget)
    n_components, _ = problem.graph.components
    contents = Computed(relaxation, found)
    return CutPath(np.array(numbers), n_components, choice, contents, problem.graph.names)

"""Cut paths: partitions of one graph for many numbers of clusters, and the selection of a number.

The leading k columns of one relaxation solve the relaxed k-way cut for every k, so the
eigenproblem is solved only once. It gives the lower bounds, the eigengaps λ_(k+1) − λ_k and the
evidence by which a number is selected, all without partitions. ``path_search`` computes the
partitions jointly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from leastcut.budget import Budget
from leastcut.formatting import abbreviated, fields_in_one_line, one_line
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
    """The source of the contents of a path, which may be computed on first access."""

    @property
    def relaxation(self) -> Relaxation: ...

    @property
    def partitions(self) -> Sequence[Partition]: ...


@dataclass(frozen=True, eq=False)
class Computed:
    """Contents of a path that are already computed."""

    relaxation: Relaxation
    partitions: Sequence[Partition]

    __repr__ = fields_in_one_line


@dataclass(frozen=True, eq=False, repr=False)
class CutPath:
    """Partitions of one graph into different numbers of clusters.

    ``path[k]`` is the :class:`Partition` into k clusters; iteration gives the numbers k.

    Attributes
    ----------
    n_clusters : ndarray of shape (m,)
        The numbers of clusters k, in ascending order.
    cut_values : ndarray of shape (m,)
        The cut value of each partition; non-decreasing in k.
    lower_bounds : ndarray of shape (m,)
        A lower bound on the cut value of every partition into k clusters.
    gaps : ndarray of shape (m,)
        The relative gap between each cut value and its lower bound; see :attr:`Partition.gap`.
    eigengaps : ndarray of shape (m,)
        λ_(k+1) − λ_k; NaN if k is the number of nodes.
    eigenvalues : ndarray of shape (n_eigenvalues,)
        The smallest eigenvalues in ascending order, at least one more than the largest k if the
        graph has that many nodes.
    evidence : ndarray of shape (m,)
        The evidence for each number; NaN for numbers that were not considered.
    best : int
        The number of clusters with the most evidence.
    reason : str
        Why this number was selected, and the alternatives if the evidence is weak.
    labels : ndarray of shape (m, n)
        The labels of each partition.
    n_components : int
        The number of connected components of the graph; up to this k the cut value is 0.
    relaxation : Relaxation
        The eigenpairs that all numbers share.
    choice : object
        The details of the selection: ``n_clusters``, ``evidence``, ``reason``, ``runners_up`` and
        ``is_weak``.
    source : object
        The eigenpairs and the partitions, which may be computed on first access.
    nodes : tuple or None
        The names of the nodes, or None.

    See Also
    --------
    cut_path : Compute the path of samples or of a graph.
    partition : Partition a graph for one number of clusters.

    Notes
    -----
    The evidence is computed from eigenvalues, eigenvectors and density gaps between clusters. It
    can be used as a model selection criterion; cut values cannot, because they increase with k.

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
        """The eigenpairs that all numbers share."""
        return self.source.relaxation

    @property
    def eigenvalues(self) -> np.ndarray:
        """The smallest eigenvalues, in ascending order."""
        return self.relaxation.eigenvalues

    @property
    def eigengaps(self) -> np.ndarray:
        """λ_(k+1) − λ_k for every k; NaN if k is the number of nodes."""
        # λ_k has index k - 1, so following[k] is λ_(k+1), or NaN.
        following = np.append(self.eigenvalues, np.nan)
        return np.asarray(following[self.n_clusters] - self.eigenvalues[self.n_clusters - 1])

    @cached_property
    def lower_bounds(self) -> np.ndarray:
        """A lower bound on the cut value of every partition into k clusters, for every k."""
        # Up to the number of components, the optimal value is 0.
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
        """The number of clusters with the most evidence."""
        return self.choice.n_clusters

    @property
    def reason(self) -> str:
        """Why this number was selected, and the alternatives if the evidence is weak."""
        return self.choice.explanation

    @property
    def evidence(self) -> np.ndarray:
        """The evidence for every number; NaN for numbers that were not considered."""
        evidence = np.full(len(self), np.nan)
        evidence[np.searchsorted(self.n_clusters, self.choice.numbers)] = self.choice.evidence
        return evidence

    @property
    def gaps(self) -> np.ndarray:
        """The relative gap between each cut value and its lower bound."""
        return np.array([self[k].gap for k in self])

    def __len__(self) -> int:
        return len(self.n_clusters)

    def __iter__(self) -> Iterator[int]:
        return iter(self.n_clusters.tolist())

    def __getitem__(self, n_clusters: int) -> Partition:
        """Return the partition into ``n_clusters`` clusters."""
        positions = np.flatnonzero(self.n_clusters == n_clusters)
        if positions.size == 0:
            raise KeyError(f"{n_clusters} is not among the numbers of clusters, {list(self)}.")
        i = int(positions[0])
        value, bound = float(self.cut_values[i]), float(self.lower_bounds[i])
        return Partition(self.labels[i], value, bound, self.nodes)

    def table(self) -> Columns:
        """Return a table with a row per number, which can be passed to ``pandas.DataFrame``.

        Returns
        -------
        dict of str to ndarray
            The columns ``n_clusters``, ``evidence``, ``eigengap``, ``cut_value``, ``lower_bound``
            and ``gap``.
        """
        return Columns(
            n_clusters=self.n_clusters,
            evidence=self.evidence,
            eigengap=self.eigengaps,
            cut_value=self.cut_values,
            lower_bound=self.lower_bounds,
            gap=self.gaps,
        )

    def plot(self, kind: str = "evidence", **options: Any) -> Any:
        """Plot the path; needs ``leastcut[plot]``.

        Parameters
        ----------
        kind : {"evidence", "cut_values"}, default="evidence"
            The kind of plot, from :data:`leastcut.plot.PLOTS`.
        **options
            Further arguments of the plot, such as ``ax``.

        Returns
        -------
        Axes
        """
        from leastcut.plot import draw  # imports Matplotlib

        return draw(kind, ("path",), self, **options)

    def __str__(self) -> str:
        return f"{self.table()}\n{self.reason}"

    def __repr__(self) -> str:
        # Without the partitions, which may not be computed yet.
        return one_line(self, n_clusters=abbreviated(self), best=self.best)

    def _repr_html_(self) -> str:
        from leastcut.report.notebook import path_html  # used in notebooks only

        return path_html(self)


def check_numbers(n_clusters: object) -> list[int]:
    """Return numbers of clusters, sorted and without duplicates; raise for a single number."""
    if not isinstance(n_clusters, Iterable) or isinstance(n_clusters, str):
        raise TypeError(
            f"n_clusters={n_clusters!r} must be a sequence of numbers of clusters, such as "
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
    """Compute the path of a problem with a single relaxation.

    Numbers larger than the number of nodes are ignored.
    """
    n = problem.n_nodes
    requested = check_numbers(n_clusters)
    numbers = [k for k in requested if k <= n]
    if not numbers:
        raise ValueError(
            f"n_clusters={requested} has no number from 1 to {n}, the number of nodes."
        )
    seed = as_seed(random_state, 2**32)
    # 1. Relax once for all k.
    relaxation = relax_problem(problem, pairs_needed(numbers[-1], n), random_state=seed)
    # 2. Select a number from the eigenpairs, and search for the partitions.
    choice = choice_of(problem, numbers, relaxation, seed)
    stages = EFFORTS[effort].stages
    budget = budget or Budget()
    with budget.shown("cut_path", lambda: TimeEstimate(stages, PATH_STAGES)):
        partitions = path_partitions(problem, numbers, effort=effort, seed=seed, budget=budget)
    n_components, _ = problem.graph.components
    contents = Computed(relaxation, partitions)
    return CutPath(np.array(numbers), n_components, choice, contents, problem.graph.names)

"""The path of cuts: one relaxation, discretized and refined for many numbers of clusters.

The leading k columns of one relaxation solve the relaxed k-way cut for every k, so the
eigenproblem, the expensive part, is solved once. The eigengap λ_(k+1) − λ_k says how much the next
cluster would cost beyond the last one; the k where it is largest is the usual choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from firstcut.cuts import Problem
from firstcut.discretization.first_order import first_order
from firstcut.partitioning.refinement import refine_problem
from firstcut.relaxation.relax import relax_problem
from firstcut.results import Partition, Relaxation
from firstcut.threads import single_threaded
from firstcut.validation import RandomState, as_generator, check_count

STARTS = 2
"""Starts of the discretization of every k: the ladder of eta varies them more than further starts
would, at the same price."""


@dataclass(frozen=True, eq=False)
class CutPath:
    """Partitions of one graph into different numbers of clusters.

    Attributes
    ----------
    n_clusters : ndarray of shape (m,)
        The numbers k, ascending.
    cut_values : ndarray of shape (m,)
        The cut value of each partition.
    lower_bounds : ndarray of shape (m,)
        What no partition into k clusters is below.
    eigengaps : ndarray of shape (m,)
        λ_(k+1) − λ_k; NaN where k is the number of nodes.
    eigenvalues : ndarray
        The smallest eigenvalues, ascending: at least one more than the largest k, if there is one.
    labels : ndarray of shape (m, n)
        The labels of each partition.
    relaxation : Relaxation
        The eigenpairs that served all of them.

    Examples
    --------
    >>> import firstcut
    >>> S = [[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 2], [0, 0, 2, 0]]
    >>> path = firstcut.cut_path(S, [2, 3], affinity="precomputed", random_state=0)
    >>> path[2].cut_value, list(path)
    (0.4, [2, 3])
    """

    n_clusters: np.ndarray
    cut_values: np.ndarray
    lower_bounds: np.ndarray
    eigengaps: np.ndarray
    eigenvalues: np.ndarray
    labels: np.ndarray
    relaxation: Relaxation

    @property
    def best(self) -> int:
        """The k with the largest eigengap, the largest such k where several are equal."""
        # Where k is the number of nodes there is no λ_(k+1): that gap must not be the largest.
        gaps = np.nan_to_num(self.eigengaps, nan=-np.inf)
        # The numbers ascend, so the last of equal gaps is that of the largest k.
        return int(self.n_clusters[np.flatnonzero(gaps == gaps.max())[-1]])

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
        return Partition(self.labels[i], float(self.cut_values[i]), float(self.lower_bounds[i]))

    def table(self) -> dict[str, np.ndarray]:
        """Return the columns of the evidence by name; ``pandas.DataFrame`` takes it as it is."""
        return {
            "n_clusters": self.n_clusters,
            "eigengap": self.eigengaps,
            "cut_value": self.cut_values,
            "lower_bound": self.lower_bounds,
            "gap": self.gaps,
        }

    def __str__(self) -> str:
        columns = self.table()
        lines = ["  ".join(f"{name:>11}" for name in columns)]
        for row in zip(*columns.values(), strict=True):
            lines.append("  ".join([f"{row[0]:>11}", *(f"{value:>11.4g}" for value in row[1:])]))
        return "\n".join(lines)


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
    random_state: RandomState,
    width: int | None = None,
    solver: str = "auto",
    tol: float | None = None,
) -> CutPath:
    """Cut a problem into many numbers of clusters, with a single relaxation.

    Parameters
    ----------
    problem : Problem
    n_clusters : iterable of int
        The numbers of clusters; those above n are left out.
    random_state : int, Generator, RandomState or None
        Seed of the start vectors and starts.
    width : int, optional
        At least so many eigenpairs are computed, as far as there are.
    solver, tol
        Of the eigenproblem, as in :func:`firstcut.relax`.

    Returns
    -------
    CutPath
    """
    n = problem.n_nodes
    wanted = check_numbers(n_clusters)
    numbers = np.array([k for k in wanted if k <= n], dtype=np.int64)
    if numbers.size == 0:
        raise ValueError(f"n_clusters={wanted} has no number from 1 to {n}, the number of nodes.")
    rng = as_generator(random_state)
    # 1. Relax once for all k, one pair more than the largest k: its eigengap needs λ_(k+1).
    width = min(n, max(int(numbers[-1]) + 1, width or 0))
    relaxation = relax_problem(problem, width, random_state=rng, solver=solver, tol=tol)
    n_components, _ = problem.graph.components
    # 2. Discretize and refine for one k after another, which is the order in which ``rng`` is read.
    found, bounds = [], []
    for k in numbers.tolist():
        # Up to the number of components they are grouped afresh, by graph search: the value is 0.
        if k <= n_components:
            # No solver runs there and nothing is drawn, so any seed will do.
            part = relax_problem(problem, k, random_state=0)
        else:
            part = relaxation.leading(k)
        # Sums of several BLAS threads round differently, and at a tie that decides the labels.
        with single_threaded():
            start = first_order(
                part, random_state=rng, score=problem.value, eta="auto", n_init=STARTS
            )
        found.append(refine_problem(problem, start.labels))
        bounds.append(part.lower_bound)
    # 3. Gather the evidence. λ_k stands at k - 1, so at k ``following`` has λ_(k+1), or NaN.
    values = relaxation.eigenvalues
    following = np.append(values, np.nan)
    return CutPath(
        numbers,
        np.array([partition.cut_value for partition in found]),
        np.array(bounds),
        following[numbers] - values[numbers - 1],
        values,
        np.stack([partition.labels for partition in found]),
        relaxation,
    )

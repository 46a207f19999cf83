"""How many clusters a graph has, by evidence that a graph without clusters would not show.

Connected components are clusters whatever else is. What is asked is whether they split further,
and the null hypothesis is that they do not. Two things are then known.

*The eigenvalues follow a power law.* Of points without clusters in d dimensions the i-th eigenvalue
above 0 grows like i^(2/d) (Weyl's law); of random networks it hardly grows. Either way
log λ against log i is about a line, whose slope p the eigenvalues beyond a number tell. With k
clusters in c components the first k − c eigenvalues above 0 are small and the next one is not, and

    step(k) = log(λ_(k+1) / λ_k) / (p · log(i + 1) / i)),   i = k − c,

is the rise there in units of what the law makes it. Without clusters it is about 1; as a count of
eigenvalues where the law has none it is a log-likelihood ratio, and e^-step about its chance.

*No cluster is cut off below the next eigenvalue.* For clusters C of a partition into k let

    leak(k) = max_C boundary(C) (1 / b(C) + 1 / b(rest of its components)) / λ_(k+1).

The part of the indicator of C that lies outside the first k eigenvectors is at most its share of
that. Without clusters the leak is above 1: symmetric shapes have steps between equal eigenvalues,
but any way to cut them costs more than the next eigenvalue. The evidence is step(k) / √leak(k).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from firstcut.cuts import Problem
from firstcut.discretization.cluster_qr import cluster_qr
from firstcut.partitioning.refinement import refine_problem
from firstcut.relaxation.relax import relax_problem
from firstcut.results import Relaxation
from firstcut.threads import single_threaded
from firstcut.validation import RandomState, as_generator

TAIL = 10
"""Eigenvalues beyond the largest number of clusters that tell the law they follow: fewer leave its
slope to chance, more cost time."""

FEWEST = 3
"""Eigenvalues beyond a number, at least, for their law to be told at all."""

ENOUGH = 4.0
"""Evidence that a component splits; e^-4 is about the chance of such a step without clusters."""

LEAKY = 1.5
"""Leak from which on clusters are none, whatever the step; without clusters it is above 1."""

RESOLVED = 2.0
"""Nodes per cluster and neighbour below which evidence counts for less: neighbours of one node
would do for a cluster."""

SMALL = 1.0 / 30.0
"""Part of the mean component below which a component is an outlier and no cluster."""

WEAK = 1.5
"""How many times the evidence of the runner-up the best must have to be told from it."""

FLATTEST = 5e-3
"""Slope of the law at least: eigenvalues that repeat have none, and every step would be infinite."""


@dataclass(frozen=True, eq=False)
class Choice:
    """A number of clusters, and why.

    Attributes
    ----------
    n_clusters : int
        The number chosen.
    numbers : ndarray of shape (m,)
        The numbers considered, ascending.
    evidence : ndarray of shape (m,)
        How much speaks for each: the larger, the more.
    reason : str
        Why it was chosen, in plain words.
    runners_up : tuple of int
        The numbers that come next, best first.
    is_weak : bool
        Whether the evidence hardly tells it from the runners-up.
    """

    n_clusters: int
    numbers: np.ndarray
    evidence: np.ndarray
    reason: str
    runners_up: tuple[int, ...]
    is_weak: bool


def pairs_needed(most: int, n_nodes: int) -> int:
    """Return how many eigenpairs a choice of up to ``most`` clusters looks at."""
    return min(n_nodes, most + 1 + TAIL)


def choose_number(
    problem: Problem,
    relaxation: Relaxation,
    numbers: Sequence[int],
    *,
    random_state: RandomState,
) -> Choice:
    """Choose one of ``numbers``, given the ``pairs_needed`` leading eigenpairs of the problem.

    Parameters
    ----------
    problem : Problem
    relaxation : Relaxation
        Its leading eigenpairs.
    numbers : sequence of int
        The numbers to choose from; those above the number of nodes are left out.
    random_state : int, Generator, RandomState or None
        Seed of the eigensolver, which runs again where small components are left out.

    Returns
    -------
    Choice
    """
    considered = np.array(sorted({k for k in numbers if k <= problem.n_nodes}), dtype=np.int64)
    # 1. Components are clusters, but for small ones, which are left out.
    n_components, _ = problem.graph.components
    nodes = _without_outliers(problem)
    if nodes.size < problem.n_nodes:
        problem = problem.restrict(nodes)
        count = min(relaxation.n_clusters, nodes.size)
        relaxation = relax_problem(problem, count, random_state=as_generator(random_state))
    floor, _ = problem.graph.components
    # 2. Evidence that components split further, for every number above theirs.
    steps = _steps(relaxation.eigenvalues, floor)
    evidence = np.zeros(considered.size)
    evidence[considered == floor] = ENOUGH
    leaks = np.full(considered.size, np.inf)
    neighbors = _neighbors(problem)
    for position, k in enumerate(considered.tolist()):
        if k not in steps:
            continue
        leaks[position] = leak = _leak(problem, relaxation, k)
        if leak < LEAKY:
            resolution = problem.n_nodes / (k * neighbors * RESOLVED)
            evidence[position] = steps[k] * min(resolution, 1.0) / np.sqrt(leak)
    # 3. The most evidence; of numbers with the same, that nearest to the components.
    order = np.lexsort((np.abs(considered - floor), -evidence))
    best, others = order[0], order[1:]
    runners_up = tuple(considered[others[evidence[others] > 0.0]][:2].tolist())
    strongest = float(evidence[others[0]]) if others.size else 0.0
    chosen = int(considered[best])
    reason = _reason(
        chosen,
        floor,
        n_components,
        steps.get(chosen),
        float(leaks[best]),
        [(int(considered[i]), float(evidence[i])) for i in others[:1]],
    )
    is_weak = bool(floor not in considered or strongest * WEAK > evidence[best])
    return Choice(chosen, considered, evidence, reason, runners_up, is_weak)


def _without_outliers(problem: Problem) -> np.ndarray:
    """Return the nodes of all components but those that are small beside the others."""
    count, component = problem.graph.components
    sizes = np.bincount(component)
    kept = np.ones(count, dtype=bool)
    # Without the smallest the mean is larger, and the next may be small beside it.
    while np.any(small := kept & (sizes < SMALL * sizes[kept].mean())):
        kept &= ~small
    return np.flatnonzero(kept[component])


def _steps(eigenvalues: np.ndarray, floor: int) -> dict[int, float]:
    """Return by number of clusters the step after it, in units of the law beyond it."""
    values = eigenvalues[floor:]
    if values.size <= FEWEST or values[-1] <= 0.0:
        return {}
    # What rounding leaves of an eigenvalue has no logarithm to speak of.
    level = np.log(np.maximum(values, np.finfo(np.float64).eps * values[-1]))
    rank = np.log(np.arange(1, values.size + 1))
    steps = {}
    for i in range(1, values.size - FEWEST + 1):
        beyond = slice(i, max(2 * i + FEWEST, i + TAIL))
        spread = rank[beyond] - rank[beyond].mean()
        slope = float(spread @ level[beyond] / (spread @ spread))
        rise = (level[i] - level[i - 1]) / (rank[i] - rank[i - 1])
        steps[floor + i] = float(rise) / max(slope, FLATTEST)
    return steps


def _leak(problem: Problem, relaxation: Relaxation, n_clusters: int) -> float:
    """Return the largest cut of a cluster from the rest, in units of the next eigenvalue."""
    # 1. Partition: a direct method, so that nothing is drawn, and moves on the exact value.
    with single_threaded():
        found = cluster_qr(
            relaxation.leading(n_clusters), random_state=np.random.default_rng(0), score=None
        )
    labels = refine_problem(problem, found.labels).labels
    # 2. The weight of every cluster, and of the components that it has a part of.
    weights, boundaries = problem.cluster_weights(labels), problem.boundaries(labels)
    count, component = problem.graph.components
    pairs = np.unique(labels * count + component)
    whole = np.bincount(
        pairs // count, problem.cluster_weights(component)[pairs % count], minlength=n_clusters
    )
    # 3. Clusters that are whole components leak nothing.
    open_ = (boundaries > 0.0) & (whole > weights)
    inside, outside = weights[open_], (whole - weights)[open_]
    cut = np.max(boundaries[open_] * (1.0 / inside + 1.0 / outside), initial=0.0)
    following = float(relaxation.eigenvalues[n_clusters])
    tiny = np.finfo(np.float64).tiny
    return max(float(cut), tiny) / max(following, tiny)


def _neighbors(problem: Problem) -> float:
    """Return how many neighbours a node has, in the middle of all: 1 / Σ share² of its edges."""
    graph = problem.graph
    rows = graph.rows
    other = rows != graph.indices
    outward = graph.outward
    share = graph.weights[other] / outward[rows[other]]
    squares = np.bincount(rows[other], share * share, minlength=graph.n_nodes)
    return float(np.median(1.0 / squares[squares > 0.0])) if np.any(squares > 0.0) else 1.0


def _reason(
    chosen: int,
    floor: int,
    n_components: int,
    step: float | None,
    leak: float,
    next_best: list[tuple[int, float]],
) -> str:
    """Say why a number was chosen."""
    parts = []
    if chosen == floor:
        if floor > 1:
            parts.append(f"The graph has {floor} connected components, and none splits further")
        else:
            parts.append("The graph is connected, and does not split")
        if next_best:
            parts.append(
                f"the evidence for {next_best[0][0]} is {next_best[0][1]:.2g}, and "
                f"{ENOUGH:g} would be enough"
            )
    elif step is not None and leak < LEAKY:
        parts.append(
            f"After {chosen} the eigenvalues rise {step:.3g} times as fast as beyond, and no "
            f"cluster's cut is above {leak:.2g} of the next eigenvalue"
        )
        if floor > 1:
            parts.append(f"{floor} of the clusters or groups of them are connected components")
    elif chosen < floor:
        parts.append(
            f"The graph has {floor} connected components, and {chosen} is the number nearest to "
            "that which was asked for"
        )
    else:
        parts.append(f"None of the numbers has evidence, and {chosen} is nearest to {floor}")
    if n_components > floor:
        parts.append(f"{n_components - floor} small components were left out of account")
    return "; ".join(parts) + "."

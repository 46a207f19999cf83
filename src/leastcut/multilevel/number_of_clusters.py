"""Selection of the number of clusters, by evidence against a graph without clusters.

Connected components are always clusters. The null hypothesis is that they do not split further. It
predicts three properties.

*The eigenvalues follow a power law.* For points without clusters in d dimensions, the i-th positive
eigenvalue grows like i^(2/d) (Weyl's law); for random networks it hardly grows. In both cases log λ
is approximately linear in log i, with a slope p that is estimated from the eigenvalues beyond a
number. With k clusters in c components, the first i = k − c positive eigenvalues are small and the
next one is not:

    step(k) = log(λ_(k+1) / λ_k) / (p log((i + 1) / i))

is the increase relative to the power law. Without clusters it is about 1, and the probability of a
larger step is about e^-step.

*Every cluster leaks.* For the clusters C of a partition into k clusters, let

    leak(k) = max_C boundary(C) (1 / b(C) + 1 / b(rest of its components)) / λ_(k+1),

an upper bound on the fraction of the indicator of C that is outside the span of the first k
eigenvectors. Without clusters it is above 1, and grows like the diameter of a cluster in hops; the
leak is measured relative to that. Symmetric shapes have large steps between repeated eigenvalues,
but leak like other shapes without clusters.

*Boundaries are not density gaps*: see :mod:`leastcut.multilevel.density_gap`.

The evidence for k clusters is step / leak, plus the evidence of density gaps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from leastcut.budget import Budget
from leastcut.formatting import abbreviated, one_line
from leastcut.multilevel.coarsening import BY_LABELS, smallest_level
from leastcut.multilevel.density_gap import gap_evidence, has_depth
from leastcut.multilevel.passes import Passes
from leastcut.multilevel.refinement import refine_problem
from leastcut.problem import Problem
from leastcut.results import Relaxation
from leastcut.seeds import RandomState, as_generator, as_seed
from leastcut.spectral.discretizers.cluster_qr import cluster_qr
from leastcut.spectral.relax import relax_problem
from leastcut.threads import single_threaded
from leastcut.validation import warn_caller

MAX_CLUSTERS = 20  # the largest number of clusters considered by default
ROUGH = 1e-3  # tolerance of eigenpairs; takes much less time than the default tolerance

# Number of eigenvalues to estimate the slope from, beyond the largest number of clusters and, at
# least, beyond each: fewer give noisy slopes, more cost time.
TAIL, FEWEST = 10, 3
FLATTEST = 5e-3  # smallest slope; repeated eigenvalues would make steps infinite
EQUAL = 1e-6  # relative difference up to which eigenvalues are treated as equal
ROUNDING = 1e-13  # eigenvalues below this fraction of the last one are treated as rounded zeros
SMALLEST = float(np.finfo(np.float64).tiny)  # replaces zero eigenvalues in divisions

# The 3% quantile of the leak of partitions of graphs without clusters, fitted on such graphs, has
# the logarithm LEVEL + p (FALL + GROWTH log(nodes of a cluster / neighbors of a node)).
LEAK_LEVEL, LEAK_FALL, LEAK_GROWTH = 0.19, -0.36, 0.30
STEEP = 3  # evidence is divided by this power of a relative leak above 1
TIGHTEST = 0.2  # smaller relative leaks count as this one; coarse clusters would always win
LEAKIEST = 1e9  # larger relative leaks count as this one
# A small leak counts fully if the slope p is this far below 2, the slope of points on a line, whose
# samples have gaps by chance.
THIN = 0.4
# Steps count fully if a cluster has this many nodes per neighbor of a node, and not at all at 1,
# when a node and its neighbors form a cluster.
RESOLVED = 2.0

# Threshold of evidence that a graph splits: 2% of graphs sampled without clusters exceed it, or
# have several components. With c components it is increased by log c, as any of them may split.
ENOUGH = 4.5
WEAK = 1.5  # the evidence is weak if it is less than this times the evidence of the runner-up
SMALL = 1.0 / 30.0  # components below this fraction of the average size are outliers

# Limit on the evidence of density gaps, which grows with their length, so that coarse clusters
# would always win; smallest slope for which gaps are searched for, as in high dimensions every
# node is near a boundary; and largest number of splits, as clusters become too small.
MOST_OF_GAPS, SHALLOW, MOST_SPLITS = 6.5, 0.25, 8


@dataclass(frozen=True, eq=False)
class Choice:
    """A selected number of clusters, with the evidence for all numbers considered."""

    n_clusters: int
    numbers: np.ndarray
    evidence: np.ndarray
    reason: str
    runners_up: tuple[int, ...]
    is_weak: bool

    @property
    def explanation(self) -> str:
        """The reason, and the runners-up if the evidence is weak."""
        if not (self.is_weak and self.runners_up):
            return self.reason
        others = " or ".join(map(str, self.runners_up))
        return f"{self.reason} The evidence is weak: the number could also be {others}."

    def __repr__(self) -> str:
        return one_line(
            self,
            n_clusters=self.n_clusters,
            numbers=abbreviated(self.numbers),
            is_weak=self.is_weak,
            runners_up=abbreviated(self.runners_up),
        )


def pairs_needed(most: int, n_nodes: int) -> int:
    """Return the number of eigenpairs needed to select a number up to ``most``."""
    return min(n_nodes, most + 1 + TAIL)


def auto_number(problem: Any, random_state: RandomState, budget: Budget | None = None) -> int:
    """Return a number of clusters from 1 to 20, and warn if the evidence is weak.

    Raises TimeoutError if the eigenpairs cannot be computed within the budget.
    """
    core: Problem = problem.core
    most, seed = min(MAX_CLUSTERS, core.n_nodes), as_seed(random_state, 2**32)
    if most < 2:
        return 1
    try:
        relaxation = relax_problem(
            core, pairs_needed(most, core.n_nodes), random_state=seed, tol=ROUGH, budget=budget
        )
    except TimeoutError:
        raise TimeoutError(
            "n_clusters='auto' needs eigenvectors of the graph, but computing them takes longer "
            "than time_limit. Increase time_limit, or pass n_clusters."
        ) from None
    choice = choice_of(core, range(1, most + 1), relaxation, seed)
    warn_if_weak(choice, "leastcut.cut_path(graph, affinity='precomputed')")
    return choice.n_clusters


def warn_if_weak(choice: Choice, path: str) -> None:
    """Warn if the evidence is weak; ``path`` is an expression for the evidence of all numbers."""
    if choice.is_weak:
        others = " or ".join(map(str, choice.runners_up))
        warn_caller(
            f"The evidence for n_clusters={choice.n_clusters} is weak"
            + (f": the number could also be {others}" if others else "")
            + f". {choice.reason} Pass n_clusters if you know it, or see {path} for the evidence "
            "for every number."
        )


def choice_of(
    problem: Problem, numbers: Sequence[int], relaxation: Relaxation, seed: int
) -> Choice:
    """Select one of ``numbers``, from the leading eigenpairs of ``relaxation``."""
    if len(numbers) == 1:
        reason = f"No other number than {numbers[0]} was considered."
        return Choice(numbers[0], np.array(numbers), np.array([np.nan]), reason, (), False)
    count = min(pairs_needed(numbers[-1], problem.n_nodes), relaxation.n_clusters)
    return choose_number(problem, relaxation.leading(count), numbers, random_state=seed)


def choose_number(
    problem: Problem,
    relaxation: Relaxation,
    numbers: Sequence[int],
    *,
    random_state: RandomState,
) -> Choice:
    """Select one of ``numbers``, given the ``pairs_needed`` leading eigenpairs of the problem.

    Numbers larger than the number of nodes are ignored. ``random_state`` seeds the partitions for
    density gaps, and the eigensolver if it runs again without small components.
    """
    considered = np.array(sorted({k for k in numbers if k <= problem.n_nodes}), dtype=np.int64)
    rng = as_generator(random_state)
    # 1. Components are clusters, except small ones, which are removed.
    n_components, _ = problem.graph.components
    nodes = _without_outliers(problem)
    if nodes.size < problem.n_nodes:
        problem = problem.restrict(nodes)
        count = min(relaxation.n_clusters, nodes.size)
        relaxation = relax_problem(problem, count, random_state=rng)
    floor, _ = problem.graph.components
    # 2. Compute the evidence that components split, for every larger number.
    splits = _splits(problem, relaxation, floor, considered, rng)
    evidence = np.zeros(considered.size)
    enough = ENOUGH + float(np.log(floor))
    evidence[considered == floor] = enough
    for position, k in enumerate(considered.tolist()):
        if k in splits:
            evidence[position] = splits[k].evidence
    # 3. Select the number with the most evidence; if there is none, the closest to the number of
    #    components; and among equals the largest, which separates most clusters.
    distance = np.where(evidence > 0.0, 0, np.abs(considered - floor))
    order = np.lexsort((-considered, distance, -evidence))
    best, others = order[0], order[1:]
    second = float(evidence[others[0]]) if others.size else 0.0
    chosen = int(considered[best])
    return Choice(
        chosen,
        considered,
        evidence,
        _reason(chosen, floor, n_components, splits, enough),
        tuple(considered[others[evidence[others] > 0.0]][:2].tolist()),
        bool(evidence[best] < max(WEAK * second, enough)),
    )


@dataclass(frozen=True)
class _Split:
    """The evidence for a number of clusters larger than the number of components.

    If no partition was computed, leak is a lower and evidence an upper bound.
    """

    step: float
    leak: float
    gap: float
    evidence: float


def _splits(
    problem: Problem,
    relaxation: Relaxation,
    floor: int,
    considered: np.ndarray,
    rng: np.random.Generator,
) -> dict[int, _Split]:
    """Return the evidence for every number above ``floor`` with enough eigenvalues."""
    neighbors, values = _neighbors(problem), relaxation.eigenvalues
    # One seed per number, so that results do not depend on the other numbers.
    seeds = rng.integers(2**32, size=MOST_SPLITS + 1)
    # Smaller evidence does not matter unless the number of components is not among the candidates.
    matters = ENOUGH / WEAK if floor in considered else 0.0
    splits, candidates = {}, {}
    for k, (step, slope) in _steps(values, floor).items():
        if k not in considered:
            continue
        # 1. Compute the leak without clusters, and weight the step.
        resolution = problem.n_nodes / (k * neighbors)
        growth = LEAK_GROWTH * np.log(max(resolution, 1.0))
        usual = float(np.exp(LEAK_LEVEL + slope * (LEAK_FALL + growth)))
        step *= min(max((resolution - 1.0) / (RESOLVED - 1.0), 0.0), 1.0)
        # 2. Some cluster leaks at least the mean of the first k eigenvalues. Skip the partition if
        #    the step is too small for that, and there can be no gaps.
        least = float(np.mean(values[:k])) / max(float(values[k]), SMALLEST) / usual
        may_have_gaps = k - floor <= MOST_SPLITS and slope >= SHALLOW
        if not may_have_gaps and _tightened(step, least, slope) < matters:
            splits[k] = _Split(step, least, 0.0, _tightened(step, least, slope))
            continue
        # 3. Compute the leak of a partition.
        labels = _clusters(problem, relaxation, k)
        leak = _leak(problem, labels, float(values[k])) / usual
        splits[k] = _Split(step, leak, 0.0, _tightened(step, leak, slope))
        if may_have_gaps:
            candidates[k] = labels
    # 4. Add the density gaps of a better partition, for numbers that could then be selected.
    most = max((split.evidence for split in splits.values()), default=0.0)
    for k, labels in candidates.items():
        split = splits[k]
        if WEAK * (split.evidence + MOST_OF_GAPS) < most or not has_depth(problem, labels):
            continue
        gap = gap_evidence(problem, _searched(problem, k, int(seeds[k - floor])))
        evidence = split.evidence + min(gap, MOST_OF_GAPS)
        splits[k] = replace(split, gap=gap, evidence=evidence)
    return splits


def _tightened(step: float, leak: float, slope: float) -> float:
    """Return the evidence of a step, divided by a power of the relative leak."""
    # A small leak does not count for slopes near 2; see THIN.
    trust = min(max((2.0 - slope) / THIN, 0.0), 1.0) if leak < 1.0 else STEEP
    return float(step / min(max(leak, TIGHTEST), LEAKIEST) ** trust)


def _without_outliers(problem: Problem) -> np.ndarray:
    """Return the nodes of all components except those that are much smaller than average."""
    _, component = problem.graph.components
    sizes = np.bincount(component)
    # Average over nodes, on which many small components have little influence.
    kept = sizes >= SMALL * np.mean(sizes[component])
    return np.flatnonzero(kept[component])


def _steps(eigenvalues: np.ndarray, floor: int) -> dict[int, tuple[float, float]]:
    """Return the step and the slope of the power law for each number of clusters."""
    values = eigenvalues[floor:]
    if values.size <= FEWEST or values[-1] <= 0.0:
        return {}
    level = np.log(np.maximum(values, ROUNDING * values[-1]))
    rank = np.log(np.arange(1, values.size + 1))
    steps = {}
    for i in range(1, values.size - FEWEST + 1):
        beyond = slice(i, max(2 * i + FEWEST, i + TAIL))
        spread = rank[beyond] - rank[beyond].mean()
        slope = max(float(spread @ level[beyond] / (spread @ spread)), FLATTEST)
        difference = float(level[i] - level[i - 1])
        rise = difference / float(rank[i] - rank[i - 1]) if difference > EQUAL else 0.0
        steps[floor + i] = rise / slope, slope
    return steps


def _searched(problem: Problem, n_clusters: int, seed: int) -> np.ndarray:
    """Return the labels of one multilevel pass."""
    scaled, rng = problem.within_range(), np.random.default_rng(seed)
    smallest = smallest_level(problem.n_nodes, n_clusters)
    candidate = Passes(scaled, n_clusters, rng, BY_LABELS).fresh(smallest)
    assert candidate is not None
    return candidate.labels


def _clusters(problem: Problem, relaxation: Relaxation, n_clusters: int) -> np.ndarray:
    """Return a refined partition of a deterministic discretizer."""
    with single_threaded():
        start = cluster_qr(
            relaxation.leading(n_clusters), random_state=np.random.default_rng(0), score=None
        )
    return refine_problem(problem, start.labels).labels


def _leak(problem: Problem, labels: np.ndarray, following: float) -> float:
    """Return the largest leak of a cluster, given the ``following`` eigenvalue."""
    weights, boundaries = problem.cluster_weights(labels), problem.boundaries(labels)
    count, component = problem.graph.components
    pairs = np.unique(labels * count + component)
    total = np.bincount(pairs // count, problem.cluster_weights(component)[pairs % count])
    # Clusters that are unions of components do not leak.
    partial = (boundaries > 0.0) & (total > weights)
    inside, outside = weights[partial], (total - weights)[partial]
    cut = np.max(boundaries[partial] * (1.0 / inside + 1.0 / outside), initial=0.0)
    return float(cut) / max(following, SMALLEST)


def _neighbors(problem: Problem) -> float:
    """Return the median effective number of neighbors, 1 / Σ_j (S_ij / d_i)²."""
    graph = problem.graph
    rows = graph.rows
    other = rows != graph.indices
    outward = graph.outward
    fraction = graph.weights[other] / outward[rows[other]]
    squares = np.bincount(rows[other], fraction * fraction, minlength=graph.n_nodes)
    return float(np.median(1.0 / squares[squares > 0.0])) if np.any(squares > 0.0) else 1.0


def _reason(
    chosen: int, floor: int, n_components: int, splits: dict[int, _Split], enough: float
) -> str:
    """Return the reason why a number was selected, as text."""
    count = "is connected" if floor == 1 else f"has {floor} connected components"
    if chosen in splits and splits[chosen].evidence > 0.0:
        split = splits[chosen]
        parts = [
            f"After the first {chosen}, the eigenvalues rise {split.step:.3g} times as fast as "
            f"without clusters, and clusters leak {split.leak:.2g} times as much"
        ]
        if split.gap > 0.0:
            parts.append(f"their boundaries are density gaps (evidence {split.gap:.3g})")
        if split.evidence < enough:
            parts.append(f"the evidence is {split.evidence:.2g}, below the threshold {enough:.2g}")
    elif chosen == floor:
        result = "does not split" if floor == 1 else "none of them splits further"
        parts = [f"The graph {count}, and {result}"]
        if splits:
            next_best = max(splits, key=lambda k: splits[k].evidence)
            parts.append(
                f"strongest alternative: {next_best} clusters "
                f"(evidence {splits[next_best].evidence:.2g}, threshold {enough:.2g})"
            )
    else:
        parts = [f"The graph {count}; of the requested numbers, {chosen} is closest to {floor}"]
    if n_components > floor:
        parts.append(f"components left out as too small: {n_components - floor}")
    return "; ".join(parts) + "."

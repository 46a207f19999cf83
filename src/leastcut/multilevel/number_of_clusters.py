"""How many clusters a graph has, by evidence that a graph without clusters would not show.

Connected components are clusters whatever else is. What is asked is whether they split further,
and the null hypothesis is that they do not. Three things are then known.

*The eigenvalues follow a power law.* Of points without clusters in d dimensions the i-th eigenvalue
above 0 grows like i^(2/d) (Weyl's law); of random networks it hardly grows. Either way log λ
against log i is about a line, whose slope p the eigenvalues beyond a number tell. With k clusters
in c components the first i = k − c eigenvalues above 0 are small and the next one is not:

    step(k) = log(λ_(k+1) / λ_k) / (p log((i + 1) / i))

is the rise there in units of what the law makes it. Without clusters it is about 1, and the chance
of more about e^-step, as that of i eigenvalues where the law has fewer.

*No cluster is cut off below the next eigenvalue.* For the clusters C of a partition into k let

    leak(k) = max_C boundary(C) (1 / b(C) + 1 / b(rest of its components)) / λ_(k+1),

an upper bound on the part of the indicator of C that lies outside the first k eigenvectors. Without
clusters it is above 1, and grows like the diameter of a cluster in hops. In units of that it is an
upper bound of what symmetric shapes are allowed: they have large steps, between eigenvalues that
repeat, but leak as any other shape without clusters.

*Boundaries are no density gaps*: see :mod:`leastcut.multilevel.density_gap`.

The evidence for k clusters is step / leak, plus that of density gaps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from leastcut.budget import Budget
from leastcut.formatting import one_line, some
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

MAX_CLUSTERS = 20  # the largest number of clusters that is considered by default
# Tolerance of eigenpairs that only a choice is made by: a third of the time of the usual one.
ROUGH = 1e-3

# Eigenvalues beyond the largest number of clusters, and at least beyond each, that the slope of
# their growth is fitted to: fewer leave it to chance, more cost time.
TAIL, FEWEST = 10, 3
FLATTEST = 5e-3  # slope at least: eigenvalues that repeat have none, and steps would be infinite
EQUAL = 1e-6  # relative difference up to which eigenvalues may be equal
ROUNDING = 1e-13  # fraction of the last eigenvalue that may be what rounding has left of 0
SMALLEST = float(np.finfo(np.float64).tiny)  # stands for eigenvalues of 0 in divisions

# The logarithm of the leak that 3 of 100 partitions of graphs without clusters stay below, fitted
# to such graphs, is LEVEL + p (FALL + GROWTH log(nodes of a cluster / neighbors of a node)).
LEAK_LEVEL, LEAK_FALL, LEAK_GROWTH = 0.19, -0.36, 0.30
STEEP = 3  # power of a leak above that by which evidence falls
TIGHTEST = 0.2  # times that leak below which coarse clusters, which are tighter, gain no more
LEAKIEST = 1e9  # leak above which nothing is left of a step
# How far the slope p must be below 2, that of a line, for a small leak to count in full: samples
# of a line have gaps by chance.
THIN = 0.4
# Nodes of a cluster per neighbor of a node below which steps count for less, and at 1 for
# nothing: a node with its neighbors would do for a cluster.
RESOLVED = 2.0

# Evidence that a graph splits: 2 of 100 graphs sampled without clusters have as much, or fall into
# components. That one of c components splits needs log c more, as chance has c to choose from.
ENOUGH = 4.5
WEAK = 1.5  # how many times the evidence of the runner-up the best must have to be told from it
# Fraction of the average component of a node below which a component is an outlier, no cluster.
SMALL = 1.0 / 30.0

# What density gaps may add: they are surer the longer they are, and coarse clusters would always
# win by them. Slope below which none are looked for, as in so many dimensions every node is near a
# boundary. And the number of splits above which clusters hold too few nodes to tell.
MOST_OF_GAPS, SHALLOW, MOST_SPLITS = 6.5, 0.25, 8


@dataclass(frozen=True, eq=False)
class Choice:
    """A number of clusters, and why."""

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
        return f"{self.reason} The evidence is weak: it could as well be {others}."

    def __repr__(self) -> str:
        return one_line(
            self,
            n_clusters=self.n_clusters,
            numbers=some(self.numbers),
            is_weak=self.is_weak,
            runners_up=some(self.runners_up),
        )


def pairs_needed(most: int, n_nodes: int) -> int:
    """Return how many eigenpairs a choice of up to ``most`` clusters looks at."""
    return min(n_nodes, most + 1 + TAIL)


def auto_number(problem: Any, random_state: RandomState, budget: Budget | None = None) -> int:
    """Return a number of clusters, from 1 to 20, and warn if the evidence is weak.

    Raise TimeoutError if the eigenpairs cannot be computed within the budget.
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
            "n_clusters='auto' chooses a number by eigenvectors of the graph, and these take "
            "longer than the time_limit. Raise it, or pass n_clusters."
        ) from None
    choice = choice_of(core, range(1, most + 1), relaxation, seed)
    warn_if_weak(choice, "leastcut.cut_path(graph, affinity='precomputed')")
    return choice.n_clusters


def warn_if_weak(choice: Choice, path: str) -> None:
    """Warn of weak evidence for a number of clusters; ``path`` is where all evidence is found."""
    if choice.is_weak:
        others = " or ".join(map(str, choice.runners_up))
        warn_caller(
            f"The evidence for n_clusters={choice.n_clusters} is weak"
            + (f": it could as well be {others}" if others else "")
            + f". {choice.reason} Pass n_clusters if you know it, or look at {path}, which has the "
            "evidence for every number."
        )


def choice_of(
    problem: Problem, numbers: Sequence[int], relaxation: Relaxation, seed: int
) -> Choice:
    """Choose one of the numbers, by no more eigenpairs than it takes, however many there are."""
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
    """Choose one of ``numbers``, given the ``pairs_needed`` leading eigenpairs of the problem.

    Numbers above that of nodes are left out. ``random_state`` seeds the searches for density gaps,
    and the eigensolver, which runs again if small components are left out.
    """
    considered = np.array(sorted({k for k in numbers if k <= problem.n_nodes}), dtype=np.int64)
    rng = as_generator(random_state)
    # 1. Components are clusters, but for small ones, which are left out.
    n_components, _ = problem.graph.components
    nodes = _without_outliers(problem)
    if nodes.size < problem.n_nodes:
        problem = problem.restrict(nodes)
        count = min(relaxation.n_clusters, nodes.size)
        relaxation = relax_problem(problem, count, random_state=rng)
    floor, _ = problem.graph.components
    # 2. Evidence that components split further, for every number above theirs.
    found = _splits(problem, relaxation, floor, considered, rng)
    evidence = np.zeros(considered.size)
    enough = ENOUGH + float(np.log(floor))
    evidence[considered == floor] = enough
    for position, k in enumerate(considered.tolist()):
        if k in found:
            evidence[position] = found[k].evidence
    # 3. The most evidence; where there is none, what is nearest to the components, and of numbers
    #    with the same the largest: it shows clusters that the others leave together.
    distance = np.where(evidence > 0.0, 0, np.abs(considered - floor))
    order = np.lexsort((-considered, distance, -evidence))
    best, others = order[0], order[1:]
    second = float(evidence[others[0]]) if others.size else 0.0
    chosen = int(considered[best])
    return Choice(
        chosen,
        considered,
        evidence,
        _reason(chosen, floor, n_components, found, enough),
        tuple(considered[others[evidence[others] > 0.0]][:2].tolist()),
        bool(evidence[best] < max(WEAK * second, enough)),
    )


@dataclass(frozen=True)
class _Split:
    """What indicates a number of clusters above that of components.

    Leak and evidence are bounds, from below and above, if a partition could change nothing.
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
    """Return the evidence for every number above ``floor`` that there are eigenvalues for."""
    neighbors, values = _neighbors(problem), relaxation.eigenvalues
    # Seeds are drawn for all, so that what one number draws does not depend on the others.
    seeds = rng.integers(2**32, size=MOST_SPLITS + 1)
    # Without the components themselves to choose, any evidence may be the most.
    matters = ENOUGH / WEAK if floor in considered else 0.0
    found, doubtful = {}, {}
    for k, (step, slope) in _steps(values, floor).items():
        if k not in considered:
            continue
        # 1. What a leak would be without clusters, and what weight a step has.
        room = problem.n_nodes / (k * neighbors)
        usual = float(
            np.exp(LEAK_LEVEL + slope * (LEAK_FALL + LEAK_GROWTH * np.log(max(room, 1.0))))
        )
        step *= min(max((room - 1.0) / (RESOLVED - 1.0), 0.0), 1.0)
        # 2. Some cluster leaks at least the mean of the first k eigenvalues: where a step is too
        #    small even so, and boundaries are no gaps, there is nothing to be looked for.
        least = float(np.mean(values[:k])) / max(float(values[k]), SMALLEST) / usual
        may_have_gaps = k - floor <= MOST_SPLITS and slope >= SHALLOW
        if not may_have_gaps and _tightened(step, least, slope) < matters:
            found[k] = _Split(step, least, 0.0, _tightened(step, least, slope))
            continue
        # 3. The leak of a partition.
        labels = _clusters(problem, relaxation, k)
        leak = _leak(problem, labels, float(values[k])) / usual
        found[k] = _Split(step, leak, 0.0, _tightened(step, leak, slope))
        if may_have_gaps:
            doubtful[k] = labels
    # 4. The density gaps of a better one, for numbers that these could raise to the first.
    most = max((split.evidence for split in found.values()), default=0.0)
    for k, labels in doubtful.items():
        split = found[k]
        if WEAK * (split.evidence + MOST_OF_GAPS) < most or not has_depth(problem, labels):
            continue
        gap = gap_evidence(problem, _searched(problem, k, int(seeds[k - floor])))
        evidence = split.evidence + min(gap, MOST_OF_GAPS)
        found[k] = replace(split, gap=gap, evidence=evidence)
    return found


def _tightened(step: float, leak: float, slope: float) -> float:
    """Return the evidence of a step, raised by a small leak or lowered by a large one."""
    # Samples of a line have gaps by chance, and there a small leak tells nothing.
    trust = min(max((2.0 - slope) / THIN, 0.0), 1.0) if leak < 1.0 else STEEP
    return float(step / min(max(leak, TIGHTEST), LEAKIEST) ** trust)


def _without_outliers(problem: Problem) -> np.ndarray:
    """Return the nodes of all components but those that are small compared with the others."""
    _, component = problem.graph.components
    sizes = np.bincount(component)
    # The mean over nodes, so that many small components do not make it small.
    kept = sizes >= SMALL * np.mean(sizes[component])
    return np.flatnonzero(kept[component])


def _steps(eigenvalues: np.ndarray, floor: int) -> dict[int, tuple[float, float]]:
    """Return by number of clusters the step after it, and the slope of the law beyond it."""
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
    """Return a partition found by one multilevel pass."""
    scaled, rng = problem.within_range(), np.random.default_rng(seed)
    smallest = smallest_level(problem.n_nodes, n_clusters)
    found = Passes(scaled, n_clusters, rng, BY_LABELS).fresh(smallest)
    assert found is not None
    return found.labels


def _clusters(problem: Problem, relaxation: Relaxation, n_clusters: int) -> np.ndarray:
    """Return a partition by a direct method, so that nothing is drawn, and exact moves."""
    with single_threaded():
        found = cluster_qr(
            relaxation.leading(n_clusters), random_state=np.random.default_rng(0), score=None
        )
    return refine_problem(problem, found.labels).labels


def _leak(problem: Problem, labels: np.ndarray, following: float) -> float:
    """Return the largest cut of a cluster from the rest, in units of the ``following`` eigenvalue.

    The rest is that of the components which the cluster has a part of.
    """
    weights, boundaries = problem.cluster_weights(labels), problem.boundaries(labels)
    count, component = problem.graph.components
    pairs = np.unique(labels * count + component)
    total = np.bincount(pairs // count, problem.cluster_weights(component)[pairs % count])
    # Clusters that are entire components leak nothing.
    partial = (boundaries > 0.0) & (total > weights)
    inside, outside = weights[partial], (total - weights)[partial]
    cut = np.max(boundaries[partial] * (1.0 / inside + 1.0 / outside), initial=0.0)
    return float(cut) / max(following, SMALLEST)


def _neighbors(problem: Problem) -> float:
    """Return the effective number of neighbors of a median node: 1 / Σ (fraction of an edge)²."""
    graph = problem.graph
    rows = graph.rows
    other = rows != graph.indices
    outward = graph.outward
    share = graph.weights[other] / outward[rows[other]]
    squares = np.bincount(rows[other], share * share, minlength=graph.n_nodes)
    return float(np.median(1.0 / squares[squares > 0.0])) if np.any(squares > 0.0) else 1.0


def _reason(
    chosen: int, floor: int, n_components: int, found: dict[int, _Split], enough: float
) -> str:
    """Say why a number was chosen."""
    count = "is connected" if floor == 1 else f"has {floor} connected components"
    if chosen in found and found[chosen].evidence > 0.0:
        split = found[chosen]
        parts = [
            f"After {chosen} the eigenvalues rise {split.step:.3g} times as fast as beyond, and "
            f"clusters leak {split.leak:.2g} times as much as without structure"
        ]
        if split.gap > 0.0:
            parts.append(f"their boundaries are density gaps (evidence {split.gap:.3g})")
        if split.evidence < enough:
            parts.append(f"the evidence is {split.evidence:.2g}, below the threshold {enough:.2g}")
    elif chosen == floor:
        splits = "does not split" if floor == 1 else "none of them splits further"
        parts = [f"The graph {count}, and {splits}"]
        if found:
            next_best = max(found, key=lambda k: found[k].evidence)
            parts.append(
                f"strongest alternative: {next_best} clusters "
                f"(evidence {found[next_best].evidence:.2g}, threshold {enough:.2g})"
            )
    else:
        parts = [f"The graph {count}; of the numbers asked for {chosen} is nearest to {floor}"]
    if n_components > floor:
        parts.append(f"components left out as too small: {n_components - floor}")
    return "; ".join(parts) + "."

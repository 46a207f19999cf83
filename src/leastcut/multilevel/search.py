"""Multilevel search for the smallest cut of a reduced problem.

The search runs the stages of its effort (see ``stages`` and ``efforts``): passes (see ``passes``),
spectral solutions, and recombinations of all results. The constants were tuned like those of the
efforts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from leastcut.budget import Budget
from leastcut.memory import LITTLE_MEMORY, check_memory
from leastcut.multilevel.efforts import EFFORTS, Progress
from leastcut.multilevel.exact import exact_problem, stirling
from leastcut.multilevel.node_order import is_scattered
from leastcut.multilevel.passes import Candidate
from leastcut.multilevel.search_state import Search
from leastcut.multilevel.stages import first_stage, later_stages
from leastcut.problem import ORDINARY, Problem
from leastcut.reductions import BLOCK_EDGES, contracted_by_labels
from leastcut.results import Partition
from leastcut.seeds import RandomState, as_generator
from leastcut.threads import count_threads
from leastcut.validation import number_by_appearance

# Problems up to this size are solved by enumeration, within milliseconds.
ENUMERATED_NODES, ENUMERATED_PARTITIONS = 20, 50_000
# Fractions of the time limit at which the searches for other objectives end: first without
# constraints, then, for balanced clusters, for the edge cut.
FREE_SHARE, EDGES_SHARE = 0.4, 0.6
MOST_THREADS = 8  # threads used by default; with more, memory bandwidth is the bottleneck
THREADED_EDGES = 30_000  # fewest stored edges for which a batch of passes uses threads
# Memory of a search per stored weight, three times that of the graph, and per node.
EDGE_BYTES, NODE_BYTES = 36, 60
# Above this number of stored edges the search runs in a thread, so that Ctrl-C need not wait.
LONG_EDGES = 5_000_000
NUMBERED_NODES = 150_000  # larger graphs with scattered neighbors are renumbered


def partition_problem(
    problem: Problem,
    n_clusters: int,
    *,
    effort: str = "balanced",
    starts: Sequence[np.ndarray] = (),
    budget: Budget | None = None,
    lower_bound: bool | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> Partition:
    """Search for the smallest cut of a reduced problem with feasible constraints.

    ``starts`` are allowed labels 0..n_clusters-1; the result is never worse. By default the lower
    bound is computed for small graphs only.
    """
    budget = budget or Budget()
    # Always advance the caller's generator.
    seed = as_generator(random_state).integers(2**32, size=4).tolist()
    n = problem.n_nodes
    if n_clusters in (1, n):
        return exact_problem(problem, n_clusters)
    proven = _enumerated(problem, n_clusters) if n <= ENUMERATED_NODES else None
    if proven is not None:
        labels, value = _unless_start(problem, proven, starts)
        budget.report(Progress(effort, 1.0, value, budget.seconds))
        return Partition(labels, value, value)
    if lower_bound is None:
        lower_bound = n <= EFFORTS[effort].bound_nodes
    _check_memory(problem)
    n_threads = _count_threads(problem, effort, n_jobs)
    search = Search(problem, n_clusters, seed, n_threads, budget, lower_bound)
    stages = EFFORTS[effort].stages

    def run() -> None:
        search.begin(stages[0])
        restricted = starts
        if n > NUMBERED_NODES and is_scattered(problem.graph):
            numbering = search.renumber()
            restricted = [numbering.restrict(labels) for labels in starts]
        if problem.constraints.restrict_moves:
            _search_unconstrained(search, stages)
        _run(search, stages, restricted)

    try:
        if problem.graph.n_stored < LONG_EDGES:
            run()
        else:
            budget.run_in_thread(run)
    except KeyboardInterrupt:
        if budget.on_interrupt == "raise" or search.best is None:
            raise
    assert search.best is not None
    labels = search.best.labels
    if search.numbering is not None:
        labels = search.numbering.expand(labels)
    labels, value = _unless_start(problem, labels, starts)
    return Partition(labels, value, 0.0 if value == 0.0 else search.bound)


def _run(search: Search, stages: Sequence[str], starts: Sequence[np.ndarray]) -> None:
    """Run all stages, and solve the eigenproblem of the lower bound if needed."""
    first, *others = stages
    # Created by every effort, so that tasks have the same numbers in all of them.
    parents = search.next_generator()
    candidates = first_stage(search, first, starts)
    search.report(first, 1.0)
    search.first_work = search.work
    if all(search.is_spent(stage) and stage not in search.starts for stage in others):
        for stage in others:
            search.report(stage, 1.0)
    else:
        later_stages(search, others, candidates, parents)
    search.relax_for_bound()


def _search_unconstrained(search: Search, stages: Sequence[str]) -> None:
    """Search without constraints first, and use the repaired results as starts.

    The result of each stage is a start of the same stage of the constrained search.
    """
    problem, counts_edges = search.problem, search.problem.offset > 0.0
    # Partitions with small edge cuts are rarely similar to these, so one stage is enough for them.
    free = _search_other(
        search,
        replace(problem.unconstrained(), offset=0.0),
        stages[:1] if counts_edges else stages,
        FREE_SHARE,
    )
    if free.relaxation is not None:  # the graph is the same
        search.relaxation, search.is_solved = free.relaxation, True
    assert free.best is not None  # its first pass is always completed
    if problem.limits is None or counts_edges or problem.allows(free.best.labels):
        return
    # Clusters of similar weight have a small value if they cut few edges.
    if float(problem.graph.weights.sum()) <= ORDINARY:
        _search_other(search, problem.counting_edges(), stages, EDGES_SHARE)


def _search_other(search: Search, problem: Problem, stages: Sequence[str], share: float) -> Search:
    """Search another problem on the same nodes, and use the repaired results as starts.

    The search ends at the fraction ``share`` of the time limit.
    """
    # There is no allowed partition to report yet.
    budget = search.budget.share(share, lambda _: search.report_nothing(stages[0]))
    other = Search(problem, search.n_clusters, search.seed, search.n_threads, budget, False)
    try:
        _run(other, stages, ())
    except KeyboardInterrupt:
        if other.best is not None:
            kept = search.allowed(other.best.labels)
            search.consider(Candidate(kept, search.scaled.value(kept), 0))
        raise
    before = None
    for stage, labels in other.stage_labels.items():
        if before is None or not np.array_equal(labels, before):
            search.starts.setdefault(stage, []).append(search.allowed(labels))
        before = labels
    return other


def _count_threads(problem: Problem, effort: str, n_jobs: int | None) -> int:
    """Return the number of threads; on small graphs, counting cores would take too long."""
    # Single passes use threads for contractions only, with at least two blocks.
    least = 2 * BLOCK_EDGES if len(EFFORTS[effort].stages) == 1 else THREADED_EDGES
    if problem.graph.n_stored < least:
        return 1
    return min(MOST_THREADS, count_threads(None)) if n_jobs is None else count_threads(n_jobs)


def _enumerated(problem: Problem, n_clusters: int) -> np.ndarray | None:
    """Return the optimal labels by enumeration, or None.

    None means that there are too many partitions, or that rounding hides which one is optimal.
    """
    if stirling(problem.n_nodes, n_clusters) > ENUMERATED_PARTITIONS:
        return None
    best = exact_problem(problem, n_clusters)
    return best.labels if best.gap == 0.0 else None


def _check_memory(problem: Problem) -> None:
    """Raise MemoryError if a search needs more memory than available."""
    n, n_stored = problem.n_nodes, problem.graph.n_stored
    needed = EDGE_BYTES * n_stored + NODE_BYTES * n
    if needed > LITTLE_MEMORY:
        check_memory(
            needed,
            f"The search on a graph with {n} nodes and {n_stored} stored weights",
            "Use a graph with fewer neighbors, or remove its lightest edges.",
        )


def _unless_start(
    problem: Problem, labels: np.ndarray, starts: Sequence[np.ndarray]
) -> tuple[np.ndarray, float]:
    """Return labels and their value, or the best start and its value if that is not worse.

    Labels are numbered by first appearance; a start is returned unchanged.
    """
    labels = number_by_appearance(labels)
    value = problem.value(labels)
    if starts:
        values = [problem.value(start) for start in starts]
        best = int(np.argmin(values))
        # Values of the same partition with other numbers may differ by rounding.
        if values[best] <= value or np.array_equal(number_by_appearance(starts[best]), labels):
            return starts[best], values[best]
    return labels, value


def merge_clusters(
    problem: Problem, labels: np.ndarray, n_clusters: int, *, random_state: RandomState
) -> np.ndarray:
    """Return labels in which clusters are merged until ``n_clusters`` are left."""
    # A partition of the contracted graph has the same cut value, and splits no cluster.
    clusters = contracted_by_labels(problem, labels).symmetrized()
    merged = partition_problem(clusters, n_clusters, random_state=random_state)
    return np.asarray(merged.labels[labels])

"""The search over multilevel passes for the smallest cut of a reduced problem.

A search begins with the first stage, and efforts with further stages go on from it (``stages``):
more passes, more of the spectral solution, and recombinations of all results. The steps of a pass
are in ``passes``, and what each effort does in ``efforts``. The constants were set as those are.
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

# Problems of no more nodes and partitions are solved by going through them all: 2 ms, and 10 at
# worst, if all weights are alike.
ENUMERATED_NODES, ENUMERATED_PARTITIONS = 20, 50_000
# Fractions of a time limit at which the search without constraints ends, which comes first, and
# then one that counts edges, if clusters are to be balanced.
FREE_SHARE, EDGES_SHARE = 0.4, 0.6
MOST_THREADS = 8  # threads used by default: more gain little, as memory is the bottleneck
THREADED_EDGES = 30_000  # stored edges below which a batch of passes is faster in one thread
# Bytes that a search takes for a stored weight, three times what a graph does, and for a node.
EDGE_BYTES, NODE_BYTES = 36, 60
# Stored edges from which on a loop over them takes so long that Ctrl-C should not wait for it.
LONG_EDGES = 5_000_000
# Nodes above which those in scattered order are renumbered: what is less fits fast memory.
NUMBERED_NODES = 150_000


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
    """Search for the smallest cut of a reduced problem, whose constraints are known to be feasible.

    ``starts`` are labels 0..n_clusters-1 that the constraints allow; the result is never worse. The
    lower bound is computed by default only on small graphs.
    """
    budget = budget or Budget()
    # Drawn in any case, so that the caller's generator always moves on alike.
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
        # Interrupted in its first pass, a search has nothing to return.
        if budget.on_interrupt == "raise" or search.best is None:
            raise
    assert search.best is not None
    labels = search.best.labels
    if search.numbering is not None:
        labels = search.numbering.expand(labels)
    labels, value = _unless_start(problem, labels, starts)
    # No cut is below 0.
    return Partition(labels, value, 0.0 if value == 0.0 else search.bound)


def _run(search: Search, stages: Sequence[str], starts: Sequence[np.ndarray]) -> None:
    """Run all stages, and solve the eigenproblem of the lower bound if none of them has."""
    first, *others = stages
    # Taken by every effort, used or not: tasks then have the same numbers in all of them.
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
    """Search as if every partition were allowed first, and make starts of the results.

    The result of a stage, repaired, joins the same stage of this search: no result is then above
    it, and where no repair was needed, the constraints have cost nothing.
    """
    problem, counts_edges = search.problem, search.problem.offset > 0.0
    # Balanced clusters that cut few edges are not near those: there a first look is enough.
    free = _search_other(
        search,
        replace(problem.unconstrained(), offset=0.0),
        stages[:1] if counts_edges else stages,
        FREE_SHARE,
    )
    if free.relaxation is not None:  # which is that of the same graph
        search.relaxation, search.is_solved = free.relaxation, True
    assert free.best is not None  # as its first pass is never late
    if problem.limits is None or counts_edges or problem.allows(free.best.labels):
        return
    # Under tight limits clusters weigh about the same, and few edges are a small value.
    if float(problem.graph.weights.sum()) <= ORDINARY:
        _search_other(search, problem.counting_edges(), stages, EDGES_SHARE)


def _search_other(search: Search, problem: Problem, stages: Sequence[str], share: float) -> Search:
    """Search another problem of the same nodes, and make starts of the results.

    It ends at ``share`` of the time limit.
    """
    # Of what is allowed there is nothing to report yet.
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
    for stage, labels in other.noted.items():
        if before is None or not np.array_equal(labels, before):
            search.starts.setdefault(stage, []).append(search.allowed(labels))
        before = labels
    return other


def _count_threads(problem: Problem, effort: str, n_jobs: int | None) -> int:
    """Return how many threads to use; counting cores takes longer than a small graph does."""
    # A single pass has threads for its contractions only, and these split from two blocks on.
    alone = 2 * BLOCK_EDGES if len(EFFORTS[effort].stages) == 1 else THREADED_EDGES
    if problem.graph.n_stored < alone:
        return 1
    return min(MOST_THREADS, count_threads(None)) if n_jobs is None else count_threads(n_jobs)


def _enumerated(problem: Problem, n_clusters: int) -> np.ndarray | None:
    """Return the labels of the smallest cut there is, if a few milliseconds are enough to prove it.

    None if there are more partitions, or if doubles cannot tell which of them is best.
    """
    if stirling(problem.n_nodes, n_clusters) > ENUMERATED_PARTITIONS:
        return None
    best = exact_problem(problem, n_clusters)
    return best.labels if best.gap == 0.0 else None


def _check_memory(problem: Problem) -> None:
    """Raise MemoryError if a search needs more memory than there is."""
    n, n_stored = problem.n_nodes, problem.graph.n_stored
    needed = EDGE_BYTES * n_stored + NODE_BYTES * n
    if needed > LITTLE_MEMORY:
        check_memory(
            needed,
            f"A search of a graph of {n} nodes and {n_stored} stored weights",
            "Cut a graph of fewer neighbors, or leave its lightest edges out.",
        )


def _unless_start(
    problem: Problem, labels: np.ndarray, starts: Sequence[np.ndarray]
) -> tuple[np.ndarray, float]:
    """Return labels, numbered by first appearance, and their value, or a start and its value.

    A start is returned as it is if it is the same partition, or no worse.
    """
    labels = number_by_appearance(labels)
    value = problem.value(labels)
    if starts:
        values = [problem.value(start) for start in starts]
        best = int(np.argmin(values))
        # The same partition under other numbers may differ from it by rounding.
        if values[best] <= value or np.array_equal(number_by_appearance(starts[best]), labels):
            return starts[best], values[best]
    return labels, value


def merge_clusters(
    problem: Problem, labels: np.ndarray, n_clusters: int, *, random_state: RandomState
) -> np.ndarray:
    """Return labels in which entire clusters are merged until ``n_clusters`` are left."""
    # Contraction keeps values: a cut of the graph of clusters has the same value on the full
    # graph, and tears no cluster apart.
    clusters = contracted_by_labels(problem, labels).symmetrized()
    merged = partition_problem(clusters, n_clusters, random_state=random_state)
    return np.asarray(merged.labels[labels])

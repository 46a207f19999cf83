"""Feasibility of constraints: colorings of cannot-links and packings of node weights.

Whether a partition into c clusters can satisfy the cannot-links is a graph coloring problem, which
is solved exactly:

1. A node with fewer than c cannot-links can always be colored after its neighbors. Such nodes are
   removed repeatedly. What remains, the c-core, is usually empty.
2. Each component of the core is colored by backtracking (DSATUR, Brélaz 1979): the next node is the
   one whose neighbors have the most colors. The search ends with a coloring, a proof that there is
   none, or a limit on its steps.
3. The removed nodes are colored in reverse order.

Whether the nodes fit into clusters of limited weight is a bin packing problem, which is NP-hard.
Nodes of equal weight are distributed evenly; others are assigned, heaviest first, to the lightest
cluster. If that fails, small problems go to an exact solver. Errors call a balance impossible only
if that is proven.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from leastcut.constraints import MOST_NAMED, Balance, CannotLinks, Constraints, Limits

EXACT_CHOICES = 20_000  # most distinct weights times clusters for the exact solver
# Its time limit, and the slack, as a fraction of the average, above its tolerance of 1e-6.
EXACT_SECONDS, EXACT_SLACK = 2.0, 1e-5
MOST_STEPS = 200_000  # limit on the steps of backtracking, about a second
CLIQUE_STARTS = 50  # number of nodes from which cliques are grown, by descending degree


def colored(
    constraints: Constraints, n_nodes: int, n_clusters: int, starts: Sequence[np.ndarray] = ()
) -> Constraints:
    """Return the constraints with a coloring of the cannot-links, from the first start if any.

    Raises ValueError if there is no coloring with ``n_clusters`` colors, or none is found.
    """
    links = constraints.cannot_link
    if links is None or links.coloring is not None:
        return constraints
    if starts:
        return replace(constraints, cannot_link=links.colored_by(starts[0]))
    colors = color(links, n_clusters).colors
    if colors is None:
        check_n_clusters(constraints, n_nodes, n_clusters)
    assert colors is not None  # check_n_clusters raises otherwise
    return replace(constraints, cannot_link=replace(links, coloring=colors))


def check_n_clusters(
    constraints: Constraints, n_nodes: int, n_clusters: int, is_feasible: bool = False
) -> None:
    """Raise if the links allow no partition into ``n_clusters`` clusters, or none is found.

    ``is_feasible`` means that a partition satisfying the cannot-links is known.
    """
    groups = constraints.groups(n_nodes)
    n_groups = int(groups.max()) + 1
    if n_clusters > n_groups:
        raise ValueError(
            f"n_clusters={n_clusters} is too large: the must_link pairs leave {n_groups} groups of "
            f"nodes. Pass n_clusters={n_groups} or less, or remove pairs."
        )
    links = constraints.cannot_link
    if links is None or is_feasible:
        return
    result = color(links.contracted(groups, n_groups), n_clusters)
    if result.colors is not None:
        return
    if result.clique:

        def pair(i: int, j: int) -> str:
            of_groups = groups[links.pairs]
            places = ((of_groups == (i, j)) | (of_groups == (j, i))).all(axis=1)
            first, second = links.pairs[int(np.argmax(places))].tolist()
            return f"({first}, {second})"

        first = [pair(i, j) for k, i in enumerate(result.clique) for j in result.clique[:k]]
        more = f" and {len(first) - MOST_NAMED} more" if len(first) > MOST_NAMED else ""
        raise ValueError(
            f"n_clusters={n_clusters} is too small: the cannot_link pairs "
            f"{', '.join(first[:MOST_NAMED])}{more} separate {len(result.clique)} nodes from each "
            f"other. Pass n_clusters={len(result.clique)} or more ({result.enough} are enough for "
            "all pairs), or remove pairs."
        )
    if result.is_decided:
        raise ValueError(
            f"n_clusters={n_clusters} is too small: {n_clusters} clusters cannot separate all "
            f"cannot_link pairs. Pass more ({result.enough} are enough), or remove pairs."
        )
    raise ValueError(
        f"Whether n_clusters={n_clusters} clusters can separate all cannot_link pairs could not be "
        f"decided in {MOST_STEPS:,} steps. Pass more clusters ({result.enough} are enough), remove "
        "pairs, or pass as init a partition that separates them."
    )


@dataclass(frozen=True, eq=False)
class Coloring:
    """The result of a search for a coloring."""

    colors: np.ndarray | None  # -1 for nodes without pairs; None if no coloring was found
    is_decided: bool  # whether the steps were enough to find a coloring or prove there is none
    clique: list[int]  # more nodes than colors, all paired with each other; or empty
    enough: int  # a sufficient number of colors


def color(links: CannotLinks, n_colors: int, most_steps: int | None = None) -> Coloring:
    """Color nodes so that the nodes of each pair differ, or find that there is no such coloring.

    The search stops after ``most_steps`` choices of a color, by default ``MOST_STEPS``.
    """
    paired = links.nodes
    if paired.size < links.n_nodes:
        # Only nodes with pairs, which may be a small subset.
        few = links.restricted(paired)
        if few is None:
            return Coloring(np.full(links.n_nodes, -1, dtype=np.int32), True, [], n_colors)
        result = color(few, n_colors, most_steps)
        if result.colors is None:
            return replace(result, clique=paired[result.clique].tolist())
        colors_of_all = np.full(links.n_nodes, -1, dtype=np.int32)
        colors_of_all[paired] = result.colors
        return replace(result, colors=colors_of_all)
    near = [links.partners(i).tolist() for i in range(links.n_nodes)]
    colors = [-1] * links.n_nodes
    # 1. Remove the nodes that can always be colored last.
    peeled = _peeled(near, n_colors)
    core = [i for i in range(links.n_nodes) if not peeled[1][i]]
    # 2. Color the components of the core.
    steps = MOST_STEPS if most_steps is None else most_steps
    for nodes in _components(links, core):
        taken = _search(near, nodes, colors, n_colors, steps)
        if taken is None or taken == 0:
            clique = _large_clique(near, nodes, n_colors)
            return Coloring(None, taken is not None or bool(clique), clique, _greedy_number(near))
        steps = max(1, steps - taken)
    # 3. Color the removed nodes in reverse order, each with the first color possible.
    for i in reversed(peeled[0]):
        used = {colors[j] for j in near[i]}
        colors[i] = next(k for k in range(n_colors) if k not in used)
    return Coloring(np.array(colors, dtype=np.int32), True, [], n_colors)


def _peeled(near: list[list[int]], n_colors: int) -> tuple[list[int], list[bool]]:
    """Return the nodes outside the core, in the order of their removal, and a mask of them.

    Each has fewer than ``n_colors`` pairs with nodes that are removed later or not at all.
    """
    degree = [len(row) for row in near]
    is_removed = [count < n_colors for count in degree]
    order = [i for i, is_gone in enumerate(is_removed) if is_gone]
    for i in order:  # grows during the loop
        for j in near[i]:
            degree[j] -= 1
            if not is_removed[j] and degree[j] < n_colors:
                is_removed[j] = True
                order.append(j)
    return order, is_removed


def _components(links: CannotLinks, nodes: list[int]) -> list[list[int]]:
    """Return the connected components of the graph of pairs among ``nodes``."""
    if not nodes:
        return []
    component = sp.csgraph.connected_components(links.matrix[nodes][:, nodes], directed=False)[1]
    members: dict[int, list[int]] = {}
    for i, number in zip(nodes, component.tolist(), strict=True):
        members.setdefault(number, []).append(i)
    return list(members.values())


def _search(
    near: list[list[int]], nodes: list[int], colors: list[int], n_colors: int, most_steps: int
) -> int | None:
    """Color a connected component in place; return the steps taken.

    Returns 0 if there is no coloring, and None if ``most_steps`` are not enough to decide.
    """
    inside = set(nodes)
    near = [[j for j in row if j in inside] if i in inside else [] for i, row in enumerate(near)]
    # Per node: the number of neighbors of each color, and the number of distinct colors among them.
    count = {i: [0] * n_colors for i in nodes}
    n_distinct = dict.fromkeys(nodes, 0)
    heap = [(0, -len(near[i]), i) for i in nodes]
    heapq.heapify(heap)

    def push(i: int) -> None:
        heapq.heappush(heap, (-n_distinct[i], -len(near[i]), i))

    def change(i: int, k: int, by: int) -> None:
        """Assign color k to node i (``by=1``), or remove it (``by=-1``)."""
        colors[i] = k if by > 0 else -1
        for j in near[i]:
            count[j][k] += by
            if count[j][k] == max(by, 0):  # the first neighbor of this color was added or removed
                n_distinct[j] += by
                if colors[j] < 0:
                    push(j)

    # The choices so far: a node, and the number of colors in use before it.
    path: list[tuple[int, int]] = []
    steps, used, candidate, i = 0, 0, 0, -1
    while len(path) < len(nodes):
        # 1. Take the node whose neighbors have the most colors; heap entries may be stale.
        if i < 0:
            while True:
                key, _, i = heapq.heappop(heap)
                if colors[i] < 0 and -key == n_distinct[i]:
                    break
            candidate = 0
        # 2. Assign the next possible color; unused colors are equivalent, so try only one.
        k = next((k for k in range(candidate, min(used + 1, n_colors)) if count[i][k] == 0), -1)
        steps += 1
        if steps > most_steps:
            return None
        if k >= 0:
            path.append((i, used))
            change(i, k, 1)
            used, i = max(used, k + 1), -1
            continue
        # 3. If there is none, backtrack to the previous choice.
        push(i)
        if not path:
            return 0
        i, used = path.pop()
        candidate = colors[i] + 1
        change(i, colors[i], -1)
        push(i)
    return steps


def _large_clique(near: list[list[int]], nodes: list[int], n_colors: int) -> list[int]:
    """Return a clique of more than ``n_colors`` nodes if one is found, else an empty list."""
    by_degree = sorted(nodes, key=lambda i: (-len(near[i]), i))
    for start in by_degree[:CLIQUE_STARTS]:
        clique, left = [start], set(near[start])
        while left:
            i = max(left, key=lambda j: (len(left.intersection(near[j])), -j))
            clique.append(i)
            left.intersection_update(near[i])
            if len(clique) > n_colors:
                return sorted(clique)
    return []


def _greedy_number(near: list[list[int]]) -> int:
    """Return the number of colors of a greedy coloring by descending degree."""
    colors = [-1] * len(near)
    for i in sorted(range(len(near)), key=lambda i: -len(near[i])):
        used = {colors[j] for j in near[i]}
        colors[i] = next(k for k in range(len(near)) if k not in used)
    return max(colors) + 1


# -- limits


def limits_of(balance: Balance, weights: np.ndarray, n_clusters: int) -> Limits:
    """Return the limits that a balance defines, with a packing that satisfies them.

    Raises ValueError if there is no packing, or none is found.
    """
    below, _ = balance
    limits = Limits.of(balance, weights, n_clusters)
    packing = _packed(weights, n_clusters)
    loads = np.bincount(packing, weights, n_clusters)
    if limits.allow(loads):
        return limits.with_packing(packing)
    remedy = _enough(balance, loads)
    heaviest, is_even = int(np.argmax(weights)), bool((weights == weights[0]).all())
    if weights[heaviest] > limits.heaviest:
        raise ValueError(
            f"balance limits clusters to a weight of {limits.heaviest:g}, but node {heaviest} "
            f"alone weighs {weights[heaviest]:g}. Pass balance={remedy}, which is enough, or fewer "
            "clusters."
        )
    words = (
        f"weigh between {limits.lightest:g} and {limits.heaviest:g}"
        if below is not None
        else f"weigh at most {limits.heaviest:g}"
    )
    remedy = f"Pass balance={remedy}, which is enough, or another number of clusters."
    if is_even:
        raise ValueError(
            f"{weights.size} nodes of weight {weights[0]:g} cannot be cut into {n_clusters} "
            f"clusters that {words}. {remedy}"
        )
    solution = _solved(weights, n_clusters, limits)
    if isinstance(solution, np.ndarray):
        return limits.with_packing(solution)
    prefix, suffix = ("There are no", "") if solution else ("No", " were found")
    raise ValueError(f"{prefix} {n_clusters} clusters that {words}{suffix}. {remedy}")


def _enough(balance: Balance, loads: np.ndarray) -> str:
    """Return, as text with few digits, a ``balance`` that clusters of these weights satisfy."""
    below, above = balance
    average = float(loads.sum()) / loads.size
    upper = _rounded_up(max(float(loads.max()) / average - 1.0, above))
    if below is None:
        return upper
    return f"({_rounded_up(max(1.0 - float(loads.min()) / average, below))}, {upper})"


def _rounded_up(fraction: float) -> str:
    # Subtract less than ROUNDING, so that rounding errors do not add a digit.
    return f"{math.ceil(fraction * 1e4 - 1e-6) / 1e4:.4f}".rstrip("0").rstrip(".")


def _packed(weights: np.ndarray, n_clusters: int) -> np.ndarray:
    """Assign every node, heaviest first, to the lightest cluster; ties go to the first.

    Nodes of weight 0 are assigned to the clusters in turn, empty clusters first.
    """
    n = weights.size
    labels = np.empty(n, dtype=np.int32)
    if (weights == weights[0]).all():
        # Consecutive nodes are often neighbors.
        labels[:] = np.arange(n, dtype=np.int64) * n_clusters // n
        return labels
    order = np.argsort(-weights, kind="stable")
    n_core = int(np.count_nonzero(weights))
    heap = [(0.0, k) for k in range(n_clusters)]
    for i, weight in zip(order[:n_core].tolist(), weights[order].tolist(), strict=False):
        load, k = heap[0]
        labels[i] = k
        heapq.heapreplace(heap, (load + weight, k))
    labels[order[n_core:]] = np.arange(n_core, n) % n_clusters
    return labels


def _solved(weights: np.ndarray, n_clusters: int, limits: Limits) -> np.ndarray | bool:
    """Return a packing by an exact solver, True if none is proven to exist, else False.

    Nodes of weight 0 are clusters only if there are too few others.
    """
    core, n_core = np.flatnonzero(weights), int(np.count_nonzero(weights))
    if n_core < n_clusters:
        return True  # each is a cluster, as in the packing that violates the limits
    average = float(weights.sum()) / n_clusters
    kinds, kind, count = np.unique(weights[core], return_inverse=True, return_counts=True)
    spare = min(limits.heaviest - average, average - limits.lightest) / average
    # Sums of integers that violate a limit do so by more than the solver's tolerance.
    if kinds.size * n_clusters > EXACT_CHOICES or (limits.slack > 0.0 and spare < EXACT_SLACK):
        return False
    labels = np.empty(weights.size, dtype=np.int32)
    labels[weights == 0.0] = 0
    # The solver decides infeasibility up to its tolerances, and drops coefficients below 1e-9. It
    # is proven if limits that are wider by more than that are infeasible too.
    for margin in (0.0, max(EXACT_SLACK, 1e-9 * n_core)):
        lightest = np.full(n_clusters, limits.lightest / average - margin)
        heaviest = np.full(n_clusters, limits.heaviest / average + margin)
        amounts = _amounts(kinds / average, count, lightest, heaviest)
        if amounts is None:
            return False
        if amounts.size == 0:
            if margin > 0.0:
                return True
            continue
        # Assign the nodes of every weight accordingly.
        for number, row in enumerate(amounts):
            labels[core[kind == number]] = np.repeat(np.arange(n_clusters), row)
        if limits.allow(np.bincount(labels, weights, n_clusters)):
            return labels
    return False


def _amounts(
    kinds: np.ndarray, count: np.ndarray, lightest: np.ndarray, heaviest: np.ndarray
) -> np.ndarray | None:
    """Return the number of nodes of each weight in each cluster, none of which is empty.

    The result is empty if the problem is infeasible, and None if it was not decided. Weights are
    fractions of the average, because the solver's tolerance is absolute.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp  # slow to import

    n_clusters = lightest.size
    size = kinds.size * n_clusters
    of_kind = sp.kron(sp.eye_array(kinds.size), np.ones((1, n_clusters)))
    loads = sp.kron(kinds[None, :], sp.eye_array(n_clusters))
    sizes = sp.kron(np.ones((1, kinds.size)), sp.eye_array(n_clusters))
    solution = milp(
        np.zeros(size),
        integrality=np.ones(size),
        bounds=Bounds(0, np.repeat(count, n_clusters)),
        constraints=[
            LinearConstraint(of_kind.tocsr(), count, count),
            LinearConstraint(loads.tocsr(), lightest, heaviest),
            LinearConstraint(sizes.tocsr(), 1, np.inf),
        ],
        options={"time_limit": EXACT_SECONDS},
    )
    if solution.status == 2:
        return np.empty((0, n_clusters), dtype=np.int64)
    if solution.x is None:
        return None
    return np.asarray(np.round(solution.x), dtype=np.int64).reshape(kinds.size, n_clusters)

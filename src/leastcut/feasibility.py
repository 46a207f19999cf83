"""Whether any partition satisfies the constraints: colorings of links and packings of weights.

Whether cannot-links leave a partition into c clusters is a graph coloring problem, solved exactly:

1. A node of fewer than c cannot-links always finds a cluster after the others have theirs. Such
   nodes are peeled off, again and again; what is left is the c-core, mostly nothing.
2. Each component of the core is colored by itself, the node with the fewest colors left first
   (Brélaz 1979). If it has none, the last choice is taken back: the search goes through all
   colorings, up to the names of the colors, and ends with one or with the proof of none.
3. The nodes that were peeled off come back, last first.

Whether nodes of given weights fit into clusters of limited weight is bin packing, which no method
solves quickly in general. Nodes of equal weight are distributed evenly, and others are put,
heaviest first, each into the lightest cluster; if that fails, few enough are left to an exact
solver. What is called impossible has been proven to be.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from leastcut.constraints import MOST_NAMED, Balance, CannotLinks, Constraints, Limits

EXACT_CHOICES = 20_000  # kinds of nodes times clusters up to which an exact solver is asked
# Its time limit, and the fraction of the average that limits must leave: it rounds by a tenth.
EXACT_SECONDS, EXACT_SLACK = 2.0, 1e-5
MOST_STEPS = 200_000  # choices of a color until the search is given up: about a second
CLIQUE_STARTS = 50  # nodes from which cliques are grown, those with most pairs first


def colored(
    constraints: Constraints, n_nodes: int, n_clusters: int, starts: Sequence[np.ndarray] = ()
) -> Constraints:
    """Return the constraints with a coloring of the cannot-links, that of an allowed start if any.

    Raises ValueError if no partition into so many clusters is allowed, or none is found.
    """
    links = constraints.cannot_link
    if links is None or links.coloring is not None:
        return constraints
    if starts:
        return replace(constraints, cannot_link=links.colored_by(starts[0]))
    colors = color(links, n_clusters).colors
    if colors is None:
        check_n_clusters(constraints, n_nodes, n_clusters)
    assert colors is not None  # or that has raised
    return replace(constraints, cannot_link=replace(links, coloring=colors))


def check_n_clusters(
    constraints: Constraints, n_nodes: int, n_clusters: int, is_shown: bool = False
) -> None:
    """Raise if links leave too few groups for so many clusters, or separate too many nodes.

    ``is_shown`` says that a partition is known which respects the links.
    """
    groups = constraints.groups(n_nodes)
    n_groups = int(groups.max()) + 1
    if n_clusters > n_groups:
        raise ValueError(
            f"n_clusters={n_clusters}, but the must_link pairs leave {n_groups} groups; "
            f"ask for at most {n_groups} clusters, or leave pairs out."
        )
    links = constraints.cannot_link
    if links is None or is_shown:
        return
    found = color(links.contracted(groups, n_groups), n_clusters)
    if found.colors is not None:
        return
    if found.clique:

        def pair(i: int, j: int) -> str:
            of_groups = groups[links.pairs]
            places = ((of_groups == (i, j)) | (of_groups == (j, i))).all(axis=1)
            first, second = links.pairs[int(np.argmax(places))].tolist()
            return f"({first}, {second})"

        first = [pair(i, j) for k, i in enumerate(found.clique) for j in found.clique[:k]]
        more = f" and {len(first) - MOST_NAMED} more" if len(first) > MOST_NAMED else ""
        raise ValueError(
            f"n_clusters={n_clusters}, but the cannot_link pairs {', '.join(first[:MOST_NAMED])}"
            f"{more} separate {len(found.clique)} nodes from each other; ask for at least "
            f"{len(found.clique)} clusters ({found.enough} are enough for all pairs), or leave "
            "pairs out."
        )
    if found.is_decided:
        raise ValueError(
            f"n_clusters={n_clusters}, but no {n_clusters} clusters separate all cannot_link "
            f"pairs; ask for more ({found.enough} are enough), or leave pairs out."
        )
    raise ValueError(
        f"Whether n_clusters={n_clusters} clusters can separate all cannot_link pairs could not be "
        f"decided in {MOST_STEPS:,} steps; ask for more clusters ({found.enough} are enough), "
        "leave pairs out, or pass as init a partition that separates them."
    )


@dataclass(frozen=True, eq=False)
class Coloring:
    """The result of a search for a coloring."""

    colors: np.ndarray | None  # -1 for nodes of no pair; None if none was found
    is_decided: bool  # whether None means that there is none
    clique: list[int]  # nodes of which every two are a pair, more than colors; or empty
    enough: int  # a number of colors that is enough


def color(links: CannotLinks, n_colors: int, most_steps: int | None = None) -> Coloring:
    """Color nodes so that no pair has one color, or find out that ``n_colors`` are too few.

    The search is given up after ``most_steps`` choices of a color, by default ``MOST_STEPS``.
    """
    paired = links.nodes
    if paired.size < links.n_nodes:
        # Only the nodes of pairs, which may be few of many.
        few = links.restricted(paired)
        if few is None:
            return Coloring(np.full(links.n_nodes, -1, dtype=np.int32), True, [], n_colors)
        found = color(few, n_colors, most_steps)
        if found.colors is None:
            return replace(found, clique=paired[found.clique].tolist())
        colors_of_all = np.full(links.n_nodes, -1, dtype=np.int32)
        colors_of_all[paired] = found.colors
        return replace(found, colors=colors_of_all)
    near = [links.partners(i).tolist() for i in range(links.n_nodes)]
    colors = [-1] * links.n_nodes
    # 1. Peel off what always finds a color.
    peeled = _peeled(near, n_colors)
    core = [i for i in range(links.n_nodes) if not peeled[1][i]]
    # 2. Color the components of what is left.
    steps = MOST_STEPS if most_steps is None else most_steps
    for nodes in _components(links, core):
        taken = _search(near, nodes, colors, n_colors, steps)
        if taken is None or taken == 0:
            clique = _large_clique(near, nodes, n_colors)
            return Coloring(None, taken is not None or bool(clique), clique, _greedy_number(near))
        steps = max(1, steps - taken)
    # 3. Bring the others back. Each takes the first color that is left.
    for i in reversed(peeled[0]):
        used = {colors[j] for j in near[i]}
        colors[i] = next(k for k in range(n_colors) if k not in used)
    return Coloring(np.array(colors, dtype=np.int32), True, [], n_colors)


def _peeled(near: list[list[int]], n_colors: int) -> tuple[list[int], list[bool]]:
    """Return nodes in an order in which each has fewer than ``n_colors`` pairs with later ones.

    And for every node whether it is among them.
    """
    degree = [len(row) for row in near]
    gone = [count < n_colors for count in degree]
    order = [i for i, is_gone in enumerate(gone) if is_gone]
    for i in order:  # it grows as it is read
        for j in near[i]:
            degree[j] -= 1
            if not gone[j] and degree[j] < n_colors:
                gone[j] = True
                order.append(j)
    return order, gone


def _components(links: CannotLinks, nodes: list[int]) -> list[list[int]]:
    """Return the components of the pairs between some nodes."""
    if not nodes:
        return []
    component = sp.csgraph.connected_components(links.matrix[nodes][:, nodes], directed=False)[1]
    found: dict[int, list[int]] = {}
    for i, number in zip(nodes, component.tolist(), strict=True):
        found.setdefault(number, []).append(i)
    return list(found.values())


def _search(
    near: list[list[int]], nodes: list[int], colors: list[int], n_colors: int, most_steps: int
) -> int | None:
    """Color connected nodes, in place; return the steps taken, 0 where there is no coloring.

    None where ``most_steps`` were not enough to tell.
    """
    inside = set(nodes)
    near = [[j for j in row if j in inside] if i in inside else [] for i, row in enumerate(near)]
    # How many neighbors of a node have a color, and how many colors they have.
    count = {i: [0] * n_colors for i in nodes}
    met = dict.fromkeys(nodes, 0)
    heap = [(0, -len(near[i]), i) for i in nodes]
    heapq.heapify(heap)

    def push(i: int) -> None:
        heapq.heappush(heap, (-met[i], -len(near[i]), i))

    def change(i: int, k: int, by: int) -> None:
        """Give a node a color (``by`` is 1), or take it back (-1)."""
        colors[i] = k if by > 0 else -1
        for j in near[i]:
            count[j][k] += by
            if count[j][k] == max(by, 0):  # the first neighbor of this color, or no longer any
                met[j] += by
                if colors[j] < 0:
                    push(j)

    # The path of choices: a node, the color it has, and how many colors were in use before it.
    path: list[tuple[int, int]] = []
    steps, used, trial, i = 0, 0, 0, -1
    while len(path) < len(nodes):
        # 1. Take the node whose neighbors have most colors; entries of the heap may be stale.
        if i < 0:
            while True:
                key, _, i = heapq.heappop(heap)
                if colors[i] < 0 and -key == met[i]:
                    break
            trial = 0
        # 2. Give it the next color it can have. All that were never used are alike.
        k = next((k for k in range(trial, min(used + 1, n_colors)) if count[i][k] == 0), -1)
        steps += 1
        if steps > most_steps:
            return None
        if k >= 0:
            path.append((i, used))
            change(i, k, 1)
            used, i = max(used, k + 1), -1
            continue
        # 3. Where there is none, go back to the choice before and take the next color there.
        push(i)
        if not path:
            return 0
        i, used = path.pop()
        trial = colors[i] + 1
        change(i, colors[i], -1)
        push(i)
    return steps


def _large_clique(near: list[list[int]], nodes: list[int], n_colors: int) -> list[int]:
    """Return more than ``n_colors`` nodes of which every two are a pair, if any are found."""
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
    """Return a number of colors that is enough: that of one greedy coloring, hubs first."""
    colors = [-1] * len(near)
    for i in sorted(range(len(near)), key=lambda i: -len(near[i])):
        used = {colors[j] for j in near[i]}
        colors[i] = next(k for k in range(len(near)) if k not in used)
    return max(colors) + 1


# -- limits


def limits_of(balance: Balance, weights: np.ndarray, n_clusters: int) -> Limits:
    """Return the limits that a balance means, with a packing that satisfies them.

    A ValueError says so if there is none, or none is found.
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
            f"Clusters may weigh {limits.heaviest:g} at most, and node {heaviest} alone weighs "
            f"{weights[heaviest]:g}. Pass balance={remedy}, which is enough, or ask for fewer "
            "clusters."
        )
    words = (
        f"weigh between {limits.lightest:g} and {limits.heaviest:g}"
        if below is not None
        else f"weigh at most {limits.heaviest:g}"
    )
    remedy = f"Pass balance={remedy}, which is enough, or ask for another number of clusters."
    if is_even:
        raise ValueError(
            f"{weights.size} nodes of weight {weights[0]:g} cannot be cut into {n_clusters} "
            f"clusters that {words}. {remedy}"
        )
    found = _solved(weights, n_clusters, limits)
    if isinstance(found, np.ndarray):
        return limits.with_packing(found)
    known = "There are no" if found else "No"
    raise ValueError(
        f"{known} {n_clusters} clusters that {words}{'' if found else ' were found'}, "
        f"whatever they cut. {remedy}"
    )


def _enough(balance: Balance, loads: np.ndarray) -> str:
    """Return a ``balance`` as text, of few digits, that clusters of such weights keep to."""
    below, above = balance
    average = float(loads.sum()) / loads.size
    upper = _rounded_up(max(float(loads.max()) / average - 1.0, above))
    if below is None:
        return upper
    return f"({_rounded_up(max(1.0 - float(loads.min()) / average, below))}, {upper})"


def _rounded_up(fraction: float) -> str:
    # Up to a tenth of what a limit may be passed by, which rounding must not turn into a digit.
    return f"{math.ceil(fraction * 1e4 - 1e-6) / 1e4:.4f}".rstrip("0").rstrip(".")


def _packed(weights: np.ndarray, n_clusters: int) -> np.ndarray:
    """Put every node, heaviest first, into the lightest cluster, the first of equal ones.

    Nodes that weigh nothing are dealt out to the clusters in turn, those without a node first.
    """
    n = weights.size
    labels = np.empty(n, dtype=np.int32)
    if (weights == weights[0]).all():
        # In stretches of consecutive nodes, which are often near each other.
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
    """Return a packing by an exact solver, True where it proves there is none, else False.

    Nodes that weigh nothing are no cluster by themselves unless there are too few others.
    """
    core, n_core = np.flatnonzero(weights), int(np.count_nonzero(weights))
    if n_core < n_clusters:
        return True  # each is a cluster, as in the packing that does not keep to the limits
    average = float(weights.sum()) / n_clusters
    kinds, kind, count = np.unique(weights[core], return_inverse=True, return_counts=True)
    spare = min(limits.heaviest - average, average - limits.lightest) / average
    # Sums of whole numbers are further from a limit than it rounds, if they are not beyond it.
    if kinds.size * n_clusters > EXACT_CHOICES or (limits.slack > 0.0 and spare < EXACT_SLACK):
        return False
    labels = np.empty(weights.size, dtype=np.int32)
    labels[weights == 0.0] = 0
    # What the solver calls infeasible is so up to its tolerances, and coefficients below 1e-9 are 0
    # to it: it is proven where it is infeasible within limits that are wider by more than that.
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
        # Deal the nodes of every weight out as it says.
        for number, row in enumerate(amounts):
            labels[core[kind == number]] = np.repeat(np.arange(n_clusters), row)
        if limits.allow(np.bincount(labels, weights, n_clusters)):
            return labels
    return False


def _amounts(
    kinds: np.ndarray, count: np.ndarray, lightest: np.ndarray, heaviest: np.ndarray
) -> np.ndarray | None:
    """Return how many nodes of every weight each cluster has, none being empty.

    The result is empty if that is infeasible, and None if it is not decided. Weights are fractions
    of the average, as the solver's own tolerance is absolute.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp  # slow to import

    n_clusters = lightest.size
    size = kinds.size * n_clusters
    of_kind = sp.kron(sp.eye_array(kinds.size), np.ones((1, n_clusters)))
    loads = sp.kron(kinds[None, :], sp.eye_array(n_clusters))
    sizes = sp.kron(np.ones((1, kinds.size)), sp.eye_array(n_clusters))
    answer = milp(
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
    if answer.status == 2:
        return np.empty((0, n_clusters), dtype=np.int64)
    if answer.x is None:
        return None
    return np.asarray(np.round(answer.x), dtype=np.int64).reshape(kinds.size, n_clusters)

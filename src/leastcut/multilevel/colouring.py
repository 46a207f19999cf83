"""Whether nodes that must be apart fit into so many clusters: the colouring of a graph, exactly.

1. A node that is apart from fewer than c others always finds a cluster, after all the others have
   theirs. Such nodes are peeled off, again and again; what is left is the c-core, mostly nothing.
2. Each component of the core is coloured by itself, the node with the fewest colours left first
   (Brélaz 1979). Where it has none, the last choice is taken back: the search goes through all
   colourings, up to the names of the colours, and ends with one or with the proof of none.
3. The nodes that were peeled off come back, last first.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from leastcut.apart import Apart

MOST_STEPS = 200_000
"""Choices of a colour after which the search is given up: a second or so. Problems that are not
made to be hard take about as many as they have nodes."""

CLIQUE_STARTS = 50
"""Nodes from which cliques are grown, those with most pairs first, to explain that there is no
colouring."""


@dataclass(frozen=True, eq=False)
class Colouring:
    """What the search for a colouring has found.

    Attributes
    ----------
    colours : ndarray of shape (n,), int32, or None
        The colours, -1 for nodes of no pair; None where there are none, or none was found.
    is_decided : bool
        Whether None means that there is none.
    clique : list of int
        Nodes that are all apart from each other, more than there are colours; empty if none is
        known.
    enough : int
        A number of colours that is enough.
    """

    colours: np.ndarray | None
    is_decided: bool
    clique: list[int]
    enough: int


def colour(apart: Apart, n_colours: int, most_steps: int | None = None) -> Colouring:
    """Colour nodes so that no pair has one colour, or find out that ``n_colours`` are too few.

    Parameters
    ----------
    apart : Apart
    n_colours : int
    most_steps : int, optional
        Choices of a colour after which the search is given up, by default ``MOST_STEPS``.

    Returns
    -------
    Colouring
    """
    linked = apart.linked
    if linked.size < apart.n_nodes:
        # Of the nodes of pairs alone, which may be few of many.
        found = colour(apart.restricted(linked), n_colours, most_steps)
        if found.colours is None:
            return replace(found, clique=linked[found.clique].tolist())
        everywhere = np.full(apart.n_nodes, -1, dtype=np.int32)
        everywhere[linked] = found.colours
        return replace(found, colours=everywhere)
    near = [apart.of_node(i).tolist() for i in range(apart.n_nodes)]
    colours = [-1] * apart.n_nodes
    # 1. Peel off what always finds a colour.
    peeled = _peeled(near, n_colours)
    core = [i for i in range(apart.n_nodes) if not peeled[1][i]]
    # 2. Colour the components of what is left.
    steps = MOST_STEPS if most_steps is None else most_steps
    for nodes in _components(apart, core):
        taken = _search(near, nodes, colours, n_colours, steps)
        if taken is None or taken == 0:
            clique = _large_clique(near, nodes, n_colours)
            return Colouring(None, taken is not None or bool(clique), clique, _greedy_number(near))
        steps = max(1, steps - taken)
    # 3. Bring the others back. Each takes the first colour that is left.
    for i in reversed(peeled[0]):
        used = {colours[j] for j in near[i]}
        colours[i] = next(k for k in range(n_colours) if k not in used)
    return Colouring(np.array(colours, dtype=np.int32), True, [], n_colours)


def _peeled(near: list[list[int]], n_colours: int) -> tuple[list[int], list[bool]]:
    """Return nodes in an order in which each has fewer than ``n_colours`` pairs with later ones.

    And for every node whether it is among them.
    """
    degree = [len(row) for row in near]
    gone = [count < n_colours for count in degree]
    order = [i for i, is_gone in enumerate(gone) if is_gone]
    for i in order:  # it grows as it is read
        for j in near[i]:
            degree[j] -= 1
            if not gone[j] and degree[j] < n_colours:
                gone[j] = True
                order.append(j)
    return order, gone


def _components(apart: Apart, nodes: list[int]) -> list[list[int]]:
    """Return the components of the pairs between some nodes."""
    if not nodes:
        return []
    n, kept = apart.n_nodes, np.zeros(apart.n_nodes, dtype=bool)
    kept[nodes] = True
    pairs = apart.pairs[kept[apart.pairs].all(axis=1)]
    matrix = sp.coo_array((np.ones(len(pairs)), tuple(pairs.T)), shape=(n, n))
    component = sp.csgraph.connected_components(matrix.tocsr(), directed=False)[1]
    found: dict[int, list[int]] = {}
    for i in nodes:
        found.setdefault(int(component[i]), []).append(i)
    return list(found.values())


def _search(
    near: list[list[int]], nodes: list[int], colours: list[int], n_colours: int, most_steps: int
) -> int | None:
    """Colour connected nodes, in place; return the steps taken, 0 where there is no colouring.

    None where ``most_steps`` were not enough to tell.
    """
    inside = set(nodes)
    near = [[j for j in row if j in inside] if i in inside else [] for i, row in enumerate(near)]
    # How many neighbours of a node have a colour, and how many colours they have.
    count = {i: [0] * n_colours for i in nodes}
    met = dict.fromkeys(nodes, 0)
    heap = [(0, -len(near[i]), i) for i in nodes]
    heapq.heapify(heap)

    def put(i: int, k: int) -> None:
        colours[i] = k
        for j in near[i]:
            count[j][k] += 1
            if count[j][k] == 1:
                met[j] += 1
                if colours[j] < 0:
                    heapq.heappush(heap, (-met[j], -len(near[j]), j))

    def take_back(i: int) -> None:
        k, colours[i] = colours[i], -1
        for j in near[i]:
            count[j][k] -= 1
            if count[j][k] == 0:
                met[j] -= 1
                if colours[j] < 0:
                    heapq.heappush(heap, (-met[j], -len(near[j]), j))
        heapq.heappush(heap, (-met[i], -len(near[i]), i))

    # The path of choices: a node, the colour it has, and how many colours were in use before it.
    path: list[tuple[int, int]] = []
    steps, used, trial, i = 0, 0, 0, -1
    while len(path) < len(nodes):
        # 1. Take the node whose neighbours have most colours; entries of the heap may be stale.
        if i < 0:
            while True:
                key, _, i = heapq.heappop(heap)
                if colours[i] < 0 and -key == met[i]:
                    break
            trial = 0
        # 2. Give it the next colour it can have. All that were never used are alike.
        k = next((k for k in range(trial, min(used + 1, n_colours)) if count[i][k] == 0), -1)
        steps += 1
        if steps > most_steps:
            return None
        if k >= 0:
            path.append((i, used))
            put(i, k)
            used, i = max(used, k + 1), -1
            continue
        # 3. Where there is none, go back to the choice before and take the next colour there.
        heapq.heappush(heap, (-met[i], -len(near[i]), i))
        if not path:
            return 0
        i, used = path.pop()
        trial = colours[i] + 1
        take_back(i)
    return steps


def _large_clique(near: list[list[int]], nodes: list[int], n_colours: int) -> list[int]:
    """Return more than ``n_colours`` nodes that are all apart from each other, if any are found."""
    by_degree = sorted(nodes, key=lambda i: (-len(near[i]), i))
    for start in by_degree[:CLIQUE_STARTS]:
        clique, left = [start], set(near[start])
        while left:
            i = max(left, key=lambda j: (len(left.intersection(near[j])), -j))
            clique.append(i)
            left.intersection_update(near[i])
            if len(clique) > n_colours:
                return sorted(clique)
    return []


def _greedy_number(near: list[list[int]]) -> int:
    """Return a number of colours that is enough: that of one greedy colouring, hubs first."""
    colours = [-1] * len(near)
    for i in sorted(range(len(near)), key=lambda i: -len(near[i])):
        used = {colours[j] for j in near[i]}
        colours[i] = next(k for k in range(len(near)) if k not in used)
    return max(colours) + 1

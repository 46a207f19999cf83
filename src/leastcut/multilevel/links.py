"""Links: pairs of nodes that must be together, and pairs that must be apart.

What must be together is contracted, which is exact: a group of nodes is one node that weighs as
much, and edges inside it are never cut. What must be apart is carried beside the graph
(:class:`leastcut.apart.Apart`). All contradictions are found before any work is done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from leastcut.apart import Apart
from leastcut.graph import joined_pairs
from leastcut.multilevel.colouring import MOST_STEPS, colour
from leastcut.multilevel.levels import contracted_by_labels
from leastcut.problem import Problem
from leastcut.results import Partition
from leastcut.validation import as_plain, number_by_appearance

MOST_NAMED = 6
"""Nodes of a chain, or of a clique, that an error lists."""

ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
"""What the sums of a contraction are trusted to be right to, for every stored edge and node."""


@dataclass(frozen=True, eq=False)
class Links:
    """Links between nodes that do not contradict each other.

    Attributes
    ----------
    groups : ndarray of shape (n,)
        The group of every node, by first appearance: nodes of a group must be together.
    must, cannot : ndarray of shape (m, 2)
        The pairs of nodes as they were given.
    """

    groups: np.ndarray
    must: np.ndarray
    cannot: np.ndarray

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.groups.max()) + 1

    @property
    def apart(self) -> np.ndarray | None:
        """The pairs of groups that must be apart, None if there are none."""
        return self.groups[self.cannot] if len(self.cannot) else None

    def check_n_clusters(self, n_clusters: int, is_shown: bool = False) -> None:
        """Raise if there are too few groups for so many clusters, or too many pairs apart.

        ``is_shown`` says that a partition is there which keeps all pairs apart.
        """
        if n_clusters > self.n_groups:
            raise ValueError(
                f"n_clusters={n_clusters}, but the must_link pairs leave {self.n_groups} groups; "
                f"ask for at most {self.n_groups} clusters, or leave pairs out."
            )
        if self.apart is None or is_shown:
            return
        found = colour(Apart.of(self.apart, self.n_groups), n_clusters)
        if found.colours is not None:
            return
        if found.clique:
            first = [self._pair(i, j) for k, i in enumerate(found.clique) for j in found.clique[:k]]
            told = ", ".join(f"({i}, {j})" for i, j in first[:MOST_NAMED])
            more = f" and {len(first) - MOST_NAMED} more" if len(first) > MOST_NAMED else ""
            raise ValueError(
                f"n_clusters={n_clusters}, but the cannot_link pairs {told}{more} keep "
                f"{len(found.clique)} nodes all apart from each other; ask for at least "
                f"{len(found.clique)} clusters ({found.enough} are enough for all pairs), or leave "
                "pairs out."
            )
        if found.is_decided:
            raise ValueError(
                f"n_clusters={n_clusters}, but no {n_clusters} clusters keep all cannot_link pairs "
                f"apart; ask for more ({found.enough} are enough), or leave pairs out."
            )
        raise ValueError(
            f"Whether n_clusters={n_clusters} clusters can keep all cannot_link pairs apart could "
            f"not be decided in {MOST_STEPS:,} steps; ask for more clusters ({found.enough} are "
            "enough), leave pairs out, or pass as init a partition that keeps them apart."
        )

    def check_init(self, labels: np.ndarray, name: str) -> None:
        """Raise if a partition violates a link, naming the pair."""
        for pairs, kind, is_wrong in (
            (self.must, "must_link", np.not_equal),
            (self.cannot, "cannot_link", np.equal),
        ):
            wrong = np.flatnonzero(is_wrong(*labels[pairs].T))
            if wrong.size:
                i, j = pairs[wrong[0]].tolist()
                has = "apart" if kind == "must_link" else "together"
                raise ValueError(
                    f"{name} has nodes {i} and {j} {has}, which {kind} forbids"
                    f"{_and_more(wrong.size)}; change their labels, or leave the pair out."
                )

    def _pair(self, i: int, j: int) -> tuple[int, int]:
        """Return a pair of nodes that keeps two groups apart."""
        groups = self.groups[self.cannot]
        places = ((groups == (i, j)) | (groups == (j, i))).all(axis=1)
        first, second = self.cannot[int(np.argmax(places))].tolist()
        return first, second


def check_links(must_link: Any, cannot_link: Any, n_nodes: int) -> Links | None:
    """Return links that do not contradict each other, or None where there are none.

    Parameters
    ----------
    must_link, cannot_link : array-like of shape (m, 2) or None
    n_nodes : int

    Returns
    -------
    Links or None
    """
    must, cannot = (
        _pairs(name, given, n_nodes)
        for name, given in (("must_link", must_link), ("cannot_link", cannot_link))
    )
    if len(must) == 0 and len(cannot) == 0:
        return None
    itself = np.flatnonzero(cannot[:, 0] == cannot[:, 1])
    if itself.size:
        i = int(cannot[itself[0], 0])
        raise ValueError(
            f"cannot_link[{itself[0]}] is ({i}, {i}), and no node can be apart from itself"
            f"{_and_more(itself.size)}; leave it out."
        )
    # Whatever is joined by a chain of pairs is one group.
    joined = sp.coo_array((np.ones(len(must)), tuple(must.T)), shape=(n_nodes, n_nodes)).tocsr()
    groups = number_by_appearance(sp.csgraph.connected_components(joined, directed=False)[1])
    both = np.flatnonzero(groups[cannot[:, 0]] == groups[cannot[:, 1]])
    if both.size:
        i, j = cannot[both[0]].tolist()
        raise ValueError(
            f"cannot_link keeps nodes {i} and {j} apart, but must_link joins them: "
            f"{_chain(joined, i, j)}{_and_more(both.size)}. Leave one of these pairs out."
        )
    return Links(groups, must, cannot)


def _pairs(name: str, given: Any, n_nodes: int) -> np.ndarray:
    """Return pairs of node numbers as an array of shape (m, 2), checked."""
    if given is None:
        return np.empty((0, 2), dtype=np.int64)
    pairs = as_plain(name, given)
    if pairs.shape == (0,):  # an empty list, of whatever type
        return np.empty((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(
            f"{name} must hold pairs of node numbers, so it must have shape (m, 2), but its shape "
            f"is {pairs.shape}."
        )
    if pairs.dtype.kind not in "iu":
        raise TypeError(
            f"{name} must hold node numbers, which are integers, but its dtype is {pairs.dtype}; "
            "convert it first."
        )
    outside = np.flatnonzero(((pairs < 0) | (pairs >= n_nodes)).any(axis=1))
    if outside.size:
        i, j = pairs[outside[0]].tolist()
        raise ValueError(
            f"{name}[{outside[0]}] is ({i}, {j}), but nodes are numbered from 0 to {n_nodes - 1}"
            f"{_and_more(outside.size)}."
        )
    return pairs.astype(np.int64)


def _and_more(count: int) -> str:
    return f" (the first of {count} such pairs)" if count > 1 else ""


def _chain(joined: sp.csr_array, i: int, j: int) -> str:
    """Return in words how pairs lead from i to j."""
    _, before = sp.csgraph.breadth_first_order(joined, i, directed=False)
    chain = [j]
    while chain[-1] != i:
        chain.append(int(before[chain[-1]]))
    chain.reverse()
    told = [str(node) for node in chain]
    if len(told) > MOST_NAMED:
        told = [*told[: MOST_NAMED - 2], "...", *told[-2:]]
    return " - ".join(told)


@dataclass(frozen=True, eq=False)
class Contraction:
    """A problem whose groups of nodes are one node each, and the way back.

    Attributes
    ----------
    whole : Problem
        The problem as it was.
    problem : Problem
        The one of the groups.
    groups : ndarray of shape (n,)
        The group of every node, numbered by first appearance.
    """

    whole: Problem
    problem: Problem
    groups: np.ndarray

    @classmethod
    def of(cls, problem: Problem, groups: np.ndarray) -> Contraction:
        """Contract groups, none of which holds a pair that must be apart."""
        coarse = contracted_by_labels(problem, groups).symmetrised()
        if problem.graph.idle is not None:
            rows, columns = (groups[ends] for ends in problem.graph.idle.tocoo().coords)
            idle = joined_pairs(rows, columns, coarse.n_nodes)
            coarse = replace(coarse, graph=replace(coarse.graph, idle=idle))
        return cls(problem, coarse, groups)

    def carry(self, labels: np.ndarray) -> np.ndarray:
        """Return the labels of the groups, given those of nodes, equal within every group."""
        coarse = np.empty(self.problem.n_nodes, dtype=labels.dtype)
        coarse[self.groups] = labels
        return coarse

    def expanded(self, found: Partition) -> Partition:
        """Return the partition of the nodes, with its own value."""
        labels = found.labels[self.groups]
        value = self.whole.value(labels)
        bound = found.lower_bound
        if bound == found.cut_value:
            # A value that is proven is so whatever the rounding of the contraction.
            bound = value
        elif bound is not None:
            bound *= 1.0 - ROUNDING * (self.whole.graph.n_stored + self.whole.n_nodes)
        return replace(found, labels=labels, cut_value=value, lower_bound=bound)


def with_apart(
    problem: Problem, pairs: np.ndarray, n_clusters: int, given: Sequence[np.ndarray] = ()
) -> Problem:
    """Return the problem with pairs of nodes that are to be apart, and a colouring of them.

    ``pairs`` are of different nodes, and apart in the partitions given. Without any of these it
    raises where ``n_clusters`` clusters cannot keep them apart.
    """
    apart = Apart.of(pairs, problem.n_nodes)
    if given:
        return replace(problem, apart=apart.coloured_by(given[0]))
    colours = colour(apart, n_clusters).colours
    if colours is None:
        every = np.arange(problem.n_nodes)
        Links(every, np.empty((0, 2), dtype=np.int64), pairs).check_n_clusters(n_clusters)
    assert colours is not None  # or that has raised
    return replace(problem, apart=apart.with_colouring(colours))


def sides(problem: Problem) -> np.ndarray:
    """Return groups of nodes that are together in every partition into two clusters.

    What must be apart from the same node is together then: of a component of pairs all nodes of
    one colour.
    """
    apart = problem.apart
    assert apart is not None
    assert apart.colouring is not None
    n = problem.n_nodes
    matrix = sp.csr_array((np.ones(apart.indices.size), apart.indices, apart.indptr), shape=(n, n))
    component = sp.csgraph.connected_components(matrix, directed=False)[1]
    return number_by_appearance(2 * component.astype(np.int64) + (apart.colouring == 1))

"""Pairs of nodes that no cluster may hold both of: a second graph beside the one that is cut.

A problem carries it to every level of a hierarchy. Contracting a group of nodes that holds no such
pair keeps its meaning: the group is apart from all that one of its nodes is apart from.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from leastcut.short_reprs import fields_in_one_line


@dataclass(frozen=True, eq=False)
class Apart:
    """The pairs of nodes that must be in different clusters.

    Attributes
    ----------
    indptr, indices : ndarray, int32
        Node i is apart from ``indices[indptr[i]:indptr[i + 1]]``; every pair stands at both ends.
    colouring : ndarray of shape (n,), int32, or None
        Clusters in which no pair is violated, -1 for nodes of no pair; None where none is known.
    """

    indptr: np.ndarray
    indices: np.ndarray
    colouring: np.ndarray | None = None

    __repr__ = fields_in_one_line

    @classmethod
    def of(cls, pairs: np.ndarray, n_nodes: int) -> Apart:
        """Return the pairs, of shape (m, 2) and each of two different nodes, as rows of nodes."""
        low, high = pairs.min(axis=1), pairs.max(axis=1)
        once = np.unique(low.astype(np.int64) * n_nodes + high)
        low, high = np.divmod(once, n_nodes)
        rows, columns = np.concatenate([low, high]), np.concatenate([high, low])
        order = np.lexsort((columns, rows))
        count = np.bincount(rows, minlength=n_nodes)
        indptr = np.concatenate(([0], np.cumsum(count))).astype(np.int32)
        return cls(indptr, columns[order].astype(np.int32))

    @property
    def n_nodes(self) -> int:
        """Number of nodes n, of pairs or not."""
        return int(self.indptr.shape[0]) - 1

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """The arrays that compiled kernels read."""
        return self.indptr, self.indices

    @cached_property
    def pairs(self) -> np.ndarray:
        """Every pair once, the smaller node first, in order."""
        rows = np.repeat(np.arange(self.n_nodes, dtype=np.int32), np.diff(self.indptr))
        once = rows < self.indices
        return np.stack([rows[once], self.indices[once]], axis=1)

    @cached_property
    def linked(self) -> np.ndarray:
        """The nodes that are in a pair."""
        return np.flatnonzero(np.diff(self.indptr)).astype(np.int32)

    def of_node(self, i: int | np.integer[Any]) -> np.ndarray:
        """Return the nodes that node i is apart from."""
        return self.indices[self.indptr[i] : self.indptr[i + 1]]

    def violated(self, labels: np.ndarray) -> np.ndarray:
        """Return the pairs that share a cluster."""
        first, second = self.pairs.T
        return np.asarray(self.pairs[labels[first] == labels[second]])

    def holds(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return for each i < j, given as two arrays, whether it is a pair."""
        n = self.n_nodes
        listed = self.pairs[:, 0].astype(np.int64) * n + self.pairs[:, 1]
        asked = first.astype(np.int64) * n + second
        place = np.minimum(np.searchsorted(listed, asked), max(listed.size - 1, 0))
        if listed.size == 0:
            return np.zeros(asked.shape, dtype=bool)
        return np.asarray(listed[place] == asked)

    def with_colouring(self, colouring: np.ndarray) -> Apart:
        """Return the pairs with clusters that are known to violate none of them."""
        return replace(self, colouring=colouring)

    def coloured_by(self, labels: np.ndarray) -> Apart:
        """Return the pairs with the clusters of a partition that violates none of them."""
        colours = np.full(self.n_nodes, -1, dtype=np.int32)
        colours[self.linked] = labels[self.linked]
        return self.with_colouring(colours)

    def restricted(self, nodes: np.ndarray) -> Apart:
        """Return the pairs between some of the nodes, in the order given."""
        place = np.full(self.n_nodes, -1)
        place[nodes] = np.arange(nodes.size)
        moved = place[self.pairs]
        found = Apart.of(moved[(moved >= 0).all(axis=1)], nodes.size)
        return found if self.colouring is None else found.with_colouring(self.colouring[nodes])

    def contracted(self, parent: np.ndarray, size: int) -> Apart:
        """Return the pairs between groups of nodes, none of which holds a pair.

        The colouring goes with them unless nodes of different colours are in a group.
        """
        found = Apart.of(parent[self.pairs], size)
        if self.colouring is None:
            return found
        coarse, own = np.full(size, -1, dtype=np.int32), self.colouring[self.linked]
        coarse[parent[self.linked]] = own
        kept = np.array_equal(coarse[parent[self.linked]], own)
        return found.with_colouring(coarse) if kept else found

    def one_of_a_group(self, leader: np.ndarray) -> np.ndarray:
        """Return leaders of groups, changed so that no group holds two nodes of any pairs.

        Groups then have the very pairs that the nodes had, and what is a colouring stays one.
        """
        linked = self.linked
        # Leaders first, as what they lead stays with them; then in the order of the nodes.
        order = linked[np.argsort(leader[linked] != linked, kind="stable")]
        _, first = np.unique(leader[order], return_index=True)
        ejected = np.ones(order.size, dtype=bool)
        ejected[first] = False
        found = leader.copy()
        found[order[ejected]] = order[ejected]
        return found

    def torn(self, leader: np.ndarray) -> np.ndarray:
        """Return leaders of groups, changed so that no group holds a pair.

        Of a pair in one group the second leaves it, or the one that is not its leader. At least
        one node stays with every leader that was joined by one that it is not apart from.
        """
        broken = self.violated(leader)
        if broken.size == 0:
            return leader
        found = leader.copy()
        # Those with a leader first: the nodes that are left may all stay with it.
        leads = found[broken] == broken
        for i, j in broken[np.argsort(~leads.any(axis=1), kind="stable")].tolist():
            if found[i] == found[j]:
                leaving = i if found[j] == j else j
                found[leaving] = leaving
        return found

"""Decisions about pairs of nodes, together or apart, and what follows from them.

Nodes that are together are one group; what is said of a node is said of its group. Where c groups
are all apart from each other, every cluster holds one of them, so that a group which is apart from
all but one of them is together with that one (for c = 2: what is apart from the same is together).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from leastcut.constraints import CannotLinks
from leastcut.feasibility import color
from leastcut.validation import number_by_appearance

CLIQUE_STARTS = 64
"""Groups from which sets of groups that are all apart are grown, those with most pairs first."""

STEPS_PER_GROUP = 5
"""Steps of the search for clusters that keep pairs apart: it is asked for every case, and a step
takes as long as its group has pairs."""


@dataclass(frozen=True, eq=False)
class Decisions:
    """What is decided.

    Attributes
    ----------
    groups : ndarray of shape (n,)
        The group of every node, 0..k-1.
    apart : ndarray of shape (k, k), bool
        Which groups are apart; symmetric, and False on the diagonal.
    """

    groups: np.ndarray
    apart: np.ndarray

    @classmethod
    def of_pairs(cls, n_nodes: int, pairs: np.ndarray | None) -> Decisions:
        """Return that only these pairs of nodes, of shape (m, 2), are decided, to be apart."""
        nothing = cls(np.arange(n_nodes), np.zeros((n_nodes, n_nodes), dtype=bool))
        return nothing if pairs is None else nothing.parted(pairs)

    @property
    def n_groups(self) -> int:
        """Number of groups k."""
        return int(self.apart.shape[0])

    @property
    def pairs(self) -> np.ndarray:
        """The pairs of groups that are apart, of shape (m, 2)."""
        return np.column_stack(np.nonzero(np.triu(self.apart)))

    def parted(self, pairs: np.ndarray) -> Decisions:
        """Return the decisions with further pairs of groups apart."""
        apart = self.apart.copy()
        i, j = pairs.T
        apart[i, j] = apart[j, i] = True
        return Decisions(self.groups, apart)

    def joined(self, i: int, j: int) -> Decisions | None:
        """Return the decisions with two groups together; None if they are apart."""
        into = np.arange(self.n_groups)
        into[j] = i
        return self._merged(into)

    def together(self, pairs: np.ndarray) -> Decisions | None:
        """Return the decisions with further pairs of groups together; None if any is apart."""
        size = self.n_groups
        joined = sp.coo_array((np.ones(len(pairs)), tuple(pairs.T)), shape=(size, size))
        return self._merged(connected_components(joined, directed=False)[1])

    def deduced(self, n_clusters: int) -> Decisions | None:
        """Return the decisions with all that follows; None if no partition keeps to them."""
        found: Decisions | None = self
        while found is not None:
            if found.n_groups < n_clusters:
                return None
            into = found._forced(n_clusters)
            if into is None:
                return None
            if np.array_equal(into, np.arange(found.n_groups)):
                return found if found._fits(n_clusters) else None
            found = found._merged(into)
        return None

    def _fits(self, n_clusters: int) -> bool:
        """Return whether so many clusters may keep the pairs apart: False is certain."""
        if not self.apart.any():
            return True
        most = STEPS_PER_GROUP * self.n_groups
        found = color(CannotLinks.of(self.pairs, self.n_groups), n_clusters, most)
        return found.colors is not None or not found.is_decided

    def _merged(self, into: np.ndarray) -> Decisions | None:
        """Return the decisions after group i became part of into[i]; None if that is apart."""
        number = number_by_appearance(into)
        size = int(number.max()) + 1
        apart = np.zeros((size, size), dtype=bool)
        i, j = np.nonzero(self.apart)
        apart[number[i], number[j]] = True
        return None if apart.diagonal().any() else Decisions(number[self.groups], apart)

    def _forced(self, n_clusters: int) -> np.ndarray | None:
        """Return the group that each must be together with, or itself; None if there is none."""
        into = np.arange(self.n_groups)
        count = self.apart.sum(axis=1)
        for start in np.argsort(-count, kind="stable")[:CLIQUE_STARTS]:
            clique = self._clique(int(start), count)
            if len(clique) > n_clusters:
                return None
            if len(clique) < n_clusters:
                continue
            possible = ~self.apart[:, clique]
            n_possible = possible.sum(axis=1)
            if (n_possible == 0).any():
                return None
            forced = n_possible == 1
            into[forced] = np.asarray(clique)[np.argmax(possible[forced], axis=1)]
            if forced.sum() > n_clusters:  # the groups of the clique are always among them
                break
        return into

    def _clique(self, start: int, count: np.ndarray) -> list[int]:
        """Return groups that are all apart, those with most pairs taken first."""
        clique, open_to = [start], self.apart[start].copy()
        while open_to.any():
            best = int(np.argmax(np.where(open_to, count, -1)))
            clique.append(best)
            open_to &= self.apart[best]
        return clique

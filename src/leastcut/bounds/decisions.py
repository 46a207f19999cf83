"""Must-links and cannot-links between nodes, and their propagation.

Nodes joined by must-links form a group. If c groups are pairwise joined by cannot-links, each
cluster contains one, so a group with cannot-links to all but one of them must join that one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from leastcut.constraints import CannotLinks
from leastcut.feasibility import color
from leastcut.validation import number_by_appearance

CLIQUE_STARTS = 64  # groups from which cliques of cannot-links are grown, by decreasing degree
# Steps of the coloring search per group: every subproblem needs a coloring, and a step takes time
# proportional to the cannot-links of its group.
STEPS_PER_GROUP = 5


@dataclass(frozen=True, eq=False)
class Decisions:
    """The group of every node (n,), 0..k-1, and the symmetric matrix (k, k) of cannot-links."""

    groups: np.ndarray
    cannot_link: np.ndarray

    @classmethod
    def from_cannot_links(cls, n_nodes: int, pairs: np.ndarray | None) -> Decisions:
        """Return decisions with only these cannot-links, pairs of nodes of shape (m, 2)."""
        empty = cls(np.arange(n_nodes), np.zeros((n_nodes, n_nodes), dtype=bool))
        return empty if pairs is None else empty.with_cannot_links(pairs)

    @property
    def n_groups(self) -> int:
        """Number of groups k."""
        return int(self.cannot_link.shape[0])

    @property
    def pairs(self) -> np.ndarray:
        """The cannot-links as pairs of groups, of shape (m, 2)."""
        return np.column_stack(np.nonzero(np.triu(self.cannot_link)))

    def with_cannot_links(self, pairs: np.ndarray) -> Decisions:
        """Return the decisions with further cannot-links between pairs of groups."""
        cannot_link = self.cannot_link.copy()
        i, j = pairs.T
        cannot_link[i, j] = cannot_link[j, i] = True
        return Decisions(self.groups, cannot_link)

    def with_must_links(self, pairs: np.ndarray) -> Decisions | None:
        """Return the decisions with pairs of groups merged; None if a pair has a cannot-link."""
        size = self.n_groups
        links = sp.coo_array((np.ones(len(pairs)), tuple(pairs.T)), shape=(size, size))
        return self._contracted(connected_components(links, directed=False)[1])

    def propagated(self, n_clusters: int) -> Decisions | None:
        """Return the decisions with all implied links; None if no partition satisfies them."""
        result: Decisions | None = self
        while result is not None and result.n_groups >= n_clusters:
            target = result._forced_merges(n_clusters)
            if target is None:
                return None
            if np.array_equal(target, np.arange(result.n_groups)):
                return result if result._may_be_feasible(n_clusters) else None
            result = result._contracted(target)
        return None

    def _may_be_feasible(self, n_clusters: int) -> bool:
        """Return False only if ``n_clusters`` clusters cannot satisfy the cannot-links."""
        if not self.cannot_link.any():
            return True
        most = STEPS_PER_GROUP * self.n_groups
        coloring = color(CannotLinks.of(self.pairs, self.n_groups), n_clusters, most)
        return coloring.colors is not None or not coloring.is_decided

    def _contracted(self, target: np.ndarray) -> Decisions | None:
        """Return the decisions with group i merged into target[i]; None if it has a cannot-link."""
        number = number_by_appearance(target)
        size = int(number.max()) + 1
        cannot_link = np.zeros((size, size), dtype=bool)
        i, j = np.nonzero(self.cannot_link)
        cannot_link[number[i], number[j]] = True
        if cannot_link.diagonal().any():
            return None
        return Decisions(number[self.groups], cannot_link)

    def _forced_merges(self, n_clusters: int) -> np.ndarray | None:
        """Return for each group the group it must be merged with, or itself; None if infeasible."""
        target = np.arange(self.n_groups)
        count = self.cannot_link.sum(axis=1)
        for start in np.argsort(-count, kind="stable")[:CLIQUE_STARTS]:
            clique = self._clique(int(start), count)
            if len(clique) > n_clusters:
                return None
            if len(clique) < n_clusters:
                continue
            possible = ~self.cannot_link[:, clique]
            n_possible = possible.sum(axis=1)
            if (n_possible == 0).any():
                return None
            forced = n_possible == 1
            target[forced] = np.asarray(clique)[np.argmax(possible[forced], axis=1)]
            if forced.sum() > n_clusters:  # the groups of the clique are always forced
                break
        return target

    def _clique(self, start: int, count: np.ndarray) -> list[int]:
        """Return a clique of groups with cannot-links, grown greedily by degree."""
        clique, candidates = [start], self.cannot_link[start].copy()
        while candidates.any():
            best = int(np.argmax(np.where(candidates, count, -1)))
            clique.append(best)
            candidates &= self.cannot_link[best]
        return clique

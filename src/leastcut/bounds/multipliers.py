"""The multipliers y ≥ 0 of the relaxation: of Z_ij ≥ 0 and of star inequalities.

They make N = Σ_t y_t T_t. Nodes may become parts of one, and groups of nodes may be split: then the
same N, or what is left of it, is written with the inequalities of the new ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from leastcut.budget import Budget
from leastcut.kernels.star_inequalities import LEAVES, add_star_multipliers, find_star_inequalities

STARS_PER_CENTER = 20  # violated stars that one center may bring into a round
STARS_PER_NODE = 6  # violated stars that a round adds at most, in rows
WORK_AT_ONCE = 20_000_000  # pairs of leaves examined between two looks at the clock, at most
MOST_RATIO = 1e4  # of the weights of a star's nodes: beyond, its entries lose their digits


class Multipliers(NamedTuple):
    """Multipliers of pairs, which are in N as they stand, and those of star inequalities.

    ``pairs`` (n, n) is symmetric up to rounding, with a diagonal of 0. Star m has the center
    ``centers[m]``, ``leaves[m]``, which ascend, with −1 for none, and the multiplier ``stars[m]``.
    """

    pairs: np.ndarray
    centers: np.ndarray
    leaves: np.ndarray
    stars: np.ndarray

    def combined(self, root: np.ndarray) -> tuple[np.ndarray, float]:
        """Return N, and the sum of the absolute values of what it was added up from."""
        N = self.pairs.copy()
        size = float(add_star_multipliers(N, root, self.centers, self.leaves, self.stars))
        return N, size + float(np.linalg.norm(self.pairs))

    def exchanged(
        self, Z: np.ndarray, root: np.ndarray, tolerance: float, budget: Budget
    ) -> tuple[Multipliers, int]:
        """Drop stars without a multiplier, add violated ones, and return how many are new."""
        n, used = root.size, self.stars > 0.0
        # 1. The worst of every center, then the worst of all.
        violations = np.zeros((n, STARS_PER_CENTER))
        found = np.full((n, STARS_PER_CENTER, LEAVES), -1, dtype=np.int64)
        scratch = np.empty(n, dtype=np.int64), np.empty(n)
        rows = max(1, WORK_AT_ONCE // n**2)
        for start in range(0, n, rows):
            budget.require()
            end = min(start + rows, n)
            find_star_inequalities(
                Z, root, start, end, tolerance, MOST_RATIO, violations, found, *scratch
            )
        i, place = np.nonzero(violations)
        order = np.argsort(-violations[i, place], kind="stable")[: STARS_PER_NODE * n]
        new = np.column_stack([i[order], found[i[order], place[order]]])
        # 2. Those that are there already, or found twice, are left out.
        old = np.column_stack([self.centers[used], self.leaves[used]])
        _, first = np.unique(np.concatenate([old, new]), axis=0, return_index=True)
        new = new[np.sort(first[first >= len(old)]) - len(old)]
        stars = np.concatenate([self.stars[used], np.zeros(len(new))])
        return self._with_stars(np.concatenate([old, new]), stars), len(new)

    def split(self, old_root: np.ndarray, new_root: np.ndarray, old_of: np.ndarray) -> Multipliers:
        """Return the multipliers of parts of groups; ``old_of``, ascending, is a part's group.

        Parts of one group have none between them. A star of a group is the sum of those of its
        parts where it is the center, and their mean where it is a leaf.
        """
        ratio = new_root / old_root[old_of]
        pairs = self.pairs[np.ix_(old_of, old_of)] * ratio * ratio[:, None]
        pairs[old_of[:, None] == old_of] = 0.0
        first = np.searchsorted(old_of, np.arange(old_root.size))
        parts = np.bincount(old_of, minlength=old_root.size)
        columns, stars = np.column_stack([self.centers, self.leaves]), self.stars
        for a in range(columns.shape[1]):
            there = columns[:, a] >= 0
            counts = np.where(there, parts[columns[:, a]], 1)
            copied = np.repeat(np.arange(counts.size), counts)
            place = np.arange(copied.size) - np.repeat(np.cumsum(counts) - counts, counts)
            columns, stars, there = columns[copied], stars[copied], there[copied]
            columns[there, a] = first[columns[there, a]] + place[there]
            if a > 0:
                stars = stars * np.where(there, ratio[columns[:, a]] ** 2, 1.0)
        # Parts keep the order of their groups, so that leaves still ascend.
        return self._replace(pairs=pairs)._with_stars(columns, stars)

    def heaviest(self, most: int) -> Multipliers:
        """Keep so many stars, those with the largest multipliers: a split makes very many."""
        kept = np.sort(np.argsort(-self.stars, kind="stable")[:most])
        columns = np.column_stack([self.centers, self.leaves])
        return self._with_stars(columns[kept], self.stars[kept])

    def contracted(
        self, old_root: np.ndarray, new_root: np.ndarray, new_of: np.ndarray
    ) -> Multipliers:
        """Return the multipliers after nodes were merged; ``new_of`` is what a node is part of.

        With Q the indicator of what was merged, normalized as √b is, Z = Q Z' Qᵀ and an inequality
        on Z is one on Z'. Those on what has become a diagonal entry are left out.
        """
        Q = indicator_of(new_of, old_root, new_root)
        pairs = Q.T @ self.pairs @ Q
        np.fill_diagonal(pairs, 0.0)
        stars = self.stars * (old_root[self.centers] / new_root[new_of[self.centers]]) ** 2
        there = self.leaves >= 0
        centers = new_of[self.centers]
        # Places without a leaf get numbers of their own beyond all nodes, to be in order last.
        beyond = new_root.size + np.arange(LEAVES)
        leaves = np.sort(np.where(there, new_of[self.leaves], beyond), axis=1)
        kept = (leaves != centers[:, None]).all(axis=1) & (np.diff(leaves, axis=1) > 0).all(axis=1)
        leaves[leaves >= new_root.size] = -1
        columns = np.column_stack([centers, leaves])
        return self._replace(pairs=pairs)._with_stars(columns[kept], stars[kept])

    def renamed(self, name: np.ndarray) -> Multipliers:
        """Return the multipliers with node i called ``name[i]``, a permutation."""
        pairs = np.empty_like(self.pairs)
        pairs[np.ix_(name, name)] = self.pairs
        last = name.size
        leaves = np.sort(np.where(self.leaves >= 0, name[self.leaves], last), axis=1)
        leaves[leaves == last] = -1
        columns = np.column_stack([name[self.centers], leaves])
        return self._replace(pairs=pairs)._with_stars(columns, self.stars)

    def scaled(self, ratio: float) -> Multipliers:
        """Return the multipliers in other units."""
        return self._replace(pairs=self.pairs * ratio, stars=self.stars * ratio)

    def _with_stars(self, columns: np.ndarray, stars: np.ndarray) -> Multipliers:
        centers = np.ascontiguousarray(columns[:, 0])
        return Multipliers(self.pairs, centers, np.ascontiguousarray(columns[:, 1:]), stars)


def no_multipliers(size: int) -> Multipliers:
    """Return those of the plain relaxation: all pairs at 0, and no stars."""
    leaves = np.zeros((0, LEAVES), dtype=np.int64)
    return Multipliers(np.zeros((size, size)), np.zeros(0, dtype=np.int64), leaves, np.zeros(0))


def indicator_of(new_of: np.ndarray, old_root: np.ndarray, new_root: np.ndarray) -> np.ndarray:
    """Return Q with Q_iI = √(b_i / b_I) where i is part of I."""
    Q = np.zeros((old_root.size, new_root.size))
    Q[np.arange(old_root.size), new_of] = old_root / new_root[new_of]
    return Q

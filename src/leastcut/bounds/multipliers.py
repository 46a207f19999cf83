"""The multipliers y ≥ 0 of the relaxation: of Z_ij ≥ 0 and of star inequalities.

They define N = Σ_t y_t T_t. When nodes are merged, or groups of nodes are split, the multipliers
are translated to the new nodes or groups; N stays the same, up to dropped inequalities.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from leastcut.budget import Budget
from leastcut.kernels.star_inequalities import LEAVES, add_star_multipliers, find_star_inequalities

STARS_PER_CENTER = 20  # largest number of violated stars per center and round
STARS_PER_NODE = 6  # largest number of violated stars added per round, relative to the rows
WORK_PER_CHECK = 20_000_000  # pairs of leaves examined between checks of the clock, at most
MOST_RATIO = 1e4  # largest ratio of weights in a star; beyond, its entries lose accuracy


class Multipliers(NamedTuple):
    """Multipliers of pairs, which are entries of N, and of star inequalities.

    ``pairs`` (n, n) is symmetric up to rounding, with a zero diagonal. Star m has the center
    ``centers[m]``, the leaves ``leaves[m]`` in ascending order, followed by −1, and the multiplier
    ``stars[m]``.
    """

    pairs: np.ndarray
    centers: np.ndarray
    leaves: np.ndarray
    stars: np.ndarray

    def combined(self, root: np.ndarray) -> tuple[np.ndarray, float]:
        """Return N, and the sum of the absolute values of its terms."""
        N = self.pairs.copy()
        size = float(add_star_multipliers(N, root, self.centers, self.leaves, self.stars))
        return N, size + float(np.linalg.norm(self.pairs))

    def updated(
        self, Z: np.ndarray, root: np.ndarray, tolerance: float, budget: Budget
    ) -> tuple[Multipliers, int]:
        """Drop stars with zero multipliers, add violated ones, and return how many were added."""
        n, used = root.size, self.stars > 0.0
        # 1. The most violated stars of every center, then of all.
        violations = np.zeros((n, STARS_PER_CENTER))
        leaves = np.full((n, STARS_PER_CENTER, LEAVES), -1, dtype=np.int64)
        scratch = np.empty(n, dtype=np.int64), np.empty(n)
        rows = max(1, WORK_PER_CHECK // n**2)
        for start in range(0, n, rows):
            budget.require()
            end = min(start + rows, n)
            find_star_inequalities(
                Z, root, start, end, tolerance, MOST_RATIO, violations, leaves, *scratch
            )
        i, rank = np.nonzero(violations)
        order = np.argsort(-violations[i, rank], kind="stable")[: STARS_PER_NODE * n]
        new = np.column_stack([i[order], leaves[i[order], rank[order]]])
        # 2. Skip duplicates.
        old = np.column_stack([self.centers[used], self.leaves[used]])
        _, first = np.unique(np.concatenate([old, new]), axis=0, return_index=True)
        new = new[np.sort(first[first >= len(old)]) - len(old)]
        stars = np.concatenate([self.stars[used], np.zeros(len(new))])
        return self._with_stars(np.concatenate([old, new]), stars), len(new)

    def split(self, old_root: np.ndarray, new_root: np.ndarray, old_of: np.ndarray) -> Multipliers:
        """Return the multipliers of split groups; ``old_of``, ascending, maps parts to groups.

        Pairs within one old group have none. A star of a group becomes the sum over the parts of
        its center, and the weighted mean over the parts of each leaf.
        """
        ratio = new_root / old_root[old_of]
        pairs = self.pairs[np.ix_(old_of, old_of)] * ratio * ratio[:, None]
        pairs[old_of[:, None] == old_of] = 0.0
        first = np.searchsorted(old_of, np.arange(old_root.size))
        parts = np.bincount(old_of, minlength=old_root.size)
        columns, stars = np.column_stack([self.centers, self.leaves]), self.stars
        for a in range(columns.shape[1]):
            exists = columns[:, a] >= 0
            counts = np.where(exists, parts[columns[:, a]], 1)
            copied = np.repeat(np.arange(counts.size), counts)
            part = np.arange(copied.size) - np.repeat(np.cumsum(counts) - counts, counts)
            columns, stars, exists = columns[copied], stars[copied], exists[copied]
            columns[exists, a] = first[columns[exists, a]] + part[exists]
            if a > 0:
                stars = stars * np.where(exists, ratio[columns[:, a]] ** 2, 1.0)
        # Parts are in the order of their groups, so leaves stay ascending.
        return self._replace(pairs=pairs)._with_stars(columns, stars)

    def largest(self, n_stars: int) -> Multipliers:
        """Keep the ``n_stars`` stars with the largest multipliers, as splitting creates many."""
        kept = np.sort(np.argsort(-self.stars, kind="stable")[:n_stars])
        columns = np.column_stack([self.centers, self.leaves])
        return self._with_stars(columns[kept], self.stars[kept])

    def contracted(
        self, old_root: np.ndarray, new_root: np.ndarray, new_of: np.ndarray
    ) -> Multipliers:
        """Return the multipliers after nodes were merged; ``new_of`` maps old nodes to new ones.

        With Q the indicator of the merged nodes, normalized as √b is, Z = Q Z' Qᵀ, and an
        inequality for Z is one for Z'. Inequalities for entries that become diagonal are dropped.
        """
        Q = indicator_of(new_of, old_root, new_root)
        pairs = Q.T @ self.pairs @ Q
        np.fill_diagonal(pairs, 0.0)
        stars = self.stars * (old_root[self.centers] / new_root[new_of[self.centers]]) ** 2
        exists = self.leaves >= 0
        centers = new_of[self.centers]
        # Missing leaves get distinct numbers beyond all nodes, to be sorted last.
        beyond = new_root.size + np.arange(LEAVES)
        leaves = np.sort(np.where(exists, new_of[self.leaves], beyond), axis=1)
        kept = (leaves != centers[:, None]).all(axis=1) & (np.diff(leaves, axis=1) > 0).all(axis=1)
        leaves[leaves >= new_root.size] = -1
        columns = np.column_stack([centers, leaves])
        return self._replace(pairs=pairs)._with_stars(columns[kept], stars[kept])

    def permuted(self, new_index: np.ndarray) -> Multipliers:
        """Return the multipliers with node i renumbered as ``new_index[i]``, a permutation."""
        pairs = np.empty_like(self.pairs)
        pairs[np.ix_(new_index, new_index)] = self.pairs
        last = new_index.size
        leaves = np.sort(np.where(self.leaves >= 0, new_index[self.leaves], last), axis=1)
        leaves[leaves == last] = -1
        columns = np.column_stack([new_index[self.centers], leaves])
        return self._replace(pairs=pairs)._with_stars(columns, self.stars)

    def scaled(self, ratio: float) -> Multipliers:
        """Return the multipliers in other units."""
        return self._replace(pairs=self.pairs * ratio, stars=self.stars * ratio)

    def _with_stars(self, columns: np.ndarray, stars: np.ndarray) -> Multipliers:
        centers = np.ascontiguousarray(columns[:, 0])
        return Multipliers(self.pairs, centers, np.ascontiguousarray(columns[:, 1:]), stars)


def no_multipliers(size: int) -> Multipliers:
    """Return the multipliers of the plain relaxation: zero for all pairs, and no stars."""
    leaves = np.zeros((0, LEAVES), dtype=np.int64)
    return Multipliers(np.zeros((size, size)), np.zeros(0, dtype=np.int64), leaves, np.zeros(0))


def indicator_of(new_of: np.ndarray, old_root: np.ndarray, new_root: np.ndarray) -> np.ndarray:
    """Return Q with Q_iI = √(b_i / b_I) if i is part of I, else 0."""
    Q = np.zeros((old_root.size, new_root.size))
    Q[np.arange(old_root.size), new_of] = old_root / new_root[new_of]
    return Q

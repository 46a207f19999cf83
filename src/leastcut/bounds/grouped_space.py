"""The relaxation of a large problem, with inequalities between groups of nodes.

With Q the indicator of groups, normalised as √b is, the matrix Z̄ = QᵀZQ of the groups' averages and
the traces t_I = Σ_{i ∈ I} Z_ii fulfil what Z fulfils: Z̄ ≥ 0, and for every star of groups

    t_I − Σ_T w_T Z̄_IT + Σ_{S < T} w_S w_T Z̄_ST ≥ 0,

which is the mean of the stars of their nodes. So the matrix R(Z) that is Z̄ with the traces as its
diagonal stands for Z in the method of ``semidefinite``, and its multipliers H for
N = Q H₀ Qᵀ + diag(h), where H₀ is H without its diagonal and h_i = H_II. Nothing of size n × n is
needed but for the proof: Z is kept as uuᵀ + FFᵀ, and the matrix whose nearest is sought,

    Z + (N − N_last) / ρ_last + (N − A) / ρ,

is sparse plus low rank.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from leastcut.bounds.dense_space import threshold
from leastcut.bounds.filtered_subspace import Apply, filtered, lowest_estimate
from leastcut.bounds.proven_floor import Floor, floor_of_pairs
from leastcut.bounds.splitting import halved_groups
from leastcut.bounds.time_left import require_time
from leastcut.problem import Problem

DEGREE = 12
"""Products of a filter in a step: the block is that of the step before."""

PROOF_DEGREE = 25
"""Products of a filter before a proof, whose vectors are to be exact."""

PROOF_FILTERS = 4
"""Filters before a proof."""

SPARE = 12
"""Vectors of a block beyond those that counted the last time."""


class GroupedSpace:
    """Z of all nodes, seen through groups of them; see ``dense_space`` for the interface."""

    def __init__(
        self, problem: Problem, n_clusters: int, scale: float, group: np.ndarray, start: np.ndarray
    ) -> None:
        n = problem.n_nodes
        self._n_clusters, self._A = n_clusters, problem.operator() / scale
        self._weights = problem.node_weights
        self.unit = np.sqrt(self._weights) / np.linalg.norm(np.sqrt(self._weights))
        # Z − uuᵀ of the partition to start from.
        self._F = start - np.outer(self.unit, self.unit @ start)
        rng = np.random.default_rng(0)
        extra = rng.standard_normal((n, SPARE))
        self._block = self._outside(np.column_stack([self._F, extra]))
        self._cut = 0.0
        self._probe = rng.standard_normal(n)
        self.rank = n_clusters
        self._see_through(group)
        self._last = np.zeros((self.root.size, self.root.size)), 1.0

    def _see_through(self, group: np.ndarray) -> None:
        """Take these groups."""
        self.group, n = group, group.size
        self.mass = np.bincount(group).astype(np.float64)
        self.root = np.sqrt(np.bincount(group, self._weights))
        entries = np.sqrt(self._weights) / self.root[group]
        self._Q = sp.csr_array((entries, (np.arange(n), group)), shape=(n, self.mass.size))
        self._QT = sp.csr_array(self._Q.T)

    def split(self, n_split: int, least: float) -> np.ndarray:
        """Split so many groups, and return the old group of every new one."""
        old = self.group
        self._see_through(halved_groups(old, self._weights, self._F, n_split, least))
        old_of = np.empty(self.mass.size, dtype=np.int64)
        old_of[self.group] = old
        return old_of

    def rest_at(self, N: np.ndarray, penalty: float) -> None:
        """Take N for what it was in the last step too: after groups were split."""
        self._last = N.copy(), penalty

    def _outside(self, block: np.ndarray) -> np.ndarray:
        return np.asarray(block - np.outer(self.unit, self.unit @ block))

    def _of_groups(self, H: np.ndarray) -> Apply:
        """Return the product with R*(H)."""
        between = H.copy()
        np.fill_diagonal(between, 0.0)
        diagonal = np.diag(H)[self.group][:, None]
        return lambda block: self._Q @ (between @ (self._QT @ block)) + diagonal * block

    def image(self) -> np.ndarray:
        """Return R(Z)."""
        unit, F = self._QT @ self.unit, self._QT @ self._F
        image = np.outer(unit, unit) + F @ F.T
        squares = self.unit**2 + np.einsum("ij,ij->i", self._F, self._F)
        np.fill_diagonal(image, np.bincount(self.group, squares))
        return np.asarray(image)

    def full(self) -> np.ndarray:
        """Return Z itself, of O(n²) memory."""
        return np.asarray(np.outer(self.unit, self.unit) + self._F @ self._F.T)

    def nearest(self, W: np.ndarray, N: np.ndarray, penalty: float) -> np.ndarray:
        """Take the Z of the next step, and return R(Z)."""
        last, last_penalty = self._last
        groups = self._of_groups((N - last) / last_penalty + N / penalty)
        self._last = N.copy(), penalty
        F = self._F

        def apply(block: np.ndarray) -> np.ndarray:
            product = F @ (F.T @ block) + groups(block) - (self._A @ block) / penalty
            return self._outside(product)

        low = lowest_estimate(apply, self._outside(self._probe[:, None])[:, 0])
        total = self._n_clusters - 1
        values, vectors = filtered(apply, self._block, low, max(self._cut, 0.9 * low), DEGREE)
        theta = threshold(values, total)
        shares = np.clip(values - theta, 0.0, 1.0)
        used = shares > 0.0
        self.rank = int(used.sum())
        self._F = vectors[:, used] * np.sqrt(shares[used])
        # The block for the next step: what counts and some more.
        wanted = min(max(self.rank, self._n_clusters) + SPARE, self.unit.size // 4)
        if vectors.shape[1] < wanted:
            rng = np.random.default_rng(vectors.shape[1])
            extra = rng.standard_normal((self.unit.size, wanted - vectors.shape[1]))
            vectors = np.column_stack([self._outside(extra), vectors])
        self._block, self._cut = vectors[:, -wanted:], float(values[-wanted:][0])
        return self.image()

    def estimate(self, N: np.ndarray, deadline: float = np.inf) -> float:
        """Return about what the bound of N is, and prepare its proof."""
        groups = self._of_groups(N)

        def apply(block: np.ndarray) -> np.ndarray:
            require_time(deadline)
            return self._outside(groups(block) - self._A @ block)

        low = lowest_estimate(apply, self._outside(self._probe[:, None])[:, 0])
        block = self._block
        for _ in range(PROOF_FILTERS):
            start = self._outside(block)
            basis = np.linalg.qr(start)[0]
            high = float(np.linalg.eigvalsh(basis.T @ apply(basis))[0])
            values, block = filtered(apply, basis, low, high, PROOF_DEGREE)
        self._pairs = -values[::-1], block[:, ::-1]
        unit = self.unit
        product = self._A @ unit - groups(unit[:, None])[:, 0]
        return float(unit @ product + self._pairs[0][: self._n_clusters - 1].sum())

    def floor(self, N: np.ndarray, size: float, deadline: float = np.inf) -> Floor:
        """Return the proven bound of N, in O(n³) time and O(n²) memory.

        Raises TimeoutError at ``deadline``.
        """
        self.estimate(N, deadline)
        H = N.copy()
        np.fill_diagonal(H, 0.0)
        roots = self._Q @ np.ones(self.mass.size)
        matrix = H[np.ix_(self.group, self.group)]
        matrix *= -roots[:, None]
        matrix *= roots
        matrix[np.diag_indices(roots.size)] -= np.diag(N)[self.group]
        A = self._A.tocoo()
        matrix[A.row, A.col] += A.data
        values, vectors = self._pairs
        return floor_of_pairs(matrix, self.unit, self._n_clusters, size, values, vectors, deadline)

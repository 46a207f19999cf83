"""The spectral side of the relaxation: the nearest Z with Zu = u, tr Z = c and 0 ⪯ Z ⪯ I.

Two spaces share one interface. ``DenseSpace`` keeps Z as it is. ``GroupedSpace`` is for large
problems: with Q the indicator of groups of nodes, normalized as √b is, the matrix Z̄ = QᵀZQ of the
groups' averages and the traces t_I = Σ_{i ∈ I} Z_ii fulfil what Z fulfils, Z̄ ≥ 0 and, as the mean
of the stars of their nodes, for every star of groups

    t_I − Σ_T w_T Z̄_IT + Σ_{S < T} w_S w_T Z̄_ST ≥ 0.

So the matrix R(Z) that is Z̄ with the traces as its diagonal stands for Z in the method of
``semidefinite``, and its multipliers H for N = Q H₀ Qᵀ + diag(h), where H₀ is H without its
diagonal and h_i = H_II. Nothing of size n × n is needed but for the proof: Z is kept as uuᵀ + FFᵀ,
and the matrix whose nearest is sought,

    Z + (N − N_last) / ρ_last + (N − A) / ρ,

is sparse plus low rank. Its top eigenpairs come from Chebyshev filters, polynomials that are small
on the rest of the spectrum, on a block of vectors that is kept from step to step.

``root`` and ``mass`` are the √b and the numbers of nodes of what the rows of matrices stand for,
``nearest`` is a step of Z, and ``floor`` proves the bound of multipliers N.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from leastcut.bounds.proven_floor import Apply, Floor, floor_of_pairs, lowest_estimate, proven_floor
from leastcut.budget import Budget
from leastcut.multilevel.coarsening import heavy_edges
from leastcut.problem import Problem
from leastcut.reductions import contracted
from leastcut.spectral.eigensolvers.dense import eigenpairs

SPARE_PAIRS = 8  # eigenpairs computed beyond those that counted the last time
SPARE_VECTORS = 12  # of a filtered block, beyond those that counted the last time
DEGREE = 12  # products of a filter in a step: the block is that of the step before
PROOF_DEGREE, PROOF_FILTERS = 25, 4  # before a proof, whose vectors are to be exact
HEAVIEST_GROUP = 2.0  # most that a group may weigh, in multiples of an even division


class DenseSpace:
    """Z as a full matrix, from eigenpairs by LAPACK."""

    def __init__(self, problem: Problem, n_clusters: int, scale: float) -> None:
        self._n_clusters, self._rank = n_clusters, n_clusters
        self._A = problem.operator().toarray() / scale
        self.root = np.sqrt(problem.node_weights)
        self.mass = np.ones(self.root.size)
        self.unit = self.root / np.linalg.norm(self.root)

    def nearest(self, W: np.ndarray, N: np.ndarray, penalty: float) -> np.ndarray:
        """Return the nearest Z to W + (N − A) / penalty."""
        target = W + (N - self._A) / penalty
        Z, self._rank = nearest_spectral(target, self.unit, self._n_clusters, self._rank)
        return Z

    def floor(self, N: np.ndarray, size: float, budget: Budget) -> Floor:
        """Return the proven bound of N, or raise TimeoutError."""
        return proven_floor(self._A - N, self.unit, self._n_clusters, size, budget)


def nearest_spectral(
    matrix: np.ndarray, unit: np.ndarray, n_clusters: int, guess: int
) -> tuple[np.ndarray, int]:
    """Return the nearest matrix in the Frobenius norm, and how many eigenpairs it has besides u.

    On the complement of u the eigenvectors stay, and eigenvalues w become clip(w − θ, 0, 1) with
    the θ that makes their sum c − 1. Those below θ are not needed: ``guess`` is how many may be
    above.
    """
    n, total = unit.size, n_clusters - 1
    # 1. Take u out of the matrix, and its eigenvalue below all others.
    product = matrix @ unit
    bottom = -2.0 * float(np.abs(matrix).sum(axis=1).max()) - 1.0
    outer = np.outer(unit, product - 0.5 * (float(unit @ product) + bottom) * unit)
    compressed = matrix - outer - outer.T
    # 2. The largest eigenpairs, more of them until the last is not needed.
    count = min(max(guess, total) + SPARE_PAIRS, n - 1)
    while True:
        values, vectors = eigenpairs(compressed, n - count, n - 1)
        clipped = np.clip(values - threshold(values, total), 0.0, 1.0)
        if count == n - 1 or clipped[0] == 0.0:
            break
        count = min(2 * count, n - 1)
    # 3. Put together.
    used = clipped > 0.0
    scaled = vectors[:, used] * np.sqrt(clipped[used])
    return scaled @ scaled.T + np.outer(unit, unit), int(used.sum())


def threshold(values: np.ndarray, total: float) -> float:
    """Return the θ for which clip(values − θ, 0, 1) sums to ``total``; values ascend.

    The sum falls with θ, in straight lines between the values and the values less 1. It is
    Σ max(v − θ, 0) − Σ max(v − 1 − θ, 0), and both parts come from sums of the largest values.
    """
    count = values.size
    tails = np.append(np.cumsum(values[::-1])[::-1], 0.0)
    points = np.sort(np.concatenate([values - 1.0, values]))

    def above(theta: np.ndarray) -> np.ndarray:
        first = np.searchsorted(values, theta, side="right")
        return np.asarray(tails[first] - (count - first) * theta)

    sums = above(points) - above(points + 1.0)
    # The first point at which the sum is not above the total, and where the line to it crosses it.
    right = int(np.argmax(sums <= total))
    if right == 0:
        return float(points[0])
    left = right - 1
    fall = float(sums[left] - sums[right])
    fraction = (float(sums[left]) - total) / fall if fall > 0.0 else 1.0
    return float(points[left] + fraction * (points[right] - points[left]))


class GroupedSpace:
    """Z of all nodes, seen through groups of them; ``start`` is a G with GGᵀ to start from."""

    def __init__(
        self, problem: Problem, n_clusters: int, scale: float, group: np.ndarray, start: np.ndarray
    ) -> None:
        n = problem.n_nodes
        self._n_clusters, self._A = n_clusters, problem.operator() / scale
        self._weights = problem.node_weights
        self.unit = np.sqrt(self._weights) / np.linalg.norm(np.sqrt(self._weights))
        self._F = start - np.outer(self.unit, self.unit @ start)
        rng = np.random.default_rng(0)
        extra = rng.standard_normal((n, SPARE_VECTORS))
        self._block = self._outside(np.column_stack([self._F, extra]))
        self._cut = 0.0
        self._probe = rng.standard_normal(n)
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
        """Return the projection of a block on the complement of u."""
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
        values, vectors = filtered(apply, self._block, low, max(self._cut, 0.9 * low), DEGREE)
        clipped = np.clip(values - threshold(values, self._n_clusters - 1), 0.0, 1.0)
        used = clipped > 0.0
        rank = int(used.sum())
        self._F = vectors[:, used] * np.sqrt(clipped[used])
        # The block for the next step: what counts and some more.
        wanted = min(max(rank, self._n_clusters) + SPARE_VECTORS, self.unit.size // 4)
        if vectors.shape[1] < wanted:
            rng = np.random.default_rng(vectors.shape[1])
            extra = rng.standard_normal((self.unit.size, wanted - vectors.shape[1]))
            vectors = np.column_stack([self._outside(extra), vectors])
        self._block, self._cut = vectors[:, -wanted:], float(values[-wanted:][0])
        return self.image()

    def floor(self, N: np.ndarray, size: float, budget: Budget) -> Floor:
        """Return the proven bound of N, in O(n³) time and O(n²) memory, or raise TimeoutError."""
        values, vectors = self._lowest_pairs(N, budget)
        H = N.copy()
        np.fill_diagonal(H, 0.0)
        roots = self._Q @ np.ones(self.mass.size)
        matrix = H[np.ix_(self.group, self.group)]
        matrix *= -roots[:, None]
        matrix *= roots
        matrix[np.diag_indices(roots.size)] -= np.diag(N)[self.group]
        A = self._A.tocoo()
        matrix[A.row, A.col] += A.data
        return floor_of_pairs(matrix, self.unit, self._n_clusters, size, values, vectors, budget)

    def _lowest_pairs(self, N: np.ndarray, budget: Budget) -> tuple[np.ndarray, np.ndarray]:
        """Return about the smallest eigenpairs of A − N outside u."""
        groups = self._of_groups(N)

        def apply(block: np.ndarray) -> np.ndarray:
            budget.require()
            return self._outside(groups(block) - self._A @ block)

        low = lowest_estimate(apply, self._outside(self._probe[:, None])[:, 0])
        block = self._block
        for _ in range(PROOF_FILTERS):
            basis = np.linalg.qr(self._outside(block))[0]
            high = float(np.linalg.eigvalsh(basis.T @ apply(basis))[0])
            values, block = filtered(apply, basis, low, high, PROOF_DEGREE)
        return -values[::-1], block[:, ::-1]


def filtered(
    apply: Apply, block: np.ndarray, low: float, high: float, degree: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return Ritz values, ascending, and vectors of a block after a Chebyshev filter.

    It damps the part of the spectrum in [low, high], all below ``high``, by ``degree`` products.
    """
    center, half = 0.5 * (low + high), 0.5 * (high - low)
    last, now = block, (apply(block) - center * block) / half
    for _ in range(degree - 1):
        last, now = now, (apply(now) - center * now) * (2.0 / half) - last
    basis = np.linalg.qr(now)[0]
    projected = basis.T @ apply(basis)
    values, coordinates = scipy.linalg.eigh(0.5 * (projected + projected.T), check_finite=False)
    return values, basis @ coordinates


def groups_within(problem: Problem, labels: np.ndarray | None, n_groups: int) -> np.ndarray:
    """Return the group of every node, 0..k-1: about ``n_groups``, none with nodes of two labels.

    Nodes are aggregated along heavy edges, level by level, as for a search.
    """
    group = np.arange(problem.n_nodes)
    rng = np.random.default_rng(0)
    heaviest = HEAVIEST_GROUP * float(problem.node_weights.sum()) / n_groups
    parts = np.zeros(problem.n_nodes, dtype=np.int32)
    if labels is not None:
        parts = labels.astype(np.int32)
    while problem.n_nodes > n_groups:
        smaller, parent = contracted(problem, heavy_edges(problem, rng, heaviest, parts))
        if smaller.n_nodes == problem.n_nodes:
            break
        coarse = np.empty(smaller.n_nodes, dtype=np.int32)
        coarse[parent] = parts
        problem, parts, group = smaller, coarse, parent[group]
    return group


def halved_groups(
    group: np.ndarray, weights: np.ndarray, F: np.ndarray, n_split: int, least: float
) -> np.ndarray:
    """Return the groups after the ``n_split`` with most spread above ``least`` are cut in two.

    With rows x_i = F_i / √b_i of Z = uuᵀ + FFᵀ, the spread Σ_{i ∈ I} b_i ‖x_i − mean‖² is what a
    group I hides of Z: 0 if Z is a partition and I inside a cluster. A group is cut across the
    direction in which its rows differ most. Parts of a group have neighboring numbers, in the order
    of the groups they come from.
    """
    n_groups = int(group.max()) + 1
    root = np.sqrt(weights)
    sums = np.zeros((n_groups, F.shape[1]))
    np.add.at(sums, group, root[:, None] * F)
    means = sums / np.bincount(group, weights)[:, None]
    offsets = F - root[:, None] * means[group]
    spread = np.bincount(group, np.einsum("ij,ij->i", offsets, offsets), minlength=n_groups)
    worst = np.argsort(-spread, kind="stable")[:n_split]
    worst = worst[spread[worst] > least]
    order = np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=n_groups))
    second = np.zeros(group.size, dtype=np.int64)
    for k in worst:
        members = order[ends[k - 1] if k else 0 : ends[k]]
        along = np.linalg.svd(offsets[members], full_matrices=False)[0][:, 0]
        second[members[along > 0.0]] = 1
    halves = 2 * group + second
    return np.asarray(np.unique(halves, return_inverse=True)[1].reshape(-1))

"""The spectral constraints of the relaxation: projection on Zu = u, tr Z = c and 0 ⪯ Z ⪯ I.

Two spaces share one interface. ``DenseSpace`` stores Z. ``GroupedSpace`` is for large problems:
with Q the indicator of groups of nodes, normalized as √b is, the matrix Z̄ = QᵀZQ of averages over
groups and the traces t_I = Σ_{i ∈ I} Z_ii satisfy the constraints of Z, Z̄ ≥ 0 and, as averages of
the stars of their nodes, for every star of groups

    t_I − Σ_T w_T Z̄_IT + Σ_{S < T} w_S w_T Z̄_ST ≥ 0.

So the matrix R(Z), which is Z̄ with the traces as its diagonal, replaces Z in the method of
``semidefinite``, and its multipliers H define N = Q H₀ Qᵀ + diag(h), where H₀ is H without its
diagonal and h_i = H_II. Only the proof needs an n × n matrix: Z is stored as uuᵀ + FFᵀ, and the
matrix to be projected,

    Z + (N − N_last) / ρ_last + (N − A) / ρ,

is sparse plus low rank. Its top eigenpairs are computed by Chebyshev filters, polynomials that are
small on the rest of the spectrum, applied to a block of vectors that is kept from step to step.

``root`` and ``mass`` are √b and the number of nodes for each row of the matrices, ``nearest`` is
the Z step, and ``floor`` proves the bound of multipliers N.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from leastcut.bounds.proven_floor import Apply, Floor, estimate_lowest, floor_of_pairs, proven_floor
from leastcut.budget import Budget
from leastcut.multilevel.coarsening import heavy_edges
from leastcut.problem import Problem
from leastcut.reductions import contracted
from leastcut.spectral.eigensolvers.dense import eigenpairs

SPARE_PAIRS = 8  # eigenpairs computed beyond those used in the last step
SPARE_VECTORS = 12  # vectors of a filtered block beyond those used in the last step
DEGREE = 12  # degree of the filter in a step, which starts from the block of the last step
PROOF_DEGREE, PROOF_FILTERS = 25, 4  # of the filter before a proof, which needs accurate vectors
HEAVIEST_GROUP = 2.0  # largest weight of a group, as a multiple of the mean


class DenseSpace:
    """Z as a full matrix, computed from LAPACK eigenpairs."""

    def __init__(self, problem: Problem, n_clusters: int, scale: float) -> None:
        self._n_clusters, self._rank = n_clusters, n_clusters
        self._A = problem.operator().toarray() / scale
        self.root = np.sqrt(problem.node_weights)
        self.mass = np.ones(self.root.size)
        self.unit = self.root / np.linalg.norm(self.root)

    def nearest(self, W: np.ndarray, N: np.ndarray, penalty: float) -> np.ndarray:
        """Return the Z nearest to W + (N − A) / penalty."""
        target = W + (N - self._A) / penalty
        Z, self._rank = nearest_spectral(target, self.unit, self._n_clusters, self._rank)
        return Z

    def floor(self, N: np.ndarray, size: float, budget: Budget) -> Floor:
        """Return the rigorous bound of N, or raise TimeoutError."""
        return proven_floor(self._A - N, self.unit, self._n_clusters, size, budget)


def nearest_spectral(
    matrix: np.ndarray, unit: np.ndarray, n_clusters: int, guess: int
) -> tuple[np.ndarray, int]:
    """Return the nearest matrix in the Frobenius norm, and its number of eigenpairs without u.

    On the complement of u the eigenvectors stay, and eigenvalues w become clip(w − θ, 0, 1), where
    θ is chosen so that they sum to c − 1. Eigenpairs below θ are not needed: ``guess`` is the
    expected number of others.
    """
    n, total = unit.size, n_clusters - 1
    # 1. Decouple u from the matrix, with an eigenvalue below all others.
    product = matrix @ unit
    bottom = -2.0 * float(np.abs(matrix).sum(axis=1).max()) - 1.0
    outer = np.outer(unit, product - 0.5 * (float(unit @ product) + bottom) * unit)
    compressed = matrix - outer - outer.T
    # 2. The largest eigenpairs, more of them until the last one is not needed.
    count = min(max(guess, total) + SPARE_PAIRS, n - 1)
    while True:
        values, vectors = eigenpairs(compressed, n - count, n - 1)
        clipped = np.clip(values - threshold(values, total), 0.0, 1.0)
        if count == n - 1 or clipped[0] == 0.0:
            break
        count = min(2 * count, n - 1)
    # 3. Assemble Z.
    used = clipped > 0.0
    scaled = vectors[:, used] * np.sqrt(clipped[used])
    return scaled @ scaled.T + np.outer(unit, unit), int(used.sum())


def threshold(values: np.ndarray, total: float) -> float:
    """Return the θ for which clip(values − θ, 0, 1) sums to ``total``; values are ascending.

    The sum decreases with θ and is linear between the points v and v − 1. It is Σ max(v − θ, 0) − Σ
    max(v − 1 − θ, 0), both of which follow from cumulative sums of the largest values.
    """
    count = values.size
    tails = np.append(np.cumsum(values[::-1])[::-1], 0.0)
    points = np.sort(np.concatenate([values - 1.0, values]))

    def above(theta: np.ndarray) -> np.ndarray:
        first = np.searchsorted(values, theta, side="right")
        return np.asarray(tails[first] - (count - first) * theta)

    sums = above(points) - above(points + 1.0)
    # Interpolate linearly before the first point at which the sum is at most the total.
    right = int(np.argmax(sums <= total))
    if right == 0:
        return float(points[0])
    left = right - 1
    decrease = float(sums[left] - sums[right])
    fraction = (float(sums[left]) - total) / decrease if decrease > 0.0 else 1.0
    return float(points[left] + fraction * (points[right] - points[left]))


class GroupedSpace:
    """Z of all nodes, represented by groups; ``start`` is a G with GGᵀ as the initial Z."""

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
        self._block = self._project(np.column_stack([self._F, extra]))
        self._cut = 0.0
        self._probe = rng.standard_normal(n)
        self._set_groups(group)
        self._last = np.zeros((self.root.size, self.root.size)), 1.0

    def _set_groups(self, group: np.ndarray) -> None:
        """Set the groups."""
        self.group, n = group, group.size
        self.mass = np.bincount(group).astype(np.float64)
        self.root = np.sqrt(np.bincount(group, self._weights))
        entries = np.sqrt(self._weights) / self.root[group]
        self._Q = sp.csr_array((entries, (np.arange(n), group)), shape=(n, self.mass.size))
        self._QT = sp.csr_array(self._Q.T)

    def split(self, n_split: int, least: float) -> np.ndarray:
        """Split ``n_split`` groups, and return the old group of every new one."""
        old = self.group
        self._set_groups(halved_groups(old, self._weights, self._F, n_split, least))
        old_of = np.empty(self.mass.size, dtype=np.int64)
        old_of[self.group] = old
        return old_of

    def reset_last(self, N: np.ndarray, penalty: float) -> None:
        """Use N for the last step too, after groups were split."""
        self._last = N.copy(), penalty

    def _project(self, block: np.ndarray) -> np.ndarray:
        """Return the projection of a block on the complement of u."""
        return np.asarray(block - np.outer(self.unit, self.unit @ block))

    def _group_operator(self, H: np.ndarray) -> Apply:
        """Return the function that multiplies a block by R*(H), with R* the adjoint of R."""
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
        """Return Z, in O(n²) memory."""
        return np.asarray(np.outer(self.unit, self.unit) + self._F @ self._F.T)

    def nearest(self, W: np.ndarray, N: np.ndarray, penalty: float) -> np.ndarray:
        """Compute the next Z, and return R(Z)."""
        last, last_penalty = self._last
        groups = self._group_operator((N - last) / last_penalty + N / penalty)
        self._last = N.copy(), penalty
        F = self._F

        def apply(block: np.ndarray) -> np.ndarray:
            product = F @ (F.T @ block) + groups(block) - (self._A @ block) / penalty
            return self._project(product)

        low = estimate_lowest(apply, self._project(self._probe[:, None])[:, 0])
        values, vectors = filtered(apply, self._block, low, max(self._cut, 0.9 * low), DEGREE)
        clipped = np.clip(values - threshold(values, self._n_clusters - 1), 0.0, 1.0)
        used = clipped > 0.0
        rank = int(used.sum())
        self._F = vectors[:, used] * np.sqrt(clipped[used])
        # The block for the next step: the vectors used, and some more.
        wanted = min(max(rank, self._n_clusters) + SPARE_VECTORS, self.unit.size // 4)
        if vectors.shape[1] < wanted:
            rng = np.random.default_rng(vectors.shape[1])
            extra = rng.standard_normal((self.unit.size, wanted - vectors.shape[1]))
            vectors = np.column_stack([self._project(extra), vectors])
        self._block, self._cut = vectors[:, -wanted:], float(values[-wanted:][0])
        return self.image()

    def floor(self, N: np.ndarray, size: float, budget: Budget) -> Floor:
        """Return the rigorous bound of N, in O(n³) time and O(n²) memory, or raise TimeoutError."""
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
        """Return approximations of the smallest eigenpairs of A − N outside u."""
        groups = self._group_operator(N)

        def apply(block: np.ndarray) -> np.ndarray:
            budget.require()
            return self._project(groups(block) - self._A @ block)

        low = estimate_lowest(apply, self._project(self._probe[:, None])[:, 0])
        block = self._block
        for _ in range(PROOF_FILTERS):
            basis = np.linalg.qr(self._project(block))[0]
            high = float(np.linalg.eigvalsh(basis.T @ apply(basis))[0])
            values, block = filtered(apply, basis, low, high, PROOF_DEGREE)
        return -values[::-1], block[:, ::-1]


def filtered(
    apply: Apply, block: np.ndarray, low: float, high: float, degree: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return Ritz values, ascending, and vectors of a block after a Chebyshev filter.

    ``degree`` products damp the spectrum in [low, high], and amplify what is above.
    """
    center, half = 0.5 * (low + high), 0.5 * (high - low)
    previous, current = block, (apply(block) - center * block) / half
    for _ in range(degree - 1):
        previous, current = current, (apply(current) - center * current) * (2.0 / half) - previous
    basis = np.linalg.qr(current)[0]
    projected = basis.T @ apply(basis)
    values, coordinates = scipy.linalg.eigh(0.5 * (projected + projected.T), check_finite=False)
    return values, basis @ coordinates


def groups_within(problem: Problem, labels: np.ndarray | None, n_groups: int) -> np.ndarray:
    """Return the group of every node, 0..k-1: about ``n_groups``, each with nodes of one label.

    Nodes are aggregated along heavy edges, level by level, as in the multilevel search.
    """
    group = np.arange(problem.n_nodes)
    rng = np.random.default_rng(0)
    heaviest = HEAVIEST_GROUP * float(problem.node_weights.sum()) / n_groups
    node_labels = np.zeros(problem.n_nodes, dtype=np.int32)
    if labels is not None:
        node_labels = labels.astype(np.int32)
    while problem.n_nodes > n_groups:
        smaller, parent = contracted(problem, heavy_edges(problem, rng, heaviest, node_labels))
        if smaller.n_nodes == problem.n_nodes:
            break
        coarse = np.empty(smaller.n_nodes, dtype=np.int32)
        coarse[parent] = node_labels
        problem, node_labels, group = smaller, coarse, parent[group]
    return group


def halved_groups(
    group: np.ndarray, weights: np.ndarray, F: np.ndarray, n_split: int, least: float
) -> np.ndarray:
    """Return the groups after bisecting the ``n_split`` with the largest spread above ``least``.

    With rows x_i = F_i / √b_i of Z = uuᵀ + FFᵀ, the spread Σ_{i ∈ I} b_i ‖x_i − mean‖² measures the
    loss by averaging Z over the group I: it is 0 if Z is a partition and I inside a cluster. A
    group is bisected along the principal direction of its rows. Parts of a group have consecutive
    numbers, in the order of the groups.
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
        coordinates = np.linalg.svd(offsets[members], full_matrices=False)[0][:, 0]
        second[members[coordinates > 0.0]] = 1
    halves = 2 * group + second
    return np.asarray(np.unique(halves, return_inverse=True)[1].reshape(-1))

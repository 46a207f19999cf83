"""Star inequalities on the matrix Z of a partition: projection, sums of multipliers, separation.

For a partition let X_ij be 1/b(C) if i and j share the cluster C, and 0 otherwise. For a node i,
the center, and a set T of other nodes, its leaves,

    Σ_{t ∈ T} X_it − Σ_{s < t ∈ T} X_st ≤ X_ii :

if the cluster of i contains m of the leaves, its terms on the left sum to (m − m (m − 1) / 2) X_ii,
which is at most X_ii for every integer m; other clusters only subtract. One leaf gives X_ij ≤ X_ii,
two the triangle inequality. Kernels use the inequality times b_i, in terms of Z_ij = √(b_i b_j)
X_ij: with w_t = √(b_i / b_t)

    Z_ii − Σ_t w_t Z_it + Σ_{s < t} w_s w_t Z_st ≥ 0.

``centers`` (m,) and ``leaves`` (m, LEAVES) hold m stars, with −1 after the last leaf; ``root`` are
the √b of the nodes.
"""

from __future__ import annotations

import numpy as np

from leastcut.kernels import kernel

LEAVES = 4  # largest number of leaves of a star


@kernel
def project_on_star_inequalities(
    lifted, root, mass, centers, leaves, multipliers, n_sweeps, weight
):
    """Move W = max(lifted, 0) towards the nearest matrix that satisfies all star inequalities.

    W has the diagonal of ``lifted``, which is symmetric. Each step of Hildreth's method optimizes
    the multiplier of one star with the others fixed: it changes ``multipliers`` and ``lifted``,
    which stays its initial value plus Σ multiplier · star. Entries of −inf stay so, and are 0 in W.
    ``mass`` (n,): the number of entries of a larger matrix that each diagonal entry is the sum of;
    ``weight`` (LEAVES,) is scratch. Returns the largest step of the last sweep. O(stars) per sweep.
    """
    largest = 0.0
    for _ in range(n_sweeps):
        largest = 0.0
        for m in range(centers.shape[0]):
            i = centers[m]
            slack, norm, count = lifted[i, i], mass[i], 0
            for a in range(LEAVES):
                t = leaves[m, a]
                if t < 0:
                    break
                count += 1
                weight[a] = root[i] / root[t]
                slack -= weight[a] * max(lifted[i, t], 0.0)
                norm += 0.5 * weight[a] * weight[a]
                for e in range(a):
                    pair = weight[a] * weight[e]
                    slack += pair * max(lifted[t, leaves[m, e]], 0.0)
                    norm += 0.5 * pair * pair
            step = max(-slack / norm, -multipliers[m])
            if step == 0.0:
                continue
            multipliers[m] += step
            largest = max(largest, abs(step))
            lifted[i, i] += step * mass[i]
            for a in range(count):
                t = leaves[m, a]
                entry = lifted[i, t] - 0.5 * step * weight[a]
                lifted[i, t] = entry
                lifted[t, i] = entry
                for e in range(a):
                    s = leaves[m, e]
                    entry = lifted[s, t] + 0.5 * step * weight[a] * weight[e]
                    lifted[s, t] = entry
                    lifted[t, s] = entry
    return largest


@kernel
def add_star_multipliers(matrix, root, centers, leaves, multipliers):
    """Add Σ multiplier · star to a symmetric matrix in place, and return Σ multiplier · |star|.

    |star| is the sum of the absolute values of its coefficients, which bounds the rounding errors.
    """
    size = 0.0
    for m in range(centers.shape[0]):
        i, step = centers[m], multipliers[m]
        matrix[i, i] += step
        size += step
        for a in range(LEAVES):
            t = leaves[m, a]
            if t < 0:
                break
            outer = step * (root[i] / root[t])
            matrix[i, t] -= 0.5 * outer
            matrix[t, i] -= 0.5 * outer
            size += outer
            for e in range(a):
                s = leaves[m, e]
                pair = outer * (root[i] / root[s])
                matrix[s, t] += 0.5 * pair
                matrix[t, s] += 0.5 * pair
                size += pair
    return size


@kernel
def find_star_inequalities(
    Z, root, first, last, tolerance, most_ratio, violations, leaves, candidates, scaled_Z
):
    """Find the most violated stars of every center in ``first`` .. ``last`` − 1 (separation).

    Row i of ``violations`` (n, q) and ``leaves`` (n, q, LEAVES) gets up to q stars with center i
    that are violated by more than ``tolerance``, and violation 0 beyond those. Leaves weigh between
    b_i / most_ratio and b_i · most_ratio. The q best pairs are found by enumeration, and further
    leaves added greedily: O(k² + q k) for k nodes with Z_it > tolerance. Scratch (n,):
    ``candidates``, ``scaled_Z``.
    """
    n, q = Z.shape[0], violations.shape[1]
    for i in range(first, last):
        count = 0
        for t in range(n):
            weight = root[i] / root[t]
            ordinary = weight * weight < most_ratio and weight * weight * most_ratio > 1.0
            if t != i and ordinary and Z[i, t] * weight > tolerance:
                candidates[count] = t
                scaled_Z[count] = Z[i, t] * weight
                count += 1
        for a in range(q):
            violations[i, a] = -0.5 * Z[i, i]
            leaves[i, a, :] = -1
        # 1. The best pairs and single leaves: a better one replaces the worst one kept.
        worst = 0
        for a in range(count):
            t = candidates[a]
            for e in range(a + 1):
                s = candidates[e]
                violated = scaled_Z[a] - Z[i, i]
                if e < a:
                    violated += scaled_Z[e] - Z[s, t] * (root[i] / root[s]) * (root[i] / root[t])
                if violated > violations[i, worst]:
                    violations[i, worst] = violated
                    leaves[i, worst, 0] = s
                    leaves[i, worst, 1] = t if e < a else -1
                    for p in range(q):
                        if violations[i, p] < violations[i, worst]:
                            worst = p
        # 2. Further leaves, each the best available.
        for p in range(q):
            if leaves[i, p, 0] < 0:
                violations[i, p] = 0.0
                continue
            size = 1 if leaves[i, p, 1] < 0 else 2
            while size < LEAVES:
                best, gain = -1, 0.0
                for a in range(count):
                    t = candidates[a]
                    increase = scaled_Z[a]
                    for e in range(size):
                        s = leaves[i, p, e]
                        if s == t:
                            increase = -1.0
                            break
                        increase -= Z[s, t] * (root[i] / root[s]) * (root[i] / root[t])
                        if increase <= gain:
                            break
                    if increase > gain:
                        best, gain = t, increase
                if best < 0:
                    break
                leaves[i, p, size] = best
                violations[i, p] += gain
                size += 1
            if violations[i, p] <= tolerance:
                violations[i, p] = 0.0
                continue
            # Sort the leaves, so that equal stars are equal rows.
            for a in range(1, size):
                t, e = leaves[i, p, a], a
                while e > 0 and leaves[i, p, e - 1] > t:
                    leaves[i, p, e] = leaves[i, p, e - 1]
                    e -= 1
                leaves[i, p, e] = t


@kernel
def update_pairs(lifted, Z, W, pair_multipliers, penalty):
    """Set W = max(lifted, 0) and its multipliers, and return ‖W − Z‖² and ‖W − previous W‖².

    Changes ``W`` and ``pair_multipliers``. The diagonal has no multipliers. Entries of −inf are
    fixed at 0 in W, and their multipliers may have either sign.
    """
    n = Z.shape[0]
    distance, change = 0.0, 0.0
    for i in range(n):
        for j in range(n):
            entry, before = lifted[i, j], W[i, j]
            if i == j:
                W[i, j] = entry
            elif entry > 0.0:
                W[i, j] = entry
                pair_multipliers[i, j] = 0.0
            elif entry == -np.inf:
                W[i, j] = 0.0
                pair_multipliers[i, j] -= penalty * Z[i, j]
            else:
                W[i, j] = 0.0
                pair_multipliers[i, j] = -penalty * entry
            distance += (W[i, j] - Z[i, j]) ** 2
            change += (W[i, j] - before) ** 2
    return distance, change

"""Star inequalities on the matrix Z of a partition: projecting on them, adding and finding them.

For a partition let X_ij be 1/b(C) where i and j share the cluster C, and 0 elsewhere. For a node i,
the centre, and a set T of other nodes, its leaves,

    Σ_{t ∈ T} X_it − Σ_{s < t ∈ T} X_st ≤ X_ii :

where i's cluster holds m of the leaves the left is (m − m (m − 1) / 2) X_ii, which no whole m makes
more than X_ii; clusters without i only lower it. One leaf is X_ij ≤ X_ii, two are the triangle
inequality. Kernels hold it times b_i, in Z_ij = √(b_i b_j) X_ij: with w_t = √(b_i / b_t)

    Z_ii − Σ_t w_t Z_it + Σ_{s < t} w_s w_t Z_st ≥ 0.

``centres`` (m,) and ``leaves`` (m, LEAVES) hold m stars, the leaves first and −1 where there are
none; ``root`` are the √b of the nodes.
"""

from __future__ import annotations

import numpy as np

from leastcut.kernels import kernel

LEAVES = 4  # leaves that a star may have


@kernel
def project_on_star_inequalities(
    lifted, root, mass, centres, leaves, multipliers, n_sweeps, weight
):
    """Move W = max(lifted, 0) towards the nearest matrix that fulfils every star, by Hildreth.

    W has the diagonal of ``lifted``, which is symmetric. A step makes one star's multiplier optimal
    with the others held: changes ``multipliers`` and ``lifted``, which stays what it was plus
    Σ multiplier · star. Entries of −inf stay so, and are 0 in W. ``mass`` (n,): of how many entries
    of a larger matrix each diagonal entry is the sum; ``weight`` (LEAVES,) is scratch. Returns the
    largest step of the last sweep; a sweep costs O(stars).
    """
    largest = 0.0
    for _ in range(n_sweeps):
        largest = 0.0
        for m in range(centres.shape[0]):
            i = centres[m]
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
def add_star_multipliers(matrix, root, centres, leaves, multipliers):
    """Add Σ multiplier · star to a symmetric matrix in place, and return Σ multiplier · |star|.

    |star| is the sum of the absolute values of all its coefficients: what rounding goes by.
    """
    size = 0.0
    for m in range(centres.shape[0]):
        i, step = centres[m], multipliers[m]
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
    Z, root, first, last, tolerance, most_ratio, violations, leaves, near, scaled
):
    """Write the most violated stars of every centre from ``first`` to ``last`` but that.

    Row i of ``violations`` (n, q) and ``leaves`` (n, q, LEAVES) gets up to q stars with centre i
    that are violated by more than ``tolerance``, and 0 where there is none. Leaves weigh between
    b_i / most_ratio and b_i · most_ratio. The q best pairs are found by trying all, and more leaves
    by adding the best as long as one helps: O(k² + q k) for k nodes of Z_it > tolerance. Scratch:
    ``near`` and ``scaled`` (n,).
    """
    n, q = Z.shape[0], violations.shape[1]
    for i in range(first, last):
        count = 0
        for t in range(n):
            weight = root[i] / root[t]
            ordinary = weight * weight < most_ratio and weight * weight * most_ratio > 1.0
            if t != i and ordinary and Z[i, t] * weight > tolerance:
                near[count] = t
                scaled[count] = Z[i, t] * weight
                count += 1
        for a in range(q):
            violations[i, a] = -0.5 * Z[i, i]
            leaves[i, a, :] = -1
        # 1. The best pairs, and single leaves: the worst of those kept gives way to a better one.
        worst = 0
        for a in range(count):
            t = near[a]
            for e in range(a + 1):
                s = near[e]
                violated = scaled[a] - Z[i, i]
                if e < a:
                    violated += scaled[e] - Z[s, t] * (root[i] / root[s]) * (root[i] / root[t])
                if violated > violations[i, worst]:
                    violations[i, worst] = violated
                    leaves[i, worst, 0] = s
                    leaves[i, worst, 1] = t if e < a else -1
                    for p in range(q):
                        if violations[i, p] < violations[i, worst]:
                            worst = p
        # 2. Further leaves, each the best there is.
        for p in range(q):
            if leaves[i, p, 0] < 0:
                violations[i, p] = 0.0
                continue
            size = 1 if leaves[i, p, 1] < 0 else 2
            while size < LEAVES:
                best, gain = -1, 0.0
                for a in range(count):
                    t = near[a]
                    more = scaled[a]
                    for e in range(size):
                        s = leaves[i, p, e]
                        if s == t:
                            more = -1.0
                            break
                        more -= Z[s, t] * (root[i] / root[s]) * (root[i] / root[t])
                        if more <= gain:
                            break
                    if more > gain:
                        best, gain = t, more
                if best < 0:
                    break
                leaves[i, p, size] = best
                violations[i, p] += gain
                size += 1
            if violations[i, p] <= tolerance:
                violations[i, p] = 0.0
                continue
            # One order for every set of leaves, so that equal stars are equal rows.
            for a in range(1, size):
                t, e = leaves[i, p, a], a
                while e > 0 and leaves[i, p, e - 1] > t:
                    leaves[i, p, e] = leaves[i, p, e - 1]
                    e -= 1
                leaves[i, p, e] = t


@kernel
def update_pairs(lifted, Z, W, pair_multipliers, penalty):
    """Take W = max(lifted, 0) and what multiplies it, and return ‖W − Z‖² and ‖W − last W‖².

    Changes ``W`` and ``pair_multipliers``. The diagonal has no multipliers. Entries of −inf are
    those that must be 0: W is, and their multipliers may have any sign.
    """
    n = Z.shape[0]
    cannot_link, moved = 0.0, 0.0
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
            cannot_link += (W[i, j] - Z[i, j]) ** 2
            moved += (W[i, j] - before) ** 2
    return cannot_link, moved

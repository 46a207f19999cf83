"""Dual prices of nodes: the search for clusters cheaper than their prices, and better prices.

Let every node have a price λ_i, and C cost boundary(C) / b(C) − λ(C). No set costs less than μ if

    G(C) = boundary(C) − b(C) s(C) ≥ 0  for all C,   s(C) = λ(C) + μ.

With w = t b + s / t and z = t b − s / t the product b s is (w² − z²) / 4. Where w is between w₁ and
w₂, −w² is at least its chord −(w₁ + w₂) w + w₁ w₂, and z² is everywhere at least its tangent
2 z₀ z − z₀². Both are sums over the nodes of C. So a minimum cut bounds G from below on a range of
w, for every z₀, and the best z₀ is where two sets meet, one with z above it and one below.

The search takes the nodes one by one: those sets that hold this one, and none of those before it.
Where the bound is below 0 it goes on with parts: halves of the range of w, or the sets with and
without a node in which the two sets differ. ``t`` weighs b against s; it changes the work only.
"""

from __future__ import annotations

from leastcut.kernels import kernel
from leastcut.kernels.minimum_cut import minimum_cut

EPSILON = 2.0**-52

FOUND, LEFT, TAKEN, HEIGHT = 0, 1, 2, 3
"""What stands where in the cursor: sets found, parts left, nodes taken, parts on the stack."""

MOST_TANGENTS = 30  # tangents that are tried on one part: two or three decide nearly always

CLOSE = 1e-4  # part of the bound that another tangent must promise to add

NARROW = 1e-9  # part of w to which its range is halved at most


@kernel
def search_clusters(graph, priced, order, margin, progress, work):
    """Search all sets for cheap ones, as far as the number of parts that is allowed.

    ``graph`` is as in ``minimum_cut``; ``priced``: the weights b, prices λ and t; ``order``: the
    nodes as they are taken. ``progress``: ``level`` (1,), the least cost of a set so far, as every
    set is to be proven to cost ``level[0] − margin``; ``found`` (most, n), sets that cost less and
    lower it; and ``cursor`` (4,), zeros at first but for the parts that may be looked at. A further
    call goes on from there. Returns whether the proof is complete. ``work``: the scratch of
    ``minimum_cut``, then w, z, linear, inside, lower, upper (n,), and the stack: fixed (most, n),
    ranges (most, 3), which is given up where it is full.
    """
    nodes, prices, t = priced
    level, cursor = progress[0], progress[2]
    w_part, z_part, fixed, ranges = work[1], work[2], work[7], work[8]
    n = nodes.shape[0]
    for i in range(n):
        w_part[i] = t * nodes[i] + prices[i] / t
        z_part[i] = t * nodes[i] - prices[i] / t
    while cursor[TAKEN] < n:
        if cursor[HEIGHT] == 0:
            # 1. The sets with this node and none before it, for all w they can have. Ranges are of
            #    Σ w_i, without μ, which may fall. Where s ≤ 0, G ≥ 0.
            for i in range(n):
                fixed[0, i] = 0
            for q in range(cursor[TAKEN]):
                fixed[0, order[q]] = -1
            fixed[0, order[cursor[TAKEN]]] = 1
            ranges[0, 0], ranges[0, 1], ranges[0, 2] = 0.0, 0.0, 0.0
            for i in range(n):
                if fixed[0, i] >= 0:
                    ranges[0, 1] += max(w_part[i], 0.0) if fixed[0, i] == 0 else w_part[i]
                    ranges[0, 0] += min(w_part[i], 0.0) if fixed[0, i] == 0 else w_part[i]
            ranges[0, 0] = max(ranges[0, 0], (margin - level[0]) / t)
            cursor[HEIGHT] = 1
        while cursor[HEIGHT] > 0:
            height = cursor[HEIGHT] - 1
            if cursor[LEFT] == 0 or height + 2 > fixed.shape[0]:
                return False
            cursor[LEFT] -= 1
            part = bound_subproblem(graph, priced, margin, progress, work, height)
            bounded, split_range, node, z0, at = part
            if bounded:
                cursor[HEIGHT] = height
                continue
            # 2. Two parts, one in place of the one that was looked at.
            for i in range(n):
                fixed[height + 1, i] = fixed[height, i]
            ranges[height, 2] = z0
            for q in range(3):
                ranges[height + 1, q] = ranges[height, q]
            if split_range:
                ranges[height, 1] = at
                ranges[height + 1, 0] = at
            else:
                fixed[height, node] = -1
                fixed[height + 1, node] = 1
            cursor[HEIGHT] = height + 2
        cursor[TAKEN] += 1
    return True


@kernel
def bound_subproblem(graph, priced, margin, progress, work, height):
    """Bound G on the part at ``height`` of the stack by the best tangent.

    Returns whether it is at least 0 there and, if not, how to divide the part: whether by its
    range, the node, the tangent to begin with, and where the range is divided.
    """
    nodes, prices, t = priced
    level, found, cursor = progress
    scratch, w_part, z_part, linear, inside, lower, upper, fixed, ranges = work
    n = nodes.shape[0]
    mu = level[0] - margin
    w1, w2 = ranges[height, 0] + mu / t, ranges[height, 1] + mu / t
    z0 = best_z0 = ranges[height, 2]
    best = -float("inf")
    has_lower, has_upper = False, False
    z_low = w_low = a_low = z_up = w_up = a_up = 0.0
    for _ in range(MOST_TANGENTS):
        # 1. The smallest of boundary − (w₁ + w₂) w / 4 + z₀ z / 2 over all sets, by a minimum cut.
        for i in range(n):
            linear[i] = 0.5 * z0 * z_part[i] - 0.25 * (w1 + w2) * w_part[i]
        smallest, _ = minimum_cut(graph, linear, fixed[height], inside, scratch)
        constant = 0.25 * (w1 * w2 - z0 * z0) - (0.25 * (w1 + w2) + 0.5 * z0) * mu / t
        size = w1 * w1 + w2 * w2 + z0 * z0 + (abs(w1) + abs(w2) + abs(z0)) * abs(mu) / t
        bound = smallest + constant - 8.0 * EPSILON * size
        # 2. The set itself: a new cheapest one lowers μ, and all begins anew.
        boundary, weight, price = 0.0, 0.0, 0.0
        for i in range(n):
            if inside[i] == 1:
                weight += nodes[i]
                price += prices[i]
                for p in range(graph[0][i], graph[0][i + 1]):
                    if inside[graph[1][p]] == 0:
                        boundary += graph[2][p]
        if boundary / weight - price < level[0] - margin:
            if cursor[FOUND] < found.shape[0]:
                for i in range(n):
                    found[cursor[FOUND], i] = inside[i]
                cursor[FOUND] += 1
            level[0] = boundary / weight - price
            mu = level[0] - margin
            w1, w2 = ranges[height, 0] + mu / t, ranges[height, 1] + mu / t
            has_lower, has_upper, best = False, False, -float("inf")
            continue
        if bound >= 0.0:
            return True, False, 0, 0.0, 0.0
        if bound > best:
            best, best_z0 = bound, z0
        # 3. With another z₀ this set has a + z z₀ / 2 − z₀² / 4. The best z₀ so far is where the
        #    nearest sets on either side are equal, or the z of one of them.
        w, z = t * weight + (price + mu) / t, t * weight - (price + mu) / t
        a = bound - 0.5 * z0 * z + 0.25 * z0 * z0
        if z >= z0:
            has_lower, z_low, w_low, a_low = True, z, w, a
            for i in range(n):
                lower[i] = inside[i]
        if z <= z0:
            has_upper, z_up, w_up, a_up = True, z, w, a
            for i in range(n):
                upper[i] = inside[i]
        if not has_upper:
            z0 = z_low
            continue
        if not has_lower:
            z0 = z_up
            continue
        z0 = z_low
        if z_low > z_up:
            z0 = min(max(2.0 * (a_up - a_low) / (z_low - z_up), z_up), z_low)
        promised = min(a_low + 0.5 * z_low * z0, a_up + 0.5 * z_up * z0) - 0.25 * z0 * z0
        if promised < 0.0 or promised - best <= CLOSE * abs(best):
            break

    # 4. Divide where more is lost: the chord loses between the ends of the range, the tangent
    #    between the two sets.
    if not has_lower:
        z_low, w_low = z_up, w_up
        for i in range(n):
            lower[i] = upper[i]
    if not has_upper:
        z_up, w_up = z_low, w_low
        for i in range(n):
            upper[i] = lower[i]
    node, most = -1, -1.0
    for i in range(n):
        if fixed[height, i] == 0 and lower[i] != upper[i]:
            # the node with most of its edges among those in which the sets differ
            ties = 0.0
            for p in range(graph[0][i], graph[0][i + 1]):
                j = graph[1][p]
                if fixed[height, j] == 0 and lower[j] != upper[j]:
                    ties += graph[2][p]
            if ties > most:
                node, most = i, ties
    lost = max((w2 - w_low) * (w_low - w1), (w2 - w_up) * (w_up - w1))
    wide = w2 - w1 > NARROW * abs(w2)
    if wide and (node < 0 or lost > (z_low - z_up) * (z_low - z_up)):
        middle = 0.5 * (w_low + w_up)
        if not w1 + 0.1 * (w2 - w1) <= middle <= w2 - 0.1 * (w2 - w1):
            middle = 0.5 * (w1 + w2)
        return False, True, 0, best_z0, middle - mu / t
    if node < 0:
        for i in range(n):
            if fixed[height, i] == 0:
                node = i
    # A single set is known exactly, and costs no less than the level.
    return node < 0, False, node, best_z0, 0.0


@kernel
def update_prices(rows, clusters, costs, spread, softness, prices, level, multipliers, limits):
    """Move prices λ and the level μ to where no listed set is cheaper, by Hildreth's steps.

    Minimises Σ (λ_i − λ'_i)² / spread_i + (μ − μ')² + δ² / softness from the values that come in,
    subject to λ(C_k) + μ = costs_k for the clusters, and sign · λ − extra μ ≤ rest + δ for every
    row. ``rows``: indptr, indices, signs, extra, rest; ``clusters``: indptr, indices. A step makes
    one multiplier optimal with the others held. Changes ``prices``, ``level`` (μ, δ) and
    ``multipliers``, which begin at 0; a further call goes on from there. ``limits``: sweeps, and
    the violation at which it ends. Returns the largest violation of the last sweep.
    """
    indptr, indices, signs, extra, rest = rows
    starts, members = clusters
    worst = 0.0
    for _ in range(int(limits[0])):
        worst = 0.0
        for k in range(costs.shape[0]):
            excess, norm = level[0] - costs[k], 1.0
            for p in range(starts[k], starts[k + 1]):
                excess += prices[members[p]]
                norm += spread[members[p]]
            step = excess / norm
            level[0] -= step
            for p in range(starts[k], starts[k + 1]):
                prices[members[p]] -= step * spread[members[p]]
            worst = max(worst, abs(excess))
        for r in range(rest.shape[0]):
            excess = -rest[r] - level[1] - extra[r] * level[0]
            norm = softness + extra[r] * extra[r]
            for p in range(indptr[r], indptr[r + 1]):
                excess += signs[p] * prices[indices[p]]
                norm += spread[indices[p]]
            step = max(excess / norm, -multipliers[r])
            if step == 0.0:
                continue
            multipliers[r] += step
            level[0] += step * extra[r]
            level[1] += step * softness
            for p in range(indptr[r], indptr[r + 1]):
                prices[indices[p]] -= step * signs[p] * spread[indices[p]]
            worst = max(worst, excess)
        if worst < limits[1]:
            break
    return worst

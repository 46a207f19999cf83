"""Cheapest cluster under dual prices of nodes (the pricing problem), and updates of the prices.

Let every node have a price λ_i, and define the reduced cost of a cluster C as boundary(C) / b(C) −
λ(C). No cluster has a reduced cost below μ if

    G(C) = boundary(C) − b(C) s(C) ≥ 0  for all C,   s(C) = λ(C) + μ.

With w = t b + s / t and z = t b − s / t the product b s is (w² − z²) / 4. For w in [w₁, w₂], −w² is
at least its chord −(w₁ + w₂) w + w₁ w₂, and z² is everywhere at least its tangent 2 z₀ z − z₀².
Both are sums over the nodes of C. So, for every z₀, a minimum cut bounds G from below on a range of
w; the best z₀ is where the values of two sets are equal, one with z above it and one with z below.

The search fixes nodes one by one as roots: it examines the sets that contain the root and no
earlier root. If the bound is below 0, it branches: into halves of the range of w, or into sets with
and without a node in which the two sets differ. ``t`` scales b against s and affects the work only.
"""

from __future__ import annotations

from leastcut.kernels import kernel
from leastcut.kernels.minimum_cut import minimum_cut

EPSILON = 2.0**-52

N_FOUND, N_ALLOWED, N_ROOTS, STACK_SIZE = 0, 1, 2, 3
"""The entries of the cursor: clusters found, subproblems allowed, roots completed, stack size."""

MOST_TANGENTS = 30  # tangents tried on a subproblem; two or three usually suffice

CLOSE = 1e-4  # smallest relative improvement expected of another tangent

NARROW = 1e-9  # relative width to which a range of w is bisected


@kernel
def search_clusters(graph, priced, order, margin, progress, work):
    """Search all clusters for cheap ones, within the allowed number of subproblems.

    ``graph`` is as in ``minimum_cut``; ``priced``: the weights b, prices λ and t; ``order``: the
    nodes as roots. ``progress``: ``level`` (1,), the smallest reduced cost so far: the search
    proves that no cluster costs less than ``level[0] − margin``; ``clusters`` (most, n), the sets
    that lowered it; and ``cursor`` (4,), zeros at first except for the number of subproblems
    allowed. A further call continues from there. Returns whether the proof is complete. ``work``:
    the scratch of ``minimum_cut``, then w, z, linear, inside, lower, upper (n,), and the stack:
    fixed (most, n), ranges (most, 3). The search stops if the stack is full.
    """
    nodes, prices, t = priced
    level, cursor = progress[0], progress[2]
    w_terms, z_terms, fixed, ranges = work[1], work[2], work[7], work[8]
    n = nodes.shape[0]
    for i in range(n):
        w_terms[i] = t * nodes[i] + prices[i] / t
        z_terms[i] = t * nodes[i] - prices[i] / t
    while cursor[N_ROOTS] < n:
        if cursor[STACK_SIZE] == 0:
            # 1. The sets with this root and no earlier one, for all their w. Ranges are of Σ w_i,
            #    without μ, which may fall. If s ≤ 0, G ≥ 0.
            for i in range(n):
                fixed[0, i] = 0
            for q in range(cursor[N_ROOTS]):
                fixed[0, order[q]] = -1
            fixed[0, order[cursor[N_ROOTS]]] = 1
            ranges[0, 0], ranges[0, 1], ranges[0, 2] = 0.0, 0.0, 0.0
            for i in range(n):
                if fixed[0, i] >= 0:
                    ranges[0, 1] += max(w_terms[i], 0.0) if fixed[0, i] == 0 else w_terms[i]
                    ranges[0, 0] += min(w_terms[i], 0.0) if fixed[0, i] == 0 else w_terms[i]
            ranges[0, 0] = max(ranges[0, 0], (margin - level[0]) / t)
            cursor[STACK_SIZE] = 1
        while cursor[STACK_SIZE] > 0:
            height = cursor[STACK_SIZE] - 1
            if cursor[N_ALLOWED] == 0 or height + 2 > fixed.shape[0]:
                return False
            cursor[N_ALLOWED] -= 1
            result = bound_subproblem(graph, priced, margin, progress, work, height)
            bounded, split_range, node, z0, split = result
            if bounded:
                cursor[STACK_SIZE] = height
                continue
            # 2. Branch: two subproblems, one in place of the current one.
            for i in range(n):
                fixed[height + 1, i] = fixed[height, i]
            ranges[height, 2] = z0
            for q in range(3):
                ranges[height + 1, q] = ranges[height, q]
            if split_range:
                ranges[height, 1] = split
                ranges[height + 1, 0] = split
            else:
                fixed[height, node] = -1
                fixed[height + 1, node] = 1
            cursor[STACK_SIZE] = height + 2
        cursor[N_ROOTS] += 1
    return True


@kernel
def bound_subproblem(graph, priced, margin, progress, work, height):
    """Bound G on the subproblem at ``height`` of the stack by the best tangent.

    Returns whether the bound is at least 0 and, if not, how to branch: whether on the range of w,
    the node, the initial tangent, and where to split the range.
    """
    nodes, prices, t = priced
    level, clusters, cursor = progress
    scratch, w_terms, z_terms, linear, inside, lower, upper, fixed, ranges = work
    n = nodes.shape[0]
    mu = level[0] - margin
    w1, w2 = ranges[height, 0] + mu / t, ranges[height, 1] + mu / t
    z0 = best_z0 = ranges[height, 2]
    best = -float("inf")
    has_lower, has_upper = False, False
    z_low = w_low = a_low = z_up = w_up = a_up = 0.0
    for _ in range(MOST_TANGENTS):
        # 1. The minimum of boundary − (w₁ + w₂) w / 4 + z₀ z / 2 over all sets, by a minimum cut.
        for i in range(n):
            linear[i] = 0.5 * z0 * z_terms[i] - 0.25 * (w1 + w2) * w_terms[i]
        smallest, _ = minimum_cut(graph, linear, fixed[height], inside, scratch)
        constant = 0.25 * (w1 * w2 - z0 * z0) - (0.25 * (w1 + w2) + 0.5 * z0) * mu / t
        size = w1 * w1 + w2 * w2 + z0 * z0 + (abs(w1) + abs(w2) + abs(z0)) * abs(mu) / t
        bound = smallest + constant - 8.0 * EPSILON * size
        # 2. The set itself: if it is the cheapest so far, μ falls, and the tangents restart.
        boundary, weight, price = 0.0, 0.0, 0.0
        for i in range(n):
            if inside[i] == 1:
                weight += nodes[i]
                price += prices[i]
                for p in range(graph[0][i], graph[0][i + 1]):
                    if inside[graph[1][p]] == 0:
                        boundary += graph[2][p]
        if boundary / weight - price < level[0] - margin:
            if cursor[N_FOUND] < clusters.shape[0]:
                for i in range(n):
                    clusters[cursor[N_FOUND], i] = inside[i]
                cursor[N_FOUND] += 1
            level[0] = boundary / weight - price
            mu = level[0] - margin
            w1, w2 = ranges[height, 0] + mu / t, ranges[height, 1] + mu / t
            has_lower, has_upper, best = False, False, -float("inf")
            continue
        if bound >= 0.0:
            return True, False, 0, 0.0, 0.0
        if bound > best:
            best, best_z0 = bound, z0
        # 3. For another z₀ this set has the value a + z z₀ / 2 − z₀² / 4. The best z₀ so far is
        #    where the nearest sets on either side are equal, or the z of one of them.
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
        expected = min(a_low + 0.5 * z_low * z0, a_up + 0.5 * z_up * z0) - 0.25 * z0 * z0
        if expected < 0.0 or expected - best <= CLOSE * abs(best):
            break

    # 4. Branch on the larger loss: by the chord in the range, or by the tangent between sets.
    if not has_lower:
        z_low, w_low = z_up, w_up
        for i in range(n):
            lower[i] = upper[i]
    if not has_upper:
        z_up, w_up = z_low, w_low
        for i in range(n):
            upper[i] = lower[i]
    node, largest_link = -1, -1.0
    for i in range(n):
        if fixed[height, i] == 0 and lower[i] != upper[i]:
            # The node with the largest edge weight to other nodes in which the sets differ.
            link = 0.0
            for p in range(graph[0][i], graph[0][i + 1]):
                j = graph[1][p]
                if fixed[height, j] == 0 and lower[j] != upper[j]:
                    link += graph[2][p]
            if link > largest_link:
                node, largest_link = i, link
    chord_loss = max((w2 - w_low) * (w_low - w1), (w2 - w_up) * (w_up - w1))
    is_wide = w2 - w1 > NARROW * abs(w2)
    if is_wide and (node < 0 or chord_loss > (z_low - z_up) * (z_low - z_up)):
        middle = 0.5 * (w_low + w_up)
        if not w1 + 0.1 * (w2 - w1) <= middle <= w2 - 0.1 * (w2 - w1):
            middle = 0.5 * (w1 + w2)
        return False, True, 0, best_z0, middle - mu / t
    if node < 0:
        for i in range(n):
            if fixed[height, i] == 0:
                node = i
    # A single set is evaluated exactly, and costs at least the level.
    return node < 0, False, node, best_z0, 0.0


@kernel
def update_prices(rows, clusters, costs, scale, softness, prices, level, multipliers, limits):
    """Update prices λ and the level μ so that no listed cluster is cheaper, by Hildreth's method.

    Minimizes Σ (λ_i − λ'_i)² / scale_i + (μ − μ')² + δ² / softness, where primes are the initial
    values, subject to λ(C_k) + μ = costs_k for the clusters, and sign · λ − extra μ ≤ rest + δ for
    every row. ``rows``: indptr, indices, signs, extra, rest; ``clusters``: indptr, indices. A step
    optimizes one multiplier with the others fixed. Changes ``prices``, ``level`` (μ, δ) and
    ``multipliers``, which are 0 at first; a further call continues. ``limits``: the number of
    sweeps, and the violation at which it stops. Returns the largest violation of the last sweep.
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
                norm += scale[members[p]]
            step = excess / norm
            level[0] -= step
            for p in range(starts[k], starts[k + 1]):
                prices[members[p]] -= step * scale[members[p]]
            worst = max(worst, abs(excess))
        for r in range(rest.shape[0]):
            excess = -rest[r] - level[1] - extra[r] * level[0]
            norm = softness + extra[r] * extra[r]
            for p in range(indptr[r], indptr[r + 1]):
                excess += signs[p] * prices[indices[p]]
                norm += scale[indices[p]]
            step = max(excess / norm, -multipliers[r])
            if step == 0.0:
                continue
            multipliers[r] += step
            level[0] += step * extra[r]
            level[1] += step * softness
            for p in range(indptr[r], indptr[r + 1]):
                prices[indices[p]] -= step * signs[p] * scale[indices[p]]
            worst = max(worst, excess)
        if worst < limits[1]:
            break
    return worst

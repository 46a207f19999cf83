"""Flow refinement: the best border between two clusters, from a minimum cut of the strip along it.

Moves and FM search change a border node by node; long borders, as in meshes, get stuck if every
single step raises the value. For two clusters a and b, take a strip of nodes near their common
border, about as many as may change sides within the limits, and fix all other nodes. As long as the
cluster weights w change little, an assignment of the strip to both sides has the value

    cut(a, b) (1/w_a + 1/w_b) + Σ_{i in a} (t_i/w_a − ratio_a b_i/w_a) + Σ_{i in b} (same for b),

where t_i is the weight of i's edges into third clusters. A minimum cut minimizes it. Then limits
and value are checked exactly; if they are not met, a narrower strip is tried.
"""

from __future__ import annotations

from leastcut.kernels import kernel
from leastcut.kernels.minimum_cut import minimum_cut
from leastcut.kernels.moves import HEAVY, TOLERANCE, set_sums

WIDEST, NARROWED = 4.0, 4
"""The weight of the first strip beyond the spare capacity, as a multiple of the spare capacity of a
cluster of average weight, and the number of times that the strip is narrowed. The weight is halved
each time, and is 0 in the last strip, until the result is within the limits and better."""

MOST_NODES = 20_000
"""The largest number of nodes of a strip on either side, as a flow cannot be interrupted: the
strips of one border then take at most about a second on grids."""

STRIP_VISITS = 6  # passes over the edges of a strip in addition to those of the flow


@kernel
def collect_strip(problem, labels, sides, seeds, most, start, nodes, status):
    """List nodes of a cluster from its border with another one inwards; return where the list ends.

    ``sides`` are the two clusters. Nodes are written to ``nodes`` from ``start`` on, and get 1 in
    ``status``; ``most`` is the largest weight and number of these nodes. The search starts at
    border nodes among ``seeds``. O(edges of the seeds and of the listed nodes).
    """
    indptr, indices, _, node_weights = problem
    cluster, neighbor = sides
    most_weight, most_nodes = most
    end = start
    weight = 0.0
    for q in range(seeds.shape[0]):
        i = seeds[q]
        if labels[i] != cluster or status[i] == 1:
            continue
        for p in range(indptr[i], indptr[i + 1]):
            if labels[indices[p]] == neighbor:
                if weight + node_weights[i] <= most_weight and end - start < most_nodes:
                    status[i] = 1
                    weight += node_weights[i]
                    nodes[end] = i
                    end += 1
                break
    n_expanded = start
    while n_expanded < end:
        i = nodes[n_expanded]
        n_expanded += 1
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if labels[j] != cluster or status[j] == 1:
                continue
            if weight + node_weights[j] <= most_weight and end - start < most_nodes:
                status[j] = 1
                weight += node_weights[j]
                nodes[end] = j
                end += 1
    return end


@kernel
def strip_graph(problem, labels, sides, nodes, status, local, strip, sums, next_edge):
    """Fill in the graph of the listed nodes, and their edges to other nodes; return its edges.

    ``sides`` are the two clusters a and b. ``strip`` is indptr, indices, weights, reverse, as for
    :func:`minimum_cut`. ``sums`` are ``bias``, the weight of a node's edges into the rest of b
    minus the weight of its edges into the rest of a, and ``third``, the weight of its edges into
    other clusters. ``local`` gets the position of a node in the list; ``next_edge`` is one integer
    per node. O(their edges).
    """
    indptr, indices, weights, _ = problem
    a, b = sides
    to, neighbors, capacity, reverse = strip
    bias, third = sums
    m = nodes.shape[0]
    for q in range(m):
        local[nodes[q]] = q
    # 1. Compute the row starts, and the weight of edges that leave the strip.
    to[0] = 0
    for q in range(m):
        i = nodes[q]
        inner = 0
        bias[q] = 0.0
        third[q] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if j == i:
                continue
            if status[j] == 1:
                inner += 1
            elif labels[j] == b:
                bias[q] += weights[p]
            elif labels[j] == a:
                bias[q] -= weights[p]
            else:
                third[q] += weights[p]
        to[q + 1] = to[q] + inner
    # 2. Each node, in turn, is appended to the rows of its neighbors, which are thus sorted.
    for q in range(m):
        next_edge[q] = to[q]
    for q in range(m):
        i = nodes[q]
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if j != i and status[j] == 1:
                r = local[j]
                neighbors[next_edge[r]] = q
                capacity[next_edge[r]] = weights[p]
                next_edge[r] += 1
    # 3. As rows are sorted, the reverse of each edge is the next one of the other end.
    for q in range(m):
        next_edge[q] = to[q]
    for q in range(m):
        for p in range(to[q], to[q + 1]):
            r = neighbors[p]
            reverse[p] = next_edge[r]
            next_edge[r] += 1
    return to[m]


@kernel
def refine_border(problem, state, limits, sides, seeds, width, scratch):
    """Move the border of two clusters to its best place; return (decrease, edges, try narrower).

    ``seeds`` are the nodes that were on borders of a and of b; ``width`` is the weight of the
    strips beyond the spare capacity; the last result is whether a narrower strip could help.
    Changes the state only if that lowers the value within the limits. ``scratch``: ``nodes`` and
    ``local``; the ``strip`` and the sums of :func:`strip_graph`, and costs; marks, zeros left zero,
    zeros for :func:`minimum_cut`, and its result; its scratch.
    """
    node_weights = problem[3]
    labels, boundary, cluster_weights, count, ratio, _ = state
    lightest, heaviest = limits
    nodes, local, strip, (bias, third, costs), (status, fixed, inside), flow = scratch
    to, neighbors, capacity, reverse = strip
    a, b = sides
    # 1. The nodes that may change sides.
    most = heaviest[b] - cluster_weights[b] + width, min(MOST_NODES, count[a] - 1)
    middle = collect_strip(problem, labels, (a, b), seeds[0], most, 0, nodes, status)
    most = heaviest[a] - cluster_weights[a] + width, min(MOST_NODES, count[b] - 1)
    m = collect_strip(problem, labels, (b, a), seeds[1], most, middle, nodes, status)
    stored = strip_graph(
        problem, labels, sides, nodes[:m], status, local, strip, (bias, third), flow[3]
    )
    # 2. The cost of a node on side a relative to side b, in units in which a cut edge between a and
    #    b costs its weight: leaving a counts 1 / b(a) in the value, leaving b 1 / b(b).
    factor_a = cluster_weights[b] / (cluster_weights[a] + cluster_weights[b])
    factor_b = cluster_weights[a] / (cluster_weights[a] + cluster_weights[b])
    cost_per_link = factor_a - factor_b
    cost_per_weight = ratio[a] * factor_a - ratio[b] * factor_b
    for q in range(m):
        costs[q] = bias[q] + cost_per_link * third[q] - cost_per_weight * node_weights[nodes[q]]
    # 3. The minimum cut.
    graph = to[: m + 1], neighbors[:stored], capacity[:stored], reverse[:stored]
    _, edges = minimum_cut(graph, costs[:m], fixed[:m], inside[:m], flow)
    edges += STRIP_VISITS * stored
    # 4. Compute the change of the edges between both clusters, of the edges from a into third
    #    clusters, and of the weight and number of nodes of a. Each edge of the strip is visited
    #    from both ends.
    between = 0.0
    outward = 0.0
    weight = 0.0
    count_change = 0
    moved = 0
    for q in range(m):
        status[nodes[q]] = 0
        was_in = q < middle
        is_in = inside[q] == 1
        for p in range(to[q], to[q + 1]):
            r = neighbors[p]
            if is_in != (inside[r] == 1):
                between += 0.5 * capacity[p]
            if was_in != (r < middle):
                between -= 0.5 * capacity[p]
        if is_in != was_in:
            sign = 1.0 if is_in else -1.0
            between += sign * bias[q]
            outward += sign * third[q]
            weight += sign * node_weights[nodes[q]]
            count_change += 1 if is_in else -1
            moved += 1
    if moved == 0:
        return 0.0, edges, False
    # 5. Check the limits. The remaining weight of a cluster, a difference, must be accurate.
    weight_a = cluster_weights[a] + weight
    weight_b = cluster_weights[b] - weight
    if weight_a > heaviest[a] or weight_b > heaviest[b]:
        return 0.0, edges, True
    if weight_a < max(lightest[a], (1.0 - HEAVY) * cluster_weights[a]):
        return 0.0, edges, True
    if weight_b < max(lightest[b], (1.0 - HEAVY) * cluster_weights[b]):
        return 0.0, edges, True
    # 6. Check the value.
    boundary_a = max(boundary[a] + between + outward, 0.0)
    boundary_b = max(boundary[b] + between - outward, 0.0)
    before = ratio[a] + ratio[b]
    gain = before - boundary_a / weight_a - boundary_b / weight_b
    if not gain > TOLERANCE * before:
        return 0.0, edges, True
    for q in range(m):
        labels[nodes[q]] = a if inside[q] == 1 else b
    count[a] += count_change
    count[b] -= count_change
    set_sums(a, boundary_a, weight_a, state)
    set_sums(b, boundary_b, weight_b, state)
    return gain, edges, False


@kernel
def refine_borders(problem, state, limits, pairs, listed, marks, work, scratch):
    """Improve the borders of pairs of clusters; return (decrease, improved, edges, next pair).

    ``pairs`` (m, 2) are adjacent clusters; ``listed`` is the border nodes by cluster, and the start
    of each cluster. ``marks``: pairs without an ``active`` cluster are skipped, and ``changed``
    gets 1 for clusters that change. ``work`` is the first pair, and the largest number of edges to
    visit. Changes the state.
    """
    nodes, first = listed
    active, changed = marks
    q, max_edges = work
    average = state[2].mean()
    decrease = 0.0
    improved = 0
    edges = 0
    while q < pairs.shape[0] and edges <= max_edges:
        a = pairs[q, 0]
        b = pairs[q, 1]
        q += 1
        if active[a] == 0 and active[b] == 0:
            continue
        seeds = nodes[first[a] : first[a + 1]], nodes[first[b] : first[b + 1]]
        width = WIDEST * (limits[1][a] - average)
        for step in range(NARROWED + 1):
            gain, visited, narrower = refine_border(
                problem, state, limits, (a, b), seeds, width, scratch
            )
            edges += visited
            if gain > 0.0:
                decrease += gain
                improved += 1
                changed[a] = 1
                changed[b] = 1
            if not narrower:
                break
            # The last strip is within the spare capacity, whatever nodes change sides.
            width = 0.5 * width if step < NARROWED - 1 else 0.0
    return decrease, improved, edges, q

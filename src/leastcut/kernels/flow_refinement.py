"""The best border between two clusters: a minimum cut of the strip that lies along it.

Moves and chains change a border node by node, and long borders, as meshes have them, stay where
every single step back costs something. For two clusters a and b take the nodes that are near
their common border, as many as may change sides within the limits or somewhat more, and leave all
others where they are. With weights of clusters that change little, a side for every node of the
strip is worth

    cut(a, b) (1/w_a + 1/w_b) + Σ_{i in a} (t_i/w_a − ratio_a b_i/w_a) + Σ_{i in b} (the same of b),

where t_i is the weight of i's edges into third clusters. The smallest is a minimum cut. Whether it
keeps to the limits and lowers the value is then told exactly, and else a narrower strip is tried.
"""

from __future__ import annotations

from leastcut.kernels import kernel
from leastcut.kernels.minimum_cut import minimum_cut
from leastcut.kernels.moves import HEAVY, TOLERANCE, set_sums

WIDEST, NARROWED = 4.0, 4
"""What strips may weigh to begin with beyond what there is room for, in times what the limits leave
to a cluster of average weight; it is halved, and then nothing, until what is found is within the
limits and better."""

MOST_NODES = 20_000
"""Nodes of a strip at most on either side, as nothing interrupts a flow: the strips of one border
then take a second at most, about, on grids."""

STRIP_VISITS = 6  # times that the edges of a strip are visited besides by the flow


@kernel
def collect_strip(problem, labels, sides, seeds, most, start, nodes, status):
    """List nodes of a cluster from its border with another inwards; return where they end.

    ``sides`` are the two clusters. The nodes are put into ``nodes`` from ``start`` on, and marked
    by 1 in ``status``; ``most`` is what they may weigh together, and how many they may be.
    ``seeds`` are nodes among which those on the border are looked for. O(edges of the seeds and of
    what is listed).
    """
    indptr, indices, _, node_weights = problem
    own, other = sides
    most_weight, most_nodes = most
    end = start
    weight = 0.0
    for q in range(seeds.shape[0]):
        i = seeds[q]
        if labels[i] != own or status[i] == 1:
            continue
        for p in range(indptr[i], indptr[i + 1]):
            if labels[indices[p]] == other:
                if weight + node_weights[i] <= most_weight and end - start < most_nodes:
                    status[i] = 1
                    weight += node_weights[i]
                    nodes[end] = i
                    end += 1
                break
    done = start
    while done < end:
        i = nodes[done]
        done += 1
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if labels[j] != own or status[j] == 1:
                continue
            if weight + node_weights[j] <= most_weight and end - start < most_nodes:
                status[j] = 1
                weight += node_weights[j]
                nodes[end] = j
                end += 1
    return end


@kernel
def strip_graph(problem, labels, sides, nodes, status, local, strip, sums, next_edge):
    """Fill in the graph of the listed nodes, and what ties them to others; return its edges.

    ``sides`` are the two clusters a and b. ``strip`` is indptr, indices, weights, reverse, as
    :func:`minimum_cut` takes them. ``sums`` are ``lean``, the weight of a node's edges into the
    rest of b less that into the rest of a, and ``third``, that of its edges into other clusters.
    ``local`` gets a node's place in the list, and ``next_edge`` is one integer for each.
    """
    indptr, indices, weights, _ = problem
    a, b = sides
    to, neighbors, capacity, reverse = strip
    lean, third = sums
    m = nodes.shape[0]
    for q in range(m):
        local[nodes[q]] = q
    # 1. Where the edges of every node begin, and what leads out of the strip.
    to[0] = 0
    for q in range(m):
        i = nodes[q]
        inner = 0
        lean[q] = 0.0
        third[q] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if j == i:
                continue
            if status[j] == 1:
                inner += 1
            elif labels[j] == b:
                lean[q] += weights[p]
            elif labels[j] == a:
                lean[q] -= weights[p]
            else:
                third[q] += weights[p]
        to[q + 1] = to[q] + inner
    # 2. Edges in the order of their ends: every node, in turn, enters itself with its neighbours.
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
    # 3. As neighbours ascend, the other direction of an edge is the next of the other end's.
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
    """Move the border of two clusters to the best place; return (decrease, edges, narrower).

    ``seeds`` are the nodes that were on borders of a and of b, ``width`` what the strips may weigh
    beyond what there is room for, and ``narrower`` says whether less could help. Changes the state
    where that lowers the value and keeps to the limits. ``scratch``: ``nodes`` and ``local``; the
    ``strip`` and the sums of :func:`strip_graph`, and prices; marks, zeros that are left zero,
    zeros for :func:`minimum_cut`, and what that finds; its own scratch.
    """
    node_weights = problem[3]
    labels, boundary, cluster_weights, count, ratio, _ = state
    lightest, heaviest = limits
    nodes, local, strip, (lean, third, prices), (status, fixed, inside), flow = scratch
    to, neighbors, capacity, reverse = strip
    a, b = sides
    # 1. What may change sides.
    most = heaviest[b] - cluster_weights[b] + width, min(MOST_NODES, count[a] - 1)
    middle = collect_strip(problem, labels, (a, b), seeds[0], most, 0, nodes, status)
    most = heaviest[a] - cluster_weights[a] + width, min(MOST_NODES, count[b] - 1)
    m = collect_strip(problem, labels, (b, a), seeds[1], most, middle, nodes, status)
    stored = strip_graph(
        problem, labels, sides, nodes[:m], status, local, strip, (lean, third), flow[3]
    )
    # 2. The price of a node on the side of a, beside what it is on that of b, for edges of price 1.
    #    An edge of a counts 1 / b(a) in the value, one of b 1 / b(b), and both together 1 here.
    of_a = cluster_weights[b] / (cluster_weights[a] + cluster_weights[b])
    of_b = cluster_weights[a] / (cluster_weights[a] + cluster_weights[b])
    per_third = of_a - of_b
    per_weight = ratio[a] * of_a - ratio[b] * of_b
    for q in range(m):
        prices[q] = lean[q] + per_third * third[q] - per_weight * node_weights[nodes[q]]
    # 3. The best sides.
    graph = to[: m + 1], neighbors[:stored], capacity[:stored], reverse[:stored]
    _, edges = minimum_cut(graph, prices[:m], fixed[:m], inside[:m], flow)
    edges += STRIP_VISITS * stored
    # 4. What they add to the edges between both, to those of a into third clusters, to its weight
    #    and to its nodes. Every edge of the strip is met from both ends.
    between = 0.0
    outward = 0.0
    weight = 0.0
    joined = 0
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
            between += sign * lean[q]
            outward += sign * third[q]
            weight += sign * node_weights[nodes[q]]
            joined += 1 if is_in else -1
            moved += 1
    if moved == 0:
        return 0.0, edges, False
    # 5. Within the limits? What is left of a cluster, by a difference, must keep its digits.
    weight_a = cluster_weights[a] + weight
    weight_b = cluster_weights[b] - weight
    if weight_a > heaviest[a] or weight_b > heaviest[b]:
        return 0.0, edges, True
    if weight_a < max(lightest[a], (1.0 - HEAVY) * cluster_weights[a]):
        return 0.0, edges, True
    if weight_b < max(lightest[b], (1.0 - HEAVY) * cluster_weights[b]):
        return 0.0, edges, True
    # 6. Better?
    boundary_a = max(boundary[a] + between + outward, 0.0)
    boundary_b = max(boundary[b] + between - outward, 0.0)
    before = ratio[a] + ratio[b]
    gain = before - boundary_a / weight_a - boundary_b / weight_b
    if not gain > TOLERANCE * before:
        return 0.0, edges, True
    for q in range(m):
        labels[nodes[q]] = a if inside[q] == 1 else b
    count[a] += joined
    count[b] -= joined
    set_sums(a, boundary_a, weight_a, state)
    set_sums(b, boundary_b, weight_b, state)
    return gain, edges, False


@kernel
def refine_borders(problem, state, limits, pairs, listed, marks, work, scratch):
    """Improve the borders of pairs of clusters; return (decrease, improved, edges, next pair).

    ``pairs`` (m, 2) are clusters that touch; ``listed`` are the nodes on borders by cluster, and
    where those of each begin. ``marks``: pairs of which neither is ``active`` are passed over, and
    ``changed`` gets 1 for clusters that change. ``work`` is the pair to begin with, and the edges
    that may be visited. Changes the state.
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
            # The last has room for all of it, whatever changes sides.
            width = 0.5 * width if step < NARROWED - 1 else 0.0
    return decrease, improved, edges, q

"""Shapes of random graphs and point clouds.

A shape is a function of a random generator and an approximate number of nodes that returns a
:class:`Shape`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Shape:
    """The edges of a graph with nodes 0..n-1, and optional properties.

    ``weak`` marks edges between groups, ``weights`` are the edge weights of shapes that determine
    them, and ``groups`` is the natural number of clusters, or 0.
    """

    n: int
    i: np.ndarray
    j: np.ndarray
    weak: np.ndarray | None = None
    weights: np.ndarray | None = None
    groups: int = 0


def _all_pairs(n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.triu_indices(n, 1)


def cliques(rng: np.random.Generator, n: int) -> Shape:
    """Cliques with single weak edges between some of them."""
    size = int(rng.integers(1, max(2, min(20, n // 2)) + 1))
    count = max(2, n // size)
    inner_i, inner_j = _all_pairs(size)
    start = np.arange(count)[:, None] * size
    a, b = _all_pairs(count)
    linked = rng.random(a.size) < rng.choice([0.1, 0.5, 1.0, 2.0 / count])
    a, b = a[linked], b[linked]
    i = np.concatenate([(start + inner_i).ravel(), a * size + rng.integers(size, size=a.size)])
    j = np.concatenate([(start + inner_j).ravel(), b * size + rng.integers(size, size=a.size)])
    weak = np.arange(i.size) >= i.size - a.size
    return Shape(count * size, i, j, weak=weak, groups=count)


def weak_links(rng: np.random.Generator, n: int) -> Shape:
    """Cliques with weak edges of 1e-14 to 1: small eigenvalues above the rounding error."""
    # Large enough for iterative solvers, which have most difficulties with these.
    n = int(rng.integers(400, 700)) if n > 40 else n
    shape = cliques(rng, n)
    weights = 10.0 ** (rng.uniform(-14, -4) + rng.uniform(0, 5, size=shape.i.size))
    return Shape(
        shape.n, shape.i, shape.j, weights=np.where(shape.weak, weights, 1.0), groups=shape.groups
    )


def hierarchy(rng: np.random.Generator, n: int) -> Shape:
    """Nested groups, where each level has weaker edges than the one inside it."""
    n = 2 ** max(1, int(np.log2(n)))
    i, j = _all_pairs(n)
    level = np.frexp((i ^ j).astype(float))[1]
    step = 10.0 ** -rng.uniform(0, 300 / max(1, np.log2(n)))
    keep = rng.random(i.size) < 2.0 ** (1 - level)
    return Shape(n, i[keep], j[keep], weights=step ** (level[keep] - 1.0))


def grid(rng: np.random.Generator, n: int) -> Shape:
    """A rectangular grid or torus."""
    rows = int(rng.integers(1, int(np.sqrt(n)) + 1))
    node = np.arange(rows * (n // rows)).reshape(rows, -1)
    i, j = [node[:-1].ravel(), node[:, :-1].ravel()], [node[1:].ravel(), node[:, 1:].ravel()]
    if rng.random() < 0.5:
        i, j = [*i, node[-1], node[:, -1]], [*j, node[0], node[:, 0]]
    return Shape(node.size, np.concatenate(i), np.concatenate(j))


def hypercube(rng: np.random.Generator, n: int) -> Shape:
    """A hypercube: n nodes with log2(n) neighbors each."""
    dimensions = max(1, int(np.log2(n)))
    node = np.arange(2**dimensions)
    i, j = np.tile(node, dimensions), np.concatenate([node ^ (1 << d) for d in range(dimensions)])
    return Shape(node.size, i[i < j], j[i < j])


def star(rng: np.random.Generator, n: int) -> Shape:
    """One or two hubs and their leaves."""
    hubs = min(int(rng.integers(1, 3)), n - 1)
    leaves = np.arange(hubs, n)
    i = np.concatenate([rng.integers(hubs, size=leaves.size), np.arange(hubs - 1)])
    return Shape(n, i, np.concatenate([leaves, np.arange(1, hubs)]))


def bipartite(rng: np.random.Generator, n: int) -> Shape:
    """A complete or random bipartite graph."""
    left = int(rng.integers(1, n)) if n > 1 else 1
    i, j = np.meshgrid(np.arange(left), np.arange(left, n), indexing="ij")
    keep = rng.random(i.size) < rng.choice([1.0, 0.5, min(1.0, 4.0 / n)])
    return Shape(n, i.ravel()[keep], j.ravel()[keep])


def chain(rng: np.random.Generator, n: int) -> Shape:
    """A path or ring."""
    i, j = np.arange(n - 1), np.arange(1, n)
    if n > 2 and rng.random() < 0.3:
        i, j = np.append(i, 0), np.append(j, n - 1)
    return Shape(n, i, j)


def tree(rng: np.random.Generator, n: int) -> Shape:
    """A binary or random tree."""
    child = np.arange(1, n)
    parent = (child - 1) // 2 if rng.random() < 0.5 else (rng.random(n - 1) * child).astype(int)
    return Shape(n, parent, child)


def planted(rng: np.random.Generator, n: int) -> Shape:
    """A stochastic block model."""
    block = rng.integers(rng.integers(2, 6), size=n)
    i, j = _all_pairs(n)
    inside, across = rng.uniform(0.3, 1.0), rng.uniform(0.0, 0.3)
    if n > 100:
        inside, across = inside * 100 / n, across * 100 / n
    keep = rng.random(i.size) < np.where(block[i] == block[j], inside, across)
    return Shape(n, i[keep], j[keep])


def power_law(rng: np.random.Generator, n: int) -> Shape:
    """A preferential attachment graph."""
    edges, ends = int(rng.integers(1, 4)), [0, 1]
    for node in range(2, n):
        for other in set(rng.choice(ends, size=edges).tolist()):
            ends += [node, other]
    pairs = np.array(ends[: 2 if n > 1 else 0] + ends[2:]).reshape(-1, 2)
    return Shape(n, pairs.min(axis=1), pairs.max(axis=1))


def duplicates(rng: np.random.Generator, n: int) -> Shape:
    """Copies of a few nodes with the neighbors of the originals."""
    few = max(2, n // 3)
    original = np.append(np.arange(few), rng.integers(few, size=n - few))
    i, j = _all_pairs(few)
    joined = np.zeros((few, few), dtype=bool)
    joined[i, j] = rng.random(i.size) < 0.6
    joined |= joined.T
    i, j = _all_pairs(n)
    keep = joined[original[i], original[j]] | (original[i] == original[j])
    return Shape(n, i[keep], j[keep])


def components(rng: np.random.Generator, n: int) -> Shape:
    """Many components of one to three nodes, in half of the cases with a large one."""
    sizes = rng.integers(1, 4, size=n)
    block = np.repeat(np.arange(n), sizes)[:n]
    if rng.random() < 0.5:
        block[: n // 2] = 0
    i = np.arange(n - 1)
    keep = block[:-1] == block[1:]
    return Shape(n, i[keep], i[keep] + 1)


def complete(rng: np.random.Generator, n: int) -> Shape:
    """A complete graph."""
    return Shape(n, *_all_pairs(min(n, 200)))


def loops_only(rng: np.random.Generator, n: int) -> Shape:
    """Self-loops only."""
    return Shape(n, np.arange(n), np.arange(n))


def scattered(rng: np.random.Generator, n: int) -> Shape:
    """Random pairs, including self-loops."""
    m = int(n * rng.uniform(0.5, 4))
    i, j = rng.integers(n, size=(2, m))
    return Shape(n, np.minimum(i, j), np.maximum(i, j))


def kernel(rng: np.random.Generator, n: int) -> Shape:
    """The RBF kernel of blobs, with entries down to subnormal numbers."""
    n = min(n, 200)
    centers = rng.normal(size=(int(rng.integers(2, 6)), 2)) * 10 ** rng.uniform(0, 1.6)
    points = centers[rng.integers(centers.shape[0], size=n)] + rng.normal(size=(n, 2))
    i, j = _all_pairs(n)
    weights = np.exp(-rng.choice([0.1, 0.5, 1.0]) * np.square(points[i] - points[j]).sum(axis=1))
    return Shape(n, i[weights > 0], j[weights > 0], weights=weights[weights > 0])


SHAPES: dict[str, Callable[[np.random.Generator, int], Shape]] = {
    "cliques": cliques,
    "weak links": weak_links,
    "hierarchy": hierarchy,
    "grid": grid,
    "hypercube": hypercube,
    "star": star,
    "bipartite": bipartite,
    "chain": chain,
    "tree": tree,
    "planted": planted,
    "power law": power_law,
    "duplicates": duplicates,
    "components": components,
    "complete": complete,
    "loops only": loops_only,
    "scattered": scattered,
    "kernel": kernel,
}
"""The shapes by name."""


CLOUDS: dict[str, Callable[[np.random.Generator, int, int], np.ndarray]] = {
    "normal": lambda rng, n, d: rng.normal(size=(n, d)),
    "blobs": lambda rng, n, d: (
        rng.normal(size=(n, d))
        + rng.normal(size=(4, d))[rng.integers(4, size=n)] * 10 ** rng.uniform(0, 3)
    ),
    "grid": lambda rng, n, d: rng.integers(4, size=(n, d)).astype(float),
    "tenths": lambda rng, n, d: rng.integers(4, size=(n, d)) / 10,
    "duplicates": lambda rng, n, d: rng.normal(size=(n, d))[rng.integers(max(1, n // 3), size=n)],
    "one point": lambda rng, n, d: np.full((n, d), rng.choice([0.0, 0.1, 1.0])),
    "zeros": lambda rng, n, d: rng.random((n, d)) * (rng.random((n, d)) < 0.5),
    "far": lambda rng, n, d: rng.random((n, d)) + 1e6,
}
"""Functions that return n samples of d features, by name."""

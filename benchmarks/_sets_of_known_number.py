"""Synthetic datasets with a known number of clusters: points and graphs.

A case has a name, a family, the number of clusters and a function that samples it. One half of the
cases, by a hash of their names, was used for developing the rule; the other half is reported.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import make_blobs, make_circles, make_moons, make_s_curve, make_swiss_roll

Draw = Callable[[np.random.Generator], Any]
"""Samples points (an array) or a graph (a sparse array)."""


@dataclass(frozen=True)
class Case:
    """A dataset with a known number of clusters.

    Attributes
    ----------
    family, name : str
    number : int
        The true number of clusters.
    draw : callable
        Samples points or a graph with a generator.
    is_plain : bool
        Whether the clusters are clearly separated, or there clearly is one cluster.
    """

    family: str
    name: str
    number: int
    draw: Draw
    is_plain: bool

    @property
    def hash(self) -> int:
        return zlib.crc32(f"{self.family}, {self.name}".encode())

    @property
    def was_looked_at(self) -> bool:
        """Whether the case was used for developing the rule."""
        return self.hash // 7 % 2 == 0

    def data(self) -> Any:
        """Return the points or the graph; equal in every call."""
        return self.draw(np.random.default_rng(self.hash))


def cases() -> Iterator[Case]:
    """Yield all cases."""
    for family in FAMILIES:
        for name, number, draw, is_plain in FAMILIES[family]():
            yield Case(family, name, number, draw, is_plain)


Named = Iterator[tuple[str, int, Draw, bool]]


# -- curves


def moons() -> Named:
    for n in (250, 600, 1500, 3000):
        for noise in (0.03, 0.06, 0.1, 0.13, 0.16):
            draw = partial(_sklearn, make_moons, n_samples=n, noise=noise)
            yield f"{n} points, noise {noise}", 2, draw, noise <= 0.1


def rings() -> Named:
    for n in (300, 800, 2000):
        for factor, noise in ((0.5, 0.02), (0.5, 0.05), (0.5, 0.09), (0.3, 0.08), (0.7, 0.04)):
            draw = partial(_sklearn, make_circles, n_samples=n, noise=noise, factor=factor)
            plain = noise <= 0.05 and factor <= 0.5
            yield f"{n} points, inner {factor}, noise {noise}", 2, draw, plain
        for k in (3, 4):
            for noise in (0.05, 0.12, 0.2):
                draw = partial(_rings, n=n, k=k, noise=noise)
                yield f"{k} rings, {n} points, noise {noise}", k, draw, noise < 0.1


def spirals() -> Named:
    for n in (400, 1000, 2500):
        for k in (2, 3):
            for noise in (0.1, 0.3, 0.5):
                draw = partial(_spirals, n=n, k=k, noise=noise)
                yield f"{k} arms, {n} points, noise {noise}", k, draw, noise <= 0.1


def _sklearn(make: Any, rng: np.random.Generator, **options: Any) -> np.ndarray:
    return np.asarray(make(random_state=int(rng.integers(2**31)), **options)[0])


def _rings(rng: np.random.Generator, n: int, k: int, noise: float) -> np.ndarray:
    ring = rng.choice(k, size=n, p=(np.arange(k) + 1) / (np.arange(k) + 1).sum())
    angle = rng.uniform(0, 2 * np.pi, n)
    circle = np.column_stack([np.cos(angle), np.sin(angle)]) * (ring[:, None] + 1)
    return circle + rng.normal(0, noise, (n, 2))


def _spirals(rng: np.random.Generator, n: int, k: int, noise: float) -> np.ndarray:
    arm = rng.integers(k, size=n)
    angle = np.sqrt(rng.uniform(0.05, 1, n)) * 2.2 * np.pi
    turned = angle + 2 * np.pi * arm / k
    arms = np.column_stack([np.cos(turned), np.sin(turned)]) * angle[:, None]
    return arms + rng.normal(0, noise, (n, 2))


# -- clouds


def blobs() -> Named:
    for d in (2, 3, 5, 10, 20, 50):
        for k in (2, 3, 4, 5, 7, 8, 10, 12, 15, 18, 20):
            for separation in (5.0, 8.0):
                # In high dimension the same distance is smaller relative to the width of a cloud.
                wide = separation * max(1.0, (d / 4) ** 0.25)
                size = (30, 60, 120)[(d + k + int(separation)) % 3]
                draw = partial(_clouds, sizes=[size] * k, d=d, separation=wide)
                yield f"{k} in {d} dimensions, {separation} apart", k, draw, separation > 6


def blobs_of_scikit_learn() -> Named:
    for n in (200, 500, 2000):
        for k, d in (
            (3, 2),
            (5, 2),
            (4, 5),
            (8, 5),
            (6, 10),
            (12, 10),
            (10, 20),
            (20, 30),
            (15, 50),
        ):
            draw = partial(_sklearn, make_blobs, n_samples=n, n_features=d, centers=k)
            yield f"{k} of {n} in {d} dimensions", k, draw, False


def uneven_sizes() -> Named:
    for k in (2, 3, 4, 6, 9):
        for ratio in (3.0, 10.0, 30.0):
            for d in (2, 8):
                sizes = np.maximum(900 * np.geomspace(1, 1 / ratio, k), 25).astype(int).tolist()
                draw = partial(_clouds, sizes=sizes, d=d, separation=8.0 if d == 2 else 10.0)
                yield f"{k} in {d} dimensions, up to {ratio:g} to 1", k, draw, ratio <= 10


def uneven_densities() -> Named:
    for k in (2, 3, 5, 8):
        for ratio in (2.5, 5.0, 10.0):
            for d in (2, 6):
                stds = np.geomspace(1, ratio, k).tolist()
                draw = partial(_clouds, sizes=[150] * k, d=d, separation=7.0, stds=stds)
                yield f"{k} in {d} dimensions, widths up to {ratio:g} to 1", k, draw, ratio <= 5
    for n in (300, 500, 1500):
        draw = partial(_sklearn, make_blobs, n_samples=n, cluster_std=[1.0, 2.5, 0.5], centers=3)
        yield f"scikit-learn's three, {n} points", 3, draw, False


def stretched() -> Named:
    for k in (2, 3, 4, 6):
        for n in (300, 1000, 2000):
            draw = partial(_stretched, n=n, k=k)
            yield f"{k} of {n} points", k, draw, True
    for seed in (170, 30, 8):
        draw = partial(_scikit_learn_stretched, seed=seed)
        yield f"scikit-learn's three, seed {seed}", 3, draw, seed == 170


def far_apart() -> Named:
    for k in (2, 3, 5, 9, 14, 20):
        for d in (2, 15):
            for size in (40, 150):
                draw = partial(_clouds, sizes=[size] * k, d=d, separation=40.0)
                yield f"{k} of {size} points in {d} dimensions", k, draw, True


def among_noise() -> Named:
    for k in (2, 3, 5, 8):
        for d in (2, 4):
            for part in (0.03, 0.1):
                draw = partial(_among_noise, k=k, d=d, part=part)
                yield f"{k} in {d} dimensions, {part:.0%} noise", k, draw, False


def mixed_shapes() -> Named:
    for n in (500, 1500):
        for name, parts in {
            "ring round a cloud": ("ring", "cloud"),
            "line and two clouds": ("line", "far cloud", "low cloud"),
            "ring, cloud and line": ("ring", "cloud", "line"),
            "two squares": ("square", "far square"),
            "square and ring": ("far square", "ring"),
        }.items():
            draw = partial(_shapes, parts=parts, n=n)
            yield f"{name}, {n} points", len(parts), draw, True


def _clouds(
    rng: np.random.Generator,
    sizes: list[int],
    d: int,
    separation: float,
    stds: list[float] | None = None,
) -> np.ndarray:
    """Sample Gaussians with distances of at least ``separation`` times their mean width."""
    widths = np.ones(len(sizes)) if stds is None else np.array(stds)
    side, centers = separation * widths.max(), np.zeros((0, d))
    while len(centers) < len(sizes):
        for _ in range(200):
            center = rng.uniform(0, side, d)
            i = len(centers)
            far = np.linalg.norm(centers - center, axis=1)
            if np.all(far >= separation * (widths[:i] + widths[i]) / 2):
                centers = np.vstack([centers, center])
                break
        else:
            # The box is full: start again with a larger one.
            side, centers = side * 1.15, np.zeros((0, d))
    clouds = [
        rng.normal(center, width, (size, d))
        for size, center, width in zip(sizes, centers, widths, strict=True)
    ]
    return np.concatenate(clouds)


def _stretched(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    clouds = _clouds(rng, [n // k] * k, 2, 8.0)
    return np.asarray(clouds @ np.array([[0.6, -0.6], [-0.4, 0.8]]))


def _scikit_learn_stretched(rng: np.random.Generator, seed: int) -> np.ndarray:
    X, _ = make_blobs(n_samples=500, random_state=seed)
    return np.asarray(X @ np.array([[0.6, -0.6], [-0.4, 0.8]]))


def _among_noise(rng: np.random.Generator, k: int, d: int, part: float) -> np.ndarray:
    X = _clouds(rng, [200] * k, d, 10.0)
    n_noise = int(part * len(X))
    return np.vstack([X, rng.uniform(X.min(axis=0), X.max(axis=0), (n_noise, d))])


def _shapes(rng: np.random.Generator, parts: tuple[str, ...], n: int) -> np.ndarray:
    size = n // len(parts)
    shapes = {
        "ring": lambda: _rings(rng, size, 1, 0.03) * 3,
        "cloud": lambda: rng.normal(0, 0.5, (size, 2)),
        "line": lambda: np.column_stack([rng.uniform(-4, 4, size), 5 + rng.normal(0, 0.1, size)]),
        "far cloud": lambda: rng.normal((-3, 0), 0.7, (size, 2)),
        "low cloud": lambda: rng.normal((3, 0), 0.7, (size, 2)),
        "square": lambda: rng.uniform(0, 4, (size, 2)),
        "far square": lambda: rng.uniform((5, 0), (9, 4), (size, 2)),
    }
    return np.concatenate([shapes[part]() for part in parts])


# -- one cluster


def one_cloud() -> Named:
    for n in (200, 700, 2000):
        for d in (1, 2, 3, 5, 10, 30):
            yield f"Gaussian, {n} in {d} dimensions", 1, partial(_normal, n=n, d=d), True
            yield f"uniform, {n} in {d} dimensions", 1, partial(_uniform, n=n, d=d), True
        for d in (2, 5):
            draw = partial(_heavy_tailed, n=n, d=d)
            yield f"heavy tails, {n} in {d} dimensions", 1, draw, False
            draw = partial(_exponential, n=n, d=d)
            yield f"exponential, {n} in {d} dimensions", 1, draw, False


def one_shape() -> Named:
    for n in (300, 1000, 2500):
        shapes: dict[str, Draw] = {
            "line": partial(_line, n=n),
            "long rectangle": partial(_rectangle, n=n),
            "lattice": partial(_lattice, n=n),
            "ring": partial(_rings, n=n, k=1, noise=0.05),
            "wide ring": partial(_wide_ring, n=n),
            "spiral": partial(_spirals, n=n, k=1, noise=0.1),
            "swiss roll": partial(_sklearn, make_swiss_roll, n_samples=n, noise=0.1),
            "S curve": partial(_sklearn, make_s_curve, n_samples=n, noise=0.02),
            "sphere": partial(_sphere, n=n),
            "cross": partial(_cross, n=n),
            "stretched Gaussian": partial(_long_normal, n=n),
        }
        for name, draw in shapes.items():
            yield f"{name}, {n} points", 1, draw, True


def _normal(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.normal(size=(n, d))


def _uniform(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.random((n, d))


def _heavy_tailed(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.normal(size=(n, d)) / np.sqrt(rng.chisquare(3, (n, 1)) / 3)


def _exponential(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.exponential(size=(n, d))


def _line(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.column_stack([rng.uniform(0, 10, n), rng.normal(0, 0.1, n)])


def _rectangle(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.random((n, 2)) * (5, 1)


def _lattice(rng: np.random.Generator, n: int) -> np.ndarray:
    side = int(np.sqrt(n))
    return np.indices((side, side)).reshape(2, -1).T + rng.normal(0, 1e-3, (side * side, 2))


def _wide_ring(rng: np.random.Generator, n: int) -> np.ndarray:
    angle, radius = rng.uniform(0, 2 * np.pi, n), np.sqrt(rng.uniform(1, 4, n))
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def _sphere(rng: np.random.Generator, n: int) -> np.ndarray:
    X = rng.normal(size=(n, 3))
    return np.asarray(X / np.linalg.norm(X, axis=1, keepdims=True))


def _cross(rng: np.random.Generator, n: int) -> np.ndarray:
    bar = rng.uniform((-3, -0.4), (3, 0.4), (n, 2))
    bar[: n // 2] = bar[: n // 2, ::-1]
    return bar


def _long_normal(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.normal(size=(n, 2)) * (6, 1)


# -- graphs


def planted_partitions() -> Named:
    for k in (2, 3, 4, 6, 10, 15):
        for n, degree, strength in (
            (600, 20, 0.8), (1500, 12, 0.8), (3000, 16, 0.7), (1000, 30, 0.6), (2000, 20, 0.5),
        ):  # fmt: skip
            # The fraction ``strength`` of the edges is inside blocks, plus those inside by chance.
            draw = partial(_planted, sizes=[n // k] * k, degree=degree, strength=strength)
            # The eigenvalue of a block is detectable if it is sufficiently above 1/√degree.
            clear = strength * np.sqrt(degree)
            yield f"{k} blocks of {n}, {degree} edges, {strength}", k, draw, bool(clear > 2.5)


def weak_partitions() -> Named:
    for k in (2, 3, 4, 6):
        for n, degree, above in ((1000, 8, 1.6), (2500, 12, 1.5), (3000, 25, 1.4), (2000, 6, 1.8)):
            draw = partial(
                _planted, sizes=[n // k] * k, degree=degree, strength=above / np.sqrt(degree)
            )
            yield f"{k} blocks of {n}, {degree} edges, {above} times the threshold", k, draw, False


def uneven_partitions() -> Named:
    for k in (2, 3, 5, 8):
        for n, degree, strength in ((1500, 20, 0.75), (2500, 30, 0.6)):
            sizes = (n * np.geomspace(1, 4, k) / np.geomspace(1, 4, k).sum()).astype(int).tolist()
            draw = partial(_planted, sizes=sizes, degree=degree, strength=strength)
            yield f"{k} uneven blocks of {n}, {strength}", k, draw, strength > 0.7
            draw = partial(_planted, sizes=sizes, degree=degree, strength=strength, spread=0.5)
            yield f"{k} uneven blocks of {n}, {strength}, uneven degrees", k, draw, False
            draw = partial(
                _planted, sizes=[n // k] * k, degree=degree, strength=strength, spread=0.5
            )
            yield f"{k} blocks of {n}, {strength}, uneven degrees", k, draw, strength > 0.7
            draw = partial(
                _planted, sizes=[n // k] * k, degree=degree, strength=strength, weighted=True
            )
            yield f"{k} blocks of {n}, {strength}, weights", k, draw, strength > 0.7


def lfr_graphs() -> Named:
    for n, mean, least in ((500, 15, 50), (1000, 20, 80), (2000, 20, 150)):
        for mixing in (0.1, 0.2, 0.3, 0.4, 0.5):
            for copy in range(2):
                seed = n + int(100 * mixing) + copy
                number, matrix = _lfr(n, mean, least, mixing, seed)
                name = f"{n} nodes, mixing {mixing}, {copy}"
                yield name, number, partial(_given, matrix=matrix), mixing <= 0.3


def one_network() -> Named:
    for n in (200, 800, 2500):
        for degree in (6, 12, 30):
            draw = partial(_planted, sizes=[n], degree=degree, strength=0.0)
            yield f"random, {n} nodes, {degree} edges", 1, draw, True
            draw = partial(_planted, sizes=[n], degree=degree, strength=0.0, spread=0.6)
            yield f"random, {n} nodes, {degree} edges, uneven", 1, draw, True
            draw = partial(_regular, n=n, degree=degree)
            yield f"regular, {n} nodes, {degree} edges", 1, draw, True
        draw = partial(_preferential, n=n, edges=4)
        yield f"preferential attachment, {n} nodes", 1, draw, True
        draw = partial(_small_world, n=n)
        yield f"small world, {n} nodes", 1, draw, False
        draw = partial(_grid, rows=int(n**0.5), columns=int(n**0.5))
        yield f"grid, {n} nodes", 1, draw, False
        draw = partial(_grid, rows=4, columns=n // 4)
        yield f"strip, {n} nodes", 1, draw, False


def rings_of_cliques() -> Named:
    for k in (2, 4, 7, 12, 20):
        for size in (5, 8, 15, 30):
            yield f"{k} cliques of {size}", k, partial(_cliques, k=k, size=size), True


def _given(rng: np.random.Generator, matrix: sp.csr_array) -> sp.csr_array:
    return matrix


def _planted(
    rng: np.random.Generator,
    sizes: list[int],
    degree: float,
    strength: float,
    spread: float = 0.0,
    weighted: bool = False,
) -> sp.csr_array:
    """Sample edges, a fraction of them inside blocks, with log-normal factors of nodes."""
    n = sum(sizes)
    block = np.repeat(np.arange(len(sizes)), sizes)
    pull = np.exp(rng.normal(0, spread, n))
    n_edges = int(n * degree / 2)
    i = rng.choice(n, n_edges, p=pull / pull.sum())
    j = rng.choice(n, n_edges, p=pull / pull.sum())
    inside = np.flatnonzero(rng.random(n_edges) < strength)
    for k in range(len(sizes)):
        members = np.flatnonzero(block == k)
        here = inside[block[i[inside]] == k]
        j[here] = rng.choice(members, here.size, p=pull[members] / pull[members].sum())
    weights = rng.exponential(size=n_edges) if weighted else np.ones(n_edges)
    return _from_edges(i, j, n, weights)


def _from_edges(i: Any, j: Any, n: int, weights: np.ndarray | None = None) -> sp.csr_array:
    i, j = np.asarray(i), np.asarray(j)
    proper = i != j
    weights = np.ones(len(i)) if weights is None else weights
    half = sp.csr_array(sp.coo_array((weights[proper], (i[proper], j[proper])), shape=(n, n)))
    both = sp.csr_array(half + half.T)
    if np.all(weights == 1.0):
        both.data[:] = 1.0
    component = sp.csgraph.connected_components(both, directed=False)[1]
    # Remove isolated nodes, which are not clusters.
    keep = np.flatnonzero(np.bincount(component)[component] > 1)
    return sp.csr_array(both[keep][:, keep])


def _lfr(n: int, mean: int, least: int, mixing: float, seed: int) -> tuple[int, sp.csr_array]:
    import networkx

    graph = networkx.LFR_benchmark_graph(
        n, 3.0, 1.5, mixing, average_degree=mean, max_degree=3 * mean,
        min_community=least, max_community=n // 3, seed=seed, max_iters=5000, tol=1e-5,
    )  # fmt: skip
    number = len({frozenset(graph.nodes[v]["community"]) for v in graph})
    edges = np.array([(i, j) for i, j in graph.edges if i != j])
    return number, _from_edges(edges[:, 0], edges[:, 1], n)


def _regular(rng: np.random.Generator, n: int, degree: int) -> sp.csr_array:
    import networkx

    edges = np.array(networkx.random_regular_graph(degree, n, seed=int(rng.integers(2**31))).edges)
    return _from_edges(edges[:, 0], edges[:, 1], n)


def _preferential(rng: np.random.Generator, n: int, edges: int) -> sp.csr_array:
    import networkx

    pairs = np.array(networkx.barabasi_albert_graph(n, edges, seed=int(rng.integers(2**31))).edges)
    return _from_edges(pairs[:, 0], pairs[:, 1], n)


def _small_world(rng: np.random.Generator, n: int) -> sp.csr_array:
    import networkx

    seed = int(rng.integers(2**31))
    edges = np.array(networkx.watts_strogatz_graph(n, 10, 0.1, seed=seed).edges)
    return _from_edges(edges[:, 0], edges[:, 1], n)


def _grid(rng: np.random.Generator, rows: int, columns: int) -> sp.csr_array:
    node = np.arange(rows * columns).reshape(rows, columns)
    i = np.concatenate((node[:-1].reshape(-1), node[:, :-1].reshape(-1)))
    j = np.concatenate((node[1:].reshape(-1), node[:, 1:].reshape(-1)))
    return _from_edges(i, j, rows * columns)


def _cliques(rng: np.random.Generator, k: int, size: int) -> sp.csr_array:
    inside = np.array([(a, b) for a in range(size) for b in range(a)])
    edges = np.concatenate([inside + c * size for c in range(k)])
    joins = np.array([(c * size, (c + 1) % k * size + 1) for c in range(k)])
    edges = np.concatenate([edges, joins])
    return _from_edges(edges[:, 0], edges[:, 1], k * size)


FAMILIES: dict[str, Callable[[], Named]] = {
    "moons": moons,
    "rings": rings,
    "spirals": spirals,
    "blobs": blobs,
    "blobs of scikit-learn": blobs_of_scikit_learn,
    "uneven sizes": uneven_sizes,
    "uneven densities": uneven_densities,
    "stretched": stretched,
    "far apart": far_apart,
    "among noise": among_noise,
    "mixed shapes": mixed_shapes,
    "one cloud": one_cloud,
    "one shape": one_shape,
    "planted partitions": planted_partitions,
    "weak partitions": weak_partitions,
    "uneven partitions": uneven_partitions,
    "LFR graphs": lfr_graphs,
    "one network": one_network,
    "rings of cliques": rings_of_cliques,
}
"""The families by name, each a generator of (name, number, draw, is_plain)."""

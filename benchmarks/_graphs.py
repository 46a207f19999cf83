"""Graphs for the partition benchmarks; graphs whose files are missing are skipped.

``reproduction.datasets`` finds the paper's datasets. The 70,000 images of Fashion-MNIST come from
the Debian package ``dataset-fashion-mnist``; their neighbor search takes minutes, so the graph is
cached in LEASTCUT_CACHE (default ~/.cache/leastcut).
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree

import leastcut
from reproduction import datasets

IMAGES = Path("/usr/share/datasets/fashion-mnist")
PAPER_CLUSTERS = {
    "jaffe": 10, "umist": 20, "orl": 40, "yale": 15, "coil20": 20, "msra": 12, "wine": 3,
    "glass": 6, "segment": 7, "usps": 10, "fashion": 10,
}  # fmt: skip


def paper_graphs(names: list[str] | None = None) -> Iterator[tuple[str, sp.csr_array, int]]:
    """Yield the graphs of the paper's protocol with their numbers of clusters."""
    for name in names or PAPER_CLUSTERS:
        try:
            X = datasets.load(name, download=False).X
        except FileNotFoundError:
            continue
        graph = leastcut.adaptive_neighbors_graph(X / X.max(), n_neighbors=10, offset=1e-6)
        yield name, graph, PAPER_CLUSTERS[name]


def hard_graphs(quick: bool = False) -> Iterator[tuple[str, sp.csr_array, int]]:
    """Yield graphs without samples: blocks, grids, hubs, uneven clusters, many clusters."""
    scale = 4 if quick else 1
    yield "planted blocks, near the threshold", planted(4000 // scale, 4, 7, 5), 4
    yield "planted blocks", planted(6000 // scale, 10, 8, 3), 10
    yield "grid, 2 clusters", grid(70 // scale, 70), 2
    yield "grid, 20 clusters", grid(200 // scale, 50), 20
    yield "power law", power_law(5000 // scale, 3), 8
    yield "uneven sizes", uneven(20_000 // scale), 6
    if not quick:
        yield "grid, 200 clusters", grid(100, 100), 200
        yield "planted blocks, 200 clusters", planted(10_000, 200, 12, 3), 200


def fashion_graph() -> sp.csr_array | None:
    """Return the 10-NN graph of all 70,000 images, or None if the package is not installed."""
    kept = Path(os.environ.get("LEASTCUT_CACHE", "~/.cache/leastcut")).expanduser()
    path = kept / "fashion70k.npz"
    if not path.exists():
        if not IMAGES.exists():
            return None
        parts = []
        for name in ("train", "t10k"):
            with gzip.open(IMAGES / f"{name}-images-idx3-ubyte.gz") as file:
                parts.append(np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784))
        X = np.concatenate(parts) / 255.0
        kept.mkdir(parents=True, exist_ok=True)
        sp.save_npz(path, leastcut.adaptive_neighbors_graph(X, n_neighbors=10, offset=1e-6))
    return sp.csr_array(sp.load_npz(path))


def points_graph(n: int, n_neighbors: int = 10, order: str = "random") -> sp.csr_array:
    """Return the symmetric k-NN graph of n uniform points in the unit square, all weights 1.

    With ``order="spatial"`` points are sorted along Morton's curve, so that close points have close
    indices.
    """
    points = np.random.default_rng(0).random((n, 2))
    if order == "spatial":
        points = points[np.argsort(_along_the_curve(points), kind="stable")]
    neighbors = cKDTree(points).query(points, k=n_neighbors + 1, workers=-1)[1][:, 1:]
    columns = neighbors.astype(np.int32).reshape(-1)
    rows = np.arange(0, n * n_neighbors + 1, n_neighbors, dtype=np.int32)
    directed = sp.csr_array((np.ones(columns.size), columns, rows), shape=(n, n))
    return sp.csr_array(directed.maximum(directed.T))


def _along_the_curve(points: np.ndarray) -> np.ndarray:
    """Return positions on Morton's curve: the interleaved bits of x and y."""
    cells = (points * 2**16).astype(np.int64)
    code = np.zeros(len(points), dtype=np.int64)
    for bit in range(16):
        for axis in range(2):
            code |= (cells[:, axis] >> bit & 1) << (2 * bit + axis)
    return code


def planted(n: int, c: int, inside: float, across: float) -> sp.csr_array:
    """Return c equal blocks, with random neighbors inside each block and anywhere."""
    rng = np.random.default_rng(0)
    size = n // c
    within, between = int(n * inside / 2), int(n * across / 2)
    block = rng.integers(c, size=within) * size
    i = np.concatenate((block + rng.integers(size, size=within), rng.integers(n, size=between)))
    j = np.concatenate((block + rng.integers(size, size=within), rng.integers(n, size=between)))
    return _largest_component(i, j, n)


def grid(rows: int, columns: int) -> sp.csr_array:
    """Return a rectangular grid."""
    node = np.arange(rows * columns).reshape(rows, columns)
    i = np.concatenate((node[:-1].reshape(-1), node[:, :-1].reshape(-1)))
    j = np.concatenate((node[1:].reshape(-1), node[:, 1:].reshape(-1)))
    return _largest_component(i, j, rows * columns)


def power_law(n: int, edges: int) -> sp.csr_array:
    """Return a preferential attachment graph with ``edges`` edges per new node."""
    rng = np.random.default_rng(0)
    ends = [0, 1]
    for node in range(2, n):
        for other in rng.choice(ends, size=edges):
            ends += [node, int(other)]
    pairs = np.array(ends).reshape(-1, 2)
    return _largest_component(pairs[:, 0], pairs[:, 1], n)


def uneven(n: int) -> sp.csr_array:
    """Return the 10-NN graph of six overlapping Gaussians, each three times the previous size."""
    rng = np.random.default_rng(1)
    sizes = (n * 3.0 ** np.arange(6) / sum(3.0 ** np.arange(6))).astype(int)
    centres = rng.uniform(-9, 9, (6, 2))
    clouds = [
        rng.normal(centre, 0.03 * np.sqrt(size), (size, 2))
        for size, centre in zip(sizes, centres, strict=True)
    ]
    points = np.concatenate(clouds)
    near = cKDTree(points).query(points, k=11)[1][:, 1:]
    return _largest_component(np.repeat(np.arange(len(points)), 10), near.reshape(-1), len(points))


def _largest_component(i: np.ndarray, j: np.ndarray, n: int) -> sp.csr_array:
    """Return the largest component of the simple graph of these edges."""
    proper = i != j
    half = sp.coo_array((np.ones(int(proper.sum())), (i[proper], j[proper])), shape=(n, n)).tocsr()
    both = half.maximum(half.T).tocsr()
    both.data[:] = 1.0
    component = sp.csgraph.connected_components(both, directed=False)[1]
    keep = np.flatnonzero(component == np.bincount(component).argmax())
    graph = sp.csr_array(both[keep][:, keep])
    indices, indptr = graph.indices.astype(np.int32), graph.indptr.astype(np.int32)
    return sp.csr_array((graph.data, indices, indptr), shape=graph.shape)

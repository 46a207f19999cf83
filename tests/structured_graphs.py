"""Graphs with difficult spectra, and their eigenvalues from dense solvers."""

from __future__ import annotations

from functools import cache

import numpy as np
import scipy.sparse as sp
from conftest import knn_graph

import leastcut

CUT_NAMES = ("ratio", "normalized")


def path_graph(n: int) -> sp.csr_array:
    return sp.csr_array(sp.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1]))


def tree(levels: int) -> sp.csr_array:
    """A complete binary tree, whose eigenvalues are nearly all repeated."""
    n = 2**levels - 1
    child = np.arange(1, n)
    half = sp.coo_array((np.ones(n - 1), (child, (child - 1) // 2)), shape=(n, n)).tocsr()
    return sp.csr_array(half + half.T)


def torus(side: int) -> sp.csr_array:
    """A square torus, whose eigenvalues repeat four and eight times."""
    ring = sp.lil_array(path_graph(side))
    ring[0, -1] = ring[-1, 0] = 1.0
    one = sp.eye_array(side)
    return sp.csr_array(sp.kron(ring, one) + sp.kron(one, ring))


def hub_of_cliques(n_cliques: int, size: int) -> sp.csr_array:
    """Equal cliques connected to one hub: an eigenvalue of multiplicity n_cliques - 1."""
    n = n_cliques * size + 1
    graph = np.zeros((n, n))
    for k in range(n_cliques):
        part = slice(k * size, (k + 1) * size)
        graph[part, part] = 1.0 - np.eye(size)
        graph[k * size, -1] = graph[-1, k * size] = 1.0
    return sp.csr_array(graph)


def cloud_graph(n: int, dimensions: int, seed: int = 0) -> sp.csr_array:
    return knn_graph(np.random.default_rng(seed).random((n, dimensions)))


def heavy_loops() -> sp.csr_array:
    """A graph with heavy self-loops, which affect the normalized cut but not L."""
    loops = 10.0 ** np.random.default_rng(4).uniform(0, 3, 500)
    return sp.csr_array(cloud_graph(500, 3) + sp.diags_array(loops))


def islands() -> sp.csr_array:
    """Three components large enough for iterative solvers, a triangle and two nodes with loops."""
    rest = np.zeros((5, 5))
    rest[:3, :3] = 1.0
    rest[3, 3] = rest[4, 4] = 2.0
    blocks = [cloud_graph(300, 2, 1), rest, cloud_graph(260, 8, 2), torus(16)]
    order = np.random.default_rng(3).permutation(821)
    return sp.csr_array(sp.csr_array(sp.block_diag(blocks))[order][:, order])


STRUCTURED = {
    "tree": tree(9),
    "torus": torus(24),
    "hub of cliques": hub_of_cliques(12, 40),
    "plane": cloud_graph(600, 2),
    "space": cloud_graph(600, 10),
    "islands": islands(),
    "heavy loops": heavy_loops(),
}


def true_eigenvalues(graph, cut) -> np.ndarray:
    return np.linalg.eigvalsh(leastcut.operator(graph, cut).toarray())


@cache
def structured_eigenvalues(name: str, cut: str) -> np.ndarray:
    return true_eigenvalues(STRUCTURED[name], cut)


def check_smallest(relaxation, graph, cut, truth: np.ndarray, tol: float) -> None:
    """Assert that eigenpairs are orthonormal, accurate, sorted and the c smallest."""
    values, vectors = relaxation.eigenvalues, relaxation.eigenvectors
    matrix = leastcut.operator(graph, cut)
    scale = max(float(abs(matrix).max()), np.finfo(float).tiny)
    assert relaxation.converged
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(values.size), atol=1e-9)
    np.testing.assert_allclose(matrix @ vectors / scale, vectors * values / scale, atol=tol)
    np.testing.assert_array_equal(relaxation.operator_product, matrix @ vectors)
    assert (np.diff(values) >= 0).all()
    np.testing.assert_allclose(values / scale, truth[: values.size] / scale, atol=tol)

"""Repeated eigenvalues: missed copies and seconds of leastcut's Lanczos and of SciPy's.

A Krylov space of one start vector contains one vector of each eigenspace, so ``eigsh`` returns too
few copies of a repeated eigenvalue, and its residuals do not show that. The first part counts the
seeds for which a solver's sum of eigenvalues is too large, on graphs whose spectrum is known from
LAPACK. The second part times the remedy for ``eigsh``, repeating it in the complement of the known
eigenvectors until nothing smaller is found, and ``relax`` with the same kind of solver.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, eigsh, splu

import leastcut
from benchmarks._graphs import points_graph

TOLERANCE = 1e-9
"""The default of ``relax``."""

SHIFT = 1e-9
"""Shift added before the factorization, as in ``relax``."""

CLEARLY = 1e-6
"""Relative excess of a sum of eigenvalues above which a copy counts as missed."""


def tree(depth: int) -> sp.csr_array:
    """Return the binary tree with 2^depth - 1 nodes."""
    child = np.arange(1, 2**depth - 1)
    return _graph((child - 1) // 2, child, 2**depth - 1)


def torus(side: int) -> sp.csr_array:
    """Return a square grid with periodic boundary."""
    node = np.arange(side * side).reshape(side, side)
    right, below = np.roll(node, -1, axis=1), np.roll(node, -1, axis=0)
    i = np.concatenate([node.reshape(-1)] * 2)
    return _graph(i, np.concatenate([right.reshape(-1), below.reshape(-1)]), side * side)


def _graph(i: np.ndarray, j: np.ndarray, n: int) -> sp.csr_array:
    half = sp.coo_array((np.ones(i.size), (i, j)), shape=(n, n)).tocsr()
    return sp.csr_array(half + half.T)


def scipy_once(matrix: sp.csr_array, count: int, seed: int, invert: bool) -> np.ndarray:
    """Return the smallest eigenvalues by one call of ``eigsh``."""
    apply, back = _operator(matrix, invert)
    start = np.random.default_rng(seed).standard_normal(matrix.shape[0])
    return np.sort(back(eigsh(apply, count, which="LA", tol=TOLERANCE, v0=start)[0]))


def scipy_repeated(matrix: sp.csr_array, count: int, seed: int, invert: bool) -> np.ndarray:
    """Repeat ``eigsh`` in the complement until nothing smaller is found."""
    apply, back = _operator(matrix, invert)
    rng = np.random.default_rng(seed)
    n = matrix.shape[0]
    start = rng.standard_normal(n)
    top, vectors = eigsh(apply, count, which="LA", tol=TOLERANCE, v0=start)
    while True:
        known = vectors

        def outside(x: np.ndarray, known: np.ndarray = known) -> np.ndarray:
            x = x - known @ (known.T @ x)
            y = apply @ x
            return np.asarray(y - known @ (known.T @ y))

        rest = LinearOperator((n, n), matvec=outside, dtype=np.float64)
        start = rng.standard_normal(n)
        more, directions = eigsh(rest, 1, which="LA", tol=TOLERANCE, v0=start)
        if more[0] <= top.min() * (1.0 + 10.0 * TOLERANCE):
            return np.sort(back(top))
        top, vectors = np.append(top, more), np.column_stack([vectors, directions])
        best = np.argsort(-top)[:count]
        top, vectors = top[best], vectors[:, best]


def _operator(matrix: sp.csr_array, invert: bool) -> tuple[Any, Callable[..., np.ndarray]]:
    """Return an operator with the wanted eigenvalues at its upper end, and the inverse map."""
    n = matrix.shape[0]
    if not invert:
        return 2.0 * sp.eye_array(n, format="csr") - matrix, lambda top: 2.0 - top
    shifted = sp.csc_array(matrix + SHIFT * sp.eye_array(n, format="csr"))
    factor = splu(shifted, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
    apply = LinearOperator((n, n), matvec=factor.solve, dtype=np.float64)
    return apply, lambda top: 1.0 / top - SHIFT


def missed(name: str, graph: sp.csr_array, count: int, n_seeds: int) -> dict[str, Any]:
    """Count the seeds for which each solver misses a copy of an eigenvalue."""
    matrix = leastcut.operator(graph)
    truth = scipy.linalg.eigh(matrix.toarray(), eigvals_only=True)[:count].sum()

    def too_large(values: np.ndarray) -> bool:
        return bool(values.sum() > truth * (1.0 + CLEARLY))

    def relaxed(seed: int, solver: str) -> np.ndarray:
        return leastcut.relax(graph, count, solver=solver, random_state=seed).eigenvalues

    seeds = range(n_seeds)
    return {
        "graph": name,
        "n_clusters": count,
        "seeds": n_seeds,
        "eigsh": sum(too_large(scipy_once(matrix, count, s, False)) for s in seeds),
        "eigsh_inverted": sum(too_large(scipy_once(matrix, count, s, True)) for s in seeds),
        "eigsh_repeated": sum(too_large(scipy_repeated(matrix, count, s, False)) for s in seeds),
        "relax_lanczos": sum(too_large(relaxed(s, "lanczos")) for s in seeds),
        "relax_shift_invert": sum(too_large(relaxed(s, "shift_invert")) for s in seeds),
    }


def timed(name: str, graph: sp.csr_array, count: int) -> dict[str, Any]:
    """Return the minimum of three alternating times of ``relax`` and of repeated ``eigsh``."""
    matrix = leastcut.operator(graph)
    row: dict[str, Any] = {"graph": name, "n": graph.shape[0], "n_clusters": count}
    for solver, invert in (("lanczos", False), ("shift_invert", True)):
        ours, theirs = [], []
        for seed in range(3):
            began = time.perf_counter()
            leastcut.relax(graph, count, solver=solver, random_state=seed)
            between = time.perf_counter()
            scipy_repeated(matrix, count, seed, invert)
            ours.append(between - began)
            theirs.append(time.perf_counter() - between)
        row[f"seconds_{solver}"] = round(min(ours), 4)
        row[f"eigsh_repeated_over_{solver}"] = round(min(theirs) / min(ours), 2)
    return row


def run(quick: bool = False) -> dict[str, Any]:
    """Return missed copies and times."""
    deep, side, seeds = (8, 16, 2) if quick else (11, 45, 10)
    repeating = [("binary tree", tree(deep)), ("torus", torus(side))]
    plain = [
        ("points in the plane", points_graph(n)) for n in ((1000,) if quick else (5000, 20_000))
    ]
    return {
        "missed_copies": [missed(name, graph, 10, seeds) for name, graph in repeating],
        "seconds": [timed(name, graph, 10) for name, graph in (*repeating, *plain)],
    }

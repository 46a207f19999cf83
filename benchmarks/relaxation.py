"""Seconds and accuracy of ``relax``, compared with the two usual solvers.

The peers are SciPy's Lanczos (``eigsh(A, c, which="SA")``) and shift-invert as called by
scikit-learn's spectral embedding, with their default tolerance (machine precision) and with that of
``relax``. Either may take very long, so each solver runs in a separate process and is stopped after
a minute. All get the same affinity matrix and build their operator from it. Only ``relax`` verifies
that no copy of a repeated eigenvalue is missing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components, laplacian
from scipy.sparse.linalg import eigsh
from sklearn.datasets import make_blobs, make_moons
from sklearn.neighbors import kneighbors_graph

import leastcut

TIME_LIMIT = 20.0
"""Seconds after which a solver is stopped."""

TOLERANCE = 1e-9
"""The default of ``relax``, relative to the norm of the operator."""

PEERS = ("scipy_lanczos", "sklearn_shift_invert")

SIZES = (5_000, 20_000, 70_000)

Found = tuple[np.ndarray, np.ndarray, str]


def blobs(n: int) -> np.ndarray:
    """Return ten overlapping Gaussians in twenty dimensions."""
    return np.asarray(make_blobs(n, 20, centers=10, cluster_std=5.0, random_state=0)[0])


def moons(n: int) -> np.ndarray:
    """Return two half circles in the plane with so much noise that they touch."""
    return np.asarray(make_moons(n, noise=0.1, random_state=0)[0])


def neighbors(points: np.ndarray) -> sp.csr_array:
    """Return the symmetric 10-NN graph with weights 1."""
    directed = sp.csr_array(kneighbors_graph(points, 10))
    return sp.csr_array(directed.maximum(directed.T))


def ours(graph: sp.csr_array, n_clusters: int) -> Found:
    """Call ``leastcut.relax`` with its defaults."""
    result = leastcut.relax(graph, n_clusters, random_state=0)
    return result.eigenvalues, result.eigenvectors, result.solver


def lanczos(graph: sp.csr_array, n_clusters: int) -> Found:
    """Call SciPy's Lanczos on the normalized Laplacian with its defaults."""
    matrix = laplacian(graph, normed=True)
    values, vectors = eigsh(matrix, n_clusters, which="SA", v0=start(graph))
    return values, vectors, "lanczos"


def lanczos_same_tol(graph: sp.csr_array, n_clusters: int) -> Found:
    """Call SciPy's Lanczos with our tolerance at the upper end, as it is relative to the value."""
    matrix = 2.0 * sp.eye_array(graph.shape[0]) - laplacian(graph, normed=True)
    values, vectors = eigsh(matrix, n_clusters, which="LA", tol=TOLERANCE, v0=start(graph))
    return 2.0 - values, vectors, "lanczos"


def shift_invert(graph: sp.csr_array, n_clusters: int, tol: float = 0.0) -> Found:
    """Call SciPy's shift-invert with the sign and shift of scikit-learn."""
    matrix = -sp.csc_array(laplacian(graph, normed=True))
    values, vectors = eigsh(matrix, n_clusters, sigma=1.0, which="LM", tol=tol, v0=start(graph))
    return -values, vectors, "shift_invert"


def start(graph: sp.csr_array) -> np.ndarray:
    """Return a seeded start vector."""
    return np.random.default_rng(0).uniform(-1, 1, graph.shape[0])


def measure(solve: Callable[..., Found], graph: sp.csr_array, n_clusters: int, pipe: Any) -> None:
    """Send the minimum time of up to three runs and the largest residual."""
    solve(neighbors(moons(300)), 2)  # do not time the loading of code
    seconds = []
    while len(seconds) < 3 and sum(seconds) < 3.0:
        began = time.perf_counter()
        values, vectors, solver = solve(graph, n_clusters)
        seconds.append(time.perf_counter() - began)
    matrix = leastcut.operator(graph)
    residual = float(np.linalg.norm(matrix @ vectors - vectors * values, axis=0).max())
    pipe.send(
        {
            "seconds": round(min(seconds), 4),
            "max_residual": float(f"{residual:.2g}"),
            "sum_of_eigenvalues": float(f"{values.sum():.8g}"),
            "solver": solver,
        }
    )


def limited(solve: Callable[..., Found], graph: sp.csr_array, n_clusters: int) -> dict[str, Any]:
    """Measure in a separate process within the time limit."""
    context = get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=measure, args=(solve, graph, n_clusters, sender))
    process.start()
    sender.close()
    try:
        if receiver.poll(TIME_LIMIT):
            return dict(receiver.recv())
        return {"seconds": None, "note": f"timed out after {TIME_LIMIT:.0f} s"}
    except EOFError:
        return {"seconds": None, "note": "ran out of memory"}
    finally:
        process.kill()
        process.join()


def compare(graph: sp.csr_array, n_clusters: int) -> dict[str, Any]:
    """Measure all solvers on one graph; the time of a stopped one is the time limit."""
    records = {"relax": limited(ours, graph, n_clusters)}
    records["scipy_lanczos"] = limited(lanczos, graph, n_clusters)
    records["scipy_lanczos_same_tol"] = limited(lanczos_same_tol, graph, n_clusters)
    records["sklearn_shift_invert"] = limited(shift_invert, graph, n_clusters)
    if records["sklearn_shift_invert"]["seconds"] is not None:  # else the factor is too slow
        same_tol = partial(shift_invert, tol=TOLERANCE)
        records["sklearn_shift_invert_same_tol"] = limited(same_tol, graph, n_clusters)
    mine = records["relax"]["seconds"]
    ratios = {}
    for suffix in ("", "_same_tol"):
        peers = [records.get(f"{name}{suffix}", {}).get("seconds") for name in PEERS]
        fastest = min((seconds for seconds in peers if seconds is not None), default=TIME_LIMIT)
        ratios[f"ratio_to_faster_peer{suffix}"] = mine and round(mine / fastest, 3)
    return {**records, **ratios}


def run(quick: bool = False) -> dict[str, Any]:
    """Return a row per graph and number of clusters."""
    rows = []
    for n in SIZES[:1] if quick else SIZES:
        for points, counts in ((blobs, (10,)), (moons, (2, 10))):
            graph = neighbors(points(n))
            about = {
                "graph": f"10-NN of {points.__name__}",
                "n": n,
                "n_components": int(connected_components(graph)[0]),
            }
            for c in counts:
                rows.append({**about, "n_clusters": c, **compare(graph, c)})
    return {"time_limit": TIME_LIMIT, "tolerance": TOLERANCE, "rows": rows}

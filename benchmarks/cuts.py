"""The cut value of a graph with ten million stored entries, checks included."""

from __future__ import annotations

import time

import numpy as np
import scipy.sparse as sp

import leastcut
from leastcut.graph import as_graph


def run(quick: bool = False) -> list[dict[str, float | str]]:
    """Time ``cut_value`` on a matrix, which is validated, and on a validated graph."""
    n = 20_000 if quick else 1_000_000
    return [measure(kind, n) for kind in ("near the diagonal", "anywhere")]


def measure(kind: str, n: int) -> dict[str, float | str]:
    """Return the best of three timings on a random graph with ten entries per row."""
    rng = np.random.default_rng(0)
    i = np.repeat(np.arange(n), 5)
    j = (
        (i + rng.integers(1, 2000, i.size)) % n
        if kind != "anywhere"
        else rng.integers(n, size=i.size)
    )
    directed = sp.coo_array((rng.random(i.size), (i, j)), shape=(n, n)).tocsr()
    matrix = sp.csr_array(directed + directed.T)
    labels = rng.integers(0, 10, n)
    graph = as_graph(matrix)
    seconds = {}
    for name, argument in (("matrix", matrix), ("graph", graph)):
        times = []
        for _ in range(3):
            begin = time.perf_counter()
            leastcut.cut_value(argument, labels)
            times.append(time.perf_counter() - begin)
        seconds[name] = round(min(times), 3)
    return {
        "edges": kind,
        "stored_entries": int(matrix.nnz),
        "seconds_checked": seconds["matrix"],
        "seconds_already_checked": seconds["graph"],
    }

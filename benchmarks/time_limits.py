"""How closely ``time_limit`` is kept by searches and proofs.

A search may exceed its limit by 20% and 0.2 s; its first pass always runs to completion.
``first_pass`` is the time of that pass, ``effort="fast"`` on the same graph, and ``late`` the
seconds after the limit or the end of that pass, whichever is later.

A proof (``effort`` "certify") may exceed its limit by 10% and 0.5 s; ``first_pass`` is the time of
its first bound.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.sparse as sp

import leastcut
from benchmarks._graphs import grid, points_graph, power_law

SHARE, SECONDS = 0.2, 0.2
"""Allowed excess of a search: fraction of the limit, and seconds."""


def searched(graph: sp.csr_array, n_clusters: int, **options: Any) -> tuple[float, Any]:
    """Return the seconds of a search, and its result."""
    began = time.perf_counter()
    result = leastcut.partition(graph, n_clusters, random_state=0, **options)
    return time.perf_counter() - began, result


PROOF_SHARE, PROOF_SECONDS = 0.1, 0.5
"""Allowed excess of a proof."""


def certified(name: str, graph: sp.csr_array, n_clusters: int, limit: float) -> dict[str, Any]:
    """Return the row of a proof."""
    labels = searched(graph, n_clusters, effort="fast", lower_bound=False)[1].labels
    bounds: list[float] = []

    def note(progress: leastcut.ProofProgress) -> None:
        if progress.lower_bound > 0.0:
            bounds.append(progress.seconds)

    began = time.perf_counter()
    result = leastcut.certify(graph, labels, time_limit=limit, random_state=0, callback=note)
    seconds = time.perf_counter() - began
    first = bounds[0] if bounds else 0.0
    late = seconds - max(limit, first)
    return {
        "graph": name,
        "n": graph.shape[0],
        "n_clusters": n_clusters,
        "effort": "certify",
        "bound_wanted": True,
        "bound_found": result.lower_bound > 0.0,
        "limit": limit,
        "first_pass": round(first, 3),
        "seconds": round(seconds, 3),
        "late": round(late, 3),
        "kept": late <= PROOF_SHARE * limit + PROOF_SECONDS,
    }


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Return a row per graph, effort and limit, with and without the bound."""
    cases = [("points in the plane", points_graph(1000), 100)]
    if not quick:
        cases += [
            ("points in the plane", points_graph(2000), 400),
            ("points in the plane", points_graph(3000), 600),
            ("points in the plane", points_graph(20_000), 20),
            ("power law", power_law(6000, 30), 8),
            ("power law", power_law(6000, 30), 200),
            ("grid", grid(150, 150), 10),
            ("complete graph", sp.csr_array(1.0 - np.eye(800)), 10),
        ]
    rows = []
    for name, graph, n_clusters in cases:
        searched(graph, n_clusters, effort="fast", lower_bound=False)  # compiles
        first_pass = searched(graph, n_clusters, effort="fast", lower_bound=False)[0]
        for effort in ("balanced", "thorough"):
            for limit in (0.5,) if quick else (0.5, 1.0, 3.0):
                for bound in (False, True):
                    seconds, result = searched(
                        graph, n_clusters, effort=effort, time_limit=limit, lower_bound=bound
                    )
                    late = seconds - max(limit, first_pass)
                    rows.append(
                        {
                            "graph": name,
                            "n": graph.shape[0],
                            "n_clusters": n_clusters,
                            "effort": effort,
                            "bound_wanted": bound,
                            "bound_found": result.lower_bound is not None,
                            "limit": limit,
                            "first_pass": round(first_pass, 3),
                            "seconds": round(seconds, 3),
                            "late": round(late, 3),
                            "kept": late <= SHARE * limit + SECONDS,
                        }
                    )
    proofs = [("points in the plane", points_graph(400), 20)]
    if not quick:
        sizes = ((1000, 10), (2000, 40), (4000, 10), (10_000, 5))
        proofs += [("points in the plane", points_graph(n), c) for n, c in sizes]
        proofs += [("power law", power_law(3000, 10), 8), ("grid", grid(60, 60), 20)]
    for name, graph, n_clusters in proofs:
        certified(name, graph, n_clusters, 1.0)  # compiles
        for limit in (0.5,) if quick else (0.2, 1.0, 5.0, 20.0):
            rows.append(certified(name, graph, n_clusters, limit))
    return rows

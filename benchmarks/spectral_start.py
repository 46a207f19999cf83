"""Approximate and exact eigenvectors as starts: the refined cuts of their labels, and their time.

Runs on the available graphs of ``real_graphs``. ``rough`` is discretized on the graph itself, from
the same single start as ``exact``. Medians of three seeds, CPU seconds of one thread. The hierarchy
for the approximate eigenvectors is not timed, because the search has computed it already.
"""

from __future__ import annotations

import time
from statistics import median
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.real_graphs import graphs
from leastcut.multilevel.coarsening import BY_LABELS, smallest_level
from leastcut.multilevel.passes import Passes
from leastcut.multilevel.spectral_start import spectral_labels
from leastcut.problem import Problem, as_problem
from leastcut.spectral.relax import relax_problem


def run(quick: bool = False) -> dict[str, Any]:
    """Return a row per graph and number of clusters, and the mean ratios."""
    rows = []
    with threadpool_limits(1):
        for _, name, S in graphs(quick):
            problem = as_problem(S)
            for c in (2, 8):
                _measured(problem, c, 9)  # imports and compiles
                runs = [_measured(problem, c, seed) for seed in range(3)]
                rows.append(
                    {"graph": name, "n_clusters": c}
                    | {key: median(one[key] for one in runs) for key in runs[0]}
                )
    ratios = {
        f"rough_over_exact_{key}": [row[f"rough_{key}"] / row[f"exact_{key}"] for row in rows]
        for key in ("value", "seconds")
    }
    means = {key: round(float(np.exp(np.mean(np.log(r)))), 3) for key, r in ratios.items()}
    worst = {f"worst_{key}": round(max(r), 3) for key, r in ratios.items()}
    return {"rows": rows, "geometric_means": means, **worst}


def _measured(problem: Problem, c: int, seed: int) -> dict[str, float]:
    """Return the values and seconds of both."""
    passes = Passes(problem, c, np.random.default_rng(seed), BY_LABELS)
    steps = passes.descend(smallest_level(problem.n_nodes, c))
    began = time.process_time()
    rough = passes.spectral(steps, n_starts=1, most_work=np.inf)
    between = time.process_time()
    relaxation = relax_problem(problem, c, random_state=seed)
    labels = spectral_labels(problem, relaxation, passes.rng, n_starts=1)
    exact = passes.refined(labels)
    ended = time.process_time()
    assert rough is not None
    return {
        "rough_value": rough.value,
        "exact_value": exact.value,
        "rough_seconds": between - began,
        "exact_seconds": ended - between,
    }

"""Certificates: gaps proven for the best known cuts, and the time they take.

Both cuts of the paper's datasets with up to 2,310 samples, if available, of some datasets of
scikit-learn, and of small graphs. ``python -m reproduction run --table certificates`` includes the
paper's larger datasets. Each proof starts from a thorough search, whose time is not counted.
LEASTCUT_SECONDS is the time limit, 120 by default; ``LIMITS`` has exceptions. A row has the gap of
Σλ and of the certificate, the seconds until the gap was first below 5%, 1%, 0.1% and 1e-6, and the
history of bound and value.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.preprocessing import StandardScaler

import leastcut
from benchmarks._graphs import grid, paper_graphs, planted

SMALL_FIRST = (
    "wine", "yale", "jaffe", "glass", "orl", "umist", "msra", "segment", "coil20",
)  # fmt: skip

LEVELS = {"5%": 0.05, "1%": 0.01, "0.1%": 0.001, "proven": 1e-6}
"""Gaps whose times are recorded."""

MOST_STEPS = 60
"""Largest number of recorded points of a history."""

LIMITS = {"digits": 300.0}
"""Time limits of single graphs in seconds."""


def run(quick: bool = False) -> dict[str, Any]:
    """Return a row per graph and cut."""
    seconds = 5.0 if quick else float(os.environ.get("LEASTCUT_SECONDS", "120"))
    rows = []
    _certified("compiles", next(paths())[1], 2, "ratio", 5.0)
    for name, S, c in graphs(quick):
        for cut in ("normalized", "ratio"):
            row = _certified(name, S, c, cut, LIMITS.get(name, seconds))
            rows.append(row)
            print({key: row[key] for key in row if key != "course"}, flush=True)
    proven = sum(row["gap"] < LEVELS["proven"] for row in rows)
    return {"seconds_allowed": seconds, "rows": rows, "proven": proven, "cells": len(rows)}


def graphs(quick: bool) -> Iterator[tuple[str, sp.csr_array, int]]:
    """Yield the graphs with their numbers of clusters."""
    yield from paths()
    if quick:
        return
    yield "iris", leastcut.adaptive_neighbors_graph(load_iris().data), 3
    cancer = StandardScaler().fit_transform(load_breast_cancer().data)
    yield "breast cancer", leastcut.nearest_neighbors_graph(cancer, 10), 2
    yield (
        "digits, the first 600",
        leastcut.nearest_neighbors_graph(load_digits().data[:600], 10),
        10,
    )
    yield "digits", leastcut.nearest_neighbors_graph(load_digits().data, 10), 10
    yield "grid of 12 by 12", grid(12, 12), 4
    yield "planted blocks", planted(200, 4, 8, 2), 4
    yield from paper_graphs(list(SMALL_FIRST))


def paths() -> Iterator[tuple[str, sp.csr_array, int]]:
    """Yield a path, whose optimal cuts are obvious."""
    n = 40
    path = sp.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1])
    yield "path of 40", sp.csr_array(path), 3


def _certified(name: str, S: sp.csr_array, c: int, cut: str, seconds: float) -> dict[str, Any]:
    """Certify the labels of a thorough search, and return the gaps and times."""
    result = leastcut.partition(S, c, cut, effort="thorough", lower_bound=True, random_state=0)
    course: list[tuple[float, float, float]] = []
    began, used = time.perf_counter(), time.process_time()
    proven = leastcut.certify(
        S,
        result.labels,
        cut,
        time_limit=seconds,
        random_state=0,
        callback=lambda step: course.append((step.seconds, step.lower_bound, step.cut_value)),
    )
    wall, used = time.perf_counter() - began, time.process_time() - used
    reached = {
        f"seconds_to_{level}": next(
            (round(at, 2) for at, low, value in course if value - low <= gap * value), None
        )
        for level, gap in LEVELS.items()
    }
    step = max(1, len(course) // MOST_STEPS)
    return {
        "graph": name,
        "cut": cut,
        "n": S.shape[0],
        "n_clusters": c,
        "value": proven.cut_value,
        "better_labels_found": bool(proven.cut_value < result.cut_value * (1.0 - 1e-9)),
        "gap_of_eigenvalues": result.gap,
        "gap": proven.gap,
        "seconds": round(wall, 2),
        "cpu_seconds": round(used, 2),
        **reached,
        "course": [
            [round(at, 3), low, value] for at, low, value in [*course[::step], *course[-1:]]
        ],
    }

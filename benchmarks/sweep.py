"""One greedy sweep: nanoseconds per row on one core, and growth with n and c."""

from __future__ import annotations

import time

import numpy as np

from leastcut.kernels.sweep import sweep


def run(quick: bool = False) -> list[dict[str, float]]:
    """Time a first sweep from random labels (most rows move) and a converged one (hardly any)."""
    sizes = [(20_000, 10)] if quick else [
        (100_000, 10), (1_000_000, 10), (1_000_000, 20), (1_000_000, 40), (4_000_000, 10)
    ]  # fmt: skip
    return [measure(n, c) for n, c in sizes]


def measure(n: int, c: int) -> dict[str, float]:
    """Return the best of five timings of each kind."""
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((n, c)) * 1e-3
    weights = rng.random(n) + 0.5
    start = rng.permutation(np.arange(n) % c)
    count = np.empty(c, dtype=np.int64)
    scratch = np.empty(c), np.empty(c), count, np.empty(c), np.empty(c)
    sweep(scores, weights, start.copy(), *scratch)  # warm-up
    first, settled = [], []
    for _ in range(5):
        labels = start.copy()
        for times in (first, settled):
            begin = time.perf_counter()
            sweep(scores, weights, labels, *scratch)
            times.append((time.perf_counter() - begin) / n * 1e9)
    return {
        "n": n,
        "c": c,
        "first_sweep_ns_per_row": round(min(first), 1),
        "settled_sweep_ns_per_row": round(min(settled), 1),
    }

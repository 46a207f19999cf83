"""``partition`` on 10-NN graphs of points in the plane: seconds and memory from 100k to 10M nodes.

Nodes are in random order, and in the order of a space-filling curve, to measure the effect of the
order on time and quality. Each size and order runs in a separate process for its peak memory.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from math import log
from time import perf_counter, process_time
from typing import Any

import leastcut

SIZES = [100_000, 1_000_000, 10_000_000]
QUICK_SIZES = [10_000, 40_000]
ORDERS = ["random", "spatial"]
EFFORTS = ["fast", "auto"]
"""A single pass, and the default of the estimator."""

REPEATS = 3


def run(quick: bool = False) -> dict[str, Any]:
    """Return seconds and peak memory per size and order, and the exponents of growth."""
    rows = []
    for order in ORDERS:
        for n in QUICK_SIZES if quick else SIZES:
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.partition_scale", str(n), order],
                capture_output=True,
                text=True,
                check=True,
            )
            rows.append(json.loads(done.stdout))
    growth = {
        f"{effort}, {order} order": _growth([row for row in rows if row["order"] == order], effort)
        for order in ORDERS
        for effort in EFFORTS
    }
    return {"rows": rows, "seconds_grow_as_n_to_the": growth}


def _growth(rows: list[dict[str, Any]], effort: str) -> float:
    first, last = rows[0], rows[-1]
    factor = last[effort]["seconds"] / first[effort]["seconds"]
    return round(log(factor) / log(last["n_nodes"] / first["n_nodes"]), 3)


def measure(n: int, order: str) -> dict[str, Any]:
    """Return the minimum time of each effort for 10 clusters, and the peak memory so far."""
    from benchmarks._graphs import points_graph

    for size in (2000, 310_000):  # warm-up: huge graphs use additional kernels
        leastcut.partition(points_graph(size), 10, effort="auto", random_state=0)
    graph = points_graph(n, order=order)
    row: dict[str, Any] = {"n_nodes": n, "order": order, "n_stored": int(graph.nnz)}
    row["peak_gib_of_making_the_graph"] = round(_peak(), 3)
    for effort in EFFORTS:
        times = []
        for _ in range(1 if n > 2_000_000 else REPEATS):
            begin, used = perf_counter(), process_time()
            result = leastcut.partition(graph, 10, effort=effort, random_state=0)
            times.append((perf_counter() - begin, process_time() - used))
        seconds, cpu_seconds = min(times)
        row[effort] = {
            "seconds": round(seconds, 3),
            "cpu_seconds": round(cpu_seconds, 3),
            "cut_value": result.cut_value,
            "peak_gib": round(_peak(), 3),
        }
    return row


def _peak() -> float:
    """Return the peak memory of this process in GiB."""
    units = 2**30 if sys.platform == "darwin" else 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / units


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]), sys.argv[2])))

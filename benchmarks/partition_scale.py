"""``partition`` on 10-NN graphs of points in the plane: seconds and memory from 100k to 10M nodes.

Every size runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from math import log
from time import perf_counter
from typing import Any

import firstcut

SIZES = [100_000, 1_000_000, 10_000_000]
QUICK_SIZES = [10_000, 40_000]
REPEATS = 3


def run(quick: bool = False) -> dict[str, Any]:
    """Return seconds and peak memory for every size, and the exponent of growth."""
    rows = []
    for n in QUICK_SIZES if quick else SIZES:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.partition_scale", str(n)],
            capture_output=True,
            text=True,
            check=True,
        )
        rows.append(json.loads(done.stdout))
    first, last = rows[0], rows[-1]
    growth = log(last["seconds"] / first["seconds"]) / log(last["n_nodes"] / first["n_nodes"])
    return {"rows": rows, "seconds_grow_as_n_to_the": round(growth, 3)}


def measure(n: int) -> dict[str, Any]:
    """Return the shortest time of ``fast`` into 10 clusters, and the peak memory of the process."""
    from benchmarks._graphs import points_graph

    firstcut.partition(points_graph(2000), 10, effort="fast", random_state=0)  # warm-up
    graph = points_graph(n)
    before = _peak()
    seconds = []
    for _ in range(1 if n > 2_000_000 else REPEATS):
        begin = perf_counter()
        found = firstcut.partition(graph, 10, effort="fast", random_state=0)
        seconds.append(perf_counter() - begin)
    return {
        "n_nodes": n,
        "n_stored": int(graph.nnz),
        "seconds": round(min(seconds), 3),
        "cut_value": found.cut_value,
        "peak_gib": round(_peak(), 3),
        "peak_gib_of_making_the_graph": round(before, 3),
    }


def _peak() -> float:
    """Return the largest memory that this process has held, in GiB."""
    units = 2**30 if sys.platform == "darwin" else 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / units


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))

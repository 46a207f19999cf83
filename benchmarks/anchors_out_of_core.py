"""Clustering points of a file within a memory limit: up to a hundred million points in the plane.

The file is written into a new folder under LEASTCUT_SCRATCH (by default the folder of temporary
files) and removed afterwards. Each row is a separate process that has not read the file before; its
memory is the peak, including pages of the mapped file.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks._points_in_the_plane import SETS, agreement, in_file, of_table
from benchmarks._processes import in_process, peak_gib

MILLION = 10**6
ROWS = [
    # set, points, features, memory
    ("concentric circles", 10 * MILLION, 2, "8GiB"),
    ("concentric circles", 10 * MILLION, 2, "1GiB"),
    ("concentric circles", 100 * MILLION, 2, "8GiB"),
    ("concentric circles", 100 * MILLION, 2, "3GiB"),
    ("mixture", 2 * MILLION, 784, "2GiB"),
]
QUICK_ROWS = [("concentric circles", 300_000, 2, "8GiB"), ("mixture", 20_000, 64, "1GiB")]
N_ANCHORS = 1000
MIXED = 50
"""Number of components of the Gaussian mixture."""


def run(quick: bool = False, points: list[int] | None = None) -> dict[str, Any]:
    """Return a row per file and memory limit; ``points`` overrides the sizes."""
    wanted = QUICK_ROWS if quick else ROWS
    if points:
        wanted = [
            ("concentric circles", n, 2, memory) for n in points for memory in ("8GiB", "3GiB")
        ]
    in_process("benchmarks.anchors", "two bananas", "20000")  # compiles
    rows: list[dict[str, Any]] = []
    for name, n, n_features, memory in wanted:
        with tempfile.TemporaryDirectory(dir=os.environ.get("LEASTCUT_SCRATCH")) as folder:
            path = Path(folder) / "points.npy"
            _write(name, n, n_features, path)
            row = {"data": name, "n": n, "n_features": n_features, "max_memory": memory}
            row["gib_of_the_file"] = round(path.stat().st_size / 2**30, 2)
            row |= in_process("benchmarks.anchors_out_of_core", name, folder, memory)
        rows.append(row)
        print(row, flush=True)
    return {"n_anchors": N_ANCHORS, "rows": rows}


def work(name: str, folder: str, memory: str) -> dict[str, Any]:
    """Time one file in this process."""
    import leastcut

    path = Path(folder) / "points.npy"
    tempfile.tempdir = folder
    c = MIXED if name == "mixture" else len(SETS[name])
    begin, cpu = perf_counter(), process_time()
    graph = leastcut.anchor_graph(path, N_ANCHORS, random_state=0, max_memory=memory)
    tied = perf_counter()
    result = leastcut.partition(graph, c, effort="fast", random_state=0, lower_bound=False)
    end, cpu = perf_counter(), process_time() - cpu
    peak = peak_gib()  # before the agreement is computed
    spilled = sum(file.stat().st_size for file in Path(folder).rglob("*") if file != path)
    n = result.labels.size
    return {
        "seconds": round(end - begin, 3),
        "seconds_per_ten_million": round((end - begin) * 1e7 / n, 3),
        "of_which_graph_seconds": round(tied - begin, 3),
        "of_which_cut_seconds": round(end - tied, 3),
        "cpu_seconds": round(cpu, 3),
        "peak_gib": peak,
        "gib_spilled": round(spilled / 2**30, 2),
        "n_anchors": graph.n_anchors,
        "cut_value": result.cut_value,
        **(_of_mixture(result.labels) if name == "mixture" else agreement(name, result.labels)),
    }


def _write(name: str, n: int, n_features: int, path: Path) -> None:
    if name != "mixture":
        in_file(name, n, path)
        return
    written = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, n_features))
    rng = np.random.default_rng(0)
    centres = 0.6 * rng.standard_normal((MIXED, n_features), dtype=np.float32)
    for start in range(0, n, 2**15):
        stop = min(start + 2**15, n)
        part = np.random.default_rng([1, start]).standard_normal(
            (stop - start, n_features), dtype=np.float32
        )
        part += centres[np.arange(start, stop) * 7919 % MIXED]
        written[start:stop] = part
    written.flush()


def _of_mixture(labels: np.ndarray) -> dict[str, float]:
    of = np.arange(labels.size) * 7919 % MIXED
    table = np.bincount(of * MIXED + labels, minlength=MIXED**2).reshape(MIXED, MIXED)
    return of_table(table)


if __name__ == "__main__":
    print(json.dumps(work(*sys.argv[1:])))

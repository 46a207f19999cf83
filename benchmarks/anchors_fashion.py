"""All 70,000 images of Fashion-MNIST in ten clusters: anchors, ncut-pytorch and a k-NN graph.

Each row is a separate process; methods alternate, and the seconds are medians. Timing starts with
the images in memory, before packages are imported, and ends with the labels. All labels are
evaluated on the same two exact 10-NN graphs: ``nearest_neighbors_graph``, and adaptive weights. The
images are read from the folder LEASTCUT_FASHION (the four files of the Debian package
``dataset-fashion-mnist``); without it nothing is measured. This data showed that anchors of few
points must be removed; the threshold was chosen on other data.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks._points_in_the_plane import of_table
from benchmarks._processes import in_process, peak_gib
from benchmarks.points_to_labels import points_of

METHODS = {
    "ncut-pytorch": "Ncut(n_eig=10).fit_transform, then its kway_ncut, all defaults",
    "1000 anchors": "anchor_graph(X, 1000), then partition(effort='auto')",
    "3000 anchors": "anchor_graph(X, 3000), then partition(effort='auto')",
    "1000 anchors, fast": "anchor_graph(X, 1000), then partition(effort='fast')",
    "10-NN graph, fast": "nearest_neighbors_graph(X, 10), then partition(effort='fast')",
}
"""The methods."""

REPEATS = 3
N_CLUSTERS = 10


def run(quick: bool = False, points: list[int] | None = None) -> dict[str, Any]:
    """Return a row per method; ``points`` is the number of images, sampled at random."""
    if "LEASTCUT_FASHION" not in os.environ:
        print("left out: LEASTCUT_FASHION names no folder", flush=True)
        return {}
    n = str(points[0] if points else 5000 if quick else 70_000)
    rows: dict[str, list[dict[str, Any]]] = {method: [] for method in METHODS}
    with tempfile.TemporaryDirectory() as folder:
        for method in METHODS:
            in_process("benchmarks.anchors_fashion", "work", method, "4000", folder)  # compiles
        for _ in range(1 if quick else REPEATS):
            for method in METHODS:
                record = in_process("benchmarks.anchors_fashion", "work", method, n, folder)
                rows[method].append(record)
                print(method, record, flush=True)
        judged = in_process("benchmarks.anchors_fashion", "judge", n, folder)
    if "failed" in judged:
        raise RuntimeError(judged["failed"])
    summary = {
        method: {**_medians(runs), **judged.get(method, {})} for method, runs in rows.items()
    }
    print(json.dumps(summary, indent=1), flush=True)
    return {
        "methods": METHODS,
        "n": int(n),
        "n_clusters": N_CLUSTERS,
        "rows": summary,
        "runs": rows,
    }


def work(method: str, n: int, folder: str) -> dict[str, Any]:
    """Time one method in this process."""
    X, _ = _images(n)
    at_start = peak_gib()
    begin, cpu = perf_counter(), process_time()
    if method == "ncut-pytorch":
        import torch
        from ncut_pytorch import Ncut, kway_ncut

        ready = perf_counter()
        torch.manual_seed(0)
        vectors = Ncut(n_eig=N_CLUSTERS, device="cpu").fit_transform(torch.from_numpy(X))
        labels = kway_ncut(vectors).argmax(1).numpy()
    else:
        import leastcut

        leastcut.anchor_graph, leastcut.partition  # noqa: B018  (loaded when first used)
        ready = perf_counter()
        if method.startswith("10-NN"):
            graph: Any = leastcut.nearest_neighbors_graph(X, 10)
        else:
            graph = leastcut.anchor_graph(X, int(method.split()[0]), random_state=0)
        effort = "fast" if method.endswith("fast") else "auto"
        labels = leastcut.partition(
            graph, N_CLUSTERS, effort=effort, random_state=0, lower_bound=False
        ).labels
    end, cpu = perf_counter(), process_time() - cpu
    np.save(Path(folder) / f"{method}.npy", labels)
    return {
        "seconds": round(end - begin, 3),
        "seconds_after_imports": round(end - ready, 3),
        "cpu_seconds": round(cpu, 3),
        "peak_gib": peak_gib(),
        "peak_gib_of_the_points": at_start,
    }


def judge(n: int, folder: str) -> dict[str, dict[str, Any]]:
    """Return the cuts on the exact graphs, and the agreement with the classes."""
    import leastcut

    X, y = _images(n)
    plain = leastcut.nearest_neighbors_graph(X, 10, neighbors="exact")
    adaptive = leastcut.adaptive_neighbors_graph(X, neighbors="exact")
    recorded = {}
    for path in Path(folder).glob("*.npy"):
        labels = np.load(path)
        table = np.zeros((10, int(labels.max()) + 1), dtype=np.int64)
        np.add.at(table, (y, labels), 1)
        sizes = table.sum(axis=0)
        recorded[path.stem] = {
            "cut_on_the_10_nn_graph": leastcut.cut_value(plain, labels),
            "cut_on_the_adaptive_graph": leastcut.cut_value(adaptive, labels),
            **of_table(table),
            "n_clusters_found": int((sizes > 0).sum()),
            "smallest_cluster": int(sizes[sizes > 0].min()),
        }
    return recorded


def _images(n: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = points_of("fashion", 70_000)
    if n == len(X):
        return X, y
    some = np.sort(np.random.default_rng(0).choice(len(X), n, replace=False))
    return X[some], y[some]


def _medians(runs: list[dict[str, Any]]) -> dict[str, Any]:
    done = [run for run in runs if "seconds" in run]
    if not done:
        return dict(runs[-1])
    return {name: round(median(run[name] for run in done), 3) for name in done[0]}


if __name__ == "__main__":
    if sys.argv[1] == "work":
        print(json.dumps(work(sys.argv[2], int(sys.argv[3]), sys.argv[4])))
    else:
        print(json.dumps(judge(int(sys.argv[2]), sys.argv[3])))

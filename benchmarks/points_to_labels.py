"""From points to labels in a fresh process: seconds, memory and cut, compared with others.

Each row is a separate process: the points are generated or read, then the time includes imports,
loading of compiled code (cached by an earlier process) and everything up to the labels. All cuts
are evaluated on the exact adaptive-neighbors graph. Fashion-MNIST is read from the folder
``LEASTCUT_FASHION`` (the four files of the Debian package ``dataset-fashion-mnist``) and skipped
without it. ncut-pytorch runs if it and PyTorch are installed.
"""

from __future__ import annotations

import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
from math import log
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

METHODS = {
    "leastcut": "import leastcut; labels = leastcut.SpectralClustering({c}, random_state=0).fit(X)",
    "leastcut exact": "the same with neighbors='exact'",
    "cKDTree.query": "the 10 nearest by SciPy's k-d tree with two workers, no labels",
    "brute force": "scikit-learn's NearestNeighbors(algorithm='brute', n_jobs=2), no labels",
    "scikit-learn": "SpectralClustering(affinity='nearest_neighbors', assign_labels='cluster_qr')",
    "ncut-pytorch": "Ncut(n_eig=c).fit_transform and kway_ncut",
}
"""The methods."""

PLANE = ("cKDTree.query", "leastcut", "ncut-pytorch")
ROWS: list[tuple[str, int, int, tuple[str, ...]]] = [
    ("fashion", 70_000, 10, ("leastcut", "leastcut exact", "brute force", "ncut-pytorch")),
    ("plane", 10_000, 10, (*PLANE, "scikit-learn")),
    ("plane", 30_000, 10, (*PLANE, "scikit-learn")),
    ("plane", 100_000, 10, (*PLANE, "scikit-learn")),
    ("plane", 1_000_000, 10, PLANE),
    ("plane", 10_000_000, 10, PLANE),
    ("mixture", 10_000, 50, ("leastcut", "ncut-pytorch", "scikit-learn")),
    ("mixture", 100_000, 50, ("leastcut", "ncut-pytorch")),
    ("mixture", 1_000_000, 50, ("leastcut", "ncut-pytorch")),
]
QUICK_ROWS: list[tuple[str, int, int, tuple[str, ...]]] = [
    ("plane", 3000, 10, (*PLANE, "scikit-learn")),
    ("mixture", 3000, 5, ("leastcut", "ncut-pytorch")),
]
MOST_SECONDS = 400
"""Seconds after which a run is stopped and recorded as such."""

PUBLISHED = {"1M": 10.5, "5M": 47.0, "10M": 319.0, "20M": 764.0}
"""Seconds published by the authors of U-SPEC for points in the plane, on their machine."""


def run(quick: bool = False) -> dict[str, Any]:
    """Return a row per dataset and method, and the growth of the seconds."""
    rows = []
    for data, n, c, methods in QUICK_ROWS if quick else ROWS:
        if data == "fashion" and "LEASTCUT_FASHION" not in os.environ:
            print("fashion is left out: LEASTCUT_FASHION names no folder", flush=True)
            continue
        with tempfile.TemporaryDirectory() as folder:
            for method in methods:
                row = {"data": data, "n": n, "n_clusters": c, "method": method}
                row |= _in_process("work", data, str(n), str(c), method, folder)
                rows.append(row)
                print(row, flush=True)
            # Another process evaluates the cuts, with one exact graph.
            judged = _in_process("judge", data, str(n), str(c), folder)
            if "failed" in judged:
                raise RuntimeError(judged["failed"])
            for row in rows[-len(methods) :]:
                row |= judged.get(str(row["method"]), {})
                print(row, flush=True)
    ours = {
        row["n"]: row["seconds_after_imports"]
        for row in rows
        if row["data"] == "plane" and row["method"] == "leastcut" and "seconds" in row
    }
    least, most = (100_000, 10_000_000) if not quick else (3000, 3000)
    growth = None
    if least != most and {least, most} <= set(ours):
        growth = round(log(ours[most] / ours[least]) / log(most / least), 3)
    return {
        "methods": METHODS,
        "rows": rows,
        "plane_seconds_after_imports_grow_as_n_to_the": growth,
        "published_seconds_of_u_spec": PUBLISHED,
    }


def _in_process(*arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.points_to_labels", *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=MOST_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return {"stopped_after": MOST_SECONDS}
    if done.returncode != 0:
        return {"failed": (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]}
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def points_of(data: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points in float32, in random order, and their true clusters."""
    if data == "fashion":
        folder = Path(os.environ["LEASTCUT_FASHION"])
        X, y = [], []
        for part in ("train", "t10k"):
            with gzip.open(folder / f"{part}-images-idx3-ubyte.gz") as file:
                X.append(np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784))
            with gzip.open(folder / f"{part}-labels-idx1-ubyte.gz") as file:
                y.append(np.frombuffer(file.read(), np.uint8, offset=8))
        return np.concatenate(X).astype(np.float32) / 255, np.concatenate(y).astype(int)
    rng = np.random.default_rng(0)
    if data == "plane":
        centres = rng.uniform(size=(50, 2))
        y = rng.integers(50, size=n)
        return (centres[y] + 0.03 * rng.normal(size=(n, 2))).astype(np.float32), y
    centres = 3 / np.sqrt(2) * rng.normal(size=(50, 32))
    y = rng.integers(50, size=n)
    X = rng.standard_normal(size=(n, 32), dtype=np.float32)
    return X + centres[y].astype(np.float32), y


def work(data: str, n: int, c: int, method: str, folder: str) -> dict[str, Any]:
    """Time one method in this process."""
    X, _ = points_of(data, n)
    at_start = _peak()
    labels, record = None, {}
    begin, cpu = perf_counter(), process_time()
    if method.startswith("leastcut"):
        import leastcut

        leastcut.SpectralClustering  # noqa: B018  (names are loaded when first used)
        ready = perf_counter()
        neighbors = "exact" if method.endswith("exact") else "auto"
        model = leastcut.SpectralClustering(c, neighbors=neighbors, random_state=0).fit(X)
        labels = model.labels_
        record = {"recall": model.neighbors_recall_}
    elif method == "cKDTree.query":
        from scipy.spatial import cKDTree

        ready = perf_counter()
        tree = cKDTree(X)
        built = perf_counter()
        tree.query(X, 10, workers=2)
        record = {"seconds_of_query_alone": round(perf_counter() - built, 3)}
    elif method == "brute force":
        from sklearn.neighbors import NearestNeighbors

        ready = perf_counter()
        NearestNeighbors(n_neighbors=10, algorithm="brute", n_jobs=2).fit(X).kneighbors()
    elif method == "scikit-learn":
        from sklearn.cluster import SpectralClustering

        ready = perf_counter()
        model = SpectralClustering(
            c, affinity="nearest_neighbors", assign_labels="cluster_qr", n_jobs=2, random_state=0
        )
        labels = model.fit(X).labels_
    else:
        import torch
        from ncut_pytorch import Ncut, kway_ncut

        ready = perf_counter()
        torch.manual_seed(0)
        vectors = Ncut(n_eig=c, device="cpu").fit_transform(torch.from_numpy(X))
        labels = kway_ncut(vectors).argmax(1).numpy()
    end, cpu = perf_counter(), process_time() - cpu
    if labels is not None:
        np.save(Path(folder) / f"{method}.npy", labels)
    return {
        "seconds": round(end - begin, 3),
        "seconds_after_imports": round(end - ready, 3),
        "cpu_seconds": round(cpu, 3),
        "peak_gib": round(_peak(), 3),
        "peak_gib_of_the_points": round(at_start, 3),
        **record,
    }


def judge(data: str, n: int, c: int, folder: str) -> dict[str, dict[str, float]]:
    """Return the cut on the exact graph and the NMI of all labels in a folder."""
    import leastcut

    X, y = points_of(data, n)
    # An exact graph of a million points in 32 dimensions takes many minutes: use that of the fit.
    exact = data != "mixture" or n <= 100_000
    graph = leastcut.adaptive_neighbors_graph(X, neighbors="exact" if exact else "auto")
    recorded = {}
    for path in Path(folder).glob("*.npy"):
        labels = np.load(path)
        recorded[path.stem] = {
            "cut_on_the_exact_graph" if exact else "cut": leastcut.cut_value(graph, labels),
            "nmi": round(leastcut.normalized_mutual_info(y, labels), 4),
            "n_clusters_found": len(np.unique(labels)),
        }
    return recorded


def _peak() -> float:
    """Return the peak memory of this process in GiB."""
    units = 2**30 if sys.platform == "darwin" else 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / units


if __name__ == "__main__":
    if sys.argv[1] == "work":
        _data, _n, _c, _method, _folder = sys.argv[2:]
        print(json.dumps(work(_data, int(_n), int(_c), _method, _folder)))
    else:
        _data, _n, _c, _folder = sys.argv[2:]
        print(json.dumps(judge(_data, int(_n), int(_c), _folder)))

"""Neighbor searches for many features, each in a separate process: time, memory and recall.

Imports, loading of compiled code, building an index and querying it for all samples are included,
as for a user who builds one graph. LEASTCUT_FASHION is the folder with the four files of
Fashion-MNIST; without it only scikit-learn's digits and blobs are searched. CPU time is the fairer
measure if other processes share the machine. (Linux only: the peak memory is read from /proc,
because getrusage starts from that of the parent.)
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

import leastcut

COUNT = 10
"""Neighbors per sample, without the sample itself."""

JUDGED = 500
"""Samples whose true neighbors are computed for the recall."""

SCALED_ROWS = 2_000
"""Samples queried by scikit-learn's brute force; its time is scaled to all samples."""

TIME_LIMIT = 300
"""Seconds after which a search is stopped and recorded as such."""

HEAD = """
import json, re, sys, time
begin, scale = time.perf_counter(), 1.0
import numpy as np
X = np.load(sys.argv[1])
loaded = time.perf_counter(), time.process_time()
k = {count}
"""

TAIL = """
status = open("/proc/self/status").read()
times = {"wall_s": (time.perf_counter() - loaded[0]) * scale,
         "cpu_s": (time.process_time() - loaded[1]) * scale,
         "process_s": time.perf_counter() - begin,
         "peak_mib": int(re.search(r"VmHWM:\\s*(\\d+)", status)[1]) / 1024}
np.save(sys.argv[2], indices)
print(json.dumps(times))
"""

HNSW = """
import faiss
index = faiss.IndexHNSWFlat(X.shape[1], {links})
index.hnsw.efConstruction, index.hnsw.efSearch = {build}, {search}
index.add(X)
indices = index.search(X, k + 1)[1]
"""

HNSWLIB = """
import hnswlib
index = hnswlib.Index("l2", X.shape[1])
index.init_index(len(X), ef_construction={build}, M={links})
index.set_ef({search})
index.add_items(X)
indices = index.knn_query(X, k + 1)[0]
"""

SEARCHES = {
    "ours, approximate": (
        "leastcut",
        "from leastcut.affinity.neighbors.approximate_search import approximate_neighbors\n"
        "from leastcut.threads import count_threads\n"
        "indices = approximate_neighbors(X, k, count_threads(None), 0)[0]\n",
    ),
    "ours, exact": (
        "leastcut",
        "from leastcut.affinity.neighbors.index import NeighborIndex, SearchOptions\n"
        "index = NeighborIndex(X, options=SearchOptions('exact', 'cpu'))\n"
        "indices = index.neighborhoods(k).indices.reshape(-1, k)\n",
    ),
    "faiss HNSW, 16 links, 40 and 32": (
        "faiss-cpu", HNSW.format(links=16, build=40, search=32),
    ),
    "faiss HNSW, 16 links, 40 and 64": (
        "faiss-cpu", HNSW.format(links=16, build=40, search=64),
    ),
    "hnswlib, 16 links, 60 and 32": ("hnswlib", HNSWLIB.format(links=16, build=60, search=32)),
    "hnswlib, 16 links, 100 and 64": ("hnswlib", HNSWLIB.format(links=16, build=100, search=64)),
    "pynndescent": (
        "pynndescent",
        "from pynndescent import NNDescent\n"
        "indices = NNDescent(X, n_neighbors=k + 1, random_state=0).neighbor_graph[0]\n",
    ),
    "pynndescent, 20 of them": (
        "pynndescent",
        "from pynndescent import NNDescent\n"
        "indices = NNDescent(X, n_neighbors=20, random_state=0).neighbor_graph[0][:, : k + 1]\n",
    ),
    "scikit-learn, brute force": (
        "scikit-learn",
        "from sklearn.neighbors import NearestNeighbors\n"
        f"n_queries = min({SCALED_ROWS}, len(X))\n"
        "model = NearestNeighbors(n_neighbors=k + 1, algorithm='brute', n_jobs=-1).fit(X)\n"
        "indices = model.kneighbors(X[:n_queries], return_distance=False)\n"
        "scale = len(X) / n_queries\n",
    ),
}  # fmt: skip
"""By name: the required package, and the lines of a user."""

WHEELS = {
    "leastcut": "any platform",
    "scikit-learn": "Linux (glibc, musl), macOS, Windows",
    "faiss-cpu": "Linux x86-64 and ARM, macOS (Intel: an older version), Windows",
    "hnswlib": "none: needs a C++ compiler",
    "pynndescent": "any platform",
}
"""Platforms with binary packages for Python 3.12, in November 2026."""


def samples(quick: bool) -> dict[str, np.ndarray]:
    """Return the datasets by name."""
    arrays = {"digits": load_digits().data.astype(np.float32)}
    if quick:
        return arrays
    rng = np.random.default_rng(0)
    centers = 3 * rng.normal(size=(50, 32))
    blobs = centers[rng.integers(0, 50, size=200_000)] + rng.normal(size=(200_000, 32))
    arrays["blobs of 32 features"] = blobs.astype(np.float32)
    folder = os.environ.get("LEASTCUT_FASHION")
    if folder:
        parts = []
        for name in ("train", "t10k"):
            with gzip.open(Path(folder) / f"{name}-images-idx3-ubyte.gz") as file:
                parts.append(np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784))
        arrays["Fashion-MNIST"] = np.concatenate(parts).astype(np.float32)
    return arrays


def farthest_neighbors(X: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the squared distance of the last true neighbor of some samples."""
    farthest = []
    X = X - X.mean(axis=0, dtype=np.float64)
    halves = np.einsum("ij,ij->i", X, X) / 2
    for row in rows:
        values = halves - X @ X[row]
        values[row] = np.inf
        nearest = np.argpartition(values, COUNT + 5)[: COUNT + 6]
        farthest.append(np.sort(((X[nearest] - X[row]) ** 2).sum(axis=1))[COUNT - 1])
    return np.array(farthest)


def recall(X: np.ndarray, rows: np.ndarray, farthest: np.ndarray, lists: np.ndarray) -> float:
    """Return the fraction of listed neighbors that are as near as the last true one."""
    hits = 0
    for row, limit in zip(rows, farthest, strict=True):
        # Most searches list the sample itself; do not count it.
        listed = np.array(list(dict.fromkeys(j for j in lists[row].tolist() if j != row)))[:COUNT]
        squared = ((X[listed].astype(np.float64) - X[row]) ** 2).sum(axis=1)
        hits += int((squared <= limit * (1 + 1e-9)).sum())
    return hits / (COUNT * len(rows))


def installed_mib(package: str) -> float | None:
    """Return the size of a package on disk without its dependencies; None if not installed."""
    if package == "leastcut":  # may be an editable installation
        sources = Path(leastcut.__file__).parent.rglob("*.py")
        return round(sum(path.stat().st_size for path in sources) / 2**20, 1)
    try:
        files = distribution(package).files or []
    except PackageNotFoundError:
        return None
    return round(sum(file.size or 0 for file in files) / 2**20, 1)


def run(quick: bool = False) -> dict[str, Any]:
    """Return a row per dataset and search, also of those not installed or too slow."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        given, lists = Path(folder) / "X.npy", Path(folder) / "indices.npy"
        for data, X in samples(quick).items():
            np.save(given, X)
            rng = np.random.default_rng(1)
            # Among the first, because scikit-learn's brute force searches only those.
            judged = rng.permutation(min(len(X), SCALED_ROWS))[:JUDGED]
            farthest = farthest_neighbors(X, judged)
            for search, (package, lines) in SEARCHES.items():
                row: dict[str, Any] = {"data": data, "shape": list(X.shape), "search": search}
                rows.append(row)
                row["package_mib"] = installed_mib(package)
                row["wheels"] = WHEELS[package]
                if row["package_mib"] is None:
                    row["skipped"] = f"{package} is not installed"
                    continue
                code = HEAD.format(count=COUNT) + lines + TAIL
                command = [sys.executable, "-c", code, str(given), str(lists)]
                try:
                    if package in ("leastcut", "pynndescent"):
                        # A first run compiles.
                        small = Path(folder) / "small.npy"
                        np.save(small, X[:3000])
                        warm = [*command[:3], str(small), str(lists)]
                        subprocess.run(warm, capture_output=True, check=True, timeout=TIME_LIMIT)
                    done = subprocess.run(
                        command, capture_output=True, text=True, timeout=TIME_LIMIT, check=False
                    )
                except subprocess.TimeoutExpired:
                    row["skipped"] = f"more than {TIME_LIMIT} s"
                    continue
                if done.returncode:
                    row["skipped"] = done.stderr.strip().splitlines()[-1]
                    continue
                measured = json.loads(done.stdout.splitlines()[-1])
                row |= {name: round(value, 3) for name, value in measured.items()}
                row["recall"] = round(recall(X, judged, farthest, np.load(lists)), 4)
    skipped = None if os.environ.get("LEASTCUT_FASHION") else "LEASTCUT_FASHION is not set"
    return {"rows": rows, "fashion_skipped": skipped}

"""The same user code with both imports: cut value, accuracy, NMI, seconds and memory.

Each run is a separate process, so imports, loading of compiled code and memory are included. (Linux
only: the peak memory is read from /proc, because getrusage starts from that of the parent.) The
estimator is created with all defaults, and with ``affinity="nearest_neighbors"``. In the second
case both estimators cut the same graph, so cut values can be compared. In the first each uses its
default graph; labels are evaluated on ours, which only ours optimizes, and on scikit-learn's if it
is small enough.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_blobs, make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale

import leastcut
import reproduction.datasets

IMPORTS = {"leastcut": "leastcut", "scikit-learn": "sklearn.cluster"}

LINES = {"defaults": "", "nearest_neighbors": 'affinity="nearest_neighbors", '}

USER_CODE = """
import json, re, sys, time, warnings
begin = time.perf_counter()
import numpy as np
from {module} import SpectralClustering

data = np.load(sys.argv[1])
model = SpectralClustering(n_clusters=int(data["k"]), {options}random_state=0)
started = time.perf_counter()
warnings.simplefilter("ignore")
labels = model.fit_predict(data["X"])
first = time.perf_counter()
np.save(sys.argv[2], labels)
memory = int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]) / 1024
times = {{"process_s": first - begin, "first_fit_s": first - started, "peak_mib": memory}}
if first - started < 10:
    model.fit(data["X"])
    times["fit_s"] = time.perf_counter() - first
print(json.dumps(times))
"""

TIME_LIMIT = 60
"""Seconds after which a run is stopped and recorded as such."""

OWN_GRAPH_NODES = 2000
"""Up to this size labels are also evaluated on scikit-learn's default kernel matrix."""


def datasets(quick: bool) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return samples and classes by name; with the paper's two largest datasets if available."""
    n = 600 if quick else 10_000
    samples = {
        "wine": (scale(load_wine().data), load_wine().target),
        "breast cancer": (scale(load_breast_cancer().data), load_breast_cancer().target),
        "digits": (load_digits().data / 16, load_digits().target),
        "blobs": make_blobs(n, n_features=5, centers=10, cluster_std=3.0, random_state=0),
        "moons": make_moons(n, noise=0.12, random_state=0),
    }
    if quick:
        return {name: samples[name] for name in ("wine", "moons")}
    for name in ("usps", "fashion"):
        with suppress(FileNotFoundError):
            loaded = reproduction.datasets.load(name, download=False)
            samples[name] = (loaded.X / loaded.X.max(), loaded.y)
    return samples


def run(quick: bool = False) -> dict[str, Any]:
    """Return a row per dataset, options and import, and the ratios of scikit-learn's to ours."""
    rows = []
    # The first run after an installation compiles.
    _measure(*datasets(True)["wine"], "leastcut", "")
    for name, (X, y) in datasets(quick).items():
        for line, options in LINES.items():
            graph = _graph(X, line)
            pair = {
                package: _judged(_measure(X, y, package, options), X, y, graph, line)
                for package in IMPORTS
            }
            for package, row in pair.items():
                rows.append({"dataset": name, "n": len(X), "line": line, "import": package, **row})
    return {"rows": rows, "time_limit_s": TIME_LIMIT, "ratios": _ratios(rows)}


def _graph(X: np.ndarray, line: str) -> Any:
    if line == "nearest_neighbors":
        return leastcut.nearest_neighbors_graph(X, 10)
    return leastcut.adaptive_neighbors_graph(X, 10)


def _measure(X: np.ndarray, y: np.ndarray, package: str, options: str) -> dict[str, Any]:
    """Run the user code in a new process; return its times, memory and labels."""
    code = USER_CODE.format(module=IMPORTS[package], options=options)
    with tempfile.TemporaryDirectory() as folder:
        data, labels = Path(folder) / "data.npz", Path(folder) / "labels.npy"
        np.savez(data, X=X, k=np.unique(y).size)
        try:
            done = subprocess.run(
                [sys.executable, "-c", code, str(data), str(labels)],
                capture_output=True,
                text=True,
                timeout=TIME_LIMIT,
                check=True,
            )
        except subprocess.TimeoutExpired:
            return {"timed_out": True, "process_s": TIME_LIMIT}
        return {**json.loads(done.stdout), "labels": np.load(labels)}


def _judged(
    row: dict[str, Any], X: np.ndarray, y: np.ndarray, graph: Any, line: str
) -> dict[str, Any]:
    labels = row.pop("labels", None)
    if labels is None:
        return row
    row["cut_value"] = leastcut.cut_value(graph, labels)
    if line == "defaults" and len(X) <= OWN_GRAPH_NODES:
        row["cut_value_on_rbf"] = leastcut.cut_value(rbf_kernel(X, gamma=1.0), labels)
    row["accuracy"] = leastcut.clustering_accuracy(y, labels)
    row["nmi"] = leastcut.normalized_mutual_info(y, labels)
    return row


def _ratios(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return scikit-learn's values divided by ours; above 1 ours is better.

    A stopped run gives a bound.
    """
    ratios = []
    for ours, theirs in zip(rows[::2], rows[1::2], strict=True):
        ratio = {name: ours[name] for name in ("dataset", "n", "line")}
        for name in ("cut_value", "process_s", "first_fit_s", "fit_s", "peak_mib"):
            if name in theirs and ours.get(name):
                ratio[name] = theirs[name] / ours[name]
        ratio["timed_out"] = bool(theirs.get("timed_out", False))
        ratios.append(ratio)
    return ratios

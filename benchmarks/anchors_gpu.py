"""A million points with 784 features on a GPU, from points to labels, compared with ncut-pytorch.

It needs a CUDA device and PyTorch; without them nothing is written. Both methods alternate after a
warm-up, with the points on the host or on the GPU. Labels are evaluated on the 10-NN graph of a
sample of the points, and against the components of the mixture.
"""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, version
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

CASES = [(70_000, 784), (1_000_000, 784)]
QUICK_CASES = [(50_000, 64)]
N_CLUSTERS = 10
REPEATS = 5
JUDGED = 50_000
"""Number of sampled points whose 10-NN graph evaluates labels."""


def run(quick: bool = False) -> dict[str, Any]:
    """Return rows of seconds, stages and cuts, or nothing without a GPU."""
    from leastcut.affinity.neighbors.devices import missing_gpu

    missing = missing_gpu()
    if missing is not None:
        print(f"left out: {missing}", flush=True)
        return {}
    import torch

    rows = []
    for n, n_features in QUICK_CASES if quick else CASES:
        X, y = _mixture(n, n_features)
        for where in ("host", "gpu"):
            points = torch.as_tensor(X, device="cuda") if where == "gpu" else X
            rows.append({"n": n, "n_features": n_features, "where": where, **_case(points, X, y)})
            print(rows[-1], flush=True)
            del points
    return {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "ncut_pytorch": _version("ncut_pytorch"),
        "cores": os.cpu_count(),
        "n_clusters": N_CLUSTERS,
        "n_anchors": 1000,
        "rows": rows,
    }


def _mixture(n: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Sample float32 points of fifty components in ten clusters, on curved surfaces."""
    rng = np.random.default_rng(0)
    y = rng.integers(N_CLUSTERS, size=n)
    centres = rng.standard_normal((N_CLUSTERS, 8)).astype(np.float32)
    low = centres[y] * 1.5 + 0.6 * rng.standard_normal((n, 8), dtype=np.float32)
    spread = rng.standard_normal((8, n_features)).astype(np.float32)
    X = np.tanh(low @ spread / np.sqrt(8.0))
    X += 0.1 * rng.standard_normal((n, n_features), dtype=np.float32)
    return X.astype(np.float32), y


def _case(points: Any, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    import leastcut

    methods = {"leastcut": _leastcut, "leastcut, on the processor": _on_the_cpu}
    if not isinstance(points, np.ndarray):
        del methods["leastcut, on the processor"]
    if _version("ncut_pytorch") is not None:
        methods["ncut-pytorch"] = _ncut
    some = np.sort(np.random.default_rng(1).choice(len(X), min(JUDGED, len(X)), replace=False))
    graph = leastcut.nearest_neighbors_graph(X[some], 10, device="cuda")
    seconds: dict[str, list[float]] = {name: [] for name in methods}
    results: dict[str, Any] = {}
    for repeat in range(REPEATS + 1):  # the first is a warm-up
        for name, method in methods.items():
            if name.endswith("processor") and repeat > 1:
                continue
            begin = perf_counter()
            labels, stages = method(points, repeat == 1)
            if repeat:
                seconds[name].append(perf_counter() - begin)
                results.setdefault(name, (labels, stages))
    rows = {}
    for name, (labels, stages) in results.items():
        rows[name] = {
            "seconds": round(median(seconds[name]), 3),
            "stages": stages,
            "nmi": round(leastcut.normalized_mutual_info(y, labels), 4),
            "cut_on_the_10_nn_graph": round(_cut(graph, labels[some]), 4),
        }
    return {"methods": rows}


def _cut(graph: Any, labels: np.ndarray) -> float:
    import leastcut

    return float(leastcut.cut_value(graph, labels, isolated="ignore"))


def _leastcut(points: Any, _: bool, device: str = "cuda") -> tuple[np.ndarray, dict[str, float]]:
    import leastcut

    begin = perf_counter()
    graph = leastcut.anchor_graph(points, 1000, random_state=0, device=device)
    made = perf_counter()
    result = leastcut.partition(graph, N_CLUSTERS, effort="auto", random_state=0, lower_bound=False)
    end = perf_counter()
    return result.labels, {"graph": round(made - begin, 3), "cut": round(end - made, 3)}


def _on_the_cpu(points: Any, first: bool) -> tuple[np.ndarray, dict[str, float]]:
    return _leastcut(points, first, "cpu")


def _ncut(points: Any, _: bool) -> tuple[np.ndarray, dict[str, float]]:
    import torch
    from ncut_pytorch import Ncut, kway_ncut

    torch.manual_seed(0)
    begin = perf_counter()
    tensor = torch.as_tensor(points)
    vectors = Ncut(n_eig=N_CLUSTERS, device="cuda").fit_transform(tensor)
    made = perf_counter()
    labels = kway_ncut(vectors, device="cuda").argmax(1).cpu().numpy()
    end = perf_counter()
    return labels, {"eigenvectors": round(made - begin, 3), "labels": round(end - made, 3)}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None

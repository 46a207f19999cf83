"""Neighbor search on a GPU, and from points on the host to labels, compared with plain PyTorch.

It needs a CUDA device and PyTorch; without them nothing is written. Fashion-MNIST is read from the
folder ``LEASTCUT_FASHION`` if that is set.
"""

from __future__ import annotations

import os
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

CASES = [
    # points, features, clusters, repeats
    (70_000, 784, 10, 5),
    (1_000_000, 784, 50, 3),
    (1_000_000, 32, 50, 3),
    (10_000_000, 32, 50, 1),
]
QUICK_CASES = [(20_000, 64, 10, 2)]
ONCE = 5_000_000
"""From this number of points on, graph and cut are computed once and without peers."""

COUNT = 10


def run(quick: bool = False) -> dict[str, Any]:
    """Return rows of seconds, recall and memory, or nothing without a GPU."""
    from leastcut.affinity.neighbors.devices import missing_gpu

    missing = missing_gpu()
    if missing is not None:
        print(f"left out: {missing}", flush=True)
        return {}
    import torch

    rows = []
    for n, n_features, c, repeats in QUICK_CASES if quick else CASES:
        X = _mixture(n, n_features)
        rows.append({"data": "mixture", **_case(X, c, repeats)})
        print(rows[-1], flush=True)
    if "LEASTCUT_FASHION" in os.environ and not quick:
        from benchmarks.points_to_labels import points_of

        rows.append({"data": "fashion", **_case(points_of("fashion", 70_000)[0], 10, 5)})
        print(rows[-1], flush=True)
    return {
        "device": torch.cuda.get_device_name(),
        "device_gib": round(torch.cuda.get_device_properties(0).total_memory / 2**30, 1),
        "torch": torch.__version__,
        "cores": os.cpu_count(),
        "rows": rows,
    }


def _mixture(n: int, n_features: int) -> np.ndarray:
    """Sample a Gaussian mixture of 50 components on the host, in float32."""
    import torch

    generator = torch.Generator("cuda").manual_seed(0)
    centres = 0.6 * torch.randn(50, n_features, device="cuda", generator=generator)
    X = np.empty((n, n_features), dtype=np.float32)
    for start in range(0, n, 10**6):
        size = min(10**6, n - start)
        of = torch.randint(50, (size,), device="cuda", generator=generator)
        noise = torch.randn(size, n_features, device="cuda", generator=generator)
        X[start : start + size] = (centres[of] + noise).cpu().numpy()
    return X


def _case(X: np.ndarray, c: int, repeats: int) -> dict[str, Any]:
    """Time the search on the device, a peer, and all steps from points to labels."""
    import torch

    import leastcut

    # Compile or load kernels.
    leastcut.SpectralClustering(c, device="cuda", random_state=0).fit(X[:5000])
    row: dict[str, Any] = {"n": X.shape[0], "n_features": X.shape[1], "n_clusters": c}
    if X.shape[0] < ONCE:
        row |= _beside_plain_torch(X, repeats)
        total, _ = _timed(
            lambda: leastcut.SpectralClustering(c, device="cuda", random_state=0).fit(X), repeats
        )
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    record: list[leastcut.NeighborSearch] = []
    graph_seconds, graph = _timed(
        lambda: leastcut.adaptive_neighbors_graph(X, device="cuda", callback=record.append), 1
    )
    cut_seconds, result = _timed(
        lambda: leastcut.partition(graph, c, effort="auto", lower_bound=False, random_state=0), 1
    )
    if X.shape[0] >= ONCE:
        row["neighbour_seconds"] = round(record[0].seconds, 3)
        total = round(graph_seconds + cut_seconds, 3)
    return {
        **row,
        "recall": record[0].recall,
        "device_peak_gib": round(torch.cuda.max_memory_allocated() / 2**30, 2),
        "points_to_labels_seconds": total,
        "of_which_graph_seconds": graph_seconds,
        "of_which_cut_seconds": cut_seconds,
        "cut_value": result.cut_value,
    }


def _beside_plain_torch(X: np.ndarray, repeats: int) -> dict[str, Any]:
    """Time our search for samples on the device, and plain PyTorch once."""
    import torch

    from leastcut.affinity.neighbors.gpu_search import nearest_on_gpu

    points = torch.as_tensor(X, device="cuda")
    seconds, result = _timed(lambda: nearest_on_gpu(points, COUNT), repeats)
    _plain(points[:5000], 1000)
    plain, recall = _peer(points, result)
    return {
        "neighbour_seconds": seconds,
        "searched_again": result.n_repeated,
        "plain_torch_seconds": plain,
        "plain_torch_recall": recall,
    }


def _timed(work: Any, repeats: int) -> tuple[float, Any]:
    """Return the median wall time, and the last result."""
    import torch

    seconds = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        begin = perf_counter()
        result = work()
        torch.cuda.synchronize()
        seconds.append(perf_counter() - begin)
    return round(median(seconds), 3), result


def _plain(points: Any, rows: int) -> Any:
    """Return the nearest neighbors by half-precision products and top-k, as usual in PyTorch."""
    import torch

    half = (points - points.mean(0)).half()
    squares = half.float().square().sum(1)
    nearest = []
    for start in range(0, half.shape[0], rows):
        near = squares - 2 * (half[start : start + rows] @ half.T)
        near[torch.arange(near.shape[0]), start + torch.arange(near.shape[0])] = torch.inf
        nearest.append(near.topk(COUNT, 1, largest=False).indices)
    return torch.cat(nearest)


def _peer(points: Any, result: Any) -> tuple[float, float]:
    """Time plain PyTorch once, and return the fraction of our neighbors that it returns."""
    rows = max(1, 2**32 // points.shape[0] // 2)
    seconds, indices = _timed(lambda: _plain(points, rows), 1)
    indices = indices.cpu().numpy()
    sample = np.random.default_rng(0).choice(points.shape[0], 2000, replace=False)
    same = [len(set(indices[i]) & set(result.indices[i])) for i in sample]
    return seconds, float(np.mean(same)) / COUNT

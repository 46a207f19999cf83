"""Time this version against another one in the same run, to detect slowdowns.

``LEASTCUT_BEFORE=/path/to/other/src python -m benchmarks versions`` starts one process per source
tree and runs the same calls in both alternately, so that other load affects both alike. Without the
variable nothing runs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent.parent
REPEATS = 9


def cases() -> dict[str, Callable[[], Any]]:
    """Return the calls to time, by name, with prepared inputs and compiled code."""
    from sklearn.datasets import load_digits, make_blobs

    import leastcut
    from benchmarks import _graphs as generated

    rng = np.random.default_rng(0)
    small, middle, large = (generated.points_graph(n) for n in (1000, 10_000, 100_000))
    tiny, grid = generated.planted(300, 5, 8, 3), generated.grid(40, 25)
    digits = load_digits().data
    plane, _ = make_blobs(20_000, centers=8, random_state=0)
    space, _ = make_blobs(6000, n_features=40, centers=8, cluster_std=5.0, random_state=0)
    digits_graph = leastcut.adaptive_neighbors_graph(digits)
    relaxation = leastcut.relax(digits_graph, 10, random_state=0)
    random_labels = rng.integers(10, size=large.shape[0])
    complete = np.triu(rng.random((24, 24)), 1)
    complete += complete.T
    fitted = leastcut.SpectralClustering(8, random_state=0).fit(plane)

    def partition(graph: Any, c: int, effort: str) -> Callable[[], Any]:
        return lambda: leastcut.partition(graph, c, effort=effort, random_state=0)

    def fit(X: np.ndarray, c: int, **settings: Any) -> Callable[[], Any]:
        return lambda: leastcut.SpectralClustering(c, random_state=0, **settings).fit(X)

    def discretize(method: str) -> Callable[[], Any]:
        return lambda: leastcut.discretize(relaxation, method, graph=digits_graph, random_state=0)

    return {
        "cut_value, 100,000 nodes": lambda: leastcut.cut_value(large, random_labels),
        "adaptive neighbours, 20,000 x 2": lambda: leastcut.adaptive_neighbors_graph(plane),
        "adaptive neighbours, 6,000 x 40": lambda: leastcut.adaptive_neighbors_graph(space),
        "self-tuning, 20,000 x 2": lambda: leastcut.self_tuning_graph(plane),
        "relax, digits": lambda: leastcut.relax(digits_graph, 10, random_state=0),
        "relax, 10,000 points": lambda: leastcut.relax(middle, 10, random_state=0),
        "discretize, first order": discretize("first_order"),
        "discretize, rotation": discretize("rotation"),
        "discretize, k-means": discretize("kmeans"),
        "partition fast, 1,000 nodes": partition(small, 8, "fast"),
        "partition fast, 10,000 nodes": partition(middle, 8, "fast"),
        "partition fast, 100,000 nodes": partition(large, 10, "fast"),
        "partition balanced, 1,000 nodes": partition(small, 8, "balanced"),
        "partition balanced, 10,000 nodes": partition(middle, 8, "balanced"),
        "partition thorough, 300 nodes": partition(tiny, 5, "thorough"),
        "refine, 100,000 nodes": lambda: leastcut.refine(large, random_labels),
        "direct_cut, 1,000 nodes": lambda: leastcut.direct_cut(grid, 5, n_init=2, random_state=0),
        "exact_partition, 24 nodes": lambda: leastcut.exact_partition(complete, 2),
        "cut_path, digits": lambda: leastcut.cut_path(digits, range(2, 8), random_state=0),
        "fit, digits": fit(digits, 10),
        "fit, 20,000 x 2": fit(plane, 8),
        "fit spectral, digits": fit(digits, 10, solver="spectral"),
        "predict, 20,000 x 2": lambda: fitted.predict(plane + 0.01),
    }


def serve() -> None:
    """Read case names from standard input, and print the seconds of each."""
    known = cases()
    for run in known.values():
        run()
    print(json.dumps(list(known)), flush=True)
    for line in sys.stdin:
        begin = time.perf_counter()
        known[json.loads(line)]()
        print(json.dumps(time.perf_counter() - begin), flush=True)


def fresh_process(source: str, code: str) -> float:
    """Return the seconds of a new process that runs ``code`` with cached compiled code."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], env=_environment(source), check=True)
    return time.perf_counter() - begin


def _environment(source: str) -> dict[str, str]:
    """Return the environment of a process with that version, with cached byte code."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": os.pathsep.join([source, str(HERE)])}


FRESH = {
    "import, new process": "import leastcut",
    "fit 300 points, new process": (
        "import numpy, leastcut; X = numpy.random.default_rng(0).normal(size=(300, 2)); "
        "leastcut.SpectralClustering(3, random_state=0).fit(X)"
    ),
    "partition 300 nodes, new process": (
        "import numpy, leastcut; W = numpy.random.default_rng(0).random((300, 300)); "
        "leastcut.partition(W + W.T, 3, effort='fast', random_state=0)"
    ),
}


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Return the minimum time of each case with both versions, and their ratio."""
    before = os.environ.get("LEASTCUT_BEFORE")
    if before is None:
        print("LEASTCUT_BEFORE names no source tree to compare with.")
        return []
    sources = {"before": before, "after": str(HERE / "src")}
    command = [sys.executable, "-c", "from benchmarks.versions import serve; serve()"]
    servers = {
        name: subprocess.Popen(
            command,
            env=_environment(source),
            cwd=HERE,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name, source in sources.items()
    }
    names, _ = (json.loads(server.stdout.readline()) for server in servers.values())

    def ask(server: subprocess.Popen, case: str) -> float:
        server.stdin.write(json.dumps(case) + "\n")
        server.stdin.flush()
        return float(json.loads(server.stdout.readline()))

    rows = []
    repeats = 2 if quick else REPEATS
    for case in names:
        times: dict[str, list[float]] = {name: [] for name in servers}
        for _ in range(repeats):
            for name, server in servers.items():
                times[name].append(ask(server, case))
        rows.append(_row(case, times))
    for server in servers.values():
        server.stdin.close()
        server.wait()
    for case, code in FRESH.items():
        times = {name: [] for name in sources}
        for _ in range(repeats + 1):
            for name, source in sources.items():
                times[name].append(fresh_process(source, code))
        rows.append(_row(case, times))
    return rows


def _row(case: str, times: dict[str, list[float]]) -> dict[str, Any]:
    seconds = {name: min(some) for name, some in times.items()}
    return {
        "case": case,
        **{f"seconds_{name}": float(f"{value:.4g}") for name, value in seconds.items()},
        "after_over_before": round(seconds["after"] / seconds["before"], 3),
    }

"""The first fit of a process, compared with scikit-learn: imports, loading of compiled code, fit.

Processes alternate, so that other load affects all alike; medians of wall and CPU seconds are
reported. ``scikit-learn`` cuts the nearest-neighbors graph. A first round, which is not recorded,
fills the file cache and compiles the kernels.

``compiling`` is the additional time of the very first call on a machine, with an empty cache of
compiled code; ``kernels.compile_time`` informs users about it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_iris, make_blobs

ROUNDS, COMPILING_ROUNDS = 11, 2

USER_CODE = """
import json, sys, time, warnings
import_begins = time.perf_counter(), time.process_time()
import numpy as np
from {module} import SpectralClustering

fit_begins = time.perf_counter(), time.process_time()
warnings.simplefilter("ignore")
data = np.load(sys.argv[1])
SpectralClustering(int(data["k"]), {options}random_state=0).fit(data["X"])
done = time.perf_counter(), time.process_time()
print(json.dumps([*import_begins, *fit_begins, *done]))
"""

PEERS = {
    "scikit-learn": ("sklearn.cluster", 'affinity="nearest_neighbors", '),
    "leastcut": ("leastcut", ""),
}
"""The imports, with options."""


FIRST_CALLS = {
    "SpectralClustering.fit": "leastcut.SpectralClustering(3, random_state=0).fit(X)",
    "partition": "leastcut.partition(S, 3, random_state=0)",
    "cut_path": "leastcut.cut_path(X, range(2, 6), random_state=0)",
    "certify": "leastcut.certify(S, np.arange(len(X)) % 3, time_limit=5, random_state=0)",
}
"""Calls to measure as the first of a process and of a machine."""

FIRST_CODE = """
import sys, time
import numpy as np
from sklearn.datasets import load_iris
import leastcut
X = load_iris().data
S = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
begins = time.process_time()
{call}
print(time.process_time() - begins)
"""


def compiling(rounds: int = COMPILING_ROUNDS) -> list[dict[str, Any]]:
    """Return the median CPU seconds of first calls, and their excess over later calls."""
    rows = []
    for name, call in FIRST_CALLS.items():
        taken = []
        for _ in range(rounds):
            with tempfile.TemporaryDirectory() as folder:
                first, later = (_first_call(call, folder) for _ in range(2))
                n_files = sum(path.suffix == ".nbc" for path in Path(folder).rglob("*"))
            taken.append((first, first - later))
        cpu, longer = (median(column) for column in zip(*taken, strict=True))
        rows.append(
            {
                "call": name,
                "compiled": n_files,
                "first_cpu_s": round(cpu, 2),
                "compiling_cpu_s": round(longer, 2),
            }
        )
    return rows


def _first_call(call: str, folder: str) -> float:
    done = subprocess.run(
        [sys.executable, "-c", FIRST_CODE.format(call=call)],
        env={**os.environ, "NUMBA_CACHE_DIR": folder},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def datasets() -> dict[str, tuple[np.ndarray, int]]:
    """Return samples and the number of clusters by name."""
    return {
        "iris": (load_iris().data, 3),
        "blobs": (make_blobs(400, centers=5, random_state=0)[0], 5),
        "digits": (load_digits().data, 10),
        "5,000 points": (make_blobs(5000, n_features=5, centers=8, random_state=0)[0], 8),
    }


def run(quick: bool = False) -> dict[str, Any]:
    """Return the median seconds per dataset and peer, and the excess of leastcut."""
    rows = []
    for name, (X, k) in list(datasets().items())[: 1 if quick else None]:
        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder) / "data.npz"
            np.savez(data, X=X, k=k)
            for peer in PEERS:
                _fit(peer, data)
            runs = [
                {peer: _fit(peer, data) for peer in PEERS} for _ in range(2 if quick else ROUNDS)
            ]
        for peer in PEERS:
            seconds = {key: median(one[peer][key] for one in runs) for key in runs[0][peer]}
            beyond = median(one[peer]["total_s"] - one["scikit-learn"]["total_s"] for one in runs)
            row = {**seconds, "beyond_scikit_learn_s": beyond}
            rounded = {key: round(value, 3) for key, value in row.items()}
            rows.append({"dataset": name, "n": len(X), "peer": peer, **rounded})
    return {
        "rows": rows,
        "rounds": ROUNDS,
        "compiling": compiling(1 if quick else COMPILING_ROUNDS),
        "compiling_rounds": COMPILING_ROUNDS,
    }


def _fit(peer: str, data: Path) -> dict[str, float]:
    module, options = PEERS[peer]
    # Byte code is cached, as for an installed package.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-c", USER_CODE.format(module=module, options=options), str(data)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    begin, begin_cpu, fit, fit_cpu, end, end_cpu = json.loads(done.stdout)
    return {
        "import_s": fit - begin,
        "fit_s": end - fit,
        "total_s": end - begin,
        "import_cpu_s": fit_cpu - begin_cpu,
        "fit_cpu_s": end_cpu - fit_cpu,
        "total_cpu_s": end_cpu - begin_cpu,
    }

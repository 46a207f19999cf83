"""Ctrl-C during a fit of many points: seconds until ``KeyboardInterrupt``, at any stage.

Each row is a separate process that receives a signal after a number of seconds.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

CASES = {
    "plane, 10M x 2": [1.0, 4.0, 8.0, 13.0, 18.0, 23.0, 28.0, 33.0],
    "mixture, 1M x 32": [1.0, 5.0, 12.0, 20.0],
}
QUICK_CASES = {"plane, 300k x 2": [0.2, 0.6]}
SIZES = {
    "plane, 10M x 2": ("plane", 10_000_000),
    "mixture, 1M x 32": ("mixture", 1_000_000),
    "plane, 300k x 2": ("plane", 300_000),
}


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Return the seconds until the interrupt was handled, per dataset and time of the signal."""
    rows = []
    for case, moments in (QUICK_CASES if quick else CASES).items():
        for moment in moments:
            done = subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "benchmarks.interrupts",
                    *map(str, SIZES[case]),
                    str(moment),
                ],
                capture_output=True,
                text=True,
                check=True,
            )
            rows.append({"case": case, **json.loads(done.stdout.strip().splitlines()[-1])})
            print(rows[-1], flush=True)
    return rows


def measure(data: str, n: int, moment: float) -> dict[str, Any]:
    """Fit until interrupted, and print the seconds from the signal to the exception."""
    import leastcut
    from benchmarks.points_to_labels import points_of

    X, _ = points_of(data, n)
    # A process started in the background may ignore the signal by default.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    leastcut.SpectralClustering(5, random_state=0).fit(X[:3000])
    sent = []

    def interrupt() -> None:
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(moment, interrupt)
    timer.start()
    begin = time.perf_counter()
    try:
        leastcut.SpectralClustering(10, random_state=0).fit(X)
    except KeyboardInterrupt:
        received = time.perf_counter()
        return {"after_seconds": moment, "heard_within_seconds": round(received - sent[0], 3)}
    timer.cancel()
    return {"after_seconds": moment, "done_after_seconds": round(time.perf_counter() - begin, 3)}


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))), flush=True)
    # The interrupted computation may still run in a daemon thread.
    os._exit(0)

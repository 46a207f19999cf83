"""What is measured in a process of its own, and how much memory it held."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from typing import Any


def in_process(module: str, *arguments: str, most_seconds: float = 1800) -> dict[str, Any]:
    """Return what ``python -m module`` prints last, as JSON, or why there is none."""
    command = [sys.executable, "-W", "ignore", "-m", module, *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=most_seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return {"stopped_after": most_seconds}
    if done.returncode != 0:
        return {"failed": (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]}
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def peak_gib() -> float:
    """Return the largest memory that this process has held, pages of mapped files included."""
    units = 2**30 if sys.platform == "darwin" else 2**20
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / units, 3)

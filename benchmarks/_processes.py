"""Measurements in separate processes, with their peak memory."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any


def in_process(module: str, *arguments: str, most_seconds: float = 1800) -> dict[str, Any]:
    """Return the last line that ``python -m module`` prints, parsed as JSON, or the error."""
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
    """Return the peak memory of this process, including pages of mapped files."""
    if sys.platform == "linux":
        # Not getrusage, whose value starts from the peak of the parent process.
        status = Path("/proc/self/status").read_text(encoding="ascii")
        kib = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
        return round(int(kib) / 2**20, 3)
    units = 2**30 if sys.platform == "darwin" else 2**20
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / units, 3)

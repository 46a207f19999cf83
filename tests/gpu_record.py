"""Run the GPU tests and record their outcomes: ``python -m tests.gpu_record``."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from leastcut.affinity.neighbors.devices import missing_gpu
from reproduction.runs.records import environment

ROOT = Path(__file__).parent.parent
RECORD = ROOT / "benchmarks" / "results" / "gpu_tests.json"


class Outcomes:
    """Counts of test outcomes, and the failed tests."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a test once: after its call, or after a setup that did not pass."""
        if report.when == "call" or (report.when == "setup" and not report.passed):
            self.counts[report.outcome] += 1
            if report.failed:
                self.failed.append(report.nodeid)


def main() -> int:
    """Run the tests, write the record and print a summary."""
    missing = missing_gpu()
    if missing is not None:
        print(missing)
        return 1
    import torch

    outcomes = Outcomes()
    files = [
        str(ROOT / "tests" / "integration" / name)
        for name in ("test_gpu.py", "test_gpu_search.py", "test_anchor_gpu.py")
    ]
    status = int(pytest.main(["-q", *files], plugins=[outcomes]))
    record = {
        "date": time.strftime("%Y-%m-%d"),
        **environment(),
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "outcomes": dict(outcomes.counts),
        "failed": outcomes.failed,
    }
    RECORD.write_text(json.dumps(record, indent=1) + "\n")
    print(f"{RECORD.relative_to(ROOT)}: {dict(outcomes.counts)}")
    return status


if __name__ == "__main__":
    sys.exit(main())

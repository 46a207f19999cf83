"""Run the fuzz tests: ``python -m fuzz --minutes 10``, in the folder ``tests``."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import count

from fuzz import counts, regressions
from fuzz.checking import REFUSED, VIOLATED, check_case
from fuzz.invariants import ENDS
from fuzz.workers import Job, Report, run_jobs
from fuzz.writing import as_code

EVERY = 30.0
"""Seconds between two lines of progress."""

MOST_PRINTED = 3
"""Violations of one invariant that are printed as code; others are only counted."""


def main() -> int:
    """Parse the command line and run; return 1 if an invariant was violated."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, help="seed of the cases (default: the time)")
    parser.add_argument("--cases", type=int, help="maximum number of cases")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--dry", action="store_true", help="do not record the counts")
    parser.add_argument(
        "--case", type=int, nargs=2, metavar=("SEED", "NUMBER"), help="run one case"
    )
    arguments = parser.parse_args()
    if arguments.case is not None:
        return run_case(*arguments.case)
    seed = int(time.time()) if arguments.seed is None else arguments.seed
    run = Run(seed, arguments.dry)
    try:
        run.go(arguments.minutes, arguments.processes, arguments.cases)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    return run.finish()


def run_case(seed: int, number: int) -> int:
    """Check one case in this process and print the outcome of every invariant."""
    n_violated = 0
    case = Job(seed, number).build()
    for verdict in check_case(case):
        print(f"{verdict.invariant}: {verdict.outcome} {verdict.message}")
        if verdict.outcome == VIOLATED:
            n_violated += 1
            print(as_code(case, verdict.invariant, verdict.message, verdict.code))
    return int(n_violated > 0)


class Run:
    """A run of the fuzz tests and its counts."""

    def __init__(self, seed: int, dry: bool) -> None:
        self.seed, self.dry = seed, dry
        self.tally: counts.Tally = defaultdict(Counter)
        self.cases = 0
        self.began = time.monotonic()

    @property
    def violations(self) -> int:
        """Number of violations of all invariants."""
        return sum(counted["violations"] for counted in self.tally.values())

    def go(self, minutes: float, processes: int, most: int | None) -> None:
        """Run the stored regressions, then new cases until the time is over."""
        printed = self.began
        for report in run_jobs(self._jobs(minutes, most), processes):
            if report is not None:
                self.add(report)
            if time.monotonic() - printed >= EVERY:
                printed = time.monotonic()
                print(self._line(), flush=True)

    def add(self, report: Report) -> None:
        """Count a report, and print and store its violations."""
        self.cases += 1
        for verdict in report.verdicts:
            self.tally[verdict.invariant]["tried"] += 1
            self.tally[verdict.invariant]["refused"] += verdict.outcome == REFUSED
            self.tally[verdict.invariant]["violations"] += verdict.outcome == VIOLATED
        self.tally[ENDS]["tried"] += 1
        violations = [
            (case, verdict.invariant, verdict.message, verdict.code)
            for case, verdict in report.violations
        ]
        if report.stuck is not None:
            self.tally[ENDS]["violations"] += 1
            violations = [(report.job.build(), ENDS, report.stuck, "")]
        for case, name, message, code in violations:
            if self.tally[name]["violations"] <= MOST_PRINTED:
                command = f"# python -m fuzz --case {report.job.seed} {report.job.number}"
                print(f"\n{command}\n{as_code(case, name, message, code)}\n", flush=True)
            if not self.dry:
                regressions.store(name, case, message)

    def finish(self) -> int:
        """Print the table, record the counts, and return the exit status."""
        minutes = (time.monotonic() - self.began) / 60
        print(f"{self._line()}\n{counts.plain(self.tally)}", flush=True)
        if not self.dry and self.cases:
            counts.add(self.tally, self.cases, minutes)
        return int(self.violations > 0)

    def _jobs(self, minutes: float, most: int | None) -> Iterator[Job]:
        """Yield the stored regressions, and new cases while there is time."""
        for entry in regressions.read():
            yield Job(entry["seed"], entry["number"], entry["case"])
        for number in count() if most is None else range(most):
            if time.monotonic() - self.began >= 60 * minutes:
                break
            yield Job(self.seed, number)

    def _line(self) -> str:
        seconds = time.monotonic() - self.began
        refused = sum(counted["refused"] for counted in self.tally.values())
        tries = sum(counted["tried"] for counted in self.tally.values())
        return (
            f"{seconds:6.0f} s, seed {self.seed}: {self.cases:,} cases, {tries:,} checks, "
            f"{refused:,} rejected, {self.violations:,} violations"
        )


if __name__ == "__main__":
    sys.exit(main())

"""The counts of all runs: a JSON record, and a table in the documentation."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import leastcut
from fuzz.invariants import descriptions

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "benchmarks" / "results" / "fuzz.json"
PAGE = ROOT / "docs" / "invariants.md"
KINDS = ("tried", "refused", "violations")
TABLE = re.compile(r"(<!-- counts -->\n).*?(?=<!-- end of counts -->)", re.DOTALL)

Tally = dict[str, Counter[str]]
"""The numbers of checked, rejected and violating cases, by invariant."""


def state() -> dict[str, str]:
    """Return the version and the commit of leastcut, with "+" for uncommitted changes."""
    command = ["git", "describe", "--always", "--dirty=+", "--abbrev=10", "--exclude=*"]
    child = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return {"version": leastcut.__version__, "commit": child.stdout.strip() or "unknown"}


def read() -> list[dict[str, Any]]:
    """Return the recorded counts, one entry per commit."""
    return json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else []


def add(tally: Tally, cases: int, minutes: float) -> None:
    """Add the counts of a run to the record, and update the page."""
    entries, now = read(), state()
    same = [entry for entry in entries if all(entry[key] == now[key] for key in now)]
    if same:
        entry = same[0]
    else:
        entry = {**now, "minutes": 0.0, "cases": 0, "laws": {}}
        entries.append(entry)
    entry["minutes"] = round(entry["minutes"] + minutes, 2)
    entry["cases"] += cases
    for name, counted in tally.items():
        before = entry["laws"].get(name, {})
        entry["laws"][name] = {kind: before.get(kind, 0) + counted[kind] for kind in KINDS}
    write(RECORD, json.dumps(entries, indent=1) + "\n")
    write(PAGE, renewed(PAGE.read_text(encoding="utf-8"), entries))


def write(path: Path, text: str) -> None:
    """Write a file atomically."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def renewed(page: str, entries: list[dict[str, Any]]) -> str:
    """Return the page with an updated table."""
    return TABLE.sub(lambda match: match[1] + table(entries), page)


def table(entries: list[dict[str, Any]]) -> str:
    """Return a sentence with the totals and the counts by invariant, as Markdown."""
    rows, totals = [], dict.fromkeys(KINDS, 0)
    for name, text in descriptions().items():
        counted = [entry["laws"].get(name, {}) for entry in entries]
        sums = {kind: sum(count.get(kind, 0) for count in counted) for kind in KINDS}
        totals = {kind: totals[kind] + sums[kind] for kind in KINDS}
        rows.append(f"| {name} | {text} | {' | '.join(f'{sums[kind]:,}' for kind in KINDS)} |")
    cases, minutes = (sum(entry[key] for entry in entries) for key in ("cases", "minutes"))
    lines = [
        f"{cases:,} cases in {minutes:,.0f} minutes on {len(entries)} commits: "
        f"{totals['tried']:,} checks, {totals['violations']:,} violations.",
        "",
        "| invariant | | cases | rejected | violations |",
        "|---|---|--:|--:|--:|",
        *rows,
    ]
    return "\n".join(lines) + "\n"


def plain(tally: Tally) -> str:
    """Return the counts of a run as text."""
    width = max(map(len, descriptions()))
    lines = [f"{'invariant':{width}}  {'cases':>9}  {'rejected':>9}  {'violations':>10}"]
    for name in descriptions():
        counts = [tally[name][kind] if name in tally else 0 for kind in KINDS]
        lines.append(f"{name:{width}}  {counts[0]:>9,}  {counts[1]:>9,}  {counts[2]:>10,}")
    return "\n".join(lines)

"""What runs have counted: added up in a JSON file, and shown as a table in the documentation."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import leastcut
from fuzz.invariants import texts

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "benchmarks" / "results" / "fuzz.json"
PAGE = ROOT / "docs" / "invariants.md"
KINDS = ("tried", "refused", "violations")
TABLE = re.compile(r"(<!-- counts -->\n).*?(?=<!-- end of counts -->)", re.DOTALL)

Tally = dict[str, Counter[str]]
"""By law: how many cases it was tried on, how many of them were refused, and how many broke it."""


def state() -> dict[str, str]:
    """Return the version of leastcut and the commit that it is of, marked where files differ."""
    asked = ["git", "describe", "--always", "--dirty=+", "--abbrev=10", "--exclude=*"]
    told = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    return {"version": leastcut.__version__, "commit": told.stdout.strip() or "unknown"}


def read() -> list[dict[str, Any]]:
    """Return what has been counted, one entry for every state of the source."""
    return json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else []


def add(tally: Tally, cases: int, minutes: float) -> None:
    """Add a run to what has been counted, and renew the page."""
    entries, now = read(), state()
    same = [entry for entry in entries if all(entry[key] == now[key] for key in now)]
    if same:
        entry = same[0]
    else:
        entry = {**now, "minutes": 0.0, "cases": 0, "laws": {}}
        entries.append(entry)
    entry["minutes"] = round(entry["minutes"] + minutes, 2)
    entry["cases"] += cases
    for law, counted in tally.items():
        before = entry["laws"].get(law, {})
        entry["laws"][law] = {kind: before.get(kind, 0) + counted[kind] for kind in KINDS}
    write(RECORD, json.dumps(entries, indent=1) + "\n")
    write(PAGE, renewed(PAGE.read_text(encoding="utf-8"), entries))


def write(path: Path, text: str) -> None:
    """Write a file so that it is there whole or as it was before."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def renewed(page: str, entries: list[dict[str, Any]]) -> str:
    """Return the page with the table of what has been counted."""
    return TABLE.sub(lambda found: found[1] + table(entries), page)


def table(entries: list[dict[str, Any]]) -> str:
    """Return the counts of all entries as Markdown, and which versions they are of."""
    lines = ["| law | | cases tried | refused | violations |", "|---|---|--:|--:|--:|"]
    for law, text in texts().items():
        counted = [entry["laws"].get(law, {}) for entry in entries]
        cells = [f"{sum(count.get(kind, 0) for count in counted):,}" for kind in KINDS]
        lines.append(f"| {law} | {text} | {' | '.join(cells)} |")
    lines.append("")
    for entry in entries:
        lines.append(
            f"- leastcut {entry['version']}, commit `{entry['commit']}`: {entry['cases']:,} cases "
            f"in {entry['minutes']:,.0f} minutes"
        )
    return "\n".join(lines) + "\n"


def plain(tally: Tally) -> str:
    """Return the counts of a run as text."""
    width = max(map(len, texts()))
    lines = [f"{'law':{width}}  {'tried':>9}  {'refused':>9}  {'violations':>10}"]
    for law in texts():
        tried, refused, broken = (tally[law][kind] if law in tally else 0 for kind in KINDS)
        lines.append(f"{law:{width}}  {tried:>9,}  {refused:>9,}  {broken:>10,}")
    return "\n".join(lines)

"""Cases that once violated an invariant: stored in a file, and run first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fuzz.cases import Case, case_of
from fuzz.counts import write
from fuzz.writing import MOST_WRITTEN, as_json, from_json, size

FILE = Path(__file__).with_name("regressions.json")

MOST_STORED = 4
"""Cases stored per invariant."""


def read() -> list[dict[str, Any]]:
    """Return the entries: law, seed, number, note, and the case if it is small."""
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else []


def stored_case(entry: dict[str, Any]) -> Case:
    """Return the case of an entry."""
    if entry["case"] is None:
        return case_of(entry["seed"], entry["number"])
    return from_json(entry["case"])


def store(invariant: str, case: Case, note: str) -> None:
    """Add a case, unless enough cases of its invariant are stored."""
    entries = read()
    same = [entry for entry in entries if entry["law"] == invariant]
    known = any((entry["seed"], entry["number"]) == (case.seed, case.number) for entry in same)
    if known or len(same) >= MOST_STORED:
        return
    entry = {
        "law": invariant,
        "seed": case.seed,
        "number": case.number,
        "note": note,
        "case": as_json(case) if size(case) <= MOST_WRITTEN else None,
    }
    lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in [*entries, entry])
    write(FILE, f"[\n{lines}\n]\n")

"""Cases that broke a law once: kept in a file, and tried first in every run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fuzz.cases import Case, case_of
from fuzz.counts import write
from fuzz.writing import MOST_WRITTEN, as_json, from_json, size

KEPT = Path(__file__).with_name("regressions.json")

MOST_KEPT = 4
"""Cases kept of one law: what breaks it oftener is broken by these as well."""


def read() -> list[dict[str, Any]]:
    """Return what is kept: law, seed, number, note, and the case itself where it is small."""
    return json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else []


def case_kept(entry: dict[str, Any]) -> Case:
    """Return the case of an entry."""
    if entry["case"] is None:
        return case_of(entry["seed"], entry["number"])
    return from_json(entry["case"])


def keep(law: str, case: Case, note: str) -> None:
    """Add a case, unless there are enough of its law."""
    entries = read()
    alike = [entry for entry in entries if entry["law"] == law]
    known = any((entry["seed"], entry["number"]) == (case.seed, case.number) for entry in alike)
    if known or len(alike) >= MOST_KEPT:
        return
    written = as_json(case) if size(case) <= MOST_WRITTEN else None
    entry = {"law": law, "seed": case.seed, "number": case.number, "note": note, "case": written}
    lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in [*entries, entry])
    write(KEPT, f"[\n{lines}\n]\n")

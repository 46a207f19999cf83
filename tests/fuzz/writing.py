"""Cases as self-contained Python code, and as JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from fuzz.cases import Case, GraphCase, PointsCase

MOST_WRITTEN = 400
"""Size up to which a case is written with its arrays."""


def as_code(case: Case, invariant: str, message: str, code: str) -> str:
    """Return a script that shows how a case violates an invariant."""
    lines = [f"# {invariant}: {line}" for line in message.splitlines() or [""]]
    lines += ["import numpy as np", "import scipy.sparse", "import leastcut", ""]
    if size(case) > MOST_WRITTEN:
        lines += [
            "# in the folder tests",
            "from fuzz.cases import case_of",
            f"case = case_of({case.seed}, {case.number})",
        ]
        names = "X = case.X" if isinstance(case, PointsCase) else "S = case.matrix"
        lines += [f"{names}; n_clusters = case.n_clusters"]
        if isinstance(case, GraphCase):
            lines += ["cut, labels, settings = case.cut, case.labels, case.search"]
    elif isinstance(case, GraphCase):
        lines += [
            f"i, j = {case.i.tolist()}, {case.j.tolist()}",
            f"w = {case.weights.tolist()}",
            f"half = scipy.sparse.coo_array((w, (i, j)), shape=({case.n}, {case.n})).toarray()",
            "S = np.triu(half, 1).T + half",
            f"n, n_clusters, cut = {case.n}, {case.n_clusters}, {_literal(case.cut)}",
            f"labels = {case.labels.tolist()}",
            f"settings = {_settings(case)}",
        ]
    else:
        lines += [
            f"X = np.array({case.X.tolist()})" if not case.sparse else
            f"X = scipy.sparse.csr_array({case.X.tolist()})",
            f"n_clusters = {case.n_clusters}",
        ]  # fmt: skip
    if isinstance(case, PointsCase):
        options = {"affinity": case.affinity, "n_neighbors": case.n_neighbors, **case.settings}
        lines += [f"options = {options!r}"]
    return "\n".join([*lines, *code.splitlines()])


def size(case: Case) -> int:
    """Return the number of values in the arrays of a case."""
    return case.X.size if isinstance(case, PointsCase) else 3 * case.i.size + case.n


def as_json(case: Case) -> dict[str, Any]:
    """Return a case as JSON data; doubles are preserved exactly."""
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in vars(case).items()
        if name in type(case).__dataclass_fields__
    }


def from_json(written: dict[str, Any]) -> Case:
    """Return the case written by :func:`as_json`."""
    read = dict(written)
    if "X" in read:
        return PointsCase(**{**read, "X": np.array(read["X"], dtype=float)})
    for name in ("i", "j", "labels"):
        read[name] = np.array(read[name], dtype=np.int64)
    for name in ("weights", "cut"):
        if not isinstance(read[name], str):
            read[name] = np.array(read[name], dtype=float)
    return GraphCase(**read)


def _literal(cut: str | np.ndarray) -> str:
    return repr(cut) if isinstance(cut, str) else f"np.array({cut.tolist()})"


def _settings(case: GraphCase) -> str:
    shown = {name: value for name, value in case.search.items() if name != "init"}
    return f"{shown!r} | {{'init': labels}}" if case.settings["init"] else repr(shown)

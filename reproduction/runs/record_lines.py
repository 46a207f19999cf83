"""The required fields of a line in a file of records, and their checks.

Lines are checked when they are read, as files may have been edited or damaged.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from reproduction.data.printed import CUT_TITLES

KEY_FIELDS: dict[str, type] = {
    "experiment": str,
    "dataset": str,
    "cut": str,
    "method": str,
    "parameters": dict,
    "seed": int,
}
"""The fields that identify a run."""

Shape = tuple[int | str, ...]
"""The shape of a field, as () for a number and (3,) for three; a name is an equal length."""

OFTEN: dict[str, Shape] = dict.fromkeys(
    ("seconds", "accuracy", "nmi", "iterations", "largest", "eta"), ()
)
"""Optional numbers of any record."""

RUNS: dict[str, Shape] = dict.fromkeys(("values", "accuracies", "nmis"), ("runs",))
"""The numbers of each run in a record of many runs, in addition to the hash of its partition."""

MEASURED: dict[str, dict[str, Shape]] = {
    "datasets": {"shape": (3,), "stored": (), "components": ()},
    "evidence": RUNS,
    "tiny evidence": RUNS,
    "search": RUNS,
    "certificates": {"bound": (), "relaxed": (), "seconds": ()},
    "convergence": {"history": ("iterations",)},
    "random": {"misses": ()},
    "theorem 1": dict.fromkeys(("j_kmeans", "j_isr", "limit", "our_limit", "sigma"), ()),
    "corollary 1": dict.fromkeys(
        ("different", "pairs", "met", "met_ours", "broken", "swapped"), ()
    ),
    "theorem 2": dict.fromkeys(
        ("rho2_best", "rho2_closest", "ratio", "constant", "limit", "trivial"), ()
    ),
    "gradient": dict.fromkeys(
        (
            "lambda_c",
            *("distance", "inner", "share", "second"),
            *("distance_best", "inner_best", "share_best", "second_best"),
        ),
        (),
    ),
    "implication": dict.fromkeys(
        ("pairs", "fails", "near_pairs", "near_fails", "both_pairs", "both_fails"), ()
    ),
    "relax": {"largest": ()},
    "motivation": {
        "eigenvalues": (2,),
        "coordinates": ("nodes",),
        "parts": ("cuts", "nodes"),
        "values": ("cuts",),
        "distances": ("cuts",),
        "indicators": ("cuts", "nodes", 2),
        "rotated": ("cuts", "nodes", 2),
    },
}
"""The fields of the records of an experiment or a method, in addition to the value."""

MACHINE = ("system", "architecture", "processor", "cores")
"""The fields that describe a machine."""


def parsed(line: bytes) -> dict[str, Any]:
    """Return the content of a line: a record, or the versions and machine of following records.

    Raises
    ------
    ValueError
        If it is neither; the message has the reason.

    Examples
    --------
    >>> parsed(b'{"experiment": "datasets", "dataset": "wine"}')
    Traceback (most recent call last):
    ...
    ValueError: 'cut' is missing
    """
    try:
        content = json.loads(line, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(content, dict):
        raise ValueError("it is not a JSON object")
    if "experiment" in content:
        _check_record(content)
    else:
        _check_field(content, "environment", str)
        _check_environment(content)
    return content


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not valid in JSON")


def _check_record(record: dict[str, Any]) -> None:
    for name, kind in KEY_FIELDS.items():
        _check_field(record, name, kind)
    if record["cut"] not in CUT_TITLES:
        raise ValueError(f"'cut' is {record['cut']!r}")
    shapes: dict[str, Shape] = {"value": ()}
    for kind in (record["experiment"], record["method"]):
        shapes |= MEASURED.get(kind, {})
    shapes |= {name: shape for name, shape in OFTEN.items() if name in record}
    sizes: dict[int | str, int] = {}
    for name, shape in shapes.items():
        _check_numbers(record, name, shape, sizes)
    if MEASURED.get(record["experiment"], {}).keys() >= RUNS.keys():
        _check_hashes(record, sizes)
        if "signs" in record["parameters"]:
            _check_numbers(record, "choices", (), sizes)
        if "kept" in record["parameters"]:
            _check_numbers(record, "counts", ("runs",), sizes)
        if not {"signs", "kept"}.isdisjoint(record["parameters"]):
            _check_numbers(record, "tried", (), sizes)
    if record["experiment"] == "random":
        _check_field(record, "misses", int)
        _check_field(record["parameters"], "graphs", int)
        graphs = record["parameters"]["graphs"]
        if graphs < 1 or not 0 <= record["misses"] <= graphs:
            raise ValueError(f"'misses' is {record['misses']} of {graphs} graphs")
    if record["experiment"] == "certificates":
        _check_numbers(record["parameters"], "time_limit", (), sizes)
    if "environment" in record:
        _check_field(record, "environment", str)
    if "versions" in record or "machine" in record:
        _check_environment(record)


def _check_environment(line: dict[str, Any]) -> None:
    for name in ("versions", "machine"):
        _check_field(line, name, dict)
    for name in MACHINE:
        _check_field(line["machine"], name, str)


def _check_field(holder: dict[str, Any], name: str, kind: type) -> None:
    if name not in holder:
        raise ValueError(f"{name!r} is missing")
    # True is an int in Python
    if not isinstance(holder[name], kind) or isinstance(holder[name], bool):
        raise ValueError(f"{name!r} is not of type {kind.__name__}")


def _check_hashes(record: dict[str, Any], sizes: dict[int | str, int]) -> None:
    """Raise if a record of many runs does not have the partition of each run."""
    _check_field(record, "partitions", list)
    if not all(isinstance(name, str) for name in record["partitions"]):
        raise ValueError("'partitions' does not consist of strings")
    if len(record["partitions"]) != sizes["runs"]:
        raise ValueError(f"'partitions' has the length {len(record['partitions'])}")


def _check_numbers(
    holder: dict[str, Any], name: str, shape: Shape, sizes: dict[int | str, int]
) -> None:
    """Raise if a field does not have finite numbers of a shape; ``sizes`` has the named lengths."""
    if name not in holder:
        raise ValueError(f"{name!r} is missing")
    try:
        array = np.array(holder[name])
    except ValueError:  # rows of different lengths
        raise ValueError(f"{name!r} is not an array of numbers") from None
    if array.dtype.kind not in "iuf" or array.size == 0 or not np.isfinite(array).all():
        raise ValueError(f"{name!r} does not consist of finite numbers")
    expected = tuple(
        size if isinstance(size, int) else sizes.setdefault(size, length)
        for size, length in zip(shape, array.shape, strict=False)
    )
    if array.ndim != len(shape) or array.shape != expected:
        raise ValueError(f"{name!r} has the shape {array.shape}")

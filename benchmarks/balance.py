"""Balanced cuts compared with KaHIP and METIS, for their objective and ours, under the same limit.

The graphs are those of :mod:`benchmarks.real_graphs` in the folder ``LEASTCUT_GRAPHS``, with edge
weights 1. With the objective "edge cut" the weight of a cluster is its number of nodes, and the
number of cut edges is minimized, as KaHIP, METIS and leastcut's ``cut="edges"`` do. With
"normalized cut" the weight is the sum of degrees, peers get degrees as node weights, and the
normalized cut is evaluated.

No cluster may weigh more than L = ⌊(1 + balance) · total / c⌋. KaHIP's limit is
⌊(1 + ε) · ⌈total / c⌉⌋, so ε is chosen such that it is L; METIS gets its ``ufactor``. Results that
break the limit are recorded as such and not compared. Cases in which even the most equal sizes
break it are skipped. Constants of the search were chosen on the graphs in
:data:`benchmarks.real_graphs.LOOKED_AT`; the others are reported separately. Everything runs on one
thread with one seed, two graphs at a time. Seconds are CPU seconds.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import scipy.sparse as sp

import leastcut
from benchmarks._graphs import grid
from benchmarks.real_graphs import FAMILIES, LOOKED_AT

GAMES = {"edge cut": "edges", "normalized cut": "normalized"}
"""The value of each objective, and the ``cut`` of leastcut for it."""

CASES = {
    "edge cut": {0.03: (2, 32), 0.10: (8,)},
    "normalized cut": {0.03: (16,), 0.10: (4,)},
}
"""The numbers of clusters by objective and balance."""

KAHIP = {
    "mesh": ("ECO", "ECOSOCIAL", "STRONG", "STRONGSOCIAL"),
    "circuit": ("ECO", "ECOSOCIAL", "STRONGSOCIAL"),
    "network": ("ECO", "ECOSOCIAL", "STRONGSOCIAL"),
}
"""Modes of KaHIP by family. Those for networks are good on meshes, too; on the other graphs STRONG
takes up to half a minute, and its cuts are 2 to 4% above those of STRONGSOCIAL."""

METIS = {"METIS, k-way": False, "METIS, recursive": True}

EFFORTS = ("fast", "balanced")

WORKERS = 2
"""Number of graphs processed in parallel."""


def run(quick: bool = False) -> dict[str, Any]:
    """Return a row per objective, graph, balance and number of clusters, and a summary."""
    folder = Path(os.environ.get("LEASTCUT_GRAPHS", "graphs"))
    named = [(family, name) for family, names in FAMILIES.items() for name in names]
    paths = [(family, folder / f"{name}.npz") for family, name in named[-1 if quick else 0 :]]
    # The largest first, for an even load.
    existing = [(path.stat().st_size, family, path) for family, path in paths if path.exists()]
    rows = []
    with ProcessPoolExecutor(WORKERS, get_context("spawn")) as pool:
        tasks = [
            pool.submit(of_graph, family, path, quick) for _, family, path in sorted(existing)[::-1]
        ]
        for task in as_completed(tasks):
            rows += task.result()
            print(*map(_line, task.result()), sep="\n", flush=True)
    names = [name for _, name in named]
    rows.sort(key=lambda row: names.index(row["graph"]))
    return {"rows": rows, "summary": summary(rows)}


def of_graph(family: str, path: Path, quick: bool) -> list[dict[str, Any]]:
    """Return the rows of one graph."""
    S = sp.csr_array(sp.load_npz(path)).astype(float)
    S.sort_indices()
    S.indices, S.indptr = S.indices.astype(np.int32), S.indptr.astype(np.int32)
    for game in GAMES:
        _ours(grid(20, 20), 2, game, 0.1)  # compiles
    rows = []
    for game, balance, c, weights, limit in cases(S):
        if quick and c > 4:
            continue
        modes = KAHIP[family][: 2 if quick else None]
        methods = peers(S, c, weights, limit, balance, modes) | _ours(S, c, game, balance)
        row = {
            "game": game, "family": family, "graph": path.stem,
            "was_looked_at": path.stem in LOOKED_AT, "n": S.shape[0], "edges": S.nnz // 2,
            "balance": balance, "n_clusters": c, "limit": limit,
            "methods": {
                method: {"seconds": round(seconds, 3), **judged(S, labels, c, weights, limit)}
                for method, (labels, seconds) in methods.items()
            },
        }  # fmt: skip
        rows.append(row)
    return rows


def cases(S: sp.csr_array) -> Iterator[tuple[str, float, int, np.ndarray, int]]:
    """Yield objective, balance, number of clusters, node weights and limit of the feasible cases.

    With node weights 1 a case is feasible if and only if c · L ≥ n. With degrees it is assumed to
    be if c · L ≥ total and no node weighs more than L.
    """
    for game, by_balance in CASES.items():
        weights = np.ones(S.shape[0], dtype=np.int64) if game == "edge cut" else np.diff(S.indptr)
        for balance, numbers in by_balance.items():
            for c in numbers:
                total = int(weights.sum())
                # The tolerance is for rounding errors such as that of 1.03 * 100.
                limit = math.floor((1 + balance) * total / c + 1e-9)
                if limit * c >= total and weights.max() <= limit:
                    yield game, balance, c, weights, limit


def peers(
    S: sp.csr_array,
    c: int,
    weights: np.ndarray,
    limit: int,
    balance: float,
    modes: Sequence[str],
) -> dict[str, tuple[np.ndarray, float]]:
    """Return labels and seconds of KaHIP's modes and of METIS, by name."""
    peers = {}
    for mode in modes:
        peers[f"KaHIP, {mode}"] = _kahip(S, c, weights, limit, mode)
    for name, recursive in METIS.items():
        peers[name] = _metis(S, c, weights, balance, recursive)
    return peers


def _kahip(
    S: sp.csr_array, c: int, weights: np.ndarray, limit: int, mode: str
) -> tuple[np.ndarray, float]:
    """Return labels and seconds of KaHIP; with node weights 1 its limit is one larger if possible.

    Its moves stop one below its limit. If the larger limit makes it break ours, it runs again with
    the exact one.
    """
    import kahip

    # 1. Convert to lists before timing.
    graph = weights.tolist(), S.indptr.tolist(), [1] * S.nnz, S.indices.tolist()
    even = math.ceil(weights.sum() / c)
    # 2. KaHIP rounds its limit down, so it gets slightly more than an integer.
    for target in (limit + 1, limit) if weights.max() == 1 else (limit,):
        imbalance = target / even - 1 + 1e-9
        began = process_time()
        _, labels = kahip.kaffpa(*graph, c, imbalance, True, 0, getattr(kahip, mode))
        seconds = process_time() - began
        if np.bincount(labels, weights).max() <= limit:
            break
    return np.asarray(labels), seconds


def _metis(
    S: sp.csr_array, c: int, weights: np.ndarray, balance: float, recursive: bool
) -> tuple[np.ndarray, float]:
    import pymetis

    adjacency = pymetis.CSRAdjacency(S.indptr, S.indices)
    options = pymetis.Options(ufactor=round(1000 * balance), seed=0)
    began = process_time()
    labels = pymetis.part_graph(
        c, adjacency, vweights=weights.tolist(), recursive=recursive, options=options
    )[1]
    return np.asarray(labels), process_time() - began


def _ours(
    S: sp.csr_array, c: int, game: str, balance: float
) -> dict[str, tuple[np.ndarray, float]]:
    options: dict[str, Any] = {"random_state": 0, "lower_bound": False, "n_jobs": 1}
    results = {}
    for effort in EFFORTS:
        began = process_time()
        part = leastcut.partition(S, c, GAMES[game], balance=balance, effort=effort, **options)
        results[f"leastcut, {effort}"] = part.labels, process_time() - began
    return results


def judged(
    S: sp.csr_array, labels: np.ndarray, c: int, weights: np.ndarray, limit: int
) -> dict[str, Any]:
    """Return both values of labels, the largest cluster weight, and whether it is allowed."""
    loads = np.bincount(labels, weights, c)
    ends = np.repeat(np.arange(S.shape[0]), np.diff(S.indptr))
    return {
        "edge cut": int(np.count_nonzero(labels[ends] != labels[S.indices])) // 2,
        "normalized cut": leastcut.cut_value(S, labels),
        "heaviest": float(loads.max() * c / weights.sum()),
        "is_balanced": bool(loads.max() <= limit and loads.min() > 0),
    }


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Compare with the best balanced result of each program, by objective and half of the graphs.

    ``over`` are geometric means of our value divided by the peer's, ``worst`` is the largest such
    ratio with its case, and ``seconds`` are means.
    """
    games: dict[str, Any] = {}
    for game in GAMES:
        for half, looked in (("looked_at", True), ("reported", False)):
            half_rows = [
                row for row in rows if row["game"] == game and row["was_looked_at"] is looked
            ]
            if half_rows:
                games.setdefault(game, {})[half] = _half(half_rows, game)
    names = dict.fromkeys(name for row in rows for name in row["methods"])
    broken = {
        name: sum(not row["methods"][name]["is_balanced"] for row in rows if name in row["methods"])
        for name in names
    }
    return {"games": games, "limit_broken": broken}


def _half(rows: list[dict[str, Any]], game: str) -> dict[str, Any]:
    about: dict[str, Any] = {"rows": len(rows), "seconds": {}, "over": {}, "worst": {}}
    for name in dict.fromkeys(name for row in rows for name in row["methods"]):
        times = [row["methods"][name]["seconds"] for row in rows if name in row["methods"]]
        about["seconds"][name] = round(float(np.mean(times)), 3)
    for effort in EFFORTS:
        for program in ("KaHIP", "METIS"):
            ratios = []
            for row in rows:
                ours, theirs = row["methods"].get(f"leastcut, {effort}"), best(row, program, game)
                if ours is not None and theirs is not None:
                    ratios.append((ours[game] / theirs, row["graph"], row["n_clusters"]))
            if ratios:
                name = f"{effort} over {program}"
                mean = np.exp(np.mean(np.log([ratio for ratio, *_ in ratios])))
                about["over"][name] = round(float(mean), 4)
                about["worst"][name] = [round(max(ratios)[0], 4), *max(ratios)[1:]]
    return about


def best(row: dict[str, Any], program: str, game: str) -> float | None:
    """Return the smallest value of a program's modes within the limit, or None."""
    values = [
        method[game]
        for name, method in row["methods"].items()
        if name.startswith(program) and method["is_balanced"]
    ]
    return min(values, default=None)


def _line(row: dict[str, Any]) -> str:
    record = "  ".join(
        f"{name} {method[row['game']]:.6g}{'' if method['is_balanced'] else '!'}"
        for name, method in row["methods"].items()
    )
    where = f"{row['graph']} into {row['n_clusters']}, balance {row['balance']:g}"
    return f"{row['game']}: {where}: {record}"

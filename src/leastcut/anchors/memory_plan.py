"""What an anchor graph takes of memory, and how to stay within what it may take.

Labels do not depend on any of it. In the order in which they are given up where memory is short:
blocks whose ties stay in memory (those of others are read from files in every round), rows that are
read at once, threads.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from leastcut.affinity.neighbors.searching import TREE_FEATURES
from leastcut.anchors.contraction import MOST_SUMMED
from leastcut.anchors.nearest import SEEN_CELLS, is_in_cells, tile_rows
from leastcut.anchors.source_rows import Source
from leastcut.anchors.storage import TIE_BYTES
from leastcut.anchors.workers import TOGETHER
from leastcut.memory import available_memory, in_units, memory_in_use
from leastcut.validation import check_count

UNITS = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4}
UNITS |= {f"{letter}i": 1024**power for power, letter in enumerate("kmgt", start=1)}
"""Bytes of a unit, without the B that it may end with."""

SIZE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*((?:[kmgt]i?)?)b?\s*", re.IGNORECASE)
"""A number of bytes as people write it."""

CODE = 256 * 2**20
"""Bytes that libraries and compiled kernels take once all of them are loaded, a search included."""

LESS_CODE = 128 * 2**20
"""The same where Numba is loaded already: most kernels may still be to come."""

GPU_CODE = 2**31
"""The same of PyTorch with CUDA, where it is not loaded yet."""

SLACK = 48 * 2**20
"""Bytes that are freed but not given back to the system, and all that is too small to count."""

LABEL_BYTES = 24
"""Bytes that a search takes for every point: labels before and after a round, the best so far, and
those that are returned."""

GRAPH = 1024
"""Bytes that an anchor takes in the graph of anchors of one block, :data:`TOGETHER` at once."""

GROUPING = 64
"""Bytes that a point takes while a block is divided into groups."""

CLUSTERS = 32
"""Clusters for whose tables there is room in any case."""

GROUPS_PER_ANCHOR = 3
"""Groups of points that recombination makes of every anchor, about, at most."""

TABLES = 4
"""Tables that a thread has at once."""

READ_BYTES = 2**25
"""Bytes of samples that a thread reads at once: more is not quicker."""

SHARE = 0.8
"""Part of the memory that is left which is taken where no limit is given."""


class Need(NamedTuple):
    """What is to be computed.

    Attributes
    ----------
    source : Source
    sizes : tuple of int
        The points of every block.
    n_anchors, n_neighbors : int
    n_sampled : int
        Points that anchors are chosen from.
    on_gpu : bool
        Whether a GPU finds nearest anchors.
    """

    source: Source
    sizes: tuple[int, ...]
    n_anchors: int
    n_neighbors: int
    n_sampled: int
    on_gpu: bool = False


class Plan(NamedTuple):
    """How it is computed.

    Attributes
    ----------
    n_kept : int
        Blocks whose ties stay in memory, the first ones; where it is not all, ties go to files.
    n_threads : int
        Blocks that are worked on at once.
    read_rows : int
        Rows of a block that are read at once.
    most_clusters : int or None
        Clusters for whose tables there is room; None is any number.
    """

    n_kept: int
    n_threads: int
    read_rows: int
    most_clusters: int | None = None


def check_max_memory(max_memory: object) -> int | None:
    """Return a limit in bytes, given as such or in words, or None where there is none.

    Examples
    --------
    >>> from leastcut.anchors.memory_plan import check_max_memory
    >>> check_max_memory("1.5 GiB"), check_max_memory("200MB"), check_max_memory(4096)
    (1610612736, 200000000, 4096)
    """
    if max_memory is None:
        return None
    if not isinstance(max_memory, str):
        return check_count("max_memory", max_memory)
    found = SIZE.fullmatch(max_memory)
    if found is None:
        raise ValueError(
            f"max_memory={max_memory!r} is no size; write it as '4GiB', '500MB' or a number of "
            "bytes."
        )
    return check_count("max_memory", int(float(found[1]) * UNITS[found[2].lower()]))


def planned(need: Need, n_threads: int, max_memory: int | None) -> Plan:
    """Return the first plan that fits, from the quickest to the smallest.

    Parameters
    ----------
    need : Need
    n_threads : int
        Threads at most.
    max_memory : int or None
        Bytes that the process may have in use, those that it has now among them; None is most of
        what the system has left.

    Raises
    ------
    ValueError
        If ``max_memory`` is too little for any plan; the message names the least that would do.
    MemoryError
        If the system has too little left.
    """
    in_use = memory_in_use()
    limit = max_memory
    if limit is None:
        left = available_memory()
        limit = sys.maxsize if left is None else in_use + int(SHARE * left)
    for plan in _plans(need, n_threads):
        left_over = limit - in_use - growth(need, plan)
        if left_over >= 0:
            ties = [size * need.n_neighbors * TIE_BYTES for size in need.sizes]
            n_kept = sum(taken <= left_over for taken in accumulate(ties))
            if max_memory is None:
                return plan._replace(n_kept=n_kept)
            room = (left_over - sum(ties[:n_kept])) // cluster_bytes(need, plan)
            return plan._replace(n_kept=n_kept, most_clusters=CLUSTERS + room)
    least = in_use + growth(need, plan)
    n, d = need.source.shape
    remedy = "Or pass fewer anchors, smaller blocks (block_rows) or fewer features."
    if max_memory is None:
        raise MemoryError(
            f"An anchor graph of {n} samples with {d} features needs about "
            f"{in_units(least - in_use)} of memory, ties kept in files, but "
            f"{in_units(limit - in_use)} are left. {remedy}"
        )
    raise ValueError(
        f"max_memory={max_memory} ({in_units(max_memory)}) is too little: this process has "
        f"{in_units(in_use)} in use, and {n} samples with {d} features need "
        f"{in_units(least - in_use)} more, with one thread and ties kept in files. Pass "
        f"max_memory={least} or more ('{-(-least // 2**20)}MiB'). {remedy}"
    )


def growth(need: Need, plan: Plan) -> int:
    """Return the bytes that a plan takes at most, beyond what is in use and ties that it keeps.

    Choosing anchors, tying points to them and cutting the graph follow one another: the largest
    counts.
    """
    source, p, threads = need.source, need.n_anchors, plan.n_threads
    n, d = source.shape
    row_bytes = d * source.dtype.itemsize
    # What stays.
    code = LESS_CODE if "numba" in sys.modules else CODE
    if need.on_gpu and "torch" not in sys.modules:
        code += GPU_CODE
    copies = 2 * SEEN_CELLS if is_in_cells(p, d) else 4
    stays = SLACK + code + copies * p * row_bytes
    # What every thread has at once.
    ties = need.n_neighbors * TIE_BYTES
    compared = 0 if d <= TREE_FEATURES else p
    if is_in_cells(p, d):
        compared = SEEN_CELLS * math.isqrt(p)
    tile_bytes = tile_rows(p, d) * (4 * row_bytes + 24 * (need.n_neighbors + 3) + 4 * compared)
    block_bytes = max(need.sizes) * ties
    # 1. Anchors.
    largest = min(plan.read_rows, max(need.sizes))
    sample = need.n_sampled * row_bytes
    choosing = sample + max(sample + threads * tile_bytes, source.reading_bytes(largest))
    # 2. Ties.
    at_once = 1 if source.is_stream else threads
    tying = at_once * (source.reading_bytes(largest) + 2 * block_bytes) + threads * tile_bytes
    # 3. Labels.
    cutting = n * LABEL_BYTES + min(len(need.sizes), TOGETHER) * p * GRAPH
    summing = 8 * min(GROUPS_PER_ANCHOR * p * p, MOST_SUMMED)
    cutting += threads * (4 * block_bytes + max(need.sizes) * GROUPING + summing)
    cutting += CLUSTERS * cluster_bytes(need, plan)
    return stays + max(choosing, tying, cutting)


def cluster_bytes(need: Need, plan: Plan) -> int:
    """Return what every cluster takes in tables: one of every block, some of every thread."""
    return (len(need.sizes) + TABLES * plan.n_threads) * need.n_anchors * 8


def _plans(need: Need, n_threads: int) -> Iterator[Plan]:
    """Yield plans without any ties in memory, from the quickest to the smallest."""
    n_features = need.source.shape[1]
    tile = tile_rows(need.n_anchors, n_features)
    most = READ_BYTES // (n_features * need.source.dtype.itemsize)
    threads = n_threads
    while threads:
        rows = min(most, max(need.sizes))
        while rows > tile:
            yield Plan(0, threads, rows)
            rows //= 2
        yield Plan(0, threads, tile)
        threads //= 2

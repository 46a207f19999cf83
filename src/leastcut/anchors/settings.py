"""The settings of an anchor graph, checked, and a plan that stays within the memory allowed.

Labels do not depend on the plan. In the order in which they are given up if memory is short: blocks
whose anchor weights stay in memory (others are read from files in every round), rows that are read
at once, threads.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from leastcut.affinity.neighbors.common import TREE_FEATURES
from leastcut.anchors.array_sources import Source
from leastcut.anchors.blocks import MOST_POINTS, TOGETHER
from leastcut.anchors.nearest import SEEN_CELLS, is_in_cells, tile_rows
from leastcut.anchors.problem import MOST_SUMMED
from leastcut.anchors.run_folder import WEIGHT_BYTES
from leastcut.memory import available_memory, in_units, memory_in_use
from leastcut.validation import check_count

LEAST_BLOCK_ROWS, MOST_BLOCK_ROWS, BLOCKS = 2**13, 2**17, 16
"""Points of a block by default: so many blocks, for threads to share, unless they become too small
to be worth a task or too large to be read at once. It must not depend on the threads there are."""

TREE_PACE, PRODUCT_PACE = 2e6, 3e10
"""Points per second and core in few features, and products in many: they decide about a GPU."""

UNITS = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4}
UNITS |= {f"{letter}i": 1024**power for power, letter in enumerate("kmgt", start=1)}
SIZE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*((?:[kmgt]i?)?)b?\s*", re.IGNORECASE)

CODE = 256 * 2**20  # bytes of libraries and compiled kernels once all are loaded
LESS_CODE = 128 * 2**20  # the same if Numba is loaded already: most kernels may still be to come
GPU_CODE = 2**31  # the same of PyTorch with CUDA, if it is not loaded yet
SLACK = 48 * 2**20  # bytes freed but not given back to the system, and all that is too small
LABEL_BYTES = 24  # of a point: labels before and after a round, the best so far, and the result
GRAPH = 1024  # bytes of an anchor in the graph of anchors of one block, TOGETHER at once
GROUPING = 64  # bytes of a point while a block is divided into groups
CLUSTERS = 32  # for whose tables there is memory in any case
GROUPS_PER_ANCHOR = 3  # groups of points that recombination makes, about, at most
TABLES = 4  # that a thread has at once
READ_BYTES = 2**25  # of samples that a thread reads at once: more is not quicker
SHARE = 0.8  # fraction of the memory left that is taken if no limit is given


def estimated_seconds(shape: tuple[int, int], n_anchors: int) -> float:
    """Estimate the seconds that the search for nearest anchors takes one core."""
    n, d = shape
    return n / TREE_PACE if d <= TREE_FEATURES else 1.0 * n * d * n_anchors / PRODUCT_PACE


def check_block_rows(block_rows: object, n_samples: int) -> tuple[int, ...]:
    """Return the sizes of blocks that ``block_rows`` stands for."""
    if n_samples > MOST_POINTS:
        raise ValueError(
            f"X has {n_samples} samples; the exact sums of an anchor graph hold for {MOST_POINTS}."
        )
    if block_rows is None:
        block_rows = min(MOST_BLOCK_ROWS, max(LEAST_BLOCK_ROWS, -(-n_samples // BLOCKS)))
    if not isinstance(block_rows, Sequence | np.ndarray) or isinstance(block_rows, str):
        size = check_count("block_rows", block_rows)
        whole, rest = divmod(n_samples, size)
        return (*(size,) * whole, *((rest,) if rest else ()))
    sizes = tuple(check_count("block_rows", size) for size in block_rows)
    if sum(sizes) != n_samples:
        raise ValueError(
            f"block_rows adds up to {sum(sizes)} rows, but X has {n_samples} samples; pass one "
            "number, or sizes that add up to that."
        )
    return sizes


def check_anchors(n_anchors: object, n_neighbors: object, n_samples: int) -> tuple[int, int]:
    """Return both numbers, at most as many anchors as samples."""
    anchors = min(check_count("n_anchors", n_anchors), n_samples)
    neighbors = check_count("n_neighbors", n_neighbors)
    # A single anchor is that of all points.
    if neighbors >= max(2, anchors):
        there = f"n_anchors={anchors}" if anchors < n_samples else f"the {n_samples} samples of X"
        remedy = f"pass n_neighbors={anchors - 1} or less, or more of these"
        raise ValueError(
            f"n_neighbors={neighbors} must be below {there}; "
            f"{remedy if anchors > 1 else 'pass more of these'}."
        )
    return anchors, neighbors


def short_sizes(sizes: tuple[int, ...]) -> int | list[int]:
    """Return the sizes of blocks as JSON has them: one number if all but the last are equal."""
    is_even = all(size == sizes[0] for size in sizes[:-1]) and sizes[-1] <= sizes[0]
    return sizes[0] if is_even else list(sizes)


def check_max_memory(max_memory: object) -> int | None:
    """Return a limit in bytes, passed as such or as text, or None."""
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


class Need(NamedTuple):
    """What is to be computed, with anchors chosen from ``n_sampled`` points."""

    source: Source
    sizes: tuple[int, ...]
    n_anchors: int
    n_neighbors: int
    n_sampled: int
    on_gpu: bool


class Plan(NamedTuple):
    """How it is computed.

    Anchor weights of the first ``n_kept`` blocks stay in memory; if it is not all, blocks are in
    files. There is memory for the tables of ``most_clusters`` clusters, None meaning any number.
    """

    n_kept: int
    n_threads: int
    read_rows: int
    most_clusters: int | None = None


def planned(need: Need, n_threads: int, max_memory: int | None) -> Plan:
    """Return the first plan that fits, from the quickest to the smallest.

    ``max_memory`` is what the process may have in use, in bytes, including what it has now; None is
    most of what the system has left. Raise a ValueError that names the least that would do, or a
    MemoryError if the system has too little left.
    """
    in_use = memory_in_use()
    limit = max_memory
    if limit is None:
        left = available_memory()
        limit = sys.maxsize if left is None else in_use + int(SHARE * left)
    for plan in _plans(need, n_threads):
        left_over = limit - in_use - growth(need, plan)
        if left_over >= 0:
            weights = [size * need.n_neighbors * WEIGHT_BYTES for size in need.sizes]
            n_kept = sum(taken <= left_over for taken in accumulate(weights))
            if max_memory is None:
                return plan._replace(n_kept=n_kept)
            room = (left_over - sum(weights[:n_kept])) // cluster_bytes(need, plan)
            return plan._replace(n_kept=n_kept, most_clusters=CLUSTERS + room)
    least = in_use + growth(need, plan)
    n, d = need.source.shape
    remedy = "Or pass fewer anchors, smaller blocks (block_rows) or fewer features."
    if max_memory is None:
        raise MemoryError(
            f"An anchor graph of {n} samples with {d} features needs about "
            f"{in_units(least - in_use)} of memory, anchor weights kept in files, but "
            f"{in_units(limit - in_use)} are left. {remedy}"
        )
    raise ValueError(
        f"max_memory={max_memory} ({in_units(max_memory)}) is too little: this process has "
        f"{in_units(in_use)} in use, and {n} samples with {d} features need "
        f"{in_units(least - in_use)} more, with one thread and anchor weights in files. Pass "
        f"max_memory={least} or more ('{-(-least // 2**20)}MiB'). {remedy}"
    )


def growth(need: Need, plan: Plan) -> int:
    """Return the bytes that a plan takes at most, beyond what is in use and blocks that it keeps.

    Choosing anchors, weighing points on them and cutting the graph follow one another: the largest
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
    compared = 0 if d <= TREE_FEATURES else p
    if is_in_cells(p, d):
        compared = SEEN_CELLS * math.isqrt(p)
    tile_bytes = tile_rows(p, d) * (4 * row_bytes + 24 * (need.n_neighbors + 3) + 4 * compared)
    block_bytes = max(need.sizes) * need.n_neighbors * WEIGHT_BYTES
    # 1. Anchors.
    largest = min(plan.read_rows, max(need.sizes))
    sample = need.n_sampled * row_bytes
    choosing = sample + max(sample + threads * tile_bytes, source.reading_bytes(largest))
    # 2. Anchor weights.
    at_once = 1 if source.is_stream else threads
    weighing = at_once * (source.reading_bytes(largest) + 2 * block_bytes) + threads * tile_bytes
    # 3. Labels.
    cutting = n * LABEL_BYTES + min(len(need.sizes), TOGETHER) * p * GRAPH
    summing = 8 * min(GROUPS_PER_ANCHOR * p * p, MOST_SUMMED)
    cutting += threads * (4 * block_bytes + max(need.sizes) * GROUPING + summing)
    cutting += CLUSTERS * cluster_bytes(need, plan)
    return stays + max(choosing, weighing, cutting)


def cluster_bytes(need: Need, plan: Plan) -> int:
    """Return what every cluster takes in tables: one of every block, some of every thread."""
    return (len(need.sizes) + TABLES * plan.n_threads) * need.n_anchors * 8


def _plans(need: Need, n_threads: int) -> Iterator[Plan]:
    """Yield plans without any block in memory, from the quickest to the smallest."""
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

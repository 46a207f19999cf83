"""Check the settings of an anchor graph, and plan its computation within the memory limit.

Labels do not depend on the plan. If memory is scarce, the plan reduces, in this order: blocks whose
anchor weights stay in memory (others are read from files in every round), rows read at once, and
threads.
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
"""Default block size: BLOCKS blocks, for threads to share, unless blocks become too small for a
task or too large to be read at once. It must not depend on the number of threads."""

TREE_PACE, PRODUCT_PACE = 2e6, 3e10
"""Points per second and core for few features, and products for many, to decide about a GPU."""

UNITS = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4}
UNITS |= {f"{letter}i": 1024**power for power, letter in enumerate("kmgt", start=1)}
SIZE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*((?:[kmgt]i?)?)b?\s*", re.IGNORECASE)

CODE = 256 * 2**20  # bytes of libraries and compiled kernels
LESS_CODE = 128 * 2**20  # the same if Numba is already loaded, as most kernels may not be
GPU_CODE = 2**31  # the same for PyTorch with CUDA, if it is not loaded yet
SLACK = 48 * 2**20  # bytes freed but not returned to the system, and small arrays
LABEL_BYTES = 24  # per point: labels before and after a round, the best so far, and the result
GRAPH = 1024  # bytes per anchor in the graph of anchors of a block, of which there are TOGETHER
GROUPING = 64  # bytes per point while a block is grouped
CLUSTERS = 32  # clusters for whose tables memory is always reserved
GROUPS_PER_ANCHOR = 3  # approximate maximum number of groups of points in recombination
TABLES = 4  # tables of a thread
READ_BYTES = 2**25  # of samples that a thread reads at once; more is not faster
MEMORY_FRACTION = 0.8  # of the available memory, the limit by default


def estimated_seconds(shape: tuple[int, int], n_anchors: int) -> float:
    """Estimate the time of the search for nearest anchors on one core, in seconds."""
    n, d = shape
    return n / TREE_PACE if d <= TREE_FEATURES else 1.0 * n * d * n_anchors / PRODUCT_PACE


def check_block_rows(block_rows: object, n_samples: int) -> tuple[int, ...]:
    """Return the block sizes for the parameter ``block_rows``."""
    if n_samples > MOST_POINTS:
        raise ValueError(
            f"X has {n_samples} samples, but an anchor graph supports at most {MOST_POINTS}; pass "
            "a sample of them."
        )
    if block_rows is None:
        block_rows = min(MOST_BLOCK_ROWS, max(LEAST_BLOCK_ROWS, -(-n_samples // BLOCKS)))
    if not isinstance(block_rows, Sequence | np.ndarray) or isinstance(block_rows, str):
        size = check_count("block_rows", block_rows)
        n_full, rest = divmod(n_samples, size)
        return (*(size,) * n_full, *((rest,) if rest else ()))
    sizes = tuple(check_count("block_rows", size) for size in block_rows)
    if sum(sizes) != n_samples:
        raise ValueError(
            f"block_rows sums to {sum(sizes)} rows, but X has {n_samples} samples; pass one "
            "number, or sizes that sum to the number of samples."
        )
    return sizes


def check_anchors(n_anchors: object, n_neighbors: object, n_samples: int) -> tuple[int, int]:
    """Return both numbers, with at most as many anchors as samples."""
    anchors = min(check_count("n_anchors", n_anchors), n_samples)
    neighbors = check_count("n_neighbors", n_neighbors)
    # A single anchor is valid, with one neighbor.
    if neighbors >= max(2, anchors):
        are_fewer = anchors < n_samples
        limit = f"n_anchors={anchors}" if are_fewer else f"the number of samples, {n_samples}"
        smaller = f"n_neighbors={anchors - 1} or less, or " if anchors > 1 else ""
        more = "anchors" if are_fewer else "samples"
        raise ValueError(
            f"n_neighbors={neighbors} must be less than {limit}; pass {smaller}more {more}."
        )
    return anchors, neighbors


def compact_sizes(sizes: tuple[int, ...]) -> int | list[int]:
    """Return the block sizes for JSON: a single number if all but the last are equal."""
    is_even = all(size == sizes[0] for size in sizes[:-1]) and sizes[-1] <= sizes[0]
    return sizes[0] if is_even else list(sizes)


def check_max_memory(max_memory: object) -> int | None:
    """Return a limit in bytes from a number or text, or None."""
    if max_memory is None:
        return None
    if not isinstance(max_memory, str):
        return check_count("max_memory", max_memory)
    match = SIZE.fullmatch(max_memory)
    if match is None:
        raise ValueError(
            f"max_memory={max_memory!r} is not a size; pass a number of bytes, or text such as "
            "'4GiB' or '500MB'."
        )
    return check_count("max_memory", int(float(match[1]) * UNITS[match[2].lower()]))


class GraphSpec(NamedTuple):
    """The specification of a graph; anchors are chosen from ``n_sampled`` points."""

    source: Source
    sizes: tuple[int, ...]
    n_anchors: int
    n_neighbors: int
    n_sampled: int
    on_gpu: bool


class Plan(NamedTuple):
    """The plan of a computation.

    Anchor weights of the first ``n_kept`` blocks stay in memory; if these are not all blocks, they
    are stored in files. There is enough memory for ``most_clusters`` clusters; None means no limit.
    """

    n_kept: int
    n_threads: int
    read_rows: int
    most_clusters: int | None = None


def make_plan(spec: GraphSpec, n_threads: int, max_memory: int | None) -> Plan:
    """Return the fastest plan within the memory limit.

    ``max_memory`` is the limit for the process in bytes, including the memory in use; None means
    most of the available memory. Raises a ValueError with the minimum if the limit is too small, or
    a MemoryError if there is too little available memory.
    """
    in_use = memory_in_use()
    limit = max_memory
    if limit is None:
        available = available_memory()
        limit = sys.maxsize if available is None else in_use + int(MEMORY_FRACTION * available)
    for plan in _plans(spec, n_threads):
        remaining = limit - in_use - additional_bytes(spec, plan)
        if remaining >= 0:
            weights = [size * spec.n_neighbors * WEIGHT_BYTES for size in spec.sizes]
            n_kept = sum(total <= remaining for total in accumulate(weights))
            if max_memory is None:
                return plan._replace(n_kept=n_kept)
            more_clusters = (remaining - sum(weights[:n_kept])) // cluster_bytes(spec, plan)
            return plan._replace(n_kept=n_kept, most_clusters=CLUSTERS + more_clusters)
    least = in_use + additional_bytes(spec, plan)
    n, d = spec.source.shape
    remedy = "Or pass fewer anchors, smaller blocks (block_rows) or fewer features."
    if max_memory is None:
        raise MemoryError(
            f"An anchor graph of {n} samples with {d} features needs about "
            f"{in_units(least - in_use)} of memory, with anchor weights in files, but only "
            f"{in_units(limit - in_use)} are available. {remedy}"
        )
    raise ValueError(
        f"max_memory={max_memory} ({in_units(max_memory)}) is too small: this process uses "
        f"{in_units(in_use)}, and {n} samples with {d} features need "
        f"{in_units(least - in_use)} more, with one thread and anchor weights in files. Pass "
        f"max_memory={least} or more ('{-(-least // 2**20)}MiB'). {remedy}"
    )


def additional_bytes(spec: GraphSpec, plan: Plan) -> int:
    """Return the maximum memory of a plan in addition to memory in use and cached blocks.

    Choosing anchors, computing weights and cutting the graph are consecutive stages, of which the
    largest counts.
    """
    source, p, threads = spec.source, spec.n_anchors, plan.n_threads
    n, d = source.shape
    row_bytes = d * source.dtype.itemsize
    # Memory that stays allocated.
    code = LESS_CODE if "numba" in sys.modules else CODE
    if spec.on_gpu and "torch" not in sys.modules:
        code += GPU_CODE
    copies = 2 * SEEN_CELLS if is_in_cells(p, d) else 4
    permanent = SLACK + code + copies * p * row_bytes
    # Memory of every thread.
    compared = 0 if d <= TREE_FEATURES else p
    if is_in_cells(p, d):
        compared = SEEN_CELLS * math.isqrt(p)
    tile_bytes = tile_rows(p, d) * (4 * row_bytes + 24 * (spec.n_neighbors + 3) + 4 * compared)
    block_bytes = max(spec.sizes) * spec.n_neighbors * WEIGHT_BYTES
    # 1. Anchors.
    largest = min(plan.read_rows, max(spec.sizes))
    sample = spec.n_sampled * row_bytes
    choosing = sample + max(sample + threads * tile_bytes, source.reading_bytes(largest))
    # 2. Anchor weights.
    at_once = 1 if source.is_stream else threads
    weighing = at_once * (source.reading_bytes(largest) + 2 * block_bytes) + threads * tile_bytes
    # 3. Labels.
    cutting = n * LABEL_BYTES + min(len(spec.sizes), TOGETHER) * p * GRAPH
    summing = 8 * min(GROUPS_PER_ANCHOR * p * p, MOST_SUMMED)
    cutting += threads * (4 * block_bytes + max(spec.sizes) * GROUPING + summing)
    cutting += CLUSTERS * cluster_bytes(spec, plan)
    return permanent + max(choosing, weighing, cutting)


def cluster_bytes(spec: GraphSpec, plan: Plan) -> int:
    """Return the memory per cluster: one table of every block, some tables of every thread."""
    return (len(spec.sizes) + TABLES * plan.n_threads) * spec.n_anchors * 8


def _plans(spec: GraphSpec, n_threads: int) -> Iterator[Plan]:
    """Yield plans without cached blocks, from the fastest to the smallest."""
    n_features = spec.source.shape[1]
    tile = tile_rows(spec.n_anchors, n_features)
    most = READ_BYTES // (n_features * spec.source.dtype.itemsize)
    threads = n_threads
    while threads:
        rows = min(most, max(spec.sizes))
        while rows > tile:
            yield Plan(0, threads, rows)
            rows //= 2
        yield Plan(0, threads, tile)
        threads //= 2

"""The settings of an anchor graph, checked: anchors, neighbours, blocks and the seed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leastcut.affinity.neighbors.searching import TREE_FEATURES
from leastcut.anchors.blocks import MOST_POINTS
from leastcut.validation import check_count

LEAST_BLOCK_ROWS, MOST_BLOCK_ROWS, BLOCKS = 2**13, 2**17, 16
"""Points of a block by default: so many blocks, for threads to share, unless they become too small
to be worth a task or too large to be read at once. It must not depend on the threads there are."""

TREE_PACE, PRODUCT_PACE = 2e6, 3e10
"""Points per second that a core ties in few features, and products per second in many: a forecast,
which decides whether a GPU is asked for."""


def forecast_seconds(shape: tuple[int, int], n_anchors: int) -> float:
    """Return what tying points takes one core, about."""
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
    """Return both numbers, anchors cut down to the samples there are."""
    anchors = min(check_count("n_anchors", n_anchors), n_samples)
    neighbors = check_count("n_neighbors", n_neighbors)
    # With a single anchor all points are tied to it.
    if neighbors >= max(2, anchors):
        there = f"n_anchors={anchors}" if anchors < n_samples else f"the {n_samples} samples of X"
        remedy = f"pass n_neighbors={anchors - 1} or less, or more of these"
        raise ValueError(
            f"n_neighbors={neighbors} must be below {there}; "
            f"{remedy if anchors > 1 else 'pass more of these'}."
        )
    return anchors, neighbors


def short_sizes(sizes: tuple[int, ...]) -> int | list[int]:
    """Return the sizes of blocks as JSON has them: one number where all but the last are equal."""
    is_even = all(size == sizes[0] for size in sizes[:-1]) and sizes[-1] <= sizes[0]
    return sizes[0] if is_even else list(sizes)

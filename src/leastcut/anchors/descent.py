"""Exact moves of all points, block by block at the same time, and never to a larger cut.

In a round every block moves its points against the table as it was when the round began, and tells
how that changes the table. Each move makes the cut smaller by itself; those that several blocks
make at the same time may together make it larger. The exact value decides:

1. All changes are taken if the value falls; else half of them, then one block after another, each
   if the value falls.
2. A block takes its moves to be made by points like its own in all others as well, which is what
   happens where blocks are alike. A round in which nothing could be taken, or in which points of a
   small cluster were held back, is made again without that: then the moves of any block alone make
   the value fall.

So the value falls in every round until no single move of a point makes it smaller. Changes are
exact sums: who works on which block, and when, makes no difference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from leastcut.anchors.blocks import Block
from leastcut.anchors.table import Entries, Table, entries_of, inverse_of
from leastcut.anchors.workers import Workers
from leastcut.kernels.anchor_moves import sweep_points

VISIBLE = 1e-12
"""Part of the cut value that a move must gain, far above the rounding of sums."""


class Descended(NamedTuple):
    """Labels beside their blocks, their table, the rounds made, and whether no move was left."""

    kept: list[Any]
    table: Table
    n_rounds: int
    settled: bool


def descend(
    workers: Workers,
    kept: Sequence[Any],
    table: Table,
    *,
    go_on: Callable[[list[Any], Table], bool] = lambda kept, table: True,
) -> Descended:
    """Move points until no single move makes the cut smaller.

    Parameters
    ----------
    workers : Workers
    kept : sequence
        The labels beside every block, as the workers keeps them.
    table : Table
        Their table.
    go_on : callable, optional
        Asked with labels and table after every round that made the cut smaller.

    Returns
    -------
    Descended
    """
    kept, n_rounds = list(kept), 0
    n_points = sum(workers.sizes)
    alike = len(workers.sizes) > 1
    while True:
        before = table.value
        shared = table.weights, table.masses, n_points if alike else 0, before
        moved, told = workers.run("leastcut-sweep", sweep_block, kept, *shared)
        n_rounds += 1
        movers = [b for b, change in enumerate(told) if change is not None]
        if not movers:
            if alike and _are_held(workers.sizes, table):
                alike = False
                continue
            return Descended(kept, table, n_rounds, True)
        taken, table = _taken(table, before, {b: told[b] for b in movers})
        for b in taken:
            kept[b] = moved[b]
        if not taken:
            if not alike:
                # Only rounding stands between a move that gains and a value that does not fall.
                return Descended(kept, table, n_rounds, True)
            alike = False
            continue
        alike = len(workers.sizes) > 1
        if not go_on(kept, table):
            return Descended(kept, table, n_rounds, False)


def _are_held(sizes: Sequence[int], table: Table) -> bool:
    """Whether a cluster is so small that no point leaves it where all blocks move alike."""
    return bool(table.sizes.min() <= sum(sizes) / min(size for size in sizes if size))


def _taken(table: Table, value: float, changes: dict[int, Entries]) -> tuple[list[int], Table]:
    """Return the blocks whose changes are taken, and the table with them."""
    # 1. All of them, or half.
    for some in (list(changes), list(changes)[::2]):
        found = table.with_changes([changes[b] for b in some])
        if found.value < value:
            return some, found
    # 2. One by one.
    taken = []
    for b, change in changes.items():
        found = table.with_changes([change])
        found_value = found.value
        if found_value < value:
            taken.append(b)
            table, value = found, found_value
    return taken, table


def sweep_block(
    block: Block,
    labels: np.ndarray,
    weights: np.ndarray,
    masses: np.ndarray,
    n_points: int,
    value: float,
) -> tuple[np.ndarray, Entries | None]:
    """Move the points of a block; keep their labels and tell what changes in the table.

    Parameters
    ----------
    block : Block
    labels : int32 ndarray of shape (n_points_of_block,)
    weights : ndarray of shape (p, c)
        The table of all points.
    masses : ndarray of shape (p,)
    n_points : int
        Points in all blocks, if these are taken to move alike, else 0.
    value : float
        The value of the cut.

    Returns
    -------
    labels : ndarray
        New ones; those given are not changed.
    change : Entries or None
        None where nothing moved.
    """
    table = Table(weights, masses)
    labels, change = labels.copy(), np.zeros_like(weights)
    sums = weights.copy(), table.boundaries, table.sizes
    if block.n_points == 0:
        return labels, None
    copies = n_points / block.n_points if n_points else 1.0
    ties = np.empty(weights.shape[1])
    moves = sweep_points(
        block.anchors,
        block.weights,
        labels,
        inverse_of(masses),
        sums,
        copies,
        VISIBLE * value,
        change,
        ties,
    )
    return labels, entries_of(change) if moves else None

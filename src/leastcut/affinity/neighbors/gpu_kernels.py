"""The three inner loops of the GPU search (``gpu_search``) as Triton kernels.

``gpu_tiles`` documents the same functions and implements them in PyTorch, for use without Triton.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

# Rows and columns of a tile, warps and stages: the fastest of five configurations on an H200.
TILE = 128, 256, 8, 3
STRIP = 8  # rows of tiles in a strip; tiles are processed strip by strip for cache reuse
LISTED = 4, 1024  # rows of lists and new groups that one program processes
# Candidates and features whose differences one program holds at once.
CANDIDATES, FEATURES = 32, 128


def group_minima(
    left: Any, left_squares: Any, right: Any, right_squares: Any, group: int, both: bool
) -> tuple[Any, Any]:
    """Compute ``gpu_tiles.group_minima``; numbers of samples are multiples of the tile."""
    m, n = left.shape[0], right.shape[0]
    rows = torch.empty((m, n // group), dtype=torch.float32, device=left.device)
    columns = torch.empty((n, m // group) if both else (0, 0), device=left.device)
    tile_rows, tile_columns, warps, stages = TILE
    features = left.shape[1]
    _group_minima[(m // tile_rows * (n // tile_columns),)](
        left,
        left_squares,
        right,
        right_squares,
        rows,
        columns,
        m,
        n,
        features,
        ROWS=tile_rows,
        COLUMNS=tile_columns,
        FEATURES=min(64, features),
        GROUP=group,
        BOTH=both,
        STRIP=STRIP,
        num_warps=warps,
        num_stages=stages,
    )
    return rows, columns


def keep_nearest(values: Any, groups: Any, minima: Any, first: int) -> None:
    """Update lists like ``gpu_tiles.keep_nearest``; their width is a power of two."""
    rows, width = values.shape
    count, most = LISTED
    for start in range(0, minima.shape[1], most):
        part = minima[:, start : start + most]
        _keep_nearest[(rows // count,)](
            values,
            groups,
            part,
            minima.stride(0),
            part.shape[1],
            first + start,
            ROWS=count,
            WIDTH=width,
            MOST=max(16, triton.next_power_of_2(part.shape[1])),
        )


def listed_distances(points: Any, rows: Any, candidates: Any, dtype: Any) -> Any:
    """Compute ``gpu_tiles.listed_distances``."""
    squared = torch.empty(candidates.shape, dtype=dtype, device=points.device)
    count = candidates.shape[1]
    # Candidates are the first axis of the grid, which may be the longest.
    _listed_distances[(triton.cdiv(count, CANDIDATES), rows.shape[0])](
        points,
        rows,
        candidates,
        squared,
        points.shape[1],
        count,
        CANDIDATES=CANDIDATES,
        FEATURES=FEATURES,
        DOUBLE=dtype == torch.float64,
    )
    return squared


@triton.jit  # type: ignore[untyped-decorator]
def _group_minima(
    left,
    left_squares,
    right,
    right_squares,
    row_minima,
    column_minima,
    m,
    n,
    features,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    FEATURES: tl.constexpr,
    GROUP: tl.constexpr,
    BOTH: tl.constexpr,
    STRIP: tl.constexpr,
):
    # 1. The tile of this program: strips of rows of tiles, column by column within a strip.
    program = tl.program_id(0)
    down = m // ROWS
    across = n // COLUMNS
    top = program // (STRIP * across) * STRIP
    height = min(down - top, STRIP)
    i = top + (program % (STRIP * across)) % height
    j = (program % (STRIP * across)) // height
    row = i * ROWS + tl.arange(0, ROWS)
    column = j * COLUMNS + tl.arange(0, COLUMNS)
    feature = tl.arange(0, FEATURES)
    # 2. The inner products of the tile, in half precision with sums in single precision.
    a = left + row[:, None].to(tl.int64) * features + feature[None, :]
    b = right + column[None, :].to(tl.int64) * features + feature[:, None]
    products = tl.zeros((ROWS, COLUMNS), tl.float32)
    for _ in range(0, features // FEATURES):
        products = tl.dot(tl.load(a), tl.load(b), products)
        a += FEATURES
        b += FEATURES
    # 3. The minimum of every group of columns and of every group of rows.
    squared = tl.load(right_squares + column)[None, :] - 2 * products
    least = tl.min(tl.reshape(squared, (ROWS, COLUMNS // GROUP, GROUP)), 2)
    place = j * (COLUMNS // GROUP) + tl.arange(0, COLUMNS // GROUP)
    tl.store(row_minima + row[:, None].to(tl.int64) * (n // GROUP) + place[None, :], least)
    if BOTH:
        squared = tl.load(left_squares + row)[:, None] - 2 * products
        least = tl.min(tl.reshape(squared, (ROWS // GROUP, GROUP, COLUMNS)), 1)
        place = i * (ROWS // GROUP) + tl.arange(0, ROWS // GROUP)
        tl.store(
            column_minima + column[None, :].to(tl.int64) * (m // GROUP) + place[:, None], least
        )


@triton.jit  # type: ignore[untyped-decorator]
def _keep_nearest(
    values,
    groups,
    minima,
    stride,
    count,
    first,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
    MOST: tl.constexpr,
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    slot = tl.arange(0, WIDTH)
    group = tl.arange(0, MOST)
    position = row[:, None].to(tl.int64) * WIDTH + slot[None, :]
    value = tl.load(values + position)
    number = tl.load(groups + position)
    new = tl.load(
        minima + row[:, None].to(tl.int64) * stride + group[None, :],
        mask=(group < count)[None, :],
        other=float("inf"),
    )
    worst = tl.max(value, 1)
    least = tl.min(new, 1)
    # While it is nearer, the nearest of the new groups replaces the farthest of the list.
    while tl.max((least < worst).to(tl.int32), 0) > 0:
        chosen = tl.argmin(new, 1)
        change = (slot[None, :] == tl.argmax(value, 1)[:, None]) & (least < worst)[:, None]
        value = tl.where(change, least[:, None], value)
        number = tl.where(change, (first + chosen)[:, None], number)
        new = tl.where(group[None, :] == chosen[:, None], float("inf"), new)
        worst = tl.max(value, 1)
        least = tl.min(new, 1)
    tl.store(values + position, value)
    tl.store(groups + position, number)


@triton.jit  # type: ignore[untyped-decorator]
def _listed_distances(
    points,
    rows,
    candidates,
    squared,
    features,
    count,
    CANDIDATES: tl.constexpr,
    FEATURES: tl.constexpr,
    DOUBLE: tl.constexpr,
):
    query = tl.program_id(1).to(tl.int64)
    row = tl.load(rows + query).to(tl.int64)
    listed = tl.program_id(0) * CANDIDATES + tl.arange(0, CANDIDATES)
    other = tl.load(candidates + query * count + listed, mask=listed < count, other=0).to(tl.int64)
    total = tl.zeros((CANDIDATES,), tl.float64 if DOUBLE else tl.float32)
    for start in range(0, features, FEATURES):
        feature = start + tl.arange(0, FEATURES)
        inside = feature < features
        x = tl.load(points + row * features + feature, mask=inside, other=0.0)
        y = tl.load(
            points + other[:, None] * features + feature[None, :],
            mask=inside[None, :] & (listed < count)[:, None],
            other=0.0,
        )
        difference = y.to(total.dtype) - x.to(total.dtype)[None, :]
        total += tl.sum(difference * difference, 1)
    tl.store(squared + query * count + listed, total, mask=listed < count)

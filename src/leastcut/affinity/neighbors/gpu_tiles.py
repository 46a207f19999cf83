"""The three inner loops of the GPU search in PyTorch, for any device.

They are used without Triton, and as the reference for its kernels in tests.
"""

from __future__ import annotations

from typing import Any

import torch

HELD = 2**24  # numbers at once


def group_minima(
    left: Any, left_squares: Any, right: Any, right_squares: Any, group: int, both: bool
) -> tuple[Any, Any]:
    """Return the minimum of |y|² − 2xᵀy over the y of every group, for every sample x.

    These are squared distances without |x|². The samples are float16 tensors of shape
    (m, n_features) and (n, n_features); groups are ``group`` consecutive samples, and m and n are
    multiples of ``group``. Squared norms of padding are infinite. The results have shape
    (m, n / group) and, with left and right exchanged, (n, m / group), which is empty unless
    ``both``.
    """
    rows = torch.empty((left.shape[0], right.shape[0] // group), device=left.device)
    shape = (right.shape[0], left.shape[0] // group) if both else (0, 0)
    columns = torch.empty(shape, device=left.device)
    step = max(group, HELD // right.shape[0] // group * group)
    for start in range(0, left.shape[0], step):
        part = slice(start, start + step)
        products = left[part].float() @ right.float().T
        rows[part] = (right_squares - 2 * products).unflatten(1, (-1, group)).amin(2)
        if both:
            squared = left_squares[part, None] - 2 * products
            least = squared.unflatten(0, (-1, group)).amin(1)
            columns[:, start // group : start // group + least.shape[0]] = least.T
    return rows, columns


def keep_nearest(values: Any, groups: Any, minima: Any, first: int) -> None:
    """Replace the farthest groups of the lists by nearer ones, in place and in any order.

    ``values`` and ``groups``, of shape (m, width), are the lists; ``minima``, of shape
    (m, n_groups), are the values of new groups, numbered from ``first``.
    """
    number = torch.arange(first, first + minima.shape[1], dtype=groups.dtype, device=groups.device)
    near = torch.cat([values, minima], 1)
    numbers = torch.cat([groups, number.expand(minima.shape)], 1)
    kept = near.topk(values.shape[1], 1, largest=False)
    values.copy_(kept.values)
    groups.copy_(numbers.gather(1, kept.indices))


def listed_distances(points: Any, rows: Any, candidates: Any, dtype: Any) -> Any:
    """Return the squared distances between rows and their candidates, of shape (m, width).

    Differences are computed, squared and summed in ``dtype``.
    """
    squared = torch.empty(candidates.shape, dtype=dtype, device=points.device)
    step = max(1, HELD // (candidates.shape[1] * points.shape[1]))
    for start in range(0, rows.shape[0], step):
        part = slice(start, start + step)
        difference = points[candidates[part].long()].to(dtype)
        difference -= points[rows[part], None].to(dtype)
        squared[part] = difference.square_().sum(2)
    return squared

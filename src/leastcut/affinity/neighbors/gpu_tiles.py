"""The three inner loops of the search on a GPU, in PyTorch's own operations, on any device.

They serve where there is no Triton, and they are what its kernels are held against.
"""

from __future__ import annotations

from typing import Any

import torch

HELD = 2**24  # numbers at once


def group_minima(
    left: Any, left_squares: Any, right: Any, right_squares: Any, group: int, both: bool
) -> tuple[Any, Any]:
    """Return how near the nearest of every group of samples is to every sample, both ways.

    These are the least |y|² − 2xᵀy over the y of a group: squared distances but for |x|². The
    samples are float16 tensors (m, n_features) and (n, n_features), of which ``group`` in a row are
    a group; m and n are multiples of it. Their squared norms are infinite for samples that are
    none. The results have shape (m, n / group) and (n, m / group), the latter empty unless both
    are wanted.
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
    """Replace the farthest of the lists by nearer groups, in place, in any order.

    ``values`` and ``groups``, (m, width), are how near which groups are; ``minima``, (m, n_groups),
    is how near further groups are, numbered from ``first``.
    """
    number = torch.arange(first, first + minima.shape[1], dtype=groups.dtype, device=groups.device)
    near = torch.cat([values, minima], 1)
    named = torch.cat([groups, number.expand(minima.shape)], 1)
    kept = near.topk(values.shape[1], 1, largest=False)
    values.copy_(kept.values)
    groups.copy_(named.gather(1, kept.indices))


def listed_distances(points: Any, rows: Any, candidates: Any, dtype: Any) -> Any:
    """Return the squared distances of some rows to the candidates of each, (m, width).

    ``dtype`` is what differences are taken, squared and added up in.
    """
    squared = torch.empty(candidates.shape, dtype=dtype, device=points.device)
    step = max(1, HELD // (candidates.shape[1] * points.shape[1]))
    for start in range(0, rows.shape[0], step):
        part = slice(start, start + step)
        difference = points[candidates[part].long()].to(dtype)
        difference -= points[rows[part], None].to(dtype)
        squared[part] = difference.square_().sum(2)
    return squared

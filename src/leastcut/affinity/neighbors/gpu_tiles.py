"""The three inner loops of the search on a GPU, in PyTorch's own operations, on any device.

They serve where there is no Triton, and they are what its kernels are held against.
"""

from __future__ import annotations

from typing import Any

import torch

HELD = 2**24  # numbers that are held at once


def group_minima(
    left: Any, left_squares: Any, right: Any, right_squares: Any, group: int, both: bool
) -> tuple[Any, Any]:
    """Return how near the nearest of every group of samples is to every sample, both ways.

    Parameters
    ----------
    left, right : tensor of shape (m, n_features) and (n, n_features), float16
        Samples, m and n multiples of ``group``.
    left_squares, right_squares : tensor of shape (m,) and (n,), float32
        Their squared norms; infinite for samples that are none.
    group : int
        So many samples in a row are a group.
    both : bool
        Whether the second of the results is wanted.

    Returns
    -------
    tensors of shape (m, n / group) and (n, m / group), float32
        The least |y|² − 2xᵀy over the group's y: the squared distance but for the sample's own
        |x|². The second is empty unless it is wanted.
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
    """Take what is nearer than the farthest listed into the lists, in its place.

    Parameters
    ----------
    values, groups : tensor of shape (m, width), float32 and int32
        The lists, in any order, changed in place: how near, and which group.
    minima : tensor of shape (m, n_groups), float32
        How near further groups are.
    first : int
        The number of the first of them.
    """
    number = torch.arange(first, first + minima.shape[1], dtype=groups.dtype, device=groups.device)
    near = torch.cat([values, minima], 1)
    named = torch.cat([groups, number.expand(minima.shape)], 1)
    kept = near.topk(values.shape[1], 1, largest=False)
    values.copy_(kept.values)
    groups.copy_(named.gather(1, kept.indices))


def listed_distances(points: Any, rows: Any, candidates: Any, dtype: Any) -> Any:
    """Return the squared distances of some rows to the candidates listed for each.

    Parameters
    ----------
    points : tensor of shape (n, n_features)
        All samples.
    rows : tensor of shape (m,), int64
        Which of them the lists are for.
    candidates : tensor of shape (m, width), int32
        The lists.
    dtype : torch.dtype
        What differences are taken, squared and added up in.

    Returns
    -------
    tensor of shape (m, width), of that dtype
    """
    squared = torch.empty(candidates.shape, dtype=dtype, device=points.device)
    step = max(1, HELD // (candidates.shape[1] * points.shape[1]))
    for start in range(0, rows.shape[0], step):
        part = slice(start, start + step)
        difference = points[candidates[part].long()].to(dtype)
        difference -= points[rows[part], None].to(dtype)
        squared[part] = difference.square_().sum(2)
    return squared

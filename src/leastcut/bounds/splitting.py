"""Where to split groups of nodes: where they hide most of Z.

With rows x_i = F_i / √b_i of Z = uuᵀ + FFᵀ, what a group I does not see of Z is its spread,
Σ_{i ∈ I} b_i ‖x_i − mean‖². It is 0 where Z is a partition and I inside a cluster.
"""

from __future__ import annotations

import numpy as np


def halved_groups(
    group: np.ndarray, weights: np.ndarray, F: np.ndarray, n_split: int, least: float
) -> np.ndarray:
    """Return the groups after the ``n_split`` with most spread above ``least`` are cut in two.

    A group is cut across the direction in which its rows differ most. Parts of a group have
    neighbouring numbers, in the order of the groups they come from.
    """
    n_groups = int(group.max()) + 1
    root = np.sqrt(weights)
    sums = np.zeros((n_groups, F.shape[1]))
    np.add.at(sums, group, root[:, None] * F)
    means = sums / np.bincount(group, weights)[:, None]
    apart = F - root[:, None] * means[group]
    spread = np.bincount(group, np.einsum("ij,ij->i", apart, apart), minlength=n_groups)
    worst = np.argsort(-spread, kind="stable")[:n_split]
    worst = worst[spread[worst] > least]
    order = np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=n_groups))
    second = np.zeros(group.size, dtype=np.int64)
    for k in worst:
        members = order[ends[k - 1] if k else 0 : ends[k]]
        along = np.linalg.svd(apart[members], full_matrices=False)[0][:, 0]
        second[members[along > 0.0]] = 1
    pairs = 2 * group + second
    return np.asarray(np.unique(pairs, return_inverse=True)[1].reshape(-1))

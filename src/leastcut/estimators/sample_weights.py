"""Samples that count more than others: b = sample_weight × what the cut has a node weigh.

A weight says how much a sample counts in the balance of its cluster; its edges stay as they are. So
a sample of weight 2 is not two samples: a copy would also be joined to its original and to the
neighbours of both, and would be among the nearest of others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from leastcut.graph import Graph
from leastcut.problem import LARGEST, Cut
from leastcut.validation import as_floats


@dataclass(frozen=True, eq=False)
class WeightedCut(Cut):
    """A cut whose node weights are multiplied: b = sample_weight (constant + per_degree · d).

    Attributes
    ----------
    name, constant, per_degree
        Those of the cut without the sample weights.
    sample_weight : ndarray of shape (n,)
    """

    sample_weight: np.ndarray

    def node_weights(self, graph: Graph) -> np.ndarray:
        """Return the weights b of the nodes; 0 where a node has no edges and only those weigh."""
        own = super().node_weights(graph)
        with np.errstate(over="ignore", under="ignore"):
            found = np.asarray(self.sample_weight * own)
            total = found.sum()
        if total > LARGEST or np.any((found > 0) != (own > 0)):
            raise ValueError(
                f"The node weights that sample_weight gives overflow or vanish: they add up to "
                f"{total:.6g}, and {LARGEST:g} is the most that is supported. Multiply "
                "sample_weight by a constant: the smallest cut stays the same one."
            )
        return found


def weighted(cut: Cut, sample_weight: Any, n_samples: int) -> WeightedCut:
    """Return a cut whose nodes weigh ``sample_weight`` times as much, checked.

    Parameters
    ----------
    cut : Cut
    sample_weight : array-like of shape (n_samples,), or a number
        Positive and finite; a number is that of every sample.
    n_samples : int
    """
    weights = as_floats("sample_weight", sample_weight)
    if weights.ndim == 0:
        weights = np.full(n_samples, weights)
    if weights.shape != (n_samples,):
        raise ValueError(
            f"sample_weight needs one number per sample, so shape ({n_samples},), but its shape is "
            f"{weights.shape}."
        )
    bad = ~(np.isfinite(weights) & (weights > 0))
    if bad.any():
        first = int(np.argmax(bad))
        raise ValueError(
            f"sample_weight must be positive and finite, and {int(bad.sum())} of {n_samples} are "
            f"not (the first is {weights[first]} of sample {first}). Leave out samples of weight "
            "zero."
        )
    return WeightedCut(cut.name, cut.constant, cut.per_degree, weights.copy())

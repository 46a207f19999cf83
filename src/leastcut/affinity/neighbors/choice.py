"""Which search lists the neighbours of much data: an exact one that ends soon, or the faster."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp

from leastcut.affinity.neighbors.devices import use_gpu
from leastcut.affinity.neighbors.fixed_lists import FixedLists, Index, approximately, on_gpu
from leastcut.affinity.neighbors.forecast import (
    EXACT_SECONDS,
    approximate_seconds,
    choose,
    exact_seconds,
)
from leastcut.affinity.neighbors.searching import FEWEST_FEATURES, PROBED_FEATURES, Search, Wanted

TREE_SAMPLES = 2**20
"""Above so many samples of few features on a GPU, they are copied to the host for a k-d tree, whose
time grows like their number: that of comparing all with all grows like its square."""


def chosen_search(index: Index, samples: Any, count: int, wanted: Wanted) -> Search:
    """Return an exact search if it is forecast to end soon, else the one that takes less.

    Parameters
    ----------
    index : NeighborIndex
        The index of the samples.
    samples : ndarray, sparse matrix or tensor on a GPU
        The samples as they lie.
    count : int
        How many neighbours are to be listed.
    wanted : Wanted
        What is allowed.
    """
    if sp.issparse(samples):
        if wanted.neighbors == "approximate" or wanted.device == "cuda":
            raise ValueError(
                f"neighbors={wanted.neighbors!r} with device={wanted.device!r} needs dense "
                "samples, but X is sparse; pass X.toarray(), or leave both out."
            )
        return index.exact
    n, n_features = samples.shape
    approximate = wanted.neighbors == "approximate"
    if approximate and wanted.device == "cuda":
        raise ValueError(
            "neighbors='approximate' is a search on the processor, and device='cuda' is exact; "
            "leave one of them out."
        )
    few = n_features <= FEWEST_FEATURES
    if few and not approximate and wanted.device == "auto" and n > TREE_SAMPLES:
        return index.exact
    seconds = exact_seconds(n, n_features, index.n_threads)
    if not approximate and use_gpu(wanted.device, samples, seconds):
        return FixedLists("gpu", on_gpu(samples, wanted.seed), index)
    listed = FixedLists("approximate", approximately(index, wanted.seed), index)
    if approximate:
        return listed
    if wanted.neighbors == "exact":
        return index.exact
    threads = index.n_threads
    if n_features <= PROBED_FEATURES and index.exact.method == "tree":
        # What a tree takes depends on how the samples lie, and it tells.
        tree: Any = index.exact
        other = approximate_seconds(n, n_features, count, threads)
        return index.exact if tree.pays(max(EXACT_SECONDS, other) * threads / n) else listed
    return index.exact if choose(n, n_features, count, threads) == "exact" else listed

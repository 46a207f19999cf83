"""The paper's protocol: the graph of a dataset, and the problem that its methods solve.

The paper's text is incomplete. The rest was inferred from its tables, whose relaxed and enumerated
optima are all reproduced to the printed digits: one constant scales all data, a sample is among its
own neighbors, and 1e-6 is added to the (k+1)-th distance.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy.sparse as sp

import leastcut
from reproduction import datasets
from reproduction.data.printed import dataset_shape, split_name
from reproduction.data.sources import UntriedSourceWarning

N_NEIGHBORS = 10
"""Neighbors of every sample, including the sample itself: the paper's k."""

OFFSET = 1e-6
"""Offset of the (k+1)-th squared distance; without it GLASS misses both printed OPT_r."""

UNKNOWN_SIZE = 1000
"""Estimated number of samples, for the progress bar, of a dataset that is not in the paper."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A graph, its relaxed solution and the true classes."""

    dataset: str
    cut: str
    graph: sp.csr_array
    relaxation: leastcut.Relaxation
    classes: np.ndarray
    seconds: float
    """Seconds to solve the relaxation."""

    @property
    def n_clusters(self) -> int:
        """Number of clusters c."""
        return self.relaxation.n_clusters


def n_clusters(dataset: str, classes: np.ndarray) -> int:
    """Return the number of clusters: 2 for the tiny datasets, otherwise the number of classes."""
    return int(classes.max()) + 1 if split_name(dataset)[1] is None else 2


def expected_size(dataset: str) -> int:
    """Return the number of samples of a dataset without loading it, if unknown an estimate."""
    stem, first = split_name(dataset)
    if first is not None:
        return first
    shape = dataset_shape(stem)
    return UNKNOWN_SIZE if shape is None else shape[0]


# Two entries are enough, as the cells of a dataset follow one another; each worker has a cache.
@lru_cache(maxsize=2)
def graph_of(dataset: str, data: str | None) -> tuple[sp.csr_array, np.ndarray, int]:
    """Return the graph, the classes and the number of features of "jaffe" or "usps:11"."""
    stem, first = split_name(dataset)
    with warnings.catch_warnings():
        # a run shows this warning once, before the first cell
        warnings.simplefilter("ignore", UntriedSourceWarning)
        loaded = datasets.load(stem, data=data)
    # scaled by the constant of the full dataset, even for the first rows only
    X, y = (loaded.X / loaded.X.max())[:first], loaded.y[:first]
    graph = leastcut.adaptive_neighbors_graph(
        X,
        n_neighbors=N_NEIGHBORS,
        include_self=True,
        offset=OFFSET,
        neighbors="exact",
        device="cpu",
    )
    return graph, y, X.shape[1]


@lru_cache(maxsize=2)
def problem(dataset: str, cut: str, data: str | None) -> Problem:
    """Return the problem that all methods of a dataset and a cut solve."""
    graph, y, _ = graph_of(dataset, data)
    begin = time.process_time()
    # the same seed for all runs, which differ only in their starts
    relaxation = leastcut.relax(graph, n_clusters(dataset, y), cut, random_state=0)
    return Problem(dataset, cut, graph, relaxation, y, time.process_time() - begin)


def forget() -> None:
    """Clear the caches of graphs and relaxed solutions."""
    problem.cache_clear()
    graph_of.cache_clear()

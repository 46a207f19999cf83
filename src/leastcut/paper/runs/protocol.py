"""How the paper turns a dataset into a graph, and what all methods of a cut share.

Not all of it is in the paper's text; what is not was inferred from its tables, all of whose relaxed
and enumerated optima it meets to the digits printed: one constant scales all data, a sample counts
among its own neighbours, and 1e-6 is added to the (k+1)-th distance.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy.sparse as sp

import leastcut
from leastcut.paper.data import datasets
from leastcut.paper.data.openml import UntriedSourceWarning
from leastcut.paper.data.printed import dataset_shape, split_name

N_NEIGHBORS = 10
"""Neighbours of every sample, itself among them: the paper's k."""

OFFSET = 1e-6
"""What is added to the (k+1)-th squared distance; without it GLASS misses both printed OPT_r."""

UNKNOWN_SIZE = 1000
"""Samples that a dataset is taken to have, for the progress bar, if the paper does not list it."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A graph to be cut, its relaxed solution and the true classes."""

    dataset: str
    cut: str
    graph: sp.csr_array
    relaxation: leastcut.Relaxation
    classes: np.ndarray
    seconds: float
    """What solving the relaxation took."""

    @property
    def n_clusters(self) -> int:
        """Number of clusters c."""
        return self.relaxation.n_clusters


def n_clusters(dataset: str, classes: np.ndarray) -> int:
    """Return into how many clusters a dataset is cut: 2 for the tiny ones, else its classes."""
    return int(classes.max()) + 1 if split_name(dataset)[1] is None else 2


def expected_size(dataset: str) -> int:
    """Return about how many samples a dataset has, without loading it."""
    stem, first = split_name(dataset)
    if first is not None:
        return first
    shape = dataset_shape(stem)
    return UNKNOWN_SIZE if shape is None else shape[0]


# Two of each are kept: a dataset's cells come one after another, and a third graph would only cost
# memory. Workers keep their own.
@lru_cache(maxsize=2)
def graph_of(dataset: str, data: str | None) -> tuple[sp.csr_array, np.ndarray, int]:
    """Return the graph, the classes and the number of features of "jaffe" or "usps:11"."""
    stem, first = split_name(dataset)
    with warnings.catch_warnings():
        # said once for all cells, when the run found out what is there
        warnings.simplefilter("ignore", UntriedSourceWarning)
        loaded = datasets.load(stem, data=data)
    # scaled before the first rows are taken: the constant is that of the whole dataset
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
    """Return what all methods of a dataset and a cut share."""
    graph, y, _ = graph_of(dataset, data)
    begin = time.process_time()
    # one seed for all: methods and their seeds differ by their starts alone
    relaxation = leastcut.relax(graph, n_clusters(dataset, y), cut, random_state=0)
    return Problem(dataset, cut, graph, relaxation, y, time.process_time() - begin)


def forget() -> None:
    """Let go of the graphs and relaxed solutions that are kept."""
    problem.cache_clear()
    graph_of.cache_clear()

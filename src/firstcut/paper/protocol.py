"""How the paper turns a dataset into a graph, and what all methods of a cut share.

Not all of it is in the paper's text; what is not was inferred from its tables, all of whose relaxed
and enumerated optima it meets to the digits printed: one constant scales all data, a sample counts
among its own neighbours, and 1e-6 is added to the (k+1)-th distance.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy.sparse as sp

import firstcut
from firstcut import datasets
from firstcut.paper.printed import dataset_shape

N_NEIGHBORS = 10
OFFSET = 1e-6


@dataclass(frozen=True, eq=False)
class Problem:
    """A graph to be cut, its relaxed solution and the true classes."""

    dataset: str
    cut: str
    graph: sp.csr_array
    relaxation: firstcut.Relaxation
    classes: np.ndarray
    seconds: float
    """What solving the relaxation took."""

    @property
    def n_clusters(self) -> int:
        """Number of clusters c."""
        return self.relaxation.n_clusters


def n_clusters(dataset: str, classes: np.ndarray) -> int:
    """Return into how many clusters a dataset is cut: 2 for the tiny ones, else its classes."""
    return 2 if ":" in dataset else int(classes.max()) + 1


def expected_size(dataset: str) -> int:
    """Return about how many samples a dataset has, without loading it."""
    stem, _, first = dataset.partition(":")
    shape = dataset_shape(stem)
    return int(first) if first else 1000 if shape is None else shape[0]


@lru_cache(maxsize=2)
def graph_of(dataset: str, data: str | None) -> tuple[sp.csr_array, np.ndarray, int]:
    """Return the graph, the classes and the number of features of "jaffe" or "usps:11"."""
    stem, _, first = dataset.partition(":")
    loaded = datasets.load(stem, data=data)
    X, y = loaded.X / loaded.X.max(), loaded.y
    if first:
        X, y = X[: int(first)], y[: int(first)]
    graph = firstcut.adaptive_neighbors_graph(
        X, n_neighbors=N_NEIGHBORS, include_self=True, offset=OFFSET
    )
    return graph, y, X.shape[1]


@lru_cache(maxsize=2)
def problem(dataset: str, cut: str, data: str | None) -> Problem:
    """Return the problem that all methods share; the last ones are kept."""
    graph, y, _ = graph_of(dataset, data)
    begin = time.perf_counter()
    relaxation = firstcut.relax(graph, n_clusters(dataset, y), cut, random_state=0)
    return Problem(dataset, cut, graph, relaxation, y, time.perf_counter() - begin)

"""What an affinity is: a way to a graph, and the same way for samples that come later."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from leastcut.affinity.neighbors.index import checked_samples
from leastcut.formatting import one_line, some

# From n_new samples to their (n_new, n_samples) affinities, sparse where most of them are 0.
Rows = Callable[[Any], Any]
# From a number of samples and parameters to the parameters that so many samples allow.
Limits = Callable[[int, dict[str, Any]], dict[str, Any]]

# Parameters of graph functions that say how neighbors are found, not which graph it is.
SEARCH_PARAMETERS = ("neighbors", "device", "random_state", "callback")


def defaults_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the parameters of a graph function beyond X, and their defaults."""
    _, *parameters = inspect.signature(function).parameters.values()
    return {
        parameter.name: parameter.default
        for parameter in parameters
        if parameter.name not in SEARCH_PARAMETERS
    }


def unlimited(n_samples: int, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters as they are: any number of samples will do."""
    return dict(parameters)


@dataclass(frozen=True, eq=False)
class Affinity:
    """A way from samples to a graph, and the same way for samples that come later.

    Attributes
    ----------
    graph : callable
        ``graph(X, **parameters)`` returns the graph of X, an ndarray or csr_array of shape (n, n).
        Calling the affinity is calling it.
    rows : callable
        ``rows(X, **parameters)`` prepares what the samples X are compared by, once, and returns a
        function (one that can be pickled) from new samples to their affinities to X. A sample of X
        that comes again gets the weights it had before the graph was made symmetric.
    parameters : dict
        The parameters that both take, and their defaults.
    limited : callable
        ``limited(n_samples, parameters)`` returns parameters that so many samples allow, where
        ``graph`` would refuse those given. A single sample has no neighbors to ask for:
        ``n_neighbors`` then is 0, and it is joined to itself, and to all new samples, by weight 1.
    takes : {"samples", "affinities", "distances"}
        What X is. If it is not samples, it is a matrix between them, and rows are made of the
        (n_new, n) matrix between new and old samples.
    searches : bool
        Whether ``graph`` looks for neighbors, and takes :data:`SEARCH_PARAMETERS` too. Its graphs
        are symmetric and positive by construction.

    Examples
    --------
    >>> from leastcut import AFFINITIES
    >>> affinity = AFFINITIES["nearest_neighbors"]
    >>> list(affinity.parameters)
    ['n_neighbors', 'include_self', 'metric', 'metric_params', 'n_jobs']
    >>> parameters = affinity.limited(3, {"include_self": False})
    >>> parameters["n_neighbors"]
    2
    >>> affinity([[0.0], [1.0], [5.0]], n_neighbors=2).toarray()
    array([[1. , 1. , 0. ],
           [1. , 1. , 0.5],
           [0. , 0.5, 1. ]])
    """

    graph: Callable[..., Any]
    rows: Callable[..., Rows]
    parameters: dict[str, Any]
    limited: Limits = unlimited
    takes: Literal["samples", "affinities", "distances"] = "samples"
    searches: bool = False

    @property
    def all_parameters(self) -> set[str]:
        """The names of the parameters of ``graph``, those of the search included."""
        return {*self.parameters, *(SEARCH_PARAMETERS if self.searches else ())}

    def __repr__(self) -> str:
        return one_line(self, takes=self.takes, parameters=some(self.parameters))

    def __call__(self, X: Any, *args: Any, **parameters: Any) -> Any:
        """Return the graph of X."""
        return self.graph(X, *args, **parameters)


def neighbor_affinity(
    graph: Callable[..., Any], rows: Callable[..., Rows], limited: Limits
) -> Affinity:
    """Return the affinity of a neighbor graph.

    A single sample, with ``n_neighbors=0``, is joined to itself and to all new samples by weight 1.
    """
    return Affinity(
        partial(_graph_or_loop, graph),
        partial(_rows_or_ones, rows),
        defaults_of(graph),
        limited,
        searches=True,
    )


def sparse_rows(indices: np.ndarray, weights: np.ndarray, n_samples: int) -> sp.csr_array:
    """Return the (n_new, n_samples) matrix with these weights at these samples of every row."""
    # Entries stay nearest first: CSR does not ask for sorted columns.
    indptr = np.arange(0, indices.size + 1, indices.shape[1])
    shape = (indices.shape[0], n_samples)
    return sp.csr_array((weights.reshape(-1), indices.reshape(-1), indptr), shape=shape)


def _graph_or_loop(graph: Any, X: Any, *args: Any, **parameters: Any) -> sp.csr_array:
    return _ones(checked_samples(X)) if _is_alone(X, parameters) else graph(X, *args, **parameters)


def _rows_or_ones(rows: Any, X: Any, **parameters: Any) -> Any:
    return _ones if _is_alone(X, parameters) else rows(X, **parameters)


def _ones(new: Any) -> sp.csr_array:
    """Return weight 1 between every new sample and the only one there is."""
    return sp.csr_array(np.ones((new.shape[0], 1)))


def _is_alone(X: Any, parameters: dict[str, Any]) -> bool:
    return parameters.get("n_neighbors") == 0 and np.shape(X)[:1] == (1,)

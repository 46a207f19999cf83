"""The affinity class: builds the graph of samples and computes the affinities of new samples."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from leastcut.affinity.neighbors.index import checked_samples
from leastcut.formatting import abbreviated, one_line

# Maps new samples to their affinities to X, of shape (n_new, n_samples), sparse if most are 0.
Rows = Callable[[Any], Any]
# Maps a number of samples and parameters to parameters that are valid for that many samples.
Limits = Callable[[int, dict[str, Any]], dict[str, Any]]

# Parameters of the nearest-neighbor search, which do not define the graph.
SEARCH_PARAMETERS = ("neighbors", "device", "random_state", "callback")


def defaults_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the parameters of a graph function, without X and the search, and their defaults."""
    _, *parameters = inspect.signature(function).parameters.values()
    return {
        parameter.name: parameter.default
        for parameter in parameters
        if parameter.name not in SEARCH_PARAMETERS
    }


def unlimited(n_samples: int, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters unchanged: they are valid for any number of samples."""
    return dict(parameters)


@dataclass(frozen=True, eq=False)
class Affinity:
    """An affinity between samples, for the training samples and for new ones.

    Attributes
    ----------
    graph : callable
        ``graph(X, **parameters)`` returns the graph of X, an ndarray or CSR array of shape
        (n_samples, n_samples). Calling the affinity calls this function.
    rows : callable
        ``rows(X, **parameters)`` prepares X once and returns a function, which can be pickled, that
        computes the affinities of new samples to X. A sample of X gets the weights that it had
        before the graph was made symmetric.
    parameters : dict
        The common parameters of both functions and their defaults.
    limited : callable
        ``limited(n_samples, parameters)`` reduces the parameters to values that are valid for this
        number of samples. For a single sample, ``n_neighbors`` becomes 0, and the weight of the
        sample to itself and to all new samples is 1.
    takes : {"samples", "affinities", "distances"}
        The content of X: samples, or a matrix of affinities or distances between samples. For a
        matrix, ``rows`` takes the matrix of shape (n_new, n_samples) of new and training samples.
    searches : bool
        Whether ``graph`` searches for neighbors and also takes the parameters ``neighbors``,
        ``device``, ``random_state`` and ``callback``. Its graphs are symmetric with positive
        weights.

    See Also
    --------
    adaptive_neighbors_graph : The graph of the default affinity.
    SpectralClustering : Takes the name of an affinity.

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
        """The names of the parameters of ``graph``, including those of the search."""
        return {*self.parameters, *(SEARCH_PARAMETERS if self.searches else ())}

    def __repr__(self) -> str:
        return one_line(self, takes=self.takes, parameters=abbreviated(self.parameters))

    def __call__(self, X: Any, *args: Any, **parameters: Any) -> Any:
        """Return the graph of X.

        Parameters
        ----------
        X : array-like or sparse matrix
            The samples, or a matrix of affinities or distances; see ``takes``.
        *args, **parameters
            Parameters of ``graph``.

        Returns
        -------
        ndarray or CSR array of shape (n_samples, n_samples)
            The graph.
        """
        return self.graph(X, *args, **parameters)


def neighbor_affinity(
    graph: Callable[..., Any], rows: Callable[..., Rows], limited: Limits
) -> Affinity:
    """Return the affinity of a nearest-neighbor graph.

    With ``n_neighbors=0``, the weight of a single sample to itself and to all new samples is 1.
    """
    return Affinity(
        partial(_graph_or_loop, graph),
        partial(_rows_or_ones, rows),
        defaults_of(graph),
        limited,
        searches=True,
    )


def sparse_rows(indices: np.ndarray, weights: np.ndarray, n_samples: int) -> sp.csr_array:
    """Return the (n_new, n_samples) CSR array with the given indices and weights in every row."""
    # Entries stay in order of distance: CSR columns need not be sorted.
    indptr = np.arange(0, indices.size + 1, indices.shape[1])
    shape = (indices.shape[0], n_samples)
    return sp.csr_array((weights.reshape(-1), indices.reshape(-1), indptr), shape=shape)


def _graph_or_loop(graph: Any, X: Any, *args: Any, **parameters: Any) -> sp.csr_array:
    return _ones(checked_samples(X)) if _is_alone(X, parameters) else graph(X, *args, **parameters)


def _rows_or_ones(rows: Any, X: Any, **parameters: Any) -> Any:
    return _ones if _is_alone(X, parameters) else rows(X, **parameters)


def _ones(new: Any) -> sp.csr_array:
    """Return weight 1 between every new sample and the single training sample."""
    return sp.csr_array(np.ones((new.shape[0], 1)))


def _is_alone(X: Any, parameters: dict[str, Any]) -> bool:
    return parameters.get("n_neighbors") == 0 and np.shape(X)[:1] == (1,)

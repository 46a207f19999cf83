"""The relaxation: a cut problem without its discreteness, solved exactly by eigenvectors.

The smallest cut value over all G with orthonormal columns, whether or not they indicate clusters,
is the sum of the c smallest eigenvalues of A = B^-½ L B^-½ (see :mod:`firstcut.cuts`). It is a
lower bound on every c-way cut value, and its eigenvectors are where discretizers start.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from firstcut.components import indicators_of_components, smallest_by_component
from firstcut.cuts import CutLike, node_weights, operator
from firstcut.eigensolvers import SOLVERS, auto
from firstcut.graph import as_graph
from firstcut.inputs import RandomState, as_generator, check_choice, check_count, check_n_clusters
from firstcut.threads import single_threaded

SMALLEST_TOLERANCE = 1e-11
"""What rounding allows every solver to reach."""


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The relaxed solution of a c-way cut: the c smallest eigenpairs of A.

    Attributes
    ----------
    eigenvalues : ndarray of shape (c,)
        Ascending.
    eigenvectors : ndarray of shape (n, c)
        Orthonormal columns F.
    node_weights : ndarray of shape (n,)
        The weights b of the cut.
    operator_product : ndarray of shape (n, c) or None
        A F where it was computed; None means F Λ, that is, eigenpairs taken to be exact.
    solver : str
        What computed it: a name from :data:`firstcut.eigensolvers.SOLVERS` (on the largest
        component), ``"components"`` where graph search was enough, ``"given"`` when it comes from
        elsewhere.
    converged : bool
        Whether the eigenpairs reached the tolerance asked for.

    Examples
    --------
    >>> import firstcut
    >>> firstcut.Relaxation(
    ...     eigenvalues=[0.0, 2.0],
    ...     eigenvectors=[[0.5**0.5, 0.5**0.5], [0.5**0.5, -(0.5**0.5)]],
    ...     node_weights=[1.0, 1.0],
    ... ).lower_bound
    2.0
    """

    eigenvalues: np.ndarray
    eigenvectors: np.ndarray
    node_weights: np.ndarray
    operator_product: np.ndarray | None = None
    solver: str = "given"
    converged: bool = True

    def __post_init__(self) -> None:
        for name in ("eigenvalues", "eigenvectors", "node_weights", "operator_product"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _finite(name, value))
        shape = self.eigenvectors.shape
        if len(shape) != 2 or not 1 <= shape[1] <= shape[0]:
            raise ValueError(
                f"eigenvectors must have one row per node and one column per cluster, no more "
                f"columns than rows, but its shape is {shape}."
            )
        expected = {
            "eigenvalues": shape[1:],
            "node_weights": shape[:1],
            "operator_product": shape,
        }
        for name, wanted in expected.items():
            value = getattr(self, name)
            if value is not None and value.shape != wanted:
                raise ValueError(
                    f"{name} must have shape {wanted} to go with eigenvectors of shape {shape}, "
                    f"but its shape is {value.shape}."
                )
        bad = np.flatnonzero(self.node_weights <= 0)
        if bad.size:
            raise ValueError(
                f"node_weights must be positive, and {bad.size} of {shape[0]} are not (the first "
                f"is {self.node_weights[bad[0]]} at node {bad[0]})."
            )

    @property
    def n_nodes(self) -> int:
        """Number of nodes n."""
        return int(self.eigenvectors.shape[0])

    @property
    def n_clusters(self) -> int:
        """Number of clusters c."""
        return int(self.eigenvectors.shape[1])

    @property
    def gradient(self) -> np.ndarray:
        """A F, half the gradient of tr(Fᵀ A F): what the first-order method steps along."""
        if self.operator_product is None:
            return np.asarray(self.eigenvectors * self.eigenvalues)
        return self.operator_product

    @property
    def residuals(self) -> np.ndarray:
        """‖A f − λ f‖ of every pair; zeros where A F is not known."""
        if self.operator_product is None:
            return np.zeros(self.n_clusters)
        return _column_norms(self.operator_product - self.eigenvectors * self.eigenvalues)

    @property
    def lower_bound(self) -> float:
        """No c-way partition has a smaller cut value: Σλ, less what the residuals leave open.

        It is 0 where the eigenpairs have not converged: they may then stand for larger eigenvalues
        than the smallest, and their sum proves nothing.
        """
        if not self.converged:
            return 0.0
        return max(0.0, float(np.sum(self.eigenvalues - self.residuals)))


def relax(
    graph: Any,
    n_clusters: int,
    cut: CutLike = "normalized",
    *,
    random_state: RandomState = None,
    solver: str = "auto",
    tol: float = 1e-9,
    max_iter: int = 10_000,
) -> Relaxation:
    """Solve the relaxed cut problem: the ``n_clusters`` smallest eigenpairs of A.

    Parameters
    ----------
    graph : Graph, sparse matrix or array-like of shape (n, n)
        Symmetric non-negative affinities; it may be disconnected.
    n_clusters : int
        How many eigenpairs, c; any number from 1 to n.
    cut : {"ratio", "normalized"} or array-like of shape (n,), default="normalized"
        The name of a cut, or a positive weight for every node.
    random_state : int, Generator, RandomState or None
        Seeds the start vectors of iterative solvers.
    solver : {"auto", ...}, default="auto"
        A name from :data:`firstcut.eigensolvers.SOLVERS`, or ``"auto"`` to choose by the size and
        shape of the graph. The result says which was used.
    tol : float, default=1e-9
        Residual norm, relative to the norm of A, at which an eigenpair has converged; 0 asks for
        all that rounding allows.
    max_iter : int, default=10000
        Cap on the products with A, or its inverse, of iterative solvers. When it is reached the
        best pairs so far are returned, with ``converged=False``.

    Returns
    -------
    Relaxation

    Examples
    --------
    >>> import firstcut
    >>> S = [[0, 2, 0], [2, 0, 1], [0, 1, 0]]
    >>> relaxation = firstcut.relax(S, 2)
    >>> relaxation.eigenvalues.round(6), relaxation.solver
    (array([0., 1.]), 'dense')
    """
    graph = as_graph(graph)
    n_clusters = check_n_clusters(n_clusters, graph.n_nodes)
    check_choice("solver", solver, ("auto", *SOLVERS))
    max_iter = check_count("max_iter", max_iter)
    if not tol >= 0:
        raise ValueError(f"tol={tol!r} is not a tolerance; it must be a number of at least 0.")
    weights = node_weights(graph, cut)
    with np.errstate(over="ignore", invalid="ignore"):
        matrix = operator(graph, cut)
    if not np.isfinite(matrix.data).all():
        raise ValueError(
            f"This cut overflows: affinities of up to {graph.matrix.data.max():.3g} with node "
            f"weights down to {weights.min():.3g}. Multiply either by a constant."
        )
    solve = partial(
        auto if solver == "auto" else SOLVERS[solver],
        rng=as_generator(random_state),
        tol=max(tol, SMALLEST_TOLERANCE),
        max_iter=max_iter,
    )
    n_components, component = graph.components()
    with single_threaded():
        if n_components >= n_clusters:
            found = indicators_of_components(weights, component, n_clusters)
        else:
            found = smallest_by_component(matrix, weights, component, n_clusters, solve)
        vectors = found.vectors * _signs(found.vectors)
        product = matrix @ vectors
    return Relaxation(found.values, vectors, weights, product, found.solver, found.converged)


def lower_bound(
    graph: Any,
    n_clusters: int,
    cut: CutLike = "normalized",
    random_state: RandomState = None,
) -> float:
    """Return a number that no partition into ``n_clusters`` clusters has a smaller cut value than.

    Parameters
    ----------
    graph : Graph, sparse matrix or array-like of shape (n, n)
    n_clusters : int
    cut : {"ratio", "normalized"} or array-like of shape (n,), default="normalized"
    random_state : int, Generator, RandomState or None

    Returns
    -------
    float

    Examples
    --------
    >>> import firstcut
    >>> S = [[0, 2, 0], [2, 0, 1], [0, 1, 0]]
    >>> round(firstcut.lower_bound(S, 2), 6)
    1.0
    """
    return relax(graph, n_clusters, cut, random_state=random_state).lower_bound


def _signs(vectors: np.ndarray) -> np.ndarray:
    """Return the sign that makes the largest entry of every column positive.

    Of entries that are equal up to rounding the first decides, so that rounding does not.
    """
    size = np.abs(vectors)
    first = np.argmax(size >= (1.0 - 1e-6) * size.max(axis=0), axis=0)
    return np.asarray(np.where(vectors[first, np.arange(vectors.shape[1])] < 0, -1.0, 1.0))


def _column_norms(matrix: np.ndarray) -> np.ndarray:
    """Return the norm of every column, without overflow or underflow on the way."""
    largest = np.abs(matrix).max(axis=0)
    safe = np.where(largest > 0, largest, 1.0)
    return np.asarray(largest * np.sqrt(np.sum((matrix / safe) ** 2, axis=0)))


def _finite(name: str, value: Any) -> np.ndarray:
    """Return ``value`` as a float64 array if all of it is finite."""
    array = np.asarray(value, dtype=np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds NaN or infinity; every entry must be finite.")
    return array

"""Result objects: relaxed solutions, discretizations, partitions and tables.

All are immutable.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from leastcut.formatting import Unquoted, label_counts, one_line, plain, text_table
from leastcut.validation import as_floats, check_positive


@dataclass(frozen=True, eq=False)
class Relaxation:
    """Relaxed solution of a c-way cut: the c smallest eigenpairs of its operator A.

    :func:`leastcut.relax` returns it. Construct it directly to discretize eigenvectors from another
    program.

    Attributes
    ----------
    eigenvalues : ndarray of shape (n_clusters,)
        Eigenvalues in ascending order.
    eigenvectors : ndarray of shape (n_nodes, n_clusters)
        Orthonormal columns F.
    node_weights : ndarray of shape (n_nodes,)
        The node weights b of the cut.
    operator_product : ndarray of shape (n_nodes, n_clusters) or None
        The product A F, if it was computed. None means F Λ: the eigenpairs are assumed to be exact.
    solver : str
        The eigensolver used on the largest component, a key of :data:`leastcut.EIGENSOLVERS`;
        ``"components"`` if the connected components were enough; ``"given"`` by default.
    converged : bool
        Whether all eigenpairs reached the requested tolerance.
    floors : ndarray of shape (n_clusters,) or None
        Lower bounds on the true eigenvalues, in ascending order. They account for residuals,
        rounding and eigenpairs that the solver may have missed. With None, the bound is computed
        from the residuals and assumes that no smaller eigenvalue was missed.

    See Also
    --------
    relax : Compute the relaxed solution of a graph.
    discretize : Turn a relaxed solution into labels.
    lower_bound : Compute the lower bound alone.

    Notes
    -----
    A = B^-½ L B^-½, where L is the graph Laplacian and B = diag(b). The arrays are not copied if
    they are already float64.

    Examples
    --------
    >>> import leastcut
    >>> leastcut.Relaxation(
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
    floors: np.ndarray | None = None

    def __post_init__(self) -> None:
        for name in ("eigenvalues", "eigenvectors", "node_weights", "operator_product", "floors"):
            value = getattr(self, name)
            if value is not None or name not in ("operator_product", "floors"):
                object.__setattr__(self, name, _finite(name, value))  # the dataclass is frozen
        shape = self.eigenvectors.shape
        if len(shape) != 2 or not 1 <= shape[1] <= shape[0]:
            raise ValueError(
                f"eigenvectors must have one row per node and one column per cluster, with at most "
                f"as many columns as rows, but its shape is {shape}."
            )
        expected = {"eigenvalues": shape[1:], "floors": shape[1:], "node_weights": shape[:1]}
        for name, required in {**expected, "operator_product": shape}.items():
            value = getattr(self, name)
            if value is not None and value.shape != required:
                raise ValueError(
                    f"{name} must have shape {required} to match eigenvectors of shape {shape}, "
                    f"but its shape is {value.shape}."
                )
        check_positive("node_weights", self.node_weights, "node")

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
        """The product A F, half the gradient of tr(Fᵀ A F)."""
        if self.operator_product is None:
            return np.asarray(self.eigenvectors * self.eigenvalues)  # A F = F Λ
        return self.operator_product

    @property
    def residuals(self) -> np.ndarray:
        """The residual norm ‖A f − λ f‖ of every eigenpair; zeros if A F was not computed."""
        if self.operator_product is None:
            return np.zeros(self.n_clusters)
        return _column_norms(self.operator_product - self.eigenvectors * self.eigenvalues)

    @property
    def lower_bound(self) -> float:
        """Lower bound on the cut value of every c-way partition.

        It is 0 if the eigenpairs have not converged, as they may then belong to larger eigenvalues.
        """
        if not self.converged:
            return 0.0
        if self.floors is not None:
            return float(np.sum(self.floors))
        # Weyl's inequality: the eigenvalues change by at most the norm of the residuals.
        return float(np.sum(np.maximum(self.eigenvalues - np.linalg.norm(self.residuals), 0.0)))

    def leading(self, count: int) -> Relaxation:
        """Return the relaxation of the ``count`` smallest eigenpairs; arrays are views.

        Parameters
        ----------
        count : int
            Number of eigenpairs, at most ``n_clusters``.

        Returns
        -------
        Relaxation
        """
        if count == self.n_clusters:
            return self
        product, floors = self.operator_product, self.floors
        return replace(
            self,
            eigenvalues=self.eigenvalues[:count],
            eigenvectors=self.eigenvectors[:, :count],
            operator_product=None if product is None else product[:, :count],
            floors=None if floors is None else floors[:count],
        )

    def padded(self, width: int) -> Relaxation:
        """Return the relaxation with columns of zeros appended, for discretization only.

        Rotation methods need one column per cluster. The ``lower_bound`` of the result is
        meaningless.

        Parameters
        ----------
        width : int
            Number of columns of the result.

        Returns
        -------
        Relaxation
        """
        missing = width - self.n_clusters
        return replace(
            self,
            eigenvalues=np.pad(self.eigenvalues, (0, missing), mode="edge"),
            eigenvectors=np.pad(self.eigenvectors, ((0, 0), (0, missing))),
            operator_product=np.pad(self.gradient, ((0, 0), (0, missing))),
            floors=None,
        )

    def __repr__(self) -> str:
        values = self.eigenvalues
        return one_line(
            self,
            n_nodes=self.n_nodes,
            eigenvalues=Unquoted(f"{values.size} from {values[0]:.4g} to {values[-1]:.4g}"),
            solver=self.solver,
            converged=self.converged,
        )

    def _repr_html_(self) -> str:
        from leastcut.report.notebook import relaxation_html

        return relaxation_html(self)


@dataclass(frozen=True, eq=False)
class Discretization:
    """Labels computed from a relaxed solution.

    Attributes
    ----------
    labels : ndarray of shape (n_nodes,)
        The cluster of every node, 0..n_clusters-1. No cluster is empty.
    n_iter : int
        Number of iterations of the run that returned these labels.
    converged : bool
        Whether that run reached a fixed point before ``max_iter``.
    loss : float
        Final loss of the method; lower is better. It is comparable only between runs of the same
        method with the same ``eta``.
    history : ndarray of shape (n_iter,)
        The loss after every iteration; it never increases.
    cut_value : float or None
        The cut value of ``labels``; None if no graph was passed.
    eta : float or None
        Weight of the gradient term, if the method has one.

    See Also
    --------
    discretize : Compute the labels.
    Relaxation : The relaxed solution that they are computed from.

    Notes
    -----
    A discretizer sees the eigenvectors and not the graph. ``cut_value`` is therefore the only
    number by which different methods can be compared.

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 2], [0, 0, 2, 0]]
    >>> relaxation = leastcut.relax(S, 2, cut="ratio", random_state=0)
    >>> result = leastcut.discretize(relaxation, "cluster_qr", graph=S)
    >>> result.cut_value, result.converged, result.n_iter
    (1.0, True, 1)
    """

    labels: np.ndarray
    n_iter: int
    converged: bool
    loss: float
    history: np.ndarray
    cut_value: float | None = None
    eta: float | None = None

    def __repr__(self) -> str:
        return one_line(
            self,
            n_nodes=np.size(self.labels),
            n_clusters=label_counts(np.asarray(self.labels))[0].size,
            cut_value=self.cut_value,
            loss=self.loss if self.cut_value is None else None,
            n_iter=self.n_iter,
            converged=self.converged,
        )


@dataclass(frozen=True, eq=False)
class Partition:
    """Partition of a graph with its cut value and, if computed, a lower bound.

    Attributes
    ----------
    labels : ndarray of shape (n_nodes,)
        The cluster of every node, 0..n_clusters-1. No cluster is empty.
    cut_value : float
        The cut value of ``labels``.
    lower_bound : float or None
        Lower bound on the cut value of every partition into the same number of clusters; None if it
        was not computed.
    gap : float or None
        Relative optimality gap, ``(cut_value - lower_bound) / cut_value``: the smallest possible
        cut is at most this fraction below ``cut_value``. 0 means proven optimal, None that no bound
        was computed.
    nodes : tuple or None
        The names of the nodes, in the order of ``labels``; None if the graph has no names.

    See Also
    --------
    partition : Search for the smallest cut of a graph.
    refine : Improve the labels of a graph.
    certify : Raise the lower bound of a partition, and improve its labels.
    cut_value : Compute the cut value of labels.

    Notes
    -----
    The gap is 0 if value and bound are both 0. A negative gap would mean that the bound is wrong;
    it is reported and not clipped.

    Examples
    --------
    >>> import numpy as np
    >>> import leastcut
    >>> result = leastcut.Partition(np.array([0, 0, 1, 1]), cut_value=1.0, lower_bound=0.75)
    >>> result.gap
    0.25
    """

    labels: np.ndarray
    cut_value: float
    lower_bound: float | None = None
    nodes: tuple[Any, ...] | None = None

    @property
    def gap(self) -> float | None:
        """Relative optimality gap: (cut_value − lower_bound) / cut_value; None without a bound.

        0 means proven optimal; 0.3 means that no partition is more than 30% smaller.
        """
        if self.lower_bound is None:
            return None
        if self.cut_value == self.lower_bound:  # also if both are 0
            return 0.0
        if self.cut_value == 0.0:
            return -np.inf
        return (self.cut_value - self.lower_bound) / self.cut_value

    def by_node(self) -> dict[Any, int]:
        """Return the cluster of every node, keyed by node name.

        Returns
        -------
        dict
            ``{name: cluster}``, in the order of ``labels``.

        Raises
        ------
        ValueError
            If the graph has no names, or if several nodes share a name.
        """
        if self.nodes is None:
            raise ValueError(
                "The graph has no names of nodes; labels[i] is the cluster of node i. Graphs of "
                "networkx, igraph (vertex attribute 'name'), pandas and AnnData have names; for "
                "other graphs use dict(zip(names, labels))."
            )
        clusters = dict(zip(self.nodes, self.labels.tolist(), strict=True))
        if len(clusters) < len(self.nodes):
            seen: set[Any] = set()
            duplicate = next(name for name in self.nodes if name in seen or seen.add(name))  # type: ignore[func-returns-value]
            raise ValueError(
                f"{len(self.nodes) - len(clusters)} nodes share the name of another, such as "
                f"{duplicate!r}, so names do not identify them; use labels, which are in the order "
                "of nodes."
            )
        return clusters

    def named(self, nodes: tuple[Any, ...] | None) -> Partition:
        """Return the partition with node names.

        Parameters
        ----------
        nodes : tuple or None
            The names, in the order of ``labels``; None returns the partition itself.

        Returns
        -------
        Partition
        """
        return self if nodes is None else replace(self, nodes=nodes)

    def plot(
        self, graph: Any, kind: str = "sizes", *, cut: Any = "normalized", **options: Any
    ) -> Any:
        """Plot the partition; requires ``leastcut[plot]``.

        Parameters
        ----------
        graph : graph
            The graph that was cut, in any form that :func:`leastcut.partition` accepts.
        kind : {"embedding", "affinity", "sizes", "graph"}, default="sizes"
            The kind of plot, a key of :data:`leastcut.plot.PLOTS`.
        cut : {"normalized", "ratio"} or array-like of shape (n_nodes,), default="normalized"
            The cut that was minimized.
        **options
            Further arguments of the plot, such as ``ax``.

        Returns
        -------
        Axes
        """
        from leastcut.plot import draw

        return draw(kind, ("clusters",), self, graph=graph, cut=cut, **options)

    def __repr__(self) -> str:
        return one_line(
            self,
            n_nodes=np.size(self.labels),
            n_clusters=label_counts(np.asarray(self.labels))[0].size,
            cut_value=self.cut_value,
            lower_bound=self.lower_bound,
            gap=self.gap,
        )

    def _repr_html_(self) -> str:
        from leastcut.report.notebook import partition_html

        return partition_html(self)


class Columns(dict[str, np.ndarray]):
    """Table with named columns of the same length; pass it to ``pandas.DataFrame``.

    Examples
    --------
    >>> import numpy as np
    >>> from leastcut.results import Columns
    >>> table = Columns(n_clusters=np.array([2, 3]), cut_value=np.array([0.125, 0.5]))
    >>> table
    Columns(2 rows of n_clusters, cut_value)
    >>> print(table)
    n_clusters  cut_value
             2      0.125
             3        0.5
    """

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return max((len(column) for column in self.values()), default=0)

    def __repr__(self) -> str:
        return one_line(self, Unquoted(f"{self.n_rows} rows of {', '.join(self)}"))

    def __str__(self) -> str:
        rows = [[plain(value) for value in row] for row in zip(*self.values(), strict=True)]
        return text_table(list(self), rows, n_left=0)

    def _repr_html_(self) -> str:
        from leastcut.report.notebook import columns_html

        return columns_html(self)


def _column_norms(matrix: np.ndarray) -> np.ndarray:
    """Return the norm of every column, without intermediate overflow or underflow."""
    largest = np.abs(matrix).max(axis=0)
    safe = np.where(largest > 0, largest, 1.0)
    return np.asarray(largest * np.sqrt(np.sum((matrix / safe) ** 2, axis=0)))


def _finite(name: str, value: Any) -> np.ndarray:
    """Return ``value`` as a float64 array; raise if an entry is not finite."""
    array = as_floats(name, value)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds NaN or infinity; every entry must be finite.")
    return array


@dataclass(frozen=True)
class NeighborSearch:
    """Method, recall and time of a neighbor search, passed to the ``callback`` of a graph function.

    Attributes
    ----------
    method : {"tree", "products", "approximate", "gpu", "ball tree", "pairs"}
        A k-d tree, products of all pairs, the approximate search, or products on a GPU; for other
        metrics a ball tree, or the distances of all pairs.
    recall : float
        Fraction of the true nearest neighbors that were found. For "approximate" and "gpu" it is
        measured on a sample of rows; the other methods are exact, and it is 1.0.
    seconds : float
        Time of the search in seconds.

    See Also
    --------
    adaptive_neighbors_graph : Graph of adaptive neighbors.
    nearest_neighbors_graph : Graph of the nearest neighbors.
    self_tuning_graph : Gaussian affinities with local scales.

    Notes
    -----
    ``str(search)`` is a one-line summary, which verbose estimators log.

    Examples
    --------
    >>> import leastcut
    >>> searches = []
    >>> X = [[0.0], [1.0], [3.0], [4.0]]
    >>> _ = leastcut.nearest_neighbors_graph(X, 2, callback=searches.append)
    >>> searches[0].method, searches[0].recall
    ('tree', 1.0)
    """

    method: str
    recall: float
    seconds: float

    def __repr__(self) -> str:
        return one_line(self, method=self.method, recall=self.recall, seconds=self.seconds)

    def __str__(self) -> str:
        """Return a one-line summary."""
        names = {
            "tree": "a k-d tree, exact",
            "products": "products of all pairs, exact",
            "approximate": f"approximate search, sampled recall {self.recall:.3f}",
            "ball tree": "a ball tree, exact",
            "pairs": "distances of all pairs, exact",
            "gpu": f"products on the GPU, sampled recall {self.recall:.3f}",
        }
        return f"Neighbors by {names[self.method]}, {self.seconds:.2f} s"

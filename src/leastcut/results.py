"""What functions return: relaxed solutions, labels made of them, and partitions with their value.

Each is a small immutable value. None of them computes what it is not asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from leastcut.formatting import Words, label_counts, one_line, plain, text_table
from leastcut.validation import as_floats, check_positive


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
        What computed it: a name from :data:`leastcut.EIGENSOLVERS` (on the largest component),
        ``"components"`` where graph search was enough, ``"given"`` when it comes from elsewhere.
    converged : bool
        Whether the eigenpairs reached the tolerance asked for.
    floors : ndarray of shape (c,) or None
        What no true eigenvalue of the same rank is below, ascending: the eigenvalues less what
        residuals, rounding and the search for missed pairs leave open. None stands for the
        eigenvalues less the norm of all residuals: these are the smallest, and none is missed.

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
                # The class is frozen, also for its own checks. Arrays that already are float64 are
                # shared.
                object.__setattr__(self, name, _finite(name, value))
        shape = self.eigenvectors.shape
        if len(shape) != 2 or not 1 <= shape[1] <= shape[0]:
            raise ValueError(
                f"eigenvectors must have one row per node and one column per cluster, no more "
                f"columns than rows, but its shape is {shape}."
            )
        expected = {"eigenvalues": shape[1:], "floors": shape[1:], "node_weights": shape[:1]}
        for name, wanted in {**expected, "operator_product": shape}.items():
            value = getattr(self, name)
            if value is not None and value.shape != wanted:
                raise ValueError(
                    f"{name} must have shape {wanted} to go with eigenvectors of shape {shape}, "
                    f"but its shape is {value.shape}."
                )
        # Only the user's own weights can fail here; those of a Problem are positive.
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
        """A F, half the gradient of tr(Fᵀ A F): what the first-order method steps along."""
        # A F = F Λ, column by column.
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
        """No c-way partition has a smaller cut value: the sum of the floors under the eigenvalues.

        It is 0 where the eigenpairs have not converged: they may then stand for larger eigenvalues
        than the smallest, and their sum proves nothing.
        """
        if not self.converged:
            return 0.0
        if self.floors is not None:
            return float(np.sum(self.floors))
        # By Weyl's inequality no eigenvalue is further below than the norm of all residuals.
        return float(np.sum(np.maximum(self.eigenvalues - np.linalg.norm(self.residuals), 0.0)))

    def leading(self, count: int) -> Relaxation:
        """Return the relaxation of the ``count`` smallest eigenpairs only."""
        if count == self.n_clusters:
            return self
        product, floors = self.operator_product, self.floors
        # Views of this one's columns: they are not copied.
        return replace(
            self,
            eigenvalues=self.eigenvalues[:count],
            eigenvectors=self.eigenvectors[:, :count],
            operator_product=None if product is None else product[:, :count],
            floors=None if floors is None else floors[:count],
        )

    def padded(self, width: int) -> Relaxation:
        """Return the relaxation with zero columns up to ``width``, at its largest eigenvalue.

        Rotations then map the dimensions that there are onto ``width`` directions. It is something
        to discretize, no longer eigenpairs: its ``lower_bound`` means nothing.
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
            eigenvalues=Words(f"{values.size} from {values[0]:.4g} to {values[-1]:.4g}"),
            solver=self.solver,
            converged=self.converged,
        )

    def _repr_html_(self) -> str:
        from leastcut.report.notebook import relaxation_html  # which only notebooks need

        return relaxation_html(self)


@dataclass(frozen=True, eq=False)
class Discretization:
    """Labels that a method made of a relaxed solution.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        The cluster of every node, 0..c-1, none empty.
    n_iter : int
        Iterations of the run that gave these labels.
    converged : bool
        Whether that run ended at a fixed point rather than at ``max_iter``.
    loss : float
        The method's own loss at the end, the smaller the better; comparable only between runs of
        one method with one eta.
    history : ndarray of shape (n_iter,)
        The loss after every iteration; it never rises.
    cut_value : float or None
        The true cut value; None where no graph was given to compute it from.
    eta : float or None
        The weight of the gradient term, where the method has one.

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 2], [0, 0, 2, 0]]
    >>> relaxation = leastcut.relax(S, 2, cut="ratio", random_state=0)
    >>> found = leastcut.discretize(relaxation, "cluster_qr", graph=S)
    >>> found.cut_value, found.converged, found.n_iter
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
    """A partition of a graph, with the value of its cut.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        The cluster of every node, 0..c-1, none empty.
    cut_value : float
        The true cut value of ``labels``.
    lower_bound : float or None
        No partition into as many clusters has a smaller value; None when it was not computed.
    nodes : tuple or None
        The names of the nodes, in the order of ``labels``; None where the graph has no names.

    Examples
    --------
    >>> import numpy as np
    >>> import leastcut
    >>> found = leastcut.Partition(np.array([0, 0, 1, 1]), cut_value=1.0, lower_bound=0.75)
    >>> found.gap
    0.25
    """

    labels: np.ndarray
    cut_value: float
    lower_bound: float | None = None
    nodes: tuple[Any, ...] | None = None

    @property
    def gap(self) -> float | None:
        """How far above the optimum this can be, as a fraction of the cut value; None if unknown.

        0 means proven optimal; 0.3 means that no partition is more than 30% smaller. It is never
        below 0 unless the bound is false, which is not to be hidden.
        """
        if self.lower_bound is None:
            return None
        # This covers 0 and 0, which would be 0/0; a bound above a value of 0 is false by far.
        if self.cut_value == self.lower_bound:
            return 0.0
        if self.cut_value == 0.0:
            return -np.inf
        return (self.cut_value - self.lower_bound) / self.cut_value

    def by_node(self) -> dict[Any, int]:
        """Return the cluster of every node by its name, as ``{name: cluster}``.

        Raises
        ------
        ValueError
            Where the graph has no names, or several nodes of one name.
        """
        if self.nodes is None:
            raise ValueError(
                "The graph has no names of nodes, and labels[i] is the cluster of node i. Graphs "
                "of networkx, igraph (by the vertex attribute 'name'), pandas and AnnData have "
                "names; or pass dict(zip(names, labels))."
            )
        found = dict(zip(self.nodes, self.labels.tolist(), strict=True))
        if len(found) < len(self.nodes):
            seen: set[Any] = set()
            again = next(name for name in self.nodes if name in seen or seen.add(name))  # type: ignore[func-returns-value]
            raise ValueError(
                f"{len(self.nodes) - len(found)} nodes share the name of another, such as "
                f"{again!r}, so that they cannot be told apart by name; use labels, which are in "
                "the order of nodes."
            )
        return found

    def named(self, nodes: tuple[Any, ...] | None) -> Partition:
        """Return the partition with the names of its nodes, if they have names."""
        return self if nodes is None else replace(self, nodes=nodes)

    def plot(
        self, graph: Any, kind: str = "sizes", *, cut: Any = "normalized", **options: Any
    ) -> Any:
        """Draw the partition; needs ``leastcut[plot]``.

        Parameters
        ----------
        graph : graph
            The graph that was cut.
        kind : {"embedding", "affinity", "sizes", "graph"}, default="sizes"
            A picture of clusters in :data:`leastcut.plot.PLOTS`.
        cut : {"normalized", "ratio"} or array-like of shape (n,), default="normalized"
            The cut.
        **options
            Further arguments of the picture, such as ``ax``.

        Returns
        -------
        Axes
        """
        from leastcut.plot import draw  # which few partitions need

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
        from leastcut.report.notebook import partition_html  # which only notebooks need

        return partition_html(self)


class Columns(dict[str, np.ndarray]):
    """A table: its columns by name, all of one length; ``pandas.DataFrame`` takes it as it is.

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
        """The length of the columns."""
        return max((len(column) for column in self.values()), default=0)

    def __repr__(self) -> str:
        return one_line(self, Words(f"{self.n_rows} rows of {', '.join(self)}"))

    def __str__(self) -> str:
        rows = [[plain(value) for value in row] for row in zip(*self.values(), strict=True)]
        return text_table(list(self), rows, n_words=0)

    def _repr_html_(self) -> str:
        from leastcut.report.notebook import columns_html  # which only notebooks need

        return columns_html(self)


def _column_norms(matrix: np.ndarray) -> np.ndarray:
    """Return the norm of every column, without overflow or underflow on the way."""
    largest = np.abs(matrix).max(axis=0)
    # Squares of entries scaled to at most 1; a column of zeros is divided by 1.
    safe = np.where(largest > 0, largest, 1.0)
    return np.asarray(largest * np.sqrt(np.sum((matrix / safe) ** 2, axis=0)))


def _finite(name: str, value: Any) -> np.ndarray:
    """Return ``value`` as a float64 array if all of it is finite."""
    array = as_floats(name, value)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds NaN or infinity; every entry must be finite.")
    return array


@dataclass(frozen=True)
class NeighborSearch:
    """How neighbors were found: what the ``callback`` of a graph function receives.

    Attributes
    ----------
    method : {"tree", "products", "approximate", "gpu", "ball tree", "pairs"}
        A k-d tree, products of all with all, the approximate search, or products on a GPU; under
        other metrics a ball tree, or the distances of all pairs.
    recall : float
        The fraction of the nearest neighbors that were found. Measured of "approximate" and "gpu",
        on a sample of rows that were compared with all samples; 1.0 of the others, which miss none
        by construction.
    seconds : float
        What the search took.

    Examples
    --------
    >>> import leastcut
    >>> told = []
    >>> X = [[0.0], [1.0], [3.0], [4.0]]
    >>> _ = leastcut.nearest_neighbors_graph(X, 2, callback=told.append)
    >>> told[0].method, told[0].recall
    ('tree', 1.0)
    """

    method: str
    recall: float
    seconds: float

    def __repr__(self) -> str:
        return one_line(self, method=self.method, recall=self.recall, seconds=self.seconds)

    def __str__(self) -> str:
        """Return a line for people."""
        names = {
            "tree": "a k-d tree, exact",
            "products": "products of all with all, exact",
            "approximate": f"approximate search, sampled recall {self.recall:.3f}",
            "ball tree": "a ball tree, exact",
            "pairs": "distances of all pairs, exact",
            "gpu": f"products on the GPU, sampled recall {self.recall:.3f}",
        }
        return f"Neighbors by {names[self.method]}, {self.seconds:.2f} s"

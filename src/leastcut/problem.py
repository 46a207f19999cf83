"""The cut problem: a graph, a weight for every node, and constraints on the partitions.

A cut is defined by its node weights b. Its value is Σ_k boundary(C_k) / b(C_k), where boundary(C)
is the weight of all edges that leave cluster C, and b(C) the sum of the weights of its nodes. Ratio
Cut has b = 1, Normalized Cut has b = degrees, and every positive b defines a cut. In matrix form,
with L = diag(d) − S, B = diag(b) and the operator A = B^-½ L B^-½, the value is tr(Gᵀ A G) for the
indicator G = B^½ Y (YᵀBY)^-½.

:func:`as_problem` validates user input and returns a :class:`Problem`. Functions that take a
problem validate nothing, and do not depend on which cut it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from leastcut.constraints import (
    FREE,
    CannotLinks,
    Constraints,
    Limits,
    check_balance,
    unit_exponent,
)
from leastcut.distance_check import warn_of_distances
from leastcut.formatting import fields_in_one_line
from leastcut.graph import FactoredGraph, Graph, as_graph
from leastcut.validation import (
    as_floats,
    check_choice,
    check_labels,
    check_n_clusters,
    check_positive,
    refuse_masked,
)

ISOLATED = ("error", "ignore")  # what to do with nodes of weight 0

CutLike = str | npt.ArrayLike  # a name from CUTS, or one positive weight per node

LARGEST = 1e307  # limit of the sum of affinities or node weights, and of cut values
SMALLEST = 1e-307  # ratio of a node's edges to its weight below which digits are lost
MAX_EXPONENT = 930  # numbers are scaled up to at most this power of two, 1e280
# For edge cuts, the total node weight is at most 2⁻²³ and the common unit of all weights at most
# 2⁻⁵⁰, so that sums of weights and the constant 2 of a cluster are exact.
WEIGHT_BITS, UNIT_BITS = 23, 50
ORDINARY = 1e280  # numbers between this and its inverse cannot overflow or underflow


class AnyProblem(Protocol):
    """The interface that all types of problem share.

    Functions such as ``partition`` dispatch on the type of the problem. Types whose number of
    clusters can be selected also have ``core``, the :class:`Problem` that it is selected on.
    """

    @property
    def n_nodes(self) -> int:
        """Number of nodes n."""

    @property
    def names(self) -> tuple[Any, ...] | None:
        """The names of the nodes, or None."""

    def check_n_clusters(self, n_clusters: object) -> int:
        """Return ``n_clusters`` as an int, or raise if the nodes cannot form that many clusters."""

    def value(self, labels: np.ndarray) -> float:
        """Return the objective for labels 0..c-1."""


def unsupported_problem(function: str, problem: object) -> TypeError:
    """Return the error of a function that has no implementation for a type of problem."""
    return TypeError(f"{function} does not support problems of type {type(problem).__name__}.")


@dataclass(frozen=True, eq=False)
class Problem:
    """A graph, a positive weight for every node, and constraints on the partitions.

    Contracting nodes or restricting to a subset of them gives a problem again; each level of a
    multilevel hierarchy is a problem. Only ignored nodes without edges have weight 0; they are
    removed before the graph is cut. ``offset`` is added to the weight of every cluster; it is 0
    except after :meth:`counting_edges`. With ``counts_edges`` the value is the edge cut.
    """

    graph: Graph
    node_weights: np.ndarray
    constraints: Constraints = FREE
    offset: float = 0.0
    counts_edges: bool = False

    __repr__ = fields_in_one_line

    @property
    def n_nodes(self) -> int:
        """Number of nodes n."""
        return self.graph.n_nodes

    @property
    def names(self) -> tuple[Any, ...] | None:
        """The names of the nodes, or None."""
        return self.graph.names

    @property
    def core(self) -> Problem:
        """The problem without isolated nodes and constraints, to select a number of clusters on."""
        free = replace(self, constraints=FREE, counts_edges=False)
        return free.restrict(self.graph.connected)

    def check_n_clusters(self, n_clusters: object) -> int:
        """Return ``n_clusters`` as an int, or raise if the nodes cannot form that many clusters."""
        return check_n_clusters(n_clusters, self.n_nodes)

    @property
    def cannot_link(self) -> CannotLinks | None:
        """The pairs of nodes that must be in different clusters, or None."""
        return self.constraints.cannot_link

    @property
    def limits(self) -> Limits | None:
        """The smallest and the largest cluster weight allowed, or None."""
        return self.constraints.limits

    def as_one(self) -> Problem:
        """Return the problem itself; problems of several graphs return their combination."""
        return self

    def unconstrained(self) -> Problem:
        """Return the problem without constraints."""
        return replace(self, constraints=FREE)

    def with_limits(self, limits: Limits) -> Problem:
        """Return the problem with other limits."""
        return replace(self, constraints=replace(self.constraints, limits=limits))

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The arguments of compiled kernels: CSR arrays and node weights."""
        return self.graph.indptr, self.graph.indices, self.graph.weights, self.node_weights

    def allows(self, labels: np.ndarray) -> bool:
        """Whether labels 0..k-1, none missing, satisfy the constraints."""
        constraints = self.constraints
        return not constraints.restrict_moves or constraints.allow(
            labels, self.cluster_weights(labels)
        )

    def value(self, labels: np.ndarray) -> float:
        """Return the cut value of labels 0..k-1, none missing; exactly 0 if no edge is cut."""
        if self.counts_edges:
            return 0.5 * float(self.boundaries(labels).sum())
        weights = self.cluster_weights(labels) + self.offset
        return value_of_sums(self.boundaries(labels), weights)

    def boundaries(self, labels: np.ndarray) -> np.ndarray:
        """Return the weight of the edges that leave each cluster."""
        graph = self.graph
        # Labels are read once per stored edge; 32 bits halve the memory traffic.
        small = labels.astype(np.int32) if labels.max() < np.iinfo(np.int32).max else labels
        lengths = np.diff(graph.indptr)
        crossing = np.flatnonzero(np.repeat(small, lengths) != small[graph.indices])
        # Sum per node first: rounding grows with the number of terms. Every edge is stored in both
        # directions, so each of its two clusters gets its weight once.
        node = np.repeat(np.arange(self.n_nodes, dtype=graph.indptr.dtype), lengths)[crossing]
        outward = np.bincount(node, graph.weights[crossing], minlength=self.n_nodes)
        return np.bincount(labels, outward).astype(np.float64, copy=False)

    def cluster_weights(self, labels: np.ndarray) -> np.ndarray:
        """Return b(C_k) for every cluster: the sum of the weights of its nodes."""
        return np.bincount(labels, self.node_weights)

    def operator_parts(self) -> tuple[np.ndarray, sp.csr_array]:
        """Return the diagonal of A, and B^-½ S B^-½ without self-loops, which is subtracted."""
        graph, rows = self.graph, self.graph.rows
        scale = 1.0 / np.sqrt(self.node_weights)
        # L does not depend on self-loops; without them d − S_ii cannot cancel.
        outward = np.where(rows == graph.indices, 0.0, graph.weights)
        diagonal = np.bincount(rows, outward, minlength=self.n_nodes) * scale * scale
        scaled = outward * scale[rows] * scale[graph.indices]
        rest = sp.csr_array((scaled, graph.indices, graph.indptr), shape=graph.matrix.shape)
        return diagonal, rest

    def operator(self) -> sp.csr_array:
        """Return A = B^-½ (diag(d) − S) B^-½."""
        diagonal, rest = self.operator_parts()
        return sp.csr_array(sp.diags_array(diagonal) - rest)

    def restrict(self, nodes: np.ndarray) -> Problem:
        """Return the problem induced by ``nodes``, in their order."""
        if nodes.size == self.n_nodes and np.array_equal(nodes, np.arange(nodes.size)):
            return self
        graph, weights = self.graph.restrict(nodes), self.node_weights[nodes]
        constraints = self.constraints.restricted(nodes)
        return replace(self, graph=graph, node_weights=weights, constraints=constraints)

    def symmetrized(self) -> Problem:
        """Return the problem with an exactly symmetric graph, by averaging rounding errors."""
        return replace(self, graph=self.graph.symmetrized())

    def uncut_labels(self, n_clusters: int) -> np.ndarray | None:
        """Return labels that cut no edge, or None if there are fewer components than clusters.

        Components are grouped so that the clusters have similar weights.
        """
        count, component = self.graph.components
        if count < n_clusters:
            return None
        return np.asarray(_even_groups(self.cluster_weights(component), n_clusters)[component])

    def within_range(self) -> Problem:
        """Return the problem, scaled up if inverses could overflow or values underflow.

        Both scales are powers of two of at least 1, so nothing is rounded.
        """
        graph, node_weights = self.graph, self.node_weights
        node_up = _exponent(node_weights)
        # Larger node weights decrease values; larger affinities compensate for it.
        up = max(_exponent(graph.weights), node_up)
        # The smallest possible value: a single light edge between heavy clusters.
        if graph.n_stored and graph.weights.min() / node_weights.max() < 1.0 / ORDINARY:
            up = MAX_EXPONENT
        if up == 0:
            return self
        # Leave enough exponents for sums and values.
        terms = np.frexp(graph.outward)[1] - np.frexp(node_weights)[1]
        most = max(int(np.frexp(graph.weights.max(initial=0.0))[1]), int(terms.max()) - node_up)
        up = max(min(up, MAX_EXPONENT - most - 2 * self.n_nodes.bit_length()), 0)
        scaled = Graph(graph.indptr, graph.indices, np.ldexp(graph.weights, up))
        return replace(
            self,
            graph=scaled,
            node_weights=np.ldexp(node_weights, node_up),
            constraints=self.constraints.scaled(node_up),
            offset=float(np.ldexp(self.offset, node_up)),
        )

    def counting_edges(self) -> Problem:
        """Return a problem whose values are edge cuts, or smaller by a fraction of at most 2⁻²⁴.

        Every cluster weighs 2, because each cut edge leaves two clusters. Node weights are scaled
        down by a power of two, so that they hardly change the value but still define the limits.
        """
        if float(self.graph.weights.sum()) > ORDINARY:
            raise ValueError(
                f"The affinities add up to {self.graph.weights.sum():.6g}, but cut='edges' "
                f"supports sums up to {ORDINARY:g}. Multiply them by a constant, such as "
                f"{2.0**-100:g}; this does not change which cut is smallest."
            )
        total = int(np.frexp(self.node_weights.sum())[1])
        down = -max(total + WEIGHT_BITS, unit_exponent(self.node_weights) + UNIT_BITS)
        return replace(
            self,
            node_weights=np.ldexp(self.node_weights, down),
            constraints=self.constraints.scaled(down),
            offset=2.0,
            counts_edges=False,
        )


@dataclass(frozen=True, eq=False)
class Cut:
    """A cut, defined by its node weights b = sample_weight · (constant + per_degree · d).

    ``sample_weight`` scales the weight of a node in its cluster, not its edges.
    """

    name: str
    constant: float | np.ndarray
    per_degree: float
    sample_weight: float | np.ndarray = 1.0

    __repr__ = fields_in_one_line

    def node_weights(self, graph: Graph) -> np.ndarray:
        """Return the weights b of the nodes; 0 for isolated nodes if b depends on degrees only."""
        if self.per_degree == 0.0:
            weights = np.full(graph.n_nodes, self.constant, dtype=np.float64)
        else:
            weights = np.asarray(self.constant + self.per_degree * graph.degrees)
        if np.ndim(self.sample_weight) == 0:
            return weights
        with np.errstate(over="ignore", under="ignore"):
            scaled = np.asarray(self.sample_weight * weights)
            total = scaled.sum()
        if total > LARGEST or np.any((scaled > 0) != (weights > 0)):
            raise ValueError(
                f"The node weights scaled by sample_weight overflow or underflow: they add up to "
                f"{total:.6g}, and sums up to {LARGEST:g} are supported. Multiply sample_weight by "
                "a constant; this does not change which cut is smallest."
            )
        return scaled

    def weight_of_new(self, degree: np.ndarray) -> np.ndarray:
        """Return the weights of new nodes of these degrees; for weights per node use their mean."""
        each = self.sample_weight
        return np.asarray(np.mean(each * self.constant) + np.mean(each) * self.per_degree * degree)

    def weighted(self, sample_weight: Any, n_samples: int) -> Cut:
        """Return the cut with node weights multiplied by ``sample_weight``, validated."""
        if sample_weight is None:
            return self
        weights = as_floats("sample_weight", sample_weight)
        if weights.ndim == 0:
            weights = np.full(n_samples, weights)
        if weights.shape != (n_samples,):
            raise ValueError(
                f"sample_weight must have shape ({n_samples},), but its shape is {weights.shape}; "
                "pass one number per sample."
            )
        check_positive("sample_weight", weights, "sample")
        return replace(self, sample_weight=weights.copy())


CUTS: dict[str, Cut] = {
    "ratio": Cut("ratio", constant=1.0, per_degree=0.0),
    "normalized": Cut("normalized", constant=0.0, per_degree=1.0),
}
"""The named cuts. To add a cut, add an entry; no other code depends on the names."""


# The edge cut has no node weights and requires a balance: without one, single nodes are cut off.
EDGES = "edges"


def as_cut(cut: CutLike, n_nodes: int) -> Cut:
    """Return the cut for a name or an array of node weights, validated."""
    if isinstance(cut, str):
        return CUTS[check_choice("cut", cut, CUTS)]
    refuse_masked("cut", cut)
    try:
        weights = as_floats("cut", cut)
    except (TypeError, ValueError):
        # Neither a name nor numbers: raise the error that lists the names.
        check_choice("cut", cut, CUTS)
        raise
    if weights.shape != (n_nodes,):
        raise ValueError(
            f"cut must be one of {', '.join(map(repr, CUTS))}, or an array with one weight per "
            f"node, of shape ({n_nodes},), but its shape is {weights.shape}."
        )
    check_positive("Node weights", weights, "node")
    return Cut("given", constant=weights, per_degree=0.0)


def as_affinity_graph(graph: Any, symmetrize: str | None = None) -> Graph:
    """Return a graph as :func:`as_graph` does, and warn if its weights look like distances."""
    checked = as_graph(graph, symmetrize)
    if checked is not graph:
        warn_of_distances(checked.matrix)
    return checked


def as_problem(
    graph: Any,
    cut: CutLike = "normalized",
    *,
    must_link: Any = None,
    cannot_link: Any = None,
    balance: Any = None,
    allow_edges: bool = False,
    symmetrize: str | None = None,
    isolated: str = "error",
) -> Problem:
    """Validate a graph, a cut and constraints, and return them as a problem.

    The arguments are those of :func:`leastcut.partition`; a :class:`Graph` is not checked again.
    ``allow_edges`` permits the cut "edges". With ``isolated="ignore"`` isolated nodes may have
    weight 0. The sums of affinities and of node weights, and all cut values, must be at most 1e307.
    Cut values are at most n times the largest ratio of a node's edges to its weight, and that ratio
    must be at least 1e-307 unless there are no edges.
    """
    isolated = check_choice("isolated", isolated, ISOLATED)
    allowed = None if balance is None else check_balance(balance)
    graph = as_affinity_graph(graph, symmetrize)
    counts_edges = allow_edges and isinstance(cut, str) and cut == EDGES
    resolved = as_cut("ratio" if counts_edges else cut, graph.n_nodes)
    constraints = Constraints.of(graph.n_nodes, must_link, cannot_link, allowed)
    # Overflow of degrees is reported by _check_range.
    with np.errstate(over="ignore"):
        weights = resolved.node_weights(graph)
    if isolated == "error" and not weights.min() > 0:
        isolated_nodes = np.flatnonzero(weights <= 0)
        first = isolated_nodes[0] if graph.names is None else repr(graph.names[isolated_nodes[0]])
        raise ValueError(
            f"The {resolved.name} cut is undefined for isolated nodes: {isolated_nodes.size} of "
            f"{graph.n_nodes} nodes have no edges (first: node {first}). Remove them, connect "
            "them, use cut='ratio', or pass isolated='ignore' to partition, refine, certify or "
            "cut_value."
        )
    problem = Problem(graph, weights, constraints, counts_edges=counts_edges)
    _check_range(problem, resolved)
    return problem


def as_any_problem(graph: Any, cut: CutLike = "normalized", **options: Any) -> Any:
    """Return a problem as :func:`as_problem` does, also for graphs that store no edges."""
    if isinstance(graph, FactoredGraph):
        return graph.as_problem(cut, **options)
    return as_problem(graph, cut, **options)


def cut_value(
    graph: Any,
    labels: npt.ArrayLike,
    cut: CutLike = "normalized",
    *,
    symmetrize: str | None = None,
    isolated: str = "error",
) -> float:
    """Compute the cut value of a partition.

    Parameters
    ----------
    graph : sparse matrix, array-like of shape (n, n), AnchorGraph or graph of a library
        Symmetric non-negative affinities, or a graph of a library that
        :func:`leastcut.partition` accepts.
    labels : array-like of shape (n,)
        The cluster of every node, as integers or strings.
    cut : {"ratio", "normalized", "edges"} or array-like of shape (n,), default="normalized"
        The name of a cut, or a positive weight for every node. ``"edges"`` is the total weight of
        the edges between clusters.
    symmetrize : {"mean", "max"} or None, default=None
        How to make a directed graph symmetric: by the mean of both directions, (S + Sᵀ) / 2, or by
        their maximum. With None a directed graph raises an error.
    isolated : {"error", "ignore"}, default="error"
        How to treat nodes without edges, for which the normalized cut is undefined: raise an error,
        or ignore them, so that they add nothing to the value.

    Returns
    -------
    float
        The cut value; exactly 0 if no edge is cut.

    See Also
    --------
    node_weights : The weights b by which clusters are measured.
    partition : Find a partition with a small cut value.
    lower_bound : Compute a lower bound on the cut value of every partition.

    Notes
    -----
    The value is Σ_k boundary(C_k) / b(C_k), where boundary(C) is the weight of the edges that leave
    cluster C, and b(C) is the sum of the node weights: 1 for the ratio cut, the degree for the
    normalized cut. The cost is O(edges).

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 2, 0], [2, 0, 1], [0, 1, 0]]
    >>> leastcut.cut_value(S, [0, 0, 1], cut="ratio")
    1.5
    """
    options = {"allow_edges": True, "symmetrize": symmetrize, "isolated": isolated}
    problem = as_any_problem(graph, cut, **options)
    return float(problem.value(check_labels(labels, problem.n_nodes)))


def node_weights(
    graph: Any, cut: CutLike = "normalized", *, symmetrize: str | None = None
) -> np.ndarray:
    """Compute the node weights of a cut.

    Parameters
    ----------
    graph : sparse matrix, array-like of shape (n, n) or graph of a library
        Symmetric non-negative affinities, or a graph of a library that
        :func:`leastcut.partition` accepts.
    cut : {"ratio", "normalized"} or array-like of shape (n,), default="normalized"
        The name of a cut, or a positive weight for every node.
    symmetrize : {"mean", "max"} or None, default=None
        How to make a directed graph symmetric: by the mean of both directions, (S + Sᵀ) / 2, or by
        their maximum. With None a directed graph raises an error.

    Returns
    -------
    ndarray of shape (n,)
        The weights b, all positive.

    See Also
    --------
    cut_value : Compute the cut value of a partition.
    operator : The matrix whose eigenvectors relax the cut.

    Notes
    -----
    The ratio cut weighs every node by 1, the normalized cut by its degree, self-loops included.

    Examples
    --------
    >>> import leastcut
    >>> leastcut.node_weights([[0, 2, 0], [2, 0, 1], [0, 1, 0]], cut="normalized")
    array([2., 3., 1.])
    """
    return as_problem(graph, cut, symmetrize=symmetrize).node_weights


def operator(
    graph: Any, cut: CutLike = "normalized", *, symmetrize: str | None = None
) -> sp.csr_array:
    """Compute the matrix whose smallest eigenpairs relax the cut.

    Parameters
    ----------
    graph : sparse matrix, array-like of shape (n, n) or graph of a library
        Symmetric non-negative affinities, or a graph of a library that
        :func:`leastcut.partition` accepts.
    cut : {"ratio", "normalized"} or array-like of shape (n,), default="normalized"
        The name of a cut, or a positive weight for every node.
    symmetrize : {"mean", "max"} or None, default=None
        How to make a directed graph symmetric: by the mean of both directions, (S + Sᵀ) / 2, or by
        their maximum. With None a directed graph raises an error.

    Returns
    -------
    csr_array of shape (n, n)
        A = B^-½ (diag(d) − S) B^-½, symmetric and positive semidefinite.

    See Also
    --------
    relax : Compute the smallest eigenpairs of this matrix.
    node_weights : Compute the node weights b.

    Notes
    -----
    Here d are the degrees and B = diag(b) the node weights. A is the graph Laplacian for the ratio
    cut and the symmetric normalized Laplacian for the normalized cut. B^½·1 is in its null space.
    For an indicator G of a partition, the cut value is tr(Gᵀ A G).

    Examples
    --------
    >>> import leastcut
    >>> leastcut.operator([[0, 1], [1, 0]], cut="ratio").toarray()
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    return as_problem(graph, cut, symmetrize=symmetrize).operator()


def value_of_sums(boundary: np.ndarray, cluster_weights: np.ndarray) -> float:
    """Return Σ_k boundary_k / b(C_k); clusters of weight 0 count as 0."""
    terms = np.zeros_like(cluster_weights)
    np.divide(boundary, cluster_weights, out=terms, where=cluster_weights > 0)
    return float(np.sum(terms))


def indicator(labels: np.ndarray, node_weights: np.ndarray) -> np.ndarray:
    """Return G = B^½ Y (YᵀBY)^-½ for labels 0..k-1; its columns are orthonormal."""
    cluster_weights = np.bincount(labels, node_weights)
    G = np.zeros((labels.size, cluster_weights.size))
    G[np.arange(labels.size), labels] = np.sqrt(node_weights / cluster_weights[labels])
    return G


def _even_groups(loads: np.ndarray, n_groups: int) -> np.ndarray:
    """Return a group 0..n_groups-1 for every load, none empty, with similar sums of loads.

    Each of the heaviest loads starts a group. The others, heaviest first, fill the groups up to a
    common level, starting with the lightest group.
    """
    order = np.argsort(-loads, kind="stable")
    groups = np.empty(loads.size, dtype=np.int64)
    groups[order[:n_groups]] = np.arange(n_groups)
    rest = order[n_groups:]
    if rest.size:
        base = loads[order[:n_groups]][::-1]  # ascending
        length = np.cumsum(loads[rest])
        # levels[j - 1] is the level at which the j lightest groups hold all other loads; the
        # largest j whose load is at most its level is the right one.
        levels = (np.cumsum(base) + length[-1]) / np.arange(1, n_groups + 1)
        level = levels[np.flatnonzero(base <= levels)[-1]]
        # Each load joins the group that contains its middle. Groups are numbered from the heaviest,
        # slots from the lightest; rounding may put the last middle past the end.
        capacity = np.cumsum(np.maximum(level - base, 0.0))
        middle = length - 0.5 * loads[rest]
        slot = np.minimum(np.searchsorted(capacity, middle, side="right"), n_groups - 1)
        groups[rest] = n_groups - 1 - slot
    return groups


def _check_range(problem: Problem, cut: Cut) -> None:
    """Raise if sums or values could overflow, or if all values underflow."""
    graph, node_weights = problem.graph, problem.node_weights
    # 1. A cheap test that most graphs pass. Nodes of weight 0 have no edges.
    heaviest = float(node_weights.max())
    lightest = float(np.min(node_weights, where=node_weights > 0, initial=heaviest))
    if graph.n_stored:
        # Upper bounds on the sum of affinities and on the term of a cluster.
        total = graph.n_stored * float(graph.weights.max())
        most = max(total, graph.n_nodes * (total / lightest), graph.n_nodes * heaviest)
        if most < ORDINARY and float(graph.weights.min()) / heaviest > 1.0 / ORDINARY:
            return
    elif float(node_weights.sum()) < ORDINARY:
        return
    # 2. The exact test.
    remedy = "by a constant, such as {:g}; this does not change which cut is smallest."
    down, up = remedy.format(2.0**-100), remedy.format(2.0**100)
    with np.errstate(over="ignore"):
        total, weight = float(graph.weights.sum()), float(node_weights.sum())
    if total > LARGEST:
        raise ValueError(
            f"The affinities add up to {total:.6g} (largest: {graph.weights.max():.6g}), but sums "
            f"up to {LARGEST:g} are supported. Multiply the affinities {down}"
        )
    if weight > LARGEST:
        raise ValueError(
            f"The node weights add up to {weight:.6g}, but sums up to {LARGEST:g} are supported. "
            f"Multiply them {down}"
        )
    terms = np.zeros(problem.n_nodes)
    with np.errstate(over="ignore", under="ignore"):
        np.divide(graph.outward, node_weights, out=terms, where=node_weights > 0)
    most = problem.n_nodes * float(terms.max())
    # A node with edges, also if all terms underflow to 0.
    node = int(np.argmax(np.where(graph.outward > 0, terms, -1.0)))
    words = f"edges of total weight {graph.outward[node]:.6g} and weight {node_weights[node]:.6g}"
    if most > LARGEST:
        raise ValueError(
            f"Cut values could reach {most:.6g}, but values up to {LARGEST:g} are supported: node "
            f"{node} has {words}. Multiply the affinities, the node weights or both by constants "
            "that make them similar in size; this does not change which cut is smallest."
        )
    if terms[node] < SMALLEST and graph.outward[node] > 0:
        remedy = (
            "Remove the self-loops, which outweigh all edges, or use cut='ratio'."
            if cut.per_degree
            else f"Multiply the affinities, or divide the node weights, {up}"
        )
        raise ValueError(
            f"All cut values underflow: node {node} has {words}, a ratio of {terms[node]:.6g}, and "
            f"ratios down to {SMALLEST:g} are supported. {remedy}"
        )


def _exponent(values: np.ndarray) -> int:
    """Return the power of two that scales very small numbers up to 1; 0 for all others."""
    largest = float(values.max(initial=0.0))
    return 0 if largest == 0.0 or largest > 1.0 / ORDINARY else 1 - int(np.frexp(largest)[1])

"""The objective, and the noun that everything works on: a graph with a weight for every node.

A cut is its node weights b, and its value is Σ_k boundary(C_k) / b(C_k): boundary(C) is the weight
of all edges that leave cluster C, and b(C) the sum of the weights of its nodes. Ratio Cut has
b = 1, Normalized Cut has b = degrees, and any positive b is a legal cut. In matrices: with
L = diag(d) − S, B = diag(b) and the operator A = B^-½ L B^-½, the value is tr(Gᵀ A G) for the
indicator G = B^½ Y (YᵀBY)^-½.

:func:`as_problem` makes a :class:`Problem` of whatever a user passed, with every check. From then
on it is trusted: functions that take a problem never validate, and never ask which cut it was.
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

ISOLATED = ("error", "ignore")  # nodes that the cut does not weigh are refused or left out

CutLike = str | npt.ArrayLike  # a name from CUTS, or one positive weight per node

LARGEST = 1e307  # sum of affinities or node weights, or cut value, as doubles end soon after
SMALLEST = 1e-307  # ratio of a node's edges to its weight, as digits are lost below
ROOM = 930  # power of two up to which numbers may be raised: it is 1e280
# Where edges are counted, all nodes together weigh at most 2⁻²³, and the unit that all weights are
# multiples of at most 2⁻⁵⁰: sums of multiples of 2⁻⁵⁰ and the 2 of a cluster are exact.
LIGHT, UNIT = 23, 50
ORDINARY = 1e280  # numbers between this and its inverse are far enough from the ends of doubles


class AnyProblem(Protocol):
    """What is minimized and over which partitions: what all kinds of problem share.

    Verbs that take any kind are dispatched on its type, and registered where it is defined. A kind
    whose number of clusters can be chosen also has ``core``, a :class:`Problem` to choose it by.
    """

    @property
    def n_nodes(self) -> int:
        """Number of nodes n."""

    @property
    def names(self) -> tuple[Any, ...] | None:
        """The names of the nodes, if they have names."""

    def check_n_clusters(self, n_clusters: object) -> int:
        """Return ``n_clusters`` as an int if the nodes can form that many clusters."""

    def value(self, labels: np.ndarray) -> float:
        """Return what is minimized, of labels 0..c-1."""


def unsupported_problem(verb: str, problem: object) -> TypeError:
    """Return the error of a verb that is not registered for a kind of problem."""
    return TypeError(f"{verb} is not offered for a {type(problem).__name__}.")


@dataclass(frozen=True, eq=False)
class Problem:
    """A graph, a positive weight for every node, and what restricts the partitions.

    Contracting nodes gives a problem, and so does restricting to some of them; a level of a
    multilevel hierarchy is a problem like the one the user posed. Weights are 0 only of nodes
    without edges that are to be ignored: such a problem has values, and is restricted to its other
    nodes before it is cut. ``offset`` is the weight of every cluster besides its nodes, 0 but of
    :meth:`counting_edges`; with ``counts_edges`` the value is the edge cut.
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
        """The names of the nodes, if they have names."""
        return self.graph.names

    @property
    def core(self) -> Problem:
        """The nodes with edges, without constraints: what a number of clusters is chosen by."""
        free = replace(self, constraints=FREE, counts_edges=False)
        return free.restrict(self.graph.connected)

    def check_n_clusters(self, n_clusters: object) -> int:
        """Return ``n_clusters`` as an int if the nodes can form that many clusters."""
        return check_n_clusters(n_clusters, self.n_nodes)

    @property
    def cannot_link(self) -> CannotLinks | None:
        """The pairs of nodes that must be in different clusters, if there are any."""
        return self.constraints.cannot_link

    @property
    def limits(self) -> Limits | None:
        """The least and the most that a cluster may weigh, if that is limited."""
        return self.constraints.limits

    def as_one(self) -> Problem:
        """Return the problem itself, which has one graph."""
        return self

    def unconstrained(self) -> Problem:
        """Return the problem of all partitions."""
        return replace(self, constraints=FREE)

    def with_limits(self, limits: Limits) -> Problem:
        """Return the problem with other limits."""
        return replace(self, constraints=replace(self.constraints, limits=limits))

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The arrays that compiled kernels read, in the order in which they take them."""
        return self.graph.indptr, self.graph.indices, self.graph.weights, self.node_weights

    def allows(self, labels: np.ndarray) -> bool:
        """Whether labels 0..k-1, none missing, satisfy the constraints."""
        constraints = self.constraints
        return not constraints.restrict_moves or constraints.allow(
            labels, self.cluster_weights(labels)
        )

    def value(self, labels: np.ndarray) -> float:
        """Return the cut value of labels 0..k-1, none missing; exactly 0 when no edge is cut."""
        if self.counts_edges:
            return 0.5 * float(self.boundaries(labels).sum())
        weights = self.cluster_weights(labels) + self.offset
        return value_of_sums(self.boundaries(labels), weights)

    def boundaries(self, labels: np.ndarray) -> np.ndarray:
        """Return for every cluster the weight of the edges that leave it."""
        graph = self.graph
        # Labels are looked up at every stored edge, and 32 bits halve the memory that moves.
        small = labels.astype(np.int32) if labels.max() < np.iinfo(np.int32).max else labels
        lengths = np.diff(graph.indptr)
        crossing = np.flatnonzero(np.repeat(small, lengths) != small[graph.indices])
        # Node by node first: the rounding of a sum grows with its terms, and edges are millions.
        # Every edge is stored from both ends, so each of the two clusters gets its weight once.
        node = np.repeat(np.arange(self.n_nodes, dtype=graph.indptr.dtype), lengths)[crossing]
        outward = np.bincount(node, graph.weights[crossing], minlength=self.n_nodes)
        return np.bincount(labels, outward).astype(np.float64, copy=False)

    def cluster_weights(self, labels: np.ndarray) -> np.ndarray:
        """Return b(C_k) for every cluster: the sum of the weights of its nodes."""
        return np.bincount(labels, self.node_weights)

    def operator_parts(self) -> tuple[np.ndarray, sp.csr_array]:
        """Return the diagonal of A, and the B^-½ S B^-½ without self-loops that it is less."""
        graph, rows = self.graph, self.graph.rows
        scale = 1.0 / np.sqrt(self.node_weights)
        # L does not see self-loops; leaving them out, d − S_ii cannot cancel however heavy they are
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
        """Return the problem between some of the nodes, in the order given."""
        # All nodes in their order: no copy.
        if nodes.size == self.n_nodes and np.array_equal(nodes, np.arange(nodes.size)):
            return self
        graph, weights = self.graph.restrict(nodes), self.node_weights[nodes]
        constraints = self.constraints.restricted(nodes)
        return replace(self, graph=graph, node_weights=weights, constraints=constraints)

    def symmetrized(self) -> Problem:
        """Return the problem with the rounding of a contraction averaged away."""
        return replace(self, graph=self.graph.symmetrized())

    def uncut_labels(self, n_clusters: int) -> np.ndarray | None:
        """Return labels that cut no edge, or None where there are fewer components than clusters.

        Components are grouped so that the clusters are of about even weight.
        """
        count, component = self.graph.components
        if count < n_clusters:
            return None
        return np.asarray(_even_groups(self.cluster_weights(component), n_clusters)[component])

    def within_range(self) -> Problem:
        """Return the problem, raised if need be so that inverses do not overflow nor values vanish.

        Both scales are powers of two of at least 1, so that nothing is rounded.
        """
        graph, node_weights = self.graph, self.node_weights
        node_up = _exponent(node_weights)
        # Heavier nodes make values smaller, which heavier edges make up for.
        up = max(_exponent(graph.weights), node_up)
        # The smallest value there could be, of one edge between clusters that weigh much.
        if graph.n_stored and graph.weights.min() / node_weights.max() < 1.0 / ORDINARY:
            up = ROOM
        if up == 0:
            return self
        # As far as there is room, for sums and for values.
        terms = np.frexp(graph.outward)[1] - np.frexp(node_weights)[1]
        most = max(int(np.frexp(graph.weights.max(initial=0.0))[1]), int(terms.max()) - node_up)
        up = max(min(up, ROOM - most - 2 * self.n_nodes.bit_length()), 0)
        scaled = Graph(graph.indptr, graph.indices, np.ldexp(graph.weights, up))
        return replace(
            self,
            graph=scaled,
            node_weights=np.ldexp(node_weights, node_up),
            constraints=self.constraints.scaled(node_up),
            offset=float(np.ldexp(self.offset, node_up)),
        )

    def counting_edges(self) -> Problem:
        """Return the problem whose values are edge cuts, or below by a fraction of 2⁻²⁴ at most.

        Every cluster weighs 2, as every edge leaves two, and nodes so little that it does not show,
        but for the limits: weights are scaled by a power of two, and sums of integers are exact.
        """
        if float(self.graph.weights.sum()) > ORDINARY:
            raise ValueError(
                f"The affinities add up to {self.graph.weights.sum():.6g}, and for cut='edges' "
                f"{ORDINARY:g} is the most that is supported. Multiply them by a constant, such as "
                f"{2.0**-100:g}: the smallest cut stays the same one."
            )
        total = int(np.frexp(self.node_weights.sum())[1])
        down = -max(total + LIGHT, unit_exponent(self.node_weights) + UNIT)
        return replace(
            self,
            node_weights=np.ldexp(self.node_weights, down),
            constraints=self.constraints.scaled(down),
            offset=2.0,
            counts_edges=False,
        )


@dataclass(frozen=True, eq=False)
class Cut:
    """A balanced cut, named by how it weighs nodes: b = sample_weight (constant + per_degree · d).

    ``sample_weight`` is how much a node counts in the balance of its cluster; its edges stay.
    """

    name: str
    constant: float | np.ndarray
    per_degree: float
    sample_weight: float | np.ndarray = 1.0

    __repr__ = fields_in_one_line

    def node_weights(self, graph: Graph) -> np.ndarray:
        """Return the weights b of the nodes; 0 where a node has no edges and only those weigh."""
        # Degrees are not even computed where they do not count. The array given is copied.
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
                f"The node weights that sample_weight gives overflow or vanish: they add up to "
                f"{total:.6g}, and {LARGEST:g} is the most that is supported. Multiply "
                "sample_weight by a constant: the smallest cut stays the same one."
            )
        return scaled

    def weight_of_new(self, degree: np.ndarray) -> np.ndarray:
        """Return the weights of new nodes; weights given per node count by their mean."""
        each = self.sample_weight
        return np.asarray(np.mean(each * self.constant) + np.mean(each) * self.per_degree * degree)

    def weighted(self, sample_weight: Any, n_samples: int) -> Cut:
        """Return the cut whose nodes weigh ``sample_weight`` times as much, checked."""
        if sample_weight is None:
            return self
        weights = as_floats("sample_weight", sample_weight)
        if weights.ndim == 0:
            weights = np.full(n_samples, weights)
        if weights.shape != (n_samples,):
            raise ValueError(
                f"sample_weight needs one number per sample, so shape ({n_samples},), but its "
                f"shape is {weights.shape}."
            )
        check_positive("sample_weight", weights, "sample")
        return replace(self, sample_weight=weights.copy())


CUTS: dict[str, Cut] = {
    "ratio": Cut("ratio", constant=1.0, per_degree=0.0),
    "normalized": Cut("normalized", constant=0.0, per_degree=1.0),
}
"""The named cuts. A further one is a further line here; nothing else has to know of it."""


# The name of the edge cut, which has no node weights: it is for balanced clusters alone, as single
# nodes would be cut off otherwise.
EDGES = "edges"


def as_cut(cut: CutLike, n_nodes: int) -> Cut:
    """Return the cut that a name or an array of node weights means, checked."""
    if isinstance(cut, str):
        return CUTS[check_choice("cut", cut, CUTS)]
    refuse_masked("cut", cut)
    try:
        weights = as_floats("cut", cut)
    except (TypeError, ValueError):
        # Neither a name nor numbers: the error lists the names there are.
        check_choice("cut", cut, CUTS)
        raise
    if weights.shape != (n_nodes,):
        raise ValueError(
            f"cut as node weights needs one number per node, so shape ({n_nodes},), but it "
            f"has shape {weights.shape}. The named cuts are {', '.join(map(repr, CUTS))}."
        )
    check_positive("Node weights", weights, "node")
    return Cut("given", constant=weights, per_degree=0.0)


def as_affinity_graph(graph: Any, symmetrize: str | None = None) -> Graph:
    """Return a graph as :func:`as_graph` does, with a warning if it holds distances."""
    found = as_graph(graph, symmetrize)
    if found is not graph:
        warn_of_distances(found.matrix)
    return found


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
    """Check a graph, a cut and constraints, and return them as one problem.

    The arguments are those of :func:`leastcut.partition`; a :class:`Graph` is not checked again.
    ``allow_edges`` says whether the cut may be "edges". With ``isolated="ignore"`` nodes that the
    cut does not weigh get the weight 0. Neither the affinities nor the node weights may add up to
    more than 1e307, and no cut value may exceed that; it is bounded by n times the largest ratio of
    a node's edges to its weight, which must be at least 1e-307 unless there are no edges.
    """
    isolated = check_choice("isolated", isolated, ISOLATED)
    allowed = None if balance is None else check_balance(balance)
    graph = as_affinity_graph(graph, symmetrize)
    counts_edges = allow_edges and isinstance(cut, str) and cut == EDGES
    resolved = as_cut("ratio" if counts_edges else cut, graph.n_nodes)
    constraints = Constraints.of(graph.n_nodes, must_link, cannot_link, allowed)
    # Degrees that overflow are reported below, with the affinities that do.
    with np.errstate(over="ignore"):
        weights = resolved.node_weights(graph)
    if isolated == "error" and not weights.min() > 0:
        lonely = np.flatnonzero(weights <= 0)
        first = lonely[0] if graph.names is None else repr(graph.names[lonely[0]])
        raise ValueError(
            f"The {resolved.name} cut is undefined on isolated nodes, and {lonely.size} of "
            f"{graph.n_nodes} nodes have no edges (the first is node {first}). Drop them, connect "
            "them, use cut='ratio', or let partition, refine, certify and cut_value leave them out "
            "of the cut with isolated='ignore'."
        )
    problem = Problem(graph, weights, constraints, counts_edges=counts_edges)
    _check_range(problem, resolved)
    return problem


def as_any_problem(graph: Any, cut: CutLike = "normalized", **options: Any) -> Any:
    """Return the problem of a graph as :func:`as_problem` does, or of one that stores no edges.

    What such a graph makes is a problem of its own kind, for which verbs are registered.
    """
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
    """Return Σ_k boundary(C_k) / b(C_k), the quantity that everything here minimizes.

    Or the edge cut, the weight of the edges between clusters.

    Parameters
    ----------
    graph : Graph, sparse matrix, array-like of shape (n, n), AnchorGraph or graph of a library
        Symmetric non-negative affinities. Libraries: as for :func:`leastcut.partition`.
    labels : array-like of shape (n,)
        The cluster of every node; any values will do.
    cut : {"ratio", "normalized", "edges"} or array-like of shape (n,), default="normalized"
        The name of a cut, or a positive weight for every node.
    symmetrize : {"mean", "max"} or None, default=None
        What to make of a directed graph: (S + Sᵀ) / 2, or the larger of both directions. With None
        it is an error.
    isolated : {"error", "ignore"}, default="error"
        What becomes of nodes without edges, which the normalized cut does not weigh: an error, or
        they add nothing to the value.

    Returns
    -------
    float
        The cut value, in O(edges). It is exactly 0 when no edge is cut.

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
    """Return the node weights b that a cut means on a graph.

    Parameters
    ----------
    graph : Graph, sparse matrix, array-like of shape (n, n) or graph of a library
        Symmetric non-negative affinities. Libraries: as for :func:`leastcut.partition`.
    cut : {"ratio", "normalized"} or array-like of shape (n,), default="normalized"
        The name of a cut, or a positive weight for every node.
    symmetrize : {"mean", "max"} or None, default=None
        What to make of a directed graph: (S + Sᵀ) / 2, or the larger of both directions. With None
        it is an error.

    Returns
    -------
    ndarray of shape (n,)
        The weights, all positive.

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
    """Return A = B^-½ (diag(d) − S) B^-½, whose smallest eigenpairs relax the cut.

    Parameters
    ----------
    graph : Graph, sparse matrix, array-like of shape (n, n) or graph of a library
        Symmetric non-negative affinities. Libraries: as for :func:`leastcut.partition`.
    cut : {"ratio", "normalized"} or array-like of shape (n,), default="normalized"
        The name of a cut, or a positive weight for every node.
    symmetrize : {"mean", "max"} or None, default=None
        What to make of a directed graph: (S + Sᵀ) / 2, or the larger of both directions. With None
        it is an error.

    Returns
    -------
    csr_array of shape (n, n)
        Symmetric and positive semi-definite; B^½·1 is in its null space.

    Examples
    --------
    >>> import leastcut
    >>> leastcut.operator([[0, 1], [1, 0]], cut="ratio").toarray()
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    return as_problem(graph, cut, symmetrize=symmetrize).operator()


def value_of_sums(boundary: np.ndarray, cluster_weights: np.ndarray) -> float:
    """Return Σ_k boundary_k / b(C_k); a cluster of isolated nodes may have neither and counts 0."""
    terms = np.zeros_like(cluster_weights)
    # Where a cluster weighs nothing, the 0 stays in place of 0/0.
    np.divide(boundary, cluster_weights, out=terms, where=cluster_weights > 0)
    return float(np.sum(terms))


def indicator(labels: np.ndarray, node_weights: np.ndarray) -> np.ndarray:
    """Return G = B^½ Y (YᵀBY)^-½ for labels 0..k-1, whose columns are orthonormal."""
    cluster_weights = np.bincount(labels, node_weights)
    found = np.zeros((labels.size, cluster_weights.size))
    found[np.arange(labels.size), labels] = np.sqrt(node_weights / cluster_weights[labels])
    return found


def _even_groups(loads: np.ndarray, n_groups: int) -> np.ndarray:
    """Return a group 0..n_groups-1 for every load, none empty, the sums of loads about even.

    The heaviest loads open one group each. The others, heaviest first, are laid end to end and
    poured into the groups up to a common level, the emptiest first.
    """
    order = np.argsort(-loads, kind="stable")
    groups = np.empty(loads.size, dtype=np.int64)
    groups[order[:n_groups]] = np.arange(n_groups)
    rest = order[n_groups:]
    if rest.size:
        base = loads[order[:n_groups]][::-1]  # ascending
        # ``length`` is where each of the rest ends when all are laid end to end.
        length = np.cumsum(loads[rest])
        # The level at which exactly the first j groups would hold all of the rest; it is the right
        # one for the last j whose own load lies below it.
        levels = (np.cumsum(base) + length[-1]) / np.arange(1, n_groups + 1)
        level = levels[np.flatnonzero(base <= levels)[-1]]
        # Each goes to the group that its middle falls into. Groups count from the heaviest, slots
        # from the lightest; rounding may put the last middle past the end.
        room = np.cumsum(np.maximum(level - base, 0.0))
        middle = length - 0.5 * loads[rest]
        slot = np.minimum(np.searchsorted(room, middle, side="right"), n_groups - 1)
        groups[rest] = n_groups - 1 - slot
    return groups


def _check_range(problem: Problem, cut: Cut) -> None:
    """Raise if sums or values could overflow, or all values underflow: see :func:`as_problem`."""
    graph, node_weights = problem.graph, problem.node_weights
    # 1. Most numbers are far from the ends of doubles. Nodes that weigh nothing have no term.
    heaviest = float(node_weights.max())
    lightest = float(np.min(node_weights, where=node_weights > 0, initial=heaviest))
    if graph.n_stored:
        # More than all affinities together, and than any cluster's term.
        total = graph.n_stored * float(graph.weights.max())
        most = max(total, graph.n_nodes * (total / lightest), graph.n_nodes * heaviest)
        if most < ORDINARY and float(graph.weights.min()) / heaviest > 1.0 / ORDINARY:
            return
    elif float(node_weights.sum()) < ORDINARY:
        return
    # 2. The others are computed exactly.
    remedy = "by a constant, such as {:g}: the smallest cut stays the same one."
    down, up = remedy.format(2.0**-100), remedy.format(2.0**100)
    with np.errstate(over="ignore"):
        total, weight = float(graph.weights.sum()), float(node_weights.sum())
    if total > LARGEST:
        raise ValueError(
            f"The affinities add up to {total:.6g}, the largest being {graph.weights.max():.6g}, "
            f"and {LARGEST:g} is the most that is supported. Multiply the affinities {down}"
        )
    if weight > LARGEST:
        raise ValueError(
            f"The node weights add up to {weight:.6g}, and {LARGEST:g} is the most that is "
            f"supported. Multiply them {down}"
        )
    terms = np.zeros(problem.n_nodes)
    with np.errstate(over="ignore", under="ignore"):
        # Nodes that weigh nothing have no edges, and no term.
        np.divide(graph.outward, node_weights, out=terms, where=node_weights > 0)
    most = problem.n_nodes * float(terms.max())
    node = int(np.argmax(terms))
    words = f"its edges add up to {graph.outward[node]:.6g} and it weighs {node_weights[node]:.6g}"
    if most > LARGEST:
        raise ValueError(
            f"Cut values could reach {most:.6g}, as by node {node}: {words}. The most that is "
            f"supported is {LARGEST:g}. Multiply the affinities, the node weights or both by "
            "constants that bring them closer together: the smallest cut stays the same one."
        )
    if terms[node] < SMALLEST and graph.outward[node] > 0:
        remedy = (
            "Leave self-loops out, which outweigh all edges, or use cut='ratio'."
            if cut.per_degree
            else f"Multiply the affinities, or divide the node weights, {up}"
        )
        raise ValueError(
            f"All cut values underflow: even of node {node} {words}, a ratio of {terms[node]:.6g}, "
            f"and {SMALLEST:g} is the least that is supported. {remedy}"
        )


def _exponent(values: np.ndarray) -> int:
    """Return the power of two that brings very small numbers up to 1; 0 for all others."""
    largest = float(values.max(initial=0.0))
    return 0 if largest == 0.0 or largest > 1.0 / ORDINARY else 1 - int(np.frexp(largest)[1])

"""Constraints on partitions: must-link and cannot-link pairs, and limits on cluster weights.

:class:`Constraints` is validated once, from user input. It checks partitions, and is contracted,
restricted and rescaled with its problem. ``feasibility`` decides whether any partition is allowed;
``multilevel.refinement`` and ``multilevel.repair`` respect the constraints when nodes move.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from leastcut.formatting import fields_in_one_line
from leastcut.graph import joined_pairs
from leastcut.validation import as_plain, check_number, number_by_appearance

# Tolerance of limits, relative to the average weight: (1 + 0.15) · 100 is below 115 in floating
# point. Moves use half of it, because their sums are rounded.
ROUNDING = 1e-9
EXACT_BITS = 53  # integers of up to this many bits are exact in double precision
MOST_NAMED = 6  # largest number of nodes or pairs that an error lists

Balance = tuple[float | None, float]  # allowed fractions below and above the average


@dataclass(frozen=True, eq=False)
class CannotLinks:
    """Pairs of nodes that must be in different clusters."""

    indptr: np.ndarray
    indices: np.ndarray  # node i is paired with indices[indptr[i]:indptr[i + 1]]
    coloring: np.ndarray | None = None  # clusters that violate no pair, -1 for nodes of no pair

    __repr__ = fields_in_one_line

    @classmethod
    def of(cls, pairs: np.ndarray, n_nodes: int) -> CannotLinks:
        """Return the constraints of ``pairs``, of shape (m, 2), each of two different nodes."""
        rows = joined_pairs(pairs[:, 0], pairs[:, 1], n_nodes)
        return cls(rows.indptr.astype(np.int32), rows.indices.astype(np.int32))

    @property
    def n_nodes(self) -> int:
        """Number of nodes n, with or without pairs."""
        return int(self.indptr.shape[0]) - 1

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """The arguments of compiled kernels."""
        return self.indptr, self.indices

    @property
    def matrix(self) -> sp.csr_array:
        """The pairs as the adjacency matrix of a graph."""
        n = self.n_nodes
        return sp.csr_array((np.ones(self.indices.size), self.indices, self.indptr), shape=(n, n))

    @cached_property
    def pairs(self) -> np.ndarray:
        """Each pair once, the smaller node first, in lexicographic order."""
        rows = np.repeat(np.arange(self.n_nodes, dtype=np.int32), np.diff(self.indptr))
        once = rows < self.indices
        return np.stack([rows[once], self.indices[once]], axis=1)

    @cached_property
    def nodes(self) -> np.ndarray:
        """The nodes that have a cannot-link."""
        return np.flatnonzero(np.diff(self.indptr)).astype(np.int32)

    def partners(self, i: int | np.integer[Any]) -> np.ndarray:
        """Return the nodes that must not share a cluster with node i."""
        return self.indices[self.indptr[i] : self.indptr[i + 1]]

    def violated(self, labels: np.ndarray) -> np.ndarray:
        """Return the pairs that share a cluster."""
        first, second = self.pairs.T
        return np.asarray(self.pairs[labels[first] == labels[second]])

    def contain(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return whether each (first[t], second[t]), with first < second, is a pair."""
        n = self.n_nodes
        keys = self.pairs[:, 0].astype(np.int64) * n + self.pairs[:, 1]
        queries = first.astype(np.int64) * n + second
        place = np.minimum(np.searchsorted(keys, queries), max(keys.size - 1, 0))
        if keys.size == 0:
            return np.zeros(queries.shape, dtype=bool)
        return np.asarray(keys[place] == queries)

    def colored_by(self, labels: np.ndarray) -> CannotLinks:
        """Return the pairs with the coloring of a partition that violates none of them."""
        colors = np.full(self.n_nodes, -1, dtype=np.int32)
        colors[self.nodes] = labels[self.nodes]
        return replace(self, coloring=colors)

    def restricted(self, nodes: np.ndarray) -> CannotLinks | None:
        """Return the pairs among ``nodes``, numbered in their order; None if there are none."""
        place = np.full(self.n_nodes, -1)
        place[nodes] = np.arange(nodes.size)
        moved = place[self.pairs]
        kept = moved[(moved >= 0).all(axis=1)]
        if kept.size == 0:
            return None
        links = CannotLinks.of(kept, nodes.size)
        return links if self.coloring is None else replace(links, coloring=self.coloring[nodes])

    def contracted(self, parent: np.ndarray, size: int) -> CannotLinks:
        """Return the pairs between groups of nodes; no group may contain a pair.

        The coloring is kept unless a group has nodes of different colors.
        """
        links = CannotLinks.of(parent[self.pairs], size)
        if self.coloring is None:
            return links
        coarse, fine = np.full(size, -1, dtype=np.int32), self.coloring[self.nodes]
        coarse[parent[self.nodes]] = fine
        is_kept = np.array_equal(coarse[parent[self.nodes]], fine)
        return replace(links, coloring=coarse) if is_kept else links

    def one_per_group(self, aggregate_of: np.ndarray) -> np.ndarray:
        """Return aggregate ids in which no aggregate has two nodes with cannot-links.

        The aggregates then have the same pairs as the nodes, and a coloring stays valid.
        """
        nodes = self.nodes
        # The root of an aggregate stays in it; without it, the first node does.
        order = nodes[np.argsort(aggregate_of[nodes] != nodes, kind="stable")]
        _, first = np.unique(aggregate_of[order], return_index=True)
        ejected = np.ones(order.size, dtype=bool)
        ejected[first] = False
        result = aggregate_of.copy()
        result[order[ejected]] = order[ejected]
        return result

    def separated(self, aggregate_of: np.ndarray) -> np.ndarray:
        """Return aggregate ids in which no aggregate contains a pair.

        Of a pair in one aggregate the second node leaves, or the first if the second is the root.
        An aggregate with nodes that are not paired with its root keeps at least one of them.
        """
        broken = self.violated(aggregate_of)
        if broken.size == 0:
            return aggregate_of
        result = aggregate_of.copy()
        # Pairs with a root first: the remaining nodes may then all stay.
        is_root = result[broken] == broken
        for i, j in broken[np.argsort(~is_root.any(axis=1), kind="stable")].tolist():
            if result[i] == result[j]:
                leaving = i if result[j] == j else j
                result[leaving] = leaving
        return result


@dataclass(frozen=True, eq=False)
class Limits:
    """The smallest and the largest cluster weight allowed, the same on all levels of a hierarchy.

    If sums of node weights are exact, both are multiples of the unit of the node weights. If not,
    ``slack`` is the rounding error of sums: moves keep this margin to the limits, and proofs cover
    partitions that exceed them by it.
    """

    lightest: float  # 0 is no limit
    heaviest: float
    slack: float = 0.0
    packing: np.ndarray | None = None  # clusters of the full problem that satisfy the limits

    __repr__ = fields_in_one_line

    @classmethod
    def of(cls, balance: Balance, node_weights: np.ndarray, n_clusters: int) -> Limits:
        """Return the limits that a balance defines for ``n_clusters`` clusters."""
        below, above = balance
        average = float(node_weights.sum()) / n_clusters
        heaviest = (1.0 + above + ROUNDING) * average
        lightest = 0.0 if below is None else max(1.0 - below - ROUNDING, 0.0) * average
        unit = unit_exponent(node_weights)
        if math.frexp(heaviest)[1] - unit <= EXACT_BITS:
            fewest = math.ceil(math.ldexp(lightest, -unit))
            most = math.floor(math.ldexp(heaviest, -unit))
            return cls(math.ldexp(fewest, unit), math.ldexp(most, unit))
        return cls(lightest, heaviest, 0.5 * ROUNDING * average)

    def of_moves(self, n_clusters: int, offset: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Return the lower and upper limits of moves per cluster, as compiled kernels take them.

        ``offset`` is added to the weight of every cluster.
        """
        return self._shifted(self.slack, n_clusters, offset)

    def of_proofs(self, n_clusters: int, offset: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Return limits like :meth:`of_moves` that every allowed partition satisfies."""
        return self._shifted(-self.slack, n_clusters, offset)

    def _shifted(
        self, inward: float, n_clusters: int, offset: float
    ) -> tuple[np.ndarray, np.ndarray]:
        # Without a lower limit, clusters of very small weight are allowed.
        lightest = self.lightest + inward if self.lightest > 0.0 else -np.inf
        heaviest = self.heaviest - inward
        return np.full(n_clusters, offset + lightest), np.full(n_clusters, offset + heaviest)

    def least_edge_cut(self, floors: np.ndarray, total: float) -> float:
        """Return a lower bound on the edge weight cut by every partition within the limits.

        By Donath and Hoffman (1973) it is ½ Σ_k λ_k m_k, with the smallest eigenvalues λ of the
        ratio cut in ascending order, for which ``floors`` are lower bounds, and the cluster weights
        m in descending order. The minimum over m puts as much weight as possible first.
        """
        weights, left = np.full(floors.size, self.lightest), total - floors.size * self.lightest
        for k in range(floors.size):
            weights[k] += min(left, self.heaviest - self.lightest)
            left -= weights[k] - self.lightest
        return 0.5 * float(floors @ weights)

    def allow(self, cluster_weights: np.ndarray) -> bool:
        """Whether clusters of these weights are within the limits."""
        return bool(
            (cluster_weights <= self.heaviest).all() and (cluster_weights >= self.lightest).all()
        )

    def with_packing(self, packing: np.ndarray) -> Limits:
        """Return the limits with a partition that is known to satisfy them."""
        return replace(self, packing=packing.astype(np.int32))

    def of_level(self) -> Limits:
        """Return the limits without the packing, for a level with other nodes."""
        return self if self.packing is None else replace(self, packing=None)

    def restricted(self, nodes: np.ndarray) -> Limits:
        """Return the limits for ``nodes``, in their order; all other nodes have weight 0.

        The packing is kept if no cluster becomes empty.
        """
        if self.packing is None:
            return self
        kept = self.packing[nodes]
        if np.unique(kept).size < int(self.packing.max()) + 1:
            return self.of_level()
        return replace(self, packing=kept)

    def scaled(self, exponent: int) -> Limits:
        """Return the limits after multiplying node weights by 2 to the power ``exponent``."""
        numbers = np.array([self.lightest, self.heaviest, self.slack])
        lightest, heaviest, slack = np.ldexp(numbers, exponent).tolist()
        return Limits(lightest, heaviest, slack, self.packing)


@dataclass(frozen=True, eq=False)
class Constraints:
    """All constraints on the partitions of a problem.

    The user passes links and a balance. Reductions contract the must-links, of shape (m, 2), and,
    for a number of clusters, add a coloring of the cannot-links and the limits of the balance,
    which all moves respect.
    """

    must_link: np.ndarray | None = None
    cannot_link: CannotLinks | None = None
    balance: Balance | None = None
    limits: Limits | None = None

    __repr__ = fields_in_one_line

    @classmethod
    def of(
        cls,
        n_nodes: int,
        must_link: Any = None,
        cannot_link: Any = None,
        balance: Balance | None = None,
    ) -> Constraints:
        """Validate links and return the constraints; raise if links contradict each other.

        ``balance`` comes from :func:`check_balance`.
        """
        must = _pairs("must_link", must_link, n_nodes)
        cannot = _pairs("cannot_link", cannot_link, n_nodes)
        if cannot is not None and balance is not None:
            raise ValueError(
                "balance and cannot_link cannot be combined, because it is not known whether any "
                "partition satisfies both. Leave one of them out; must_link is allowed with "
                "balance."
            )
        constraints = cls(must, None, balance)
        if cannot is None:
            return constraints
        itself = np.flatnonzero(cannot[:, 0] == cannot[:, 1])
        if itself.size:
            i = int(cannot[itself[0], 0])
            raise ValueError(
                f"cannot_link[{itself[0]}] is ({i}, {i}), but a node cannot be separated from "
                f"itself{_and_more(itself.size)}; remove the pair."
            )
        groups = constraints.groups(n_nodes)
        both = np.flatnonzero(groups[cannot[:, 0]] == groups[cannot[:, 1]])
        if both.size:
            i, j = cannot[both[0]].tolist()
            assert must is not None
            raise ValueError(
                f"cannot_link separates nodes {i} and {j}, but must_link joins them: "
                f"{_chain(_joined(must, n_nodes), i, j)}{_and_more(both.size)}. Remove one of "
                "these pairs."
            )
        return replace(constraints, cannot_link=CannotLinks.of(cannot, n_nodes))

    @property
    def are_links(self) -> bool:
        """Whether there are must-links or cannot-links."""
        return self.must_link is not None or self.cannot_link is not None

    @property
    def restrict_moves(self) -> bool:
        """Whether moving one node may violate the constraints."""
        return self.cannot_link is not None or self.limits is not None

    def groups(self, n_nodes: int) -> np.ndarray:
        """Return the must-link component of every node, numbered by first appearance."""
        if self.must_link is None:
            return np.arange(n_nodes)
        joined = _joined(self.must_link, n_nodes)
        return number_by_appearance(sp.csgraph.connected_components(joined, directed=False)[1])

    def allow(self, labels: np.ndarray, cluster_weights: np.ndarray) -> bool:
        """Whether labels 0..k-1 satisfy the cannot-links and the cluster weights the limits."""
        if self.cannot_link is not None and self.cannot_link.violated(labels).size:
            return False
        return self.limits is None or self.limits.allow(cluster_weights)

    def check_labels(self, labels: np.ndarray, name: str) -> None:
        """Raise an error that names the first violated pair, if any."""
        if self.must_link is not None:
            self._raise_if(labels, name, "must_link", self.must_link, "in different clusters", True)
        if self.cannot_link is not None:
            pairs = self.cannot_link.pairs
            self._raise_if(labels, name, "cannot_link", pairs, "in one cluster", False)

    @staticmethod
    def _raise_if(
        labels: np.ndarray, name: str, kind: str, pairs: np.ndarray, words: str, differ: bool
    ) -> None:
        first, second = labels[pairs].T
        wrong = np.flatnonzero((first != second) == differ)
        if wrong.size:
            i, j = pairs[wrong[0]].tolist()
            raise ValueError(
                f"{name} has nodes {i} and {j} {words}, which {kind} forbids"
                f"{_and_more(wrong.size)}; change their labels, or remove the pair."
            )

    def contracted(self, parent: np.ndarray, size: int) -> Constraints:
        """Return the constraints of groups of nodes.

        Each must-link is within a group, and no cannot-link is.
        """
        if self.cannot_link is None and self.limits is None and self.must_link is None:
            return self
        cannot_link = (
            None if self.cannot_link is None else self.cannot_link.contracted(parent, size)
        )
        limits = None if self.limits is None else self.limits.of_level()
        return replace(self, must_link=None, cannot_link=cannot_link, limits=limits)

    def restricted(self, nodes: np.ndarray) -> Constraints:
        """Return the constraints among ``nodes``, numbered in their order."""
        if self.cannot_link is None and self.limits is None:
            return self
        cannot_link = None if self.cannot_link is None else self.cannot_link.restricted(nodes)
        limits = None if self.limits is None else self.limits.restricted(nodes)
        return replace(self, cannot_link=cannot_link, limits=limits)

    def scaled(self, exponent: int) -> Constraints:
        """Return the constraints after multiplying node weights by 2 to the power ``exponent``."""
        if self.limits is None:
            return self
        return replace(self, limits=self.limits.scaled(exponent))


FREE = Constraints()  # no constraints


def check_balance(balance: Any) -> Balance:
    """Return the allowed deviations below (or None) and above the average, as fractions of it.

    A number limits the weight above the average only; a pair is (below, above).
    """
    if isinstance(balance, str | bytes) or not isinstance(balance, Sequence | np.ndarray):
        return None, check_number("balance", balance)
    if isinstance(balance, np.ndarray) and balance.ndim == 0:
        return None, check_number("balance", balance)
    if len(balance) != 2:
        raise ValueError(
            f"balance={balance!r} must be a number, such as 0.1, or a pair of numbers "
            "(below, above)."
        )
    below = check_number("balance[0]", balance[0])
    if below > 1.0:
        raise ValueError(f"balance[0]={below} must be at most 1: cluster weights are positive.")
    return below, check_number("balance[1]", balance[1])


def unit_exponent(values: np.ndarray) -> int:
    """Return the exponent of the largest power of two that all values are multiples of."""
    fractions, exponents = np.frexp(values[values > 0.0])
    digits = np.ldexp(fractions, 53).astype(np.int64)
    lowest = np.frexp((digits & -digits).astype(np.float64))[1] - 54
    return int(np.min(exponents + lowest, initial=1100))


def _pairs(name: str, links: Any, n_nodes: int) -> np.ndarray | None:
    """Validate pairs of node numbers; return an array of shape (m, 2), or None for no pairs."""
    if links is None:
        return None
    pairs = as_plain(name, links)
    if pairs.shape == (0,):  # an empty list, of whatever type
        return None
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(
            f"{name} must have shape (m, 2), with a pair of node numbers per row, but its shape is "
            f"{pairs.shape}."
        )
    if pairs.dtype.kind not in "iu":
        raise TypeError(
            f"{name} must contain node numbers as integers, but its dtype is {pairs.dtype}; "
            "convert it first."
        )
    outside = np.flatnonzero(((pairs < 0) | (pairs >= n_nodes)).any(axis=1))
    if outside.size:
        i, j = pairs[outside[0]].tolist()
        raise ValueError(
            f"{name}[{outside[0]}] is ({i}, {j}), but nodes are numbered from 0 to {n_nodes - 1}"
            f"{_and_more(outside.size)}."
        )
    return pairs.astype(np.int64) if len(pairs) else None


def _joined(pairs: np.ndarray, n_nodes: int) -> sp.csr_array:
    """Return the graph of the must-links."""
    return sp.coo_array((np.ones(len(pairs)), tuple(pairs.T)), shape=(n_nodes, n_nodes)).tocsr()


def _and_more(count: int) -> str:
    return f" (the first of {count} such pairs)" if count > 1 else ""


def _chain(joined: sp.csr_array, i: int, j: int) -> str:
    """Return a shortest chain of pairs from i to j as text."""
    _, before = sp.csgraph.breadth_first_order(joined, i, directed=False)
    chain = [j]
    while chain[-1] != i:
        chain.append(int(before[chain[-1]]))
    chain.reverse()
    names = [str(node) for node in chain]
    if len(names) > MOST_NAMED:
        names = [*names[: MOST_NAMED - 2], "...", *names[-2:]]
    return " - ".join(names)

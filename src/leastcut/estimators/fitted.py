"""What fits keep: a partition, and what is computed when it is first asked for, and then kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from leastcut.bounds.certify import certify_labels
from leastcut.budget import Budget
from leastcut.constraints import FREE, Constraints
from leastcut.estimators.new_samples import Clusters, Links, TrainingSamples
from leastcut.estimators.solvers import Settings, relax_with_warning
from leastcut.formatting import fields_in_one_line
from leastcut.graph import Graph, as_graph
from leastcut.multilevel.path_search import path_partitions
from leastcut.problem import Cut, Problem
from leastcut.results import Partition, Relaxation
from leastcut.spectral.relax import relax_problem
from leastcut.validation import number_by_appearance, symmetrized, warn_caller

LEAST = 1e-3
"""Least that d − λ b may be, as a fraction of d: errors of the eigenvectors are divided by it."""


@dataclass(frozen=True, eq=False, repr=False)
class Fitted(ABC):
    """A partition of samples, and the answers to questions about it and about other samples."""

    labels: np.ndarray
    n_clusters: int
    n_components: int  # columns of the embedding
    cut_value: float
    matrix: Any  # the graph, or the graphs

    __repr__ = fields_in_one_line

    @property
    @abstractmethod
    def lower_bound(self) -> float:
        """No partition into as many clusters has a smaller value."""

    @property
    @abstractmethod
    def eigenvalues(self) -> np.ndarray:
        """The smallest eigenvalues, as many as clusters and columns of the embedding need."""

    @property
    @abstractmethod
    def embedding(self) -> np.ndarray:
        """The rows of the eigenvectors, in the precision of the samples."""

    @abstractmethod
    def predict(self, X: Any) -> np.ndarray:
        """Return the clusters of samples, each where the value grows least."""

    @abstractmethod
    def transform(self, X: Any) -> np.ndarray:
        """Return the coordinates of samples in the embedding."""

    @abstractmethod
    def score(self, X: Any) -> float:
        """Return minus the value with samples added, or without if they are those of the fit."""

    @abstractmethod
    def certify(self, gap: float, budget: Budget) -> Fitted:
        """Return the fit with a proven bound, and with better labels if there are, or raise."""


@dataclass(frozen=True, eq=False)
class FittedPath:
    """The contents of ``cut_path_`` of a fit, computed when they are first asked for."""

    fitted: Any
    numbers: range
    n_pairs: int

    __repr__ = fields_in_one_line

    @cached_property
    def relaxation(self) -> Relaxation:
        """The eigenpairs of the nodes with edges."""
        found: Relaxation = self.fitted.relax_core(self.n_pairs)
        return found

    @cached_property
    def partitions(self) -> list[Partition]:
        """The partitions of the nodes with edges, the fitted one among their starts."""
        found: list[Partition] = self.fitted.path_partitions(self.numbers)
        return found


@dataclass(frozen=True, eq=False, repr=False)
class FittedGraph(Fitted):
    """A graph of samples and its partition.

    The multilevel solver needs no eigenpairs, so a fit does not pay for them.

    New samples are put where they solve the equation of the eigenvectors (Nyström). The embedding
    E = B^-½ F solves L E = B E Λ, with L = diag(d) − S. For node i and a component with eigenvalue
    λ that reads Σ_j S_ij e_j = (d_i − λ b_i) e_i; so e = Σ_j s_j e_j / (d − λ b) for affinities s_j
    to the training samples, if d > λ b. These stay where they were: in the graph their own
    affinities are averaged with those of others to them, and the formula would put them nearby.
    """

    samples: TrainingSamples
    clusters: Clusters
    settings: Settings
    constraints: Constraints = FREE
    known: Relaxation | None = None  # eigenpairs of the nodes with edges that the fit has computed
    proven: float | None = None  # the lower bound of a certificate

    @classmethod
    def of(
        cls,
        problem: Problem,
        labels: np.ndarray,
        cut: Cut,
        samples: TrainingSamples,
        settings: Settings,
        known: Relaxation | None = None,
    ) -> FittedGraph:
        """Return a fit of labels 0..c-1; the problem is that of the graph of the samples."""
        clusters, n_clusters = Clusters.of(problem, labels, cut), int(labels.max()) + 1
        # Of a graph without edges there are no eigenpairs, and the embedding is all zeros.
        n_components, n_connected = (
            settings.n_components or n_clusters,
            problem.graph.connected.size,
        )
        n_components = min(n_components, n_connected or n_components)
        fitted = cls(
            labels,
            n_clusters,
            n_components,
            clusters.value,
            samples.matrix,
            samples,
            clusters,
            settings,
            problem.constraints,
            known,
        )
        # Of a dense matrix the graph would take more memory than the matrix itself.
        if sp.issparse(samples.matrix):
            fitted.__dict__["problem"] = problem
        return fitted

    @cached_property
    def problem(self) -> Problem:
        """The graph with its node weights and constraints."""
        if sp.issparse(self.matrix):
            graph = as_graph(self.matrix)  # after pickling
        else:
            # It was checked in the fit, where rounding was averaged away as well.
            dense = np.asarray(self.matrix, dtype=np.float64)
            matrix = symmetrized(sp.csr_array(dense), "mean")
            graph = Graph(matrix.indptr, matrix.indices, matrix.data)
        return Problem(graph, self.clusters.cut.node_weights(graph), self.constraints)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "problem"}

    # -- eigenpairs

    @cached_property
    def relaxation(self) -> Relaxation:
        """The eigenpairs of the nodes with edges, as many as clusters and embedding need."""
        return self.relax_core(max(self.n_clusters, self.n_components))

    def relax_core(self, count: int) -> Relaxation:
        """Return so many eigenpairs of the nodes with edges."""
        core = self.problem.core
        count = min(count, core.n_nodes)
        if self.known is not None and self.known.n_clusters >= count:
            return self.known
        if core.n_nodes == 0:
            raise ValueError("The graph has no edges, and so there are no eigenpairs to compute.")
        return relax_with_warning(core, count, self.settings)

    @cached_property
    def coordinates(self) -> np.ndarray:
        """B^-½ F, in which nodes that belong together lie together; 0 for isolated nodes."""
        problem, nodes = self.problem, self.problem.graph.connected
        rows = np.zeros((problem.n_nodes, self.n_components))
        if nodes.size:
            scale = np.sqrt(problem.node_weights[nodes])
            # There may be more pairs than columns: the bound needs as many as clusters.
            vectors = self.relaxation.eigenvectors[:, : self.n_components]
            rows[nodes] = vectors / scale[:, None]
        return rows

    @property
    def embedding(self) -> np.ndarray:
        """The coordinates in the precision of the graph."""
        dtype = np.float32 if self.matrix.dtype == np.float32 else np.float64
        return self.coordinates.astype(dtype, copy=False)

    @property
    def eigenvalues(self) -> np.ndarray:
        """The eigenvalues of the nodes with edges, all that were computed; 0 if there are none."""
        if not self.problem.graph.connected.size:
            return np.zeros(self.n_components)
        return self.relaxation.eigenvalues

    @cached_property
    def lower_bound(self) -> float:
        """The bound of the certificate, or else of the eigenvalues.

        Isolated nodes can be clusters of value 0 by themselves, so if they weigh anything the bound
        is that of all nodes. If they do not, it is that of the others.
        """
        if self.proven is not None:
            return self.proven
        problem, n_connected = self.problem, self.problem.graph.connected.size
        # Isolated nodes that weigh something: each is a component of its own, with an eigenvalue 0.
        if n_connected < problem.n_nodes and problem.node_weights.min() > 0:
            found: Relaxation = relax_problem(
                problem, self.n_clusters, random_state=self.settings.seed
            )
            return found.lower_bound
        # Isolated nodes that weigh nothing are clusters here, and there are fewer eigenpairs than
        # clusters: 0 is what is certain.
        if n_connected < self.n_clusters:
            return 0.0
        return self.relaxation.leading(self.n_clusters).lower_bound

    # -- new samples

    def place(self, X: Any) -> tuple[np.ndarray, Links]:
        """Return the clusters of new samples, and their links to every cluster."""
        # 1. Sum the affinities block by block, as memory allows.
        shape = X.shape[0], self.n_clusters
        links = Links(np.empty(shape), np.empty(shape))
        for block, affinities in self.samples.affinities(X):
            links.weight[block], links.growth[block] = self.clusters.links(affinities)
        if not np.isfinite(links.weight).all():
            raise ValueError("The affinities of new samples to the training samples overflow.")
        # 2. Choose.
        labels = self.clusters.choose(links)
        lost = np.flatnonzero(links.weight.sum(axis=1) == 0)
        if lost.size and self.samples.affinity.takes == "samples":
            labels[lost] = self.labels[self.samples.nearest(X[lost])]
        elif lost.size:
            # A node without affinities lies at the origin: the cluster whose mean is nearest to it.
            sizes = np.bincount(self.labels)
            means = [np.bincount(self.labels, column) / sizes for column in self.coordinates.T]
            labels[lost] = np.argmin(np.square(means).sum(axis=0))
        return labels, links

    def predict(self, X: Any) -> np.ndarray:
        """Return the clusters of samples."""
        return self.place(X)[0]

    def score(self, X: Any) -> float:
        """Return minus the cut value with samples added, or of the labels if they are those."""
        if self.samples.are(X):
            return -self.cut_value
        labels, links = self.place(X)
        return -self.clusters.value_with(links, labels)

    def transform(self, X: Any) -> np.ndarray:
        """Return the coordinates of samples, new ones and training samples."""
        if self.samples.are(X):
            return self.embedding.copy()
        # 1. Training samples are where they were.
        number = self.samples.numbers_of(X)
        found: np.ndarray = self.coordinates[np.maximum(number, 0)]
        new = np.flatnonzero(number < 0)
        # 2. The others are where they solve the equation.
        is_lost = np.zeros((new.size, self.n_components), dtype=bool)
        eigenvalues = self.eigenvalues[: self.n_components]
        for block, affinities in self.samples.affinities(X[new]):
            # As sparse ones, row by row: no row depends on those beside it.
            rows = sp.csr_array(affinities)
            degree = np.asarray(rows.sum(axis=1), dtype=np.float64).reshape(-1, 1)
            left = degree - self.clusters.cut.weight_of_new(degree) * eigenvalues
            # 3. Or at 0, where the affinities determine nothing.
            lost = is_lost[block] = left <= LEAST * degree
            sums = rows @ self.coordinates
            found[new[block]] = np.where(lost, 0.0, sums / np.where(lost, 1.0, left))
        warn_of_lost(is_lost, new, X.shape[0])
        return found.astype(self.embedding.dtype, copy=False)

    # -- proofs and paths

    def certify(self, gap: float, budget: Budget) -> FittedGraph:
        """Return the fit with the bound that is proven, and with better labels if there are.

        Isolated nodes that weigh nothing take no part: the bound is that of the others cut into as
        many clusters, and 0 if they are in fewer.
        """
        if self.settings.balance is not None:
            raise ValueError(
                "certify improves labels without regard to balance. lower_bound_ holds for "
                "balanced clusters as well, and leastcut.certify(model.affinity_matrix_, "
                "model.labels_) proves more, of clusters in any balance."
            )
        problem, seed = self.problem, self.settings.seed
        found = certify_labels(problem, self.labels, gap=gap, budget=budget, random_state=seed)
        in_core = np.unique(self.labels[problem.node_weights > 0]).size
        is_for_all = in_core == self.n_clusters
        # What was proven before stays so.
        proven = max((found.lower_bound or 0.0) if is_for_all else 0.0, self.proven or 0.0)
        labels = number_by_appearance(found.labels)
        clusters = Clusters.of(problem, labels, self.clusters.cut)
        better = replace(
            self, labels=labels, cut_value=clusters.value, clusters=clusters, proven=proven
        )
        for name in ("problem", "relaxation", "coordinates"):  # which are those of the same graph
            if name in self.__dict__:
                better.__dict__[name] = self.__dict__[name]
        return better

    def path_partitions(self, numbers: range) -> list[Partition]:
        """Return partitions of the nodes with edges into other numbers of clusters."""
        labels = number_by_appearance(self.labels[self.problem.graph.connected])
        return path_partitions(
            self.problem.core,
            numbers,
            effort=self.settings.effort,
            seed=self.settings.seed,
            starts={int(labels.max()) + 1: labels},
            n_jobs=self.settings.n_jobs,
        )


def warn_of_lost(is_lost: np.ndarray, new: np.ndarray, n_samples: int) -> None:
    """Warn of new samples that have no place, or none in some components."""
    everywhere = is_lost.all(axis=1)
    if everywhere.any():
        warn_caller(
            f"{int(everywhere.sum())} of {n_samples} samples have no affinity to any training "
            f"sample (the first is {new[np.argmax(everywhere)]}). They are put at the origin, "
            "where nodes without edges lie; predict labels them all the same."
        )
    partly = is_lost.any(axis=1) & ~everywhere
    if partly.any():
        columns = np.flatnonzero(is_lost[partly].any(axis=0))
        warn_caller(
            f"{int(partly.sum())} of {n_samples} samples are tied too weakly to the training "
            f"samples for {columns.size} of {is_lost.shape[1]} components (the first is sample "
            f"{new[np.argmax(partly)]}, and component {columns[0]}), and are put at 0 there. "
            "Fit with fewer n_components, or with cut='normalized' if another was used."
        )

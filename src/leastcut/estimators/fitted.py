"""State of fitted estimators: a partition, and attributes that are computed on first access."""

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
"""Smallest d − λ b, as a fraction of d: errors of the eigenvectors are divided by it."""


@dataclass(frozen=True, eq=False, repr=False)
class Fitted(ABC):
    """A fitted partition, with the methods of the estimator that depend on the kind of graph."""

    labels: np.ndarray
    n_clusters: int
    n_components: int  # columns of the embedding
    cut_value: float
    matrix: Any  # the graph, or the graphs

    __repr__ = fields_in_one_line

    @property
    @abstractmethod
    def lower_bound(self) -> float:
        """Lower bound on the value of every partition into ``n_clusters`` clusters."""

    @property
    @abstractmethod
    def eigenvalues(self) -> np.ndarray:
        """The smallest eigenvalues, at least ``n_clusters`` and ``n_components`` of them."""

    @property
    @abstractmethod
    def embedding(self) -> np.ndarray:
        """The rows of the eigenvectors, in the precision of the samples."""

    @abstractmethod
    def predict(self, X: Any) -> np.ndarray:
        """Return the cluster of every sample where it increases the value least."""

    @abstractmethod
    def transform(self, X: Any) -> np.ndarray:
        """Return the coordinates of samples in the embedding."""

    @abstractmethod
    def score(self, X: Any) -> float:
        """Return the negative value after adding samples, if they are not the training samples."""

    @abstractmethod
    def certify(self, gap: float, budget: Budget) -> Fitted:
        """Return the state with a proven bound and possibly better labels."""


@dataclass(frozen=True, eq=False)
class FittedPath:
    """Contents of ``cut_path_``, computed on first access."""

    fitted: Any
    numbers: range
    n_pairs: int

    __repr__ = fields_in_one_line

    @cached_property
    def relaxation(self) -> Relaxation:
        """The eigenpairs of the nodes with edges."""
        relaxation: Relaxation = self.fitted.relax_core(self.n_pairs)
        return relaxation

    @cached_property
    def partitions(self) -> list[Partition]:
        """The partitions of the nodes with edges; the search starts from the fitted one too."""
        partitions: list[Partition] = self.fitted.path_partitions(self.numbers)
        return partitions


@dataclass(frozen=True, eq=False, repr=False)
class FittedGraph(Fitted):
    """State of an estimator fitted to one graph.

    The multilevel solver needs no eigenpairs, so they are computed on first access.

    New samples are embedded by the Nyström formula. The embedding E = B^-½ F solves L E = B E Λ
    with L = diag(d) − S. For node i and a component with eigenvalue λ this is
    Σ_j S_ij e_j = (d_i − λ b_i) e_i, so a new sample with affinities s_j to the training samples is
    at e = Σ_j s_j e_j / (d − λ b), if d > λ b. Training samples keep their coordinates: the graph
    averages affinities in both directions, so the formula would move them slightly.
    """

    samples: TrainingSamples
    clusters: Clusters
    settings: Settings
    constraints: Constraints = FREE
    known: Relaxation | None = None  # eigenpairs of the nodes with edges, if the fit computed them
    proven: float | None = None  # the lower bound proven by ``certify``

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
        """Return the state for labels 0..c-1 of the nodes of a problem."""
        clusters, n_clusters = Clusters.of(problem, labels, cut), int(labels.max()) + 1
        # A graph without edges has no eigenpairs, and its embedding is zero.
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
        # The graph of a dense matrix takes more memory than the matrix, and is not stored.
        if sp.issparse(samples.matrix):
            fitted.__dict__["problem"] = problem
        return fitted

    @cached_property
    def problem(self) -> Problem:
        """The graph with its node weights and constraints."""
        if sp.issparse(self.matrix):
            graph = as_graph(self.matrix)  # after pickling
        else:
            # The matrix was checked in the fit, which averaged asymmetry from rounding.
            dense = np.asarray(self.matrix, dtype=np.float64)
            matrix = symmetrized(sp.csr_array(dense), "mean")
            graph = Graph(matrix.indptr, matrix.indices, matrix.data)
        return Problem(graph, self.clusters.cut.node_weights(graph), self.constraints)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "problem"}

    # -- eigenpairs

    @cached_property
    def relaxation(self) -> Relaxation:
        """The eigenpairs of the nodes with edges."""
        return self.relax_core(max(self.n_clusters, self.n_components))

    def relax_core(self, count: int) -> Relaxation:
        """Return at least ``count`` eigenpairs of the nodes with edges, or all there are."""
        core = self.problem.core
        count = min(count, core.n_nodes)
        if self.known is not None and self.known.n_clusters >= count:
            return self.known
        if core.n_nodes == 0:
            raise ValueError("The graph has no edges, so it has no eigenpairs to compute.")
        return relax_with_warning(core, count, self.settings)

    @cached_property
    def coordinates(self) -> np.ndarray:
        """The embedding B^-½ F in float64; zeros for isolated nodes."""
        problem, nodes = self.problem, self.problem.graph.connected
        rows = np.zeros((problem.n_nodes, self.n_components))
        if nodes.size:
            scale = np.sqrt(problem.node_weights[nodes])
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
        """All computed eigenvalues of the nodes with edges; zeros if there are no edges."""
        if not self.problem.graph.connected.size:
            return np.zeros(self.n_components)
        return self.relaxation.eigenvalues

    @cached_property
    def lower_bound(self) -> float:
        """The bound proven by ``certify``, or else by eigenvalues.

        Isolated nodes of positive weight can be clusters of value 0, so the bound then covers all
        nodes; isolated nodes of weight 0 are left out.
        """
        if self.proven is not None:
            return self.proven
        problem, n_connected = self.problem, self.problem.graph.connected.size
        # An isolated node of positive weight is a component with an eigenvalue 0.
        if n_connected < problem.n_nodes and problem.node_weights.min() > 0:
            relaxation: Relaxation = relax_problem(
                problem, self.n_clusters, random_state=self.settings.seed
            )
            return relaxation.lower_bound
        # Isolated nodes of weight 0 are clusters, and there are fewer eigenpairs than clusters.
        if n_connected < self.n_clusters:
            return 0.0
        return self.relaxation.leading(self.n_clusters).lower_bound

    # -- new samples

    def place(self, X: Any) -> tuple[np.ndarray, Links]:
        """Return the clusters of new samples, and their links to every cluster."""
        # 1. Sum the affinities block by block.
        shape = X.shape[0], self.n_clusters
        links = Links(np.empty(shape), np.empty(shape))
        for block, affinities in self.samples.affinities(X):
            links.weight[block], links.growth[block] = self.clusters.links(affinities)
        if not np.isfinite(links.weight).all():
            raise ValueError("The affinities of new samples to the training samples overflow.")
        # 2. Choose the cluster.
        labels = self.clusters.choose(links)
        unlinked = np.flatnonzero(links.weight.sum(axis=1) == 0)
        if unlinked.size and self.samples.affinity.takes == "samples":
            labels[unlinked] = self.labels[self.samples.nearest(X[unlinked])]
        elif unlinked.size:
            # Such a node is at the origin of the embedding: choose the cluster with the nearest
            # mean.
            sizes = np.bincount(self.labels)
            means = [np.bincount(self.labels, column) / sizes for column in self.coordinates.T]
            labels[unlinked] = np.argmin(np.square(means).sum(axis=0))
        return labels, links

    def predict(self, X: Any) -> np.ndarray:
        """Return the clusters of samples."""
        return self.place(X)[0]

    def score(self, X: Any) -> float:
        """Return the negative cut value after adding samples, unless they are the training data."""
        if self.samples.equals(X):
            return -self.cut_value
        labels, links = self.place(X)
        return -self.clusters.value_with(links, labels)

    def transform(self, X: Any) -> np.ndarray:
        """Return the coordinates of new and training samples."""
        if self.samples.equals(X):
            return self.embedding.copy()
        # 1. Training samples keep their coordinates.
        index = self.samples.indices_of(X)
        rows: np.ndarray = self.coordinates[np.maximum(index, 0)]
        new = np.flatnonzero(index < 0)
        # 2. Place the others by the Nyström formula.
        is_undetermined = np.zeros((new.size, self.n_components), dtype=bool)
        eigenvalues = self.eigenvalues[: self.n_components]
        for block, affinities in self.samples.affinities(X[new]):
            # Sparse products sum row by row, so a result does not depend on the other rows.
            sparse = sp.csr_array(affinities)
            degree = np.asarray(sparse.sum(axis=1), dtype=np.float64).reshape(-1, 1)
            divisor = degree - self.clusters.cut.weight_of_new(degree) * eigenvalues
            # 3. A coordinate is 0 if its divisor is not clearly positive.
            zero = is_undetermined[block] = divisor <= LEAST * degree
            sums = sparse @ self.coordinates
            rows[new[block]] = np.where(zero, 0.0, sums / np.where(zero, 1.0, divisor))
        warn_of_undetermined(is_undetermined, new, X.shape[0])
        return rows.astype(self.embedding.dtype, copy=False)

    # -- proofs and paths

    def certify(self, gap: float, budget: Budget) -> FittedGraph:
        """Return the state with the proven bound and possibly better labels.

        Isolated nodes of weight 0 are left out of the proof. If the other nodes are in fewer than
        ``n_clusters`` clusters, the bound is 0.
        """
        if self.settings.balance is not None:
            raise ValueError(
                "certify improves labels without regard to balance. lower_bound_ is valid for "
                "balanced clusters too; leastcut.certify(model.affinity_matrix_, model.labels_) "
                "proves a larger bound, for clusters of any balance."
            )
        problem, seed = self.problem, self.settings.seed
        certified = certify_labels(problem, self.labels, gap=gap, budget=budget, random_state=seed)
        in_core = np.unique(self.labels[problem.node_weights > 0]).size
        bound = (certified.lower_bound or 0.0) if in_core == self.n_clusters else 0.0
        labels = number_by_appearance(certified.labels)
        clusters = Clusters.of(problem, labels, self.clusters.cut)
        better = replace(
            self,
            labels=labels,
            cut_value=clusters.value,
            clusters=clusters,
            proven=max(bound, self.proven or 0.0),
        )
        for name in ("problem", "relaxation", "coordinates"):  # which do not depend on the labels
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


def warn_of_undetermined(is_undetermined: np.ndarray, new: np.ndarray, n_samples: int) -> None:
    """Warn of new samples whose coordinates are not determined, in all or in some components."""
    everywhere = is_undetermined.all(axis=1)
    if everywhere.any():
        warn_caller(
            f"{int(everywhere.sum())} of {n_samples} samples have no affinity to any training "
            f"sample (the first is {new[np.argmax(everywhere)]}). They are placed at the origin of "
            "the embedding; predict still assigns them to a cluster."
        )
    partly = is_undetermined.any(axis=1) & ~everywhere
    if partly.any():
        columns = np.flatnonzero(is_undetermined[partly].any(axis=0))
        warn_caller(
            f"{int(partly.sum())} of {n_samples} samples are connected too weakly to the training "
            f"samples for {columns.size} of {is_undetermined.shape[1]} components (the first is "
            f"sample {new[np.argmax(partly)]}, and component {columns[0]}). Their coordinates "
            "there are set to 0. Fit with fewer n_components, or with cut='normalized' if another "
            "cut was used."
        )

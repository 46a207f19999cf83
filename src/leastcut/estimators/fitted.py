"""What a fit to one graph keeps: its partition, and what is computed when it is first asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from leastcut.affinity.affinity import Affinity
from leastcut.bounds.certify import certify_labels
from leastcut.budget import Budget
from leastcut.constraints import FREE, Constraints
from leastcut.estimators.extension import Extension
from leastcut.estimators.prediction import Clusters, Links, Prediction
from leastcut.estimators.solvers import Settings, relax_with_warning
from leastcut.formatting import fields_in_one_line
from leastcut.graph import as_graph
from leastcut.multilevel.path_search import path_partitions
from leastcut.problem import Cut, Problem, value_of_sums
from leastcut.results import Partition, Relaxation
from leastcut.spectral.relax import relax_problem
from leastcut.validation import number_by_appearance


@dataclass(frozen=True, eq=False)
class FittedGraph:
    """A graph of samples and its partition.

    The multilevel solver needs no eigenpairs, so a fit does not pay for them; the lower bound, the
    embedding and the eigenvalues are computed when they are first asked for, and kept.

    Attributes
    ----------
    X, matrix : array or sparse matrix
        What was fitted, and the graph that was made of it.
    labels : ndarray of shape (n,)
    n_clusters : int
        Number of clusters of all nodes.
    affinity, options : Affinity, dict
        How the graph was made.
    cut : Cut
    settings : Settings
    seed : int
    known : Relaxation or None
        The eigenpairs of the nodes with edges, if the fit has computed them.
    constraints : Constraints
    proven : float or None
        The lower bound of a certificate.
    """

    X: Any
    matrix: Any
    labels: np.ndarray
    n_clusters: int
    affinity: Affinity
    options: dict[str, Any]
    cut: Cut
    settings: Settings
    seed: int
    known: Relaxation | None = None
    constraints: Constraints = FREE
    proven: float | None = None

    __repr__ = fields_in_one_line

    def with_problem(self, problem: Problem) -> FittedGraph:
        """Take the sums from the problem of the fit; keep it if it shares the graph's memory."""
        sums = problem.boundaries(self.labels), problem.cluster_weights(self.labels)
        self.__dict__["clusters"] = Clusters(self.labels, *sums, self.cut)
        if sp.issparse(self.matrix) and np.shares_memory(problem.graph.weights, self.matrix.data):
            self.__dict__["problem"] = problem
        return self

    @cached_property
    def problem(self) -> Problem:
        """The graph with its node weights and constraints."""
        graph = as_graph(self.matrix)
        return Problem(graph, self.cut.node_weights(graph), self.constraints)

    @property
    def solver(self) -> str:
        """The solver that was used."""
        return self.settings.solver

    @cached_property
    def clusters(self) -> Clusters:
        """The clusters as new samples meet them."""
        sums = self.problem.boundaries(self.labels), self.problem.cluster_weights(self.labels)
        return Clusters(self.labels, *sums, self.cut)

    @property
    def cut_value(self) -> float:
        """The cut value of the labels."""
        return value_of_sums(self.clusters.boundary, self.clusters.cluster_weights)

    # -- eigenpairs

    @cached_property
    def relaxation(self) -> Relaxation:
        """The eigenpairs of the nodes with edges, as many as clusters and embedding need."""
        return self.relax_core(max(self.n_clusters, self.settings.n_components or self.n_clusters))

    def relax_core(self, count: int) -> Relaxation:
        """Return so many eigenpairs of the nodes with edges."""
        core = self.problem.core
        count = min(count, core.n_nodes)
        if self.known is not None and self.known.n_clusters >= count:
            return self.known
        if core.n_nodes == 0:
            raise ValueError("The graph has no edges, and so there are no eigenpairs to compute.")
        return relax_with_warning(core, count, self.seed, self.settings.eigen_options)

    @cached_property
    def coordinates(self) -> np.ndarray:
        """B^-½ F, in which nodes that belong together lie together; 0 for isolated nodes."""
        problem, nodes = self.problem, self.problem.graph.connected
        columns = self.settings.n_components or self.n_clusters
        # Of a graph without edges there are no eigenpairs, and the embedding is all zeros.
        columns = min(columns, nodes.size) if nodes.size else columns
        rows = np.zeros((problem.n_nodes, columns))
        if nodes.size:
            scale = np.sqrt(problem.node_weights[nodes])
            # There may be more pairs than columns: the bound needs as many as clusters.
            rows[nodes] = self.relaxation.eigenvectors[:, :columns] / scale[:, None]
        return rows

    @property
    def embedding(self) -> np.ndarray:
        """The coordinates in the precision of the graph."""
        dtype = np.float32 if self.matrix.dtype == np.float32 else np.float64
        return self.coordinates.astype(dtype, copy=False)

    @property
    def n_components(self) -> int:
        """Number of columns of the embedding."""
        return int(self.coordinates.shape[1])

    @property
    def eigenvalues(self) -> np.ndarray:
        """The eigenvalues of the columns of the embedding; 0 if there are no edges."""
        if not self.coordinates.any():
            return np.zeros(self.n_components)
        return self.relaxation.eigenvalues[: self.n_components]

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
            found: Relaxation = relax_problem(problem, self.n_clusters, random_state=self.seed)
            return found.lower_bound
        # Isolated nodes that weigh nothing are clusters here, and there are fewer eigenpairs than
        # clusters: 0 is what is certain.
        if n_connected < self.n_clusters:
            return 0.0
        return self.relaxation.leading(self.n_clusters).lower_bound

    # -- new samples

    @cached_property
    def prediction(self) -> Prediction:
        """The training samples, with which new samples are compared."""
        return Prediction(self.affinity, self.options, self.X, self.matrix, self.clusters)

    @cached_property
    def extension(self) -> Extension:
        """The embedding as new samples meet it."""
        return Extension(self.prediction, self.coordinates, self.eigenvalues)

    def place(self, X: Any) -> tuple[np.ndarray, Links]:
        """Return the clusters of new samples, and their links to every cluster."""
        labels, links = self.prediction.place(X)
        lost = np.flatnonzero(links.weight.sum(axis=1) == 0)
        if lost.size and self.affinity.takes != "samples":
            # A node without affinities lies at the origin: the cluster whose mean is nearest to it.
            sizes = np.bincount(self.labels)
            means = [np.bincount(self.labels, column) / sizes for column in self.coordinates.T]
            labels[lost] = np.argmin(np.square(means).sum(axis=0))
        return labels, links

    def predict(self, X: Any) -> np.ndarray:
        """Return the clusters of samples."""
        return self.place(X)[0]

    def transform(self, X: Any) -> np.ndarray:
        """Return the coordinates of samples in the embedding."""
        return self.extension.place(X).astype(self.embedding.dtype, copy=False)

    def score(self, X: Any) -> float:
        """Return minus the cut value with samples added, or of the labels if they are those."""
        if self.prediction.is_training_data(X):
            return -self.cut_value
        labels, links = self.place(X)
        return -self.clusters.value_with(links, labels)

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
        problem = self.problem
        found = certify_labels(problem, self.labels, gap=gap, budget=budget, random_state=self.seed)
        in_core = np.unique(self.labels[problem.node_weights > 0]).size
        is_for_all = in_core == int(self.labels.max()) + 1
        # What was proven before stays so.
        proven = max((found.lower_bound or 0.0) if is_for_all else 0.0, self.proven or 0.0)
        labels = number_by_appearance(found.labels)
        better = replace(self, labels=labels, proven=proven, known=self.known)
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
            seed=self.seed,
            starts={int(labels.max()) + 1: labels},
            n_jobs=self.settings.n_jobs,
        )

    def __getstate__(self) -> dict[str, Any]:
        # Made again from the matrix, which is pickled anyway.
        return {name: value for name, value in self.__dict__.items() if name != "problem"}


@dataclass(frozen=True, eq=False)
class FittedPath:
    """The contents of ``cut_path_``, computed when they are first asked for, and then kept.

    Attributes
    ----------
    fitted : FittedGraph or FittedAnchors
    numbers : range
        The numbers of clusters.
    n_pairs : int
        The number of eigenpairs.
    """

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

"""Base class of the estimators, with the attributes and methods that follow a fit."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from leastcut.bounds.certify import check_gap
from leastcut.bounds.proof import ProofProgress
from leastcut.budget import Budget
from leastcut.estimators.fitted import Fitted, FittedPath
from leastcut.estimators.solvers import ChosenNumber, Settings, choose_and_report
from leastcut.multilevel.cut_path import CutPath
from leastcut.multilevel.number_of_clusters import pairs_needed
from leastcut.progress import watch
from leastcut.results import Partition


class BaseClustering(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    ClusterMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Base class for clustering by minimizing a graph cut.

    A subclass implements ``_validated``, which validates X, and ``fit``, which ends with
    :meth:`_set_fitted`.
    """

    _fitted: Fitted
    n_clusters: int | str
    verbose: bool | int
    node_names_: tuple[Any, ...] | None

    def _reset_fit(self) -> None:
        """Delete the attributes of an earlier fit."""
        for name in [name for name in vars(self) if name.endswith("_") or name == "_fitted"]:
            delattr(self, name)
        if self.verbose:
            watch()

    def _validated(self, X: Any, reset: bool) -> Any:
        """Return X validated; set the feature attributes if ``reset``, else compare with them."""

    def _resolve_n_clusters(
        self, problem: Any, max_clusters: int | None, settings: Settings
    ) -> tuple[int, ChosenNumber | None]:
        """Return the number of clusters, and the choice if it is "auto"."""
        if self.n_clusters != "auto":
            return int(self.n_clusters), None
        chosen = choose_and_report(problem.core, max_clusters, settings, self._log)
        # One cluster if there are less than two nodes with edges.
        return (1 if chosen is None else chosen.choice.n_clusters), chosen

    def _set_fitted(self, fitted: Fitted, n_iter: int, solver: str = "multilevel") -> Self:
        """Set the attributes of a fit."""
        self._fitted = fitted
        self.labels_ = fitted.labels
        self.n_clusters_ = fitted.n_clusters
        self.cut_value_ = fitted.cut_value
        self.affinity_matrix_ = fitted.matrix
        self.solver_ = solver
        self.n_iter_ = n_iter
        return self

    def _set_path(self, core: Any, chosen: ChosenNumber, nodes: Any = None) -> None:
        """Set ``cut_path_``, which covers the nodes with edges."""
        numbers = range(1, chosen.most + 1)
        source = FittedPath(self._fitted, numbers, pairs_needed(chosen.most, core.n_nodes))
        n_components, _ = core.graph.components
        self.cut_path_ = CutPath(np.array(numbers), n_components, chosen.choice, source, nodes)

    def predict(self, X: Any) -> np.ndarray:
        """Assign new samples to the fitted clusters.

        Every sample is assigned to the cluster where it increases the cut value least, by its
        affinities to the training samples. A sample without affinities is assigned to the cluster
        of its nearest training sample; with precomputed affinities, to the cluster nearest to the
        origin of the embedding, where nodes without edges are.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_new, n_features) or (n_new, n_samples)
            New samples, in any form that ``fit`` accepts; or their affinities to, or distances
            from, the training samples, if the estimator was fitted to these.

        Returns
        -------
        labels : ndarray of shape (n_new,)
            The cluster of every new sample.
        """
        check_is_fitted(self, "labels_")
        return self._fitted.predict(self._validated(X, reset=False))

    def transform(self, X: Any) -> np.ndarray:
        """Return the coordinates of samples in the embedding.

        Training samples have the coordinates of ``embedding_``; new samples are placed by the
        Nyström formula.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_new, n_samples)
            Samples, as for :meth:`predict`.

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_components)
            The coordinates, in the precision of the training data.

        Notes
        -----
        Let s_j be the affinities of a new sample to the training samples, d their sum, b the weight
        that the cut gives the sample, and e_j the rows of ``embedding_``. In a component with
        eigenvalue λ the coordinate is Σ_j s_j e_j / (d − λ b), which extends the equation of the
        eigenvectors. For the normalized cut it is the weighted mean of e_j divided by 1 − λ.

        If d − λ b is not positive, the coordinate is 0; a sample without affinities is placed at
        the origin. Both give a warning. With anchors, a new sample is placed where a training
        sample with the same anchor weights would be.
        """
        check_is_fitted(self, "labels_")
        return self._fitted.transform(self._validated(X, reset=False))

    @property
    def _n_features_out(self) -> int:
        return self._fitted.n_components

    def score(self, X: Any = None, y: Any = None) -> float:
        """Return the negative cut value; higher is better.

        Parameters
        ----------
        X : {array-like, sparse matrix} or None, default=None
            With None or the training data, the score is ``-cut_value_``. With new samples, it is
            the negative cut value of the training graph after adding them to their predicted
            clusters.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        score : float
            The negative cut value.
        """
        check_is_fitted(self, "labels_")
        if X is None:
            return -self.cut_value_
        return self._fitted.score(self._validated(X, reset=False))

    def certify(
        self,
        *,
        gap: float = 0.0,
        time_limit: float | None = None,
        callback: Callable[[ProofProgress], object] | str | None = None,
    ) -> Partition:
        """Prove a larger lower bound on the cut value, up to optimality.

        It calls :func:`leastcut.certify` with the fitted graph, labels and constraints, and updates
        ``lower_bound_`` and ``gap_``. If it finds better labels, ``labels_`` and ``cut_value_`` are
        updated too. It is not available for several views and anchor graphs.

        Parameters
        ----------
        gap : float, default=0.0
            The relative gap at which the proof stops, below 1.
        time_limit : float, optional
            Time limit in seconds.
        callback : callable or "tqdm", optional
            Called with a :class:`leastcut.ProofProgress` after every round of the search and of the
            proof. If it returns True, the proof stops and returns the current bound. ``"tqdm"``
            shows a progress bar.

        Returns
        -------
        Partition
            The partition ``labels_`` with the proven bound.
        """
        check_is_fitted(self, "labels_")
        fitted = self._fitted = self._fitted.certify(check_gap(gap), Budget(time_limit, callback))
        self.labels_, self.cut_value_ = fitted.labels, fitted.cut_value
        return self._partition(fitted.lower_bound)

    def by_node(self) -> dict[Any, int]:
        """Return the cluster of every node, keyed by node name.

        Returns
        -------
        dict
            ``{name: cluster}``, in the order of ``labels_``. Raises ValueError if the fitted graph
            has no node names.
        """
        check_is_fitted(self, "labels_")
        return self._partition(None).by_node()

    def plot(self, kind: str = "embedding", **options: Any) -> Any:
        """Plot the result; requires ``leastcut[plot]``.

        Parameters
        ----------
        kind : {"embedding", "affinity", "sizes", "graph", "evidence", "cut_values"}, \
                default="embedding"
            The kind of plot, a key of :data:`leastcut.plot.PLOTS`. "evidence" and "cut_values"
            require ``n_clusters="auto"``.
        **options
            Further arguments of the plot, such as ``ax``.

        Returns
        -------
        Axes
        """
        check_is_fitted(self, "labels_")
        from leastcut.plot import draw

        return draw(kind, ("clusters", "path"), self, **options)

    @property
    def lower_bound_(self) -> float:
        """Lower bound on the cut value of every partition into ``n_clusters_`` clusters."""
        check_is_fitted(self, "labels_")
        return self._fitted.lower_bound

    @property
    def gap_(self) -> float:
        """Relative optimality gap, ``(cut_value_ − lower_bound_) / cut_value_``."""
        check_is_fitted(self, "labels_")
        gap = self._partition(self.lower_bound_).gap
        return float(gap)  # type: ignore[arg-type]

    @property
    def eigenvalues_(self) -> np.ndarray:
        """The smallest eigenvalues of the graph's operator, in ascending order."""
        check_is_fitted(self, "labels_")
        return self._fitted.eigenvalues

    @property
    def embedding_(self) -> np.ndarray:
        """The rows of the eigenvectors, in the precision of X."""
        check_is_fitted(self, "labels_")
        return self._fitted.embedding

    def _partition(self, lower_bound: float | None) -> Partition:
        names = getattr(self, "node_names_", None)
        return Partition(self.labels_, self.cut_value_, lower_bound, names)

    def _log(self, line: object) -> None:
        log(self, line)


def log(model: Any, line: object) -> None:
    """Write a line to standard output if the estimator is verbose."""
    if model.verbose:
        sys.stdout.write(f"[{type(model).__name__}] {line}\n")

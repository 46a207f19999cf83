"""What the estimators share: the attributes of a fit, and the questions that it answers."""

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
    """A clustering by the smallest cut of a graph that can be found.

    A subclass has ``_checked``, which reads X, and ``fit``, which makes a problem of it, cuts it
    and ends in :meth:`_keep`. What follows a fit is the same for all.
    """

    _fitted: Fitted
    n_clusters: int | str
    verbose: bool | int
    node_names_: tuple[Any, ...] | None

    def _begin(self) -> None:
        """Drop what an earlier fit left, so that only the fit that follows counts."""
        for name in [name for name in vars(self) if name.endswith("_") or name == "_fitted"]:
            delattr(self, name)
        if self.verbose:
            watch()

    def _checked(self, X: Any, reset: bool) -> Any:
        """Return X as it is used; note its features if ``reset``, else compare them."""

    def _number(
        self, problem: Any, max_clusters: int | None, settings: Settings
    ) -> tuple[int, ChosenNumber | None]:
        """Return the number of clusters, and how it was chosen if it was left open."""
        if self.n_clusters != "auto":
            return int(self.n_clusters), None
        chosen = choose_and_report(problem.core, max_clusters, settings, self._log)
        # With no two nodes to choose by, there is one cluster.
        return (1 if chosen is None else chosen.choice.n_clusters), chosen

    def _keep(self, fitted: Fitted, n_iter: int, solver: str = "multilevel") -> Self:
        """Keep the result of a fit."""
        self._fitted = fitted
        self.labels_ = fitted.labels
        self.n_clusters_ = fitted.n_clusters
        self.cut_value_ = fitted.cut_value
        self.affinity_matrix_ = fitted.matrix
        self.solver_ = solver
        self.n_iter_ = n_iter
        return self

    def _keep_path(self, core: Any, chosen: ChosenNumber, nodes: Any = None) -> None:
        """Keep the path of all numbers that were considered for the nodes with edges."""
        numbers = range(1, chosen.most + 1)
        source = FittedPath(self._fitted, numbers, pairs_needed(chosen.most, core.n_nodes))
        n_components, _ = core.graph.components
        self.cut_path_ = CutPath(np.array(numbers), n_components, chosen.choice, source, nodes)

    def predict(self, X: Any) -> np.ndarray:
        """Assign new samples to the clusters, without changing them.

        Each goes to the cluster where it changes the cut least, through its affinities to the
        training samples. One without any affinity goes where the nearest training sample is; for
        precomputed affinities, to the cluster nearest to the origin of the embedding, which is
        where a sample without affinities lies.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_new, n_features) or (n_new, n_samples)
            New samples, in any form that ``fit`` takes; or their affinities to (distances from)
            the training samples, if ``fit`` was given these.

        Returns
        -------
        labels : ndarray of shape (n_new,)
        """
        check_is_fitted(self, "labels_")
        return self._fitted.predict(self._checked(X, reset=False))

    def transform(self, X: Any) -> np.ndarray:
        """Return the coordinates of samples in the embedding.

        Training samples have those of ``embedding_``. A new sample with affinities s_j to them,
        which add up to d, and the weight b that the cut gives it, is at Σ_j s_j e_j / (d − λ b) in
        every component with eigenvalue λ, where e_j are the rows of ``embedding_``, which solve the
        same equation (Nyström). For the normalized cut that is the weighted mean of e_j over 1 − λ.
        If d is not above λ b there is no such place, and the sample is at 0 in that component;
        without any affinity it is at the origin. Both give a warning. With anchors it is where a
        training sample with the same anchor weights would be.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_new, n_samples)
            As :meth:`predict` takes them.

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self, "labels_")
        return self._fitted.transform(self._checked(X, reset=False))

    @property
    def _n_features_out(self) -> int:
        return self._fitted.n_components

    def score(self, X: Any = None, y: Any = None) -> float:
        """Return minus the cut value: the larger, the better.

        Parameters
        ----------
        X : {array-like, sparse matrix} or None, default=None
            None or the training data: minus ``cut_value_``. New samples: minus the cut value of
            the training graph with them added, each in its predicted cluster.
        y : Ignored
            Present for API consistency.

        Returns
        -------
        score : float
        """
        check_is_fitted(self, "labels_")
        if X is None:
            return -self.cut_value_
        return self._fitted.score(self._checked(X, reset=False))

    def certify(
        self,
        *,
        gap: float = 0.0,
        time_limit: float | None = None,
        callback: Callable[[ProofProgress], object] | str | None = None,
    ) -> Partition:
        """Prove how small the cut could be, and find a smaller one if there is.

        It is :func:`leastcut.certify` of the labels on the graph of the fit, and respects the links
        that the fit was given. It updates ``lower_bound_`` and ``gap_``, and if better labels are
        found ``labels_`` and ``cut_value_``. Several views and anchor graphs cannot be certified.

        Parameters
        ----------
        gap : float, default=0.0
            The gap that is enough, as a fraction of the cut value, below 1.
        time_limit : float, optional
            Seconds after which the proof ends with what it has.
        callback : callable or "tqdm", optional
            Called with a :class:`leastcut.ProofProgress` after every round of the search and of the
            proof; True stops it, and what is proven so far counts. ``"tqdm"`` is a progress bar.

        Returns
        -------
        Partition
            Of ``labels_``, with the bound that was proven.
        """
        check_is_fitted(self, "labels_")
        fitted = self._fitted = self._fitted.certify(check_gap(gap), Budget(time_limit, callback))
        self.labels_, self.cut_value_ = fitted.labels, fitted.cut_value
        return self._partition(fitted.lower_bound)

    def by_node(self) -> dict[Any, int]:
        """Return the cluster of every node by its name, if the graph that was fitted has names.

        Returns
        -------
        dict
            ``{name: cluster}``, in the order of ``labels_``.
        """
        check_is_fitted(self, "labels_")
        return self._partition(None).by_node()

    def plot(self, kind: str = "embedding", **options: Any) -> Any:
        """Plot the result; needs ``leastcut[plot]``.

        Parameters
        ----------
        kind : {"embedding", "affinity", "sizes", "graph", "evidence", "cut_values"}, \
                default="embedding"
            A plot of clusters or paths in :data:`leastcut.plot.PLOTS`; those of paths need
            ``n_clusters="auto"``.
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
        """No partition into as many clusters has a smaller cut value."""
        check_is_fitted(self, "labels_")
        return self._fitted.lower_bound

    @property
    def gap_(self) -> float:
        """How far above the optimum the cut value can be, as a fraction of it."""
        check_is_fitted(self, "labels_")
        gap = self._partition(self.lower_bound_).gap
        return float(gap)  # type: ignore[arg-type]

    @property
    def eigenvalues_(self) -> np.ndarray:
        """The smallest eigenvalues of the graph's operator, ascending."""
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
        say(self, line)


def say(model: Any, line: object) -> None:
    """Write a line to standard output for a verbose estimator."""
    if model.verbose:
        sys.stdout.write(f"[{type(model).__name__}] {line}\n")

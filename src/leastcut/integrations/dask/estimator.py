"""The estimator for collections of Dask: samples stay with the workers, and so do their labels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, _fit_context
from sklearn.utils.validation import check_is_fitted

from leastcut.anchors.nearest import NearestAnchors
from leastcut.anchors.problem import AnchorProblem
from leastcut.anchors.search import search_anchors
from leastcut.anchors.settings import check_anchors, check_block_rows
from leastcut.anchors.table import masses_of
from leastcut.anchors.verbs import relax_core
from leastcut.budget import Budget
from leastcut.estimators.anchor_spectral_clustering import ANCHOR_CONSTRAINTS
from leastcut.estimators.base import say
from leastcut.estimators.parameters import check_max_clusters
from leastcut.estimators.solvers import Settings, choose_number
from leastcut.integrations.dask.building import chosen_anchors, connected_workers
from leastcut.integrations.dask.inputs import (
    Place,
    is_dask,
    names_of,
    new_samples_of,
    read,
    samples_of,
)
from leastcut.integrations.dask.labels import Rule, kept_labels, new_labels
from leastcut.integrations.dask.scheduling import Scheduler
from leastcut.multilevel.efforts import SearchOptions
from leastcut.results import Partition
from leastcut.seeds import as_seed
from leastcut.validation import check_n_clusters


class AnchorSpectralClustering(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Cluster samples of a Dask array or data frame by the smallest cut of their anchor graph.

    It is :class:`leastcut.AnchorSpectralClustering` on the workers of Dask. Samples, their anchor
    weights and their labels stay there; only tables of anchors and clusters travel. If a worker
    dies, others compute again what it held, and no label changes.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters. ``"auto"`` takes the number, from 1 to ``max_clusters``, that the
        eigenpairs of the graph indicate, and warns if the evidence is weak.
    n_anchors : int, default=1000
        Anchors: centers of k-means on a sample of 20 points for each. At most as many as samples.
    n_neighbors : int, default=5
        Anchors that a sample has weights on, fewer than there are.
    effort : {"fast", "auto", "balanced", "thorough"}, default="auto"
        How long to search; see :func:`leastcut.partition`.
    max_clusters : int, default=None
        Largest number that ``n_clusters="auto"`` considers; None means 20.
    random_state : int, RandomState instance or None, default=None
        An int fixes the labels of samples in the same chunks, on any number of workers.
    verbose : bool, default=False
        Whether to report the steps on standard output.
    client : distributed.Client, default=None
        The cluster to work on. None is the current client, and if there is none the scheduler that
        Dask uses otherwise: threads of this process.

    Attributes
    ----------
    labels_ : dask.array.Array of shape (n_samples,)
        The cluster of every sample, 0..n_clusters_-1, none empty, in the chunks of X. They are held
        by the workers; ``labels_.compute()`` fetches them.
    n_clusters_ : int
        The number of clusters.
    cut_value_ : float
        The value of the cut of all samples, exactly.
    lower_bound_ : float
        No partition into as many clusters has a smaller cut value. Computed when first asked for.
    gap_ : float
        (cut_value_ − lower_bound_) / cut_value_: how much smaller a cut could be at most.
    n_iter_ : int
        Rounds in which samples were moved.
    anchors_ : ndarray of shape (p, n_features)
        The anchors.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features seen during fit, if X is a data frame with names.

    See Also
    --------
    leastcut.AnchorSpectralClustering : The same on one machine.

    Notes
    -----
    Labels are those of ``leastcut.partition(leastcut.anchor_graph(X, block_rows=X.chunks[0]), …)``
    with the same seed. X is read twice, for the anchors and for the weights; ``X.persist()`` keeps
    it in the memory of the workers, if it fits.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from leastcut.integrations.dask import AnchorSpectralClustering
    >>> X = da.from_array(np.r_[:50, 80:130].reshape(-1, 1).astype(float), chunks=(30, 1))
    >>> model = AnchorSpectralClustering(2, n_anchors=20, n_neighbors=3, random_state=0).fit(X)
    >>> model.labels_.chunks, model.cut_value_
    (((30, 30, 30, 10),), 0.0)
    >>> np.bincount(model.labels_.compute()).tolist()
    [50, 50]
    >>> model.predict(np.array([[20.0], [100.0]])) == model.labels_[[20, 70]].compute()
    array([ True,  True])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **ANCHOR_CONSTRAINTS,
        "client": "no_validation",
    }

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        n_anchors: int = 1000,
        n_neighbors: int = 5,
        effort: str = "auto",
        max_clusters: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
        client: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_anchors = n_anchors
        self.n_neighbors = n_neighbors
        self.effort = effort
        self.max_clusters = max_clusters
        self.random_state = random_state
        self.verbose = verbose
        self.client = client

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> Self:
        """Join samples through anchors, and cut their graph.

        Parameters
        ----------
        X : dask.array.Array or dask.dataframe.DataFrame of shape (n_samples, n_features)
            Samples in chunks of known sizes. Features that are in several chunks are brought
            together. The rows of a data frame are counted first.
        y : Ignored
            Present for API consistency.

        Returns
        -------
        self : object
        """
        # 1. Check everything that can be checked without reading samples.
        report = partial(say, self)
        check_max_clusters(self.get_params(deep=False))
        seed = as_seed(self.random_state, 2**63)
        scheduler = Scheduler(self.client)
        samples = samples_of(X, scheduler)
        n_samples, n_features = samples.array.shape
        check_block_rows(samples.sizes, n_samples)
        n_anchors, n_neighbors = check_anchors(self.n_anchors, self.n_neighbors, n_samples)
        n_clusters = self.n_clusters
        if n_clusters != "auto":
            _check_enough(check_n_clusters(n_clusters, n_samples), n_anchors)
        # 2. Choose anchors, and join all samples through them.
        anchors = chosen_anchors(samples, n_anchors, seed, scheduler)
        n_neighbors = max(1, min(n_neighbors, anchors.shape[0] - 1))
        nearest = NearestAnchors(anchors, n_neighbors, 1)
        workers = connected_workers(samples, nearest, scheduler)
        masses = workers.total(
            "leastcut-masses", masses_of, None, sum_of_arrays, anchors.shape[0], is_exact=True
        )
        problem = AnchorProblem(workers, masses)
        # 3. Cut.
        if n_clusters == "auto":
            settings = Settings(effort=self.effort, seed=seed)
            chosen = choose_number(problem.core, self.max_clusters, settings, report)
            n_clusters = 1 if chosen is None else chosen.choice.n_clusters
        n_clusters = problem.check_n_clusters(n_clusters)
        found = search_anchors(
            problem, n_clusters, [], SearchOptions(self.effort, False, seed), Budget()
        )
        table = problem.table(found.kept, n_clusters)
        report(f"{n_clusters} clusters, cut value {table.value:.6g}, {found.n_rounds} rounds")
        # 4. Keep the result.
        self.labels_ = kept_labels(found.kept, tuple(map(int, samples.array.chunks[0])))
        self.n_clusters_ = n_clusters
        self.cut_value_ = table.value
        self.n_iter_ = found.n_rounds
        self.anchors_ = anchors
        self.n_features_in_ = n_features
        self.__dict__.pop("feature_names_in_", None)  # an earlier fit may have left them
        names = names_of(X)
        if names is not None:
            self.feature_names_in_ = names
        self._rule = Rule(nearest, table)
        # The graph of the anchors is small, and all that the bound needs.
        self._core, self._seed, self._lower_bound = (problem.core, workers.sizes), seed, None
        return self

    _lower_bound: float | None

    @property
    def lower_bound_(self) -> float:
        """No partition into as many clusters has a smaller cut value."""
        check_is_fitted(self)
        if self._lower_bound is None:
            relaxation = relax_core(*self._core, self.n_clusters_, self._seed)
            self._lower_bound = relaxation.lower_bound
        return self._lower_bound

    @property
    def gap_(self) -> float:
        """How far above the optimum the cut value can be, as a fraction of it."""
        gap = Partition(np.empty(0), self.cut_value_, self.lower_bound_).gap
        return float(gap)  # type: ignore[arg-type]

    def predict(self, X: Any) -> Any:
        """Assign samples to the clusters, without changing them.

        Each goes to the cluster where the cut grows least.

        Parameters
        ----------
        X : dask.array.Array, dask.dataframe.DataFrame or array-like of shape (n_new, n_features)
            Samples; nobody need know how many rows the chunks of a collection have.

        Returns
        -------
        labels : dask.array.Array or ndarray of shape (n_new,)
            An array of Dask for a collection of Dask, computed when it is asked for.
        """
        check_is_fitted(self)
        names = names_of(X)
        expected = getattr(self, "feature_names_in_", None)
        if names is not None and expected is not None and names.tolist() != expected.tolist():
            raise ValueError(
                f"X has the columns {names.tolist()}, and the model was fitted on "
                f"{expected.tolist()}; pass the same ones in the same order."
            )
        if is_dask(X):
            samples = new_samples_of(X, self.n_features_in_)
            return new_labels(samples, self._rule, Scheduler(self.client))
        place = Place(None, self.n_features_in_, self.anchors_.dtype)
        return self._rule.labels_of(read(X, place))

    # A client is a connection: copies of the model share it, and files do without.

    def __sklearn_clone__(self) -> Self:
        return type(self)(**self.get_params(deep=False))

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {**state, "client": None}


def sum_of_arrays(terms: Sequence[np.ndarray]) -> np.ndarray:
    """Return a sum of arrays."""
    return np.asarray(np.sum(terms, axis=0))


def _check_enough(n_clusters: int, n_anchors: int) -> None:
    """Raise if there are more clusters than anchors."""
    if n_clusters > n_anchors:
        raise ValueError(
            f"n_clusters={n_clusters} is more than the {n_anchors} anchors that samples are joined "
            "to; pass more n_anchors, if X has so many different samples, or fewer clusters."
        )

"""The estimator for collections of Dask: samples stay with the workers, and so do their labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from leastcut.anchors.nearest import NearestAnchors
from leastcut.anchors.search import cut_crew
from leastcut.anchors.settings import check_anchors, check_block_rows
from leastcut.anchors.table import masses_of, table_of_crew
from leastcut.integrations.dask.building import chosen_anchors, tied_crew
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
from leastcut.multilevel.efforts import EFFORTS
from leastcut.seeds import as_generator, as_seed
from leastcut.validation import check_choice, check_count, check_n_clusters


class SpectralClustering(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Cluster samples of a Dask array or data frame by the smallest cut of their anchor graph.

    It is :func:`leastcut.anchor_graph` and :func:`leastcut.partition` on the workers of Dask.
    Samples, their ties to anchors and their labels stay there; what travels are tables of anchors
    and clusters. A worker that dies costs what it held, which others compute again, and changes
    no label.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_anchors : int, default=1000
        Anchors: centres of k-means on a sample of 20 points for each. At most as many as samples.
    n_neighbors : int, default=5
        Anchors that a sample is tied to, fewer than there are.
    effort : {"fast", "auto", "balanced", "thorough"}, default="auto"
        How long to search; see :func:`leastcut.partition`.
    random_state : int, Generator, RandomState or None, default=None
        An int fixes the labels of samples in the same chunks, on any number of workers.
    client : distributed.Client, default=None
        The cluster to work on. None is the client that is current, and where there is none the
        scheduler that Dask uses otherwise: threads of this process.

    Attributes
    ----------
    labels_ : dask.array.Array of shape (n_samples,)
        The cluster of every sample, 0..n_clusters_-1, none empty, in the chunks of X. They lie on
        the workers; ``labels_.compute()`` brings them here.
    n_clusters_ : int
        The number of clusters.
    cut_value_ : float
        The value of the cut of all samples, exactly.
    n_iter_ : int
        Rounds in which samples were moved.
    anchors_ : ndarray of shape (p, n_features)
        The anchors.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features seen during fit, where X is a data frame with names.

    See Also
    --------
    leastcut.SpectralClustering : The same on one machine, with ``affinity="anchors"``.

    Notes
    -----
    Labels are those of ``leastcut.partition(leastcut.anchor_graph(X, block_rows=X.chunks[0]), …)``
    with the same seed. X is read twice, for the anchors and for the ties; ``X.persist()`` keeps
    it in the memory of the workers, if it fits.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from leastcut.integrations.dask import SpectralClustering
    >>> X = da.from_array(np.r_[:50, 80:130].reshape(-1, 1).astype(float), chunks=(30, 1))
    >>> model = SpectralClustering(2, n_anchors=20, n_neighbors=3, random_state=0).fit(X)
    >>> model.labels_.chunks, model.cut_value_
    (((30, 30, 30, 10),), 0.0)
    >>> np.bincount(model.labels_.compute()).tolist()
    [50, 50]
    >>> model.predict(np.array([[20.0], [100.0]])) == model.labels_[[20, 70]].compute()
    array([ True,  True])
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_anchors: int = 1000,
        n_neighbors: int = 5,
        effort: str = "auto",
        random_state: Any = None,
        client: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_anchors = n_anchors
        self.n_neighbors = n_neighbors
        self.effort = effort
        self.random_state = random_state
        self.client = client

    def fit(self, X: Any, y: Any = None) -> Self:
        """Tie samples to anchors, and cut their graph.

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
        # 1. Check everything that can be told without reading samples.
        check_choice("effort", self.effort, EFFORTS)
        check_count("n_clusters", self.n_clusters)
        check_count("n_anchors", self.n_anchors)
        check_count("n_neighbors", self.n_neighbors)
        seed = as_seed(self.random_state, 2**63)
        rng = as_generator(seed)  # which raises where it is none
        scheduler = Scheduler(self.client)
        samples = samples_of(X, scheduler)
        n_samples, n_features = samples.array.shape
        check_block_rows(samples.sizes, n_samples)
        n_clusters = check_n_clusters(self.n_clusters, n_samples)
        n_anchors, n_neighbors = check_anchors(self.n_anchors, self.n_neighbors, n_samples)
        _check_enough(n_clusters, n_anchors)
        # 2. Choose anchors, and tie all samples to them.
        anchors = chosen_anchors(samples, n_anchors, seed, scheduler)
        n_neighbors = max(1, min(n_neighbors, anchors.shape[0] - 1))
        nearest = NearestAnchors(anchors, n_neighbors, 1)
        crew = tied_crew(samples, nearest, scheduler)
        masses = crew.total(
            "leastcut-masses", masses_of, None, sum_of_arrays, anchors.shape[0], is_exact=True
        )
        _check_enough(n_clusters, int(np.count_nonzero(masses)))
        # 3. Cut.
        found = cut_crew(
            crew,
            masses,
            n_clusters,
            effort=self.effort,
            seed=int(rng.integers(2**31)),
        )
        table = table_of_crew(crew, masses, found.kept, n_clusters)
        # 4. Keep what was found.
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
        return self

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
    """Raise where there are more clusters than anchors that samples are tied to."""
    if n_clusters > n_anchors:
        raise ValueError(
            f"n_clusters={n_clusters} is more than the {n_anchors} anchors that samples are tied "
            "to; pass more n_anchors, if X has so many different samples, or fewer clusters."
        )

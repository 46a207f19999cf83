"""``AnchorSpectralClustering`` for Dask collections; samples and labels stay on the workers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, _fit_context
from sklearn.utils.validation import check_is_fitted

from leastcut.anchors.array_sources import float_type
from leastcut.anchors.blocks import Block
from leastcut.anchors.choose import choose_anchors, sampled_rows
from leastcut.anchors.graph import relax_core
from leastcut.anchors.nearest import NearestAnchors
from leastcut.anchors.problem import AnchorProblem, Table, check_enough_anchors, masses_of
from leastcut.anchors.search import search_anchors
from leastcut.anchors.settings import check_anchors, check_block_rows
from leastcut.budget import Budget
from leastcut.estimators.anchor_spectral_clustering import ANCHOR_CONSTRAINTS
from leastcut.estimators.base import log
from leastcut.estimators.parameters import check_max_clusters
from leastcut.estimators.solvers import Settings, choose_and_report
from leastcut.integrations.dask.inputs import (
    Place,
    chunks_of,
    is_dask,
    names_of,
    new_samples_of,
    read,
    samples_of,
)
from leastcut.integrations.dask.workers import DaskWorkers, Piece, Scheduler, key_of
from leastcut.multilevel.efforts import SearchOptions
from leastcut.results import Partition
from leastcut.seeds import as_seed
from leastcut.threads import available_cores
from leastcut.validation import check_n_clusters

LABEL = np.dtype(np.int32)


class AnchorSpectralClustering(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Spectral clustering of a Dask array or data frame through a small number of anchors.

    The same method as :class:`leastcut.AnchorSpectralClustering`. Samples, anchor weights and
    labels stay on the workers; only tables of anchors and clusters are transferred. If a worker
    fails, its results are recomputed on others, and labels do not change.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        The number of clusters to form. ``"auto"`` chooses a number from 1 to ``max_clusters`` by
        the eigenpairs of the graph, and warns if the evidence is weak.
    n_anchors : int, default=1000
        Number of anchors, the centers of k-means on a sample of 20 points per anchor. It is reduced
        if there are fewer samples.
    n_neighbors : int, default=5
        Number of anchors that each sample is connected to, less than ``n_anchors``.
    effort : {"fast", "auto", "balanced", "thorough"}, default="auto"
        Effort of the search; see :func:`leastcut.partition`.
    max_clusters : int, default=None
        Largest number of clusters that ``n_clusters="auto"`` considers; None means 20.
    random_state : int, RandomState instance or None, default=None
        Seed. Pass an int for reproducible labels of samples in the same chunks, on any number of
        workers.
    verbose : bool, default=False
        Whether to log the steps to standard output.
    client : distributed.Client, default=None
        The client of the cluster. None uses the current client or, without one, the default
        scheduler of Dask.

    Attributes
    ----------
    labels_ : dask.array.Array of shape (n_samples,)
        The cluster of every sample, 0..n_clusters_-1, in the chunks of X. No cluster is empty. The
        labels are stored on the workers; ``labels_.compute()`` returns them.
    n_clusters_ : int
        The number of clusters.
    cut_value_ : float
        The exact cut value of all samples.
    lower_bound_ : float
        Lower bound on the cut value of every partition into ``n_clusters_`` clusters. Computed on
        first access.
    gap_ : float
        Relative optimality gap, ``(cut_value_ − lower_bound_) / cut_value_``.
    n_iter_ : int
        Number of rounds in which samples were moved.
    anchors_ : ndarray of shape (n_anchors, n_features)
        The anchors.
    n_features_in_ : int
        Number of features seen during :term:`fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features seen during :term:`fit`, if X is a data frame whose column names are
        strings.

    See Also
    --------
    leastcut.AnchorSpectralClustering : The same method on one machine.

    Notes
    -----
    Labels are those of ``leastcut.partition(leastcut.anchor_graph(X, block_rows=X.chunks[0]), …)``
    with the same seed. X is read twice, for the anchors and for the weights; ``X.persist()`` keeps
    it in the memory of the workers if it fits.

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
        """Construct the anchor graph of X and cut it.

        Parameters
        ----------
        X : dask.array.Array or dask.dataframe.DataFrame of shape (n_samples, n_features)
            Samples in chunks of known sizes. Chunks of features are merged. The rows of a data
            frame are counted first.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        # 1. Check all input that can be checked without reading samples.
        report = partial(log, self)
        check_max_clusters(self.get_params(deep=False))
        seed = as_seed(self.random_state, 2**63)
        scheduler = Scheduler(self.client)
        samples = samples_of(X, scheduler)
        n_samples, n_features = samples.shape
        sizes = check_block_rows([size for size in samples.chunks[0] if size], n_samples)
        n_anchors, n_neighbors = check_anchors(self.n_anchors, self.n_neighbors, n_samples)
        n_clusters = self.n_clusters
        if n_clusters != "auto":
            check_enough_anchors(check_n_clusters(n_clusters, n_samples), n_anchors)
        # 2. Choose anchors, and compute the weights of all samples.
        anchors = chosen_anchors(samples, sizes, n_anchors, seed, scheduler)
        n_neighbors = max(1, min(n_neighbors, anchors.shape[0] - 1))
        nearest = NearestAnchors(anchors, n_neighbors, 1)
        workers = workers_of(samples, sizes, nearest, scheduler)
        masses = workers.total(
            "leastcut-masses", masses_of, None, sum, anchors.shape[0], is_exact=True
        )
        problem = AnchorProblem(workers, masses)
        # 3. Compute the labels.
        if n_clusters == "auto":
            settings = Settings(effort=self.effort, seed=seed)
            path = "leastcut.cut_path of some of the samples"
            chosen = choose_and_report(problem.core, self.max_clusters, settings, report, path)
            n_clusters = 1 if chosen is None else chosen.choice.n_clusters
        n_clusters = problem.check_n_clusters(n_clusters)
        result = search_anchors(
            problem, n_clusters, [], SearchOptions(self.effort, False, seed), Budget()
        )
        cut_value = result.table.value
        report(f"{n_clusters} clusters, cut value {cut_value:.6g}, {result.n_rounds} rounds")
        # 4. Set the attributes.
        self.labels_ = kept_labels(result.labels, tuple(map(int, samples.chunks[0])))
        self.n_clusters_ = n_clusters
        self.cut_value_ = cut_value
        self.n_iter_ = result.n_rounds
        self.anchors_ = anchors
        self.n_features_in_ = n_features
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        names = names_of(X)
        if names is not None:
            self.feature_names_in_ = names
        self._rule = Rule(nearest, result.table)
        # The lower bound needs the graph of the anchors only, which is small.
        self._core, self._seed, self._lower_bound = (problem.core, workers.sizes), seed, None
        return self

    _lower_bound: float | None

    @property
    def lower_bound_(self) -> float:
        """Lower bound on the cut value of every partition into ``n_clusters_`` clusters."""
        check_is_fitted(self)
        if self._lower_bound is None:
            relaxation = relax_core(*self._core, self.n_clusters_, self._seed)
            self._lower_bound = relaxation.lower_bound
        return self._lower_bound

    @property
    def gap_(self) -> float:
        """Relative optimality gap, ``(cut_value_ − lower_bound_) / cut_value_``."""
        gap = Partition(np.empty(0), self.cut_value_, self.lower_bound_).gap
        return float(gap)  # type: ignore[arg-type]

    def predict(self, X: Any) -> Any:
        """Assign new samples to the fitted clusters.

        Every sample is assigned to the cluster where it increases the cut value least.

        Parameters
        ----------
        X : dask.array.Array, dask.dataframe.DataFrame or array-like of shape (n_new, n_features)
            New samples. The chunks of a collection may have unknown sizes.

        Returns
        -------
        labels : dask.array.Array or ndarray of shape (n_new,)
            The cluster of every new sample; a lazy Dask array if X is a Dask collection.
        """
        check_is_fitted(self)
        names = names_of(X)
        expected = getattr(self, "feature_names_in_", None)
        if names is not None and expected is not None and names.tolist() != expected.tolist():
            raise ValueError(
                f"X has the columns {names.tolist()}, but the model was fitted on "
                f"{expected.tolist()}; pass the same columns in the same order."
            )
        if is_dask(X):
            array = new_samples_of(X, self.n_features_in_)
            place = Place(None, self.n_features_in_, float_type(array.dtype))
            return new_labels(array, self._rule, place, Scheduler(self.client))
        return self._rule.labels_of(X, Place(None, self.n_features_in_, self.anchors_.dtype))

    # A client is a connection, which cannot be copied or pickled.

    def __sklearn_clone__(self) -> Self:
        return type(self)(**self.get_params(deep=False))

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {**state, "client": None}


# -- blocks of samples on the workers


def chosen_anchors(
    samples: Any, sizes: tuple[int, ...], n_anchors: int, seed: int, scheduler: Scheduler
) -> np.ndarray:
    """Return the anchors, which one worker computes from a sample of the rows."""
    rows = sampled_rows(sizes, n_anchors, seed)
    pieces = [
        scheduler.task("leastcut-sample", _rows_of, task, place, some)
        for (task, place), some in zip(chunks_of(samples), rows, strict=True)
        if some.size
    ]
    task = scheduler.task("leastcut-anchors", _choose, pieces, n_anchors, seed)
    return np.asarray(scheduler.compute([task])[0])


def workers_of(
    samples: Any, sizes: tuple[int, ...], nearest: NearestAnchors, scheduler: Scheduler
) -> DaskWorkers:
    """Return the workers with blocks of the anchor weights of all samples."""
    shared = scheduler.constant("leastcut-nearest-anchors", nearest)
    blocks = [
        scheduler.task("leastcut-nearest", _block, task, place, shared)
        for task, place in chunks_of(samples)
    ]
    return DaskWorkers(scheduler, scheduler.keep(blocks), sizes)


def _rows_of(chunk: Any, place: Place, rows: np.ndarray) -> np.ndarray:
    # Indexing copies the rows; a view would keep the full chunk in memory.
    return np.asarray(read(chunk, place)[rows])


def _choose(pieces: list[np.ndarray], n_anchors: int, seed: int) -> np.ndarray:
    # All other tasks wait for this one, so it may use all cores.
    return choose_anchors(np.concatenate(pieces), n_anchors, seed, available_cores())


def _block(chunk: Any, place: Place, shared: tuple[NearestAnchors]) -> Block:
    return shared[0].block(read(chunk, place))


# -- labels as Dask arrays


class Rule(NamedTuple):
    """Assigns samples to clusters by their nearest anchors and the table of the clusters."""

    nearest: NearestAnchors
    table: Table

    def labels_of(self, chunk: Any, place: Place) -> np.ndarray:
        """Return the clusters of samples, as int32."""
        return self.table.assign(self.nearest.block(read(chunk, place)))


def kept_labels(kept: Sequence[Piece], chunks: tuple[int, ...]) -> Any:
    """Return labels on the workers as a Dask array; every non-empty chunk has a piece."""
    from dask.array import Array
    from dask.highlevelgraph import HighLevelGraph

    name, pieces = key_of("leastcut-labels"), iter(kept)
    tasks = {
        (name, number): _labels_of_piece(next(pieces)) if size else (_no_labels,)
        for number, size in enumerate(chunks)
    }
    sources = list({piece.task.key: piece.task for piece in kept}.values())
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=sources)
    return Array(graph, name, chunks=(chunks,), dtype=LABEL)


def new_labels(array: Any, rule: Rule, place: Place, scheduler: Scheduler) -> Any:
    """Return the clusters of new samples as a lazy Dask array."""
    return array.map_blocks(
        _predict,
        place,
        scheduler.constant("leastcut-predict-rule", rule),
        dtype=LABEL,
        meta=np.empty(0, LABEL),
        drop_axis=1,
        chunks=(array.chunks[0],),
        name=key_of("leastcut-predict"),
    )


def _predict(chunk: Any, place: Place, shared: tuple[Rule]) -> np.ndarray:
    return shared[0].labels_of(chunk, place) if len(chunk) else _no_labels()


def _labels_of_piece(piece: Piece) -> tuple[Any, ...]:
    return itemgetter(piece.place), piece.task.key


def _no_labels() -> np.ndarray:
    return np.empty(0, LABEL)

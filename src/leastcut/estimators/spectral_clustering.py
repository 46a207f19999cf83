"""The estimator: scikit-learn's ``SpectralClustering`` with a smaller cut, and its value told."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.utils.validation import check_is_fitted, validate_data

from leastcut.affinity import AFFINITIES, affinity_of
from leastcut.affinity.affinity import Affinity
from leastcut.constraints import FREE, Constraints
from leastcut.estimators.eigenpairs import FittedEigenpairs
from leastcut.estimators.parameters import (
    ANCHORS,
    CONSTRAINTS,
    LEARNED,
    check_counts,
    resolve,
    resolve_affinity,
    resolve_anchors,
)
from leastcut.estimators.prediction import Clusters, Prediction
from leastcut.estimators.strategies import Settings, cut_problem, read_constraints
from leastcut.graph import Graph, as_graph
from leastcut.problem import Cut, Problem, as_cut, value_of_sums
from leastcut.results import NeighborSearch, Partition, Relaxation
from leastcut.seeds import fit_seed
from leastcut.validation import (
    check_matrix,
    is_on_gpu,
    number_by_appearance,
    refuse_masked,
    warn_caller,
)

if TYPE_CHECKING:
    from leastcut.bounds.proof import ProofProgress
    from leastcut.estimators.extension import Extension
    from leastcut.estimators.fitted_anchors import FittedAnchors
    from leastcut.estimators.viewed import FittedViews
    from leastcut.multilevel.cut_path import CutPath


PRIVATE = ("_fitted", "_view_columns", "_view_widths")
"""Attributes of a fit that are not public."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """What a fit keeps for questions that may come later: new samples, eigenpairs, bounds."""

    X: Any
    matrix: Any
    labels: np.ndarray
    n_clusters: int
    affinity: Affinity
    options: dict[str, Any]
    cut: Cut
    sums: tuple[np.ndarray, np.ndarray]
    settings: Settings
    seed: int
    relaxation: Relaxation | None
    constraints: Constraints = FREE
    certified: float | None = None

    @property
    def solver(self) -> str:
        """The strategy that was used."""
        return self.settings.solver

    @property
    def cut_value(self) -> float:
        """The cut value of the labels."""
        return value_of_sums(*self.sums)

    @cached_property
    def eigenpairs(self) -> FittedEigenpairs:
        """The eigenpairs of the graph."""
        return FittedEigenpairs(
            self.matrix,
            self.cut,
            self.n_clusters,
            self.settings.n_components or self.n_clusters,
            self.seed,
            self.settings.eigen_options,
            self.relaxation,
        )

    @property
    def eigenvalues(self) -> np.ndarray:
        """The smallest eigenvalues of the graph."""
        return self.eigenpairs.relaxation.eigenvalues

    @property
    def embedding(self) -> np.ndarray:
        """The rows of the eigenvectors, in the precision of the graph."""
        dtype = np.float32 if self.matrix.dtype == np.float32 else np.float64
        return self.eigenpairs.embedding.astype(dtype, copy=False)

    @property
    def lower_bound(self) -> float:
        """What is proven, or else what eigenvalues say."""
        return self.eigenpairs.lower_bound if self.certified is None else self.certified

    @property
    def n_components(self) -> int:
        """Number of columns of the embedding."""
        return int(self.embedding.shape[1])

    @cached_property
    def prediction(self) -> Prediction:
        """The clusters as new samples see them."""
        clusters = Clusters(self.labels, *self.sums, self.cut)
        return Prediction(
            self.affinity, self.options, self.X, self.matrix, clusters, self.eigenpairs
        )

    @cached_property
    def extension(self) -> Extension:
        """The embedding as new samples see it."""
        from leastcut.estimators.extension import Extension  # which few models need

        return Extension(self.prediction, self.eigenpairs)

    def predict(self, X: Any) -> np.ndarray:
        """Return the clusters of samples."""
        return self.prediction.place(X)[0]

    def transform(self, X: Any) -> np.ndarray:
        """Return where samples lie in the embedding."""
        return self.extension.place(X).astype(self.embedding.dtype, copy=False)

    def score(self, X: Any) -> float:
        """Return minus the cut value with samples added, or of the labels if they are those."""
        if self.prediction.is_training_data(X):
            return -self.cut_value
        labels, ties = self.prediction.place(X)
        return -self.prediction.clusters.value_with(ties, labels)

    def certify(self, gap: float, time_limit: float | None, callback: Any) -> Fitted:
        """Return it with the bound that is proven, and with better labels if there are."""
        if self.settings.balance is not None:
            raise ValueError(
                "certify improves labels without regard to balance. lower_bound_ holds of balanced "
                "clusters as well, and leastcut.certify(model.affinity_matrix_, model.labels_) "
                "proves more, of clusters in any balance."
            )
        from leastcut.estimators.certified import certify_fitted  # which few models need

        given = self.matrix, self.cut, self.labels, self.constraints, self.seed
        labels, bound, sums = certify_fitted(*given, gap, time_limit, callback)
        # What was proven before stays so.
        bound = max(bound, self.certified or 0.0)
        found = replace(self, labels=labels, sums=sums, certified=bound)
        if "eigenpairs" in self.__dict__:  # which are those of the same graph
            found.__dict__["eigenpairs"] = self.eigenpairs
        return found


class SpectralClustering(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    ClusterMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Cluster samples, or a graph, by the smallest cut that can be found.

    It takes the place of ``sklearn.cluster.SpectralClustering``: the same parameters, the same
    attributes, and beyond them the cut value, a proven bound on how much smaller it could be,
    ``predict``, and a choice of the number of clusters.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters. ``"auto"`` takes the number, from 1 to ``max_clusters``, that the
        eigenpairs of the graph speak for, and warns where they hardly do; see ``cut_path_``.
    eigen_solver : {None, "arpack", "lobpcg", "amg", ...}, default=None
        How eigenvectors are computed: a name in :data:`leastcut.EIGENSOLVERS`, or "arpack",
        scikit-learn's name of "shift_invert". None chooses by the size and shape of the graph;
        "amg" needs pyamg. [spectral]
    n_components : int, default=None
        Number of eigenvectors that labels are made of; None means ``n_clusters``. The number of
        clusters is ``n_clusters`` whatever it is. [spectral] With ``affinity="anchors"`` it is the
        number of columns of ``embedding_`` alone.
    random_state : int, RandomState instance or None, default=None
        An int fixes the labels, on any number of threads.
    n_init : int, default=None
        Number of starts of ``assign_labels``, the best of which by cut value is taken; None means
        10. [spectral]
    gamma : float, default=1.0
        Coefficient of the rbf, poly, sigmoid, laplacian and chi2 kernels.
    affinity : str or callable, default="adaptive_neighbors"
        How the graph is made.

        - "adaptive_neighbors", "nearest_neighbors", "self_tuning": sparse graphs of
          ``n_neighbors`` neighbours, see :data:`leastcut.AFFINITIES`.
        - "rbf" or another kernel of ``sklearn.metrics.pairwise.pairwise_kernels``, or a callable
          that takes two samples: all pairs, so n² numbers.
        - "anchors": samples are tied to ``n_anchors`` anchors and joined through these, for data of
          any size: X may lie in files, and nothing of n² is made; see
          :func:`leastcut.anchor_graph`.
        - "learned": a graph that is learned together with its clusters, one component for each;
          see :func:`leastcut.learned_graph`, whose ``solver`` is that of the estimator.
        - "precomputed": X is the graph: affinities between samples, or a graph of networkx,
          igraph, torch_geometric, pandas (an edge list) or AnnData.
        - "precomputed_nearest_neighbors": X is distances; each sample is joined to its
          ``n_neighbors`` nearest.
    n_neighbors : int, default=None
        Neighbours of a sample, itself included, or the anchors that it is tied to; None means 10
        neighbours, or 5 anchors. Cut down to the number of samples, and below that of anchors,
        where that is smaller.
    eigen_tol : float or "auto", default=None
        Relative tolerance of the eigenpairs; None and "auto" mean the eigensolver's own.
        [spectral]
    assign_labels : str, default=None
        How eigenvectors become labels: "first_order", "kmeans", "kmeans_norm", "rotation",
        "unscaled_rotation", "improved_rotation", "cluster_qr", or "discretize", scikit-learn's name
        of "rotation".
        None means "first_order". [spectral]
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict, default=None
        Keyword arguments of a callable affinity; or ``offset``, ``include_self``,
        ``scale_neighbor``, ``metric_params`` and ``max_iter`` of the neighbour graphs.
    n_jobs : int, default=None
        Threads of the neighbour search and of the multilevel solver; None and -1 mean one per
        available core. The result does not depend on it.
    verbose : bool, default=False
        Whether to tell on standard output what is being done, and to draw a progress bar on the
        standard error for a search that takes more than a second. The bar is tqdm's where that is
        installed (``leastcut[progress]``), and lines otherwise.
    cut : {"normalized", "ratio"} or array-like of shape (n_samples,), default="normalized"
        The objective: how nodes are weighed, by degree, equally, or as given.
    eta : float, sequence of floats, "auto" or "adaptive", default=None
        Weight of the first-order term of "first_order"; of several, or the ladder "auto", the
        smallest cut value decides, with "adaptive" at every sweep. None means "auto". [spectral]
    solver : {"auto", "spectral", "multilevel"}, default="auto"
        "multilevel" is :func:`leastcut.partition`; "spectral" is relax, discretize and refine.
        "auto" is multilevel unless a parameter marked [spectral] is given, that is, not None.
        ``solver_`` tells which it was.
    refine : bool, default=None
        Whether the spectral labels are improved by moves of single nodes; None means True.
        [spectral]
    effort : {"fast", "auto", "balanced", "thorough"}, default=None
        How long the multilevel solver searches, see :func:`leastcut.partition`; None means "auto",
        "fast" or a quarter of what the graph's eigenvectors would take. [multilevel]
    max_clusters : int, default=None
        Largest number that ``n_clusters="auto"`` considers; None means 20.
    neighbors : {"auto", "exact", "approximate"}, default="auto"
        How the neighbours of samples are found. "auto" is exact wherever that is forecast to end
        within seconds; ``neighbors_recall_`` tells what part was found.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where neighbours are searched: "cuda" is exact, on a GPU, and needs ``leastcut[gpu]``.
        "auto" is where X lies, and a GPU if there is one and the processor would take long.
    metric : str or callable, default="euclidean"
        What near means to the neighbour graphs: "euclidean", "cosine", "correlation", another name
        of scikit-learn's, or a function of two samples; see
        :func:`leastcut.adaptive_neighbors_graph`. New samples are compared by it, too.
    n_anchors : int, default=1000
        Anchors, at most as many as samples: more follow finer shapes, and take longer. [anchors]
    max_memory : int or str, default=None
        Memory that this process may have in use, in bytes or as ``"4GiB"``; None is most of what
        the system has left. [anchors]
    folder : path, default=None
        Where anchors, ties and the state of the search are kept: a fit that was killed goes on
        there when it is made again. [anchors]
    balance : float or pair of floats, default=None
        No cluster weighs more than ``1 + balance`` times the average, by the weights of ``cut``; a
        pair ``(below, above)`` limits how light they are, too. See :func:`leastcut.partition`.
        [multilevel]
    views : list, default=None
        Groups of columns of X, each of which is a view with a graph of its own; all graphs are cut
        by one partition, see :func:`leastcut.partition_views`. A group is what a
        ``ColumnTransformer`` takes: names or numbers of columns, a slice, a mask, or a callable
        that selects from X. ``affinity`` may then be a list, one for every view. Without ``views``
        a list of affinities is of all columns each, and X may be a list of views: samples, or
        graphs with ``affinity="precomputed"``.
    view_weights : {"auto", "equal"} or array-like of shape (n_views,), default="auto"
        What views count: "auto" learns it, see :func:`leastcut.partition_views`. [views]

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of every sample, 0..n_clusters_-1, none empty.
    n_clusters_ : int
        The number of clusters.
    cut_value_ : float
        The cut value of ``labels_``.
    lower_bound_ : float
        No partition into as many clusters has a smaller cut value. Computed when first asked for;
        :meth:`certify` proves a better one.
    gap_ : float
        (cut_value_ − lower_bound_) / cut_value_: how much smaller a cut could be at most.
    affinity_matrix_ : ndarray or csr_array of shape (n_samples, n_samples), or AnchorGraph
        The graph; that of anchors stores no edges.
    neighbors_recall_ : float or None
        The fraction of the nearest neighbours that the graph was made of: 1.0 of an exact search,
        else measured on a sample of rows. None where the affinity looks for no neighbours.
    eigenvalues_ : ndarray
        The smallest eigenvalues of the graph's operator. Computed when first asked for.
    embedding_ : ndarray of shape (n_samples, n_components)
        The rows of the eigenvectors, scaled so that perfect clusters are single points. Computed
        when first asked for.
    n_iter_ : int
        Iterations of the discretization, or rounds of the multilevel search.
    solver_ : str
        The solver that was used.
    cut_path_ : CutPath
        The evidence for ``n_clusters="auto"``, and the reason of the choice; only then, and where
        two nodes have edges. It is of the nodes with edges. All but the choice is computed when
        first asked for. The effort is that of the fit, and the partition into ``n_clusters_``
        clusters is no worse than the fitted one; ``balance`` does not limit those of the path.
    node_names_ : tuple or None
        The names of the nodes, where X is a graph that has names; see :meth:`by_node`.
    view_cuts_ : ndarray of shape (n_views,)
        The cut value of ``labels_`` in every view; only where there are several. ``cut_value_`` is
        then what was minimised over all of them, Σ_v √cut_v, or with given weights Σ_v w_v cut_v.
    view_weights_ : ndarray of shape (n_views,)
        The weights of the views: 1 / (2 √cut_v) where they were learned, infinite where nothing is
        cut; only where there are several views. ``affinity_matrix_`` is then a list of graphs, and
        ``eigenvalues_`` and ``embedding_`` are those of the views, one after another.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features seen during fit, where X has them.

    Notes
    -----
    A parameter marked [spectral] raises with ``solver="multilevel"``, and one marked [multilevel]
    with ``solver="spectral"``. In a grid search over such a parameter, pass ``solver`` too, or
    leave None out of the grid: None is the other solver. A parameter that the affinity or the
    method does not have gives a warning, so one marked [anchors] with any other affinity.

    ``affinity="anchors"`` stores no edges. What needs them raises: the spectral solver, weights of
    samples, links, and :meth:`certify`. Both cuts are the same there, as every degree is 1.

    Examples
    --------
    >>> from leastcut import SpectralClustering
    >>> X = [[1, 1], [2, 1], [1, 0], [4, 7], [3, 5], [3, 6]]
    >>> model = SpectralClustering(n_clusters=2, n_neighbors=3, random_state=0).fit(X)
    >>> model.labels_[:3] == model.labels_[0], model.cut_value_
    (array([ True,  True,  True]), 0.0)
    >>> model.predict([[1, 2]]) == model.labels_[0]
    array([ True])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = CONSTRAINTS

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        eigen_solver: str | None = None,
        n_components: int | None = None,
        random_state: Any = None,
        n_init: int | None = None,
        gamma: float = 1.0,
        affinity: Any = "adaptive_neighbors",
        n_neighbors: int | None = None,
        eigen_tol: float | str | None = None,
        assign_labels: str | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        verbose: bool | int = False,
        cut: str | npt.ArrayLike = "normalized",
        eta: Any = None,
        solver: str = "auto",
        refine: bool | None = None,
        effort: str | None = None,
        max_clusters: int | None = None,
        neighbors: str = "auto",
        device: str = "auto",
        metric: Any = "euclidean",
        n_anchors: int = 1000,
        max_memory: int | str | None = None,
        folder: Any = None,
        balance: Any = None,
        views: Any = None,
        view_weights: Any = "auto",
    ) -> None:
        self.n_clusters = n_clusters
        self.eigen_solver = eigen_solver
        self.n_components = n_components
        self.random_state = random_state
        self.n_init = n_init
        self.gamma = gamma
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.eigen_tol = eigen_tol
        self.assign_labels = assign_labels
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.cut = cut
        self.eta = eta
        self.solver = solver
        self.refine = refine
        self.effort = effort
        self.max_clusters = max_clusters
        self.neighbors = neighbors
        self.device = device
        self.metric = metric
        self.n_anchors = n_anchors
        self.max_memory = max_memory
        self.folder = folder
        self.balance = balance
        self.views = views
        self.view_weights = view_weights

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: npt.ArrayLike | None = None,
        must_link: npt.ArrayLike | None = None,
        cannot_link: npt.ArrayLike | None = None,
    ) -> Self:
        """Make the graph of X and cut it.

        Parameters
        ----------
        X : {array-like, sparse matrix, GPU tensor} of shape (n_samples, n_features) or \
                (n_samples, n_samples)
            Samples, which may be mapped from a file or lie on a GPU as a tensor of PyTorch or an
            array of CuPy; affinities between them, or a graph of another library, if
            ``affinity="precomputed"``; distances between them if
            ``affinity="precomputed_nearest_neighbors"``. With ``affinity="anchors"`` also what is
            read block by block: the path of an ``.npy`` or Parquet file, arrays of zarr and h5py,
            and whatever else :func:`leastcut.anchor_graph` takes. A list of such matrices is one
            for every view of the same samples.
        y : Ignored
            Present for API consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            Positive: how much a sample counts in its cluster. Every node weighs so many times what
            ``cut`` has it weigh. It is not as if the sample came more than once: a copy would have
            edges of its own. A new sample weighs as much as the mean.
        must_link : array-like of shape (m, 2), default=None
            Pairs of sample numbers: the samples of each pair are in one cluster, and with them all
            that further pairs join to them.
        cannot_link : array-like of shape (m, 2), default=None
            Pairs of sample numbers: the samples of each pair are in different clusters. Pairs that
            contradict each other or ``n_clusters`` raise. [multilevel]

        Returns
        -------
        self : object
        """
        parameters = self.get_params(deep=False)
        settings = resolve(parameters)
        self._forget()
        self.neighbors_recall_: float | None = None
        if self.verbose:
            from leastcut.progress import watch  # which few fits need

            watch()
        if self.affinity == ANCHORS:
            from leastcut.estimators.anchored import check_anchored, fit_anchored  # for large data

            asked = {"sample_weight": sample_weight, "must_link": must_link}
            asked["balance"] = self.balance
            check_anchored(parameters, settings, **asked, cannot_link=cannot_link)
            of_anchors = resolve_anchors(parameters)
            X = self._checked(X, reset=True)
            return self._keep(*fit_anchored(X, parameters, of_anchors, settings, self._say))
        if self._has_views(X):
            from leastcut.estimators.viewed import fit_viewed  # which few fits need

            asked = {"must_link": must_link, "cannot_link": cannot_link, "balance": self.balance}
            views = self._checked(X, reset=True)
            viewed = fit_viewed(self, views, settings, sample_weight, Fitted, **asked)
            self._keep(*viewed)
            self.view_cuts_, self.view_weights_ = viewed.fitted.cuts, viewed.fitted.weights
            return self
        if not (isinstance(self.view_weights, str) and self.view_weights == "auto"):
            warn_caller("view_weights has no effect: there is one view. views= makes several.")
        affinity, wanted = resolve_affinity(parameters)
        X = self._checked(X, reset=True)
        cut, seed = as_cut(self.cut, X.shape[0]), fit_seed(self.random_state)
        if sample_weight is not None:
            from leastcut.estimators.sample_weights import weighted  # which few fits need

            cut = weighted(cut, sample_weight, X.shape[0])
        options = affinity.limited(X.shape[0], wanted)
        constraints = read_constraints(
            must_link, cannot_link, X.shape[0], self.n_clusters, settings
        )

        # From samples to a graph, checked once, and to its nodes that can be cut.
        begin = perf_counter()
        if affinity.takes == "samples" and X.shape[0] == X.shape[1]:
            from leastcut.affinity.square_check import warn_of_graph  # which few samples are

            warn_of_graph(X)
        matrix, graph = self._graph(affinity, X, options, seed)
        made = perf_counter()
        problem = Problem(graph, cut.node_weights(graph), constraints)
        nodes = graph.connected
        self._report_graph(graph, nodes, made - begin)

        # From the graph to labels, and to those of the nodes without edges.
        chosen, known, n_clusters = None, None, self.n_clusters
        if n_clusters == "auto":
            from leastcut.estimators.chosen_number import choose_told  # which few fits need

            chosen = choose_told(
                problem.unconstrained().restrict(nodes),
                self.max_clusters,
                settings,
                seed,
                self._say,
            )
            # Where there is nothing to choose from there is one cluster.
            n_clusters = 1 if chosen is None else chosen.choice.n_clusters
            known = None if chosen is None else chosen.known
        n_clusters = int(n_clusters)
        found = cut_problem(problem, n_clusters, settings, seed, known, self._say)
        labels = number_by_appearance(found.labels)

        sums = problem.boundaries(labels), problem.cluster_weights(labels)
        path = None
        if chosen is not None:
            own = number_by_appearance(labels[nodes])
            every = self.node_names_
            names = None if every is None else tuple(every[node] for node in nodes)
            core = problem.unconstrained().restrict(nodes)
            path = chosen.path(core, matrix, cut, own, settings, seed, names)
        fitted = Fitted(
            X,
            matrix,
            labels,
            n_clusters,
            affinity,
            options,
            cut,
            sums,
            settings,
            seed,
            found.relaxation,
            constraints,
        )
        self._say(
            f"{n_clusters} clusters, cut value {fitted.cut_value:.6g}: graph "
            f"{made - begin:.2f} s, cut {perf_counter() - made:.2f} s"
        )
        return self._keep(fitted, found.n_iter, path)

    def _forget(self) -> None:
        """Drop what an earlier fit left, so that only the fit that follows counts."""
        for name in [name for name in vars(self) if name.endswith("_") or name in PRIVATE]:
            delattr(self, name)

    def _keep(
        self, fitted: Fitted | FittedAnchors | FittedViews, n_iter: int, path: CutPath | None
    ) -> Self:
        """Keep what a fit found."""
        self._fitted = fitted
        self.labels_ = fitted.labels
        self.n_clusters_ = fitted.n_clusters
        self.cut_value_ = fitted.cut_value
        self.affinity_matrix_ = fitted.matrix
        self.solver_ = fitted.solver
        self.n_iter_ = n_iter
        if path is not None:
            self.cut_path_ = path
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Assign new samples to the clusters, without changing them.

        Each goes to the cluster where it changes the cut least, through its affinities to the
        training samples. One without any affinity goes where the nearest training sample is; for
        precomputed affinities, to the cluster nearest to the origin of the embedding, which is
        where a sample without affinities lies.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_new, n_features) or (n_new, n_samples)
            New samples, wherever ``fit`` takes them from; or their affinities to (distances from)
            the training samples, if that is what ``fit`` was given.

        Returns
        -------
        labels : ndarray of shape (n_new,)
        """
        check_is_fitted(self)
        return self._fitted.predict(self._checked(X, reset=False))

    def transform(self, X: Any) -> np.ndarray:
        """Return where samples lie in the embedding.

        Training samples are where ``embedding_`` has them. A new sample with affinities s_j to
        them, which add up to d, and the weight b that ``cut`` gives it, is at
        Σ_j s_j e_j / (d − λ b) in every component with eigenvalue λ, where e_j are the rows of
        ``embedding_``: the equation that those solve, too (Nyström). For the normalized cut that is
        the weighted mean of e_j over 1 − λ. Where d is not above λ b there is no such place, and it
        is at 0 in that component; without any affinity it is at the origin. A warning tells. With
        anchors it is where a training sample with the same ties would be.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_new, n_samples)
            As :meth:`predict` takes them.

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
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
        check_is_fitted(self)
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

        It is :func:`leastcut.certify` of the labels on the graph of the fit, and keeps to the links
        that the fit was given. It renews ``lower_bound_`` and ``gap_``, and where better labels are
        found ``labels_`` and ``cut_value_``.

        Parameters
        ----------
        gap : float, default=0.0
            The gap that is enough, as a part of the cut value, below 1.
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
        fitted = self._fitted = self._fitted.certify(gap, time_limit, callback)
        self.labels_, self.cut_value_ = fitted.labels, fitted.cut_value
        return Partition(self.labels_, self.cut_value_, fitted.certified, self.node_names_)

    def by_node(self) -> dict[Any, int]:
        """Return the cluster of every node by its name, where the graph that was fitted has names.

        Returns
        -------
        dict
            ``{name: cluster}``, in the order of ``labels_``.
        """
        check_is_fitted(self, "labels_")
        return Partition(self.labels_, self.cut_value_, None, self.node_names_).by_node()

    def plot(self, kind: str = "embedding", **options: Any) -> Any:
        """Draw what the fit found; needs ``leastcut[plot]``.

        Parameters
        ----------
        kind : {"embedding", "affinity", "sizes", "graph", "evidence", "cut_values"}, \
                default="embedding"
            A picture of clusters or paths in :data:`leastcut.plot.PICTURES`; those of paths need
            ``n_clusters="auto"``.
        **options
            Further arguments of the picture, such as ``ax``.

        Returns
        -------
        Axes
        """
        check_is_fitted(self, "labels_")
        from leastcut.plot import draw  # which few models need

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
        gap = Partition(self.labels_, self.cut_value_, self.lower_bound_).gap
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

    def _checked(self, X: Any, reset: bool) -> Any:
        """Return X as scikit-learn validates it: finite, float32 or float64, sparse as CSR."""
        # Before scikit-learn's own checks, which take what lies under a mask for data.
        refuse_masked("X", X)
        if self._has_views(X, reset):
            from leastcut.estimators.view_inputs import checked_views

            return checked_views(self, X, reset)
        is_anchored = self.affinity == ANCHORS
        if is_anchored and type(X) is not np.ndarray:
            from leastcut.estimators.anchored import lies_elsewhere, shape_of

            if lies_elsewhere(X):
                self._count(shape_of(X), reset)
                return X
        if is_on_gpu(X):
            return self._checked_on_gpu(X, reset)
        names = None
        if not (isinstance(X, np.ndarray) or sp.issparse(X)):
            from leastcut.estimators.given_graph import read_given  # which arrays do not need

            n_known = None if reset else self.n_features_in_
            is_own = self.affinity in (ANCHORS, LEARNED)  # which are those of the estimator alone
            takes = "samples" if is_own else affinity_of(self.affinity).takes
            X, names = read_given(X, takes, self.affinity, n_known)
        # scikit-learn takes words for numbers, and trusts the index arrays of sparse matrices.
        check_matrix("X", X)
        if reset:
            self.node_names_: tuple[Any, ...] | None = names
        # scikit-learn adds duplicates up in the type they come in, where small integers would wrap.
        if sp.issparse(X) and X.dtype.kind in "biu":
            X = X.astype(np.float64)
        X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32])
        if reset:
            check_counts(self.get_params(deep=False), X.shape[0])
        return X

    def _has_views(self, X: Any, reset: bool = True) -> bool:
        """Whether X is several views, or is to be because the fit was to several."""
        if not reset:
            return hasattr(self, "view_cuts_")
        several = self.views is not None or isinstance(self.affinity, list)
        if not several and not isinstance(X, list | tuple):
            return False
        from leastcut.estimators.view_inputs import is_viewed  # which few fits need

        return is_viewed(X, self)

    def _checked_on_gpu(self, X: Any, reset: bool) -> Any:
        """Return samples on a GPU as a tensor there, or new ones on the host."""
        from leastcut.affinity.neighbors.devices import check_gpu_samples, on_host

        X = check_gpu_samples(X)
        if not reset:
            return self._checked(on_host(X), reset=False)
        known = AFFINITIES.get(self.affinity) if isinstance(self.affinity, str) else None
        if self.affinity != LEARNED and (known is None or not known.searches):
            return self._checked(on_host(X), reset=True)
        self._count(X.shape, reset)
        return X

    def _count(self, shape: tuple[int, int], reset: bool) -> None:
        """Note the features of samples that scikit-learn does not look at, or compare them."""
        if reset:
            self.node_names_ = None
            self.n_features_in_ = shape[1]
            self.__dict__.pop("feature_names_in_", None)
            check_counts(self.get_params(deep=False), shape[0])
        elif shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {shape[1]} features, but SpectralClustering is expecting "
                f"{self.n_features_in_} features as input."
            )

    def _graph(
        self, affinity: Affinity, X: Any, options: dict[str, Any], seed: int
    ) -> tuple[Any, Graph]:
        """Return the graph of X, as a matrix and checked."""
        if not affinity.searches:
            matrix = affinity.graph(X, **options)
            return matrix, as_graph(matrix)

        def listen(told: NeighborSearch) -> None:
            self.neighbors_recall_ = told.recall
            self._say(told)

        matrix = affinity.graph(
            X,
            **options,
            neighbors=self.neighbors,
            device=self.device,
            random_state=seed,
            callback=listen,
        )
        # Symmetric and positive by construction: nothing is left to check.
        return matrix, Graph(matrix.indptr, matrix.indices, matrix.data)

    def _report_graph(self, graph: Graph, nodes: np.ndarray, seconds: float) -> None:
        """Tell how large the graph is, and warn of nodes that it does not join to any other."""
        self._say(
            f"Graph of {nodes.size} nodes and {graph.n_stored} stored weights, {seconds:.2f} s"
        )
        count = graph.n_nodes - nodes.size
        if count:
            place = (
                "The others were cut without them, and they joined the clusters where they change "
                "the cut value least."
                if self.balance is None
                else "They count in the balance for what the cut weighs them."
            )
            warnings.warn(
                f"{count} of {graph.n_nodes} nodes {'has' if count == 1 else 'have'} no edges. "
                f"{place}",
                UserWarning,
                stacklevel=4,
            )

    def _say(self, line: object) -> None:
        if self.verbose:
            sys.stdout.write(f"[SpectralClustering] {line}\n")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.affinity != ANCHORS
        known = AFFINITIES.get(self.affinity) if isinstance(self.affinity, str) else None
        pairwise = known is not None and known.takes != "samples"
        tags.input_tags.pairwise = pairwise
        tags.input_tags.positive_only = pairwise
        return tags

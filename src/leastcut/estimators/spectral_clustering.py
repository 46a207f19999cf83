"""``SpectralClustering``: a replacement for scikit-learn's estimator of the same name."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any, ClassVar, Self

import numpy.typing as npt
from sklearn.base import _fit_context
from sklearn.utils.validation import _check_n_features

from leastcut.affinity import AFFINITIES, affinity_of
from leastcut.affinity.affinity import Affinity
from leastcut.affinity.neighbors.devices import check_gpu_samples, on_host
from leastcut.estimators.base import BaseClustering
from leastcut.estimators.fitted import FittedGraph
from leastcut.estimators.inputs import (
    check_counts,
    make_graph,
    read_input,
    validated,
    warn_of_isolated,
)
from leastcut.estimators.new_samples import TrainingSamples
from leastcut.estimators.parameters import CONSTRAINTS, resolve, resolve_affinities
from leastcut.estimators.solvers import cut_problem, read_constraints
from leastcut.problem import Problem, as_cut
from leastcut.seeds import fit_seed
from leastcut.validation import is_on_gpu, number_by_appearance


class SpectralClustering(BaseClustering):
    """Spectral clustering that minimizes the graph cut and bounds its optimality gap.

    Replaces ``sklearn.cluster.SpectralClustering``, with the same parameters and attributes. It
    adds the cut value, a proven lower bound on it, :meth:`predict`, and a choice of the number of
    clusters. Parameters marked [spectral] or [multilevel] belong to that ``solver``.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        The number of clusters to form. ``"auto"`` chooses a number from 1 to ``max_clusters`` by
        the eigenpairs of the graph, and warns if the evidence is weak; see ``cut_path_``.
    eigen_solver : {None, "arpack", "lobpcg", "amg", ...} or callable, default=None
        The eigensolver: a key of :data:`leastcut.EIGENSOLVERS`, a function with their signature, or
        "arpack", scikit-learn's name for "shift_invert". None chooses by the size and shape of the
        graph. "amg" requires pyamg. [spectral]
    n_components : int, default=None
        Number of eigenvectors used for the labels and the embedding; None means ``n_clusters``.
        [spectral]
    random_state : int, RandomState instance or None, default=None
        Seed. Pass an int for reproducible labels, on any number of threads.
    n_init : int, default=None
        Number of starts of ``assign_labels``; the labels with the smallest cut value are used. None
        means 10. [spectral]
    gamma : float, default=1.0
        Kernel coefficient for rbf, poly, sigmoid, laplacian and chi2 kernels.
    affinity : str or callable, default="adaptive_neighbors"
        How to construct the graph.

        - "adaptive_neighbors", "nearest_neighbors", "self_tuning": sparse graphs of
          ``n_neighbors`` neighbors; see :data:`leastcut.AFFINITIES`.
        - "rbf" or another kernel of ``sklearn.metrics.pairwise.pairwise_kernels``, or a callable
          of two samples: dense n_samples × n_samples matrices.
        - "learned": a graph that is learned together with the clusters, with one component for
          each; see :func:`leastcut.learned_graph`, to which ``solver`` is passed.
        - "precomputed": X is a matrix of affinities, or a graph of networkx, igraph,
          torch_geometric, pandas (an edge list) or AnnData.
        - "precomputed_nearest_neighbors": X is a matrix of distances, from which the graph of
          ``n_neighbors`` nearest neighbors is constructed.
        - any other name that was added to :data:`leastcut.AFFINITIES`.
    n_neighbors : int, default=None
        Number of neighbors of a sample, including the sample itself. None means 10. It is reduced
        if there are fewer samples.
    eigen_tol : float or "auto", default=None
        Relative tolerance of the eigenpairs. None and "auto" mean the default of the eigensolver.
        [spectral]
    assign_labels : str or callable, default=None
        The method that computes labels from eigenvectors: "first_order", "kmeans", "kmeans_norm",
        "rotation", "unscaled_rotation", "improved_rotation", "cluster_qr", another key of
        :data:`leastcut.DISCRETIZERS`, a function as in :func:`leastcut.discretize`, or
        "discretize", scikit-learn's name for "rotation". None means "first_order". [spectral]
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Zero coefficient for polynomial and sigmoid kernels.
    kernel_params : dict, default=None
        Keyword arguments of a callable affinity; or ``offset``, ``include_self``,
        ``scale_neighbor``, ``metric_params`` and ``max_iter`` of the other affinities.
    n_jobs : int, default=None
        Number of threads; -1 means one per available core. None means the same for the neighbor
        search, and at most 8 for the multilevel solver. The result does not depend on it.
    verbose : bool, default=False
        Whether to log the steps to standard output, and to show a progress bar on the standard
        error if the search takes more than a second. The bar requires tqdm
        (``leastcut[progress]``); otherwise lines are written.
    cut : {"normalized", "ratio"} or array-like of shape (n_samples,), default="normalized"
        The cut to minimize, or a positive weight for every sample.
    eta : float, sequence of floats, "auto" or "adaptive", default=None
        Weight of the first-order term of "first_order". Several values, or those of "auto", are
        compared by cut value; "adaptive" compares values at every sweep. None means "auto".
        [spectral]
    solver : {"auto", "spectral", "multilevel"}, default="auto"
        "multilevel" is the search of :func:`leastcut.partition`; "spectral" relaxes, discretizes
        and refines. "auto" uses "multilevel" unless a parameter marked [spectral] is passed.
    refine : bool, default=None
        Whether spectral labels are improved by moving single nodes; None means True. [spectral]
    effort : {"fast", "auto", "balanced", "thorough"}, default=None
        Effort of the multilevel search; see :func:`leastcut.partition`. None means "auto".
        [multilevel]
    max_clusters : int, default=None
        Largest number of clusters that ``n_clusters="auto"`` considers; None means 20.
    neighbors : {"auto", "exact", "approximate"}, default="auto"
        The neighbor search. "auto" is exact if that is estimated to take a few seconds, or less
        than an approximate search. The fraction of neighbors found is ``neighbors_recall_``.
    device : {"auto", "cpu", "cuda"}, default="auto"
        The device of the neighbor search. "cuda" is exact and requires ``leastcut[gpu]``. "auto"
        uses a GPU if X is on it, or if there is one and the CPU is estimated to take long.
    metric : str or callable, default="euclidean"
        Metric of the neighbor graphs: "euclidean", "cosine", "correlation", another metric of
        scikit-learn, or a function of two samples; see :func:`leastcut.adaptive_neighbors_graph`.
    balance : float or pair of floats, default=None
        No cluster weighs more than ``1 + balance`` times the average, by the weights of ``cut``. A
        pair ``(below, above)`` limits both sides; see :func:`leastcut.partition`. [multilevel]

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of every sample, 0..n_clusters_-1. No cluster is empty.
    n_clusters_ : int
        The number of clusters.
    cut_value_ : float
        The cut value of ``labels_``.
    lower_bound_ : float
        Lower bound on the cut value of every partition into ``n_clusters_`` clusters. Computed on
        first access; :meth:`certify` proves a larger one.
    gap_ : float
        Relative optimality gap, ``(cut_value_ − lower_bound_) / cut_value_``.
    affinity_matrix_ : ndarray or csr_array of shape (n_samples, n_samples)
        The graph.
    neighbors_recall_ : float or None
        Fraction of the true nearest neighbors in the graph: 1.0 for an exact search, otherwise
        measured on a sample of rows. None if the affinity does not search for neighbors.
    eigenvalues_ : ndarray
        The smallest eigenvalues of the graph's operator. Computed on first access.
    embedding_ : ndarray of shape (n_samples, n_components)
        The rows of the eigenvectors, scaled so that disconnected clusters are mapped to single
        points. Computed on first access.
    n_iter_ : int
        Number of iterations of the discretization, or of rounds of the multilevel search.
    solver_ : str
        The solver that was used.
    cut_path_ : CutPath
        The partitions and the evidence behind ``n_clusters="auto"``, for the nodes with edges.
        Computed on first access, except for the choice. Its search has the effort of the fit, and
        is not limited by ``balance``; its partition into ``n_clusters_`` clusters is no worse than
        the fitted one. Available with ``n_clusters="auto"`` only.
    node_names_ : tuple or None
        The names of the nodes, if X is a graph with names; see :meth:`by_node`.
    n_features_in_ : int
        Number of features seen during :term:`fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features seen during :term:`fit`, if X has feature names.

    See Also
    --------
    AnchorSpectralClustering : Clustering of large data through a small number of anchors.
    MultiViewSpectralClustering : One partition of several graphs of the same samples.
    partition : The multilevel search on a graph.
    sklearn.cluster.SpectralClustering : The estimator that this one replaces.

    Notes
    -----
    A parameter marked [spectral] raises with ``solver="multilevel"``, and one marked [multilevel]
    with ``solver="spectral"``. In a grid search over such a parameter, also pass ``solver``, or
    omit None from the grid, as None selects the other solver. A parameter that the affinity or the
    method does not use gives a warning.

    References
    ----------
    J. Shi, J. Malik, "Normalized cuts and image segmentation", IEEE Transactions on Pattern
    Analysis and Machine Intelligence 22 (2000).

    U. von Luxburg, "A tutorial on spectral clustering", Statistics and Computing 17 (2007).

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
        eigen_solver: Any = None,
        n_components: int | None = None,
        random_state: Any = None,
        n_init: int | None = None,
        gamma: float = 1.0,
        affinity: Any = "adaptive_neighbors",
        n_neighbors: int | None = None,
        eigen_tol: float | str | None = None,
        assign_labels: Any = None,
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
        balance: Any = None,
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
        self.balance = balance

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
        """Construct the graph of X and cut it.

        Parameters
        ----------
        X : {array-like, sparse matrix, GPU tensor} of shape (n_samples, n_features) or \
                (n_samples, n_samples)
            Samples, which may be a memory-mapped array, or a PyTorch tensor or CuPy array on a GPU.
            If ``affinity="precomputed"``, a matrix of affinities or a graph of another library. If
            ``affinity="precomputed_nearest_neighbors"``, a matrix of distances.
        y : Ignored
            Not used, present for API consistency by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Positive weights of the samples, by which the node weights of ``cut`` are multiplied. A
            weight of 2 is not equivalent to a duplicate, which would have edges of its own. New
            samples have the mean weight.
        must_link : array-like of shape (m, 2), default=None
            Pairs of sample indices that must be in the same cluster.
        cannot_link : array-like of shape (m, 2), default=None
            Pairs of sample indices that must be in different clusters. [multilevel]

        Returns
        -------
        self : object
            Fitted estimator.
        """
        # 1. Check all input.
        parameters = self.get_params(deep=False)
        settings = resolve(parameters)
        self._reset_fit()
        ((affinity, requested),) = resolve_affinities(parameters, [self.affinity])
        X = self._validated(X, reset=True)
        n_samples = X.shape[0]
        check_counts(parameters, n_samples)
        settings = replace(settings, seed=fit_seed(self.random_state))
        cut = as_cut(self.cut, n_samples).weighted(sample_weight, n_samples)
        options = affinity.limited(n_samples, requested)
        constraints = read_constraints(must_link, cannot_link, n_samples, self.n_clusters, settings)
        # 2. Construct the graph and the problem.
        began = perf_counter()
        matrix, graph = make_graph(self, affinity, X, options, settings.seed)
        graph_seconds = perf_counter() - began
        problem = Problem(graph, cut.node_weights(graph), constraints)
        self._log(
            f"Graph of {graph.connected.size} nodes and {graph.n_stored} stored weights, "
            f"{graph_seconds:.2f} s"
        )
        warn_of_isolated(
            graph,
            ". The graph was cut without them, and they were assigned to the clusters where they "
            "change the cut value least."
            if self.balance is None
            else ". They count in the balance with the weight that the cut gives them.",
        )
        # 3. Compute the labels.
        n_clusters, chosen = self._resolve_n_clusters(problem, self.max_clusters, settings)
        known = None if chosen is None else chosen.relaxation
        outcome = cut_problem(problem, n_clusters, settings, known, self._log)
        # 4. Set the attributes.
        labels = number_by_appearance(outcome.labels)
        samples = TrainingSamples(affinity, options, X, matrix)
        fitted = FittedGraph.of(problem, labels, cut, samples, settings, outcome.relaxation)
        self._set_fitted(fitted, outcome.n_iter, settings.solver)
        if chosen is not None:
            names = self.node_names_
            if names is not None:
                names = tuple(names[node] for node in graph.connected)
            self._set_path(problem.core, chosen, names)
        self._log(
            f"{n_clusters} clusters, cut value {fitted.cut_value:.6g}: "
            f"graph {graph_seconds:.2f} s, cut {perf_counter() - began - graph_seconds:.2f} s"
        )
        return self

    def _validated(self, X: Any, reset: bool) -> Any:
        """Return X validated by scikit-learn: finite, float32 or float64, sparse as CSR."""
        affinity = affinity_of(self.affinity)
        if is_on_gpu(X):
            X = check_gpu_samples(X)
            if reset and affinity.searches:
                self.node_names_ = None
                _check_n_features(self, X, reset=True)
                return X
            X = on_host(X)
        X, names = read_input(
            X, affinity.takes, self.affinity, None if reset else self.n_features_in_
        )
        if reset:
            self.node_names_ = names
        return validated(self, X, reset)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        affinity: Any = self.affinity
        affinity = AFFINITIES.get(affinity) if isinstance(affinity, str) else affinity
        pairwise = isinstance(affinity, Affinity) and affinity.takes != "samples"
        tags.input_tags.pairwise = pairwise
        tags.input_tags.positive_only = pairwise
        return tags

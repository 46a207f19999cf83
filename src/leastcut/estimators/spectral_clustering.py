"""The swap for scikit-learn's ``SpectralClustering``, with a smaller cut and its value."""

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
    """Cluster samples, or a graph, by the smallest cut that can be found.

    It replaces ``sklearn.cluster.SpectralClustering``: it has the same parameters and attributes,
    and adds the cut value, a proven bound on how much smaller it could be, ``predict``, and a
    choice of the number of clusters.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters. ``"auto"`` takes the number, from 1 to ``max_clusters``, that the
        eigenpairs of the graph indicate, and warns if the evidence is weak; see ``cut_path_``.
    eigen_solver : {None, "arpack", "lobpcg", "amg", ...} or callable, default=None
        How eigenvectors are computed: a name in :data:`leastcut.EIGENSOLVERS`, a function with
        their signature, or "arpack", scikit-learn's name of "shift_invert". None chooses by the
        size and shape of the graph; "amg" needs pyamg. [spectral]
    n_components : int, default=None
        Number of eigenvectors that labels are made of; None means ``n_clusters``. The number of
        clusters is ``n_clusters`` whatever it is. [spectral]
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
          ``n_neighbors`` neighbors, see :data:`leastcut.AFFINITIES`.
        - "rbf" or another kernel of ``sklearn.metrics.pairwise.pairwise_kernels``, or a callable
          that takes two samples: all pairs, so n² numbers.
        - "learned": a graph that is learned together with its clusters, one component for each;
          see :func:`leastcut.learned_graph`, whose ``solver`` is that of the estimator.
        - "precomputed": X is the graph: affinities between samples, or a graph of networkx,
          igraph, torch_geometric, pandas (an edge list) or AnnData.
        - "precomputed_nearest_neighbors": X is distances; each sample is joined to its
          ``n_neighbors`` nearest.
        - any other name that was added to :data:`leastcut.AFFINITIES`.
    n_neighbors : int, default=None
        Neighbors of a sample, itself included; None means 10. Reduced to the number of samples if
        that is smaller.
    eigen_tol : float or "auto", default=None
        Relative tolerance of the eigenpairs; None and "auto" mean the eigensolver's own.
        [spectral]
    assign_labels : str or callable, default=None
        How eigenvectors become labels: "first_order", "kmeans", "kmeans_norm", "rotation",
        "unscaled_rotation", "improved_rotation", "cluster_qr", a name that was added to
        :data:`leastcut.DISCRETIZERS`, a function as :func:`leastcut.discretize` takes it, or
        "discretize", scikit-learn's name of "rotation". None means "first_order". [spectral]
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict, default=None
        Keyword arguments of a callable affinity; or ``offset``, ``include_self``,
        ``scale_neighbor``, ``metric_params`` and ``max_iter`` of the neighbor graphs.
    n_jobs : int, default=None
        Threads of the neighbor search and of the multilevel solver; None and -1 mean one per
        available core. The result does not depend on it.
    verbose : bool, default=False
        Whether to report the steps on standard output, and to draw a progress bar on the standard
        error for a search that takes more than a second. The bar is tqdm's if that is installed
        (``leastcut[progress]``), and lines otherwise.
    cut : {"normalized", "ratio"} or array-like of shape (n_samples,), default="normalized"
        The objective: whether nodes weigh their degree, all the same, or as given.
    eta : float, sequence of floats, "auto" or "adaptive", default=None
        Weight of the first-order term of "first_order"; of several, or the ladder "auto", the
        smallest cut value decides, with "adaptive" at every sweep. None means "auto". [spectral]
    solver : {"auto", "spectral", "multilevel"}, default="auto"
        "multilevel" is :func:`leastcut.partition`; "spectral" is relax, discretize and refine.
        "auto" is multilevel unless a parameter marked [spectral] is given, that is, not None.
        ``solver_`` is the one that was used.
    refine : bool, default=None
        Whether the spectral labels are improved by moves of single nodes; None means True.
        [spectral]
    effort : {"fast", "auto", "balanced", "thorough"}, default=None
        How long the multilevel solver searches, see :func:`leastcut.partition`; None means "auto",
        "fast" or a quarter of the time of the graph's eigenvectors. [multilevel]
    max_clusters : int, default=None
        Largest number that ``n_clusters="auto"`` considers; None means 20.
    neighbors : {"auto", "exact", "approximate"}, default="auto"
        How the neighbors of samples are found. "auto" is exact if that is estimated to take
        seconds; ``neighbors_recall_`` is the fraction that was found.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where neighbors are searched: "cuda" is exact, on a GPU, and needs ``leastcut[gpu]``.
        "auto" is where X lies, and a GPU if there is one and the CPU would take long.
    metric : str or callable, default="euclidean"
        The metric of the neighbor graphs: "euclidean", "cosine", "correlation", another name of
        scikit-learn's, or a function of two samples; see
        :func:`leastcut.adaptive_neighbors_graph`. New samples are compared by it, too.
    balance : float or pair of floats, default=None
        No cluster weighs more than ``1 + balance`` times the average, by the weights of ``cut``; a
        pair ``(below, above)`` limits how light they are, too. See :func:`leastcut.partition`.
        [multilevel]

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
    affinity_matrix_ : ndarray or csr_array of shape (n_samples, n_samples)
        The graph.
    neighbors_recall_ : float or None
        The fraction of the nearest neighbors that the graph was made of: 1.0 of an exact search,
        else measured on a sample of rows. None if the affinity searches no neighbors.
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
        The evidence for ``n_clusters="auto"``, and the reason of the choice; only then, and if two
        nodes have edges. It covers the nodes with edges. All but the choice is computed when first
        asked for. The effort is that of the fit, and the partition into ``n_clusters_`` clusters is
        no worse than the fitted one; ``balance`` does not limit those of the path.
    node_names_ : tuple or None
        The names of the nodes, if X is a graph that has names; see :meth:`by_node`.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features seen during fit, where X has them.

    See Also
    --------
    AnchorSpectralClustering : For data of any size: samples are joined through few anchors.
    MultiViewSpectralClustering : One partition of several graphs of the same samples.
    partition : The search itself, on a graph.

    Notes
    -----
    A parameter marked [spectral] raises with ``solver="multilevel"``, and one marked [multilevel]
    with ``solver="spectral"``. In a grid search over such a parameter, pass ``solver`` too, or
    leave None out of the grid: None is the other solver. A parameter that the affinity or the
    method does not have gives a warning.

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
        """Make the graph of X and cut it.

        Parameters
        ----------
        X : {array-like, sparse matrix, GPU tensor} of shape (n_samples, n_features) or \
                (n_samples, n_samples)
            Samples, which may be mapped from a file or lie on a GPU as a tensor of PyTorch or an
            array of CuPy; affinities between them, or a graph of another library, if
            ``affinity="precomputed"``; distances between them if
            ``affinity="precomputed_nearest_neighbors"``.
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
        # 1. Check everything.
        parameters = self.get_params(deep=False)
        settings = resolve(parameters)
        self._begin()
        ((affinity, wanted),) = resolve_affinities(parameters, [self.affinity])
        X = self._checked(X, reset=True)
        n_samples = X.shape[0]
        check_counts(parameters, n_samples)
        settings = replace(settings, seed=fit_seed(self.random_state))
        cut = as_cut(self.cut, n_samples).weighted(sample_weight, n_samples)
        options = affinity.limited(n_samples, wanted)
        constraints = read_constraints(must_link, cannot_link, n_samples, self.n_clusters, settings)
        # 2. From samples to a graph, and to the problem of cutting it.
        began = perf_counter()
        matrix, graph = make_graph(self, affinity, X, options, settings.seed)
        made = perf_counter()
        problem = Problem(graph, cut.node_weights(graph), constraints)
        self._log(
            f"Graph of {graph.connected.size} nodes and {graph.n_stored} stored weights, "
            f"{made - began:.2f} s"
        )
        warn_of_isolated(
            graph,
            ". The others were cut without them, and they joined the clusters where they change "
            "the cut value least."
            if self.balance is None
            else ". They count in the balance with the weight that the cut gives them.",
        )
        # 3. From the problem to labels.
        n_clusters, chosen = self._number(problem, self.max_clusters, settings)
        known = None if chosen is None else chosen.relaxation
        found = cut_problem(problem, n_clusters, settings, known, self._log)
        # 4. Keep what later questions need.
        labels = number_by_appearance(found.labels)
        samples = TrainingSamples(affinity, options, X, matrix)
        fitted = FittedGraph.of(problem, labels, cut, samples, settings, found.relaxation)
        self._keep(fitted, found.n_iter, settings.solver)
        if chosen is not None:
            names = self.node_names_
            if names is not None:
                names = tuple(names[node] for node in graph.connected)
            self._keep_path(problem.core, chosen, names)
        self._log(
            f"{n_clusters} clusters, cut value {fitted.cut_value:.6g}: graph {made - began:.2f} s, "
            f"cut {perf_counter() - made:.2f} s"
        )
        return self

    def _checked(self, X: Any, reset: bool) -> Any:
        """Return X as scikit-learn validates it: finite, float32 or float64, sparse as CSR."""
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
        found: Any = self.affinity
        found = AFFINITIES.get(found) if isinstance(found, str) else found
        pairwise = isinstance(found, Affinity) and found.takes != "samples"
        tags.input_tags.pairwise = pairwise
        tags.input_tags.positive_only = pairwise
        return tags

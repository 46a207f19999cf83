"""The estimator: scikit-learn's ``SpectralClustering`` with a smaller cut, and its value told."""

from __future__ import annotations

import inspect
import sys
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClusterMixin, _fit_context
from sklearn.metrics.pairwise import KERNEL_PARAMS
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from firstcut.affinity import AFFINITIES
from firstcut.cuts import CUTS
from firstcut.discretizers import options_of
from firstcut.estimator.assignment import assignment_of
from firstcut.estimator.choices import assign_names, check_method, choose_solver, eigensolver_name
from firstcut.estimator.isolated import Core, connected_core
from firstcut.estimator.path import path_of
from firstcut.estimator.placement import Placement
from firstcut.estimator.roads import ROADS, Request
from firstcut.estimator.similarities import PRECOMPUTED, Reference, Similarity
from firstcut.estimator.spectrum import Spectrum
from firstcut.graph import as_graph
from firstcut.partitioning.search import EFFORTS
from firstcut.result import Partition

MAX_CLUSTERS = 20
"""The largest number of clusters that ``n_clusters="auto"`` considers, unless told otherwise."""


class SpectralClustering(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Cluster samples, or a graph, by the smallest cut that can be found.

    It takes the place of ``sklearn.cluster.SpectralClustering``: the same parameters, the same
    attributes, and beyond them the cut value, a proven bound on how much smaller it could be,
    ``predict``, and a choice of the number of clusters.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters. ``"auto"`` takes the number, from 2 to ``max_clusters``, after which
        the eigenvalues make their largest step.
    eigen_solver : {None, "arpack", "lobpcg", "amg"}, default=None
        How eigenvectors are computed. None chooses by the size and shape of the graph; "amg" needs
        pyamg. [spectral]
    n_components : int, default=None
        Number of eigenvectors that labels are made of; None means ``n_clusters``. The number of
        clusters is ``n_clusters`` whatever it is. [spectral]
    random_state : int, RandomState instance or None, default=None
        An int fixes the labels, on any number of threads.
    n_init : int, default=10
        Number of starts of ``assign_labels``, the best of which by cut value is taken. [spectral]
    gamma : float, default=1.0
        Coefficient of the rbf, poly, sigmoid, laplacian and chi2 kernels.
    affinity : str or callable, default="adaptive_neighbors"
        How the graph is made.

        - "adaptive_neighbors", "nearest_neighbors", "self_tuning": sparse graphs of
          ``n_neighbors`` neighbours, see :data:`firstcut.AFFINITIES`.
        - "rbf" or another kernel of ``sklearn.metrics.pairwise.pairwise_kernels``, or a callable
          that takes two samples: all pairs, so n² numbers.
        - "precomputed": X is the graph, affinities between samples.
        - "precomputed_nearest_neighbors": X is distances; each sample is joined to its
          ``n_neighbors`` nearest.
    n_neighbors : int, default=10
        Neighbours of a sample, itself included; cut down to the number of samples where that is
        smaller.
    eigen_tol : float or "auto", default="auto"
        Relative tolerance of the eigenpairs. [spectral]
    assign_labels : str, default="first_order"
        How eigenvectors become labels: "first_order", "kmeans", "kmeans_norm", "rotation",
        "improved_rotation", "cluster_qr", or "discretize", scikit-learn's name of "rotation".
        [spectral]
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict, default=None
        Keyword arguments of a callable affinity; or ``offset``, ``include_self`` and
        ``scale_neighbor`` of the neighbour graphs.
    n_jobs : int, default=None
        Threads of the neighbour search. The result does not depend on it.
    verbose : bool, default=False
        Whether to tell on standard output what is being done.
    cut : {"normalized", "ratio"} or array-like of shape (n_samples,), default="normalized"
        The objective: how nodes are weighed, by degree, equally, or as given.
    eta : float, sequence of floats or "auto", default="auto"
        Weight of the first-order term of "first_order"; of several, or the ladder "auto", the
        smallest cut value decides. [spectral]
    solver : {"auto", "spectral", "multilevel"}, default="auto"
        "multilevel" is :func:`firstcut.partition`; "spectral" is relax, discretize and refine.
        "auto" is multilevel unless a parameter marked [spectral] is given.
    refine : bool, default=True
        Whether the spectral labels are improved by moves of single nodes. [spectral]
    effort : {"fast", "balanced", "thorough"}, default="fast"
        How long the multilevel solver searches.
    max_clusters : int, default=None
        Largest number that ``n_clusters="auto"`` considers; None means 20.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of every sample, 0..n_clusters_-1, none empty.
    n_clusters_ : int
        The number of clusters.
    cut_value_ : float
        The cut value of ``labels_``.
    lower_bound_ : float
        No partition into as many clusters has a smaller cut value. Computed when first asked for.
    gap_ : float
        (cut_value_ − lower_bound_) / cut_value_: how much smaller a cut could be at most.
    affinity_matrix_ : ndarray or csr_array of shape (n_samples, n_samples)
        The graph.
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
        The evidence for ``n_clusters="auto"``; only then.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during fit, where X has them.

    Notes
    -----
    A parameter marked [spectral] raises with ``solver="multilevel"``, as ``effort`` does with
    ``solver="spectral"``; one that the affinity or the method does not have gives a warning.

    Examples
    --------
    >>> from firstcut import SpectralClustering
    >>> X = [[1, 1], [2, 1], [1, 0], [4, 7], [3, 5], [3, 6]]
    >>> model = SpectralClustering(n_clusters=2, n_neighbors=3, random_state=0).fit(X)
    >>> model.labels_[:3] == model.labels_[0], model.cut_value_
    (array([ True,  True,  True]), 0.0)
    >>> model.predict([[1, 2]]) == model.labels_[0]
    array([ True])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "eigen_solver": [StrOptions({"arpack", "lobpcg", "amg"}), None],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "gamma": [Interval(Real, 0, None, closed="left")],
        "affinity": [callable, StrOptions({*KERNEL_PARAMS, *AFFINITIES, *PRECOMPUTED})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "eigen_tol": [Interval(Real, 0.0, None, closed="left"), StrOptions({"auto"})],
        "assign_labels": [StrOptions(assign_names())],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "cut": [StrOptions(set(CUTS)), "array-like"],
        "eta": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"}), "array-like"],
        "solver": [StrOptions({"auto", "spectral", "multilevel"})],
        "refine": ["boolean"],
        "effort": [StrOptions(set(EFFORTS))],
        "max_clusters": [Interval(Integral, 2, None, closed="left"), None],
    }

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        eigen_solver: str | None = None,
        n_components: int | None = None,
        random_state: Any = None,
        n_init: int = 10,
        gamma: float = 1.0,
        affinity: Any = "adaptive_neighbors",
        n_neighbors: int = 10,
        eigen_tol: float | str = "auto",
        assign_labels: str = "first_order",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        verbose: bool | int = False,
        cut: str | npt.ArrayLike = "normalized",
        eta: Any = "auto",
        solver: str = "auto",
        refine: bool = True,
        effort: str = "fast",
        max_clusters: int | None = None,
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

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> Self:
        """Make the graph of X and cut it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or \
                (n_samples, n_samples)
            Samples; affinities between them if ``affinity="precomputed"``; distances between them
            if ``affinity="precomputed_nearest_neighbors"``.
        y : Ignored
            Present for API consistency.

        Returns
        -------
        self : object
        """
        solver, similarity, request = self._choose()
        X = self._checked(X, reset=True)

        matrix = similarity.graph(X)
        core = connected_core(as_graph(matrix), self.cut)
        self._report_graph(core)
        spectrum = Spectrum(matrix, self.cut, self._seed(), self._relax_options())
        n_clusters = self._count_clusters(core, spectrum)
        spectrum.n_clusters = n_clusters
        spectrum.n_components = self.n_components or n_clusters
        labels, n_iter = np.empty(0, dtype=np.int64), 0
        if core.nodes.size:
            labels, n_iter = ROADS[solver](core, core.n_clusters(n_clusters), spectrum, request)
        labels = _numbered_by_appearance(core.spread(labels, n_clusters))

        self.labels_ = labels
        self.n_clusters_ = n_clusters
        self.affinity_matrix_ = matrix
        self.solver_ = solver
        self.n_iter_ = n_iter
        self._spectrum = spectrum
        assignment = assignment_of(core, labels, self.cut)
        self._placement = Placement(Reference(similarity, X), assignment, spectrum)
        self.cut_value_ = assignment.value
        self._say(f"{n_clusters} clusters, cut value {self.cut_value_:.6g}")
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
            New samples; or their affinities to (distances from) the training samples, if that is
            what ``fit`` was given.

        Returns
        -------
        labels : ndarray of shape (n_new,)
        """
        check_is_fitted(self)
        return self._placement.place(self._checked(X, reset=False))[0]

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
        X = self._checked(X, reset=False)
        if self._placement.is_training_data(X):
            return -self.cut_value_
        labels, ties = self._placement.place(X)
        return -self._placement.assignment.value_with(ties, labels)

    @property
    def lower_bound_(self) -> float:
        """No partition into as many clusters has a smaller cut value."""
        check_is_fitted(self, "labels_")
        return min(self._spectrum.lower_bound, self.cut_value_)

    @property
    def gap_(self) -> float:
        """How far above the optimum the cut value can be, as a fraction of it."""
        gap = Partition(self.labels_, self.cut_value_, self.lower_bound_).gap
        return float(gap)  # type: ignore[arg-type]

    @property
    def eigenvalues_(self) -> np.ndarray:
        """The smallest eigenvalues of the graph's operator, ascending."""
        check_is_fitted(self, "labels_")
        return self._spectrum.relaxation.eigenvalues

    @property
    def embedding_(self) -> np.ndarray:
        """The rows of the eigenvectors, in the precision of X."""
        check_is_fitted(self, "labels_")
        dtype = np.float32 if self.affinity_matrix_.dtype == np.float32 else np.float64
        return self._spectrum.embedding.astype(dtype, copy=False)

    def _choose(self) -> tuple[str, Similarity, Request]:
        """Return the solver, the way to the graph and that to labels, if all parameters agree."""
        parameters = self.get_params(deep=False)
        signature = inspect.signature(SpectralClustering.__init__).parameters
        defaults = {name: parameter.default for name, parameter in signature.items()}
        if self.n_clusters != "auto" and int(self.n_clusters) > (self.max_clusters or np.inf):
            raise ValueError(
                f"n_clusters={self.n_clusters} is more than max_clusters={self.max_clusters}, "
                "which bounds the choice of n_clusters='auto'; leave max_clusters out."
            )
        solver = choose_solver(parameters, defaults)
        method = check_method(parameters, defaults)
        known = options_of(method)
        options = {name: parameters[name] for name in known if name in ("eta", "n_init")}
        similarity = Similarity(
            self.affinity,
            self.n_neighbors,
            self.gamma,
            self.degree,
            self.coef0,
            None if self.kernel_params is None else dict(self.kernel_params),
            self.n_jobs,
        )
        similarity.check()
        return solver, similarity, Request(method, options, self.refine, self.effort, self._say)

    def _checked(self, X: Any, reset: bool) -> Any:
        """Return X as scikit-learn validates it: finite, float32 or float64, sparse as CSR."""
        X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32])
        n_samples = X.shape[0]
        if reset:
            for name in ("n_clusters", "n_components"):
                wanted = getattr(self, name)
                if isinstance(wanted, Integral) and wanted > n_samples:
                    raise ValueError(
                        f"n_samples={n_samples} should be >= {name}={wanted}; ask for at most "
                        f"{n_samples}, or pass more samples."
                    )
        return X

    def _seed(self) -> int:
        """Return the integer that ``random_state`` stands for in this fit."""
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _relax_options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"solver": eigensolver_name(self.eigen_solver)}
        if self.eigen_tol != "auto":
            options["tol"] = max(float(self.eigen_tol), float(np.finfo(np.float64).eps))
        return options

    def _count_clusters(self, core: Core, spectrum: Spectrum) -> int:
        """Return the number of clusters, chosen by the largest eigengap if it is to be chosen."""
        self.__dict__.pop("cut_path_", None)  # an earlier fit may have left it
        if self.n_clusters != "auto":
            return int(self.n_clusters)
        most = min(self.max_clusters or MAX_CLUSTERS, core.nodes.size)
        if most < 2:
            return 1
        path = path_of(
            core.graph, range(2, most + 1), core.weights, spectrum.seed, **spectrum.options
        )
        self.cut_path_ = path
        spectrum.relaxation = path.relaxation
        self._say(f"Of 2 to {most} clusters the eigengap is largest at {path.best}")
        return path.best

    def _report_graph(self, core: Core) -> None:
        """Tell how large the graph is, and warn of nodes that it does not join to any other."""
        edges = core.graph.n_stored
        self._say(f"Graph of {core.nodes.size} nodes and {edges} stored weights")
        if core.n_isolated:
            count, total = core.n_isolated, core.n_isolated + core.nodes.size
            warnings.warn(
                f"{count} of {total} nodes {'has' if count == 1 else 'have'} no edges. The others "
                "were cut without them, and they joined the clusters where they change the cut "
                "value least.",
                UserWarning,
                stacklevel=4,
            )

    def _say(self, line: str) -> None:
        if self.verbose:
            sys.stdout.write(f"[SpectralClustering] {line}\n")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.affinity in PRECOMPUTED
        tags.input_tags.positive_only = self.affinity in PRECOMPUTED
        return tags


def _numbered_by_appearance(labels: np.ndarray) -> np.ndarray:
    """Return the labels renumbered so that clusters first appear in the order 0, 1, 2, …

    Equal partitions then have equal labels, by whatever road they were found.
    """
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(first.size, dtype=np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[inverse.reshape(-1)]

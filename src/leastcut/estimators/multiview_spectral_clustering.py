"""``MultiViewSpectralClustering``: one partition of several graphs of the same samples."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import _fit_context
from sklearn.utils._indexing import _get_column_indices, _safe_indexing
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_array, validate_data

from leastcut.affinity import AFFINITIES, affinity_of
from leastcut.budget import Budget
from leastcut.estimators.base import BaseClustering
from leastcut.estimators.fitted import Fitted, FittedGraph
from leastcut.estimators.inputs import (
    DTYPES,
    check_counts,
    is_list_of_views,
    make_graph,
    read_input,
    warn_of_isolated,
)
from leastcut.estimators.new_samples import Links, TrainingSamples
from leastcut.estimators.parameters import COUNT, Registered, constraints_of, resolve_affinities
from leastcut.estimators.solvers import Settings
from leastcut.multilevel.efforts import EFFORTS, SearchOptions
from leastcut.multiview.bounds import lower_bounds
from leastcut.multiview.partition_views import check_view_weights
from leastcut.multiview.problem import MultiViewProblem
from leastcut.multiview.search import solve_views
from leastcut.problem import Problem, as_cut
from leastcut.seeds import fit_seed
from leastcut.validation import check_matrix, refuse_masked


@dataclass(frozen=True, eq=False, repr=False)
class FittedViews(Fitted):
    """State of an estimator fitted to several views."""

    views: list[FittedGraph]
    problem: MultiViewProblem
    cuts: np.ndarray

    # -- eigenpairs

    @cached_property
    def lower_bound(self) -> float:
        """Lower bound on the objective of every partition into ``n_clusters`` clusters."""
        bounds = lower_bounds(self.problem, self.cuts, self.n_clusters)
        assert bounds.objective is not None  # there is no time limit
        return bounds.objective

    @property
    def eigenvalues(self) -> np.ndarray:
        """The concatenated eigenvalues of the views."""
        return np.concatenate([view.eigenvalues for view in self.views])

    @property
    def embedding(self) -> np.ndarray:
        """The concatenated columns of the embeddings of the views."""
        return np.hstack([view.embedding for view in self.views])

    # -- new samples

    def transform(self, X: list[Any]) -> np.ndarray:
        """Return the concatenated coordinates of samples in the embeddings of the views."""
        pairs = zip(self.views, X, strict=True)
        return np.hstack([view.transform(samples) for view, samples in pairs])

    def predict(self, X: list[Any]) -> np.ndarray:
        """Return the cluster of every sample where it increases the objective least."""
        return self._place(X)[0]

    def score(self, X: list[Any]) -> float:
        """Return the negative objective after adding samples, unless they are the training data."""
        if all(view.samples.equals(samples) for view, samples in zip(self.views, X, strict=True)):
            return -self.cut_value
        labels, links = self._place(X)
        pairs = zip(self.views, links, strict=True)
        grown = [view.clusters.value_with(link, labels) for view, link in pairs]
        return -self.problem.objective(np.array(grown))

    def _place(self, X: list[Any]) -> tuple[np.ndarray, list[Links]]:
        """Return the clusters of samples, and their links in every view.

        A sample without links in any view is assigned by the first view.
        """
        placed = [view.place(samples) for view, samples in zip(self.views, X, strict=True)]
        links = [link for _, link in placed]
        pairs = zip(self.views, links, strict=True)
        values = [view.clusters.values_with_each_node(link) for view, link in pairs]
        weights = self.problem.view_weights
        terms = np.sqrt(values) if weights is None else weights[:, None, None] * np.array(values)
        labels = np.argmin(np.sum(terms, axis=0), axis=1)
        unlinked = np.all([link.weight.sum(axis=1) == 0 for link in links], axis=0)
        labels[unlinked] = placed[0][0][unlinked]
        return labels, links

    def certify(self, gap: float, budget: Budget) -> NoReturn:
        """Raise ValueError, as only a single graph can be certified."""
        raise ValueError(
            "A proof is of one graph, but there are several views; lower_bound_ and gap_ are "
            "computed from eigenvalues. Pass one of affinity_matrix_ and labels_ to "
            "leastcut.certify."
        )


class MultiViewSpectralClustering(BaseClustering):
    """Spectral clustering of samples that are described by several views.

    A graph is constructed for every view, and one partition minimizes the sum Σ_v √cut_v over all
    views, which gives views with small cuts more weight; see :func:`leastcut.partition_views`.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters to form.
    views : list, default=None
        The columns of X of every view, as in scikit-learn's ``ColumnTransformer``: names or indices
        of columns, a slice, a mask, or a callable that selects columns from X. None means that X is
        a list of views, or that all columns are used with every affinity of a list.
    view_weights : {"auto", "equal"} or array-like of shape (n_views,), default="auto"
        The weights of the views. "auto" learns them; see :func:`leastcut.partition_views`.
    affinity : str, callable or list of such, default="adaptive_neighbors"
        How to construct the graph of every view, as in :class:`SpectralClustering`. A list has one
        affinity per view.
    n_components : int, default=None
        Number of columns of ``embedding_`` for every view; None means ``n_clusters``.
    n_neighbors : int, default=None
        Number of neighbors of a sample, including the sample itself. None means 10.
    cut : {"normalized", "ratio"} or array-like of shape (n_samples,), default="normalized"
        The cut to minimize, or a positive weight for every sample.
    effort : {"fast", "auto", "balanced", "thorough"}, default="auto"
        Effort of the search; see :func:`leastcut.partition_views`.
    gamma, degree, coef0 : float, default=1.0, 3 and 1
        Parameters of kernels, as in :class:`SpectralClustering`.
    kernel_params : dict, default=None
        Further parameters of the affinities, as in :class:`SpectralClustering`.
    neighbors, device : str, default="auto"
        Method and device of the neighbor search, as in :class:`SpectralClustering`.
    metric : str or callable, default="euclidean"
        Metric of the neighbor graphs.
    random_state : int, RandomState instance or None, default=None
        Seed. Pass an int for reproducible labels, on any number of threads.
    n_jobs : int, default=None
        Number of threads, as in :class:`SpectralClustering`.
    verbose : bool, default=False
        Whether to log the steps to standard output.

    Attributes
    ----------
    cut_value_ : float
        The objective: Σ_v √cut_v, or Σ_v w_v cut_v if weights are passed.
    view_cuts_ : ndarray of shape (n_views,)
        The cut value of ``labels_`` in every view.
    view_weights_ : ndarray of shape (n_views,)
        The weights of the views. Learned weights are 1 / (2 √cut_v), which is infinite if the cut
        value is 0.
    lower_bound_ : float
        Lower bound on the objective of every partition into ``n_clusters_`` clusters. Computed on
        first access.
    gap_ : float
        Relative optimality gap, ``(cut_value_ − lower_bound_) / cut_value_``.
    affinity_matrix_ : list of ndarray or csr_array of shape (n_samples, n_samples)
        The graphs.
    neighbors_recall_ : float or None
        The smallest recall of the neighbor searches of all views; see :class:`SpectralClustering`.
    eigenvalues_, embedding_ : ndarray
        The concatenated eigenvalues and embeddings of the views. Computed on first access.
    n_iter_ : int
        Number of rounds of weighting the views.
    solver_ : str
        "multilevel".
    node_names_ : tuple or None
        The names of the nodes, if a view is a graph with names; see :meth:`by_node`.
    labels_, n_clusters_, n_features_in_, feature_names_in_
        As in :class:`SpectralClustering`.

    See Also
    --------
    SpectralClustering : Clustering by one graph.
    partition_views : The search on several graphs.

    Notes
    -----
    New samples need all views. :meth:`certify` is not available, as it proves bounds for a single
    graph.

    References
    ----------
    F. Nie, J. Li, X. Li, "Parameter-free auto-weighted multiple graph learning: a framework for
    multiview clustering and semi-supervised classification", IJCAI 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from leastcut import MultiViewSpectralClustering
    >>> X = load_iris().data
    >>> model = MultiViewSpectralClustering(3, views=[[0, 1], [2, 3]], random_state=0).fit(X)
    >>> model.view_cuts_.shape, len(model.affinity_matrix_)
    ((2,), 2)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **constraints_of("n_components", "random_state", "n_jobs", "verbose", "cut"),
        **constraints_of("gamma", "n_neighbors", "degree", "coef0", "kernel_params"),
        **constraints_of("neighbors", "metric", "device"),
        "n_clusters": [COUNT],
        "views": [list, tuple, None],
        "view_weights": [StrOptions({"auto", "equal"}), "array-like"],
        "affinity": [callable, Registered(AFFINITIES), list],
        "effort": [StrOptions(set(EFFORTS))],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        views: Any = None,
        view_weights: Any = "auto",
        affinity: Any = "adaptive_neighbors",
        n_components: int | None = None,
        n_neighbors: int | None = None,
        cut: str | npt.ArrayLike = "normalized",
        effort: str = "auto",
        gamma: float = 1.0,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        neighbors: str = "auto",
        device: str = "auto",
        metric: Any = "euclidean",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.views = views
        self.view_weights = view_weights
        self.affinity = affinity
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.cut = cut
        self.effort = effort
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.neighbors = neighbors
        self.device = device
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, *, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Construct the graph of every view, and cut them by one partition.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or list of such
            Samples, whose columns are assigned to views; or a list with one matrix or graph for
            every view of the same samples.
        y : Ignored
            Not used, present for API consistency by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Positive weights of the samples, by which the node weights of ``cut`` are multiplied in
            every view.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        # 1. Check all input.
        parameters = self.get_params(deep=False)
        self._reset_fit()
        views = self._validated(X, reset=True)
        n_samples = views[0].shape[0]
        check_counts(parameters, n_samples)
        seed = fit_seed(self.random_state)
        cut = as_cut(self.cut, n_samples).weighted(sample_weight, n_samples)
        weights = check_view_weights(self.view_weights, len(views), "view_weights")
        affinities = resolve_affinities(parameters, self._affinities(len(views)))
        # 2. Construct the graph of every view and the problem.
        training, problems, recalls = [], [], []
        for v, (samples, (affinity, requested)) in enumerate(zip(views, affinities, strict=True)):
            began, options = time.perf_counter(), affinity.limited(n_samples, requested)
            matrix, graph = make_graph(self, affinity, samples, options, seed)
            self._log(
                f"View {v}: {graph.n_nodes} nodes and {graph.n_stored} stored weights, "
                f"{time.perf_counter() - began:.2f} s"
            )
            warn_of_isolated(graph, f" in view {v}; the other views determine their clusters.")
            recalls.append(self.neighbors_recall_)
            problems.append(Problem(graph, cut.node_weights(graph)))
            training.append(TrainingSamples(affinity, options, samples, matrix))
        self.neighbors_recall_ = min((one for one in recalls if one is not None), default=None)
        problem = MultiViewProblem(tuple(problems), weights)
        # 3. Compute the labels.
        search = SearchOptions(self.effort, False, seed, self.n_jobs)
        n_clusters = int(self.n_clusters)
        result = solve_views(problem, n_clusters, [], search, Budget())
        self._log(
            f"{n_clusters} clusters, objective {result.objective:.6g}, {result.n_iter} rounds"
        )
        # 4. Set the attributes.
        settings = Settings(
            n_components=self.n_components, effort=self.effort, n_jobs=self.n_jobs, seed=seed
        )
        pairs = zip(problems, training, strict=True)
        fitted = [
            FittedGraph.of(one, result.labels, cut, samples, settings) for one, samples in pairs
        ]
        n_components = sum(view.n_components for view in fitted)
        graphs = [samples.matrix for samples in training]
        self.view_cuts_, self.view_weights_ = result.cuts, result.weights
        all_views = FittedViews(
            result.labels,
            n_clusters,
            n_components,
            result.objective,
            graphs,
            fitted,
            problem,
            result.cuts,
        )
        return self._set_fitted(all_views, max(result.n_iter, 1))

    def _affinities(self, n_views: int) -> list[Any]:
        """Return the affinity of every view."""
        if not isinstance(self.affinity, list):
            names = [self.affinity] * n_views
        elif len(self.affinity) != n_views:
            raise ValueError(
                f"affinity lists {len(self.affinity)} affinities for {n_views} views; pass one for "
                "every view, or a single one for all views."
            )
        else:
            names = self.affinity
        for v, name in enumerate(names):
            if not callable(name) and not (isinstance(name, str) and name in AFFINITIES):
                raise ValueError(
                    f"affinity[{v}]={name!r} is not known; choose from "
                    f"{', '.join(map(repr, AFFINITIES))}, or pass a callable."
                )
            if "n_clusters" in affinity_of(name).parameters:
                raise ValueError(
                    f"affinity={name!r} makes a graph in as many components as clusters of one "
                    "view alone, so the other views would have no effect; pass "
                    "'adaptive_neighbors', from which it starts."
                )
        return names

    # -- the views of X

    neighbors_recall_: float | None
    _view_columns_: list[list[int]] | None
    _view_widths_: list[int] | None

    def _validated(self, X: Any, reset: bool) -> list[Any]:
        """Return the X of every view, validated by scikit-learn."""
        refuse_masked("X", X)
        is_listed, is_one = is_list_of_views(X), self.views is None
        is_one = is_one and not (is_listed or isinstance(self.affinity, list))
        if is_one and affinity_of(self.affinity).takes != "samples":
            X, is_listed = [X], True  # one graph
        if not is_listed:
            return self._selected(X, reset)
        if self.views is None:
            return self._listed(X, reset)
        raise ValueError(
            f"views= selects columns of one X, but X is a list of {len(X)} views; leave views out, "
            "or pass one X."
        )

    def _listed(self, X: Sequence[Any], reset: bool) -> list[Any]:
        """Return the validated matrices of a list of views."""
        widths = None if reset else self._view_widths_
        if not reset and widths is None:
            raise ValueError(
                f"X is a list of {len(X)} views, but the estimator was fitted to one X, whose "
                "columns were assigned to views; pass one X."
            )
        if widths is not None and len(X) != len(widths):
            raise ValueError(
                f"X has {len(X)} views, but the estimator was fitted to {len(widths)}."
            )
        matrices: list[Any] = []
        names = None
        for v, (view, affinity) in enumerate(zip(X, self._affinities(len(X)), strict=True)):
            n_known = None if widths is None else widths[v]
            one, of_view = read_input(view, affinity_of(affinity).takes, affinity, n_known)
            check_matrix(f"X[{v}]", one)
            one = check_array(one, accept_sparse="csr", dtype=DTYPES, input_name=f"X[{v}]")
            if matrices and one.shape[0] != matrices[0].shape[0]:
                raise ValueError(
                    f"X[0] has {matrices[0].shape[0]} rows and X[{v}] has {one.shape[0]}; all "
                    "views must have the same samples, in the same order."
                )
            if n_known is not None and one.shape[1] != n_known:
                raise ValueError(f"X[{v}] has {one.shape[1]} columns, but in fit it had {n_known}.")
            matrices.append(one)
            names = of_view if names is None else names
        if reset:
            self.node_names_ = names
            self._view_columns_ = None
            self._view_widths_ = [one.shape[1] for one in matrices]
            self.n_features_in_ = sum(self._view_widths_)
        return matrices

    def _selected(self, X: Any, reset: bool) -> list[Any]:
        """Return the columns of X of every view."""
        if not reset and self._view_columns_ is None:
            raise ValueError(
                f"The estimator was fitted to a list of {len(self._view_widths_ or [])} views; "
                "pass X as such a list."
            )
        is_frame = hasattr(X, "columns")
        # Columns of a frame that are not in a view are not checked.
        options: dict[str, Any] = {"accept_sparse": "csr", "dtype": DTYPES}
        further = {"skip_check_array": True} if is_frame else options
        if not is_frame:
            check_matrix("X", X)
        X = validate_data(self, X, reset=reset, **further)
        if reset:
            self.node_names_ = None
            self._view_columns_, self._view_widths_ = self._columns(X), None
            self._affinities(len(self._view_columns_))
        views = [_safe_indexing(X, columns, axis=1) for columns in self._view_columns_ or []]
        if is_frame:
            for view in views:
                check_matrix("X", view)
            views = [check_array(view, **options, input_name="X") for view in views]
        return views

    def _columns(self, X: Any) -> list[list[int]]:
        """Return the indices of the columns of every view."""
        if self.views is None:
            count = len(self.affinity) if isinstance(self.affinity, list) else 1
            return [list(range(X.shape[1]))] * count
        if any(affinity_of(a).takes != "samples" for a in self._affinities(len(self.views))):
            raise ValueError(
                f"views= selects columns of samples, but affinity={self.affinity!r} takes graphs; "
                "leave views out, and pass X as a list of graphs."
            )
        indices = []
        for v, view in enumerate(self.views):
            chosen = view(X) if callable(view) else view
            if isinstance(chosen, slice) and chosen.start is None and chosen.stop is None:
                chosen = range(X.shape[1])[chosen]  # scikit-learn would interpret it as names
            key = list(chosen) if isinstance(chosen, range) else chosen
            try:
                columns = list(map(int, _get_column_indices(X, key)))
            except (ValueError, IndexError, TypeError) as error:
                raise ValueError(
                    f"views[{v}]={chosen!r} does not select columns of X, which has "
                    f"{X.shape[1]}: {error}"
                ) from None
            if not columns:
                raise ValueError(f"views[{v}]={chosen!r} selects no column; leave it out.")
            indices.append(columns)
        if not indices:
            raise ValueError("views is empty; select the columns of at least one view.")
        return indices

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

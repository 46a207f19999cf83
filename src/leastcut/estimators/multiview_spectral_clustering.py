"""The estimator for several views of the same samples: a graph of each, one partition of them."""

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
from leastcut.estimators.parameters import COUNT, Registered, inherited, resolve_affinities
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
    """One partition of several views, each of which is kept as a fit to it alone."""

    views: list[FittedGraph]
    problem: MultiViewProblem
    cuts: np.ndarray

    # -- eigenpairs

    @cached_property
    def lower_bound(self) -> float:
        """No partition into as many clusters has a smaller objective."""
        proven = lower_bounds(self.problem, self.cuts, self.n_clusters)
        assert proven.objective is not None  # there is no time limit
        return proven.objective

    @property
    def eigenvalues(self) -> np.ndarray:
        """Those of the views, one after another."""
        return np.concatenate([view.eigenvalues for view in self.views])

    @property
    def embedding(self) -> np.ndarray:
        """Those of the views, side by side."""
        return np.hstack([view.embedding for view in self.views])

    # -- new samples

    def transform(self, X: list[Any]) -> np.ndarray:
        """Return the coordinates of samples in the embeddings of the views, side by side."""
        pairs = zip(self.views, X, strict=True)
        return np.hstack([view.transform(samples) for view, samples in pairs])

    def predict(self, X: list[Any]) -> np.ndarray:
        """Return the clusters of samples, each where the objective grows least."""
        return self._place(X)[0]

    def score(self, X: list[Any]) -> float:
        """Return minus the objective with samples added, or of the labels if they are those."""
        if all(view.samples.are(samples) for view, samples in zip(self.views, X, strict=True)):
            return -self.cut_value
        labels, links = self._place(X)
        pairs = zip(self.views, links, strict=True)
        grown = [view.clusters.value_with(link, labels) for view, link in pairs]
        return -self.problem.objective(np.array(grown))

    def _place(self, X: list[Any]) -> tuple[np.ndarray, list[Links]]:
        """Return the clusters of samples, and their links in every view.

        A sample without links in any view goes where the first view puts it.
        """
        placed = [view.place(samples) for view, samples in zip(self.views, X, strict=True)]
        links = [link for _, link in placed]
        pairs = zip(self.views, links, strict=True)
        values = [view.clusters.values_with_each(link) for view, link in pairs]
        weights = self.problem.view_weights
        terms = np.sqrt(values) if weights is None else weights[:, None, None] * np.array(values)
        labels = np.argmin(np.sum(terms, axis=0), axis=1)
        lost = np.all([link.weight.sum(axis=1) == 0 for link in links], axis=0)
        labels[lost] = placed[0][0][lost]
        return labels, links

    def certify(self, gap: float, budget: Budget) -> NoReturn:
        """Raise: a proof is of one graph."""
        raise ValueError(
            "A proof is of one graph, and there are several views; lower_bound_ and gap_ are "
            "proven by eigenvalues. Pass one of affinity_matrix_ and labels_ to leastcut.certify."
        )


class MultiViewSpectralClustering(BaseClustering):
    """Cluster samples that are described in several ways, by one partition of all their graphs.

    A graph is made of every view, and all are cut by the partition that minimises Σ_v √cut_v, so
    that a view that is cut well counts more; see :func:`leastcut.partition_views`.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    views : list, default=None
        Groups of columns of X, one for every view. A group is what a ``ColumnTransformer`` takes:
        names or numbers of columns, a slice, a mask, or a callable that selects from X. None means
        that X is a list of views, or that every affinity of a list sees all columns.
    view_weights : {"auto", "equal"} or array-like of shape (n_views,), default="auto"
        The weights of the views: "auto" learns them, see :func:`leastcut.partition_views`.
    affinity : str, callable or list of such, default="adaptive_neighbors"
        How the graph of every view is made, as in :class:`SpectralClustering`; a list has one
        affinity per view.
    n_components : int, default=None
        Columns of ``embedding_`` for every view; None means ``n_clusters``.
    n_neighbors : int, default=None
        Neighbors of a sample, itself included; None means 10.
    cut : {"normalized", "ratio"} or array-like of shape (n_samples,), default="normalized"
        Whether nodes weigh their degree, all the same, or as given.
    effort : {"fast", "auto", "balanced", "thorough"}, default="auto"
        How long every graph is searched, see :func:`leastcut.partition_views`.
    gamma, degree, coef0 : float, default=1.0, 3 and 1
        Parameters of kernels, as in :class:`SpectralClustering`.
    kernel_params : dict, default=None
        Further parameters of the affinities, as in :class:`SpectralClustering`.
    neighbors, device : str, default="auto"
        How and where neighbors of samples are searched, as in :class:`SpectralClustering`.
    metric : str or callable, default="euclidean"
        The metric of the neighbor graphs.
    random_state, n_jobs : int, default=None
        Seed and threads, as in :class:`SpectralClustering`.
    verbose : bool, default=False
        Whether to report the steps on standard output.

    Attributes
    ----------
    cut_value_ : float
        The objective over all views: Σ_v √cut_v, or with given weights Σ_v w_v cut_v.
    view_cuts_ : ndarray of shape (n_views,)
        The cut value of ``labels_`` in every view.
    view_weights_ : ndarray of shape (n_views,)
        The weights of the views: 1 / (2 √cut_v) if they were learned, infinite if nothing is cut.
    lower_bound_, gap_ : float
        No partition into as many clusters has a smaller objective, and how much smaller it could
        be at most, as a fraction. Computed when first asked for.
    affinity_matrix_ : list of ndarray or csr_array of shape (n_samples, n_samples)
        The graphs.
    neighbors_recall_ : float or None
        The smallest fraction of nearest neighbors found in a view; see :class:`SpectralClustering`.
    eigenvalues_, embedding_ : ndarray
        Those of the views, one after another. Computed when first asked for.
    n_iter_ : int
        Rounds of weighting the views.
    solver_ : str
        "multilevel".
    node_names_ : tuple or None
        The names of the nodes, if a view is a graph that has names; see :meth:`by_node`.
    labels_, n_clusters_, n_features_in_, feature_names_in_
        As in :class:`SpectralClustering`.

    See Also
    --------
    SpectralClustering : The estimator for one graph.
    partition_views : The search itself, on graphs.

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
        **inherited("n_components", "random_state", "n_jobs", "verbose", "cut"),
        **inherited("gamma", "n_neighbors", "degree", "coef0", "kernel_params"),
        **inherited("neighbors", "metric", "device"),
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
        """Make the graph of every view, and cut them by one partition.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or list of such
            Samples, of which every view takes columns; or a list with one matrix, or graph, for
            every view of the same samples.
        y : Ignored
            Present for API consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            Positive: how much a sample counts in its cluster, in every view.

        Returns
        -------
        self : object
        """
        # 1. Check everything.
        parameters = self.get_params(deep=False)
        self._begin()
        views = self._checked(X, reset=True)
        n_samples = views[0].shape[0]
        check_counts(parameters, n_samples)
        seed = fit_seed(self.random_state)
        cut = as_cut(self.cut, n_samples).weighted(sample_weight, n_samples)
        weights = check_view_weights(self.view_weights, len(views), "view_weights")
        affinities = resolve_affinities(parameters, self._affinities(len(views)))
        # 2. From samples to a graph for every view, and to the problem of cutting them all.
        made, problems, recalls = [], [], []
        for v, (samples, (affinity, wanted)) in enumerate(zip(views, affinities, strict=True)):
            began, options = time.perf_counter(), affinity.limited(n_samples, wanted)
            matrix, graph = make_graph(self, affinity, samples, options, seed)
            self._log(
                f"View {v}: {graph.n_nodes} nodes and {graph.n_stored} stored weights, "
                f"{time.perf_counter() - began:.2f} s"
            )
            warn_of_isolated(graph, f" in view {v}; they go where the other views have them.")
            recalls.append(self.neighbors_recall_)
            problems.append(Problem(graph, cut.node_weights(graph)))
            made.append(TrainingSamples(affinity, options, samples, matrix))
        self.neighbors_recall_ = min((one for one in recalls if one is not None), default=None)
        problem = MultiViewProblem(tuple(problems), weights)
        # 3. From the problem to labels.
        search = SearchOptions(self.effort, False, seed, self.n_jobs)
        n_clusters = int(self.n_clusters)
        found = solve_views(problem, n_clusters, [], search, Budget())
        self._log(f"{n_clusters} clusters, objective {found.objective:.6g}, {found.n_iter} rounds")
        # 4. Keep what later questions need, view by view.
        settings = Settings(
            n_components=self.n_components, effort=self.effort, n_jobs=self.n_jobs, seed=seed
        )
        pairs = zip(problems, made, strict=True)
        fitted = [
            FittedGraph.of(one, found.labels, cut, samples, settings) for one, samples in pairs
        ]
        n_components = sum(view.n_components for view in fitted)
        graphs = [samples.matrix for samples in made]
        self.view_cuts_, self.view_weights_ = found.cuts, found.weights
        whole = FittedViews(
            found.labels,
            n_clusters,
            n_components,
            found.objective,
            graphs,
            fitted,
            problem,
            found.cuts,
        )
        return self._keep(whole, max(found.n_iter, 1))

    def _affinities(self, n_views: int) -> list[Any]:
        """Return the affinity of every view: a list as it is, and any other for all of them."""
        if not isinstance(self.affinity, list):
            names = [self.affinity] * n_views
        elif len(self.affinity) != n_views:
            raise ValueError(
                f"affinity lists {len(self.affinity)} affinities for {n_views} views; list one for "
                "every view, or pass a single one for all of them."
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
                    "view alone, which leaves nothing to the others; pass 'adaptive_neighbors', "
                    "which it begins with."
                )
        return names

    # -- the views of X

    neighbors_recall_: float | None
    _view_columns_: list[list[int]] | None
    _view_widths_: list[int] | None

    def _checked(self, X: Any, reset: bool) -> list[Any]:
        """Return the X of every view, checked as scikit-learn does."""
        refuse_masked("X", X)
        is_listed, is_one = is_list_of_views(X), self.views is None
        is_one = is_one and not (is_listed or isinstance(self.affinity, list))
        if is_one and affinity_of(self.affinity).takes != "samples":
            X, is_listed = [X], True  # one graph, perhaps of another library
        if not is_listed:
            return self._selected(X, reset)
        if self.views is None:
            return self._listed(X, reset)
        raise ValueError(
            f"views= selects columns of one X, but X is a list of {len(X)}; leave views out, "
            "or pass one X."
        )

    def _listed(self, X: Sequence[Any], reset: bool) -> list[Any]:
        """Return the matrices of a list, one for every view."""
        widths = None if reset else self._view_widths_
        if not reset and widths is None:
            raise ValueError(
                f"X is a list of {len(X)} views, but the estimator was fitted to one X, of which "
                "every view takes columns; pass one X."
            )
        if widths is not None and len(X) != len(widths):
            raise ValueError(
                f"X has {len(X)} views, but the estimator was fitted to {len(widths)}."
            )
        found: list[Any] = []
        names = None
        for v, (view, affinity) in enumerate(zip(X, self._affinities(len(X)), strict=True)):
            n_known = None if widths is None else widths[v]
            one, of_view = read_input(view, affinity_of(affinity).takes, affinity, n_known)
            check_matrix(f"X[{v}]", one)
            one = check_array(one, accept_sparse="csr", dtype=DTYPES, input_name=f"X[{v}]")
            if found and one.shape[0] != found[0].shape[0]:
                raise ValueError(
                    f"X[0] has {found[0].shape[0]} rows and X[{v}] has {one.shape[0]}; views are "
                    "of the same samples, in the same order."
                )
            if n_known is not None and one.shape[1] != n_known:
                raise ValueError(f"X[{v}] has {one.shape[1]} columns, but in fit it had {n_known}.")
            found.append(one)
            names = of_view if names is None else names
        if reset:
            self.node_names_ = names
            self._view_columns_ = None
            self._view_widths_ = [one.shape[1] for one in found]
            self.n_features_in_ = sum(self._view_widths_)
        return found

    def _selected(self, X: Any, reset: bool) -> list[Any]:
        """Return groups of the columns of X, or all of them once for every affinity."""
        if not reset and self._view_columns_ is None:
            raise ValueError(
                f"The estimator was fitted to a list of {len(self._view_widths_ or [])} views; "
                "pass X as such a list."
            )
        is_frame = hasattr(X, "columns")
        # The columns of a frame that no view has may hold anything.
        options: dict[str, Any] = {"accept_sparse": "csr", "dtype": DTYPES}
        further = {"skip_check_array": True} if is_frame else options
        if not is_frame:
            check_matrix("X", X)
        found = validate_data(self, X, reset=reset, **further)
        if reset:
            self.node_names_ = None
            self._view_columns_, self._view_widths_ = self._columns(found), None
            self._affinities(len(self._view_columns_))
        parts = [_safe_indexing(found, columns, axis=1) for columns in self._view_columns_ or []]
        if is_frame:
            for part in parts:
                check_matrix("X", part)
            parts = [check_array(part, **options, input_name="X") for part in parts]
        return parts

    def _columns(self, X: Any) -> list[list[int]]:
        """Return the numbers of the columns of every view."""
        if self.views is None:
            count = len(self.affinity) if isinstance(self.affinity, list) else 1
            return [list(range(X.shape[1]))] * count
        if any(affinity_of(a).takes != "samples" for a in self._affinities(len(self.views))):
            raise ValueError(
                f"views= selects columns of samples, and affinity={self.affinity!r} takes graphs; "
                "leave views out, and pass X as a list of graphs."
            )
        found = []
        for v, view in enumerate(self.views):
            chosen = view(X) if callable(view) else view
            if isinstance(chosen, slice) and chosen.start is None and chosen.stop is None:
                chosen = range(X.shape[1])[chosen]  # scikit-learn takes it for names
            key = list(chosen) if isinstance(chosen, range) else chosen
            try:
                columns = list(map(int, _get_column_indices(X, key)))
            except (ValueError, IndexError, TypeError) as error:
                raise ValueError(
                    f"views[{v}]={chosen!r} selects no columns of X, which has {X.shape[1]}: "
                    f"{error}"
                ) from None
            if not columns:
                raise ValueError(f"views[{v}]={chosen!r} selects no column; leave it out.")
            found.append(columns)
        if not found:
            raise ValueError("views is empty; select the columns of one view at least.")
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

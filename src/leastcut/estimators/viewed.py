"""Several views in one fit: a graph of every view, and one partition of them all."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

import numpy as np

from leastcut.affinity import affinity_of
from leastcut.affinity.affinity import SEARCH_PARAMETERS
from leastcut.affinity.square_check import warn_of_graph
from leastcut.budget import Budget
from leastcut.estimators.parameters import AFFINITY_DEFAULTS, resolve_affinity
from leastcut.estimators.prediction import Ties
from leastcut.estimators.sample_weights import weighted
from leastcut.estimators.strategies import STRATEGIES, Settings
from leastcut.estimators.view_inputs import affinities_of
from leastcut.multiview.bounds import prove
from leastcut.multiview.partition_views import check_view_weights
from leastcut.multiview.problem import MultiViewProblem
from leastcut.multiview.result import PartitionOfViews
from leastcut.multiview.search import Options, cut_views
from leastcut.problem import Problem, as_cut
from leastcut.seeds import fit_seed
from leastcut.validation import warn_caller


class ViewedFit(NamedTuple):
    """What a fit found: what is kept of it, the rounds it took, and no path."""

    fitted: FittedViews
    n_iter: int
    path: None = None


def fit_viewed(
    model: Any,
    views: list[Any],
    settings: Settings,
    sample_weight: Any,
    keep: Callable[..., Any],
    **given: Any,
) -> ViewedFit:
    """Make the graph of every view and cut them as one.

    Parameters
    ----------
    model : SpectralClustering
        Its parameters, each within its constraint, and what makes graphs.
    views : list
        The X of every view, checked.
    settings : Settings
    sample_weight : array-like of shape (n_samples,) or None
    keep : callable
        Makes of a view what a fit to it alone would keep.
    **given
        The arguments of ``fit`` that views do not take, None where they were not given.
    """
    parameters, say = model.get_params(deep=False), model._say
    cut, seed = as_cut(model.cut, views[0].shape[0]), fit_seed(model.random_state)
    if sample_weight is not None:
        cut = weighted(cut, sample_weight, views[0].shape[0])
    n_clusters, weights = _check(parameters, settings, len(views), given)
    # 1. A graph for every view.
    affinities = _resolved(parameters, affinities_of(model, len(views)))
    made, recalls = [], []
    for v, (X, (affinity, wanted)) in enumerate(zip(views, affinities, strict=True)):
        began, options = time.perf_counter(), affinity.limited(X.shape[0], wanted)
        model.neighbors_recall_ = None
        if affinity.takes == "samples" and X.shape[0] == X.shape[1]:
            warn_of_graph(X)
        matrix, graph = model._graph(affinity, X, options, seed)
        recalls += [] if model.neighbors_recall_ is None else [model.neighbors_recall_]
        problem, lonely = Problem(graph, cut.node_weights(graph)), graph.n_nodes
        lonely -= graph.connected.size
        say(
            f"View {v}: {graph.n_nodes} nodes and {graph.n_stored} stored weights, "
            f"{time.perf_counter() - began:.2f} s"
        )
        if lonely:
            warn_caller(
                f"{lonely} of {graph.n_nodes} nodes {'has' if lonely == 1 else 'have'} no edges in "
                f"view {v}; they go where the other views have them."
            )
        made.append((X, matrix, affinity, options, problem))
    model.neighbors_recall_ = min(recalls, default=None)
    # 2. One partition.
    whole = MultiViewProblem(tuple(problem for *_, problem in made), weights)
    searched = Options(settings.effort, False, seed, settings.n_jobs, Budget())
    found = cut_views(whole, n_clusters, [], searched)
    say(f"{n_clusters} clusters, objective {found.objective:.6g} after {found.n_iter} weighings")
    # 3. What later questions need, view by view.
    labels = found.labels
    parts = [
        keep(X, matrix, labels, n_clusters, affinity, options, cut, sums, settings, seed, None)
        for X, matrix, affinity, options, problem in made
        for sums in [(problem.boundaries(labels), problem.cluster_weights(labels))]
    ]
    return ViewedFit(FittedViews(parts, whole, found), max(found.n_iter, 1))


@dataclass(frozen=True, eq=False)
class FittedViews:
    """What a fit to several views keeps: each view as a fit to it alone would, and all together.

    Attributes
    ----------
    parts : list of Fitted
        The views, all with the same labels.
    views : MultiViewProblem
    found : PartitionOfViews
    """

    parts: list[Any]
    views: MultiViewProblem
    found: PartitionOfViews
    solver: str = "multilevel"

    @property
    def labels(self) -> np.ndarray:
        """The cluster of every sample."""
        return self.found.labels

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.parts[0].n_clusters)

    @property
    def cut_value(self) -> float:
        """What was minimised over the views."""
        return self.found.objective

    @property
    def cuts(self) -> np.ndarray:
        """The cut value in every view."""
        return self.found.cuts

    @property
    def weights(self) -> np.ndarray:
        """The weights of the views."""
        return self.found.weights

    @property
    def matrix(self) -> list[Any]:
        """The graphs."""
        return [part.matrix for part in self.parts]

    # -- eigenpairs

    @cached_property
    def lower_bound(self) -> float:
        """No partition into as many clusters has a smaller objective."""
        proven = prove(self.views, self.found.cuts, self.n_clusters)
        assert proven.objective is not None  # there is no time limit
        return proven.objective

    @property
    def eigenvalues(self) -> np.ndarray:
        """Those of the views, one after another."""
        return np.concatenate([part.eigenvalues for part in self.parts])

    @property
    def embedding(self) -> np.ndarray:
        """Those of the views, side by side."""
        return np.hstack([part.embedding for part in self.parts])

    @property
    def n_components(self) -> int:
        """Number of columns of the embedding."""
        return sum(part.n_components for part in self.parts)

    def transform(self, X: list[Any]) -> np.ndarray:
        """Return where samples lie in the embeddings of the views, side by side."""
        pairs = zip(self.parts, X, strict=True)
        return np.hstack([part.transform(one) for part, one in pairs])

    # -- new samples

    def predict(self, X: list[Any]) -> np.ndarray:
        """Return the clusters of samples, each where the objective grows least."""
        return self._place(X)[0]

    def score(self, X: list[Any]) -> float:
        """Return minus the objective with samples added, or of the labels if they are those."""
        pairs = list(zip(self.parts, X, strict=True))
        if all(part.prediction.is_training_data(one) for part, one in pairs):
            return -self.cut_value
        labels, ties = self._place(X)
        grown = [
            part.prediction.clusters.value_with(tie, labels)
            for part, tie in zip(self.parts, ties, strict=True)
        ]
        return -self.views.objective(np.array(grown))

    def _place(self, X: list[Any]) -> tuple[np.ndarray, list[Ties]]:
        """Return the clusters of samples, and their ties in every view.

        One that has no ties in any view goes where the first view has it.
        """
        placed = [part.prediction.place(one) for part, one in zip(self.parts, X, strict=True)]
        ties = [tie for _, tie in placed]
        values = [
            part.prediction.clusters.values_with_each(tie)
            for part, tie in zip(self.parts, ties, strict=True)
        ]
        given = self.views.view_weights
        terms = np.sqrt(values) if given is None else given[:, None, None] * np.array(values)
        labels = np.argmin(np.sum(terms, axis=0), axis=1)
        lost = np.all([tie.weight.sum(axis=1) == 0 for tie in ties], axis=0)
        labels[lost] = placed[0][0][lost]
        return labels, ties

    def certify(self, *_: Any) -> NoReturn:
        """Raise: a proof is of one graph."""
        raise ValueError(
            "A proof is of one graph, and there are several views; lower_bound_ and gap_ are "
            "proven by eigenvalues. Pass one of affinity_matrix_ and labels_ to leastcut.certify."
        )


def _check(
    parameters: Mapping[str, Any], settings: Settings, n_views: int, given: Mapping[str, Any]
) -> tuple[int, np.ndarray | None]:
    """Return the number of clusters and the weights of views, or raise what views do not take."""
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"{name} has no place where there are several views; leave it out, or fit one view."
            )
    n_clusters = parameters["n_clusters"]
    if n_clusters == "auto":
        raise ValueError(
            "n_clusters='auto' needs the eigenvalues of one graph, and there are several views; "
            "pass a number, as leastcut.cut_path finds it for one of them."
        )
    if settings.solver != "multilevel":
        own = STRATEGIES[settings.solver].parameters
        asked = [f"{name}={parameters[name]!r}" for name in own if parameters[name] is not None]
        raise ValueError(
            f"{', '.join(asked) or 'solver=' + repr(settings.solver)} is of the {settings.solver} "
            "solver, which needs one graph, and there are several views; leave it out."
        )
    weights = check_view_weights(parameters["view_weights"], n_views, "view_weights")
    return int(n_clusters), weights


def _resolved(parameters: Mapping[str, Any], names: list[Any]) -> list[tuple[Any, dict[str, Any]]]:
    """Return the affinity of every view with its parameters.

    A parameter that some view has is no reason to warn of the others, which do not.
    """
    takes: dict[Any, set[str]] = {}
    for name in names:
        affinity = affinity_of(name)
        takes[name] = {*affinity.parameters, *(SEARCH_PARAMETERS if affinity.searches else ())}
    every, found = set().union(*takes.values()), {}
    for name, own in takes.items():
        hidden = {
            option: default
            for option, default in AFFINITY_DEFAULTS.items()
            if option in every - own
        }
        found[name] = resolve_affinity({**parameters, **hidden, "affinity": name})
    return [found[name] for name in names]

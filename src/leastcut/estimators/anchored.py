"""``affinity="anchors"``: the fit on samples that are tied to anchors, wherever they lie.

The graph stores no edges, so that whatever needs them is refused before any work. Samples in
memory are checked by scikit-learn; those in files and in stores of other libraries are read block
by block, once to choose anchors and once to be tied.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from leastcut.affinity.affinity import defaults_of
from leastcut.anchors.build import anchor_graph
from leastcut.anchors.graph import AnchorGraph
from leastcut.anchors.run_folder import RunFolder
from leastcut.anchors.sources import as_source
from leastcut.anchors.verbs import check_number_of_clusters
from leastcut.budget import Budget
from leastcut.estimators.anchored_path import anchored_path, search
from leastcut.estimators.chosen_number import choose_told
from leastcut.estimators.fitted_anchors import FittedAnchors
from leastcut.estimators.strategies import STRATEGIES, Say, Settings
from leastcut.multilevel.cut_path import CutPath
from leastcut.multilevel.efforts import EFFORTS, Progress
from leastcut.progress import BAR, SEARCH_STAGES, TimeEstimate
from leastcut.seeds import fit_seed
from leastcut.validation import is_on_gpu

DEFAULTS = defaults_of(anchor_graph)
"""What the parameters of anchor graphs are where nothing else is said."""

APPEARING = 2**16
"""Labels among which every cluster is first looked for."""


class AnchoredFit(NamedTuple):
    """What a fit found: what is kept of it, the rounds it took, the evidence for a number."""

    fitted: FittedAnchors
    n_iter: int
    path: CutPath | None


def check_anchored(parameters: Mapping[str, Any], settings: Settings, **given: Any) -> None:
    """Raise where something is asked for that needs the edges.

    Parameters
    ----------
    parameters : mapping
        All parameters of the estimator, each within its constraint.
    settings : Settings
        What they come to.
    **given
        The further arguments of ``fit``, None where they were not given.
    """
    remedy = "leave it out, or pass another affinity, as 'adaptive_neighbors'."
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"{name} needs the edges, which affinity='anchors' does not store; {remedy}"
            )
    if not isinstance(parameters["cut"], str):
        raise ValueError(
            "cut= as weights of nodes has no place with affinity='anchors', where every sample "
            f"weighs 1, which is its degree; {remedy}"
        )
    if settings.solver != "multilevel":
        own = [name for name in STRATEGIES[settings.solver].parameters if name != "n_components"]
        chosen = [name for name in own if parameters[name] is not None] or ["solver"]
        asked = [f"{name}={parameters[name]!r}" for name in chosen]
        raise ValueError(
            f"{', '.join(asked)} is of the {settings.solver} solver, which needs the edges that "
            f"affinity='anchors' does not store; {remedy}"
        )


def lies_elsewhere(X: Any) -> bool:
    """Whether samples are to be read block by block, and not by scikit-learn."""
    if isinstance(X, str | os.PathLike | np.memmap) or is_on_gpu(X):
        return True
    if isinstance(X, np.ndarray | list | tuple):
        return False
    # Sparse samples are refused there, with what to do.
    if sp.issparse(X) or type(X).__module__.partition(".")[0] == "pyarrow":
        return True
    # Arrays in memory can be shared as they are, and frames are no arrays.
    in_memory = any(hasattr(X, name) for name in ("__array_interface__", "__dlpack__", "iloc"))
    return not in_memory and all(hasattr(X, name) for name in ("shape", "dtype", "__getitem__"))


def shape_of(X: Any) -> tuple[int, int]:
    """Return the numbers of samples and features, without reading them."""
    return as_source(X).shape


def fit_anchored(
    X: Any, parameters: Mapping[str, Any], options: dict[str, Any], settings: Settings, say: Say
) -> AnchoredFit:
    """Tie samples to anchors and cut them.

    Parameters
    ----------
    X : array, or what is read block by block
        Checked, or to be checked as it is read.
    parameters : mapping
        All parameters of the estimator. With a folder, ``random_state=None`` goes on with the seed
        of the run that is there.
    options : dict
        Those of :func:`leastcut.anchor_graph`.
    settings : Settings
    say : callable
        Takes lines of progress.
    """
    began = time.perf_counter()
    n_samples, n_clusters = shape_of(X)[0], parameters["n_clusters"]
    n_anchors = min(options["n_anchors"], n_samples)
    if n_clusters != "auto" and int(n_clusters) > n_anchors:
        raise ValueError(
            f"n_anchors={n_anchors} should be >= n_clusters={n_clusters}, as a cluster has an "
            "anchor at least; pass more n_anchors, or ask for fewer clusters."
        )
    seed = _seed(parameters["random_state"], options["folder"])

    # From samples to anchors and ties.
    n_neighbors = options["n_neighbors"] or DEFAULTS["n_neighbors"]
    graph = anchor_graph(
        X,
        **{
            **options,
            # A point is tied to fewer anchors than there are, and to one at least.
            "n_neighbors": max(1, min(n_neighbors, n_anchors - 1)),
            "random_state": seed,
            "callback": BAR if settings.verbose else None,
        },
    )
    made = time.perf_counter()
    say(f"{n_samples} samples tied to {graph.n_anchors} anchors, {made - began:.2f} s")

    # From ties to labels.
    chosen = None
    if n_clusters == "auto":
        # By the anchors' own graph, whose eigenvalues are those of all samples.
        chosen = choose_told(graph.anchor_problem, parameters["max_clusters"], settings, seed, say)
        # Where there is nothing to choose from there is one cluster.
        n_clusters = 1 if chosen is None else chosen.choice.n_clusters
    number = check_number_of_clusters(n_clusters, graph)
    labels, n_iter = _cut(graph, number, settings, seed, say)
    n_components = min(settings.n_components or number, int(np.count_nonzero(graph.masses)))
    fitted = FittedAnchors(graph, labels, graph.table(labels), n_components, seed)
    say(
        f"{number} clusters, cut value {fitted.cut_value:.6g}: anchors {made - began:.2f} s, "
        f"cut {time.perf_counter() - made:.2f} s"
    )
    path = None if chosen is None else anchored_path(chosen, graph, labels, settings, seed)
    return AnchoredFit(fitted, n_iter, path)


def _cut(
    graph: AnchorGraph, n_clusters: int, settings: Settings, seed: int, say: Say
) -> tuple[np.ndarray, int]:
    """Return labels, numbered by appearance, and the rounds of moves that they took."""
    rounds = 0

    def listen(progress: Progress) -> None:
        nonlocal rounds
        rounds += 1
        bar.report(progress)

    say(f"Computing label assignment using multilevel search, effort={settings.effort!r}")
    bar = Budget(callback=BAR if settings.verbose else None)
    with bar.shown(
        "SpectralClustering", lambda: TimeEstimate(EFFORTS[settings.effort].stages, SEARCH_STAGES)
    ):
        found = search(graph, n_clusters, settings, seed, callback=listen)
    say(f"Searched in {max(rounds, 1)} rounds, cut value {found.cut_value:.6g}")
    return _numbered(found.labels, n_clusters), max(rounds, 1)


def _numbered(labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return labels in the order in which clusters first appear, without sorting them all."""
    for count in (APPEARING, labels.size):
        there, first = np.unique(labels[:count], return_index=True)
        if there.size == n_clusters:
            break
    rank = np.empty(n_clusters, dtype=labels.dtype)
    rank[there[np.argsort(first)]] = np.arange(n_clusters)
    return np.asarray(rank[labels])


def _seed(random_state: Any, folder: Any) -> int:
    """Return the seed of a fit: of a folder, unless another is asked for, that of its run."""
    if random_state is None and folder is not None:
        kept = RunFolder(Path(folder)).seed
        if kept is not None:
            return kept
    return fit_seed(random_state)

"""The estimator for data of any size: samples are joined through few anchors, wherever they lie.

Nothing of the size of the samples is kept but their anchor weights and labels. A new sample gets
weights by the rule of the training samples, so that its place in the embedding,

    e = Σ_j w_j v_j / √(Λ_j (1 − λ)),

with v the eigenvectors of the anchors' own graph, is that of a training sample with the same
weights: the eigenvectors of Z Λ⁻¹ Zᵀ are made of rows of Z alone.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import _fit_context
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import _check_n_features

from leastcut.anchors.blocks import Block
from leastcut.anchors.build import anchor_graph
from leastcut.anchors.graph import LARGEST_EIGENVALUE, AnchorGraph, relax_core
from leastcut.anchors.nearest import tile_rows
from leastcut.anchors.problem import AnchorProblem, Table, inverse_of, table_of_block
from leastcut.anchors.run_folder import RunFolder
from leastcut.anchors.search import search_anchors
from leastcut.anchors.sources import as_source
from leastcut.budget import Budget
from leastcut.estimators.base import BaseClustering
from leastcut.estimators.fitted import Fitted
from leastcut.estimators.inputs import check_counts, read_input, validated
from leastcut.estimators.parameters import COUNT, check_max_clusters, inherited
from leastcut.estimators.solvers import Settings, search_bar, warn_of_convergence
from leastcut.memory import check_memory
from leastcut.multilevel.efforts import EFFORTS, SearchOptions
from leastcut.progress import BAR
from leastcut.results import Partition, Relaxation
from leastcut.seeds import fit_seed
from leastcut.validation import is_on_gpu

NUMBERS = 2**23  # coordinates of new samples that are read at once: 64 MiB
APPEARING = 2**16  # labels among which every cluster is first looked for

ANCHOR_CONSTRAINTS: dict[str, Any] = {
    **inherited("n_clusters", "max_clusters", "random_state", "verbose"),
    "n_anchors": [COUNT],
    "n_neighbors": [COUNT],
    "effort": [StrOptions(set(EFFORTS))],
}
"""The values of the parameters that this estimator and its sibling on Dask share."""


@dataclass(frozen=True, eq=False, repr=False)
class FittedAnchors(Fitted):
    """An anchor graph and its clusters, with the table of their weights at the anchors."""

    matrix: AnchorGraph
    table: Table
    settings: Settings

    @property
    def problem(self) -> AnchorProblem:
        """The problem of cutting all samples."""
        return self.matrix.problem

    # -- eigenpairs

    def relax_core(self, count: int) -> Relaxation:
        """Return eigenpairs of the anchors' own graph; its eigenvalues are those of all samples."""
        found = relax_core(self.problem.core, self.matrix.store.sizes, count, self.settings.seed)
        warn_of_convergence(found)
        return found

    @cached_property
    def relaxation(self) -> Relaxation:
        """As many eigenpairs as clusters and columns need."""
        return self.relax_core(max(self.n_clusters, self.n_components))

    @property
    def eigenvalues(self) -> np.ndarray:
        """The smallest eigenvalues, as many as clusters and columns of the embedding need."""
        return self.relaxation.eigenvalues

    @property
    def lower_bound(self) -> float:
        """No partition into as many clusters has a smaller cut value."""
        return self.relaxation.leading(self.n_clusters).lower_bound

    @cached_property
    def _directions(self) -> np.ndarray:
        """The matrix that maps the weights of a sample to its coordinates.

        An eigenvector of eigenvalue 1 is not made of anchors: all samples are at 0 in it.
        """
        relaxation, masses = self.relaxation.leading(self.n_components), self.matrix.masses
        left = 1.0 - relaxation.eigenvalues
        known = relaxation.eigenvalues <= LARGEST_EIGENVALUE
        scale = np.where(known, 1.0 / np.sqrt(np.where(known, left, 1.0)), 0.0)
        found = np.zeros((masses.size, self.n_components))
        used = masses > 0
        found[used] = relaxation.eigenvectors * scale / np.sqrt(masses[used])[:, None]
        return found

    @cached_property
    def embedding(self) -> np.ndarray:
        """The rows of the eigenvectors of all samples, computed when first asked for."""
        store = self.matrix.store
        blocks = (store.load(number) for number in range(len(store.sizes)))
        return self._coordinates(blocks, sum(store.sizes))

    def transform(self, X: Any) -> np.ndarray:
        """Return the coordinates of samples in the embedding."""
        return self._coordinates(self._blocks(X), as_source(X).shape[0])

    def _coordinates(self, blocks: Iterator[Block], n_points: int) -> np.ndarray:
        dtype = self.matrix.anchors.dtype
        check_memory(
            1.0 * dtype.itemsize * n_points * self.n_components,
            f"{self.n_components} coordinates of {n_points} samples",
            "Transform some samples at a time, or fit with fewer n_components.",
        )
        found = np.empty((n_points, self.n_components), dtype=dtype)
        start = 0
        for block in blocks:
            rows = block.to_sparse(self.matrix.n_anchors) @ self._directions
            found[start : start + block.n_points] = rows
            start += block.n_points
        return found

    # -- new samples

    def predict(self, X: Any) -> np.ndarray:
        """Return the clusters of samples, each where the cut grows least."""
        return np.concatenate([self.table.place(block) for block in self._blocks(X)])

    def score(self, X: Any) -> float:
        """Return minus the cut value of the graph with these samples added on the same anchors."""
        if self._are_known(X):
            return -self.cut_value
        table = self.table
        for block in self._blocks(X):
            _, entries = table_of_block(block, self.table.place(block), *table.weights.shape)
            table = table.with_changes([entries])
        return -Table(table.weights, table.weights.sum(axis=1)).value

    def _blocks(self, X: Any) -> Iterator[Block]:
        """Yield the anchor weights of samples, some at a time."""
        source = as_source(X)
        tile = tile_rows(*self.matrix.anchors.shape)
        step = tile * max(1, NUMBERS // (tile * source.shape[1]))
        for start in range(0, source.shape[0], step):
            rows = source.read(start, min(start + step, source.shape[0]))
            yield self.matrix.nearest.block(rows)

    def _are_known(self, X: Any) -> bool:
        """Whether samples have the anchor weights of the training samples, in the same order."""
        source, store, start = as_source(X), self.matrix.store, 0
        if source.shape[0] != self.matrix.n_nodes:
            return False
        for number, size in enumerate(store.sizes):
            block = self.matrix.nearest.block(source.read(start, start + size))
            if not all(map(np.array_equal, block, store.load(number))):
                return False
            start += size
        return True

    # -- proofs and paths

    def certify(self, gap: float, budget: Budget) -> NoReturn:
        """Raise: a proof needs the edges."""
        raise TypeError(
            "A proof needs the edges, and an anchor graph stores no edges; lower_bound_ and gap_ "
            "are proven by eigenvalues. If there are few samples, pass "
            "affinity_matrix_.to_sparse() and labels_ to leastcut.certify."
        )

    def path_partitions(self, numbers: range) -> list[Partition]:
        """Return partitions of all samples into other numbers of clusters.

        Each search begins with the partition into one cluster more, two of them merged, which never
        makes the value larger; so the values never fall as the number grows.
        """
        problem, found, starts = self.problem, list[Partition](), list[np.ndarray]()
        options = SearchOptions(self.settings.effort, False, self.settings.seed)
        for number in reversed(numbers):
            if number == self.n_clusters:
                starts = [self.labels, *starts]
            kept = [problem.split(labels) for labels in starts]
            one = search_anchors(problem, number, kept, options, Budget())
            found.append(Partition(np.concatenate(one.kept), one.table.value))
            if number > 1:
                starts = [merged(found[-1].labels, one.table)]
        return found[::-1]


def merged(labels: np.ndarray, table: Table) -> np.ndarray:
    """Return labels with those two clusters merged that reduce the value most."""
    sizes, boundaries = table.sizes, table.boundaries
    between = (table.weights * inverse_of(table.masses)[:, None]).T @ table.weights
    joined = (boundaries[:, None] + boundaries - 2.0 * between) / (sizes[:, None] + sizes)
    ratios = boundaries / sizes
    change: Any = joined - ratios[:, None] - ratios
    np.fill_diagonal(change, np.inf)
    one, other = sorted(map(int, np.unravel_index(np.argmin(change), change.shape)))
    new = np.arange(sizes.size, dtype=labels.dtype)
    new[other] = one
    new[other + 1 :] -= 1
    return np.asarray(new[labels])


class AnchorSpectralClustering(BaseClustering):
    """Cluster samples of any number by the smallest cut of their anchor graph.

    Samples get weights on few anchors and are joined through these (:func:`leastcut.anchor_graph`),
    so that nothing of size n² is made and X may lie in files. The cut value is that of all samples,
    exactly.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters, or ``"auto"``; see :class:`SpectralClustering`.
    n_anchors : int, default=1000
        Anchors, at most as many as samples: more follow finer shapes, and take longer.
    n_neighbors : int, default=5
        Anchors that a sample has weights on; reduced below the number of anchors if that is
        smaller.
    n_components : int, default=None
        Number of columns of ``embedding_``; None means ``n_clusters``.
    effort : {"fast", "auto", "balanced", "thorough"}, default="auto"
        How long to search, see :func:`leastcut.partition`.
    max_clusters : int, default=None
        Largest number that ``n_clusters="auto"`` considers; None means 20.
    max_memory : int or str, default=None
        Memory that this process may have in use, in bytes or as ``"4GiB"``; None is most of what
        the system has left.
    folder : path, default=None
        Where anchors, weights and the state of the search are kept: a fit that was killed is
        resumed there by the same call. With ``random_state=None`` it takes the seed of that run.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where nearest anchors are searched; see :func:`leastcut.anchor_graph`.
    random_state, n_jobs : int, default=None
        Seed and threads, as in :class:`SpectralClustering`.
    verbose : bool, default=False
        Whether to report the steps on standard output, with a progress bar on the standard error.

    Attributes
    ----------
    labels_ : int32 ndarray of shape (n_samples,)
        The cluster of every sample, 0..n_clusters_-1, none empty.
    cut_value_ : float
        The cut value of ``labels_``; ratio and normalized cut are the same, as every degree is 1.
    affinity_matrix_ : AnchorGraph
        The graph, which stores no edges.
    n_iter_ : int
        Rounds in which samples were moved.
    solver_ : str
        "multilevel".
    n_clusters_, lower_bound_, gap_, eigenvalues_, embedding_, cut_path_
        As in :class:`SpectralClustering`.
    n_features_in_, feature_names_in_
        Number and names of features seen during fit.

    See Also
    --------
    SpectralClustering : The estimator for graphs whose edges are stored.
    anchor_graph : The graph by itself, for :func:`leastcut.partition` and other functions.
    leastcut.dask.AnchorSpectralClustering : The same on the workers of Dask.

    Examples
    --------
    >>> import numpy as np
    >>> from leastcut import AnchorSpectralClustering
    >>> X = np.concatenate([np.arange(0.0, 50.0), np.arange(200.0, 250.0)])[:, None]
    >>> model = AnchorSpectralClustering(2, n_anchors=20, random_state=0).fit(X)
    >>> np.bincount(model.labels_).tolist(), model.cut_value_
    ([50, 50], 0.0)
    >>> model.predict([[20.0], [220.0]]) == model.labels_[[20, 70]]
    array([ True,  True])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **ANCHOR_CONSTRAINTS,
        **inherited("n_components", "device", "n_jobs"),
        "max_memory": [COUNT, str, None],
        "folder": [str, os.PathLike, None],
    }

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        n_anchors: int = 1000,
        n_neighbors: int = 5,
        n_components: int | None = None,
        effort: str = "auto",
        max_clusters: int | None = None,
        max_memory: int | str | None = None,
        folder: Any = None,
        device: str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_anchors = n_anchors
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.effort = effort
        self.max_clusters = max_clusters
        self.max_memory = max_memory
        self.folder = folder
        self.device = device
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> Self:
        """Join samples through anchors, and cut their graph.

        Parameters
        ----------
        X : array-like, path, or table or array of another library, of shape (n_samples, n_features)
            Samples in memory; or what is read block by block: the path of an ``.npy`` or Parquet
            file, arrays of zarr and h5py, and whatever else :func:`leastcut.anchor_graph` takes.
        y : Ignored
            Present for API consistency.

        Returns
        -------
        self : object
        """
        # 1. Check everything.
        parameters = self.get_params(deep=False)
        check_max_clusters(parameters)
        self._begin()
        self.node_names_ = None  # samples have none
        X = self._checked(X, reset=True)
        n_samples, _ = as_source(X).shape
        check_counts(parameters, n_samples)
        n_anchors = min(self.n_anchors, n_samples)
        if self.n_clusters != "auto" and int(self.n_clusters) > n_anchors:
            raise ValueError(
                f"n_anchors={n_anchors} should be >= n_clusters={self.n_clusters}, as a cluster "
                "has an anchor at least; pass more n_anchors, or ask for fewer clusters."
            )
        seed = self._seed()
        settings = Settings(effort=self.effort, verbose=bool(self.verbose), seed=seed)
        # 2. From samples to anchors and weights on them.
        began = time.perf_counter()
        graph = anchor_graph(
            X,
            self.n_anchors,
            max(1, min(self.n_neighbors, n_anchors - 1)),
            seed,
            max_memory=self.max_memory,
            folder=self.folder,
            device=self.device,
            n_jobs=self.n_jobs,
            callback=BAR if self.verbose else None,
        )
        made = time.perf_counter()
        self._log(f"{n_samples} samples joined by {graph.n_anchors} anchors, {made - began:.2f} s")
        # 3. From weights to labels.
        problem = graph.problem
        n_clusters, chosen = self._number(problem, self.max_clusters, settings)
        n_clusters = problem.check_n_clusters(n_clusters)
        options = SearchOptions(self.effort, False, seed)
        with search_bar(type(self).__name__, settings, self._log) as bar:
            found = search_anchors(problem, n_clusters, [], options, bar)
        # 4. Keep what later questions need.
        labels = numbered(np.concatenate(found.kept), n_clusters)
        n_components = min(self.n_components or n_clusters, int(np.count_nonzero(graph.masses)))
        table = problem.table_of_labels(labels)
        fitted = FittedAnchors(
            labels, n_clusters, n_components, table.value, graph, table, settings
        )
        self._keep(fitted, found.n_rounds)
        if chosen is not None:
            self._keep_path(problem.core, chosen)
        self._log(
            f"{n_clusters} clusters, cut value {fitted.cut_value:.6g}: "
            f"anchors {made - began:.2f} s, cut {time.perf_counter() - made:.2f} s"
        )
        return self

    def _seed(self) -> int:
        """Return the seed: that of the run in the folder, unless another one is asked for."""
        if self.random_state is None and self.folder is not None:
            kept = RunFolder(Path(self.folder)).seed
            if kept is not None:
                return kept
        return fit_seed(self.random_state)

    def _checked(self, X: Any, reset: bool) -> Any:
        """Return X as it is if it is read block by block, else as scikit-learn validates it."""
        if not lies_elsewhere(X):
            return validated(self, read_input(X, "samples", "anchors")[0], reset)
        _check_n_features(self, as_source(X), reset=reset)
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


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


def numbered(labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return labels in the order in which clusters first appear, without sorting them all."""
    for count in (APPEARING, labels.size):
        there, first = np.unique(labels[:count], return_index=True)
        if there.size == n_clusters:
            break
    rank = np.empty(n_clusters, dtype=labels.dtype)
    rank[there[np.argsort(first)]] = np.arange(n_clusters)
    return np.asarray(rank[labels])

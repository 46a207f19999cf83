"""``AnchorSpectralClustering``: spectral clustering of large data through anchors.

The only data stored per sample are anchor weights and labels. New samples get anchor weights in the
same way as training samples. With v the eigenvectors of the graph of the anchors, the coordinates
of a sample with anchor weights w are

    e = Σ_j w_j v_j / √(Λ_j (1 − λ)),

for training samples and new samples alike, as the eigenvectors of Z Λ⁻¹ Zᵀ are linear in the rows
of Z.
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
from leastcut.estimators.parameters import COUNT, check_max_clusters, constraints_of
from leastcut.estimators.solvers import Settings, search_bar, warn_of_convergence
from leastcut.memory import check_memory
from leastcut.multilevel.efforts import EFFORTS, SearchOptions
from leastcut.progress import BAR
from leastcut.results import Partition, Relaxation
from leastcut.seeds import fit_seed
from leastcut.validation import is_on_gpu

NUMBERS = 2**23  # coordinates of new samples that are read at once: 64 MiB
APPEARING = 2**16  # labels that are first searched for all clusters

ANCHOR_CONSTRAINTS: dict[str, Any] = {
    **constraints_of("n_clusters", "max_clusters", "random_state", "verbose"),
    "n_anchors": [COUNT],
    "n_neighbors": [COUNT],
    "effort": [StrOptions(set(EFFORTS))],
}
"""Constraints of the parameters that this estimator shares with the one for Dask."""


@dataclass(frozen=True, eq=False, repr=False)
class FittedAnchors(Fitted):
    """State of a fitted anchor graph, with the weights of its clusters at the anchors."""

    matrix: AnchorGraph
    table: Table
    settings: Settings

    @property
    def problem(self) -> AnchorProblem:
        """The problem of cutting all samples."""
        return self.matrix.problem

    # -- eigenpairs

    def relax_core(self, count: int) -> Relaxation:
        """Return eigenpairs of the graph of the anchors; its eigenvalues are those of all samples.

        A warning is issued if they have not converged.
        """
        relaxation = relax_core(
            self.problem.core, self.matrix.store.sizes, count, self.settings.seed
        )
        warn_of_convergence(relaxation)
        return relaxation

    @cached_property
    def relaxation(self) -> Relaxation:
        """The eigenpairs of the graph of the anchors."""
        return self.relax_core(max(self.n_clusters, self.n_components))

    @property
    def eigenvalues(self) -> np.ndarray:
        """The smallest eigenvalues, at least ``n_clusters`` and ``n_components`` of them."""
        return self.relaxation.eigenvalues

    @property
    def lower_bound(self) -> float:
        """Lower bound on the cut value of every partition into ``n_clusters`` clusters."""
        return self.relaxation.leading(self.n_clusters).lower_bound

    @cached_property
    def _directions(self) -> np.ndarray:
        """The matrix that maps the anchor weights of a sample to its coordinates.

        Eigenvectors with eigenvalue 1 do not depend on the anchors, and their coordinates are 0.
        """
        relaxation, masses = self.relaxation.leading(self.n_components), self.matrix.masses
        left = 1.0 - relaxation.eigenvalues
        is_known = relaxation.eigenvalues <= LARGEST_EIGENVALUE
        scale = np.where(is_known, 1.0 / np.sqrt(np.where(is_known, left, 1.0)), 0.0)
        directions = np.zeros((masses.size, self.n_components))
        used = masses > 0
        directions[used] = relaxation.eigenvectors * scale / np.sqrt(masses[used])[:, None]
        return directions

    @cached_property
    def embedding(self) -> np.ndarray:
        """The rows of the eigenvectors of all samples."""
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
            "Transform fewer samples at a time, or fit with fewer n_components.",
        )
        coordinates = np.empty((n_points, self.n_components), dtype=dtype)
        start = 0
        for block in blocks:
            rows = block.to_sparse(self.matrix.n_anchors) @ self._directions
            coordinates[start : start + block.n_points] = rows
            start += block.n_points
        return coordinates

    # -- new samples

    def predict(self, X: Any) -> np.ndarray:
        """Return the cluster of every sample where it increases the cut value least."""
        return np.concatenate([self.table.assign(block) for block in self._blocks(X)])

    def score(self, X: Any) -> float:
        """Return the negative cut value after adding samples with the same anchors."""
        if self._is_training_data(X):
            return -self.cut_value
        table = self.table
        for block in self._blocks(X):
            _, entries = table_of_block(block, self.table.assign(block), *table.weights.shape)
            table = table.with_changes([entries])
        return -Table(table.weights, table.weights.sum(axis=1)).value

    def _blocks(self, X: Any) -> Iterator[Block]:
        """Yield the anchor weights of samples in blocks."""
        source = as_source(X)
        tile = tile_rows(*self.matrix.anchors.shape)
        step = tile * max(1, NUMBERS // (tile * source.shape[1]))
        for start in range(0, source.shape[0], step):
            rows = source.read(start, min(start + step, source.shape[0]))
            yield self.matrix.nearest.block(rows)

    def _is_training_data(self, X: Any) -> bool:
        """Return whether samples have the same anchor weights as the training samples, in order."""
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
        """Raise TypeError, as a proof needs the edges."""
        raise TypeError(
            "A proof needs the edges, but an anchor graph stores no edges; lower_bound_ and gap_ "
            "are computed from eigenvalues. For few samples, pass affinity_matrix_.to_sparse() "
            "and labels_ to leastcut.certify."
        )

    def path_partitions(self, numbers: range) -> list[Partition]:
        """Return partitions of all samples into other numbers of clusters.

        Each search starts from the partition into one more cluster, with two clusters merged. This
        never increases the value, so values never decrease as the number of clusters grows.
        """
        problem, partitions, starts = self.problem, list[Partition](), list[np.ndarray]()
        options = SearchOptions(self.settings.effort, False, self.settings.seed)
        for number in reversed(numbers):
            if number == self.n_clusters:
                starts = [self.labels, *starts]
            kept = [problem.split(labels) for labels in starts]
            result = search_anchors(problem, number, kept, options, Budget())
            partitions.append(Partition(np.concatenate(result.labels), result.table.value))
            if number > 1:
                starts = [merge_best_pair(partitions[-1].labels, result.table)]
        return partitions[::-1]


def merge_best_pair(labels: np.ndarray, table: Table) -> np.ndarray:
    """Return labels after merging the two clusters that reduce the value most."""
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
    """Spectral clustering of large data through a small number of anchors.

    Samples are connected through anchors (:func:`leastcut.anchor_graph`), so that memory is linear
    in the number of samples, and X may be read from files. The cut value is exact for the graph of
    all samples.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        The number of clusters to form, or ``"auto"``; see :class:`SpectralClustering`.
    n_anchors : int, default=1000
        Number of anchors, reduced if there are fewer samples. More anchors resolve finer
        structures and take more time.
    n_neighbors : int, default=5
        Number of anchors that each sample is connected to, reduced if there are fewer anchors.
    n_components : int, default=None
        Number of columns of ``embedding_``; None means ``n_clusters``.
    effort : {"fast", "auto", "balanced", "thorough"}, default="auto"
        Effort of the search; see :func:`leastcut.partition`.
    max_clusters : int, default=None
        Largest number of clusters that ``n_clusters="auto"`` considers; None means 20.
    max_memory : int or str, default=None
        Maximum memory of the process, in bytes or as in ``"4GiB"``. None means most of the
        available memory.
    folder : path, default=None
        Folder for anchors, weights and the state of the search. An interrupted fit is resumed by
        the same call; with ``random_state=None`` it uses the seed of the interrupted run.
    device : {"auto", "cpu", "cuda"}, default="auto"
        The device of the search for nearest anchors; see :func:`leastcut.anchor_graph`.
    random_state : int, RandomState instance or None, default=None
        Seed. Pass an int for reproducible labels, on any number of threads.
    n_jobs : int, default=None
        Number of threads. None and -1 mean one per available core.
    verbose : bool, default=False
        Whether to log the steps to standard output, and to show a progress bar on the standard
        error.

    Attributes
    ----------
    labels_ : int32 ndarray of shape (n_samples,)
        The cluster of every sample, 0..n_clusters_-1. No cluster is empty.
    cut_value_ : float
        The cut value of ``labels_``. Ratio cut and normalized cut are equal, as every degree is 1.
    affinity_matrix_ : AnchorGraph
        The graph, which stores no edges.
    n_iter_ : int
        Number of rounds in which samples were moved.
    solver_ : str
        "multilevel".
    n_clusters_, lower_bound_, gap_, eigenvalues_, embedding_, cut_path_
        As in :class:`SpectralClustering`.
    n_features_in_, feature_names_in_
        Number and names of features seen during :term:`fit`.

    See Also
    --------
    SpectralClustering : Clustering by a graph with stored edges.
    anchor_graph : Construct the anchor graph, for :func:`leastcut.partition` and other functions.
    leastcut.dask.AnchorSpectralClustering : The same method for Dask collections.

    Notes
    -----
    Two samples have the affinity Σ_j z_ij z_kj / Λ_j, where z_ij is the weight of sample i on
    anchor j and Λ_j the sum of the weights on anchor j. Weights of a sample sum to 1, so all
    degrees are 1. :meth:`certify` is not available, as it needs the edges.

    References
    ----------
    W. Liu, J. He, S.-F. Chang, "Large graph construction for scalable semi-supervised learning",
    ICML 2010.

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
        **constraints_of("n_components", "device", "n_jobs"),
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
        """Construct the anchor graph of X and cut it.

        Parameters
        ----------
        X : array-like, path, or table or array of a library, of shape (n_samples, n_features)
            Samples in memory; or a source that is read block by block: the path of an ``.npy`` or
            Parquet file, an array of zarr or h5py, or another source that
            :func:`leastcut.anchor_graph` accepts.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        # 1. Check all input.
        parameters = self.get_params(deep=False)
        check_max_clusters(parameters)
        self._reset_fit()
        self.node_names_ = None
        X = self._validated(X, reset=True)
        n_samples, _ = as_source(X).shape
        check_counts(parameters, n_samples)
        n_anchors = min(self.n_anchors, n_samples)
        if self.n_clusters != "auto" and int(self.n_clusters) > n_anchors:
            raise ValueError(
                f"n_anchors={n_anchors} should be >= n_clusters={self.n_clusters}, as every "
                "cluster needs an anchor; pass a larger n_anchors, or a smaller n_clusters."
            )
        seed = self._seed()
        settings = Settings(effort=self.effort, verbose=bool(self.verbose), seed=seed)
        # 2. Construct the anchor graph.
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
        graph_seconds = time.perf_counter() - began
        self._log(
            f"{n_samples} samples connected by {graph.n_anchors} anchors, {graph_seconds:.2f} s"
        )
        # 3. Compute the labels.
        problem = graph.problem
        n_clusters, chosen = self._resolve_n_clusters(problem, self.max_clusters, settings)
        n_clusters = problem.check_n_clusters(n_clusters)
        options = SearchOptions(self.effort, False, seed)
        with search_bar(type(self).__name__, settings, self._log) as bar:
            result = search_anchors(problem, n_clusters, [], options, bar)
        # 4. Set the attributes.
        labels = renumbered(np.concatenate(result.labels), n_clusters)
        n_components = min(self.n_components or n_clusters, int(np.count_nonzero(graph.masses)))
        table = problem.table_of_labels(labels)
        fitted = FittedAnchors(
            labels, n_clusters, n_components, table.value, graph, table, settings
        )
        self._set_fitted(fitted, result.n_rounds)
        if chosen is not None:
            self._set_path(problem.core, chosen)
        cut_seconds = time.perf_counter() - began - graph_seconds
        self._log(
            f"{n_clusters} clusters, cut value {fitted.cut_value:.6g}: "
            f"anchors {graph_seconds:.2f} s, cut {cut_seconds:.2f} s"
        )
        return self

    def _seed(self) -> int:
        """Return the seed; with ``random_state=None``, that of the run in the folder, if any."""
        if self.random_state is None and self.folder is not None:
            seed = RunFolder(Path(self.folder)).seed
            if seed is not None:
                return seed
        return fit_seed(self.random_state)

    def _validated(self, X: Any, reset: bool) -> Any:
        """Return X itself if it is read block by block, else validated by scikit-learn."""
        if not is_external(X):
            return validated(self, read_input(X, "samples", "anchors")[0], reset)
        _check_n_features(self, as_source(X), reset=reset)
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


def is_external(X: Any) -> bool:
    """Return whether samples are read block by block, and not by scikit-learn."""
    if isinstance(X, str | os.PathLike | np.memmap) or is_on_gpu(X):
        return True
    if isinstance(X, np.ndarray | list | tuple):
        return False
    # Sparse samples raise an error there.
    if sp.issparse(X) or type(X).__module__.partition(".")[0] == "pyarrow":
        return True
    in_memory = any(hasattr(X, name) for name in ("__array_interface__", "__dlpack__", "iloc"))
    return not in_memory and all(hasattr(X, name) for name in ("shape", "dtype", "__getitem__"))


def renumbered(labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Renumber labels in the order in which clusters first appear, mostly without a full sort."""
    for count in (APPEARING, labels.size):
        clusters, first = np.unique(labels[:count], return_index=True)
        if clusters.size == n_clusters:
            break
    rank = np.empty(n_clusters, dtype=labels.dtype)
    rank[clusters[np.argsort(first)]] = np.arange(n_clusters)
    return np.asarray(rank[labels])

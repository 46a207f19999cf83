"""Build an anchor graph from samples, block by block."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import accumulate
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

import leastcut
from leastcut.affinity.neighbors.devices import as_tensor, use_gpu
from leastcut.anchors.blocks import Block
from leastcut.anchors.choose import choose_anchors, sampled_rows
from leastcut.anchors.graph import AnchorGraph, InMemory
from leastcut.anchors.nearest import NearestAnchors, tile_rows
from leastcut.anchors.problem import masses_of
from leastcut.anchors.run_folder import BlocksInFolder, RunFolder, array_hash, checksum
from leastcut.anchors.settings import (
    GraphSpec,
    Plan,
    check_anchors,
    check_block_rows,
    check_max_memory,
    compact_sizes,
    estimated_seconds,
    make_plan,
)
from leastcut.anchors.sources import as_source
from leastcut.budget import Budget, Stopped, Waiting
from leastcut.multilevel.efforts import Progress
from leastcut.progress import TimeEstimate
from leastcut.seeds import RandomState, as_generator, as_seed
from leastcut.threads import count_threads
from leastcut.validation import check_choice

DEVICES = ("auto", "cpu", "cuda")

STAGES: dict[str, tuple[float, float]] = {"blocks": (0.0, 5.0)}
"""Initial estimate of the time of the blocks, as a multiple of the time of choosing anchors."""

Report = Callable[[str, float], None]
"""``report(stage, fraction)``."""


def anchor_graph(
    X: Any,
    n_anchors: int = 1000,
    n_neighbors: int = 5,
    random_state: RandomState = None,
    *,
    max_memory: int | str | None = None,
    folder: str | os.PathLike[str] | None = None,
    block_rows: int | Sequence[int] | None = None,
    device: str = "auto",
    n_jobs: int | None = None,
    callback: Callable[[Progress], object] | str | None = None,
) -> AnchorGraph:
    """Build a graph that connects points through few anchors, for data of any size.

    Every point has weights on its nearest anchors, and two points are similar if they share
    anchors: S = ZΛ⁻¹Zᵀ, with the weights Z, whose rows sum to 1, and Λ = diag(Zᵀ1). Only the
    ``n_neighbors`` weights of every point are stored, and S is never formed.
    :func:`leastcut.partition` and other functions accept an anchor graph like any other graph, and
    cut values are exact.

    Parameters
    ----------
    X : array-like, path, or table or array of another library, of shape (n_samples, n_features)
        The samples, which are read block by block: an array in memory or a :class:`numpy.memmap`;
        the path of an ``.npy`` file, of a Parquet file or of a folder of Parquet files (in the
        order of their paths); a pyarrow Table, Dataset or ParquetFile; a ``zarr.Array``, an
        ``h5py.Dataset``, or any object with a shape, a dtype and slices of rows. The graph does not
        depend on the container of the samples.
    n_anchors : int, default=1000
        Number of anchors, which are the centers of k-means on a sample of 20 points per anchor. At
        most n_samples.
    n_neighbors : int, default=5
        Number of anchors on which a point has weights, less than ``n_anchors``.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the sample and of the anchors. With a ``folder``, None uses the seed of its run.
    max_memory : int, str or None, default=None
        Limit of the memory of this process, in bytes or as text such as ``"4GiB"``. It includes
        memory in use before the call and the memory of a later :func:`leastcut.partition`. To stay
        within the limit, anchor weights are stored in files, and fewer rows and blocks are
        processed at once. None uses most of the available memory.
    folder : path or None, default=None
        Folder for anchors and weights. Repeating a call resumes it if it was interrupted, or loads
        its result. In both cases, X is read again and compared, by checksums of its blocks, with
        the samples of the run. By default, weights that do not fit into memory are stored in a
        temporary folder, which is deleted with the graph.
    block_rows : int, sequence of int or None, default=None
        Number of points in a block, or in every block; by default n_samples / 16, but between 8,192
        and 131,072. Labels depend on it.
    device : {"auto", "cpu", "cuda"}, default="auto"
        The device that searches the nearest anchors. "cuda" needs ``leastcut[gpu]``. "auto" uses a
        GPU if X is on it, or if the search would take the CPU long; with a ``folder``, the device
        of its run.
    n_jobs : int or None, default=None
        Number of threads; None and -1 use all available cores. The graph does not depend on it.
    callback : callable, "tqdm" or None, default=None
        Called with a :class:`leastcut.Progress` for the stages "anchors" and "blocks"; ``"tqdm"``
        shows a progress bar. Its return value is ignored; raise an exception to stop.

    Returns
    -------
    AnchorGraph
        The graph, with its ``anchors``, ``masses`` (Λ) and weights.

    Raises
    ------
    ValueError
        If a sample is not finite; if ``max_memory`` is too small, with the minimum; if ``folder``
        has another run, with the differing setting or rows of X; or if a file in the folder is
        damaged.

    See Also
    --------
    AnchorSpectralClustering : Estimator that builds an anchor graph and cuts it.
    adaptive_neighbors_graph : Graph of samples with stored edges.
    partition : Cut the graph.

    Notes
    -----
    Nearest anchors are exact, except for 8,192 or more anchors in more than 8 features: a point is
    then compared only with the anchors of the nearest cells, and misses a few.

    A folder must not be used by several processes at once. Files are checked when they are first
    read, and never unpickled or executed. The temporary folder is created by Python's ``tempfile``
    (see ``TMPDIR``), and should be on a disk. If the process is killed, it remains, and cannot be
    resumed.

    Examples
    --------
    >>> import numpy as np
    >>> import leastcut
    >>> X = np.concatenate([np.arange(0, 50), np.arange(80, 130)])[:, None]
    >>> graph = leastcut.anchor_graph(X, n_anchors=20, n_neighbors=3, random_state=0)
    >>> graph.n_nodes, graph.n_anchors
    (100, 20)
    >>> partition = leastcut.partition(graph, 2, random_state=0)
    >>> partition.cut_value, np.bincount(partition.labels).tolist()
    (0.0, [50, 50])

    For data larger than memory, samples are in a file and anchor weights in a folder:

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/X.npy", X)
    ...     graph = leastcut.anchor_graph(
    ...         f"{folder}/X.npy", 20, 3, random_state=0, max_memory="8GiB", folder=f"{folder}/run"
    ...     )
    ...     leastcut.partition(graph, 2, random_state=0).cut_value
    0.0
    """
    # 1. Check everything.
    check_choice("device", device, DEVICES)
    budget = Budget(callback=callback)
    n_threads = count_threads(n_jobs)
    limit = check_max_memory(max_memory)
    path = _check_folder(folder)
    source = as_source(X)
    n = source.shape[0]
    sizes = check_block_rows(block_rows, n)
    n_anchors, n_neighbors = check_anchors(n_anchors, n_neighbors, n)
    as_generator(random_state)  # raises if it is invalid
    run = None if path is None else RunFolder(path)
    seed = run.seed if random_state is None and run is not None else None
    seed = as_seed(random_state, 2**63) if seed is None else seed
    if run is not None and device == "auto":
        device = run.device
    on_gpu = use_gpu(device, X, estimated_seconds(source.shape, n_anchors) / n_threads)
    facts = {
        "leastcut": leastcut.__version__,
        "n_anchors": n_anchors,
        "n_neighbors": n_neighbors,
        "random_state": seed,
        "block_rows": compact_sizes(sizes),
        "device": "cuda" if on_gpu else "cpu",
        "shape of X": list(source.shape),
        "dtype of X": source.dtype.name,
    }
    if run is not None:
        run.check(facts)
    # 2. Plan.
    rows = sampled_rows(sizes, n_anchors, seed)
    n_sampled = sum(part.size for part in rows)
    spec = GraphSpec(source, sizes, n_anchors, n_neighbors, n_sampled, on_gpu)
    plan = make_plan(spec, n_threads, limit)
    if run is None and plan.n_kept < len(sizes):
        run = RunFolder()
    if run is not None:
        run.check_space(sizes, n_neighbors)
    # 3. Build in another thread, so that this one handles Ctrl-C.
    builder = GraphBuilder(spec, plan, facts, rows, run)
    waiting = Waiting()
    with budget.shown("anchor_graph", lambda: TimeEstimate(["anchors", "blocks"], STAGES)):

        def report(stage: str, fraction: float) -> None:
            if budget.callback is not None:
                progress = Progress(stage, fraction, inf, budget.seconds)
                waiting.call(lambda: budget.report(progress))
            else:
                waiting.check()

        return waiting.run(lambda: builder.graph(report), builder.stop)


def _check_folder(folder: object) -> Path | None:
    if folder is None:
        return None
    if not isinstance(folder, str | os.PathLike) or not str(folder):
        raise TypeError(f"folder={folder!r} is not a path; pass the path of a folder, or None.")
    return Path(folder)


class GraphBuilder:
    """Builds a graph, with anchors chosen from the given rows of every block.

    The folder of a run, if there is one, stores the results, and results of earlier calls are used.
    """

    def __init__(
        self,
        spec: GraphSpec,
        plan: Plan,
        facts: dict[str, Any],
        rows: list[np.ndarray],
        run: RunFolder | None,
    ) -> None:
        self._source, self._sizes, self._on_gpu = spec.source, spec.sizes, spec.on_gpu
        self._plan, self._facts, self._rows = plan, facts, rows
        # Keeps a temporary folder alive for threads that are still running after Ctrl-C.
        self._run = run
        self._is_lasting = run is not None and run.is_lasting
        self._starts = [0, *accumulate(spec.sizes)]
        self._stopped = threading.Event()
        # Threads share each block of a stream, which is slow to read at several positions.
        is_shared = spec.source.is_stream
        self._n_at_once, self._n_inside = (1, plan.n_threads) if is_shared else (plan.n_threads, 1)

    def stop(self) -> None:
        """Stop all threads after their current task."""
        self._stopped.set()

    def graph(self, report: Report) -> AnchorGraph:
        """Build the graph."""
        report("anchors", 0.0)
        anchors = self._anchors(report)
        report("anchors", 1.0)
        n_neighbors = max(1, min(self._facts["n_neighbors"], anchors.shape[0] - 1))
        nearest = self._nearest(anchors, n_neighbors)
        store, masses = self._blocks(nearest, report)
        self._source.done()
        plan = self._plan
        return AnchorGraph(anchors, masses, n_neighbors, store, plan.n_threads, plan.most_clusters)

    def _anchors(self, report: Report) -> np.ndarray:
        """Return the anchors from the folder, or choose them from the sample."""
        # 1. The sample, which also identifies the data of the folder.
        counts = [part.size for part in self._rows]
        sample = np.empty((sum(counts), self._source.shape[1]), dtype=self._source.dtype)
        end = 0
        for start, size, part in zip(self._starts, self._sizes, self._rows, strict=False):
            # Some sources read all rows in between: limit their number.
            edges = np.arange(self._plan.read_rows, size, self._plan.read_rows)
            for some in np.split(part, np.searchsorted(part, edges)):
                if some.size:
                    sample[end : end + some.size] = self._source.take(start, some)
                    end += some.size
            report("anchors", 0.5 * end / len(sample))
        if self._run is not None:
            self._run.begin({**self._facts, "sampled rows": array_hash(sample)})
            anchors = self._run.load("anchors", self._source.dtype, None, self._source.shape[1])
            if anchors is not None:
                return anchors
        # 2. Anchors.
        n_anchors, seed = self._facts["n_anchors"], self._facts["random_state"]
        if self._on_gpu:
            from leastcut.anchors.gpu import choose_on_gpu

            anchors = choose_on_gpu(sample, n_anchors, seed)
        else:
            anchors = choose_anchors(sample, n_anchors, seed, self._plan.n_threads)
        if self._run is not None:
            self._run.save("anchors", anchors)
        return anchors

    def _nearest(self, anchors: np.ndarray, n_neighbors: int) -> Any:
        """Return the search for nearest anchors on the CPU or the GPU."""
        if not self._on_gpu:
            return NearestAnchors(anchors, n_neighbors, self._n_inside)
        from leastcut.anchors.gpu import NearestOnGpu

        return NearestOnGpu(anchors, n_neighbors)

    def _blocks(self, nearest: Any, report: Report) -> tuple[InMemory | BlocksInFolder, np.ndarray]:
        """Return all blocks and the masses of the anchors; blocks in the folder are not changed."""
        n_anchors, n_blocks = nearest.anchors.shape[0], len(self._sizes)
        files, finished = None, set[int]()
        if self._run is not None:
            shape = self._sizes, nearest.n_neighbors, n_anchors
            files = BlocksInFolder(self._run, *shape, self._plan.n_kept)
            # Check existing blocks before writing new ones.
            finished = self._finished(files, report)
            known = self._run.load("masses", np.float64, n_anchors)
            if known is not None and len(finished) == n_blocks:
                return files, known

        def block_and_masses(number: int) -> tuple[Block | None, np.ndarray]:
            if files is not None and number in finished:
                block = files.load(number)
            else:
                block, samples = self._block(number, nearest)
                if files is not None:
                    files.save(number, block, samples)
            _, masses = masses_of(block, None, n_anchors)
            return block if files is None else None, masses

        blocks, masses = [], np.zeros(n_anchors)
        n_done = sum(self._sizes[number] for number in finished)
        with self._pool() as pool:
            for number, (block, some) in enumerate(pool.map(block_and_masses, range(n_blocks))):
                if block is not None:
                    blocks.append(block)
                masses += some
                n_done += 0 if number in finished else self._sizes[number]
                report("blocks", n_done / self._starts[-1])
        if self._run is None or files is None:
            return InMemory(blocks), masses
        self._run.save("masses", masses)
        return files, masses

    def _finished(self, files: BlocksInFolder, report: Report) -> set[int]:
        """Return the blocks in the folder; raise if one was computed from other samples.

        The samples of these blocks are read and compared by checksums, as the sample for the
        anchors does not include all rows.
        """
        numbers, n_done = [b for b in range(len(self._sizes)) if files.path(b).exists()], 0
        with self._pool() as pool:
            sums = pool.map(self._checksum_of_samples, numbers)
            for number, samples in zip(numbers, sums, strict=True):
                if samples != files.checksum_of_samples(number):
                    first, last = self._starts[number], self._starts[number + 1] - 1
                    folder = str(files.path(number).parents[1])
                    raise ValueError(
                        f"{folder=} has another run: rows {first} to {last} of X (block {number}) "
                        "differ from the samples of this run. Pass the same data to resume it, or "
                        "pass another folder."
                    )
                n_done += self._sizes[number]
                report("blocks", n_done / self._starts[-1])
        return set(numbers)

    @contextmanager
    def _pool(self) -> Iterator[ThreadPoolExecutor]:
        """Create a thread pool for blocks, which an error stops."""
        pool = ThreadPoolExecutor(self._n_at_once)
        try:
            yield pool
        except BaseException:
            self.stop()
            raise
        finally:
            pool.shutdown(cancel_futures=True)

    def _block(self, number: int, nearest: Any) -> tuple[Block, int]:
        """Return a block, and the checksum of its samples if the folder is permanent.

        The number of rows that are read at once has no effect on the result.
        """
        start, size = self._starts[number], self._sizes[number]
        # Read complete tiles, as the rounding of a product depends on the limits of its tile.
        tile = tile_rows(*nearest.anchors.shape)
        step = max(1, self._plan.read_rows // tile) * tile
        shape, samples = (size, nearest.n_neighbors), 0
        block = Block(np.empty(shape, dtype=np.int32), np.empty(shape, dtype=np.float32))
        for first in range(0, size, step):
            last = min(first + step, size)
            if self._on_gpu and not self._is_lasting:
                rows = self._read(start + first, start + last, self._source.on_gpu)
            else:
                rows = self._read(start + first, start + last)
                samples = checksum([rows], samples) if self._is_lasting else 0
                rows = as_tensor(rows) if self._on_gpu else rows
            block.anchors[first:last], block.weights[first:last] = nearest.block(rows)
        return block, samples

    def _checksum_of_samples(self, number: int) -> int:
        """Return the checksum of the samples of a block."""
        start, stop = self._starts[number : number + 2]
        step = self._plan.read_rows
        return checksum(
            self._read(first, min(first + step, stop)) for first in range(start, stop, step)
        )

    def _read(self, start: int, stop: int, read: Callable[[int, int], Any] | None = None) -> Any:
        """Return rows, by default on the host; raise if the build was stopped."""
        if self._stopped.is_set():
            raise Stopped
        return (read or self._source.read)(start, stop)

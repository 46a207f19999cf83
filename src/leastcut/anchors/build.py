"""From samples to an anchor graph: check, plan, and build it block by block."""

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
from leastcut.anchors.run_folder import BlocksInFolder, RunFolder, hash_of, sum_of
from leastcut.anchors.settings import (
    Need,
    Plan,
    check_anchors,
    check_block_rows,
    check_max_memory,
    estimated_seconds,
    planned,
    short_sizes,
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
"""Estimated time of blocks, as a multiple of that of choosing anchors, before its pace is known."""

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
    """Return a graph that joins points through few anchors, for data of any size.

    Every point gets weights on its nearest anchors, and two points are alike as far as they share
    anchors: S = ZΛ⁻¹Zᵀ with Z the weights, 1 in every row, and Λ = diag(Zᵀ1). S is never formed:
    what is kept are ``n_neighbors`` weights per point. :func:`leastcut.partition` and other
    functions take it where they take a graph, and every cut value is exact.

    Parameters
    ----------
    X : array-like, path, or table or array of another library, of shape (n, n_features)
        The samples, read block by block and never whole: an array in memory or a
        :class:`numpy.memmap`; the path of an ``.npy`` file, of a Parquet file or of a folder of
        them (in the order of their paths); a Table, Dataset or ParquetFile of pyarrow; a
        ``zarr.Array``, an ``h5py.Dataset``, or anything else with a shape, a dtype and slices of
        rows. Equal samples give equal graphs wherever they lie.
    n_anchors : int, default=1000
        Anchors: centers of k-means on a sample of 20 points for each. At most n of them.
    n_neighbors : int, default=5
        Anchors that a point has weights on, fewer than there are.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the sample and of the anchors. With a ``folder``, None goes on with its seed.
    max_memory : int, str or None, default=None
        Memory that this process may have in use, in bytes or as ``"4GiB"``: what it has in use at
        the call counts, and so does what :func:`leastcut.partition` takes later. Anchor weights
        are kept in files if they would take too much, fewer rows are read at once, and fewer
        blocks. None is most of what the system has left.
    folder : path or None, default=None
        Where anchors and weights are kept. A call that was killed goes on there when it is made
        again, and the result of one that has ended is read. In both cases X is read once more and
        compared, by check sums of its blocks, with the samples that the folder was computed from.
        By default weights that are too many for memory go to a temporary folder, which is
        removed with the graph.
    block_rows : int, sequence of int or None, default=None
        Points of a block, or of every block; by default a sixteenth of them, but between 8,192 and
        131,072. Labels depend on it.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where nearest anchors are searched: on the CPU, or on a GPU, which needs ``leastcut[gpu]``.
        "auto" is where X lies, and a GPU if there is one and the CPU would take long; with a
        ``folder``, the device of its run.
    n_jobs : int or None, default=None
        Threads; None and -1 mean one per available core. The graph does not depend on it.
    callback : callable, "tqdm" or None, default=None
        Called with a :class:`leastcut.Progress` whose stage is "anchors" and then "blocks";
        ``"tqdm"`` shows a progress bar. Half a graph is none: what it answers is not looked at, and
        to stop it raises an error.

    Returns
    -------
    AnchorGraph
        With ``anchors``, ``masses`` (Λ), ``n_nodes``, and the weights.

    Raises
    ------
    ValueError
        If samples are not finite, with the row; if ``max_memory`` is too little, with the least
        that would do; if ``folder`` holds another run, with what differs, which may be rows of X;
        if a file of the folder is damaged, with its name.

    Notes
    -----
    Nearest anchors are found exactly. Only from 8,192 anchors and 9 features on, points look for
    them among those around their own cell, and miss a few.

    A folder is for one process at a time. Files are checked when they are first read: a damaged one
    is an error. No file in it is unpickled or run. A temporary folder lies where Python's
    ``tempfile`` puts it (``TMPDIR``), which should be a disk; a process that is killed leaves it
    there, and cannot go on from it.

    Examples
    --------
    >>> import numpy as np
    >>> import leastcut
    >>> X = np.concatenate([np.arange(0, 50), np.arange(80, 130)])[:, None]
    >>> graph = leastcut.anchor_graph(X, n_anchors=20, n_neighbors=3, random_state=0)
    >>> graph.n_nodes, graph.n_anchors
    (100, 20)
    >>> found = leastcut.partition(graph, 2, random_state=0)
    >>> found.cut_value, np.bincount(found.labels).tolist()
    (0.0, [50, 50])

    Data larger than memory: samples in a file, anchor weights in a folder.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     np.save(f"{place}/X.npy", X)
    ...     graph = leastcut.anchor_graph(
    ...         f"{place}/X.npy", 20, 3, random_state=0, max_memory="8GiB", folder=f"{place}/run"
    ...     )
    ...     leastcut.partition(graph, 2, random_state=0).cut_value
    0.0
    """
    # 1. Check everything.
    check_choice("device", device, DEVICES)
    budget = Budget(callback=callback)
    n_threads = count_threads(n_jobs)
    limit = check_max_memory(max_memory)
    where = _check_folder(folder)
    source = as_source(X)
    n = source.shape[0]
    sizes = check_block_rows(block_rows, n)
    n_anchors, n_neighbors = check_anchors(n_anchors, n_neighbors, n)
    as_generator(random_state)  # which raises if it is none
    run = None if where is None else RunFolder(where)
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
        "block_rows": short_sizes(sizes),
        "device": "cuda" if on_gpu else "cpu",
        "shape of X": list(source.shape),
        "dtype of X": source.dtype.name,
    }
    if run is not None:
        run.check(facts)
    # 2. Plan.
    rows = sampled_rows(sizes, n_anchors, seed)
    n_sampled = sum(part.size for part in rows)
    need = Need(source, sizes, n_anchors, n_neighbors, n_sampled, on_gpu)
    plan = planned(need, n_threads, limit)
    if run is None and plan.n_kept < len(sizes):
        run = RunFolder()
    if run is not None:
        run.check_space(sizes, n_neighbors)
    # 3. Build, in a thread of its own: this one hears Ctrl-C.
    build = Build(need, plan, facts, rows, run)
    waiting = Waiting()
    with budget.shown("anchor_graph", lambda: TimeEstimate(["anchors", "blocks"], STAGES)):

        def report(stage: str, fraction: float) -> None:
            if budget.callback is not None:
                progress = Progress(stage, fraction, inf, budget.seconds)
                waiting.call(lambda: budget.report(progress))
            else:
                waiting.check()

        return waiting.run(lambda: build.graph(report), build.stop)


def _check_folder(folder: object) -> Path | None:
    if folder is None:
        return None
    if not isinstance(folder, str | os.PathLike) or not str(folder):
        raise TypeError(f"folder={folder!r} is not a path; name a folder, or pass None.")
    return Path(folder)


class Build:
    """The building of one graph, from anchors chosen from these rows of every block.

    If there is a folder for a run of these facts, it keeps the results, and those of earlier calls
    are used.
    """

    def __init__(
        self,
        need: Need,
        plan: Plan,
        facts: dict[str, Any],
        rows: list[np.ndarray],
        run: RunFolder | None,
    ) -> None:
        self._source, self._sizes, self._on_gpu = need.source, need.sizes, need.on_gpu
        self._plan, self._facts, self._rows = plan, facts, rows
        # Threads that Ctrl-C leaves behind may still write to a temporary folder.
        self._run = run
        self._is_lasting = run is not None and run.is_lasting
        self._starts = [0, *accumulate(need.sizes)]
        self._stopped = threading.Event()
        # Threads over blocks would read a stream here and there: they share every block instead.
        is_shared = need.source.is_stream
        self._n_at_once, self._n_inside = (1, plan.n_threads) if is_shared else (plan.n_threads, 1)

    def stop(self) -> None:
        """Let threads end after their present work."""
        self._stopped.set()

    def graph(self, report: Report) -> AnchorGraph:
        """Return the graph."""
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
        """Return anchors: those of the folder, or centers of the sample."""
        # 1. The sample; it also shows whether the folder is one of the same data.
        counts = [part.size for part in self._rows]
        sample = np.empty((sum(counts), self._source.shape[1]), dtype=self._source.dtype)
        end = 0
        for start, size, part in zip(self._starts, self._sizes, self._rows, strict=False):
            # Some ways to single rows lead through all between them: not too many at once.
            edges = np.arange(self._plan.read_rows, size, self._plan.read_rows)
            for some in np.split(part, np.searchsorted(part, edges)):
                if some.size:
                    sample[end : end + some.size] = self._source.take(start, some)
                    end += some.size
            report("anchors", 0.5 * end / len(sample))
        if self._run is not None:
            self._run.begin({**self._facts, "sampled rows": hash_of(sample)})
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
        """Return the search for nearest anchors, here or on a GPU."""
        if not self._on_gpu:
            return NearestAnchors(anchors, n_neighbors, self._n_inside)
        from leastcut.anchors.gpu import NearestOnGpu

        return NearestOnGpu(anchors, n_neighbors)

    def _blocks(self, nearest: Any, report: Report) -> tuple[InMemory | BlocksInFolder, np.ndarray]:
        """Return all blocks and the masses of the anchors; what is in the folder stays as it is."""
        n_anchors, n_blocks = nearest.anchors.shape[0], len(self._sizes)
        files, finished = None, set[int]()
        if self._run is not None:
            shape = self._sizes, nearest.n_neighbors, n_anchors
            files = BlocksInFolder(self._run, *shape, self._plan.n_kept)
            # All that is there is checked before anything is written beside it.
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
        """Return the blocks that are in the folder; raise if one was computed from other samples.

        All of their samples are read and compared by check sums: what was sampled for the anchors
        does not show a change in other rows.
        """
        numbers, n_done = [b for b in range(len(self._sizes)) if files.path(b).exists()], 0
        with self._pool() as pool:
            sums = pool.map(self._sum_of_samples, numbers)
            for number, samples in zip(numbers, sums, strict=True):
                if samples != files.sum_of_samples(number):
                    first, last = self._starts[number], self._starts[number + 1] - 1
                    folder = str(files.path(number).parents[1])
                    raise ValueError(
                        f"{folder=} holds another run: rows {first} to {last} of X (block "
                        f"{number}) are not those that it was computed from. Pass the same data "
                        "to go on with it, or another folder."
                    )
                n_done += self._sizes[number]
                report("blocks", n_done / self._starts[-1])
        return set(numbers)

    @contextmanager
    def _pool(self) -> Iterator[ThreadPoolExecutor]:
        """Open threads for blocks; an error ends their work."""
        pool = ThreadPoolExecutor(self._n_at_once)
        try:
            yield pool
        except BaseException:
            self.stop()
            raise
        finally:
            pool.shutdown(cancel_futures=True)

    def _block(self, number: int, nearest: Any) -> tuple[Block, int]:
        """Return a block, and the check sum of its samples on the host if the folder is lasting.

        Some rows are read at a time; how many makes no difference.
        """
        start, size = self._starts[number], self._sizes[number]
        # Complete tiles, as the last digit of a product depends on where its tile begins and ends.
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
                samples = sum_of([rows], samples) if self._is_lasting else 0
                rows = as_tensor(rows) if self._on_gpu else rows
            block.anchors[first:last], block.weights[first:last] = nearest.block(rows)
        return block, samples

    def _sum_of_samples(self, number: int) -> int:
        """Return the check sum of the samples of a block."""
        start, stop = self._starts[number : number + 2]
        step = self._plan.read_rows
        return sum_of(
            self._read(first, min(first + step, stop)) for first in range(start, stop, step)
        )

    def _read(self, start: int, stop: int, read: Callable[[int, int], Any] | None = None) -> Any:
        """Return rows, on the host by default, unless the work was stopped."""
        if self._stopped.is_set():
            raise Stopped
        return (read or self._source.read)(start, stop)

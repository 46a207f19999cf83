"""``anchor_graph``: from samples, wherever they lie, to points tied to anchors."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

import firstcut
from firstcut.anchors.blocks import MOST_POINTS, Block
from firstcut.anchors.choose import choose_anchors, sampled_rows
from firstcut.anchors.graph import AnchorGraph, InMemory, Store
from firstcut.anchors.memory_plan import Need, Plan, check_max_memory, planned
from firstcut.anchors.nearest import NearestAnchors, tile_rows
from firstcut.anchors.run_folder import RunFolder, hash_of
from firstcut.anchors.sources import Source, as_source
from firstcut.anchors.storage import TIE_BYTES, BlocksInFolder
from firstcut.anchors.table import masses_of
from firstcut.interrupts import Stopped, Waiting
from firstcut.memory import in_units
from firstcut.partitioning.efforts import Progress
from firstcut.progress import Foresight, check_listener, listening
from firstcut.threads import count_threads
from firstcut.validation import RandomState, as_generator, check_choice, check_count

DEFAULT_BLOCK_ROWS = 2**17
"""Points of a block: enough for a thread to be busy, few enough to be in memory several times."""

DEVICES = ("auto", "cpu", "cuda")
"""Where nearest anchors are looked for."""

STAGES: dict[str, tuple[float, float]] = {"blocks": (0.0, 5.0)}
"""What tying points takes, about, in times what choosing anchors took, before its pace tells."""


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

    Every point is tied to its nearest anchors, and two points are alike as far as they share
    anchors: S = ZΛ⁻¹Zᵀ with Z the ties, 1 in every row, and Λ = diag(Zᵀ1). S is never formed: what
    is kept are ``n_neighbors`` ties per point. :func:`firstcut.partition` and the other verbs take
    it where they take a graph, and every cut value is exact.

    Parameters
    ----------
    X : array-like, path, or table or array of another library, of shape (n, n_features)
        The samples, read block by block and never whole: an array in memory or a
        :class:`numpy.memmap`; the path of an ``.npy`` file, of a Parquet file or of a folder of
        them (in the order of their paths); a Table, Dataset or ParquetFile of pyarrow; a
        ``zarr.Array``, an ``h5py.Dataset``, or anything else with a shape, a dtype and slices of
        rows. Equal samples give equal graphs wherever they lie.
    n_anchors : int, default=1000
        Anchors: centres of k-means on a sample of 20 points for each. At most n of them.
    n_neighbors : int, default=5
        Anchors that a point is tied to, fewer than there are.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the sample and of the anchors. With a ``folder``, None goes on with its seed.
    max_memory : int, str or None, default=None
        Memory that this process may have in use, in bytes or as ``"4GiB"``: what it has in use at
        the call counts, and so does what :func:`firstcut.partition` takes later. Ties are kept in
        files where they would take too much, fewer rows are read at once, and fewer blocks. None is
        most of what the system has left.
    folder : path or None, default=None
        Where anchors and ties are kept. A call that was killed goes on there when it is made
        again, and one that has ended is read. By default ties that are too many for memory go to
        a temporary folder, which is removed with the graph.
    block_rows : int, sequence of int or None, default=None
        Points of a block, or of every block; 131,072 by default. Labels depend on it.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where nearest anchors are looked for.
    n_jobs : int or None, default=None
        Threads; None and -1 mean one per available core. The graph does not depend on it.
    callback : callable, "tqdm" or None, default=None
        Called with a :class:`firstcut.Progress` whose stage is "anchors" and then "blocks";
        ``"tqdm"`` shows a progress bar. Half a graph is none: what it answers is not looked at, and
        to stop it raises an error.

    Returns
    -------
    AnchorGraph
        With ``anchors``, ``masses`` (Λ), ``n_nodes``, and the ties.

    Raises
    ------
    ValueError
        If samples are not finite, with the row; if ``max_memory`` is too little, with the least
        that would do; if ``folder`` holds another run, with what differs.

    Notes
    -----
    A folder is for one process at a time. Files are checked when they are read: a damaged one is
    an error.

    Examples
    --------
    >>> import numpy as np
    >>> import firstcut
    >>> X = np.concatenate([np.arange(0, 50), np.arange(80, 130)])[:, None]
    >>> graph = firstcut.anchor_graph(X, n_anchors=20, n_neighbors=3, random_state=0)
    >>> graph.n_nodes, graph.n_anchors
    (100, 20)
    >>> found = firstcut.partition(graph, 2, random_state=0)
    >>> found.cut_value, np.bincount(found.labels).tolist()
    (0.0, [50, 50])

    Data larger than memory: samples in a file, ties in a folder.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     np.save(f"{place}/X.npy", X)
    ...     graph = firstcut.anchor_graph(
    ...         f"{place}/X.npy", 20, 3, random_state=0, max_memory="8GiB", folder=f"{place}/run"
    ...     )
    ...     firstcut.partition(graph, 2, random_state=0).cut_value
    0.0
    """
    # 1. Check everything.
    check_choice("device", device, DEVICES)
    check_listener(callback)
    n_threads = count_threads(n_jobs)
    limit = check_max_memory(max_memory)
    where = _check_folder(folder)
    source = as_source(X)
    n = source.shape[0]
    sizes = check_block_rows(block_rows, n)
    n_anchors, n_neighbors = check_anchors(n_anchors, n_neighbors, n)
    as_generator(random_state)  # which raises where it is none
    run = None if where is None else RunFolder(where)
    seed = seed_of(random_state, None if run is None else run.seed)
    facts = {
        "firstcut": firstcut.__version__,
        "n_anchors": n_anchors,
        "n_neighbors": n_neighbors,
        "random_state": seed,
        "block_rows": _short(sizes),
        "shape of X": list(source.shape),
        "dtype of X": source.dtype.name,
    }
    if run is not None:
        run.check(facts)
    # 2. Plan.
    rows = sampled_rows(sizes, n_anchors, seed)
    need = Need(source, sizes, n_anchors, n_neighbors, sum(part.size for part in rows))
    plan = planned(need, n_threads, limit)
    keeper = None
    if run is None and plan.n_kept < len(sizes):
        keeper = TemporaryFolder()
        run = RunFolder(keeper.path)
    if run is not None:
        _check_space(run.path, sizes, n_neighbors)
    # 3. Build, in a thread of its own: this one hears Ctrl-C.
    build = _Build(source, sizes, plan, run, facts, rows)
    build.keeper = keeper  # threads that Ctrl-C leaves behind may still write
    waiting = Waiting()
    with listening(callback, "anchor_graph", lambda: Foresight(["anchors", "blocks"], STAGES)) as (
        listener
    ):
        began = time.monotonic()

        def tell(stage: str, fraction: float) -> None:
            if listener is not None:
                progress = Progress(stage, fraction, inf, time.monotonic() - began)
                waiting.call(lambda: listener(progress))
            else:
                waiting.go_on()

        graph = waiting.run(lambda: build.graph(tell), build.stop)
    if keeper is not None:
        # The folder is there as long as the ties are asked for.
        keeper.belongs_to(graph.store)
    return graph


class _Build:
    """Anchors, then block after block."""

    def __init__(
        self,
        source: Source,
        sizes: tuple[int, ...],
        plan: Plan,
        run: RunFolder | None,
        facts: dict[str, Any],
        rows: list[np.ndarray],
    ) -> None:
        self._source, self._sizes, self._plan = source, sizes, plan
        self._run, self._facts, self._rows = run, facts, rows
        self._starts = [0, *accumulate(sizes)]
        self._stopped = threading.Event()
        self.keeper: TemporaryFolder | None = None

    def stop(self) -> None:
        """Let threads end after what they are at."""
        self._stopped.set()

    def graph(self, tell: Callable[[str, float], None]) -> AnchorGraph:
        """Return the graph."""
        tell("anchors", 0.0)
        anchors = self._anchors(tell)
        tell("anchors", 1.0)
        n_neighbors = max(1, min(self._facts["n_neighbors"], anchors.shape[0] - 1))
        nearest = NearestAnchors(anchors, n_neighbors, 1)
        store, masses = self._ties(nearest, tell)
        return AnchorGraph(anchors, masses, n_neighbors, store, self._plan.n_threads)

    def _anchors(self, tell: Callable[[str, float], None]) -> np.ndarray:
        """Return anchors: those of the folder, or centres of the sample."""
        # 1. The sample; it also tells whether the folder is one of the same data.
        counts = [part.size for part in self._rows]
        sample = np.empty((sum(counts), self._source.shape[1]), dtype=self._source.dtype)
        for number, (part, end) in enumerate(zip(self._rows, accumulate(counts), strict=True)):
            if part.size:
                sample[end - part.size : end] = self._source.take(self._starts[number], part)
            tell("anchors", 0.5 * end / len(sample))
        if self._run is not None:
            self._run.begin({**self._facts, "sampled rows": hash_of([sample])})
            anchors = self._run.load("anchors")
            if anchors is not None:
                return anchors
        # 2. Anchors.
        n_anchors, seed = self._facts["n_anchors"], self._facts["random_state"]
        anchors = choose_anchors(sample, n_anchors, seed, self._plan.n_threads)
        if self._run is not None:
            self._run.save("anchors", anchors)
        return anchors

    def _ties(
        self, nearest: NearestAnchors, tell: Callable[[str, float], None]
    ) -> tuple[Store, np.ndarray]:
        """Return all blocks and the masses of the anchors; what is in the folder stays as it is."""
        n_anchors, n_blocks = nearest.anchors.shape[0], len(self._sizes)
        files = None
        if self._run is not None:
            where = self._run.path, self._sizes, nearest.n_neighbors
            files = BlocksInFolder(*where, self._plan.n_kept, self.keeper is None)
            found = self._run.load("masses")
            if found is not None:
                return files, found

        def tie(number: int) -> tuple[Block | None, np.ndarray]:
            if files is not None and files.has(number):
                block = files.load(number)
            else:
                block = self._block(number, nearest)
                if files is not None:
                    files.save(number, block)
            _, told = masses_of(block, None, n_anchors)
            return block if files is None else None, told

        blocks, masses = [], np.zeros(n_anchors)
        pool = ThreadPoolExecutor(self._plan.n_threads)
        try:
            for number, (block, told) in enumerate(pool.map(tie, range(n_blocks))):
                if block is not None:
                    blocks.append(block)
                masses += told
                tell("blocks", self._starts[number + 1] / self._starts[-1])
        finally:
            self.stop()
            pool.shutdown(cancel_futures=True)
        if self._run is None or files is None:
            return InMemory(blocks), masses
        self._run.save("masses", masses)
        return files, masses

    def _block(self, number: int, nearest: NearestAnchors) -> Block:
        """Tie the points of a block, some rows at a time; how many makes no difference."""
        start, size = self._starts[number], self._sizes[number]
        # Whole tiles, as the last digit of a product depends on where its tile begins and ends.
        tile = tile_rows(*nearest.anchors.shape)
        step = max(1, self._plan.read_rows // tile) * tile
        if step >= size:
            return nearest.block(self._source.read(start, start + size))
        shape = size, nearest.n_neighbors
        block = Block(np.empty(shape, dtype=np.int32), np.empty(shape, dtype=np.float32))
        for first in range(0, size, step):
            if self._stopped.is_set():
                raise Stopped
            last = min(first + step, size)
            part = nearest.block(self._source.read(start + first, start + last))
            block.anchors[first:last], block.weights[first:last] = part
        return block


# -- checks


def check_block_rows(block_rows: object, n_samples: int) -> tuple[int, ...]:
    """Return the sizes of blocks that ``block_rows`` stands for."""
    if n_samples > MOST_POINTS:
        raise ValueError(
            f"X has {n_samples} samples; the exact sums of an anchor graph hold for {MOST_POINTS}."
        )
    if block_rows is None:
        block_rows = DEFAULT_BLOCK_ROWS
    if not isinstance(block_rows, Sequence | np.ndarray) or isinstance(block_rows, str):
        size = check_count("block_rows", block_rows)
        whole, rest = divmod(n_samples, size)
        return (*(size,) * whole, *((rest,) if rest else ()))
    sizes = tuple(check_count("block_rows", size) for size in block_rows)
    if sum(sizes) != n_samples:
        raise ValueError(
            f"block_rows adds up to {sum(sizes)} rows, but X has {n_samples} samples; pass one "
            "number, or sizes that add up to that."
        )
    return sizes


def check_anchors(n_anchors: object, n_neighbors: object, n_samples: int) -> tuple[int, int]:
    """Return both numbers, anchors cut down to the samples there are."""
    anchors = min(check_count("n_anchors", n_anchors), n_samples)
    neighbors = check_count("n_neighbors", n_neighbors)
    if neighbors >= anchors:
        there = f"n_anchors={anchors}" if anchors < n_samples else f"the {n_samples} samples of X"
        remedy = f"pass n_neighbors={anchors - 1} or less, or more of these"
        raise ValueError(
            f"n_neighbors={neighbors} must be below {there}; "
            f"{remedy if anchors > 1 else 'pass more of these'}."
        )
    return anchors, neighbors


def seed_of(random_state: RandomState, kept: int | None = None) -> int:
    """Return the seed that ``random_state`` stands for: a number itself, else one that it draws.

    ``kept`` is the one that None stands for, where there is one.
    """
    if random_state is None and kept is not None:
        return kept
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(as_generator(random_state).integers(2**63))


def _check_folder(folder: object) -> Path | None:
    if folder is None:
        return None
    if not isinstance(folder, str | os.PathLike) or not str(folder):
        raise TypeError(f"folder={folder!r} is not a path; name a folder, or pass None.")
    return Path(folder)


def _check_space(path: Path, sizes: tuple[int, ...], n_neighbors: int) -> None:
    """Raise where a folder has no room for the ties that are not in it yet."""
    files = BlocksInFolder(path, sizes, n_neighbors)
    points = sum(size for number, size in enumerate(sizes) if not files.has(number))
    needed = points * n_neighbors * TIE_BYTES
    there = path.absolute()
    while not there.exists():
        there = there.parent
    free = shutil.disk_usage(there).free
    if needed > free:
        raise ValueError(
            f"folder={str(path)!r} has {in_units(free)} of space left, and ties take "
            f"{in_units(needed)}; name a folder with more, or pass fewer neighbors."
        )


def _short(sizes: tuple[int, ...]) -> int | list[int]:
    """Return the sizes of blocks as JSON has them: one number where all but the last are equal."""
    is_even = all(size == sizes[0] for size in sizes[:-1]) and sizes[-1] <= sizes[0]
    return sizes[0] if is_even else list(sizes)


class TemporaryFolder:
    """A folder that is removed with what it belongs to, or when Python ends."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="firstcut-"))
        self._finalizer = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def belongs_to(self, owner: object) -> None:
        """Let it be removed with another object, and not with this one."""
        weakref.finalize(owner, shutil.rmtree, self.path, ignore_errors=True)
        self._finalizer.detach()

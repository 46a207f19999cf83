"""From samples to a graph, block by block: anchors of a sample, then the ties of every point."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import accumulate
from typing import Any

import numpy as np

from leastcut.affinity.neighbors.devices import as_tensor
from leastcut.anchors.blocks import Block
from leastcut.anchors.choose import choose_anchors
from leastcut.anchors.files import sum_of
from leastcut.anchors.graph import AnchorGraph, InMemory, Store
from leastcut.anchors.memory_plan import Need, Plan
from leastcut.anchors.nearest import NearestAnchors, tile_rows
from leastcut.anchors.run_folder import RunFolder, TemporaryFolder, hash_of
from leastcut.anchors.storage import BlocksInFolder
from leastcut.anchors.table import masses_of
from leastcut.budget import Stopped


class Build:
    """The building of one graph.

    Parameters
    ----------
    need : Need
        What is to be computed.
    plan : Plan
        How.
    run : RunFolder or None
        Where what is found is kept, and what was found before.
    facts : dict
        Its settings, which are those of the folder.
    rows : list of ndarray
        The rows of every block that anchors are chosen from.

    Attributes
    ----------
    keeper : TemporaryFolder or None
        What the folder is removed with: threads that Ctrl-C leaves behind may still write there.
    """

    def __init__(
        self,
        need: Need,
        plan: Plan,
        run: RunFolder | None,
        facts: dict[str, Any],
        rows: list[np.ndarray],
    ) -> None:
        self._source, self._sizes, self._on_gpu = need.source, need.sizes, need.on_gpu
        self._plan, self._run, self._facts, self._rows = plan, run, facts, rows
        self._starts = [0, *accumulate(need.sizes)]
        self._stopped = threading.Event()
        # Threads over blocks would read a stream here and there: they share every block instead.
        is_shared = need.source.is_stream
        self._n_at_once, self._n_inside = (1, plan.n_threads) if is_shared else (plan.n_threads, 1)
        self.keeper: TemporaryFolder | None = None

    @property
    def _is_lasting(self) -> bool:
        """Whether a later call may come back to the folder."""
        return self._run is not None and self.keeper is None

    def stop(self) -> None:
        """Let threads end after what they are at."""
        self._stopped.set()

    def graph(self, tell: Callable[[str, float], None]) -> AnchorGraph:
        """Return the graph."""
        tell("anchors", 0.0)
        anchors = self._anchors(tell)
        tell("anchors", 1.0)
        n_neighbors = max(1, min(self._facts["n_neighbors"], anchors.shape[0] - 1))
        nearest = self._nearest(anchors, n_neighbors)
        store, masses = self._ties(nearest, tell)
        self._source.done()
        plan = self._plan
        return AnchorGraph(anchors, masses, n_neighbors, store, plan.n_threads, plan.most_clusters)

    def _anchors(self, tell: Callable[[str, float], None]) -> np.ndarray:
        """Return anchors: those of the folder, or centres of the sample."""
        # 1. The sample; it also tells whether the folder is one of the same data.
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
            tell("anchors", 0.5 * end / len(sample))
        if self._run is not None:
            self._run.begin({**self._facts, "sampled rows": hash_of([sample])})
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
        """Return who looks for nearest anchors, here or on a GPU."""
        if not self._on_gpu:
            return NearestAnchors(anchors, n_neighbors, self._n_inside)
        from leastcut.anchors.gpu import NearestOnGpu

        return NearestOnGpu(anchors, n_neighbors)

    def _ties(self, nearest: Any, tell: Callable[[str, float], None]) -> tuple[Store, np.ndarray]:
        """Return all blocks and the masses of the anchors; what is in the folder stays as it is."""
        n_anchors, n_blocks = nearest.anchors.shape[0], len(self._sizes)
        files, finished = None, set[int]()
        if self._run is not None:
            where = self._run.path, self._sizes, nearest.n_neighbors, n_anchors
            files = BlocksInFolder(*where, self._plan.n_kept, self._is_lasting)
            # All that is there is checked before anything is written beside it.
            finished = self._finished(self._run, files, tell)
            found = self._run.load("masses", np.float64, n_anchors)
            if found is not None and len(finished) == n_blocks:
                return files, found

        def tie(number: int) -> tuple[Block | None, np.ndarray]:
            if files is not None and number in finished:
                block = files.load(number)
            else:
                block, samples = self._block(number, nearest)
                if files is not None:
                    files.save(number, block, samples)
            _, told = masses_of(block, None, n_anchors)
            return block if files is None else None, told

        blocks, masses = [], np.zeros(n_anchors)
        n_done = sum(self._sizes[number] for number in finished)
        with self._pool() as pool:
            for number, (block, told) in enumerate(pool.map(tie, range(n_blocks))):
                if block is not None:
                    blocks.append(block)
                masses += told
                n_done += 0 if number in finished else self._sizes[number]
                tell("blocks", n_done / self._starts[-1])
        if self._run is None or files is None:
            return InMemory(blocks), masses
        self._run.save("masses", masses)
        return files, masses

    def _finished(
        self, run: RunFolder, files: BlocksInFolder, tell: Callable[[str, float], None]
    ) -> set[int]:
        """Return the blocks that are in the folder; raise if one was computed from other samples.

        All of their samples are read and compared by check sums: what was sampled for the anchors
        does not show a change in other rows.
        """
        numbers, n_done = [b for b in range(len(self._sizes)) if files.has(b)], 0
        with self._pool() as pool:
            sums = pool.map(self._sum_of_samples, numbers)
            for number, samples in zip(numbers, sums, strict=True):
                if samples != files.sum_of_samples(number):
                    first, last = self._starts[number], self._starts[number + 1] - 1
                    raise ValueError(
                        f"folder={str(run.path)!r} holds another run: rows {first} to {last} of X "
                        f"(block {number}) are not those that it was computed from. Pass the same "
                        "data to go on with it, or another folder."
                    )
                n_done += self._sizes[number]
                tell("blocks", n_done / self._starts[-1])
        return set(numbers)

    @contextmanager
    def _pool(self) -> Iterator[ThreadPoolExecutor]:
        """Yield threads for blocks; an error ends what they are at."""
        pool = ThreadPoolExecutor(self._n_at_once)
        try:
            yield pool
        except BaseException:
            self.stop()
            raise
        finally:
            pool.shutdown(cancel_futures=True)

    def _block(self, number: int, nearest: Any) -> tuple[Block, int]:
        """Tie the points of a block, some rows at a time; how many makes no difference.

        Returns the block and the check sum of its samples.
        """
        start, size = self._starts[number], self._sizes[number]
        # Whole tiles, as the last digit of a product depends on where its tile begins and ends.
        tile = tile_rows(*nearest.anchors.shape)
        step = max(1, self._plan.read_rows // tile) * tile
        if step >= size:
            rows, samples = self._read(start, start + size, 0)
            return nearest.block(rows), samples
        shape, samples = (size, nearest.n_neighbors), 0
        block = Block(np.empty(shape, dtype=np.int32), np.empty(shape, dtype=np.float32))
        for first in range(0, size, step):
            last = min(first + step, size)
            rows, samples = self._read(start + first, start + last, samples)
            block.anchors[first:last], block.weights[first:last] = nearest.block(rows)
        return block, samples

    def _read(self, start: int, stop: int, before: int) -> tuple[Any, int]:
        """Return rows, where anchors are looked for, and their check sum after the one before.

        The sum is that of rows on the host, and 0 where nobody can come back to the folder.
        """
        if self._stopped.is_set():
            raise Stopped
        if self._on_gpu and not self._is_lasting:
            from leastcut.anchors.gpu_source import rows_on_gpu

            return rows_on_gpu(self._source, start, stop), 0
        rows = self._source.read(start, stop)
        samples = sum_of([rows], before) if self._is_lasting else 0
        return as_tensor(rows) if self._on_gpu else rows, samples

    def _sum_of_samples(self, number: int) -> int:
        """Return the check sum of the samples of a block."""
        samples, stop = 0, self._starts[number + 1]
        for first in range(self._starts[number], stop, self._plan.read_rows):
            if self._stopped.is_set():
                raise Stopped
            rows = self._source.read(first, min(first + self._plan.read_rows, stop))
            samples = sum_of([rows], samples)
        return samples

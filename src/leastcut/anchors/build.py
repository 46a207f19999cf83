"""``anchor_graph``: from samples, wherever they lie, to points tied to anchors."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from math import inf
from pathlib import Path
from typing import Any

import leastcut
from leastcut.affinity.neighbors.devices import use_gpu
from leastcut.anchors.blockwise import Build
from leastcut.anchors.choose import sampled_rows
from leastcut.anchors.graph import AnchorGraph
from leastcut.anchors.memory_plan import Need, check_max_memory, planned
from leastcut.anchors.run_folder import RunFolder, TemporaryFolder, check_space
from leastcut.anchors.settings import (
    check_anchors,
    check_block_rows,
    forecast_seconds,
    short_sizes,
)
from leastcut.anchors.sources import as_source
from leastcut.budget import Budget, Waiting
from leastcut.multilevel.efforts import Progress
from leastcut.progress import TimeEstimate
from leastcut.seeds import RandomState, as_generator, as_seed
from leastcut.threads import count_threads
from leastcut.validation import check_choice

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
    is kept are ``n_neighbors`` ties per point. :func:`leastcut.partition` and the other verbs take
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
        the call counts, and so does what :func:`leastcut.partition` takes later. Ties are kept in
        files where they would take too much, fewer rows are read at once, and fewer blocks. None is
        most of what the system has left.
    folder : path or None, default=None
        Where anchors and ties are kept. A call that was killed goes on there when it is made
        again, and the result of one that has ended is read. In both cases X is read once more and
        compared, by check sums of its blocks, with the samples that the folder was computed from.
        By default ties that are too many for memory go to a temporary folder, which is removed
        with the graph.
    block_rows : int, sequence of int or None, default=None
        Points of a block, or of every block; by default a sixteenth of them, but between 8,192 and
        131,072. Labels depend on it.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where nearest anchors are looked for: on the processor, or on a GPU, which needs
        ``leastcut[gpu]``. "auto" is where X lies, and a GPU if there is one and the processor would
        take long; with a ``folder``, the device of its run.
    n_jobs : int or None, default=None
        Threads; None and -1 mean one per available core. The graph does not depend on it.
    callback : callable, "tqdm" or None, default=None
        Called with a :class:`leastcut.Progress` whose stage is "anchors" and then "blocks";
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

    Data larger than memory: samples in a file, ties in a folder.

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
    as_generator(random_state)  # which raises where it is none
    run = None if where is None else RunFolder(where)
    seed = run.seed if random_state is None and run is not None else None
    seed = as_seed(random_state, 2**63) if seed is None else seed
    if run is not None and device == "auto":
        device = run.device
    on_gpu = use_gpu(device, X, forecast_seconds(source.shape, n_anchors) / n_threads)
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
    keeper = None
    if run is None and plan.n_kept < len(sizes):
        keeper = TemporaryFolder()
        run = RunFolder(keeper.path)
    if run is not None:
        check_space(run.path, sizes, n_neighbors)
    # 3. Build, in a thread of its own: this one hears Ctrl-C.
    build = Build(need, plan, run, facts, rows)
    build.keeper = keeper
    waiting = Waiting()
    with budget.shown("anchor_graph", lambda: TimeEstimate(["anchors", "blocks"], STAGES)):

        def tell(stage: str, fraction: float) -> None:
            if budget.callback is not None:
                progress = Progress(stage, fraction, inf, budget.seconds)
                waiting.call(lambda: budget.report(progress))
            else:
                waiting.go_on()

        graph = waiting.run(lambda: build.graph(tell), build.stop)
    if keeper is not None:
        # The folder is there as long as the ties are asked for.
        keeper.belongs_to(graph.store)
    return graph


def _check_folder(folder: object) -> Path | None:
    if folder is None:
        return None
    if not isinstance(folder, str | os.PathLike) or not str(folder):
        raise TypeError(f"folder={folder!r} is not a path; name a folder, or pass None.")
    return Path(folder)

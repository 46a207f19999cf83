"""Anchor graphs of data larger than memory: results do not depend on where data are stored."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import draws
from hypothesis import given, settings
from hypothesis import strategies as st

import leastcut
from leastcut.anchors.checkpoint import FolderCheckpoint
from leastcut.anchors.nearest import NearestAnchors, tile_rows
from leastcut.anchors.run_folder import RunFolder
from leastcut.anchors.settings import check_max_memory
from leastcut.anchors.sources import as_source

SIZE, BLOCK = 3000, 700
SETTINGS = {"n_anchors": 60, "n_neighbors": 3, "random_state": 0, "block_rows": BLOCK}


def samples(n=SIZE, d=3, dtype=np.float32, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, d)) + 4 * rng.integers(0, 3, size=(n, 1))).astype(dtype)


X = samples()


def arrays_of(graph):
    """Return all arrays of a graph."""
    blocks = [graph.store.load(number) for number in range(len(graph.store.sizes))]
    return [graph.anchors, graph.masses, *(array for block in blocks for array in block)]


def assert_equal_graphs(graph, other):
    for array, same in zip(arrays_of(graph), arrays_of(other), strict=True):
        assert array.dtype == same.dtype
        assert np.array_equal(array, same)


# -- containers of samples


def test_a_deleted_temporary_folder_is_no_error():
    run = RunFolder()
    assert run.path.is_dir()
    run.path.rmdir()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # including errors in finalizers
        del run
        gc.collect()


def as_memmap(array, place):
    np.save(place / "X.npy", array)
    return np.load(place / "X.npy", mmap_mode="r")


def as_npy(array, place):
    np.save(place / "X.npy", array)
    return str(place / "X.npy")


def as_fortran_memmap(array, place):
    np.save(place / "F.npy", np.asfortranarray(array))
    return np.load(place / "F.npy", mmap_mode="r")


def as_view_of_memmap(array, place):
    wide = np.zeros((2 * array.shape[0] + 5, array.shape[1] + 2), dtype=array.dtype)
    wide[5::2, 1:-1] = array
    return np.asarray(as_memmap(wide, place)[5::2, 1:-1])


def as_table(array, _):
    arrow = pytest.importorskip("pyarrow")
    return arrow.table({f"x{j}": column for j, column in enumerate(array.T)})


def as_lists(array, _):
    arrow = pytest.importorskip("pyarrow")
    values = arrow.array(array.reshape(-1))
    return arrow.table({"x": arrow.FixedSizeListArray.from_arrays(values, array.shape[1])})


def as_parquet(array, place):
    table = as_table(array, place)
    from pyarrow import parquet

    parquet.write_table(table, place / "X.parquet", row_group_size=999)
    return place / "X.parquet"


def as_parquet_folder(array, place):
    table = as_table(array, place)
    from pyarrow import parquet

    (place / "parts").mkdir()
    step = max(1, len(array) // 3)
    for number, start in enumerate(range(0, len(array), step)):
        part = table.slice(start, step)
        parquet.write_table(part, place / "parts" / f"{number}.parquet", row_group_size=401)
    return place / "parts"


def as_dataset(array, place):
    from pyarrow import dataset

    return dataset.dataset(as_parquet_folder(array, place))


def as_parquet_file(array, place):
    path = as_parquet(array, place)
    from pyarrow import parquet

    return parquet.ParquetFile(path)


def as_zarr(array, place, rows=1300):
    zarr = pytest.importorskip("zarr")
    chunks = (min(rows, len(array)), 2)
    stored = zarr.create_array(
        place / "X.zarr", shape=array.shape, chunks=chunks, dtype=array.dtype
    )
    stored[:] = array
    return stored


def as_small_chunks(array, place):
    return as_zarr(array, place, rows=100)


def as_hdf5(array, place):
    h5py = pytest.importorskip("h5py")
    with h5py.File(place / "X.h5", "w") as file:
        file.create_dataset("X", data=array, chunks=(min(900, len(array)), 1), compression="gzip")
    return h5py.File(place / "X.h5")["X"]


def as_contiguous_hdf5(array, place):
    h5py = pytest.importorskip("h5py")
    with h5py.File(place / "X.h5", "w") as file:
        file["X"] = array
    return h5py.File(place / "X.h5")["X"]


def as_dask(array, _):
    return pytest.importorskip("dask.array").from_array(array, chunks=(777, 2))


def as_tensor(array, _):
    return pytest.importorskip("torch").as_tensor(array)


def as_frame(array, _):
    return pytest.importorskip("pandas").DataFrame(array)


PLACES = {
    "an array": lambda array, _: array,
    "columns first": lambda array, _: np.asfortranarray(array),
    "big endian": lambda array, _: array.astype(array.dtype.newbyteorder(">")),
    "memmap": as_memmap,
    "memmap, columns first": as_fortran_memmap,
    "a view of a memmap": as_view_of_memmap,
    ".npy": as_npy,
    "a table": as_table,
    "lists": as_lists,
    "Parquet": as_parquet,
    "a folder of Parquet": as_parquet_folder,
    "a dataset": as_dataset,
    "a Parquet file": as_parquet_file,
    "zarr": as_zarr,
    "zarr, small chunks": as_small_chunks,
    "HDF5": as_hdf5,
    "HDF5, contiguous": as_contiguous_hdf5,
    "Dask": as_dask,
    "PyTorch": as_tensor,
    "pandas": as_frame,
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("place", PLACES)
def test_every_source_gives_a_bitwise_equal_graph(place, dtype, tmp_path):
    X = samples(dtype=dtype)
    graph = leastcut.anchor_graph(PLACES[place](X, tmp_path), **SETTINGS)
    assert_equal_graphs(graph, leastcut.anchor_graph(X, **SETTINGS))
    assert graph.n_nodes == SIZE


@settings(max_examples=draws(15), deadline=None)
@given(
    place=st.sampled_from(sorted(PLACES)),
    n=st.integers(1, 2500),
    d=st.integers(2, 4),
    dtype=st.sampled_from([np.float32, np.float64, np.int16, np.uint8]),
    data=st.data(),
)
def test_rows_of_every_source_equal_those_of_the_array(tmp_path_factory, place, n, d, dtype, data):
    array = (50 * samples(n, d, np.float64)).clip(0, 255).astype(dtype)
    source = as_source(PLACES[place](array, tmp_path_factory.mktemp("source")))
    assert source.shape == array.shape
    assert source.dtype == (np.float32 if dtype == np.float32 else np.float64)
    for _ in range(4):
        start = data.draw(st.integers(0, n - 1))
        stop = data.draw(st.integers(start + 1, n))
        rows = source.read(start, stop)
        assert rows.dtype == source.dtype
        assert rows.flags.c_contiguous
        assert np.array_equal(rows, array[start:stop])
        some = np.unique(data.draw(st.lists(st.integers(0, n - 1 - start), max_size=5))).astype(int)
        assert np.array_equal(source.take(start, some), array[start + some])


@pytest.mark.parametrize("place", PLACES)
def test_non_finite_values_are_reported_with_their_row(place, tmp_path):
    bad = X.copy()
    bad[2 * BLOCK + 17, 1] = np.nan
    with pytest.raises(ValueError, match=rf"nan at \({2 * BLOCK + 17}, 1\)"):
        leastcut.anchor_graph(PLACES[place](bad, tmp_path), **{**SETTINGS, "n_anchors": 40})
    # Also if the sample for the anchors does not include the row.
    late = np.tile(X, (8, 1))
    late[-1, 2] = np.inf
    with pytest.raises(ValueError, match=rf"inf at \({len(late) - 1}, 2\)"):
        leastcut.anchor_graph(late, **{**SETTINGS, "random_state": 3})


@pytest.mark.parametrize("mode", ["c", "r+"])
def test_changes_of_a_memory_map_are_read_and_kept(mode, tmp_path):
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode=mode)
    mapped[:100] += 1.0
    changed = np.array(mapped)
    graph = leastcut.anchor_graph(mapped, **SETTINGS)
    assert np.array_equal(mapped, changed)
    assert_equal_graphs(graph, leastcut.anchor_graph(changed, **SETTINGS))


def test_invalid_tables_are_reported_with_the_column():
    arrow = pytest.importorskip("pyarrow")
    column = arrow.array(X[:, 0])
    with pytest.raises(ValueError, match="X has more than one column 'x'; rename them"):
        leastcut.anchor_graph(arrow.table([column, column], names=["x", "x"]), 10)
    with pytest.raises(ValueError, match="X has columns that are not numeric: 'class'"):
        leastcut.anchor_graph(arrow.table({"x": [1.0, 2.0], "class": ["a", "b"]}))
    column = [1.0] * 20 + [None] + [2.0] * 20
    with pytest.raises(ValueError, match=r"X has missing values; the first is in row 20, .* 'x'"):
        leastcut.anchor_graph(arrow.table({"x": column}), 5, 2)


def test_columns_of_decimals_and_integers_are_converted():
    arrow = pytest.importorskip("pyarrow")
    numbers = np.round(X.astype(np.float64), 2)
    columns = [
        arrow.array(np.char.mod("%.2f", numbers[:, 0])).cast(arrow.decimal128(8, 2)),
        arrow.array((100 * numbers[:, 1]).round().astype(np.int32)),
    ]
    graph = leastcut.anchor_graph(arrow.table(columns, names=["a", "b"]), **SETTINGS)
    expected = np.column_stack([numbers[:, 0], (100 * numbers[:, 1]).round()])
    # Arrow rounds a decimal to one of the two adjacent doubles.
    for array, same in zip(
        arrays_of(graph), arrays_of(leastcut.anchor_graph(expected, **SETTINGS)), strict=True
    ):
        np.testing.assert_allclose(array, same, rtol=1e-12)


def test_an_index_stored_by_pandas_is_not_a_feature(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(X, columns=list("abc"), index=[f"row {i}" for i in range(SIZE)])
    frame.to_parquet(tmp_path / "X.parquet")
    graph = leastcut.anchor_graph(tmp_path / "X.parquet", **SETTINGS)
    assert_equal_graphs(graph, leastcut.anchor_graph(X, **SETTINGS))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (sp.csr_array(np.eye(9)), "X is sparse"),
        ("X.csv", "X='X.csv' is neither"),
        (np.ones((3, 3), dtype=complex), "X must hold real numbers"),
        (np.ones(9), "X must be two-dimensional"),
        (np.ones((0, 3)), "X has shape"),
        (np.ma.masked_array(X, mask=X > 3), "X is a masked array"),
    ],
)
def test_invalid_samples_raise(data, message):
    with pytest.raises((TypeError, ValueError), match=message):
        leastcut.anchor_graph(data)


# -- the computation


@pytest.mark.parametrize("d", [3, 40])
def test_parts_of_a_block_have_the_same_weights_as_the_block(d):
    points = samples(40_000, d)
    nearest = NearestAnchors(points[:900].copy(), 4, n_threads=2)
    step = 2 * tile_rows(900, d)
    full = nearest.block(points)
    parts = [nearest.block(points[first : first + step]) for first in range(0, 40_000, step)]
    for name in ("anchors", "weights"):
        joined = np.concatenate([getattr(part, name) for part in parts])
        assert np.array_equal(joined, getattr(full, name))


def test_graphs_do_not_depend_on_threads_and_files(tmp_path):
    graph = leastcut.anchor_graph(X, **SETTINGS, n_jobs=1)
    assert_equal_graphs(graph, leastcut.anchor_graph(X, **SETTINGS, n_jobs=3))
    filed = leastcut.anchor_graph(X, **SETTINGS, folder=tmp_path / "run")
    assert_equal_graphs(graph, filed)
    assert filed.store.folder == tmp_path / "run"
    labels = leastcut.partition(graph, 3, random_state=0).labels
    assert np.array_equal(labels, leastcut.partition(filed, 3, random_state=0).labels)


def test_block_sizes_must_sum_to_the_number_of_samples():
    sizes = [1, 1500, SIZE - 1501]
    graph = leastcut.anchor_graph(X, **{**SETTINGS, "block_rows": sizes})
    assert graph.store.sizes == tuple(sizes)
    one = leastcut.anchor_graph(X, **{**SETTINGS, "block_rows": None})
    assert one.store.sizes == (SIZE,)
    assert np.array_equal(graph.masses, one.masses)
    with pytest.raises(ValueError, match=f"block_rows sums to 1501 rows, but X has {SIZE}"):
        leastcut.anchor_graph(X, **{**SETTINGS, "block_rows": sizes[:2]})


@pytest.mark.parametrize(
    ("n", "n_anchors", "n_neighbors", "message"),
    [
        (5, 1000, 5, "less than the number of samples, 5; pass n_neighbors=4"),
        (50, 5, 5, "less than n_anchors=5"),
    ],
)
def test_n_neighbors_must_be_less_than_n_anchors(n, n_anchors, n_neighbors, message):
    with pytest.raises(ValueError, match=message):
        leastcut.anchor_graph(X[:n], n_anchors, n_neighbors)


def test_equal_points_have_one_anchor():
    graph = leastcut.anchor_graph(np.ones((100, 2)), 10, 3, random_state=0)
    assert graph.anchors.tolist() == [[1.0, 1.0]]
    assert graph.masses.tolist() == [100.0]


def test_more_clusters_than_memory_allows_raise():
    graph = replace(leastcut.anchor_graph(X, **SETTINGS), most_clusters=3)
    assert leastcut.partition(graph, 3, effort="fast", random_state=0).labels.max() == 2
    with pytest.raises(
        ValueError, match=r"n_clusters=4 needs more memory than max_memory .* 3 clusters"
    ):
        leastcut.partition(graph, 4)


def test_progress_is_reported_to_the_end_and_a_bar_is_shown(capsys):
    reports = []
    leastcut.anchor_graph(X, **SETTINGS, callback=reports.append)
    stages = [progress.stage for progress in reports]
    assert stages == sorted(stages)
    for stage in ("anchors", "blocks"):
        fractions = [progress.fraction for progress in reports if progress.stage == stage]
        assert fractions == sorted(fractions)
        assert fractions[-1] == 1.0
    leastcut.anchor_graph(X, **SETTINGS, callback="tqdm")


def test_an_exception_in_the_callback_stops_the_computation():
    def fail(progress):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        leastcut.anchor_graph(X, **SETTINGS, callback=fail)


class Slow:
    """Samples that are slow to read."""

    shape, dtype = X.shape, X.dtype

    def __getitem__(self, rows):
        time.sleep(0.5)
        return X[rows]


def test_an_interrupt_stops_the_computation_immediately():
    timer = threading.Timer(0.3, signal.raise_signal, (signal.SIGINT,))
    start = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        leastcut.anchor_graph(Slow(), **{**SETTINGS, "block_rows": 50})
    assert time.monotonic() - start < 3.0


# -- killed processes


def run_python(code, *arguments, check=True):
    """Run a script in a new process."""
    script = textwrap.dedent(code)
    environment = {**os.environ, "PYTHONPATH": str(Path(leastcut.__file__).parents[1])}
    process = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert not check or process.returncode == 0, process.stderr
    return process


KILLED = """
    import os, signal, sys, time
    import numpy as np
    import leastcut

    class WithoutLastBlock:
        # All rows can be sampled, but the last block is never read.
        def __init__(self, X):
            self.X, self.shape, self.dtype, self.n_reads = X, X.shape, X.dtype, 0

        def __getitem__(self, rows):
            self.n_reads += 1
            if rows.stop == len(self.X) and self.n_reads > 5:
                time.sleep(600)
            return self.X[rows]

    def kill(progress):
        if progress.stage == "blocks" and progress.fraction > 0.5:
            os.kill(os.getpid(), signal.SIGKILL)

    X = WithoutLastBlock(np.load(sys.argv[1], mmap_mode="r"))
    leastcut.anchor_graph(X, 60, 3, 0, block_rows=700, folder=sys.argv[2], callback=kill)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="SIGKILL is not available")
def test_a_killed_run_is_resumed(tmp_path):
    np.save(tmp_path / "X.npy", X)
    run = tmp_path / "run"
    process = run_python(KILLED, tmp_path / "X.npy", run, check=False)
    assert process.returncode == -signal.SIGKILL, process.stderr
    finished = {path: path.stat().st_mtime_ns for path in (run / "blocks").glob("*.block")}
    n_blocks = -(-SIZE // BLOCK)
    assert 0 < len(finished) < n_blocks
    # Partially written files are removed.
    (run / "blocks" / f"0000004.block-1-1{'.unfinished'}").write_bytes(b"half")
    reads = []

    class Watched(Slow):
        def __getitem__(self, rows):
            reads.append((rows.start, rows.stop))
            return X[rows]

    graph = leastcut.anchor_graph(Watched(), **SETTINGS, folder=run)
    assert_equal_graphs(graph, leastcut.anchor_graph(X, **SETTINGS))
    # Finished blocks are not written again. Each block of X is read twice: for the sample, and for
    # its weights or the comparison with the samples of its file.
    assert all(path.stat().st_mtime_ns == written for path, written in finished.items())
    assert len(reads) == 2 * n_blocks
    assert not list(run.rglob("*.unfinished"))
    # A finished run is loaded.
    reads.clear()
    loaded = leastcut.anchor_graph(Watched(), **{**SETTINGS, "random_state": None}, folder=run)
    assert len(reads) == 2 * n_blocks
    assert_equal_graphs(graph, loaded)


SEARCH_KILLED = """
    import os, signal, sys
    import numpy as np
    import leastcut

    def kill(progress):
        if progress.stage != "fast":
            os.kill(os.getpid(), signal.SIGKILL)

    X = np.load(sys.argv[1])
    graph = leastcut.anchor_graph(X, 60, 3, 0, block_rows=700, folder=sys.argv[2])
    leastcut.partition(graph, 4, random_state=0, callback=kill)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="SIGKILL is not available")
def test_a_killed_search_is_resumed(tmp_path):
    np.save(tmp_path / "X.npy", X)
    process = run_python(SEARCH_KILLED, tmp_path / "X.npy", tmp_path / "run", check=False)
    assert process.returncode == -signal.SIGKILL, process.stderr
    assert list((tmp_path / "run" / "searches").glob("*.search"))
    graph = leastcut.anchor_graph(X, **SETTINGS, folder=tmp_path / "run")
    resumed = leastcut.partition(graph, 4, random_state=0)
    expected = leastcut.partition(leastcut.anchor_graph(X, **SETTINGS), 4, random_state=0)
    assert np.array_equal(resumed.labels, expected.labels)
    assert resumed.cut_value == expected.cut_value


OTHERS = {
    "n_anchors": {"n_anchors": 50},
    "n_neighbors": {"n_neighbors": 4},
    "random_state": {"random_state": 1},
    "block_rows": {"block_rows": 100},
    "shape of X": {"X": X[1:]},
    "dtype of X": {"X": X.astype(float)},
    "sampled rows": {"X": X + 1},
}


@pytest.mark.parametrize("name", OTHERS)
def test_the_folder_of_another_run_is_rejected_with_the_difference(name, tmp_path):
    right = {"X": X, **SETTINGS, "folder": tmp_path}
    leastcut.anchor_graph(**right)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(ValueError, match=f"has another run: its {name} is "):
        leastcut.anchor_graph(**{**right, **OTHERS[name]})
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


def test_a_folder_with_other_files_is_not_changed(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ValueError, match=r"folder=.* has other files and no run"):
        leastcut.anchor_graph(X, **SETTINGS, folder=tmp_path)
    with pytest.raises(ValueError, match=r"folder=.* is a file"):
        leastcut.anchor_graph(X, **SETTINGS, folder=tmp_path / "thesis.tex")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def damage(path, how):
    written = bytearray(path.read_bytes())
    if how == "shorter":
        del written[-5:]
    elif how == "longer":
        written += b"more"
    elif how == "empty":
        written.clear()
    else:
        written[len(written) // 2] ^= 1
    path.write_bytes(written)


@pytest.mark.parametrize("how", ["shorter", "longer", "empty", "one bit"])
@pytest.mark.parametrize("name", ["blocks/0000002.block", "anchors.npy", "masses.npy", "run.json"])
def test_damaged_files_are_reported_by_name(name, how, tmp_path):
    leastcut.anchor_graph(X, **SETTINGS, folder=tmp_path)
    damage(tmp_path / name, how)
    with pytest.raises(ValueError, match=name if name != "run.json" or how == "empty" else "run"):
        arrays_of(leastcut.anchor_graph(X, **SETTINGS, folder=tmp_path))
    # A deleted block is computed again.
    if name.startswith("blocks"):
        (tmp_path / name).unlink()
        graph = leastcut.anchor_graph(X, **SETTINGS, folder=tmp_path)
        assert_equal_graphs(graph, leastcut.anchor_graph(X, **SETTINGS))


@given(
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=4),
    facts=st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=3),
    names=st.lists(st.sampled_from(["best", "current"]), unique=True),
)
def test_a_checkpoint_returns_the_last_saved_state(tmp_path_factory, sizes, facts, names):
    folder = tmp_path_factory.mktemp("run")
    checkpoint = FolderCheckpoint(folder, "name", 7, tuple(sizes), 31)
    assert checkpoint.load() is None
    labels = [np.arange(size, dtype=np.int32) for size in sizes]
    for shift in (0, 1):
        checkpoint._next = 0.0  # without a minimum interval
        checkpoint.save(facts, {name: [part + shift for part in labels] for name in names})
        loaded, arrays = checkpoint.load()
        assert loaded == facts
        assert list(arrays) == names
        for parts in arrays.values():
            assert [part.tolist() for part in parts] == [(p + shift).tolist() for p in labels]
        assert [path.name for path in checkpoint.path.parent.iterdir()] == ["name.search"]
    # Checkpoints of other graphs and labels out of range are not used.
    assert FolderCheckpoint(folder, "name", 8, tuple(sizes), 31).load() is None
    if names:
        with pytest.warns(UserWarning, match="labels of other clusters"):
            FolderCheckpoint(folder, "name", 7, tuple(sizes), max(sizes)).load()


# -- memory


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [("4GiB", 2**32), ("4 gib", 2**32), ("4G", 4 * 10**9), ("1.5kB", 1500), ("77", 77), (77, 77)],
)
def test_memory_sizes_are_parsed(text, n_bytes):
    assert check_max_memory(text) == n_bytes


@pytest.mark.parametrize("wrong", ["4XB", "GiB", "", "-4GiB", "4iB", "four", "0", 0, -1, 1.5, True])
def test_invalid_memory_sizes_raise(wrong):
    with pytest.raises((TypeError, ValueError), match="max_memory"):
        leastcut.anchor_graph(X, max_memory=wrong)


def test_too_little_memory_raises_with_the_minimum():
    with pytest.raises(ValueError, match="Pass max_memory=") as caught:
        leastcut.anchor_graph(X, **SETTINGS, max_memory="1MiB")
    least = int(str(caught.value).partition("Pass max_memory=")[2].split()[0])
    # Slightly more, as this process may have grown.
    graph = leastcut.anchor_graph(X, **SETTINGS, max_memory=least + 2**24)
    assert_equal_graphs(graph, leastcut.anchor_graph(X, **SETTINGS))


PEAK = """
    import gc, hashlib, json, sys
    from pathlib import Path
    import numpy as np
    import leastcut

    X = np.load(sys.argv[1], mmap_mode="r")
    settings = {"n_anchors": 200, "n_neighbors": 30, "random_state": 0, "block_rows": 2**15}
    limit = None
    if sys.argv[2] == "limited":
        try:
            leastcut.anchor_graph(X, **settings, max_memory=1)
        except ValueError as error:  # states the minimum
            least = int(str(error).partition("Pass max_memory=")[2].split()[0])
        limit = least + 2**22
    graph = leastcut.anchor_graph(X, **settings, max_memory=limit, n_jobs=2)
    value = leastcut.cut_value(graph, np.arange(len(X)) % 4)
    numbers = hashlib.sha256(graph.anchors.tobytes() + graph.masses.tobytes())
    for number in range(len(graph.store.sizes)):
        block = graph.store.load(number)
        numbers.update(block.anchors.tobytes() + block.weights.tobytes())
    lines = Path("/proc/self/status").read_text().splitlines()
    peak = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    path = graph.store.path(0) if hasattr(graph.store, "path") else Path()
    is_in_file = path.is_file()
    del graph, block
    gc.collect()
    result = numbers.hexdigest(), value
    print(json.dumps([peak, limit, result, is_in_file, is_in_file and path.exists()]))
"""


@pytest.mark.slow
@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="peak memory is only reported on Linux"
)
def test_max_memory_is_respected_and_does_not_change_results(tmp_path):
    """Samples of 62 MB and weights of 312 MB, with a limit below half of them."""
    rng = np.random.default_rng(0)
    n, d = 1_300_000, 12
    mapped = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", np.float32, (n, d))
    for start in range(0, n, 100_000):
        mapped[start : start + 100_000] = rng.normal(size=(100_000, d))
    del mapped
    unlimited, limited = (
        json.loads(run_python(PEAK, tmp_path / "X.npy", how).stdout)
        for how in ("unlimited", "limited")
    )
    assert limited[0] <= limited[1] < unlimited[0]
    assert unlimited[2] == limited[2]
    # Weights were in files, in a folder that was deleted with the graph.
    assert limited[3:] == [True, False]
    assert unlimited[3:] == [False, False]

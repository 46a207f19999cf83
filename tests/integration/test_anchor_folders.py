"""Folders of anchor graphs: a call returns the same labels for any state of its folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from conftest import draws
from hypothesis import given, settings
from hypothesis import strategies as st

import leastcut
from leastcut.anchors import checkpoint
from leastcut.anchors.run_folder import (
    HEADER,
    MARK,
    REMEDY,
    RunFolder,
    checksum,
    json_with_checksum,
    path_of_block,
    pop_valid_checksum,
)

SIZE, BLOCK = 600, 90
SETTINGS = {"n_anchors": 15, "n_neighbors": 3, "random_state": 0, "block_rows": BLOCK}


@pytest.fixture(autouse=True, scope="module")
def few_sampled():
    """Sample a small fraction of the rows, as for large data."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("leastcut.anchors.choose.FEWEST_SAMPLED", 50)
        patch.setattr("leastcut.anchors.choose.SAMPLED", 4)
        yield


def samples(dtype):
    rng = np.random.default_rng(1)
    return (rng.normal(size=(SIZE, 2)) + 3 * rng.integers(0, 3, size=(SIZE, 1))).astype(dtype)


def arrays_of(graph):
    blocks = [graph.store.load(number) for number in range(len(graph.store.sizes))]
    return [graph.anchors, graph.masses, *(array for block in blocks for array in block)]


def assert_equal_graphs(graph, other):
    for array, same in zip(arrays_of(graph), arrays_of(other), strict=True):
        assert array.dtype == same.dtype
        assert np.array_equal(array, same)


# -- samples that have changed


class Sliced:
    """Samples of another library, which are read when sliced."""

    def __init__(self, array):
        self._array, self.shape, self.dtype = array, array.shape, array.dtype

    def __getitem__(self, rows):
        return self._array[rows]


def as_array(array, place):
    return array.copy()


def as_columns(array, place):
    return np.asfortranarray(array)


def as_npy(array, place):
    np.save(place / "X.npy", array)
    return place / "X.npy"


def as_memmap(array, place):
    return np.load(as_npy(array, place), mmap_mode="r")


def as_sliced(array, place):
    return Sliced(array)


def as_parquet(array, place):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = arrow.table({f"x{j}": column for j, column in enumerate(array.T)})
    parquet.write_table(table, place / "X.parquet", row_group_size=250)
    return place / "X.parquet"


def as_chunks(array, place):
    return pytest.importorskip("dask.array").from_array(array, chunks=(200, 2))


FORMS = [as_array, as_columns, as_npy, as_memmap, as_sliced, as_parquet, as_chunks]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", FORMS)
def test_changed_rows_are_rejected_and_the_same_data_are_accepted(form, dtype, tmp_path):
    X = samples(dtype)
    run = tmp_path / "run"
    graph = leastcut.anchor_graph(form(X, tmp_path), **SETTINGS, folder=run)
    n_blocks = -(-SIZE // BLOCK)
    rng = np.random.default_rng(2)
    n_unsampled = 0
    for attempt in range(12):
        rows = rng.choice(SIZE, rng.integers(1, 4), replace=False)
        changed = X.copy()
        # By the smallest possible amount, and by 1.
        up = np.nextafter(changed[rows], np.inf) if attempt % 2 else changed[rows] + 1
        changed[rows, attempt % 2] = up[:, attempt % 2]
        missing = path_of_block(run, int(rng.integers(n_blocks))) if attempt % 3 == 2 else None
        existing = [b for b in sorted(rows // BLOCK) if path_of_block(run, int(b)) != missing]
        if not existing:  # no block of these rows exists
            continue
        moved = tmp_path / "moved"
        if missing is not None:
            missing.rename(moved)
        before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
        with pytest.raises(ValueError, match="has another run: ") as caught:
            leastcut.anchor_graph(form(changed, tmp_path), **SETTINGS, folder=run)
        assert before == {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
        if "(block " in str(caught.value):
            n_unsampled += 1
            first, last = existing[0] * BLOCK, min((existing[0] + 1) * BLOCK, SIZE) - 1
            assert f"rows {first} to {last} of X (block {existing[0]})" in str(caught.value)
            assert str(run) in str(caught.value)
        if missing is not None:
            moved.rename(missing)
    assert n_unsampled >= 4
    loaded = leastcut.anchor_graph(form(X, tmp_path), **SETTINGS, folder=run)
    assert_equal_graphs(graph, loaded)
    # The same data in another container, with some files missing.
    (run / "masses.npy").unlink()
    path_of_block(run, 3).unlink()
    path_of_block(run, n_blocks - 1).unlink()
    assert_equal_graphs(graph, leastcut.anchor_graph(X, **SETTINGS, folder=run, n_jobs=2))
    assert_equal_graphs(graph, leastcut.anchor_graph(X, **SETTINGS))


@given(st.lists(st.integers(0, 40), min_size=1, max_size=6), st.integers(0, 2**32), st.booleans())
def test_a_checksum_does_not_depend_on_how_bytes_are_split(ends, seed, single):
    values = np.random.default_rng(seed).random(41).astype(np.float32 if single else np.float64)
    result = 0
    for part in np.split(values, sorted(ends)):
        result = checksum([part], result)
    assert result == checksum([values])
    assert result == checksum(np.split(values, sorted(ends)))
    other = values.copy()
    other[seed % 41] += 1
    assert checksum([other]) != result


# -- consecutive calls in one folder


def cut(graph, n_clusters, effort, seed, stop_after=None, time_limit=None, on_interrupt="raise"):
    """Partition the graph, and stop or interrupt the search after some rounds."""
    rounds = 0

    def callback(progress):
        nonlocal rounds
        rounds += 1
        if stop_after is not None and rounds >= abs(stop_after):
            if stop_after < 0:
                raise KeyboardInterrupt
            return True
        return False

    return leastcut.partition(
        graph, n_clusters, effort=effort, random_state=seed, callback=callback,
        time_limit=time_limit, on_interrupt=on_interrupt, lower_bound=False,
    )  # fmt: skip


CALLS = st.tuples(
    st.sampled_from([2, 3, 4]),
    st.sampled_from(["fast", "auto", "balanced"]),
    st.sampled_from([0, 1]),
    st.sampled_from(["full", "full", "full", "stopped", "interrupted", "returned", "timed"]),
    st.integers(1, 6),
)


@pytest.fixture(scope="module")
def expected():
    """The partitions of uninterrupted calls on a graph without a folder."""
    return {}


@pytest.mark.slow
@settings(max_examples=draws(25), deadline=None)
@given(calls=st.lists(CALLS, min_size=2, max_size=7))
def test_labels_do_not_depend_on_the_state_of_the_folder(calls, expected, tmp_path_factory):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(900, 2))  # without clusters: many cuts are nearly as good
    options = {**SETTINGS, "n_anchors": 60, "block_rows": 130}
    in_memory = leastcut.anchor_graph(X, **options)
    run = tmp_path_factory.mktemp("run") / "run"
    for n_clusters, effort, seed, how, rounds in calls:
        graph = leastcut.anchor_graph(X, **options, folder=run)
        key = n_clusters, effort, seed
        if how == "full":
            if key not in expected:
                expected[key] = cut(in_memory, *key)
            partition = cut(graph, *key)
            assert np.array_equal(partition.labels, expected[key].labels), (key, calls)
            assert partition.cut_value == expected[key].cut_value
        elif how == "interrupted":
            with suppress(KeyboardInterrupt):
                cut(graph, *key, stop_after=-rounds)
        elif how == "returned":
            with suppress(KeyboardInterrupt):  # before there is a partition to return
                cut(graph, *key, stop_after=-rounds, on_interrupt="return")
        elif how == "stopped":
            cut(graph, *key, stop_after=rounds)
        else:
            cut(graph, *key, time_limit=0.001 * rounds)
    shutil.rmtree(run)


def test_a_folder_stores_the_state_of_reproducible_calls(tmp_path, monkeypatch):
    # Save every round.
    monkeypatch.setattr(checkpoint, "SAVING_FRACTION", np.inf)
    X = samples(np.float64)
    graph = leastcut.anchor_graph(X, **SETTINGS, folder=tmp_path)
    cut(graph, 3, "fast", None)
    cut(graph, 3, "fast", 0, time_limit=60.0)
    leastcut.partition(graph, 3, random_state=0, init=np.arange(SIZE) % 3)
    assert not (tmp_path / "searches").exists()
    rounds = []
    options = {"effort": "auto", "random_state": 0, "callback": rounds.append}
    partition = leastcut.partition(graph, 3, **options)
    assert len(list((tmp_path / "searches").iterdir())) == 1
    assert rounds
    rounds.clear()
    resumed = leastcut.partition(graph, 3, **options)
    assert np.array_equal(partition.labels, resumed.labels)
    assert len(rounds) <= 1  # only the remaining rounds
    cut(graph, 3, "fast", 0)
    cut(graph, 2, "auto", 0)
    cut(graph, 3, "auto", 1)
    assert len(list((tmp_path / "searches").iterdir())) == 4


# -- damaged files and full disks


def changed_bytes(written, how, position, byte):
    """Return file contents with a changed or an inserted byte, or truncated."""
    at = position % max(1, len(written))
    if how == "changed":
        return written[:at] + bytes([written[at] ^ byte]) + written[at + 1 :]
    if how == "shorter":
        return written[:at]
    return written[:at] + bytes([byte]) + written[at:]


HOW = st.sampled_from(["changed", "shorter", "longer"])


@pytest.fixture(scope="module")
def cut_folder(tmp_path_factory):
    """A folder with a graph and the state of a search, and the resulting labels."""
    run = tmp_path_factory.mktemp("folder") / "run"
    graph = leastcut.anchor_graph(samples(np.float32), **SETTINGS, folder=run)
    return run, cut(graph, 3, "auto", 0).labels


@settings(max_examples=draws(120), deadline=None)
@given(how=HOW, position=st.integers(0, 2**20), byte=st.integers(1, 255), data=st.data())
def test_damaged_files_of_a_graph_are_reported_by_name(how, position, byte, data, cut_folder):
    run, _ = cut_folder
    name = data.draw(
        st.sampled_from(["run.json", "anchors.npy", "masses.npy", "blocks/0000002.block"])
    )
    path = run / name
    written = path.read_bytes()
    if name.endswith(".block") and position % 2:
        position %= HEADER.size  # the header is a small fraction of the file
    path.write_bytes(changed_bytes(written, how, position, byte))
    try:
        message = None
        try:
            graph = leastcut.anchor_graph(samples(np.float32), **SETTINGS, folder=run)
            arrays_of(graph)
        except ValueError as error:
            message = str(error)
        # Additional white space in JSON is valid.
        is_valid = name == "run.json" and message is None and how == "longer"
        if is_valid:
            assert bytes([byte]).isspace()
        else:
            assert message is not None
            is_sample_error = "(block 2) differ from the samples" in message and name.endswith(
                ".block"
            )
            is_format_error = "written in another format" in message and name == "run.json"
            assert name in message or is_sample_error or is_format_error, message
            assert is_sample_error or "elete" in message
    finally:
        path.write_bytes(written)


@settings(max_examples=draws(60), deadline=None)
@given(how=HOW, position=st.integers(0, 2**20), byte=st.integers(1, 255))
def test_a_search_with_a_damaged_state_warns_and_starts_from_the_beginning(
    how, position, byte, cut_folder
):
    run, labels = cut_folder
    graph = leastcut.anchor_graph(samples(np.float32), **SETTINGS, folder=run)
    (path,) = (run / "searches").iterdir()
    written = path.read_bytes()
    if position % 2:
        position %= 200  # the header is a small fraction of the file
    path.write_bytes(changed_bytes(written, how, position, byte))
    try:
        with pytest.warns(
            UserWarning, match=r"\.search cannot be used: .* starts from the beginning"
        ) as warning:
            partition = cut(graph, 3, "auto", 0)
        assert len(warning) == 1
        assert np.array_equal(partition.labels, labels)
    finally:
        path.write_bytes(written)


def forged(number, run, change):
    """Write a block with other anchors and valid checksums."""
    path = path_of_block(run, number)
    written = path.read_bytes()
    _, n_points, n_neighbors, samples, _ = HEADER.unpack(written[: HEADER.size])
    values = np.frombuffer(written[HEADER.size :], dtype="<i4").copy()
    change(values[: n_points * n_neighbors])
    header = HEADER.pack(MARK, n_points, n_neighbors, samples, checksum([values]))
    path.write_bytes(header + values.tobytes())


@pytest.mark.parametrize("anchor", [-1, 15, 2**31 - 1])
def test_files_with_invalid_anchors_are_rejected_before_kernels_use_them(anchor, tmp_path):
    X = samples(np.float32)
    leastcut.anchor_graph(X, **SETTINGS, folder=tmp_path)

    def change(anchors):
        anchors[7] = anchor

    forged(1, tmp_path, change)
    graph = leastcut.anchor_graph(X, **SETTINGS, folder=tmp_path)
    with pytest.raises(ValueError, match=r"0000001.block is damaged: it has anchors outside"):
        leastcut.cut_value(graph, np.arange(SIZE) % 2)


@pytest.mark.parametrize(
    "other", [np.zeros((15, 2)), np.zeros((15, 3), np.float32), np.zeros(15, np.float32)]
)
def test_arrays_of_another_shape_or_dtype_are_rejected(other, tmp_path):
    leastcut.anchor_graph(samples(np.float32), **SETTINGS, folder=tmp_path)
    RunFolder(tmp_path).save("anchors", other)
    with pytest.raises(ValueError, match=r"anchors.npy is damaged: it has shape") as caught:
        leastcut.anchor_graph(samples(np.float32), **SETTINGS, folder=tmp_path)
    assert REMEDY in str(caught.value)


def test_files_are_never_unpickled(tmp_path):
    leastcut.anchor_graph(samples(np.float32), **SETTINGS, folder=tmp_path)

    class Harmful:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "harm"),)

    import io
    import zlib

    content = io.BytesIO()
    np.save(content, np.array([Harmful()], dtype=object), allow_pickle=True)
    written = content.getvalue()
    for name in ("anchors.npy", "masses.npy"):
        before = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(written + zlib.crc32(written).to_bytes(4, "little"))
        with pytest.raises(ValueError, match=name):
            leastcut.anchor_graph(samples(np.float32), **SETTINGS, folder=tmp_path)
        (tmp_path / name).write_bytes(before)
    assert not (tmp_path / "harm").exists()


@given(
    st.dictionaries(
        st.text(max_size=4),
        st.integers() | st.text(max_size=4) | st.lists(st.integers()),
        max_size=4,
    )
)
def test_json_with_a_checksum_detects_changes(content):
    import json

    loaded = json.loads(json_with_checksum(content))
    assert pop_valid_checksum(loaded)
    assert loaded == content
    assert not pop_valid_checksum(
        {**loaded, "more": 1, "check sum": json.loads(json_with_checksum(content))["check sum"]}
    )


@pytest.mark.parametrize("below", ["run", "deep/run"])
def test_a_folder_inside_a_file_raises(below, tmp_path, monkeypatch):
    (tmp_path / "thesis.tex").write_text("years of work")
    X = samples(np.float32)
    for path in (tmp_path / "thesis.tex" / below, Path("thesis.tex") / below):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(ValueError, match=r"is inside .*thesis\.tex', which is a file"):
            leastcut.anchor_graph(X, **SETTINGS, folder=path)
        model = leastcut.AnchorSpectralClustering(2, n_anchors=15, folder=path)
        with pytest.raises(ValueError, match=r"is inside .*thesis\.tex', which is a file"):
            model.fit(X)


FULL = """
    import resource, sys, warnings
    import numpy as np
    import leastcut

    X = np.random.default_rng(0).normal(size=(20_000, 2))
    options = {"n_anchors": 30, "n_neighbors": 3, "random_state": 0, "block_rows": 5000}
    graph = leastcut.anchor_graph(X, **options, folder=sys.argv[1])
    if sys.argv[2] == "limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
    else:
        with open(sys.argv[1] + "/../filler", "wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(bytes(4096))
            except OSError:
                pass
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        partition = leastcut.partition(graph, 3, random_state=0)
    messages = [str(one.message) for one in caught if issubclass(one.category, UserWarning)]
    assert len(messages) == 1, messages
    assert "continues but cannot be saved" in messages[0] and ".search" in messages[0], messages
    expected = leastcut.partition(leastcut.anchor_graph(X, **options), 3, random_state=0)
    assert np.array_equal(partition.labels, expected.labels)
    try:
        leastcut.anchor_graph(X + 1, **options, folder=sys.argv[1] + "-other")
    except (OSError, ValueError) as error:
        assert "-other" in str(error), error
    else:
        assert False, "there was space for another graph"
    print("done", messages[0])
"""


def run_with_full_disk(arguments, how, folder):
    environment = {**os.environ, "PYTHONPATH": str(Path(leastcut.__file__).parents[1])}
    command = [*arguments, sys.executable, "-c", textwrap.dedent(FULL), str(folder), how]
    return subprocess.run(command, capture_output=True, text=True, env=environment)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of file sizes")
def test_a_search_continues_if_its_state_cannot_be_written(tmp_path):
    process = run_with_full_disk([], "limit", tmp_path / "run")
    assert process.returncode == 0, process.stderr
    assert not list((tmp_path / "run").rglob("*.unfinished"))


@pytest.mark.slow
def test_a_search_continues_if_the_disk_is_full(tmp_path):
    mount = 'mount -t tmpfs -o size=2m tmpfs "$0" && exec "$@"'
    command = ["unshare", "-rm", "sh", "-c", mount, str(tmp_path)]
    if shutil.which("unshare") is None or subprocess.run([*command, "true"]).returncode:
        pytest.skip("a small file system cannot be mounted")
    process = run_with_full_disk(command, "disk", tmp_path / "run")
    assert process.returncode == 0, process.stderr
    assert "No space left on device" in process.stdout


def test_a_folder_that_cannot_be_written_can_be_read(tmp_path):
    X = samples(np.float32)
    graph = leastcut.anchor_graph(X, **SETTINGS, folder=tmp_path)
    # A file instead of the folder of searches acts like a folder without permissions.
    (tmp_path / "searches").write_text("")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        partition = cut(leastcut.anchor_graph(X, **SETTINGS, folder=tmp_path), 3, "fast", 0)
    assert any("cannot be saved" in str(warning.message) for warning in caught)
    assert np.array_equal(
        partition.labels, cut(leastcut.anchor_graph(X, **SETTINGS), 3, "fast", 0).labels
    )
    assert_equal_graphs(graph, leastcut.anchor_graph(X, **SETTINGS, folder=tmp_path))

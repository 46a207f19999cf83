"""Folders of anchor graphs: the same call returns the same labels, whatever is in the folder."""

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
    ANEW,
    HEADER,
    MARK,
    RunFolder,
    is_sealed,
    path_of_block,
    sealed,
    sum_of,
)

SIZE, BLOCK = 600, 90
SETTINGS = {"n_anchors": 15, "n_neighbors": 3, "random_state": 0, "block_rows": BLOCK}


@pytest.fixture(autouse=True, scope="module")
def few_sampled():
    """Sample few rows, as is done of data of the size that folders are for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("leastcut.anchors.choose.FEWEST_SAMPLED", 50)
        patch.setattr("leastcut.anchors.choose.SAMPLED", 4)
        yield


def samples(dtype):
    rng = np.random.default_rng(1)
    return (rng.normal(size=(SIZE, 2)) + 3 * rng.integers(0, 3, size=(SIZE, 1))).astype(dtype)


def numbers_of(graph):
    blocks = [graph.store.load(number) for number in range(len(graph.store.sizes))]
    return [graph.anchors, graph.masses, *(array for block in blocks for array in block)]


def assert_equal_graphs(graph, other):
    for array, same in zip(numbers_of(graph), numbers_of(other), strict=True):
        assert array.dtype == same.dtype
        assert np.array_equal(array, same)


# -- samples that have changed


class Sliced:
    """Samples of another library: read when they are sliced."""

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
def test_any_changed_row_is_refused_and_the_same_data_are_accepted(form, dtype, tmp_path):
    X = samples(dtype)
    run = tmp_path / "run"
    graph = leastcut.anchor_graph(form(X, tmp_path), **SETTINGS, folder=run)
    n_blocks = -(-SIZE // BLOCK)
    rng = np.random.default_rng(2)
    unsampled = 0
    for trial in range(12):
        rows = rng.choice(SIZE, rng.integers(1, 4), replace=False)
        changed = X.copy()
        # By as little as there is, and by much.
        up = np.nextafter(changed[rows], np.inf) if trial % 2 else changed[rows] + 1
        changed[rows, trial % 2] = up[:, trial % 2]
        missing = path_of_block(run, int(rng.integers(n_blocks))) if trial % 3 == 2 else None
        left = [b for b in sorted(rows // BLOCK) if path_of_block(run, int(b)) != missing]
        if not left:  # nothing was computed from these rows
            continue
        aside = tmp_path / "aside"
        if missing is not None:
            missing.rename(aside)
        before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
        with pytest.raises(ValueError, match="holds another run: ") as caught:
            leastcut.anchor_graph(form(changed, tmp_path), **SETTINGS, folder=run)
        assert before == {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
        if "(block " in str(caught.value):
            unsampled += 1
            first, last = left[0] * BLOCK, min((left[0] + 1) * BLOCK, SIZE) - 1
            assert f"rows {first} to {last} of X (block {left[0]})" in str(caught.value)
            assert str(run) in str(caught.value)
        if missing is not None:
            aside.rename(missing)
    assert unsampled >= 4
    again = leastcut.anchor_graph(form(X, tmp_path), **SETTINGS, folder=run)
    assert_equal_graphs(graph, again)
    # Also wherever else the same numbers lie, with anything of the rest missing.
    (run / "masses.npy").unlink()
    path_of_block(run, 3).unlink()
    path_of_block(run, n_blocks - 1).unlink()
    assert_equal_graphs(graph, leastcut.anchor_graph(X, **SETTINGS, folder=run, n_jobs=2))
    assert_equal_graphs(graph, leastcut.anchor_graph(X, **SETTINGS))


@given(st.lists(st.integers(0, 40), min_size=1, max_size=6), st.integers(0, 2**32), st.booleans())
def test_a_check_sum_depends_on_bytes_and_not_on_how_they_are_cut(ends, seed, single):
    numbers = np.random.default_rng(seed).random(41).astype(np.float32 if single else np.float64)
    found = 0
    for part in np.split(numbers, sorted(ends)):
        found = sum_of([part], found)
    assert found == sum_of([numbers])
    assert found == sum_of(np.split(numbers, sorted(ends)))
    other = numbers.copy()
    other[seed % 41] += 1
    assert sum_of([other]) != found


# -- calls in one folder, one after another


def cut(graph, n_clusters, effort, seed, stop_after=None, time_limit=None, on_interrupt="raise"):
    """Cut, and stop or interrupt the search after some rounds."""
    rounds = 0

    def listen(progress):
        nonlocal rounds
        rounds += 1
        if stop_after is not None and rounds >= abs(stop_after):
            if stop_after < 0:
                raise KeyboardInterrupt
            return True
        return False

    return leastcut.partition(
        graph, n_clusters, effort=effort, random_state=seed, callback=listen,
        time_limit=time_limit, on_interrupt=on_interrupt, lower_bound=False,
    )  # fmt: skip


CALLS = st.tuples(
    st.sampled_from([2, 3, 4]),
    st.sampled_from(["fast", "auto", "balanced"]),
    st.sampled_from([0, 1]),
    st.sampled_from(["whole", "whole", "whole", "stopped", "interrupted", "returned", "timed"]),
    st.integers(1, 6),
)


@pytest.fixture(scope="module")
def alone():
    """The labels of whole calls on a graph without a folder."""
    return {}


@pytest.mark.slow
@settings(max_examples=draws(25), deadline=None)
@given(calls=st.lists(CALLS, min_size=2, max_size=7))
def test_what_stands_in_a_folder_changes_no_labels(calls, alone, tmp_path_factory):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(900, 2))  # one cloud: many cuts are nearly as good
    options = {**SETTINGS, "n_anchors": 60, "block_rows": 130}
    free = leastcut.anchor_graph(X, **options)
    run = tmp_path_factory.mktemp("run") / "run"
    for n_clusters, effort, seed, how, rounds in calls:
        graph = leastcut.anchor_graph(X, **options, folder=run)
        key = n_clusters, effort, seed
        if how == "whole":
            if key not in alone:
                alone[key] = cut(free, *key)
            found = cut(graph, *key)
            assert np.array_equal(found.labels, alone[key].labels), (key, calls)
            assert found.cut_value == alone[key].cut_value
        elif how == "interrupted":
            with suppress(KeyboardInterrupt):
                cut(graph, *key, stop_after=-rounds)
        elif how == "returned":
            with suppress(KeyboardInterrupt):  # before there was anything to return
                cut(graph, *key, stop_after=-rounds, on_interrupt="return")
        elif how == "stopped":
            cut(graph, *key, stop_after=rounds)
        else:
            cut(graph, *key, time_limit=0.001 * rounds)
    shutil.rmtree(run)


def test_a_folder_keeps_the_state_of_calls_that_can_be_made_again(tmp_path, monkeypatch):
    # Whatever time that takes: each round is saved.
    monkeypatch.setattr(checkpoint, "SHARE", np.inf)
    X = samples(np.float64)
    graph = leastcut.anchor_graph(X, **SETTINGS, folder=tmp_path)
    cut(graph, 3, "fast", None)
    cut(graph, 3, "fast", 0, time_limit=60.0)
    leastcut.partition(graph, 3, random_state=0, init=np.arange(SIZE) % 3)
    assert not (tmp_path / "searches").exists()
    rounds = []
    options = {"effort": "auto", "random_state": 0, "callback": rounds.append}
    found = leastcut.partition(graph, 3, **options)
    assert len(list((tmp_path / "searches").iterdir())) == 1
    assert rounds
    rounds.clear()
    again = leastcut.partition(graph, 3, **options)
    assert np.array_equal(found.labels, again.labels)
    assert len(rounds) <= 1  # what is left of it, and not all of it once more
    cut(graph, 3, "fast", 0)
    cut(graph, 2, "auto", 0)
    cut(graph, 3, "auto", 1)
    assert len(list((tmp_path / "searches").iterdir())) == 4


# -- files that are damaged, and disks that are full


def changed_bytes(written, how, place, byte):
    """Return a file with one byte changed, cut off, or with something added."""
    at = place % max(1, len(written))
    if how == "changed":
        return written[:at] + bytes([written[at] ^ byte]) + written[at + 1 :]
    if how == "shorter":
        return written[:at]
    return written[:at] + bytes([byte]) + written[at:]


HOW = st.sampled_from(["changed", "shorter", "longer"])


@pytest.fixture(scope="module")
def cut_folder(tmp_path_factory):
    """A folder with a graph and with the state of a search, and the labels that it came to."""
    run = tmp_path_factory.mktemp("folder") / "run"
    graph = leastcut.anchor_graph(samples(np.float32), **SETTINGS, folder=run)
    return run, cut(graph, 3, "auto", 0).labels


@settings(max_examples=draws(120), deadline=None)
@given(how=HOW, place=st.integers(0, 2**20), byte=st.integers(1, 255), data=st.data())
def test_every_damaged_file_of_a_graph_is_refused_by_name(how, place, byte, data, cut_folder):
    run, _ = cut_folder
    name = data.draw(
        st.sampled_from(["run.json", "anchors.npy", "masses.npy", "blocks/0000002.block"])
    )
    path = run / name
    written = path.read_bytes()
    if name.endswith(".block") and place % 2:
        place %= HEADER.size  # which is little of the file
    path.write_bytes(changed_bytes(written, how, place, byte))
    try:
        refused = None
        try:
            graph = leastcut.anchor_graph(samples(np.float32), **SETTINGS, folder=run)
            numbers_of(graph)
        except ValueError as error:
            refused = str(error)
        # White space may stand anywhere between what JSON says.
        is_said = name == "run.json" and refused is None and how == "longer"
        if is_said:
            assert bytes([byte]).isspace()
        else:
            assert refused is not None
            of_samples = "(block 2) are not those" in refused and name.endswith(".block")
            of_form = "written in another form" in refused and name == "run.json"
            assert name in refused or of_samples or of_form, refused
            assert of_samples or "emove" in refused
    finally:
        path.write_bytes(written)


@settings(max_examples=draws(60), deadline=None)
@given(how=HOW, place=st.integers(0, 2**20), byte=st.integers(1, 255))
def test_a_damaged_state_of_a_search_is_computed_anew_with_a_warning(how, place, byte, cut_folder):
    run, labels = cut_folder
    graph = leastcut.anchor_graph(samples(np.float32), **SETTINGS, folder=run)
    (path,) = (run / "searches").iterdir()
    written = path.read_bytes()
    if place % 2:
        place %= 200  # which is little of the file
    path.write_bytes(changed_bytes(written, how, place, byte))
    try:
        with pytest.warns(UserWarning, match=r"\.search cannot be used: .* begins anew") as warned:
            found = cut(graph, 3, "auto", 0)
        assert len(warned) == 1
        assert np.array_equal(found.labels, labels)
    finally:
        path.write_bytes(written)


def forged(number, run, change):
    """Write a block whose check sums are right, with other anchors."""
    path = path_of_block(run, number)
    written = path.read_bytes()
    _, n_points, n_neighbors, of_samples, _ = HEADER.unpack(written[: HEADER.size])
    ties = np.frombuffer(written[HEADER.size :], dtype="<i4").copy()
    change(ties[: n_points * n_neighbors])
    header = HEADER.pack(MARK, n_points, n_neighbors, of_samples, sum_of([ties]))
    path.write_bytes(header + ties.tobytes())


@pytest.mark.parametrize("anchor", [-1, 15, 2**31 - 1])
def test_no_file_makes_kernels_write_beside_their_tables(anchor, tmp_path):
    X = samples(np.float32)
    leastcut.anchor_graph(X, **SETTINGS, folder=tmp_path)

    def change(anchors):
        anchors[7] = anchor

    forged(1, tmp_path, change)
    graph = leastcut.anchor_graph(X, **SETTINGS, folder=tmp_path)
    with pytest.raises(ValueError, match=r"0000001.block is damaged: it names other anchors"):
        leastcut.cut_value(graph, np.arange(SIZE) % 2)


@pytest.mark.parametrize(
    "other", [np.zeros((15, 2)), np.zeros((15, 3), np.float32), np.zeros(15, np.float32)]
)
def test_arrays_of_another_form_are_refused(other, tmp_path):
    leastcut.anchor_graph(samples(np.float32), **SETTINGS, folder=tmp_path)
    RunFolder(tmp_path).save("anchors", other)
    with pytest.raises(ValueError, match=r"anchors.npy is damaged: it is of shape") as caught:
        leastcut.anchor_graph(samples(np.float32), **SETTINGS, folder=tmp_path)
    assert ANEW in str(caught.value)


def test_nothing_is_unpickled(tmp_path):
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
def test_a_sealed_text_is_what_was_written(content):
    import json

    found = json.loads(sealed(content))
    assert is_sealed(found)
    assert found == content
    assert not is_sealed(
        {**found, "more": 1, "check sum": json.loads(sealed(content))["check sum"]}
    )


@pytest.mark.parametrize("below", ["run", "deep/run"])
def test_a_folder_inside_a_file_is_refused(below, tmp_path, monkeypatch):
    (tmp_path / "thesis.tex").write_text("years of work")
    X = samples(np.float32)
    for path in (tmp_path / "thesis.tex" / below, Path("thesis.tex") / below):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(ValueError, match=r"lies inside .*thesis\.tex', which is a file"):
            leastcut.anchor_graph(X, **SETTINGS, folder=path)
        model = leastcut.AnchorSpectralClustering(2, n_anchors=15, folder=path)
        with pytest.raises(ValueError, match=r"lies inside .*thesis\.tex', which is a file"):
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
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        found = leastcut.partition(graph, 3, random_state=0)
    told = [str(one.message) for one in warned if issubclass(one.category, UserWarning)]
    assert len(told) == 1, told
    assert "cannot be saved and goes on without" in told[0] and ".search" in told[0], told
    free = leastcut.partition(leastcut.anchor_graph(X, **options), 3, random_state=0)
    assert np.array_equal(found.labels, free.labels)
    try:
        leastcut.anchor_graph(X + 1, **options, folder=sys.argv[1] + "-other")
    except (OSError, ValueError) as error:
        assert "-other" in str(error), error
    else:
        assert False, "there was room for another graph"
    print("done", told[0])
"""


def run_full(arguments, how, folder):
    environment = {**os.environ, "PYTHONPATH": str(Path(leastcut.__file__).parents[1])}
    command = [*arguments, sys.executable, "-c", textwrap.dedent(FULL), str(folder), how]
    return subprocess.run(command, capture_output=True, text=True, env=environment)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="files have no such limit there")
def test_a_search_goes_on_where_its_state_cannot_be_written(tmp_path):
    done = run_full([], "limit", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert not list((tmp_path / "run").rglob("*.unfinished"))


@pytest.mark.slow
def test_a_search_goes_on_where_the_disk_is_full(tmp_path):
    mount = 'mount -t tmpfs -o size=2m tmpfs "$0" && exec "$@"'
    within = ["unshare", "-rm", "sh", "-c", mount, str(tmp_path)]
    if shutil.which("unshare") is None or subprocess.run([*within, "true"]).returncode:
        pytest.skip("no small disk can be mounted here")
    done = run_full(within, "disk", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert "No space left on device" in done.stdout


def test_a_folder_that_cannot_be_written_is_read(tmp_path):
    X = samples(np.float32)
    graph = leastcut.anchor_graph(X, **SETTINGS, folder=tmp_path)
    # What a search would write to is a file, as good as a folder that is not ours.
    (tmp_path / "searches").write_text("")
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        found = cut(leastcut.anchor_graph(X, **SETTINGS, folder=tmp_path), 3, "fast", 0)
    assert any("cannot be saved" in str(one.message) for one in warned)
    assert np.array_equal(
        found.labels, cut(leastcut.anchor_graph(X, **SETTINGS), 3, "fast", 0).labels
    )
    assert_equal_graphs(graph, leastcut.anchor_graph(X, **SETTINGS, folder=tmp_path))

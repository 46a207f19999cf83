"""Downloads from OpenML by scikit-learn are kept only if they pass the checks."""

from __future__ import annotations

import errno
import gzip
import warnings

import numpy as np
import pytest

from reproduction import datasets
from reproduction.__main__ import main
from reproduction.data import printed
from reproduction.data.sources import OPENML, WHERE
from reproduction.tests.recorded_openml import Offline, Recorded, answers, network

X = np.random.default_rng(0).integers(0, 100, size=(214, 9)).astype(float) / 8
y = np.arange(214) % 6
ANSWERS = answers(41, X, y)
*PAGES, FILE = ANSWERS
LARGE = sorted({*OPENML} - {"glass", "segment"})
UNTRIED = r".*which has not been compared with the paper's version"


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Return the path at which glass is kept; no dataset exists, and retries do not wait."""
    monkeypatch.delenv(datasets.ENVIRONMENT, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("time.sleep", lambda _: None)
    return tmp_path / "cache" / "leastcut" / "openml" / "glass.npz"


def load(name="glass", **more):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=UNTRIED)
        return datasets.load(name, **more)


@pytest.mark.parametrize("zipped", [True, False])
def test_a_dataset_is_downloaded_once_and_unchanged(kept, zipped):
    with network(Recorded(ANSWERS, zipped=zipped)) as openml:
        first = load()
        assert set(openml.requests) == set(ANSWERS)
        n_requests = len(openml.requests)
        second = load()
        assert len(openml.requests) == n_requests
    for dataset in (first, second):
        np.testing.assert_array_equal(dataset.X, X)
        np.testing.assert_array_equal(dataset.y, y)
    assert [path.name for path in kept.parent.iterdir()] == ["glass.npz"]
    with network(Offline()):
        np.testing.assert_array_equal(load().X, X)
        with pytest.raises(FileNotFoundError, match="was not downloaded"):
            load(download=False)


@pytest.mark.parametrize(
    "name", ["glass", "segment", *(pytest.param(n, marks=pytest.mark.slow) for n in LARGE)]
)
def test_every_dataset_of_openml_can_be_downloaded(name, kept, monkeypatch):
    """Downloads have the paper's shape, with fewer features of images to save minutes."""
    n, n_features, c = printed.dataset_shape(name)
    few = min(n_features, 20)
    monkeypatch.setattr("reproduction.datasets.dataset_shape", lambda _: (n, few, c))
    rng = np.random.default_rng(0)
    sent = rng.integers(0, 256, size=(n + (50 if name == "fashion" else 0), few)).astype(float)
    pages = answers(OPENML[name].data_id, sent, np.arange(len(sent)) % c)
    with network(Recorded(pages)), pytest.warns(UserWarning, match=UNTRIED):
        dataset = datasets.load(name)
    assert dataset.X.shape == (n, few)
    assert dataset.n_classes == c
    if name == "segment":
        np.testing.assert_allclose(dataset.X.std(axis=0, ddof=1), 1.0)
        np.testing.assert_allclose(dataset.X.mean(axis=0), 0.0, atol=1e-12)
    else:
        np.testing.assert_array_equal(dataset.X, sent[-n:])


def test_a_source_that_was_not_compared_warns_every_time_and_is_documented(kept):
    with network(Recorded(ANSWERS)):
        for _ in range(2):  # downloaded, then from the cache
            with pytest.warns(UserWarning, match="OpenML 41, which has not been compared"):
                datasets.load("glass")
    # a source that was compared is removed from this list
    assert {name for name, source in OPENML.items() if not source.tried} == set(OPENML)
    assert "have not been compared" in datasets.load.__doc__
    for name in OPENML:
        assert f'"{name}"' in datasets.load.__doc__


def test_without_a_network_the_error_names_file_folders_and_source(kept, tmp_path):
    with network(Offline()), pytest.raises(FileNotFoundError) as caught:
        load(data=tmp_path / "mine")
    text = str(caught.value)
    assert "Name or service not known" in text
    assert "OpenML 41, an id that has not been tested" in text
    assert "glass.npz or glass.mat or glass.csv" in text
    assert str(tmp_path / "mine") in text
    assert WHERE["glass"] in text
    assert "\n" not in text
    assert not kept.exists()


def truncated(path, content):
    return content[: len(content) // 2]


def other_bytes(path, content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 0xFF]) + content[middle + 1 :]


DAMAGES = {
    "truncated": truncated,
    "changed": other_bytes,
    "empty": lambda path, content: b"",
    "a login page": lambda path, content: gzip.compress(b"<html>Log in, please</html>"),
    "another answer": lambda path, content: gzip.compress(b'{"error": {"code": "1"}}'),
    "no object": lambda path, content: gzip.compress(b"[1, 2]"),
}


@pytest.mark.parametrize("page", [*PAGES, FILE])
@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_answer_is_an_error_and_is_not_kept(kept, page, how):
    """Any of the four pages may be damaged; the next download succeeds."""

    def damage(path, content):
        return DAMAGES[how](path, content) if path == page else content

    # a dataset can be read without its number of samples
    harmless = page == PAGES[2] and how == "another answer"
    with network(Recorded(ANSWERS, damage)):
        if harmless:
            np.testing.assert_array_equal(load().X, X)
            return
        with pytest.raises(FileNotFoundError, match=r"OpenML 41, .* failed \(") as caught:
            load()
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is not None
    assert not kept.exists()
    with network(Recorded(ANSWERS)):
        np.testing.assert_array_equal(load().X, X)


def test_an_unknown_id_of_openml_is_reported(kept):
    with network(Recorded({})), pytest.raises(FileNotFoundError, match="data_id 41 not found"):
        load()


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (answers(41, X[:, :8], y), "OpenML 41 has 214 samples, 8 features and 6 classes"),
        (answers(41, X[:200], y[:200]), "200 samples"),
        (answers(41, X, y % 5), "5 classes"),
    ],
)
def test_another_version_is_rejected_and_not_kept(kept, sent, words):
    with network(Recorded(sent)), pytest.raises(ValueError, match=words):
        load()
    assert not kept.exists()


def test_missing_entries_are_rejected_and_not_kept(kept):
    holes = X.copy()
    holes[3, 4] = np.nan
    words = r"1 entries that are NaN.*sample 4, feature 5"
    with network(Recorded(answers(41, holes, y))), pytest.raises(FileNotFoundError, match=words):
        load()
    assert not kept.exists()


def test_on_a_full_disk_the_dataset_is_loaded_but_not_kept(kept, monkeypatch):
    def full(file, **_):
        file.write_bytes(b"half of i")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    with network(Recorded(ANSWERS)), pytest.warns(UserWarning, match="No space left on device"):
        np.testing.assert_array_equal(load().X, X)
    assert list(kept.parent.iterdir()) == []


def test_a_run_downloads_a_dataset_and_names_its_source(kept, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("reproduction.runs.progress.LINE_SECONDS", 1e9)  # no progress lines
    what = ["--table", "datasets", "--datasets", "glass", "--jobs", "1"]
    with network(Recorded(ANSWERS)) as openml:
        assert main(["run", *what, "--out", str(tmp_path / "out")]) == 0
    assert len(openml.requests) == len(set(openml.requests))
    (line,) = capsys.readouterr().err.splitlines()
    assert "OpenML 41, which has not been compared" in line

"""Datasets are loaded by name in every format, and have the shape given in the paper."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.io

from reproduction import datasets
from reproduction.data import printed, readers
from reproduction.data.sources import BUNDLED, WHERE
from reproduction.tests.recorded_openml import Offline, network

X = np.random.default_rng(0).integers(0, 100, size=(214, 9)).astype(float) / 8
y = np.arange(214) % 6


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.delenv(datasets.ENVIRONMENT, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("sys.platform", "linux")
    return tmp_path


def assert_same(dataset):
    np.testing.assert_array_equal(dataset.X, X)
    np.testing.assert_array_equal(dataset.y, y)
    assert dataset.X.dtype == np.float64
    assert dataset.y.dtype == np.int64


@pytest.mark.parametrize("name", sorted(BUNDLED))
def test_datasets_of_scikit_learn_need_no_file(name):
    dataset = datasets.load(name.upper())
    assert dataset.X.shape[0] == dataset.y.shape[0]
    assert set(dataset.y) == set(range(dataset.n_classes))


def test_the_papers_names_are_first_and_the_repr_has_one_line():
    assert datasets.names()[:2] == ["jaffe", "umist"]
    expected = "Dataset('wine', n_samples=178, n_features=13, n_classes=3)"
    assert repr(datasets.load("wine")) == expected


HOMES = {
    "a home": ({"HOME": "/home/someone"}, "/home/someone/.cache/leastcut"),
    "another cache": ({"HOME": "/home/someone", "XDG_CACHE_HOME": "/cache"}, "/cache/leastcut"),
    "a relative cache": (
        {"HOME": "/home/someone", "XDG_CACHE_HOME": "cache"},
        "/home/someone/.cache/leastcut",
    ),
    "a relative home": ({"HOME": "someone"}, None),
    "an empty home": ({"HOME": ""}, None),
    "no home": ({}, None),
}


@pytest.mark.parametrize("what", HOMES)
def test_the_cache_folder_is_absolute(what, folder, monkeypatch):
    environment, expected = HOMES[what]
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    def unknown(_):
        raise KeyError("no such user")

    monkeypatch.setattr("pwd.getpwuid", unknown)
    monkeypatch.chdir(folder)
    cache = datasets.cache_folder()
    assert cache.is_absolute()
    assert not cache.is_relative_to(folder)
    assert expected is None or str(cache) == expected


def test_npz_files_are_read(folder):
    np.savez(folder / "glass.npz", X=X, y=y + 3)
    assert_same(datasets.load("glass", data=folder))


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("names", [("fea", "gnd"), ("X", "Y"), ("x", "y"), ("FEA", "Gnd")])
def test_mat_files_are_read(folder, names, transposed):
    content = {names[0]: X.T if transposed else X, names[1]: (y + 1)[:, None]}
    scipy.io.savemat(folder / "GLASS.mat", content)
    assert_same(datasets.load("glass", data=folder))


@pytest.mark.parametrize("header", ["", "a,b,c,d,e,f,g,h,i,class\n"])
def test_csv_files_with_classes_as_strings_are_read(folder, header):
    rows = "\n".join(
        ",".join(map(repr, map(float, row))) + f",kind {k}" for row, k in zip(X, y, strict=True)
    )
    (folder / "glass.csv").write_text(header + rows + "\n")
    assert_same(datasets.load("glass", data=folder))


def test_csv_files_with_the_class_in_the_first_column_are_read(folder):
    rows = "\n".join(
        f"{k}," + ",".join(map(repr, map(float, row))) for row, k in zip(X, y, strict=True)
    )
    (folder / "glass.csv").write_text("y,a,b,c,d,e,f,g,h,i\n" + rows)
    assert_same(datasets.load("glass", data=folder))


def test_a_bad_line_of_a_csv_is_named(folder):
    (folder / "glass.csv").write_text("1,2,a\n3,oops,b\n")
    with pytest.raises(ValueError, match=r"Line 2 in .*glass\.csv .* is not 2 numbers and a class"):
        datasets.load("glass", data=folder)


def test_a_short_line_is_named_for_any_column_of_the_class(folder):
    (folder / "glass.csv").write_text("a,class,b,c\n1,x,2,3\n4,y\n")
    with pytest.raises(ValueError, match=r"Line 3 in .*glass\.csv .* is not 3 numbers and a class"):
        datasets.load("glass", data=folder)


def test_the_number_of_features_decides_about_square_matrices(folder):
    square = np.arange(16.0).reshape(4, 4)
    np.savez(folder / "square.npz", X=square, y=[0, 1, 0, 1])
    np.testing.assert_array_equal(readers.read_npz(folder / "square.npz", 4)[0], square)


def test_folders_are_searched_in_order(folder, monkeypatch):
    for place, shift in (("given", 0), ("environment", 1), ("cache/leastcut", 2)):
        (folder / place).mkdir(parents=True)
        np.savez(folder / place / "glass.npz", X=X + shift, y=y)
    monkeypatch.setenv(datasets.ENVIRONMENT, str(folder / "environment"))
    assert datasets.load("glass", data=folder / "given").X[0, 0] == X[0, 0]
    assert datasets.load("glass").X[0, 0] == X[0, 0] + 1
    monkeypatch.delenv(datasets.ENVIRONMENT)
    assert datasets.load("glass").X[0, 0] == X[0, 0] + 2


def test_the_error_for_a_missing_dataset_lists_files_folders_and_source(folder, monkeypatch):
    with pytest.raises(FileNotFoundError) as caught:
        datasets.load("jaffe", data=folder / "mine")
    text = str(caught.value)
    assert "jaffe.npz or jaffe.mat or jaffe.csv" in text
    assert str(folder / "mine") in text
    assert str(folder / "cache" / "leastcut") in text
    assert "JAFFE face database" in text
    monkeypatch.setattr("time.sleep", lambda _: None)
    with network(Offline()), pytest.raises(FileNotFoundError, match=r"OpenML 41.* failed \("):
        datasets.load("glass")
    with pytest.raises(FileNotFoundError, match="was not downloaded"):
        datasets.load("glass", download=False)


def test_another_version_of_a_dataset_is_refused(folder):
    np.savez(folder / "glass.npz", X=X[:, :8], y=y)
    with pytest.raises(
        ValueError, match=r"214 samples, 8 features and 6 classes.*version has 214, 9 and 6"
    ):
        datasets.load("glass", data=folder)


def test_the_error_for_a_file_without_samples_lists_its_arrays(folder):
    np.savez(folder / "glass.npz", stuff=X)
    with pytest.raises(ValueError, match="has 'stuff'; it must have the samples as X or fea"):
        datasets.load("glass", data=folder)


def test_a_matlab_7_3_file_is_explained(folder):
    head = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM"
    (folder / "glass.mat").write_bytes(head + b"\x89HDF")
    with pytest.raises(ValueError, match=r"glass\.mat cannot be read .*v7\.3"):
        datasets.load("glass", data=folder)


def test_the_error_for_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match="'mnist' is not known; choose one of 'jaffe'"):
        datasets.load("mnist")


def test_every_dataset_of_the_paper_has_a_source():
    for name in printed.dataset_labels():
        assert name in BUNDLED or name in WHERE

"""Files of datasets are read correctly, or rejected by an error of one line that names the file."""

from __future__ import annotations

import io
import re
import zipfile

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from conftest import draws
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reproduction import datasets

rng = np.random.default_rng(0)
X = rng.integers(1, 100, size=(214, 9)).astype(float) / 8
y = np.arange(214) % 6
KINDS = (".npz", ".mat", ".csv")


def packed(kind: str, X, y) -> bytes:
    """Return a file of a kind as bytes."""
    file = io.BytesIO()
    if kind == ".npz":
        np.savez(file, X=X, y=y)
    elif kind == ".mat":
        scipy.io.savemat(file, {"X": X, "y": y})
    else:
        lines = [
            ",".join([*map(str, row), str(label)])
            for row, label in zip(np.asarray(X).tolist(), np.asarray(y).tolist(), strict=True)
        ]
        file.write("\n".join(lines).encode())
    return file.getvalue()


def error_of(folder, name: str, content: bytes) -> str:
    """Return the error of one line that names the file and rejects it."""
    (folder / name).write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(str(folder / name))) as caught:
        datasets.load("glass", data=folder, download=False)
    text = str(caught.value)
    assert "\n" not in text
    return text


def with_entry(value):
    """Return the samples with one entry replaced, converted to complex if necessary."""
    changed = X.astype(complex) if isinstance(value, complex) else X.copy()
    changed[3, 4] = value
    return changed


BAD_SAMPLES = {
    "NaN": (with_entry(np.nan), "1 entries that are NaN or infinite; the first is sample 4"),
    "infinite": (with_entry(-np.inf), "sample 4, feature 5"),
    "complex": (with_entry(1 + 0j), "not 9 numbers|complex"),
    "strings": (X.astype(str).astype("U9"), "type <U9|shape"),
    "3-D": (X[:, :, None], "shape"),
    "no samples": (X[:0], "shape|empty|classes"),
    "no features": (X[:, :0], "shape|features|no arrays"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("what", BAD_SAMPLES)
def test_samples_that_are_not_finite_real_numbers_are_rejected(tmp_path, kind, what):
    samples, words = BAD_SAMPLES[what]
    if kind == ".csv" and what in ("strings", "3-D"):
        pytest.skip("a text table is 2-D and its strings are the numbers")
    labels = y[: len(samples)]
    text = error_of(tmp_path, f"glass{kind}", packed(kind, samples, labels))
    assert any(word in text for word in words.split("|")), text


BAD_CLASSES = {
    "NaN": np.where(y == 3, np.nan, y),
    "infinite": np.where(y == 3, np.inf, y),
    "complex": y + 1j,
    "missing dates": np.array(["NaT"] * 214, dtype="datetime64[ns]"),
    "several per sample": np.repeat(y[:, None], 9, axis=1),
    "two rows": y.reshape(2, 107),
    "too few": y[:-1],
    "too many": np.append(y, 0),
    "no classes": y[:0],
}


@pytest.mark.parametrize("what", BAD_CLASSES)
def test_every_sample_must_have_one_class(tmp_path, what):
    assert "class" in error_of(tmp_path, "glass.npz", packed(".npz", X, BAD_CLASSES[what]))
    if what != "missing dates":
        (tmp_path / "glass.npz").unlink()
        assert "class" in error_of(tmp_path, "glass.mat", packed(".mat", X, BAD_CLASSES[what]))


@pytest.mark.parametrize("missing", ["", " ", "nan", "NaN"])
def test_a_table_with_a_missing_class_is_rejected(tmp_path, missing):
    labels = y.astype(str).astype("U9")
    labels[7] = missing
    text = error_of(tmp_path, "glass.csv", packed(".csv", X, labels))
    assert "1 samples without a class; the first is sample 8" in text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("\n\n , \n", "is empty"),
        ("a,b,class\n", "shape"),
        ("1\n2\n3\n", "shape"),
        ("1,2,a\n3,b\n", "Line 2"),
        ("1,2,a\n3,4,5,b\n", "Line 2"),
        ("1,?,a\n3,4,b\n", "Line 1"),
        ("1,,a\n3,4,b\n", "Line 1"),
        ("1,2,a\n3,4+1j,b\n", "Line 2"),
        ("1;2;a\n3;4;b\n", "shape"),
        ('1,"2,a\n3,4,b\n', "the paper's version"),
    ],
)
def test_an_incomplete_table_is_rejected(tmp_path, text, words):
    message = error_of(tmp_path, "glass.csv", text.encode())
    assert any(word in message for word in words.split("|")), message


def npz(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return file.getvalue()


def npy(array, **options) -> bytes:
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


OBJECTS = np.array([[1, 2], [3, "x"]], dtype=object)
DAMAGED = {
    "glass.npz": {
        "empty": b"",
        "text": b"hello, world\n",
        "a bare matrix": npy(X),
        "a pickle": npy(OBJECTS),
        "objects inside": npz(X=npy(OBJECTS), y=npy(y)),
        "no arrays": npz(X=b"abc", y=b""),
        "another kind": packed(".mat", X, y),
        "too large": npz(X=npy(X).replace(b"(214, 9)", b"(10**9,)"), y=npy(y)),
    },
    "glass.mat": {
        "empty": b"",
        "text": b"hello, world\n",
        "head only": packed(".mat", X, y)[:128],
        "another kind": packed(".npz", X, y),
        "a cell of rows": packed(".mat", np.array([X[0], X[1, :3]], dtype=object), y[:2]),
        "a struct": packed(".mat", {"deep": X}, y),
        "truncated": packed(".mat", X, y)[:9000],
    },
    "glass.csv": {
        "bytes": packed(".npz", X, y),
        "zeros": b"\x00" * 100,
        "a long field": b"1," + b"9" * 200_000 + b",a",
    },
}


@pytest.mark.parametrize(
    ("name", "what"), [(name, what) for name, cases in DAMAGED.items() for what in cases]
)
def test_a_damaged_file_is_rejected(tmp_path, name, what):
    error_of(tmp_path, name, DAMAGED[name][what])


def test_pickles_are_never_executed(tmp_path):
    class Trap:
        def __reduce__(self):
            return open, (str(tmp_path / "sprung"), "w")

    trap = np.empty((214, 9), dtype=object)
    trap[:] = Trap()
    error_of(tmp_path, "glass.npz", npz(X=npy(trap, allow_pickle=True), y=npy(y)))
    error_of(tmp_path, "glass.npz", npy(trap, allow_pickle=True))
    assert not (tmp_path / "sprung").exists()


@settings(max_examples=draws(100), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kind=st.sampled_from([".npz", ".csv"]),  # SciPy's reader of .mat files may crash
    place=st.integers(0, 10**6),
    other=st.binary(max_size=4),
    cut=st.booleans(),
)
def test_a_truncated_or_changed_file_is_read_or_rejected(tmp_path, kind, place, other, cut):
    """The only error is ValueError, and samples that are read are finite and complete."""
    full = packed(kind, X, y)
    place %= len(full)
    content = full[:place] if cut else full[:place] + other + full[place + len(other) :]
    path = tmp_path / f"glass{kind}"
    path.write_bytes(content)
    try:
        dataset = datasets.load("glass", data=tmp_path, download=False)
    except ValueError as error:
        message = str(error)
        assert str(path) in message
        assert "\n" not in message
    else:
        assert dataset.X.shape == X.shape
        assert np.isfinite(dataset.X).all()
        assert np.bincount(dataset.y).min() > 0
    path.unlink()


GOOD = {
    "a column": (".npz", X, y[:, None]),
    "a row": (".mat", X, y[None]),
    "integers": (".npz", (8 * X).astype(np.int16), y),
    "float32": (".npz", X.astype(np.float32), y),
    "sparse": (".mat", sp.csc_matrix(X), y),
    "strings": (".npz", X, np.char.add("kind ", y.astype(str))),
    "cells of strings": (".mat", X, np.char.add("kind ", y.astype(str)).astype(object)),
    "bytes": (".npz", X, np.char.add("kind ", y.astype(str)).astype("S8")),
}


@pytest.mark.parametrize("what", GOOD)
def test_common_types_and_layouts_are_read(tmp_path, what):
    kind, samples, labels = GOOD[what]
    (tmp_path / f"glass{kind}").write_bytes(packed(kind, samples, labels))
    dataset = datasets.load("glass", data=tmp_path, download=False)
    expected = samples.toarray() if sp.issparse(samples) else samples
    np.testing.assert_array_equal(dataset.X, expected)
    np.testing.assert_array_equal(dataset.y, y)


def test_a_header_with_numbers_is_recognized_by_the_name_of_the_class(tmp_path):
    rows = [f"{k}," + ",".join(map(str, row)) for row, k in zip(X.tolist(), y, strict=True)]
    header = "class," + ",".join(map(str, range(9)))
    (tmp_path / "glass.csv").write_text("\n".join([header, *rows]))
    np.testing.assert_array_equal(datasets.load("glass", data=tmp_path).X, X)


def test_a_folder_with_the_name_of_a_file_is_ignored(tmp_path, monkeypatch):
    monkeypatch.delenv("LEASTCUT_DATA", raising=False)
    (tmp_path / "Glass.NPZ").mkdir()
    with pytest.raises(FileNotFoundError):
        datasets.load("glass", data=tmp_path, download=False)

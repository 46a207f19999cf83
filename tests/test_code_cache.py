"""Compiled code on disk: whatever becomes of it, calls are answered, rightly, and it is said."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

CALL = """
import warnings
import numpy as np, firstcut
S = np.kron(np.eye(3), np.ones((4, 4))) + 0.1
relaxation = firstcut.relax(S, 3, random_state=0)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    found = firstcut.discretize(relaxation, random_state=0, graph=S)
print(found.labels.tolist(), *(str(one.message) for one in caught), sep="|")
"""
"""A call that compiles two kernels; prints its labels and the warnings that it made."""


def answer_of(program, folder):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    labels, *remarks = done.stdout.strip().split("|")
    return labels, remarks


def files_of(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A folder with the compiled code, and the labels."""
    folder = tmp_path_factory.mktemp("kept")
    labels, remarks = answer_of(CALL, folder)
    assert not remarks
    assert len(files_of(folder)) >= 2
    return {path.relative_to(folder): path.read_bytes() for path in files_of(folder)}, labels


def flip_a_bit(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 4]) + content[middle + 1 :]


DAMAGES = {
    "empty": lambda content: b"",
    "cut in half": lambda content: content[: len(content) // 2],
    "random": lambda content: np.random.default_rng(0).bytes(len(content)),
    "one bit flipped": flip_a_bit,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_code_is_compiled_again_and_replaced(kept, tmp_path, damage):
    contents, labels = kept
    for name, content in contents.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(DAMAGES[damage](content))
    found, remarks = answer_of(CALL, tmp_path)
    assert found == labels
    assert len(remarks) == 1
    assert str(tmp_path) in remarks[0]
    assert "compiled again" in remarks[0]
    assert answer_of(CALL, tmp_path) == (labels, [])


def test_swapped_code_is_not_run(kept, tmp_path):
    contents, labels = kept
    for name, content in zip(contents, list(contents.values())[::-1], strict=True):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    found, remarks = answer_of(CALL, tmp_path)
    assert found == labels
    assert len(remarks) == 1
    assert answer_of(CALL, tmp_path) == (labels, [])


def test_code_of_another_version_of_numba_is_replaced_in_silence(kept, tmp_path):
    contents, labels = kept
    other = "import numba; numba.__version__ = '0.1'\n" + CALL
    assert answer_of(other, tmp_path) == (labels, [])
    before = {path: path.read_bytes() for path in files_of(tmp_path)}
    assert {path.relative_to(tmp_path) for path in before} == set(contents)
    assert answer_of(CALL, tmp_path) == (labels, [])
    assert all(path.read_bytes() != content for path, content in before.items())


def test_a_file_that_is_missing_is_written_anew(kept, tmp_path):
    contents, labels = kept
    (name, content), *_ = contents.items()
    (tmp_path / name).parent.mkdir()
    (tmp_path / name).write_bytes(content)
    assert answer_of(CALL, tmp_path) == (labels, [])
    assert len(files_of(tmp_path)) == len(contents)


FULL_DISK = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
"""
VANISHED = """
import pathlib
import firstcut.kernels.sweep
# A file in the place of the folder.
pathlib.Path(firstcut.kernels.sweep.sweep._cache.cache_path).touch()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of files are POSIX's")
@pytest.mark.parametrize("trouble", [FULL_DISK, VANISHED], ids=["full disk", "no folder"])
def test_where_nothing_can_be_kept_code_lives_as_long_as_the_process(kept, tmp_path, trouble):
    _, labels = kept
    found, remarks = answer_of(trouble + CALL, tmp_path)
    assert found == labels
    assert len(remarks) == 1
    assert str(tmp_path) in remarks[0]
    assert "NUMBA_CACHE_DIR" in remarks[0]
    # Nothing half written is left behind either.
    assert not [path for path in files_of(tmp_path) if path.stat().st_size]

"""The cache of compiled code: calls never fail, and files of other users are never executed."""

from __future__ import annotations

import gc
import os
import stat
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numba.core.errors import TypingError

from leastcut.kernels import kernel
from leastcut.kernels.code_cache import is_private

MODULE = """
from leastcut.kernels import kernel

@kernel
def added(total, terms, factor):
    for term in terms:
        total[0] += factor * term
    return total[0]

@kernel
def twice(total, terms, factor):
    first = added(total, terms, factor)
    if first > 1e6:
        raise ValueError("too large")
    return added(total, terms, factor)
"""

USE = """
import os, pickle, sys, warnings
sys.path.insert(0, {folder!r})
import numpy as np
from module import added, twice
from leastcut.kernels import code_cache
terms = np.arange(6.0)
"""

CALL = """
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    answer = [added(np.zeros(1), terms, 2.0), twice(np.zeros(1), terms, 1.5)]
    loaded = [sum(f.stats.cache_hits.values()) for f in (added, twice)]
print(answer, *(str(one.message) for one in caught), sep="|")
"""
ANSWER = "[30.0, 45.0]"


@pytest.fixture
def run(tmp_path):
    """Return a function that runs a program in a new process; it returns output and warnings."""
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "module.py").write_text(MODULE)

    def answer(program=CALL, folder=tmp_path / "cache", **settings):
        cleared = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
        # Python would reuse a module with the same time and size.
        environment = {**cleared, "PYTHONDONTWRITEBYTECODE": "1", "NUMBA_CACHE_DIR": str(folder)}
        done = subprocess.run(
            [sys.executable, "-c", USE.format(folder=str(modules)) + textwrap.dedent(program)],
            env={**environment, **settings},
            capture_output=True,
            text=True,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        output, *messages = done.stdout.strip().split("|")
        return output, messages

    return answer


def files_of(folder):
    return sorted(path for path in Path(folder).rglob("*") if path.is_file())


def flip_a_bit(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 4]) + content[middle + 1 :]


DAMAGES = {
    "empty": lambda content: b"",
    "cut in half": lambda content: content[: len(content) // 2],
    "random": lambda content: np.random.default_rng(0).bytes(len(content)),
    "one bit flipped": flip_a_bit,
}


def test_later_processes_load_the_code_of_the_first(run, tmp_path):
    assert run() == (ANSWER, [])
    before = {path: path.read_bytes() for path in files_of(tmp_path / "cache")}
    assert len(before) == 2
    assert run(CALL + "assert loaded == [1, 1], loaded") == (ANSWER, [])
    assert before == {path: path.read_bytes() for path in files_of(tmp_path / "cache")}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_code_is_recompiled_and_replaced(run, tmp_path, damage):
    run()
    for path in files_of(tmp_path / "cache"):
        path.write_bytes(DAMAGES[damage](path.read_bytes()))
    output, messages = run(CALL + "assert loaded == [0, 0], loaded")
    assert output == ANSWER
    assert len(messages) == 1
    assert str(tmp_path / "cache") in messages[0]
    assert "compiled again" in messages[0]
    assert run(CALL + "assert loaded == [1, 1], loaded") == (ANSWER, [])


@pytest.mark.slow
def test_swapped_files_are_not_loaded(run, tmp_path):
    run()
    first, second = files_of(tmp_path / "cache")
    one, other = first.read_bytes(), second.read_bytes()
    first.write_bytes(other)
    second.write_bytes(one)
    output, messages = run()
    assert (output, len(messages)) == (ANSWER, 1)
    assert run() == (ANSWER, [])


@pytest.mark.slow
def test_code_of_another_numba_version_is_replaced_without_a_warning(run, tmp_path):
    assert run("import numba; numba.__version__ = '0.1'\n" + CALL) == (ANSWER, [])
    before = {path: path.read_bytes() for path in files_of(tmp_path / "cache")}
    assert run(CALL + "assert loaded == [0, 0], loaded") == (ANSWER, [])
    after = {path: path.read_bytes() for path in files_of(tmp_path / "cache")}
    assert before.keys() == after.keys()
    assert all(before[path] != after[path] for path in before)


def test_code_of_changed_sources_is_not_loaded(run, tmp_path):
    run()
    source = tmp_path / "modules" / "module.py"
    times = source.stat().st_atime_ns, source.stat().st_mtime_ns
    source.write_text(MODULE.replace("factor * term", "factor + term"))
    os.utime(source, ns=times)
    # ``added`` is inlined into ``twice``.
    assert run() == ("[27.0, 48.0]", [])
    assert run(CALL + "assert loaded == [1, 1], loaded") == ("[27.0, 48.0]", [])


@pytest.mark.slow
def test_processes_can_write_concurrently(run):
    with ThreadPoolExecutor(3) as pool:
        assert set(map(str, pool.map(lambda _: run(), range(3)))) == {str((ANSWER, []))}
    assert run(CALL + "assert loaded == [1, 1], loaded") == (ANSWER, [])


def test_a_kernel_is_pickled_by_name_and_raises_its_errors(run):
    program = """
    assert pickle.loads(pickle.dumps(added)) is added
    try:
        twice(np.full(1, 1e7), terms, 1.5)
    except ValueError as error:
        print(error)
    """
    assert run(program)[0] == "too large"


@pytest.mark.parametrize("was_enabled", [True, False])
def test_the_garbage_collector_is_restored_after_compiling_or_failing(was_enabled):
    @kernel
    def doubled(x):
        return x + x

    @kernel
    def impossible(x):
        return x.no_such_attribute

    before = gc.isenabled()
    (gc.enable if was_enabled else gc.disable)()
    try:
        assert doubled(2) == 4
        assert gc.isenabled() == was_enabled
        with pytest.raises(TypingError, match="no_such_attribute"):
            impossible(2)
        assert gc.isenabled() == was_enabled
    finally:
        (gc.enable if before else gc.disable)()


def test_without_compilation_kernels_are_plain_functions(run, tmp_path):
    program = "print([float(added(np.zeros(1), terms, 2)), float(twice(np.zeros(1), terms, 1.5))])"
    assert run(program, NUMBA_DISABLE_JIT="1") == (ANSWER, [])
    assert not (tmp_path / "cache").exists()


FULL_DISK = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
"""
NO_FOLDER = """
import pathlib
folder = pathlib.Path(added._cache.cache_path)
folder.parent.mkdir(parents=True)
folder.touch()  # a file instead of the folder
"""


@pytest.mark.sampled(1)
@pytest.mark.skipif(os.name == "nt", reason="file size limits require POSIX")
@pytest.mark.parametrize("trouble", [FULL_DISK, NO_FOLDER], ids=["full disk", "no folder"])
def test_without_a_writable_cache_code_is_compiled_in_memory(run, tmp_path, trouble):
    output, messages = run(trouble + CALL)
    assert output == ANSWER
    assert len(messages) == 1
    assert str(tmp_path) in messages[0]
    assert "NUMBA_CACHE_DIR" in messages[0]
    # No partially written files are left.
    assert not [path for path in files_of(tmp_path / "cache") if path.stat().st_size]


# -- ownership of files

posix = pytest.mark.skipif(os.name == "nt", reason="owners and modes require POSIX")
as_root = pytest.mark.skipif(
    os.name == "nt" or os.geteuid() != 0, reason="files of two users require root"
)

PLANTED = """
class Planted:
    def __reduce__(self):
        return os.mkdir, ({mark!r},)

# The name, origin and digests of the expected file, with other content.
def plant(self, sig, target, data):
    data = pickle.dumps(Planted())
    write(self, sig, target, data)
write = code_cache.CodeCache._write
code_cache.CodeCache._write = plant
"""
"""Writes, instead of compiled code, a pickle that creates a folder when it is loaded."""


def planted(run, shared, mode, mark, user):
    """Plant files as another user in a folder, and set its mode."""
    shared.mkdir()
    run(PLANTED.format(mark=str(mark)) + CALL, shared)
    files = files_of(shared)
    assert files
    for path in [*files, *{file.parent for file in files}]:
        os.chown(path, user, user)
    shared.chmod(mode)


@pytest.mark.sampled(1)
@as_root
@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o755], ids=["shared", "sticky", "other owner"])
def test_files_planted_by_another_user_are_not_loaded(run, tmp_path, mode):
    shared, mark = tmp_path / "shared", tmp_path / "executed"
    planted(run, shared, mode, mark, user=12345)
    output, messages = run(CALL + "assert loaded == [0, 0], loaded", shared)
    assert not mark.exists()
    assert output == ANSWER
    assert len(messages) == 1
    assert "others can write to" in messages[0]
    assert str(shared) in messages[0]


@pytest.mark.slow
@as_root
def test_planted_files_would_be_loaded_if_owned_by_the_user(run, tmp_path):
    """This shows that the previous test could fail."""
    shared, mark = tmp_path / "shared", tmp_path / "executed"
    planted(run, shared, 0o755, mark, user=0)
    run(CALL, shared)
    assert mark.exists()


@as_root
def test_files_of_others_in_a_private_folder_are_replaced(run, tmp_path):
    shared, mark = tmp_path / "shared", tmp_path / "executed"
    planted(run, shared, 0o755, mark, user=12345)
    for path in {file.parent for file in files_of(shared)}:
        os.chown(path, 0, 0)
    assert run(CALL + "assert loaded == [0, 0], loaded", shared) == (ANSWER, [])
    assert not mark.exists()
    assert run(CALL + "assert loaded == [1, 1], loaded", shared) == (ANSWER, [])


@as_root
def test_a_user_does_not_load_files_of_another(run, tmp_path):
    shared, mark = tmp_path / "shared", tmp_path / "executed"
    planted(run, shared, 0o777, mark, user=12345)
    tmp_path.chmod(0o777)
    # After the imports, as other users may not read the Python installation.
    compiled = "added(np.zeros(1), terms.astype(np.float32), 2.0)\n"
    output, messages = run(
        compiled + "os.setuid(23456)\ncode_cache._warned.clear()\n" + CALL, shared
    )
    assert not mark.exists()
    assert output == ANSWER
    assert len(messages) == 1


@as_root
@pytest.mark.parametrize("above", [0o777, 0o1777], ids=["replaceable", "sticky"])
def test_parent_folders_must_be_private_too(tmp_path, above):
    folder = tmp_path / "above" / "cache"
    folder.mkdir(mode=0o700, parents=True)
    folder.parent.chmod(above)
    assert is_private(folder) == bool(above & stat.S_ISVTX)


@posix
def test_a_folder_is_private_unless_others_can_write_to_it(tmp_path):
    for mode in range(0o1000):
        if mode & 0o500 != 0o500:
            continue
        tmp_path.chmod(mode)
        # On most systems the group is private to the user or root; not checked here.
        if not mode & stat.S_IWGRP:
            assert is_private(tmp_path) == (not mode & stat.S_IWOTH), oct(mode)
        elif mode & stat.S_IWOTH:
            assert not is_private(tmp_path), oct(mode)
    tmp_path.chmod(0o700)
    assert not is_private(tmp_path / "missing")


@as_root
def test_a_group_with_other_members_makes_a_folder_shared(tmp_path):
    tmp_path.chmod(0o770)
    os.chown(tmp_path, 0, 0)
    assert is_private(tmp_path)  # root's private group
    os.chown(tmp_path, 0, 100)
    assert not is_private(tmp_path)
    tmp_path.chmod(0o700)


@posix
def test_without_a_home_the_working_directory_is_not_used(run, tmp_path):
    program = """
    del os.environ["NUMBA_CACHE_DIR"]
    os.environ["XDG_CACHE_HOME"] = "relative"
    assert all(folder.is_absolute() for folder in added._cache.folders)
    print(len(added._cache.folders))
    """
    assert run(program)[0] == "1"

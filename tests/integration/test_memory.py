"""Available memory, and errors before an allocation."""

from __future__ import annotations

import sys

import pytest

from leastcut import memory
from leastcut.memory import available_memory, check_memory, in_units


def test_available_memory_is_plausible():
    available = available_memory()
    if sys.platform.startswith("linux"):
        assert available is not None
        assert 2**20 < available < 2**50


def test_insufficient_memory_raises_with_the_amount_and_the_remedy():
    check_memory(1, "Nothing", "Wait.")
    with pytest.raises(MemoryError, match=r"A stage needs about 1e\+03 PiB .* Ask for less\."):
        check_memory(1000 * 2.0**50, "A stage", "Ask for less.")


@pytest.mark.parametrize("old", [False, True])
def test_a_container_has_its_limit_minus_the_memory_in_use(tmp_path, monkeypatch, old):
    monkeypatch.setattr(memory, "CGROUP_ROOT", tmp_path)
    limit, use, details = memory.CGROUPS[old]
    (tmp_path / limit).parent.mkdir(exist_ok=True)
    (tmp_path / limit).write_text(f"{3 * 2**20}\n")
    (tmp_path / use).write_text(f"{2 * 2**20}\n")
    (tmp_path / details).write_text("anon 5\ninactive_file 1024\n")
    assert memory._available_in_container() == 2**20 + 1024
    assert available_memory() == 2**20 + 1024


def test_a_container_without_a_limit_is_ignored(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "CGROUP_ROOT", tmp_path)
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("5\n")
    (tmp_path / "memory.stat").write_text("anon 5\n")
    assert memory._available_in_container() is None


@pytest.mark.parametrize(
    ("n_bytes", "text"), [(0, "0 bytes"), (1023, "1.02e+03 bytes"), (2**30, "1 GiB")]
)
def test_sizes_are_formatted_in_units(n_bytes, text):
    assert in_units(n_bytes) == text

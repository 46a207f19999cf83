"""The store of records: files of JSON lines that are only appended to.

There is one file per dataset in ``OUT/records``. Each line is appended by a single ``write`` and
synced. If the process is killed, at most the last line is incomplete and lacks its newline; readers
ignore it, and it is removed before the next line is written. Versions and machine are in separate
lines, to which the records refer.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import tempfile
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from reproduction.data.printed import split_name
from reproduction.runs.record_lines import KEY_FIELDS, parsed

Record = dict[str, Any]
"""A result: the six fields of its key, the measurements, versions and machine."""

N_DIGITS = 9
"""Significant digits of the numbers in a record."""

PACKAGES = ("leastcut", "numpy", "scipy", "scikit-learn", "numba")
"""The packages whose versions can change a result."""


def key_of(record: Mapping[str, Any]) -> str:
    """Return the key of a record or of a cell as text."""
    return json.dumps([record[field] for field in KEY_FIELDS], sort_keys=True)


@cache
def environment() -> dict[str, dict[str, str]]:
    """Return the versions and the machine of this process."""
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "unknown"
    machine = {
        "system": platform.system(),
        "architecture": platform.machine(),
        "processor": _processor(),
        "cores": str(os.cpu_count()),
    }
    return {"versions": versions, "machine": machine}


def _processor() -> str:
    """Return the name of the CPU, which the standard library does not provide on Linux."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


class Store:
    """The records of a folder.

    Parameters
    ----------
    folder : path
        The parent of the folder ``records``, which is created for the first record.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder) / "records"
        self._open: dict[Path, int] = {}
        self._known: set[tuple[Path, str]] = set()

    def __iter__(self) -> Iterator[Record]:
        """Yield the complete records, the first one of each key."""
        return self._records(self._paths())

    def _paths(self) -> list[Path]:
        """Return the files in a fixed order."""
        return sorted(self.folder.glob("*.jsonl"))

    def _records(self, paths: list[Path]) -> Iterator[Record]:
        seen: set[str] = set()
        for path in paths:
            environments: dict[str, Any] = {}
            for line in _lines(path):
                if "experiment" not in line:  # versions and machine of following records
                    environments[line.pop("environment")] = line
                    continue
                key = key_of(line)
                # simultaneous runs may have written the same record
                if key not in seen:
                    seen.add(key)
                    yield {**line, **environments.get(line.get("environment", ""), {})}

    def keys(self, without: Collection[str] = ()) -> set[str]:
        """Return the keys of the records, except for some datasets."""
        paths = [path for path in self._paths() if path.stem not in without]
        return {key_of(record) for record in self._records(paths)}

    def damaged(self) -> dict[str, str]:
        """Return the datasets whose files contain invalid lines, with the error."""
        damaged = {}
        for path in self._paths():
            try:
                for _ in _lines(path):
                    pass
            except (ValueError, OSError) as error:
                damaged[path.stem] = str(error)
        return damaged

    def prepare(self) -> None:
        """Create the folder and check that files can be written to it.

        Raises
        ------
        OSError
            If not.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass
        except OSError as error:
            raise OSError(
                f"Records cannot be written to {self.folder} ({error.strerror or error}); pass "
                "another folder with --out."
            ) from error

    def append(self, record: Record) -> None:
        """Append a record to its file.

        Raises
        ------
        OSError
            If it cannot be written completely, as on a full disk; the file is unchanged then.
        """
        try:
            self._append(record)
        except OSError as error:
            raise OSError(
                f"A record could not be written to {self.folder} ({error.strerror or error}). "
                "Finished records are kept: free some disk space and run again to continue."
            ) from error

    def _append(self, record: Record) -> None:
        # 1. one file per dataset: "usps:11" is in the file of "usps"
        path = self.folder / f"{split_name(record['dataset'])[0]}.jsonl"
        about = environment()
        # 2. versions and machine are identified by their hash
        name = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:8]
        # 3. open the file for its first record, and remove an incomplete last line
        if path not in self._open:
            self._open[path] = self._start(path)
        # 4. write versions and machine, unless an earlier run has written them to this file
        if (path, name) not in self._known:
            if not any(line.get("environment") == name for line in _lines(path)):
                self._write(path, {"environment": name, **about})
            self._known.add((path, name))
        # 5. write the record
        self._write(path, {**record, "environment": name})

    def close(self) -> None:
        """Close the files; a later append opens them again."""
        for descriptor in self._open.values():
            os.close(descriptor)
        self._open.clear()

    def _start(self, path: Path) -> int:
        """Open a file for appending and remove an incomplete last line."""
        path.parent.mkdir(parents=True, exist_ok=True)
        # with O_APPEND every write goes to the end, even with several processes
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        content = path.read_bytes()
        complete = content.rfind(b"\n") + 1
        if complete < len(content):
            os.ftruncate(descriptor, complete)
        return descriptor

    def _write(self, path: Path, line: Record) -> None:
        # NaN is not valid JSON and must fail here, not in a reader
        data = (json.dumps(line, separators=(",", ":"), allow_nan=False) + "\n").encode()
        descriptor = self._open[path]
        # a single call, so that lines of several processes are not mixed
        written = os.write(descriptor, data)
        if written != len(data):
            self._remove(descriptor, written)
            raise OSError(f"{written} of {len(data)} bytes were written, so the disk is full")
        os.fsync(descriptor)

    def _remove(self, descriptor: int, written: int) -> None:
        """Remove an incomplete line, unless another process has written after it."""
        end = os.lseek(descriptor, 0, os.SEEK_CUR)
        if end == os.fstat(descriptor).st_size:
            os.ftruncate(descriptor, end - written)


def _lines(path: Path) -> Iterator[Record]:
    """Yield the complete lines of a file."""
    if not path.exists():
        return
    content = path.read_bytes()
    for number, line in enumerate(content[: content.rfind(b"\n") + 1].splitlines(), start=1):
        try:
            checked = parsed(line)
        except ValueError as error:
            raise ValueError(
                f"Line {number} of {path} is not a valid record ({error}). Remove the line, or "
                "remove the file to run its records again."
            ) from None
        yield checked

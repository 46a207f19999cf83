"""The store of results: JSON lines that are only ever appended to, and that survive a kill.

One file per dataset in ``OUT/records``. A line is written by one ``write`` to a file opened for
appending and then synced, so a line that is there is whole, but for the last one after a kill: it
lacks its newline, is not read, and is cut off before the next line is written. Versions and machine
are the same for many records; they stand in a line of their own that the records point to.
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

from leastcut.paper.data.printed import split_name
from leastcut.paper.runs.record_lines import KEY_FIELDS, parsed

Record = dict[str, Any]
"""A result: the six fields of its key, what was measured, versions and machine."""

N_DIGITS = 9
"""Significant digits of the numbers in a record: all that is reproducible of them."""

PACKAGES = ("leastcut", "numpy", "scipy", "scikit-learn", "numba")
"""The packages whose versions can change a result."""


def key_of(record: Mapping[str, Any]) -> str:
    """Return the key of a record, or of the fields that say what to run, as text."""
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
    """Return the name of the processor; Python itself does not know it on Linux."""
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
        Records are in its subfolder ``records``, which is made when the first one is written.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder) / "records"
        self._open: dict[Path, int] = {}
        self._known: set[tuple[Path, str]] = set()

    def __iter__(self) -> Iterator[Record]:
        """Yield every whole record once, the first of any with the same key."""
        return self._records(self._paths())

    def _paths(self) -> list[Path]:
        """Return the files that are there, in a fixed order: the same folder, the same list."""
        return sorted(self.folder.glob("*.jsonl"))

    def _records(self, paths: list[Path]) -> Iterator[Record]:
        seen: set[str] = set()
        for path in paths:
            environments: dict[str, Any] = {}
            for line in _lines(path):
                if "experiment" not in line:  # versions and machine of the records that follow
                    environments[line.pop("environment")] = line
                    continue
                key = key_of(line)
                # two runs at the same time may both have made it; what comes first counts
                if key not in seen:
                    seen.add(key)
                    yield {**line, **environments.get(line.get("environment", ""), {})}

    def keys(self, without: Collection[str] = ()) -> set[str]:
        """Return the keys of the records that are there, but for the files of some datasets."""
        paths = [path for path in self._paths() if path.stem not in without]
        return {key_of(record) for record in self._records(paths)}

    def damaged(self) -> dict[str, str]:
        """Return the datasets whose file holds anything but records, and why."""
        found = {}
        for path in self._paths():
            try:
                for _ in _lines(path):
                    pass
            except (ValueError, OSError) as error:
                found[path.stem] = str(error)
        return found

    def prepare(self) -> None:
        """Make the folder, and find out before any work is done whether files can be made in it.

        Raises
        ------
        OSError
            If they cannot.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass
        except OSError as error:
            raise OSError(
                f"Records cannot be written to {self.folder} ({error.strerror or error}); name "
                "another folder with --out."
            ) from error

    def append(self, record: Record) -> None:
        """Write a record; when this returns, it is on the disk.

        Raises
        ------
        OSError
            If it cannot be written, the disk being full perhaps; nothing of it is left then.
        """
        try:
            self._append(record)
        except OSError as error:
            raise OSError(
                f"A record could not be written to {self.folder} ({error.strerror or error}). What "
                "was finished is kept: make room on the disk, and run again to continue."
            ) from error

    def _append(self, record: Record) -> None:
        # 1. one file per dataset: "usps:11" is in that of "usps"
        path = self.folder / f"{split_name(record['dataset'])[0]}.jsonl"
        about = environment()
        # 2. versions and machine are named by their hash, which is the same in every run
        name = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:8]
        # 3. open the file when its first record comes, and cut off what a kill has torn
        if path not in self._open:
            self._open[path] = self._start(path)
        # 4. write them before the first record that points to them, never after
        if (path, name) not in self._known:
            # once per file and environment, also when an earlier run has written it
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
        """Open a file for appending, without the torn line that a kill may have left at its end."""
        path.parent.mkdir(parents=True, exist_ok=True)
        # every write then goes to the end, wherever another process has moved it
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        # a line without its end is what a kill has left; its run is not done, and runs again
        content = path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.ftruncate(descriptor, whole)
        return descriptor

    def _write(self, path: Path, line: Record) -> None:
        # NaN is no JSON: it fails here, and not in whatever reads the file later
        data = (json.dumps(line, separators=(",", ":"), allow_nan=False) + "\n").encode()
        descriptor = self._open[path]
        # one call for the whole line: what another writer appends meanwhile cannot get into it
        written = os.write(descriptor, data)
        if written != len(data):
            self._take_back(descriptor, written)
            raise OSError(f"{written} of {len(data)} bytes were written, so the disk is full")
        os.fsync(descriptor)  # hours of work must not wait in a buffer

    def _take_back(self, descriptor: int, written: int) -> None:
        """Cut off the beginning of a line, unless another process has written behind it."""
        end = os.lseek(descriptor, 0, os.SEEK_CUR)
        if end == os.fstat(descriptor).st_size:
            os.ftruncate(descriptor, end - written)


def _lines(path: Path) -> Iterator[Record]:
    """Yield the whole lines of a file."""
    if not path.exists():
        return
    # what follows the last newline is torn, and as good as not there
    content = path.read_bytes()
    for number, line in enumerate(content[: content.rfind(b"\n") + 1].splitlines(), start=1):
        try:
            found = parsed(line)
        except ValueError as error:
            raise ValueError(
                f"Line {number} of {path} is not a record ({error}); the file was changed by "
                "something else. Remove the line, or the file to run its records again."
            ) from None
        yield found

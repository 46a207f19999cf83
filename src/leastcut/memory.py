"""How much memory there is, how much is in use, and an error before a stage that takes more."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

# Files below :data:`CGROUP_ROOT` with the limit and use of a container, new and old.
CGROUPS = (
    ("memory.max", "memory.current", "memory.stat"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat"),
)

CGROUP_ROOT = Path("/sys/fs/cgroup")  # inside a container the root is the container's own
LITTLE_MEMORY = 2**28  # bytes that are taken without asking whether there are so many
UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


def available_memory() -> int | None:
    """Return the bytes that this process can still take, or None where the system does not tell.

    What the system can free without swapping counts, and so does a container's limit.
    """
    if sys.platform == "win32":
        return _windows()
    found = [free for free in (_unused(), _left_to_container()) if free is not None]
    return min(found, default=None)


def memory_in_use() -> int:
    """Return the bytes of this process that lie in memory, pages of mapped files among them.

    Where the system tells only the most there has been, it is that.
    """
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        pass
    if sys.platform == "win32":
        return _windows_in_use()
    import resource  # which Windows has not

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(most) if sys.platform == "darwin" else int(most) * 1024


def check_memory(needed: float, what: str, remedy: str) -> None:
    """Raise MemoryError if a stage needs more than there is.

    ``what`` is the stage, as the subject of "needs about 3 GiB", and ``remedy`` a sentence.
    """
    available = available_memory()
    if available is not None and needed > available:
        raise MemoryError(
            f"{what} needs about {in_units(needed)} of memory, but {in_units(available)} are "
            f"available. {remedy}"
        )


def in_units(n_bytes: float) -> str:
    """Return a number of bytes as people say it."""
    unit = 0
    while n_bytes >= 1024 and unit < len(UNITS) - 1:
        n_bytes /= 1024
        unit += 1
    return f"{n_bytes:.3g} {UNITS[unit]}"


def _unused() -> int | None:
    """Return what the system can give without swapping."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        told = dict(line.split(":", 1) for line in lines)
        return int(told["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        pass
    try:  # macOS and the BSDs tell what there is, not what is free
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _left_to_container() -> int | None:
    """Return what a control group leaves, if there is a limit."""
    for limit, use, details in CGROUPS:
        try:
            most, used, told = (
                (CGROUP_ROOT / name).read_text(encoding="ascii") for name in (limit, use, details)
            )
            # Files that were read and are not in use count as used, but are given up when asked.
            part = dict(line.split() for line in told.splitlines())
            given_up = part.get("total_inactive_file", part.get("inactive_file", "0"))
            return int(most) - int(used) + int(given_up)
        except (OSError, ValueError):  # no such file, or the limit is "max"
            continue
    return None


def _windows() -> int | None:
    class Status(ctypes.Structure):
        _fields_ = (
            ("length", ctypes.c_ulong),
            ("load", ctypes.c_ulong),
            ("total", ctypes.c_ulonglong),
            ("available", ctypes.c_ulonglong),
            ("rest", ctypes.c_ulonglong * 5),
        )

    status = Status(length=ctypes.sizeof(Status))
    tell = ctypes.windll.kernel32.GlobalMemoryStatusEx  # type: ignore[attr-defined,unused-ignore]
    return int(status.available) if tell(ctypes.byref(status)) else None


def _windows_in_use() -> int:
    class Counters(ctypes.Structure):
        _fields_ = (
            ("length", ctypes.c_ulong),
            ("faults", ctypes.c_ulong),
            ("sizes", ctypes.c_size_t * 8),
        )

    counters = Counters(length=ctypes.sizeof(Counters))
    library = ctypes.windll  # type: ignore[attr-defined,unused-ignore]
    process = ctypes.c_void_p(-1)  # this one
    library.psapi.GetProcessMemoryInfo(process, ctypes.byref(counters), counters.length)
    return int(counters.sizes[1])

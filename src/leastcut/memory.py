"""Available memory, memory in use, and an error before a stage that needs more."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

# Files in :data:`CGROUP_ROOT` with the limit and usage of a container, in cgroup v2 and v1.
CGROUPS = (
    ("memory.max", "memory.current", "memory.stat"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat"),
)

CGROUP_ROOT = Path("/sys/fs/cgroup")  # inside a container, the root belongs to the container
LITTLE_MEMORY = 2**28  # bytes up to which available memory is not checked
UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


def available_memory() -> int | None:
    """Return the number of bytes that this process can allocate, or None if it is unknown.

    This includes memory that the system can free without swapping, within a container's limit.
    """
    if sys.platform == "win32":
        return _available_on_windows()
    limits = [n for n in (_available_on_system(), _available_in_container()) if n is not None]
    return min(limits, default=None)


def memory_in_use() -> int:
    """Return the resident memory of this process in bytes, including pages of mapped files.

    On systems that report only the peak, return the peak.
    """
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        pass
    if sys.platform == "win32":
        return _in_use_on_windows()
    import resource  # not available on Windows

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak) if sys.platform == "darwin" else int(peak) * 1024


def check_memory(needed: float, what: str, remedy: str) -> None:
    """Raise MemoryError if a stage needs more than the available memory.

    ``what`` is the subject of the message "... needs about 3 GiB", and ``remedy`` a sentence.
    """
    available = available_memory()
    if available is not None and needed > available:
        raise MemoryError(
            f"{what} needs about {in_units(needed)} of memory, but only {in_units(available)} are "
            f"available. {remedy}"
        )


def in_units(n_bytes: float) -> str:
    """Format a number of bytes with a unit."""
    unit = 0
    while n_bytes >= 1024 and unit < len(UNITS) - 1:
        n_bytes /= 1024
        unit += 1
    return f"{n_bytes:.3g} {UNITS[unit]}"


def _available_on_system() -> int | None:
    """Return the memory that the system can provide without swapping."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        sizes = dict(line.split(":", 1) for line in lines)
        return int(sizes["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        pass
    try:  # macOS and the BSDs report total memory only
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _available_in_container() -> int | None:
    """Return the memory available within the limit of a control group, or None without a limit."""
    for names in CGROUPS:
        try:
            limit, usage, details = (
                (CGROUP_ROOT / name).read_text(encoding="ascii") for name in names
            )
            # Inactive pages of the file cache count as used, but can be reclaimed.
            sizes = dict(line.split() for line in details.splitlines())
            reclaimable = sizes.get("total_inactive_file", sizes.get("inactive_file", "0"))
            return int(limit) - int(usage) + int(reclaimable)
        except (OSError, ValueError):  # no such file, or the limit is "max"
            continue
    return None


def _available_on_windows() -> int | None:
    class Status(ctypes.Structure):
        _fields_ = (
            ("length", ctypes.c_ulong),
            ("load", ctypes.c_ulong),
            ("total", ctypes.c_ulonglong),
            ("available", ctypes.c_ulonglong),
            ("rest", ctypes.c_ulonglong * 5),
        )

    status = Status(length=ctypes.sizeof(Status))
    query = ctypes.windll.kernel32.GlobalMemoryStatusEx  # type: ignore[attr-defined,unused-ignore]
    return int(status.available) if query(ctypes.byref(status)) else None


def _in_use_on_windows() -> int:
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

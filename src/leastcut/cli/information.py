"""``leastcut info``: versions, threads, folders, the device, and which optional parts there are."""

from __future__ import annotations

import platform
import shutil
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import leastcut
from leastcut.affinity.neighbors.devices import missing_gpu
from leastcut.cli.options import InfoOptions
from leastcut.cli.outputs import print_table, write_record
from leastcut.optional_packages import install_command
from leastcut.threads import available_cores

# Packages that are always there.
NEEDED = ("numpy", "scipy", "scikit-learn", "numba", "joblib", "threadpoolctl")

# The optional parts: what they are for, and the packages that they need.
PARTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "cli": ("these commands", ("typer", "rich", "pyarrow", "pillow")),
    "plot": ("pictures", ("matplotlib",)),
    "report": ("reports", ("matplotlib", "jinja2")),
    "image": ("superpixels", ("scikit-image",)),
    "scanpy": ("single cells", ("scanpy",)),
    "progress": ("progress bars", ("tqdm",)),
    "amg": ("a further eigensolver", ("pyamg",)),
    "dask": ("samples on many machines", ("dask", "distributed")),
    "gpu": ("neighbors on a GPU", ("torch",)),
}


def info(options: InfoOptions) -> int:
    """Show what there is and return the exit status."""
    facts = information()
    if options.json:
        write_record(facts)
        return 0
    first, *others = (f"{name} {number}" for name, number in facts["versions"].items())
    print(f"{first}, {facts['python']} on {facts['platform']}")
    print(", ".join(others))
    print(f"Threads: {facts['threads']} cores may be used")
    print(f"Compiled code is kept in: {facts['code_cache']}")
    print(f"Device: {facts['device']}")
    print()
    rows = []
    for name, part in facts["parts"].items():
        missing = [package for package, number in part["packages"].items() if number is None]
        there = [f"{package} {number}" for package, number in part["packages"].items() if number]
        state = "installed" if not missing else f"missing: {', '.join(missing)}"
        rows.append([name, part["for"], state, part["install"] if missing else ", ".join(there)])
    print_table(["part", "for", "state", "packages, or how to install them"], rows, 4)
    return 0


def information() -> dict[str, Any]:
    """Return the facts that are shown."""
    return {
        "versions": {
            "leastcut": leastcut.__version__,
            **{name: _version(name) for name in NEEDED},
        },
        "python": f"Python {platform.python_version()}",
        "platform": platform.platform(),
        "threads": available_cores(),
        "code_cache": _code_cache(),
        "device": _device(),
        "parts": {
            name: {
                "for": purpose,
                "packages": {package: _version(package) for package in packages},
                "install": install_command(name),
            }
            for name, (purpose, packages) in PARTS.items()
        },
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _code_cache() -> str:
    """Return the folders of compiled code, in the order in which they are tried."""
    from leastcut.kernels.code_cache import CodeCache

    # a function of that package stands for its kernels, which are kept together
    return " or ".join(map(str, CodeCache(CodeCache.load_overload).folders))


def _device() -> str:
    """Return what neighbors of many points are searched on."""
    # PyTorch takes seconds to say the same
    if shutil.which("nvidia-smi") is None:
        return "CPU. There is no driver of CUDA: nvidia-smi is not found."
    missing = missing_gpu()
    return "a GPU of CUDA, for searches that take long" if missing is None else f"CPU. {missing}"

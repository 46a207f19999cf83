"""``leastcut info``: versions, threads, folders, device and optional dependencies."""

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

REQUIRED = ("numpy", "scipy", "scikit-learn", "numba", "joblib", "threadpoolctl")

# The extras of pyproject.toml for users: their purposes and packages.
EXTRAS: dict[str, tuple[str, tuple[str, ...]]] = {
    "plot": ("plots", ("matplotlib",)),
    "progress": ("progress bars", ("tqdm",)),
    "report": ("HTML reports", ("matplotlib", "jinja2")),
    "cli": (
        "command line, CSV, Parquet and image files",
        ("typer", "rich", "pyarrow", "pillow", "tqdm", "matplotlib", "jinja2"),
    ),
    "image": ("superpixels", ("scikit-image",)),
    "scanpy": ("single-cell data", ("scanpy",)),
    "amg": ("multigrid eigensolver", ("pyamg",)),
    "dask": ("distributed data", ("dask", "distributed")),
    "gpu": ("neighbor search on a GPU", ("torch",)),
    "paper": ("reproduction of the paper", ("tqdm", "matplotlib", "jinja2", "pandas")),
}


def info(options: InfoOptions) -> int:
    """Print versions, folders and optional dependencies, and return the exit status."""
    facts = information()
    if options.json:
        write_record(facts)
        return 0
    first, *others = (f"{name} {number}" for name, number in facts["versions"].items())
    print(f"{first}, {facts['python']} on {facts['platform']}")
    print(", ".join(others))
    print(f"CPU cores available: {facts['cores']}")
    print(f"Cache of compiled code: {facts['code_cache']}")
    print(f"Device: {facts['device']}")
    print()
    rows = []
    for name, extra in facts["extras"].items():
        missing = [package for package, number in extra["packages"].items() if number is None]
        state = "installed" if not missing else f"missing {', '.join(missing)}"
        rows.append([name, extra["purpose"], state, extra["install"]])
    print_table(["extra", "for", "state", "install command"], rows, 4)
    return 0


def information() -> dict[str, Any]:
    """Return the facts that ``leastcut info`` prints."""
    return {
        "versions": {
            "leastcut": leastcut.__version__,
            **{name: _version(name) for name in REQUIRED},
        },
        "python": f"Python {platform.python_version()}",
        "platform": platform.platform(),
        "cores": available_cores(),
        "code_cache": _code_cache(),
        "device": _device(),
        "extras": {
            name: {
                "purpose": purpose,
                "packages": {package: _version(package) for package in packages},
                "install": install_command(name),
            }
            for name, (purpose, packages) in EXTRAS.items()
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

    # all kernels are cached together; any function of their package gives the folder
    return " or ".join(map(str, CodeCache(CodeCache.__init__).folders))


def _device() -> str:
    """Return the device that searches the neighbors of many points."""
    if shutil.which("nvidia-smi") is None:  # PyTorch takes seconds to find this out
        return "CPU (no CUDA driver: nvidia-smi not found)"
    missing = missing_gpu()
    return "CUDA GPU, for large neighbor searches" if missing is None else f"CPU. {missing}"

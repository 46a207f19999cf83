"""Generate the pages of the API reference: every public name, grouped by topic.

``SECTIONS`` assigns public names to headings. A public name without a heading is an error of the
build, so nothing public stays undocumented. The pages are written to ``docs/reference``, which is
not committed.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import leastcut

SECTIONS: dict[str, tuple[str, ...]] = {
    "Partition a graph": (
        "partition",
        "partition_views",
        "refine",
        "compare",
        "exact_partition",
        "direct_cut",
    ),
    "Cluster samples": (
        "SpectralClustering",
        "AnchorSpectralClustering",
        "MultiViewSpectralClustering",
        "cut_path",
    ),
    "Build a graph": (
        "adaptive_neighbors_graph",
        "nearest_neighbors_graph",
        "self_tuning_graph",
        "learned_graph",
        "anchor_graph",
        "image_graph",
        "constrained_rank_graph",
    ),
    "Evaluate a cut": ("cut_value", "node_weights", "operator"),
    "Lower bounds and certificates": ("certify", "lower_bound"),
    "Relax and discretize": ("relax", "discretize"),
    "Compare labels with known classes": ("clustering_accuracy", "normalized_mutual_info"),
    "Results": (
        "Partition",
        "PartitionOfViews",
        "CutPath",
        "Comparison",
        "Compared",
        "AnchorGraph",
        "LearnedGraph",
        "ImageGraph",
        "Relaxation",
        "Discretization",
        "NeighborSearch",
    ),
    "Progress": ("Progress", "ProofProgress", "PathProgress"),
    "Registries": ("AFFINITIES", "CUTS", "DISCRETIZERS", "EFFORTS", "EIGENSOLVERS"),
    "Modules": ("dask", "plot", "scanpy"),
}
"""The headings and the public names under each."""


def public_names() -> dict[str, Any]:
    """Return every public name with its object; raise if one is under no heading."""
    listed = {name for names in SECTIONS.values() for name in names}
    # Not ``__all__``, which omits names that ``import *`` would shadow, such as operator.
    public = [name for name in dir(leastcut) if not name.startswith("__")]
    missing = sorted(set(public) - listed)
    if missing:
        raise ValueError(f"docs/reference.py lists no heading for {', '.join(missing)}.")
    return {name: getattr(leastcut, name) for name in public}


def classes() -> list[str]:
    """Return the names of the public classes."""
    return [name for name, member in public_names().items() if inspect.isclass(member)]


def functions_and_classes() -> list[str]:
    """Return the names of the public functions and classes."""
    return [name for name, member in public_names().items() if callable(member)]


def functions_of(module: ModuleType) -> list[str]:
    """Return the names of the public functions and classes of a module."""
    names = getattr(module, "__all__", None) or [
        name
        for name, member in vars(module).items()
        if not name.startswith("_")
        and (inspect.isfunction(member) or inspect.isclass(member))
        and member.__module__ == module.__name__
    ]
    return [name for name in names if callable(getattr(module, name))]


def summary(prefix: str, names: list[str], *, in_toctree: bool) -> list[str]:
    """Return a table of names that autosummary fills."""
    option = ["   :toctree: ."] if in_toctree else []
    lines = [f".. currentmodule:: {prefix}", "", ".. autosummary::", *option, ""]
    return [*lines, *(f"   {name}" for name in names), ""]


def section(heading: str, *, in_toctree: bool) -> list[str]:
    """Return the lines of one section: registries, modules, and a table of the other names."""
    public = public_names()
    lines: list[str] = []
    plain = []
    for name in SECTIONS[heading]:
        member = public[name]
        if inspect.ismodule(member):
            lines += [f"``leastcut.{name}``", f"   {(member.__doc__ or '').splitlines()[0]}", ""]
            lines += summary(member.__name__, functions_of(member), in_toctree=in_toctree)
        elif isinstance(member, dict):
            keys = ", ".join(f'``"{key}"``' for key in member)
            option = [] if in_toctree else ["   :no-index:"]
            lines += [
                f".. py:data:: leastcut.{name}",
                *option,
                "",
                f"   {keys}. See :doc:`/names`.",
                "",
            ]
        else:
            plain.append(name)
    return lines + (summary("leastcut", plain, in_toctree=in_toctree) if plain else [])


def title(text: str, mark: str) -> list[str]:
    """Return a heading."""
    return [text, mark * len(text), ""]


def pages() -> dict[str, str]:
    """Return the pages as reStructuredText by file name: an overview, and one per section."""
    index = [*title("API reference", "="), "All public names, grouped by topic.", ""]
    index += [".. toctree::", "   :hidden:", ""]
    files = {heading: re.sub(r"\W+", "_", heading.lower()) for heading in SECTIONS}
    index += [*(f"   {file}" for file in files.values()), ""]
    written = {}
    for heading, file in files.items():
        index += [*title(heading, "-"), *section(heading, in_toctree=False)]
        lines = [*title(heading, "="), *section(heading, in_toctree=True)]
        written[f"{file}.rst"] = "\n".join(lines) + "\n"
    return {"index.rst": "\n".join(index) + "\n", **written}


def write(folder: Path) -> None:
    """Write the pages that have changed."""
    folder.mkdir(exist_ok=True)
    for name, text in pages().items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")

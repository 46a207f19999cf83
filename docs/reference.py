"""The pages of the reference: every public name under a heading, from the package's own list.

``SECTIONS`` says under which heading a name stands; a name that is public and stands under none is
an error of the build, so that nothing public goes undocumented. The pages are written into
``docs/reference``, which is not kept.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

import leastcut

SECTIONS: dict[str, tuple[str, ...]] = {
    "From a graph to labels": (
        "partition",
        "partition_views",
        "refine",
        "compare",
        "exact_partition",
        "direct_cut",
    ),
    "From points to labels": (
        "SpectralClustering",
        "AnchorSpectralClustering",
        "MultiViewSpectralClustering",
        "cut_path",
    ),
    "From points or pictures to a graph": (
        "adaptive_neighbors_graph",
        "nearest_neighbors_graph",
        "self_tuning_graph",
        "learned_graph",
        "anchor_graph",
        "image_graph",
    ),
    "From a graph to one with a component for every cluster": ("constrained_rank_graph",),
    "What a cut costs": ("cut_value", "node_weights", "operator"),
    "How small a cut can be": ("certify", "lower_bound"),
    "Eigenvectors, and labels from them": ("relax", "discretize"),
    "How good labels are": ("clustering_accuracy", "normalized_mutual_info"),
    "What is returned": (
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
    "What callbacks hear": ("Progress", "ProofProgress", "PathProgress"),
    "Names to choose from": ("AFFINITIES", "CUTS", "DISCRETIZERS", "EFFORTS", "EIGENSOLVERS"),
    "Modules": ("dask", "plot", "scanpy"),
}
"""Headings, and the public names under each; those that a version does not have are left out."""


def public_names() -> dict[str, Any]:
    """Return every public name with what it stands for; raise if one is under no heading."""
    listed = {name for names in SECTIONS.values() for name in names}
    # Not ``__all__``, which leaves out what ``import *`` would shadow, as operator.
    public = [name for name in dir(leastcut) if not name.startswith("__")]
    missing = sorted(set(public) - listed)
    if missing:
        raise ValueError(f"docs/reference.py lists no heading for {', '.join(missing)}.")
    return {name: getattr(leastcut, name) for name in public}


def functions_of(module: ModuleType) -> list[str]:
    """Return the functions and classes that a module offers."""
    names = getattr(module, "__all__", None) or [
        name
        for name, member in vars(module).items()
        if not name.startswith("_")
        and (inspect.isfunction(member) or inspect.isclass(member))
        and member.__module__ == module.__name__
    ]
    return [name for name in names if callable(getattr(module, name))]


def registry(name: str, names: dict[str, Any]) -> list[str]:
    """Return the lines that describe a dict of parts: its keys, with a link to what they mean."""
    keys = ", ".join(f'``"{key}"``' for key in names)
    return [f"``leastcut.{name}``", f"   {keys}. See :doc:`/names`.", ""]


def table(prefix: str, names: list[str]) -> list[str]:
    """Return a table of names that autosummary fills, with a page for each."""
    lines = [f".. currentmodule:: {prefix}", "", ".. autosummary::", "   :toctree: .", ""]
    return [*lines, *(f"   {name}" for name in names), ""]


def page() -> str:
    """Return the page as reStructuredText."""
    public = public_names()
    lines = ["Reference", "=========", "", "Every public name, from the docstrings.", ""]
    for heading, names in SECTIONS.items():
        there = [name for name in names if name in public]
        if not there:
            continue
        lines += [heading, "-" * len(heading), ""]
        plain = []
        for name in there:
            part = public[name]
            if inspect.ismodule(part):
                lines += [f"``leastcut.{name}``", "~" * (len(name) + 13), ""]
                lines += [(inspect.getdoc(part) or "").splitlines()[0], ""]
                lines += table(part.__name__, functions_of(part))
            elif isinstance(part, dict):
                lines += registry(name, part)
            else:
                plain.append(name)
        if plain:
            lines += table("leastcut", plain)
    return "\n".join(lines) + "\n"


def write(folder: Path) -> None:
    """Write the page where it has changed."""
    folder.mkdir(exist_ok=True)
    path, text = folder / "index.rst", page()
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")

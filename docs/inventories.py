"""Write the object inventories that links to other projects' documentation are resolved with.

Sphinx would download them, but the site is built without network access. So they are written here,
with the names that docstrings and pages mention and the page of each. ``conf.py`` calls
:func:`write`; the files are not committed.
"""

from __future__ import annotations

import zlib
from pathlib import Path

SITES: dict[str, tuple[str, dict[str, str]]] = {
    "python": (
        "https://docs.python.org/3/",
        {
            "bool": "py:class library/functions.html#$",
            "bytes": "py:class library/stdtypes.html#$",
            "dict": "py:class library/stdtypes.html#$",
            "float": "py:class library/functions.html#$",
            "int": "py:class library/functions.html#$",
            "list": "py:class library/stdtypes.html#$",
            "object": "py:class library/functions.html#$",
            "pathlib.Path": "py:class library/pathlib.html#$",
            "range": "py:class library/stdtypes.html#$",
            "str": "py:class library/stdtypes.html#$",
            "tuple": "py:class library/stdtypes.html#$",
            "ValueError": "py:exception library/exceptions.html#$",
            "TypeError": "py:exception library/exceptions.html#$",
            "KeyboardInterrupt": "py:exception library/exceptions.html#$",
            "True": "py:data library/constants.html#$",
            "False": "py:data library/constants.html#$",
            "None": "py:data library/constants.html#$",
            "callable": "py:function library/functions.html#$",
            "iterable": "std:term glossary.html#term-iterable",
            "sequence": "std:term glossary.html#term-sequence",
            "generator": "std:term glossary.html#term-generator",
        },
    ),
    "numpy": (
        "https://numpy.org/doc/stable/",
        {
            "numpy.ndarray": "py:class reference/generated/numpy.ndarray.html#$",
            "numpy.random.Generator": "py:class reference/random/generator.html#$",
            "numpy.random.RandomState": "py:class reference/random/legacy.html#$",
            "array_like": "std:term glossary.html#term-array_like",
        },
    ),
    "scipy": (
        "https://docs.scipy.org/doc/scipy/",
        {
            "scipy.sparse.csr_array": "py:class reference/generated/scipy.sparse.csr_array.html#$",
            "scipy.sparse.linalg.LinearOperator": "py:class reference/generated/"
            "scipy.sparse.linalg.LinearOperator.html#$",
        },
    ),
    "sklearn": (
        "https://scikit-learn.org/stable/",
        {
            "sklearn.cluster.KMeans": "py:class modules/generated/sklearn.cluster.KMeans.html#$",
            "sklearn.cluster.SpectralClustering": "py:class modules/generated/"
            "sklearn.cluster.SpectralClustering.html#$",
            "sklearn.cluster.HDBSCAN": "py:class modules/generated/sklearn.cluster.HDBSCAN.html#$",
            "random_state": "std:term glossary.html#term-random_state",
            "n_jobs": "std:term glossary.html#term-n_jobs",
            "fit": "std:term glossary.html#term-fit",
        },
    ),
    "networkx": (
        "https://networkx.org/documentation/stable/",
        {"networkx.Graph": "py:class reference/classes/graph.html#$"},
    ),
    "matplotlib": (
        "https://matplotlib.org/stable/",
        {
            "matplotlib.axes.Axes": "py:class api/_as_gen/matplotlib.axes.Axes.html#$",
            "matplotlib.figure.Figure": "py:class api/_as_gen/matplotlib.figure.Figure.html#$",
        },
    ),
    "anndata": (
        "https://anndata.readthedocs.io/en/stable/",
        {"anndata.AnnData": "py:class generated/anndata.AnnData.html#$"},
    ),
    "distributed": (
        "https://distributed.dask.org/en/stable/",
        {"distributed.Client": "py:class api.html#$"},
    ),
}
"""For each project the address of its documentation, and its objects: role and place."""


def write(folder: Path) -> dict[str, tuple[str, str]]:
    """Write one inventory per project into ``folder``, and return the mapping for Sphinx."""
    folder.mkdir(parents=True, exist_ok=True)
    mapping = {}
    for project, (address, objects) in SITES.items():
        lines = [f"{name} {role} 1 {place} -" for name, (role, place) in _split(objects).items()]
        head = (
            f"# Sphinx inventory version 2\n# Project: {project}\n# Version: \n"
            "# The remainder of this file is compressed using zlib.\n"
        )
        path = folder / f"{project}.inv"
        path.write_bytes(head.encode() + zlib.compress("".join(f"{x}\n" for x in lines).encode()))
        mapping[project] = (address, str(path))
    return mapping


def _split(objects: dict[str, str]) -> dict[str, tuple[str, str]]:
    return {name: (entry.split()[0], entry.split()[1]) for name, entry in objects.items()}

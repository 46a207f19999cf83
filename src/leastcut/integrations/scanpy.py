"""Single cells: cut the neighbor graph of an AnnData, in the manner of ``scanpy.tl.leiden``.

Neither scanpy nor anndata is imported: an AnnData is any object with ``obs``, ``uns`` and ``obsp``.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt

from leastcut import partition
from leastcut.validation import check_flag


def cut(
    adata: Any,
    n_clusters: int | str = "auto",
    *,
    cut: str | npt.ArrayLike = "normalized",
    effort: str = "balanced",
    random_state: Any = 0,
    key_added: str = "leastcut",
    neighbors_key: str | None = None,
    obsp: str | None = None,
    lower_bound: bool | str | None = None,
    copy: bool = False,
) -> Any:
    """Cluster cells by the smallest cut of their neighbor graph that a search finds.

    It replaces ``scanpy.tl.leiden`` and writes its result to the same places, so that plots, marker
    genes and embeddings work as usual. There is no resolution, but a number of clusters.

    Parameters
    ----------
    adata : AnnData
        With a neighbor graph; ``scanpy.pp.neighbors(adata)`` makes one.
    n_clusters : int or "auto", default="auto"
        Number of clusters. ``"auto"`` chooses up to 20 by the eigenvalues of the graph, and warns
        if their evidence is weak.
    cut : {"ratio", "normalized"} or array-like of shape (n_cells,), default="normalized"
        The name of a cut, or a positive weight for every cell.
    effort : {"fast", "auto", "balanced", "thorough"}, default="balanced"
        How long to search; see :func:`leastcut.partition`.
    random_state : int, Generator, RandomState or None, default=0
        Seed. With an integer the clusters are the same every time.
    key_added : str, default="leastcut"
        The name of the clusters in ``adata.obs``, and of further results in ``adata.uns``.
    neighbors_key : str, optional
        The ``key_added`` of ``scanpy.pp.neighbors``.
    obsp : str, optional
        The name in ``adata.obsp`` of the affinities to cut, instead of those of ``neighbors_key``.
    lower_bound : bool or "tight", optional
        Whether to compute a lower bound on the cut value. By default only for small graphs.
    copy : bool, default=False
        Whether to return a copy with the clusters, and leave ``adata`` as it is.

    Returns
    -------
    AnnData or None
        The copy, if ``copy``. It, or ``adata`` itself, has the cluster of every cell in
        ``obs[key_added]``, categorical, ``"0"`` being the largest; and in ``uns[key_added]``
        ``"params"``, ``"cut_value"``, ``"n_clusters"``, ``"seconds"`` and, if it was computed,
        ``"lower_bound"``.

    Examples
    --------
    >>> import leastcut.integrations.scanpy
    >>> import scanpy  # doctest: +SKIP
    >>> adata = scanpy.datasets.pbmc68k_reduced()  # doctest: +SKIP
    >>> leastcut.integrations.scanpy.cut(adata, 8)  # doctest: +SKIP
    >>> scanpy.pl.umap(adata, color="leastcut")  # doctest: +SKIP
    """
    copy = check_flag("copy", copy)
    if not isinstance(key_added, str):
        raise TypeError(f"key_added={key_added!r} must be the name of a column of adata.obs.")
    key, graph = _graph_of(adata, neighbors_key, obsp)
    params = {"n_clusters": n_clusters, "cut": cut, "effort": effort, "random_state": random_state}
    began = time.perf_counter()
    found = partition(graph, **params, lower_bound=lower_bound, isolated="ignore")
    known = {
        "params": _storable(params | {"obsp": key}),
        "n_clusters": int(found.labels.max()) + 1,
        "cut_value": found.cut_value,
        "seconds": time.perf_counter() - began,
    }
    if found.lower_bound is not None:
        known["lower_bound"] = found.lower_bound
    target = adata.copy() if copy else adata
    target.obs[key_added] = _categories(found.labels)
    target.uns[key_added] = known
    return target if copy else None


def _graph_of(adata: Any, neighbors_key: str | None, obsp: str | None) -> tuple[str, Any]:
    """Return the affinities to cut, and their name in ``obsp``."""
    if not all(hasattr(adata, name) for name in ("obs", "uns", "obsp")):
        raise TypeError(
            f"adata is {type(adata).__name__}, not an AnnData; for a graph call leastcut.partition."
        )
    if obsp is not None and neighbors_key is not None:
        raise ValueError(
            f"obsp={obsp!r} and neighbors_key={neighbors_key!r} both name a graph; pass one."
        )
    if neighbors_key is not None and neighbors_key not in adata.uns:
        raise KeyError(
            f"adata.uns has no {neighbors_key!r}; run "
            f"scanpy.pp.neighbors(adata, key_added={neighbors_key!r}) first."
        )
    key, remedy = obsp, "Pass one of those."
    if key is None:
        about = adata.uns.get("neighbors" if neighbors_key is None else neighbors_key, {})
        key = about.get("connectivities_key", "connectivities")
        remedy = "Run scanpy.pp.neighbors(adata) first."
    if key not in adata.obsp:
        there = ", ".join(map(repr, adata.obsp)) or "nothing"
        raise KeyError(f"adata.obsp has no {key!r} (it has {there}). {remedy}")
    return key, adata.obsp[key]


def _categories(labels: np.ndarray) -> Any:
    """Return labels as categories "0", "1", ..., the largest cluster first."""
    import pandas

    largest_first = np.argsort(-np.bincount(labels), kind="stable")
    rank = np.argsort(largest_first)
    return pandas.Categorical.from_codes(
        rank[labels], categories=[str(k) for k in range(len(rank))]
    )


def _storable(params: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers, words and arrays, which files of AnnData can hold."""
    return {
        name: value if isinstance(value, int | str) else np.asarray(value)
        for name, value in params.items()
        if value is not None and not isinstance(value, np.random.Generator | np.random.RandomState)
    }

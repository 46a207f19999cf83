"""Clustering of single cells, with the interface of ``scanpy.tl.leiden``.

scanpy and anndata are not imported: an AnnData is any object with ``obs``, ``uns`` and ``obsp``.
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
    """Cluster cells by cutting their neighbor graph.

    Replaces ``scanpy.tl.leiden``: the result is written to the same fields of ``adata``, so that
    plots and marker genes work as usual. The number of clusters takes the place of the resolution.

    Parameters
    ----------
    adata : AnnData
        The annotated data matrix, with a neighbor graph from ``scanpy.pp.neighbors``.
    n_clusters : int or "auto", default="auto"
        Number of clusters. ``"auto"`` chooses up to 20 by the eigenvalues of the graph, and warns
        if the evidence is weak.
    cut : {"ratio", "normalized"} or array-like of shape (n_cells,), default="normalized"
        The name of a cut, or a positive weight for every cell.
    effort : {"fast", "auto", "balanced", "thorough"}, default="balanced"
        Effort of the search; see :func:`leastcut.partition`.
    random_state : int, Generator, RandomState or None, default=0
        Seed. Pass an int for reproducible clusters.
    key_added : str, default="leastcut"
        Key of the clusters in ``adata.obs``, and of further results in ``adata.uns``.
    neighbors_key : str, optional
        The ``key_added`` that was passed to ``scanpy.pp.neighbors``.
    obsp : str, optional
        Key of the affinities in ``adata.obsp``, instead of ``neighbors_key``.
    lower_bound : bool or "tight", optional
        Whether to compute a lower bound on the cut value; by default for small graphs only.
    copy : bool, default=False
        Whether to return a copy instead of changing ``adata``.

    Returns
    -------
    AnnData or None
        The copy, if ``copy=True``. The cluster of every cell is in ``obs[key_added]``, as a
        categorical in which ``"0"`` is the largest cluster. ``uns[key_added]`` contains
        ``"params"``, ``"cut_value"``, ``"n_clusters"``, ``"seconds"`` and, if it was computed,
        ``"lower_bound"``.

    See Also
    --------
    leastcut.partition : Cut a graph.
    leastcut.cut_path : Compare several numbers of clusters.

    Notes
    -----
    Cells without neighbors are assigned to the clusters where they change the cut value least.

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
    result = partition(graph, **params, lower_bound=lower_bound, isolated="ignore")
    entries = {
        "params": _storable(params | {"obsp": key}),
        "n_clusters": int(result.labels.max()) + 1,
        "cut_value": result.cut_value,
        "seconds": time.perf_counter() - began,
    }
    if result.lower_bound is not None:
        entries["lower_bound"] = result.lower_bound
    target = adata.copy() if copy else adata
    target.obs[key_added] = _categories(result.labels)
    target.uns[key_added] = entries
    return target if copy else None


def _graph_of(adata: Any, neighbors_key: str | None, obsp: str | None) -> tuple[str, Any]:
    """Return the key in ``obsp`` and the affinities to cut."""
    if not all(hasattr(adata, name) for name in ("obs", "uns", "obsp")):
        raise TypeError(
            f"adata is {type(adata).__name__}, not an AnnData; for a graph call leastcut.partition."
        )
    if obsp is not None and neighbors_key is not None:
        raise ValueError(
            f"obsp={obsp!r} and neighbors_key={neighbors_key!r} both specify a graph; pass one."
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
        existing = ", ".join(map(repr, adata.obsp)) or "nothing"
        raise KeyError(f"adata.obsp has no {key!r} (it has {existing}). {remedy}")
    return key, adata.obsp[key]


def _categories(labels: np.ndarray) -> Any:
    """Return labels as a categorical of "0", "1", ..., in descending order of cluster size."""
    import pandas

    largest_first = np.argsort(-np.bincount(labels), kind="stable")
    rank = np.argsort(largest_first)
    return pandas.Categorical.from_codes(
        rank[labels], categories=[str(k) for k in range(len(rank))]
    )


def _storable(params: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that can be written to AnnData files: numbers, strings and arrays."""
    return {
        name: value if isinstance(value, int | str) else np.asarray(value)
        for name, value in params.items()
        if value is not None and not isinstance(value, np.random.Generator | np.random.RandomState)
    }

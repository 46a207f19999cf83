"""Single cells: normalized cuts compared with Leiden, for its numbers of clusters.

The 700 cells, neighbor graph and cell types that scanpy ships. Each row is a resolution of
``scanpy.tl.leiden`` (igraph, until convergence) and the resulting number of clusters, with the
normalized cut and the agreement with the cell types (adjusted Rand index) of both methods, and CPU
seconds.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

import leastcut

RESOLUTIONS = (0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0)


def run(quick: bool = False) -> dict[str, Any]:
    """Return a row per resolution, and the means."""
    import scanpy

    warnings.simplefilter("ignore")
    cells = scanpy.datasets.pbmc68k_reduced()
    graph, types = cells.obsp["connectivities"], cells.obs["bulk_labels"]
    leastcut.integrations.scanpy.cut(cells, 3)  # compiles
    scanpy.tl.leiden(cells, flavor="igraph", directed=False)  # loads
    rows = []
    for resolution in RESOLUTIONS[:2] if quick else RESOLUTIONS:
        begin = time.process_time()
        scanpy.tl.leiden(cells, resolution, flavor="igraph", directed=False, n_iterations=-1)
        leiden_s = time.process_time() - begin
        leiden = cells.obs["leiden"]
        begin = time.process_time()
        leastcut.integrations.scanpy.cut(cells, leiden.nunique())
        own_s = time.process_time() - begin
        rows.append(
            {
                "resolution": resolution,
                "n_clusters": int(leiden.nunique()),
                "lower_bound": cells.uns["leastcut"]["lower_bound"],
                "cut_value": cells.uns["leastcut"]["cut_value"],
                "leiden_cut_value": leastcut.cut_value(graph, leiden),
                "agreement": float(adjusted_rand_score(types, cells.obs["leastcut"])),
                "leiden_agreement": float(adjusted_rand_score(types, leiden)),
                "seconds": own_s,
                "leiden_seconds": leiden_s,
            }
        )
    ratios = [row["leiden_cut_value"] / row["cut_value"] for row in rows]
    return {
        "rows": rows,
        "leiden_cut_over_ours": {
            "least": min(ratios),
            "mean": np.mean(ratios),
            "most": max(ratios),
        },
        "mean_agreement": float(np.mean([row["agreement"] for row in rows])),
        "mean_leiden_agreement": float(np.mean([row["leiden_agreement"] for row in rows])),
    }

"""Clustering of Dask arrays and data frames; requires ``leastcut[dask]``."""

from __future__ import annotations

from leastcut.integrations.dask.estimator import AnchorSpectralClustering

__all__ = ["AnchorSpectralClustering"]

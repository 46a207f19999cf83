"""Dask: cluster arrays and data frames that lie on many machines; needs ``leastcut[dask]``."""

from __future__ import annotations

from leastcut.integrations.dask.estimator import AnchorSpectralClustering

__all__ = ["AnchorSpectralClustering"]

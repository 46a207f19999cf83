"""Dask: cluster arrays and data frames that lie on many machines; needs ``leastcut[dask]``."""

from __future__ import annotations

from leastcut.integrations.dask.spectral_clustering import SpectralClustering

__all__ = ["SpectralClustering"]

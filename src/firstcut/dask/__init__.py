"""Dask: cluster arrays and data frames that lie on many machines; needs ``firstcut[dask]``."""

from __future__ import annotations

from firstcut.dask.spectral_clustering import SpectralClustering

__all__ = ["SpectralClustering"]

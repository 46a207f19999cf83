"""firstcut: cluster data by the smallest graph cut that can be found.

One line runs through the package: points to graph (``affinity``), graph to eigenvectors
(``relaxation``), eigenvectors to labels (``discretizers``), and every answer with its cut value.
Names are loaded when first used, so importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "AFFINITIES": "affinity",
    "adaptive_neighbors_graph": "affinity",
    "nearest_neighbors_graph": "affinity",
    "self_tuning_graph": "affinity",
    "CUTS": "cuts",
    "cut_value": "cuts",
    "node_weights": "cuts",
    "operator": "cuts",
    "DISCRETIZERS": "discretizers",
    "Discretization": "discretizers",
    "discretize": "discretization",
    "Relaxation": "relaxation",
    "relax": "relaxation",
    "lower_bound": "relaxation",
    "direct_cut": "direct",
    "Partition": "result",
    "refine": "partitioning.refinement",
    "partition": "partitioning.search",
    "SpectralClustering": "estimator.spectral_clustering",
    "CutPath": "estimator.path",
    "cut_path": "estimator.path",
    "exact_partition": "exact",
    "clustering_accuracy": "metrics",
    "normalized_mutual_info": "metrics",
}
"""Every public name and the module it lives in."""

_MODULES = ("datasets",)
"""Modules that are public as such."""

if TYPE_CHECKING:
    from firstcut.affinity import AFFINITIES as AFFINITIES
    from firstcut.affinity import adaptive_neighbors_graph as adaptive_neighbors_graph
    from firstcut.affinity import nearest_neighbors_graph as nearest_neighbors_graph
    from firstcut.affinity import self_tuning_graph as self_tuning_graph
    from firstcut.cuts import CUTS as CUTS
    from firstcut.cuts import cut_value as cut_value
    from firstcut.cuts import node_weights as node_weights
    from firstcut.cuts import operator as operator
    from firstcut.direct import direct_cut as direct_cut
    from firstcut.discretization import discretize as discretize
    from firstcut.discretizers import DISCRETIZERS as DISCRETIZERS
    from firstcut.discretizers import Discretization as Discretization
    from firstcut.estimator.path import CutPath as CutPath
    from firstcut.estimator.path import cut_path as cut_path
    from firstcut.estimator.spectral_clustering import SpectralClustering as SpectralClustering
    from firstcut.exact import exact_partition as exact_partition
    from firstcut.metrics import clustering_accuracy as clustering_accuracy
    from firstcut.metrics import normalized_mutual_info as normalized_mutual_info
    from firstcut.partitioning.refinement import refine as refine
    from firstcut.partitioning.search import partition as partition
    from firstcut.relaxation import Relaxation as Relaxation
    from firstcut.relaxation import lower_bound as lower_bound
    from firstcut.relaxation import relax as relax
    from firstcut.result import Partition as Partition

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"firstcut.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'firstcut' has no attribute {name!r}")
    value = getattr(import_module(f"firstcut.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})

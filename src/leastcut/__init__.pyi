from . import plot as plot
from .affinity import AFFINITIES as AFFINITIES
from .affinity.adaptive_neighbors import adaptive_neighbors_graph as adaptive_neighbors_graph
from .affinity.learned.alternation import LearnedGraph as LearnedGraph
from .affinity.learned.graphs import constrained_rank_graph as constrained_rank_graph
from .affinity.learned.graphs import learned_graph as learned_graph
from .affinity.nearest_neighbors import nearest_neighbors_graph as nearest_neighbors_graph
from .affinity.self_tuning import self_tuning_graph as self_tuning_graph
from .anchors.build import anchor_graph as anchor_graph
from .anchors.graph import AnchorGraph as AnchorGraph
from .bounds.certify import certify as certify
from .bounds.exact_partition import exact_partition as exact_partition
from .bounds.proof import ProofProgress as ProofProgress
from .comparison import Compared as Compared
from .comparison import Comparison as Comparison
from .comparison import compare as compare
from .estimators.anchor_spectral_clustering import (
    AnchorSpectralClustering as AnchorSpectralClustering,
)
from .estimators.cut_path import cut_path as cut_path
from .estimators.multiview_spectral_clustering import (
    MultiViewSpectralClustering as MultiViewSpectralClustering,
)
from .estimators.spectral_clustering import SpectralClustering as SpectralClustering
from .integrations import dask as dask
from .integrations import scanpy as scanpy
from .integrations.images import ImageGraph as ImageGraph
from .integrations.images import image_graph as image_graph
from .metrics import clustering_accuracy as clustering_accuracy
from .metrics import normalized_mutual_info as normalized_mutual_info
from .multilevel.cut_path import CutPath as CutPath
from .multilevel.direct_cut import direct_cut as direct_cut
from .multilevel.efforts import EFFORTS as EFFORTS
from .multilevel.efforts import Progress as Progress
from .multilevel.partition import partition as partition
from .multilevel.path_search import PathProgress as PathProgress
from .multilevel.refinement import refine as refine
from .multiview.partition_views import partition_views as partition_views
from .multiview.problem import PartitionOfViews as PartitionOfViews
from .problem import CUTS as CUTS
from .problem import cut_value as cut_value
from .problem import node_weights as node_weights
from .problem import operator as operator
from .results import Discretization as Discretization
from .results import NeighborSearch as NeighborSearch
from .results import Partition as Partition
from .results import Relaxation as Relaxation
from .spectral.discretizers import DISCRETIZERS as DISCRETIZERS
from .spectral.discretizers.discretize import discretize as discretize
from .spectral.eigensolvers import EIGENSOLVERS as EIGENSOLVERS
from .spectral.relax import lower_bound as lower_bound
from .spectral.relax import relax as relax

__version__: str

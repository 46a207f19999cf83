"""Distances that were passed as affinities: how to know them, and the warning."""

from leastcut.distance_check.all_pairs import looks_like_distances as looks_like_distances
from leastcut.distance_check.all_pairs import warn_of_distances as warn_of_distances

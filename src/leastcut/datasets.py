"""The paper's datasets, and a few that come with scikit-learn, by name.

This is the public door to them; how they are found and read is in ``leastcut.paper.data``.
"""

from leastcut.paper.data.datasets import (
    ENVIRONMENT,
    Dataset,
    cache_folder,
    folders,
    load,
    names,
)

__all__ = ["ENVIRONMENT", "Dataset", "cache_folder", "folders", "load", "names"]

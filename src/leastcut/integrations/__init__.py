"""Integrations with other libraries: graph libraries, Dask, scanpy, and images."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__, submodules=["dask", "images", "scanpy"]
)

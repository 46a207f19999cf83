"""leastcut: clustering by minimizing a graph cut, with lower bounds and optimality proofs.

- ``affinity``: graphs from samples.
- ``spectral``: eigenvectors, and labels from eigenvectors.
- ``multilevel``: the search for the smallest cut.
- ``bounds``: lower bounds and optimality proofs.
- ``estimators``: the scikit-learn interface.

Public names are listed in ``__init__.pyi`` and loaded on first use, which keeps the import fast.
"""

import builtins
import sys
import threading

import lazy_loader

__version__ = "0.1.0"

# Modules named after the packages they support, which users import too.
_NAMED_AFTER_PACKAGES = {"dask", "scanpy"}
_load, _, _public = lazy_loader.attach_stub(__name__, __file__)
_loading = threading.RLock()

# ``from leastcut import *`` skips names that would shadow a builtin, a standard module such as
# ``operator``, or another package.
__all__ = [
    name
    for name in _public
    if name not in sys.stdlib_module_names
    and not hasattr(builtins, name)
    and name not in _NAMED_AFTER_PACKAGES
]


def __getattr__(name: str) -> object:
    # One thread at a time: Python raises a deadlock error if two threads import a package and its
    # modules in different orders.
    with _loading:
        return _load(name)


def __dir__() -> list[str]:
    # Public names and module attributes, without the modules that happen to be imported.
    return sorted({*_public, *(name for name in globals() if name[:2] == name[-2:] == "__")})

"""leastcut: cluster data by the smallest graph cut that can be found, and know how small it is.

One line runs through the package, a room for every step: points to graph (``affinity``), graph to
eigenvectors (``relaxation``), eigenvectors to labels (``discretization``), graph to the smallest
cut (``partitioning``), all of it behind scikit-learn's interface (``estimator``). Every answer
comes with its cut value.

Names are loaded when first used, so importing the package costs next to nothing. They are listed in
``__init__.pyi``, once, for people, type checkers and the loader alike.
"""

import builtins
import sys
import threading

import lazy_loader

__version__ = "0.1.0"

# Modules that share their name with the package that they are for, which users import too.
_NAMED_LIKE_OTHERS = {"dask", "scanpy"}
_load, _, _public = lazy_loader.attach_stub(__name__, __file__)
_loading = threading.RLock()

# ``from leastcut import *`` leaves out what would take the place of something that is there without
# it, as ``operator`` would of Python's own module; leastcut.operator is there all the same.
__all__ = [
    name
    for name in _public
    if name not in sys.stdlib_module_names
    and not hasattr(builtins, name)
    and name not in _NAMED_LIKE_OTHERS
]


def __getattr__(name: str) -> object:
    # One thread at a time: Python's import raises a deadlock error where two threads import a
    # package and its modules in different orders.
    with _loading:
        return _load(name)


def __dir__() -> list[str]:
    # What is public, and what every module has; not the modules that happen to be imported.
    return sorted({*_public, *(name for name in globals() if name[:2] == name[-2:] == "__")})

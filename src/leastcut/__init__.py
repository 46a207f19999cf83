"""leastcut: cluster data by the smallest graph cut that can be found, and know how small it is.

Points become a graph in ``affinity``, eigenvectors and labels in ``spectral``, the smallest cut in
``multilevel`` and a proof in ``bounds``; ``estimators`` have scikit-learn's interface. Every answer
comes with its cut value. Names are listed in ``__init__.pyi`` and loaded when first used, so that
importing the package costs next to nothing.
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

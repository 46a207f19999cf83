"""firstcut: cluster data by the smallest graph cut that can be found, and know how small it is.

One line runs through the package, a room for every step: points to graph (``affinity``), graph to
eigenvectors (``relaxation``), eigenvectors to labels (``discretization``), graph to the smallest
cut (``partitioning``), all of it behind scikit-learn's interface (``estimator``). Every answer
comes with its cut value.

Names are loaded when first used, so importing the package costs next to nothing. They are listed in
``__init__.pyi``, once, for people, type checkers and the loader alike.
"""

import threading

import lazy_loader

__version__ = "0.1.0"

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
_loading = threading.RLock()


def __getattr__(name: str) -> object:
    # One thread at a time: Python's import raises a deadlock error where two threads import a
    # package and its modules in different orders.
    with _loading:
        return _load(name)

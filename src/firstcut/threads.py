"""One BLAS thread where an answer could depend on how many there are.

Sums that BLAS splits over threads are rounded differently for every number of threads, and in a
repeated eigenspace or at a tie the last bit decides the labels. A seed must fix them.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # finding the loaded libraries takes milliseconds: once


def single_threaded() -> AbstractContextManager[Any]:
    """Return a context in which BLAS and OpenMP use one thread."""
    context: AbstractContextManager[Any] = _controller().limit(limits=1)
    return context

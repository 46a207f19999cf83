"""How many threads there are to use, and one BLAS thread where an answer could depend on them.

Sums that BLAS splits over threads are rounded differently for every number of threads, and in a
repeated eigenspace or at a tie the last bit decides the labels. A seed must fix them.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

from firstcut.validation import check_count


def available_cores() -> int:
    """Return how many cores this process may use: affinity masks and container limits count."""
    from joblib import cpu_count  # 30 ms, which a small graph need not wait for

    return int(cpu_count())


def count_threads(n_jobs: int | None) -> int:
    """Return the number of threads that ``n_jobs`` means.

    None is one per available core; so is -1, and -2 is one less, as in scikit-learn.
    """
    if n_jobs is None:
        return available_cores()
    if isinstance(n_jobs, int) and not isinstance(n_jobs, bool) and n_jobs < 0:
        return max(1, available_cores() + 1 + n_jobs)
    return check_count("n_jobs", n_jobs)


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # finding the loaded libraries takes milliseconds: once


def single_threaded() -> AbstractContextManager[Any]:
    """Return a context in which BLAS and OpenMP use one thread."""
    context: AbstractContextManager[Any] = _controller().limit(limits=1)
    return context

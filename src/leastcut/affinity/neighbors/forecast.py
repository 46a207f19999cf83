"""Whether neighbours are worth searching exactly: seconds that either search is forecast to take.

The constants are processor time on one core of an AMD EPYC (Zen 4) with AVX-512, measured on the
20,000 and 70,000 images of Fashion-MNIST and on Gaussian blobs of 20 to 100 features; other
processors are slower or faster at both searches alike.
"""

from __future__ import annotations

from leastcut.affinity.neighbors.searching import PAIR_SECONDS

EXACT_SECONDS = 4.0
"""An exact search that is forecast to end within this is taken, however fast the other is."""

SAMPLE = 2.0e-5
"""Seconds that the approximate search takes for a sample, besides the following."""

FEATURE = 4.5e-8
"""Seconds that the approximate search takes for a feature of a sample."""

NEIGHBOR = 4.0e-7
"""Seconds that the approximate search takes for a neighbour of a sample."""


def exact_seconds(n: int, n_features: int, n_threads: int) -> float:
    """Return what comparing all samples with all is forecast to take, in seconds."""
    return n * n * (PAIR_SECONDS[0] + PAIR_SECONDS[1] * n_features) / n_threads


def approximate_seconds(n: int, n_features: int, count: int, n_threads: int) -> float:
    """Return what the approximate search is forecast to take, in seconds.

    It is right within a factor of two where samples have some structure. Without any, it may take
    several times as long, but not longer than comparing all with all.
    """
    return n * (SAMPLE + FEATURE * n_features + NEIGHBOR * count) / n_threads


def choose(n: int, n_features: int, count: int, n_threads: int) -> str:
    """Return "exact" or "approximate", the search of choice for so many samples.

    Parameters
    ----------
    n, n_features : int
        The shape of the samples, which have more features than a k-d tree is good for.
    count : int
        Neighbours wanted.
    n_threads : int
        Threads that share the work.

    Returns
    -------
    str
        "exact" wherever that is forecast to take no more than ``EXACT_SECONDS``, or no longer than
        the approximate search.

    Examples
    --------
    >>> from leastcut.affinity.neighbors.forecast import choose
    >>> choose(10_000, 784, 10, 2), choose(70_000, 784, 10, 2), choose(1_000_000, 32, 10, 2)
    ('exact', 'approximate', 'approximate')
    """
    exact = exact_seconds(n, n_features, n_threads)
    other = approximate_seconds(n, n_features, count, n_threads)
    return "exact" if exact <= max(EXACT_SECONDS, other) else "approximate"

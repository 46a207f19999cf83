"""The checks that every entry point shares, so that bad input is told the same way everywhere."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

RandomState = int | np.integer[Any] | np.random.Generator | np.random.RandomState | None
"""What ``random_state`` may be: a seed, a generator, or None for fresh entropy."""


def as_generator(random_state: RandomState) -> np.random.Generator:
    """Return the generator that ``random_state`` stands for; a generator given is used itself."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31 - 1, size=4))
    if random_state is not None and (
        not isinstance(random_state, int | np.integer) or random_state < 0
    ):
        raise ValueError(
            f"random_state={random_state!r} is not a seed; pass None, an integer >= 0, or a "
            "numpy Generator or RandomState."
        )
    return np.random.default_rng(random_state)


def check_choice(name: str, value: object, known: Iterable[str]) -> str:
    """Return ``value`` if it is one of ``known``, else raise an error that lists them."""
    choices = list(known)
    if isinstance(value, str) and value in choices:
        return value
    raise ValueError(
        f"{name}={value!r} is not known; choose one of {', '.join(map(repr, choices))}."
    )


def check_count(name: str, value: object, minimum: int = 1) -> int:
    """Return ``value`` as an int if it is a whole number of at least ``minimum``."""
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        count = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name}={value!r} is not a whole number.") from None
    if count < minimum:
        raise ValueError(f"{name}={count} is too small; it must be at least {minimum}.")
    return count


def check_n_clusters(n_clusters: object, n_nodes: int) -> int:
    """Return ``n_clusters`` as an int if ``n_nodes`` nodes can form that many clusters."""
    count = check_count("n_clusters", n_clusters)
    if count > n_nodes:
        raise ValueError(
            f"n_clusters={count} is more than the {n_nodes} nodes there are; "
            f"choose between 1 and {n_nodes}."
        )
    return count


def check_labels(labels: npt.ArrayLike, n_nodes: int, name: str = "labels") -> np.ndarray:
    """Return labels 0..k-1 (int64, one per node) for any labels: integers, strings, negatives.

    Labels that already are 0..k-1 with none missing come back unchanged; others are renumbered in
    sorted order.
    """
    array = np.asarray(labels)
    if array.ndim != 1 or array.shape[0] != n_nodes:
        raise ValueError(
            f"{name} must hold one label per node, so {n_nodes} in one dimension, but it has "
            f"shape {array.shape}."
        )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"{name} holds NaN or infinity; every node needs a label.")
    if array.dtype.kind in "iu" and n_nodes and array.min() >= 0 and array.max() < n_nodes:
        compact = array.astype(np.int64)
        if np.bincount(compact).all():
            return compact
    return np.unique(array, return_inverse=True)[1].astype(np.int64).reshape(-1)


def check_init(
    labels: npt.ArrayLike, n_nodes: int, n_clusters: int, name: str = "init"
) -> np.ndarray:
    """Return labels 0..n_clusters-1 to start from, if exactly that many clusters are in them."""
    compact = check_labels(labels, n_nodes, name)
    count = int(compact.max()) + 1
    if count != n_clusters:
        raise ValueError(
            f"{name} has {count} clusters where {n_clusters} are wanted. Merge or split its "
            "clusters first, or ask for as many as it has."
        )
    return compact

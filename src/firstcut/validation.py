"""The checks that every entry point shares, so that bad input is told the same way everywhere."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

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


def canonical_csr(X: Any) -> sp.csr_array:
    """Return CSR arrays with sorted indices and no duplicates, copied only where X has not."""
    X = sp.csr_array(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def check_samples(X: Any) -> Any:
    """Return samples as finite float64 in C order (or CSR), not changing the caller's."""
    points: Any = canonical_csr(X) if sp.issparse(X) else np.asarray(X)
    if points.ndim != 2:
        raise ValueError(
            f"X must be two-dimensional, one row per sample, but its shape is {points.shape}. "
            "Use X.reshape(-1, 1) for a single feature, X.reshape(len(X), -1) for images."
        )
    if 0 in points.shape:
        raise ValueError(f"X has shape {points.shape}: there is nothing to compare.")
    if points.dtype.kind not in "fiubO":
        raise ValueError(
            f"X must hold real numbers, but its dtype is {points.dtype}; convert it first."
        )
    if sp.issparse(points):
        points = points.astype(np.float64, copy=False)
    else:
        points = np.ascontiguousarray(points, dtype=np.float64)
    bad = ~np.isfinite(points.data if sp.issparse(points) else points)
    count = int(np.count_nonzero(bad))
    if count:
        rows, columns = points.tocoo().coords if sp.issparse(points) else np.indices(points.shape)
        row, column = int(rows[bad][0]), int(columns[bad][0])
        raise ValueError(
            f"X has {count} NaN or infinite {'value' if count == 1 else 'values'}; the first is "
            f"{points[row, column]} at ({row}, {column}). Drop those samples or fill the values in."
        )
    return points


def check_neighbors(
    name: str, value: object, n_samples: int, beyond: int = 0, itself: bool = False
) -> int:
    """Return a number of neighbours as an int, if every sample has so many others, and ``beyond``.

    ``itself`` says whether the number counts the sample as its own neighbour, for the message only.
    """
    count = check_count(name, value)
    others = count + beyond
    if others > n_samples - 1:
        most = n_samples - 1 - beyond
        raise ValueError(
            f"{name}={count} needs at least {others + 1} samples"
            f"{' (the sample itself counts as one)' if itself else ''}, but X has {n_samples}; "
            + (f"pass {name}={most} or less." if most >= 1 else "pass more samples.")
        )
    return count


def number_by_appearance(labels: np.ndarray) -> np.ndarray:
    """Return labels 0..k-1 in the order in which clusters first appear.

    Equal partitions then have equal labels, however they were found.
    """
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(first.size, dtype=np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[inverse.reshape(-1)]

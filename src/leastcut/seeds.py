"""Random states: conversion to generators and seeds."""

from __future__ import annotations

from typing import Any

import numpy as np

# A seed, a generator, or None for fresh entropy.
RandomState = int | np.integer[Any] | np.random.Generator | np.random.RandomState | None


def as_generator(random_state: RandomState) -> np.random.Generator:
    """Return a generator for ``random_state``; a Generator is returned unchanged."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        # This advances the RandomState, so that its next use gives other numbers.
        return np.random.default_rng(random_state.randint(0, 2**31 - 1, size=4))
    if random_state is not None and (
        isinstance(random_state, bool)
        or not isinstance(random_state, int | np.integer)
        or random_state < 0
    ):
        raise ValueError(
            f"random_state={random_state!r} is not a seed; pass None, an integer >= 0, or a "
            "NumPy Generator or RandomState."
        )
    return np.random.default_rng(random_state)


def as_seed(random_state: RandomState, stop: int = 2**31 - 1) -> int:
    """Return an integer seed: ``random_state`` itself, or a random one below ``stop``."""
    rng = as_generator(random_state)  # raises if it is not a seed
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(rng.integers(stop))


def fit_seed(random_state: RandomState) -> int:
    """Return the seed of a fit as scikit-learn does; None uses NumPy's global state."""
    random_state = np.random.mtrand._rand if random_state is None else random_state
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return as_seed(random_state)

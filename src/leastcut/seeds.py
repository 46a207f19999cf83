"""What ``random_state`` stands for: a generator, or the integer that seeds several of them."""

from __future__ import annotations

from typing import Any

import numpy as np

# What ``random_state`` may be: a seed, a generator, or None for fresh entropy.
RandomState = int | np.integer[Any] | np.random.Generator | np.random.RandomState | None


def as_generator(random_state: RandomState) -> np.random.Generator:
    """Return the generator that ``random_state`` stands for; a generator given is used itself."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        # Drawing moves it on, so that the next call with the same RandomState draws otherwise.
        return np.random.default_rng(random_state.randint(0, 2**31 - 1, size=4))
    if random_state is not None and (
        isinstance(random_state, bool)
        or not isinstance(random_state, int | np.integer)
        or random_state < 0
    ):
        raise ValueError(
            f"random_state={random_state!r} is not a seed; pass None, an integer >= 0, or a "
            "numpy Generator or RandomState."
        )
    return np.random.default_rng(random_state)


def as_seed(random_state: RandomState, stop: int = 2**31 - 1) -> int:
    """Return the integer that ``random_state`` stands for: itself, or one below ``stop``."""
    rng = as_generator(random_state)  # which refuses what is not a seed
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(rng.integers(stop))


def fit_seed(random_state: RandomState) -> int:
    """Return the seed of a fit as scikit-learn draws it; None is NumPy's global state."""
    random_state = np.random.mtrand._rand if random_state is None else random_state
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return as_seed(random_state)

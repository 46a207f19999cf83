"""Deadlines of a proof, on the monotonic clock: a step that cannot end in time is not begun."""

from __future__ import annotations

import time


def require_time(deadline: float, seconds: float = 0.0) -> None:
    """Raise TimeoutError unless a step of this estimated duration can end by ``deadline``."""
    if time.monotonic() + seconds > deadline:
        raise TimeoutError(f"A step of {seconds:.2g} s cannot end by the deadline.")

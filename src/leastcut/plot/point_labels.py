"""Words beside points, none upon another: those that find no room are left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from leastcut.plot.canvas import outlined


def label_points(
    ax: Any,
    texts: Sequence[str],
    places: np.ndarray,
    sides: Sequence[Iterable[Sequence[float]]],
    **looks: Any,
) -> None:
    """Write texts beside points, the first ones first.

    Parameters
    ----------
    ax : Axes
        All else must be drawn on it by now: what is moved later leaves the words where they are.
    texts : sequence of str
    places : ndarray of shape (m, 2)
        The points.
    sides : sequence of iterables of pairs
        For every text where it may stand, in points of type from its point to its own middle, or
        to the corner that is next; the best side first.
    **looks
        How the letters look.
    """
    # 1. Settle where things are.
    ax.autoscale_view()
    ax.figure.draw_without_rendering()
    taken: list[Any] = []
    # 2. Each text at the first side where it covers no other.
    for text, place, around in zip(texts, places, sides, strict=True):
        for side in around:
            word = ax.annotate(
                text,
                place,
                xytext=side,
                textcoords="offset points",
                path_effects=outlined(ax),
                parse_math=False,
                annotation_clip=False,
                **looks,
            )
            box = word.get_window_extent()
            if not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
            word.remove()

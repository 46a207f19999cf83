"""A proof at work: the smallest cut found and the proven bound, closing in on each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from leastcut.formatting import PROVEN, percent
from leastcut.plot.canvas import axes_for, color, legend_below, open_frame


def closing_in(told: Sequence[Any], *, ax: Any = None) -> Any:
    """Draw how the smallest cut found and the proven bound closed in on each other.

    Parameters
    ----------
    told : sequence of ProofProgress
        What :func:`leastcut.certify` told its ``callback``.
    ax : Axes, optional
        Where to draw; None means a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 3, 1, 0], [3, 0, 0, 1], [1, 0, 0, 3], [0, 1, 3, 0]]
    >>> told = []
    >>> _ = leastcut.certify(S, [0, 0, 1, 1], callback=told.append)
    >>> leastcut.plot.closing_in(told).get_title()
    'Proven optimal'
    """
    told = list(told)
    if not told:
        raise ValueError(
            "The list of what a proof told is empty; gather it with told = [] and "
            "leastcut.certify(..., callback=told.append)."
        )
    ax = axes_for(ax)
    seconds = np.array([one.seconds for one in told])
    values = np.array([one.cut_value for one in told])
    bounds = np.array([one.lower_bound for one in told])
    found, proven = color(ax, "blue"), color(ax, "orange")
    ax.fill_between(seconds, bounds, values, step="post", color=found, alpha=0.18, linewidth=0)
    lines = (
        (values, found, "-", "o", "smallest cut found"),
        (bounds, proven, "--", "v", "proven: no cut is below"),
    )
    for heights, drawn, dashes, marker, label in lines:
        ax.step(seconds, heights, dashes, where="post", color=drawn, label=label)
        # A sign at the end, where the answer is.
        ax.plot(seconds[-1], heights[-1], marker, color=drawn, markersize=7, clip_on=False)
    gap = (values[-1] - bounds[-1]) / values[-1] if values[-1] > 0.0 else 0.0
    ax.set_title(
        "Proven optimal" if gap <= PROVEN else f"No cut is more than {percent(float(gap))} smaller"
    )
    ax.set(xlabel="seconds", ylabel="cut value")
    ax.margins(y=0.12)
    legend_below(ax, 40.0)
    open_frame(ax)
    return ax

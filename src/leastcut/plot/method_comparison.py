"""Methods side by side on one graph: the cut of each, and what none can be below."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastcut.formatting import seconds_text, significant
from leastcut.plot.canvas import axes_for, color, legend_below, open_frame


def comparison(compared: Any, *, ax: Any = None) -> Any:
    """Draw the cut values of several methods on one graph above the proven lower bound.

    Parameters
    ----------
    compared : Comparison
        What :func:`leastcut.compare` returns.
    ax : Axes, optional
        Where to draw; None means a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 2], [0, 0, 2, 0]]
    >>> compared = leastcut.compare(S, 2, methods=["kmeans", "partition"], random_state=0)
    >>> leastcut.plot.comparison(compared).get_title()
    'Cuts into 2 clusters, by method'
    """
    rows = sorted(compared.compared, key=lambda one: one.cut_value)
    if not rows:
        raise ValueError("The comparison holds no method, so there is nothing to draw.")
    ax = axes_for(ax, max(2.4, 1.2 + 0.42 * len(rows)))
    values = np.array([one.cut_value for one in rows])
    places = np.arange(len(rows))
    # 1. A bar for every method, the smallest cut on top; the best ones filled.
    best = values <= values[0] * (1.0 + 1e-9)
    blue = color(ax, "blue")
    for picked, face, hatch in ((best, blue, None), (~best, "none", "////")):
        ax.barh(places[picked], values[picked], 0.62, facecolor=face, edgecolor=blue, hatch=hatch)
    for place, one in zip(places, rows, strict=True):
        ax.annotate(
            f"{significant(one.cut_value)}  ({seconds_text(one.seconds)})",
            (one.cut_value, place),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            size="small",
        )
    # 2. What is proven.
    ax.axvline(
        compared.lower_bound,
        color=color(ax, "orange"),
        linestyle="--",
        label=f"proven: no cut is below {significant(compared.lower_bound)}",
    )
    ax.set_yticks(places, [one.method.replace("_", " ") for one in rows], parse_math=False)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlim(0.0, 1.3 * max(float(values.max()), compared.lower_bound) or 1.0)
    name = compared.cut if isinstance(compared.cut, str) else "weighted"
    ax.set(xlabel=f"{name} cut value")
    ax.set_title(f"Cuts into {compared.n_clusters} clusters, by method")
    legend_below(ax, 40.0)
    open_frame(ax)
    return ax

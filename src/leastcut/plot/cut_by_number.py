"""The cut value for every number of clusters, and what none can be below."""

from __future__ import annotations

from typing import Any

from leastcut.plot.canvas import axes_for, color, legend_below, open_frame
from leastcut.plot.paths import path_of


def cut_values(path: Any, *, ax: Any = None) -> Any:
    """Draw the cut value for every number of clusters above its proven lower bound.

    Parameters
    ----------
    path : CutPath or fitted SpectralClustering
        An estimator must have been fitted with ``n_clusters="auto"``; it then searches for the
        partitions that it has not looked for yet.
    ax : Axes, optional
        Where to draw; None means a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 2], [0, 0, 2, 0]]
    >>> path = leastcut.cut_path(S, [2, 3], affinity="precomputed", random_state=0)
    >>> leastcut.plot.cut_values(path).get_ylabel()
    'cut value'
    """
    path = path_of(path)
    ax = axes_for(ax)
    numbers, values, bounds = path.n_clusters, path.cut_values, path.lower_bounds
    found, proven = color(ax, "blue"), color(ax, "orange")
    ax.fill_between(numbers, bounds, values, color=found, alpha=0.18, linewidth=0)
    ax.plot(numbers, values, "o-", color=found, markersize=5, label="smallest cut found")
    ax.plot(numbers, bounds, "v--", color=proven, markersize=4, label="proven: no cut is below")
    ax.axvline(path.best, color=color(ax, "rule"), linestyle=":", zorder=0)
    # On the side of the line where there is room.
    is_left = path.best - numbers[0] < 0.2 * (numbers[-1] - numbers[0])
    ax.annotate(
        f"the evidence is for {path.best}",
        (path.best, 0.98),
        xycoords=("data", "axes fraction"),
        xytext=(4 if is_left else -4, 0),
        textcoords="offset points",
        rotation=90,
        ha="left" if is_left else "right",
        va="top",
        size="small",
    )
    ax.set_ylim(bottom=0.0)
    ax.set(xlabel="number of clusters", ylabel="cut value")
    ax.set_title("How much is cut, and how much must be")
    ax.xaxis.get_major_locator().set_params(integer=True)
    legend_below(ax, 40.0)
    open_frame(ax)
    return ax

"""How much speaks for every number of clusters."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastcut.plot.canvas import axes_for, color, open_frame
from leastcut.plot.paths import path_of


def evidence(path: Any, *, ax: Any = None) -> Any:
    """Draw how much speaks for every number of clusters, and which was chosen.

    Parameters
    ----------
    path : CutPath or fitted SpectralClustering
        An estimator must have been fitted with ``n_clusters="auto"``.
    ax : Axes, optional
        Where to draw; None means a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import leastcut
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(90, centers=3, cluster_std=0.5, random_state=0)
    >>> path = leastcut.cut_path(X, range(1, 8), random_state=0)
    >>> leastcut.plot.evidence(path).get_title()
    'The evidence is for 3 clusters'
    """
    path = path_of(path)
    ax = axes_for(ax)
    numbers, heights = path.n_clusters, np.nan_to_num(path.evidence)
    chosen = numbers == path.best
    # A line and a dot for every number; the chosen one larger, and of another shape.
    for picked, name, sign, size in ((~chosen, "blue", "o", 5), (chosen, "orange", "D", 8)):
        drawn = color(ax, name)
        ax.vlines(numbers[picked], 0.0, heights[picked], color=drawn, linewidth=2)
        ax.plot(numbers[picked], heights[picked], sign, color=drawn, markersize=size)
    ax.annotate(
        f"{path.best}",
        (path.best, float(heights[chosen][0])),
        xytext=(0, 9),
        textcoords="offset points",
        ha="center",
        weight="bold",
    )
    ax.set_ylim(0.0, max(1.18 * float(heights.max()), 1.0))
    ax.set(xlabel="number of clusters", ylabel="evidence", title=_title(path))
    ax.xaxis.get_major_locator().set_params(integer=True)
    open_frame(ax)
    return ax


def _title(path: Any) -> str:
    """Return what the evidence says."""
    one = "1 cluster" if path.best == 1 else f"{path.best} clusters"
    if not path.choice.is_weak:
        return f"The evidence is for {one}"
    others = " or ".join(map(str, path.choice.runners_up))
    return f"Weak evidence for {one}" + (f"; it could as well be {others}" if others else "")

"""Plots over numbers of clusters, methods and time: what was cut, and what must be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from leastcut.formatting import PROVEN, percent, seconds_text, significant
from leastcut.plot.canvas import axes_for, color, legend_below, open_frame


def path_of(found: Any) -> Any:
    """Return a path itself, or that of an estimator fitted with ``n_clusters="auto"``."""
    if hasattr(found, "choice"):
        return found
    if hasattr(found, "cut_path_"):
        return found.cut_path_
    if hasattr(found, "fit"):
        raise ValueError(
            f"This {type(found).__name__} has no cut_path_: it was not fitted with "
            "n_clusters='auto'. Fit it so, or draw what leastcut.cut_path returns."
        )
    raise TypeError(
        f"A picture over numbers of clusters needs a CutPath or an estimator fitted with "
        f"n_clusters='auto', not a {type(found).__name__}; leastcut.cut_path makes one."
    )


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

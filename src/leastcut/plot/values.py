"""Plots of cut values and bounds over numbers of clusters, methods and time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from leastcut.formatting import counted, gap_in_words, seconds_text, significant
from leastcut.plot.canvas import axes_for, color, finish, label

# What a legend calls the smallest known cut and its lower bound.
FOUND, BOUND = "smallest cut found", "proven: no cut is below"


def _path_of(path: Any) -> Any:
    """Return a path itself, or that of an estimator fitted with ``n_clusters="auto"``."""
    if hasattr(path, "choice"):
        return path
    if hasattr(path, "cut_path_"):
        return path.cut_path_
    kind = type(path).__name__
    if hasattr(path, "fit"):
        raise ValueError(
            f"This {kind} has no cut_path_: it was not fitted with n_clusters='auto'. Fit it with "
            "that, or draw what leastcut.cut_path returns."
        )
    raise TypeError(
        "A plot over numbers of clusters needs a CutPath or an estimator fitted with "
        f"n_clusters='auto', not a {kind}; leastcut.cut_path makes one."
    )


def evidence(path: Any, *, ax: Any = None) -> Any:
    """Draw the evidence for every number of clusters, and the number that was chosen.

    Parameters
    ----------
    path : CutPath or fitted SpectralClustering
        An estimator must have been fitted with ``n_clusters="auto"``.
    ax : Axes, optional
        Where to draw; by default a new figure.

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
    path = _path_of(path)
    ax = axes_for(ax)
    numbers, heights = path.n_clusters, np.nan_to_num(path.evidence)
    chosen = numbers == path.best
    # A line and a dot for every number; that of the chosen one larger, and of another shape.
    for picked, name, marker, size in ((~chosen, "blue", "o", 5), (chosen, "orange", "D", 8)):
        ink = color(ax, name)
        ax.vlines(numbers[picked], 0.0, heights[picked], color=ink, linewidth=2)
        ax.plot(numbers[picked], heights[picked], marker, color=ink, markersize=size)
    top = (path.best, float(heights[chosen][0]))
    label(ax, f"{path.best}", top, (0, 9), ha="center", weight="bold")
    ax.set_ylim(0.0, max(1.18 * float(heights.max()), 1.0))
    clusters, others = counted(path.best, "cluster"), " or ".join(map(str, path.choice.runners_up))
    title = f"The evidence is for {clusters}"
    if path.choice.is_weak:
        title = f"Weak evidence for {clusters}"
        title += f"; it could as well be {others}" if others else ""
    return finish(ax, title, xlabel="number of clusters", ylabel="evidence", integers=True)


def cut_values(path: Any, *, ax: Any = None) -> Any:
    """Draw the cut value for every number of clusters above its proven lower bound.

    Parameters
    ----------
    path : CutPath or fitted SpectralClustering
        An estimator must have been fitted with ``n_clusters="auto"``; it then searches for the
        partitions that it has not computed yet.
    ax : Axes, optional
        Where to draw; by default a new figure.

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
    path = _path_of(path)
    ax = axes_for(ax)
    numbers, values, bounds = path.n_clusters, path.cut_values, path.lower_bounds
    blue, orange = color(ax, "blue"), color(ax, "orange")
    ax.fill_between(numbers, bounds, values, color=blue, alpha=0.18, linewidth=0)
    ax.plot(numbers, values, "o-", color=blue, markersize=5, label=FOUND)
    ax.plot(numbers, bounds, "v--", color=orange, markersize=4, label=BOUND)
    ax.axvline(path.best, color=color(ax, "rule"), linestyle=":", zorder=0)
    # On the side of the line where there is space.
    is_left = path.best - numbers[0] < 0.2 * (numbers[-1] - numbers[0])
    label(
        ax,
        f"the evidence is for {path.best}",
        (path.best, 0.98),
        (4 if is_left else -4, 0),
        xycoords=("data", "axes fraction"),
        rotation=90,
        ha="left" if is_left else "right",
        va="top",
        size="small",
    )
    ax.set_ylim(bottom=0.0)
    names = {"xlabel": "number of clusters", "ylabel": "cut value"}
    return finish(ax, "How much is cut, and how much must be", legend=4.0, integers=True, **names)


def comparison(compared: Any, *, ax: Any = None) -> Any:
    """Draw the cut values of several methods on one graph above the proven lower bound.

    Parameters
    ----------
    compared : Comparison
        What :func:`leastcut.compare` returns.
    ax : Axes, optional
        Where to draw; by default a new figure.

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
    rows = sorted(compared.compared, key=lambda row: row.cut_value)
    if not rows:
        raise ValueError("The comparison holds no method, so there is nothing to draw.")
    ax = axes_for(ax, max(2.4, 1.2 + 0.42 * len(rows)))
    values, places = np.array([row.cut_value for row in rows]), np.arange(len(rows))
    # 1. A bar for every method, the smallest cut on top; the best ones filled.
    best, blue = values <= values[0] * (1.0 + 1e-9), color(ax, "blue")
    texts = [f"{significant(row.cut_value)}  ({seconds_text(row.seconds)})" for row in rows]
    for picked, look in ((best, {"facecolor": blue}), (~best, {"fill": False, "hatch": "////"})):
        bars = ax.barh(places[picked], values[picked], 0.62, edgecolor=blue, **look)
        ax.bar_label(bars, list(np.array(texts)[picked]), padding=5, size="small")
    # 2. The bound.
    bound = compared.lower_bound
    words = f"{BOUND} {significant(bound)}"
    ax.axvline(bound, color=color(ax, "orange"), linestyle="--", label=words)
    ax.set_yticks(places, [row.method.replace("_", " ") for row in rows], parse_math=False)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlim(0.0, 1.3 * max(float(values.max()), bound) or 1.0)
    title = f"Cuts into {compared.n_clusters} clusters, by method"
    return finish(ax, title, xlabel=f"{compared.cut} cut value", legend=4.0)


def closing_in(told: Sequence[Any], *, ax: Any = None) -> Any:
    """Draw how the smallest cut found and the proven bound closed in on each other.

    Parameters
    ----------
    told : sequence of ProofProgress
        What :func:`leastcut.certify` passed to its ``callback``.
    ax : Axes, optional
        Where to draw; by default a new figure.

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
    'Proven: no partition is smaller'
    """
    told = list(told)
    if not told:
        raise ValueError(
            "The list of what a proof reported is empty; fill it with told = [] and "
            "leastcut.certify(..., callback=told.append)."
        )
    ax = axes_for(ax)
    seconds, values, bounds = (
        np.array([getattr(one, name) for one in told])
        for name in ("seconds", "cut_value", "lower_bound")
    )
    blue, orange = color(ax, "blue"), color(ax, "orange")
    ax.fill_between(seconds, bounds, values, step="post", color=blue, alpha=0.18, linewidth=0)
    for heights, ink, dashes, marker, name in (
        (values, blue, "-", "o", FOUND),
        (bounds, orange, "--", "v", BOUND),
    ):
        ax.step(seconds, heights, dashes, where="post", color=ink, label=name)
        # A marker at the end, where the result is.
        ax.plot(seconds[-1], heights[-1], marker, color=ink, markersize=7, clip_on=False)
    ax.margins(y=0.12)
    gap = max((values[-1] - bounds[-1]) / values[-1], 0.0) if values[-1] > 0.0 else 0.0
    words = gap_in_words(float(gap))
    title = words[0].upper() + words[1:]
    return finish(ax, title, xlabel="seconds", ylabel="cut value", legend=4.0)

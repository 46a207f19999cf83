"""Plots of cut values and bounds over numbers of clusters, methods and time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from leastcut.formatting import counted, gap_in_words, seconds_text, significant
from leastcut.plot.canvas import axes_for, color, finish, label

VALUE_LABEL, BOUND_LABEL = "smallest cut found", "lower bound"  # in legends


def _path_of(path: Any) -> Any:
    """Return a path, or the path of an estimator fitted with ``n_clusters="auto"``."""
    if hasattr(path, "choice"):
        return path
    if hasattr(path, "cut_path_"):
        return path.cut_path_
    kind = type(path).__name__
    if hasattr(path, "fit"):
        raise ValueError(
            f"This {kind} has no cut_path_, because it was not fitted with n_clusters='auto'. Fit "
            "it with n_clusters='auto', or plot the result of leastcut.cut_path."
        )
    raise TypeError(
        "A plot over numbers of clusters needs a CutPath or an estimator fitted with "
        f"n_clusters='auto', not a {kind}; leastcut.cut_path returns a CutPath."
    )


def evidence(path: Any, *, ax: Any = None) -> Any:
    """Plot the evidence for each number of clusters, with the chosen number.

    Parameters
    ----------
    path : CutPath or fitted SpectralClustering
        The path, or an estimator fitted with ``n_clusters="auto"``.
    ax : Axes, optional
        The axes to draw on; by default the axes of a new figure.

    Returns
    -------
    Axes
        The axes of the plot.

    See Also
    --------
    cut_values : Cut values and lower bounds for the same numbers of clusters.
    leastcut.cut_path : Compute a path.

    Notes
    -----
    If the evidence is weak, the title says so and lists the alternatives.

    Examples
    --------
    >>> import leastcut
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(90, centers=3, cluster_std=0.5, random_state=0)
    >>> path = leastcut.cut_path(X, range(1, 8), random_state=0)
    >>> leastcut.plot.evidence(path).get_title()
    'The evidence supports 3 clusters'
    """
    path = _path_of(path)
    ax = axes_for(ax)
    numbers, heights = path.n_clusters, np.nan_to_num(path.evidence)
    chosen = numbers == path.best
    # A line and a dot for each number; the chosen one has a larger dot of another shape.
    for picked, name, marker, size in ((~chosen, "blue", "o", 5), (chosen, "orange", "D", 8)):
        ink = color(ax, name)
        ax.vlines(numbers[picked], 0.0, heights[picked], color=ink, linewidth=2)
        ax.plot(numbers[picked], heights[picked], marker, color=ink, markersize=size)
    top = (path.best, float(heights[chosen][0]))
    label(ax, f"{path.best}", top, (0, 9), ha="center", weight="bold")
    ax.set_ylim(0.0, max(1.18 * float(heights.max()), 1.0))
    clusters, others = counted(path.best, "cluster"), ", ".join(map(str, path.choice.runners_up))
    title = f"The evidence supports {clusters}"
    if path.choice.is_weak:
        title = f"Weak evidence for {clusters}"
        title += f"; alternatives: {others}" if others else ""
    return finish(ax, title, xlabel="number of clusters", ylabel="evidence", integers=True)


def cut_values(path: Any, *, ax: Any = None) -> Any:
    """Plot the cut value and its lower bound for each number of clusters.

    Parameters
    ----------
    path : CutPath or fitted SpectralClustering
        The path, or an estimator fitted with ``n_clusters="auto"``.
    ax : Axes, optional
        The axes to draw on; by default the axes of a new figure.

    Returns
    -------
    Axes
        The axes of the plot.

    See Also
    --------
    evidence : Evidence for the same numbers of clusters.
    leastcut.cut_path : Compute a path.

    Notes
    -----
    Partitions that the path has not computed yet are computed first, which can take minutes.

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
    ax.plot(numbers, values, "o-", color=blue, markersize=5, label=VALUE_LABEL)
    ax.plot(numbers, bounds, "v--", color=orange, markersize=4, label=BOUND_LABEL)
    ax.axvline(path.best, color=color(ax, "rule"), linestyle=":", zorder=0)
    # Label the line on the side with more space.
    is_left = path.best - numbers[0] < 0.2 * (numbers[-1] - numbers[0])
    label(
        ax,
        f"{path.best} chosen",
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
    return finish(ax, "Cut value and lower bound", legend=4.0, integers=True, **names)


def comparison(result: Any, *, ax: Any = None) -> Any:
    """Plot the cut values of several methods on one graph, with the lower bound.

    Parameters
    ----------
    result : Comparison
        The result of :func:`leastcut.compare`.
    ax : Axes, optional
        The axes to draw on; by default the axes of a new figure.

    Returns
    -------
    Axes
        The axes of the plot.

    See Also
    --------
    leastcut.compare : Run several methods on one graph.

    Notes
    -----
    The smallest cut is on top; the bars of the best methods are filled.

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 2], [0, 0, 2, 0]]
    >>> result = leastcut.compare(S, 2, methods=["kmeans", "partition"], random_state=0)
    >>> leastcut.plot.comparison(result).get_title()
    'Cuts into 2 clusters, by method'
    """
    rows = sorted(result.compared, key=lambda row: row.cut_value)
    if not rows:
        raise ValueError("The comparison is empty; pass at least one method to compare.")
    ax = axes_for(ax, max(2.4, 1.2 + 0.42 * len(rows)))
    values, places = np.array([row.cut_value for row in rows]), np.arange(len(rows))
    # 1. The bars.
    best, blue = values <= values[0] * (1.0 + 1e-9), color(ax, "blue")
    texts = [f"{significant(row.cut_value)}  ({seconds_text(row.seconds)})" for row in rows]
    for picked, fill in ((best, {"facecolor": blue}), (~best, {"fill": False, "hatch": "////"})):
        bars = ax.barh(places[picked], values[picked], 0.62, edgecolor=blue, **fill)
        ax.bar_label(bars, list(np.array(texts)[picked]), padding=5, size="small")
    # 2. The bound.
    bound = result.lower_bound
    text = f"{BOUND_LABEL} {significant(bound)}"
    ax.axvline(bound, color=color(ax, "orange"), linestyle="--", label=text)
    ax.set_yticks(places, [row.method.replace("_", " ") for row in rows], parse_math=False)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlim(0.0, 1.3 * max(float(values.max()), bound) or 1.0)
    title = f"Cuts into {result.n_clusters} clusters, by method"
    return finish(ax, title, xlabel=f"{result.cut} cut value", legend=4.0)


def closing_in(history: Sequence[Any], *, ax: Any = None) -> Any:
    """Plot the smallest cut value and the lower bound of a proof over time.

    Parameters
    ----------
    history : sequence of ProofProgress
        The arguments that :func:`leastcut.certify` passed to its ``callback``.
    ax : Axes, optional
        The axes to draw on; by default the axes of a new figure.

    Returns
    -------
    Axes
        The axes of the plot.

    See Also
    --------
    leastcut.certify : Prove how close a cut is to the smallest one.

    Notes
    -----
    The title states the final gap.

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 3, 1, 0], [3, 0, 0, 1], [1, 0, 0, 3], [0, 1, 3, 0]]
    >>> progress = []
    >>> _ = leastcut.certify(S, [0, 0, 1, 1], callback=progress.append)
    >>> leastcut.plot.closing_in(progress).get_title()
    'Proven: no partition is smaller'
    """
    reports = list(history)
    if not reports:
        raise ValueError(
            "The list of progress reports is empty; create it with progress = [] and "
            "leastcut.certify(..., callback=progress.append)."
        )
    ax = axes_for(ax)
    seconds, values, bounds = (
        np.array([getattr(report, name) for report in reports])
        for name in ("seconds", "cut_value", "lower_bound")
    )
    blue, orange = color(ax, "blue"), color(ax, "orange")
    ax.fill_between(seconds, bounds, values, step="post", color=blue, alpha=0.18, linewidth=0)
    for heights, ink, dashes, marker, name in (
        (values, blue, "-", "o", VALUE_LABEL),
        (bounds, orange, "--", "v", BOUND_LABEL),
    ):
        ax.step(seconds, heights, dashes, where="post", color=ink, label=name)
        # A marker at the final values.
        ax.plot(seconds[-1], heights[-1], marker, color=ink, markersize=7, clip_on=False)
    ax.margins(y=0.12)
    gap = max((values[-1] - bounds[-1]) / values[-1], 0.0) if values[-1] > 0.0 else 0.0
    text = gap_in_words(float(gap))
    title = text[0].upper() + text[1:]
    return finish(ax, title, xlabel="seconds", ylabel="cut value", legend=4.0)

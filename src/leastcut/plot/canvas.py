"""What all pictures share: axes to draw on, and colours that suit what is behind them.

Text, ticks and frames are left to matplotlib's settings, so that a style of the user's holds, and
no setting is changed. Only what the pictures add has colours of its own, in two sets; which of them
is told by the background.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from leastcut.optional_packages import needed_for
from leastcut.report.design.palette import CLUSTER_COLORS, CLUSTER_MARKERS, PALETTE, luminance

DARK = 0.18
"""Luminance below which a background is dark: white and black letters are as legible there."""


USUAL = 18.0
"""Square inches of the axes of a usual figure."""


def axes_for(ax: Any, height: float | None = None, *, square: bool = False) -> Any:
    """Return the axes given, or those of a new figure.

    A new figure belongs to pyplot where pyplot is in use, or in a notebook, which then shows it as
    any other. Otherwise nothing but the axes holds it: it goes when they go, and any thread may
    draw one.

    Parameters
    ----------
    ax : Axes or None
    height : float, optional
        Inches of a new figure; None means what matplotlib is set to.
    square : bool, default=False
        Whether a new figure is as wide as it is high.

    Returns
    -------
    Axes
    """
    if ax is not None:
        return ax
    with needed_for("Pictures", "matplotlib", "plot"):
        from matplotlib import rcParams
        from matplotlib.figure import Figure

    width, usual = rcParams["figure.figsize"]
    height = usual if height is None else height
    size = (height * 1.1, height) if square else (width, height)
    if not _pyplot_shows_figures():
        return Figure(figsize=size, layout="constrained").add_subplot()
    from matplotlib import pyplot

    return pyplot.figure(figsize=size, layout="constrained").add_subplot()


def _pyplot_shows_figures() -> bool:
    """Whether the user would look for a figure at pyplot."""
    if "matplotlib.pyplot" in sys.modules:
        return True
    ipython = sys.modules.get("IPython")
    return ipython is not None and ipython.get_ipython() is not None


def is_dark(ax: Any) -> bool:
    """Return whether the background of some axes is dark."""
    from matplotlib import rcParams
    from matplotlib.colors import to_rgba

    for behind in (ax.get_facecolor(), ax.figure.get_facecolor()):
        *color, opacity = to_rgba(behind)
        if opacity > 0.5:
            return luminance(*color) < DARK
    # What is behind the figure is not known, but what letters were chosen for is.
    return luminance(*to_rgba(rcParams["text.color"])[:3]) > DARK


def color(ax: Any, name: str) -> str:
    """Return a colour of the palette, as it is on the background of some axes."""
    return PALETTE[name][is_dark(ax)]


def cluster_looks(ax: Any, n_clusters: int) -> list[tuple[str, str]]:
    """Return a colour and a marker for every cluster."""
    dark, colors = is_dark(ax), list(CLUSTER_COLORS.values())
    return [
        (colors[k % len(colors)][dark], CLUSTER_MARKERS[k % len(CLUSTER_MARKERS)])
        for k in range(n_clusters)
    ]


def outlined(ax: Any) -> list[Any]:
    """Return the effect by which letters stand out from points behind them."""
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=2.5, foreground=color(ax, "page"))]


def room(ax: Any) -> float:
    """Return the size of some axes in units of those of a usual figure, at most 1."""
    width, height = ax.figure.get_size_inches() * ax.get_position().size
    return float(min(width * height / USUAL, 1.0))


def open_frame(ax: Any) -> None:
    """Leave only the axes that have ticks."""
    ax.spines[["top", "right"]].set_visible(False)


def no_frame(ax: Any) -> None:
    """Leave neither frame nor ticks: positions mean nothing but being near."""
    ax.spines[:].set_visible(False)
    ax.set(xticks=[], yticks=[], aspect="equal")


def legend_below(ax: Any, points: float) -> None:
    """Put the legend so many points below the axes, whatever the size of the figure."""
    from matplotlib.transforms import ScaledTranslation

    down = ScaledTranslation(0.0, -points / 72.0, ax.figure.dpi_scale_trans)
    ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=ax.transAxes + down,
        ncols=2,
        frameon=False,
        borderaxespad=0.0,
    )


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

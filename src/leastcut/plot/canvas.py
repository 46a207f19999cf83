"""Axes, colors and labels shared by all plots.

Text, ticks and frames follow the settings of matplotlib. Each color has a variant for light and
one for dark backgrounds.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from io import BytesIO
from typing import Any

import numpy as np

from leastcut.optional_packages import needed_for

# Colors of pages and figures by name, for light and dark screens. Blue, orange and teal can be
# distinguished with color blindness.
PALETTE = {
    "page": ("#ffffff", "#14191f"),
    "ink": ("#1b2430", "#e4e9ee"),
    "soft": ("#52606d", "#a9b4c0"),
    "line": ("#dde3e9", "#313b46"),
    "rule": ("#87929e", "#74818e"),
    "blue": ("#1c5fa8", "#82b7f2"),
    "orange": ("#ad480e", "#f2a46c"),
    "teal": ("#19706c", "#62c4bc"),
    "near": ("#f1f3f5", "#212930"),
    "better": ("#dbe9fb", "#17324f"),
}

# Optimized so that any two differ clearly with every kind of color blindness, and all have enough
# contrast with the background.
CLUSTER_COLORS = {
    "cluster-0": ("#333fa4", "#2776bd"),
    "cluster-1": ("#b0410c", "#c97f1a"),
    "cluster-2": ("#2c7f86", "#41b49a"),
    "cluster-3": ("#c28b0e", "#d9cf45"),
    "cluster-4": ("#3398f9", "#9fd1f5"),
    "cluster-5": ("#752757", "#b3396d"),
    "cluster-6": ("#410000", "#b58ef7"),
}
# One more marker than colors, so that 56 clusters have different combinations.
CLUSTER_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p")

DARK = 0.18  # luminance below which a background counts as dark
USUAL_AREA = 18.0  # square inches of the axes of a default figure


# -- axes


def axes_for(ax: Any, height: float | None = None, *, square: bool = False) -> Any:
    """Return ``ax``, or the axes of a new figure ``height`` inches high if it is None.

    In a notebook, or if pyplot is imported, pyplot creates the figure and can show it. Otherwise
    the figure is freed with its axes, and any thread may create one.
    """
    if ax is not None:
        return ax
    with needed_for("Plots", "matplotlib", "plot"):
        from matplotlib import rcParams
        from matplotlib.figure import Figure as new_figure

    width, usual = rcParams["figure.figsize"]
    height = usual if height is None else height
    size = (height * 1.1, height) if square else (width, height)
    ipython = sys.modules.get("IPython")
    is_notebook = ipython is not None and ipython.get_ipython() is not None
    if is_notebook or "matplotlib.pyplot" in sys.modules:
        from matplotlib.pyplot import figure as new_figure  # type: ignore[assignment]
    return new_figure(figsize=size, layout="constrained").add_subplot()


def finish(
    ax: Any, title: str, *, legend: float | None = None, integers: bool = False, **labels: str
) -> Any:
    """Set title and labels, remove the top and right spines, and return the axes.

    ``legend`` adds a legend below the axes, at this distance in font sizes; ``integers`` puts the
    ticks at integers.
    """
    ax.set(title=title, **labels)
    if integers:
        ax.xaxis.get_major_locator().set_params(integer=True)
    if legend is not None:
        below = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "borderaxespad": legend}
        ax.legend(ncols=2, frameon=False, **below)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def no_frame(ax: Any) -> None:
    """Remove frame and ticks, for positions without units."""
    ax.spines[:].set_visible(False)
    ax.set(xticks=[], yticks=[], aspect="equal")


def relative_area(ax: Any) -> float:
    """Return the area of the axes relative to the axes of a default figure, at most 1."""
    width, height = ax.figure.get_size_inches() * ax.get_position().size
    return float(min(width * height / USUAL_AREA, 1.0))


def file_of(figure: Any, kind: str, **options: Any) -> bytes:
    """Return a figure as the content of a file, without dates and random ids."""
    from matplotlib import rc_context

    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    file = BytesIO()
    with rc_context({"svg.hashsalt": "leastcut"}):
        figure.savefig(file, format=kind, metadata=dates.get(kind), **options)
    return file.getvalue()


# -- colors


def luminance(red: float, green: float, blue: float) -> float:
    """Return the relative luminance of a color, from 0 to 1, as WCAG 2 defines it."""
    parts = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (red, green, blue)
    ]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def is_dark(ax: Any) -> bool:
    """Return whether the background of some axes is dark."""
    from matplotlib import rcParams
    from matplotlib.colors import to_rgba

    for background in (ax.get_facecolor(), ax.figure.get_facecolor()):
        *color, opacity = to_rgba(background)
        if opacity > 0.5:
            return luminance(*color) < DARK
    # The background of a transparent figure is unknown; infer it from the color of text.
    return luminance(*to_rgba(rcParams["text.color"])[:3]) > DARK


def color(ax: Any, name: str) -> str:
    """Return a color of the palette for the background of ``ax``."""
    return PALETTE[name][is_dark(ax)]


def cluster_styles(ax: Any, n_clusters: int) -> list[tuple[str, str]]:
    """Return a color and a marker for each cluster."""
    dark, colors = is_dark(ax), list(CLUSTER_COLORS.values())
    return [
        (colors[k % len(colors)][dark], CLUSTER_MARKERS[k % len(CLUSTER_MARKERS)])
        for k in range(n_clusters)
    ]


# -- labels


def label(ax: Any, text: str, place: Any, shift: Any, **properties: Any) -> Any:
    """Write a text at a position shifted by ``shift`` points."""
    return ax.annotate(text, place, xytext=shift, textcoords="offset points", **properties)


def label_points(
    ax: Any,
    texts: Sequence[str],
    places: np.ndarray,
    sides: Sequence[Iterable[Sequence[float]]],
    **properties: Any,
) -> None:
    """Write texts next to points, skipping texts that would overlap an earlier one.

    ``sides`` lists for each text the shifts to try, in points. Call this last: later changes of the
    axes would move the points.
    """
    from matplotlib.patheffects import withStroke

    # 1. Determine the positions.
    ax.autoscale_view()
    ax.figure.draw_without_rendering()
    taken: list[Any] = []
    outline = [withStroke(linewidth=2.5, foreground=color(ax, "page"))]
    properties |= {"path_effects": outline, "parse_math": False, "annotation_clip": False}
    # 2. Put each text at the first side where it overlaps no other.
    for text, place, shifts in zip(texts, places, sides, strict=True):
        for shift in shifts:
            annotation = label(ax, text, place, shift, **properties)
            box = annotation.get_window_extent()
            if not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
            annotation.remove()

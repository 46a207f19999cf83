"""The figures of a report: SVG in the colors of the page, and images where there are many points.

An image cannot change its colors, so it is there twice: for light screens and for dark ones.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable
from html import escape
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np

from leastcut.optional_packages import needed_for
from leastcut.plot import PLOTS
from leastcut.plot.canvas import CLUSTER_COLORS, PALETTE, file_of
from leastcut.plot.clusters import MOST_BARS, Clusters
from leastcut.plot.node_plots import MANY_POINTS, MOST_LAID_OUT, scatter

COLORS = PALETTE | CLUSTER_COLORS  # by their names in the page's style sheet
WIDTH = 3.75  # inches of a figure: about as wide as a telephone
LETTERS = 9.2  # font size: small letters are still legible on a telephone
DOTS = 190  # per inch of images: two for each of a screen's
MOST_EDGES = 3_000  # up to which a graph is drawn

# The metadata and the style sheet of an SVG file; a page has its own.
NOT_IN_A_PAGE = re.compile(r"<metadata>.*?</metadata>|<style.*?</style>", re.DOTALL)


def _style(screen: int) -> Any:
    """Return matplotlib's settings for a light (0) or a dark (1) screen."""
    page, ink, rule = (PALETTE[name][screen] for name in ("page", "ink", "rule"))
    texts = ("text.color", "axes.titlecolor", "axes.labelcolor")
    return {
        **dict.fromkeys(("figure.facecolor", "axes.facecolor"), page),
        **dict.fromkeys((*texts, "xtick.labelcolor", "ytick.labelcolor"), ink),
        **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), rule),
        "font.size": 8.5,
        "axes.titlesize": 9,
        "axes.titlelocation": "left",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "legend.frameon": False,
        "svg.fonttype": "none",  # text stays text, which can be searched and read aloud
        "svg.hashsalt": "leastcut",  # names inside the file are random otherwise
    }


STYLE, DARK_STYLE = _style(0), _style(1)
INK, SOFT = PALETTE["ink"][0], PALETTE["soft"][0]
BLUE, ORANGE, TEAL = (PALETTE[name][0] for name in ("blue", "orange", "teal"))


class Drawing(NamedTuple):
    """A figure of the page: its markup, and its title as text."""

    markup: str
    title: str


def drawing(
    name: str, draw: Callable[[Any], Any], height: float = 2.9, *, is_image: bool = False
) -> Drawing:
    """Return a figure of so many inches as SVG, or as two images.

    ``draw`` draws on the axes that it gets, and gives them a title; ``name`` is unique on the page.
    """
    if not is_image:
        svg, title = _drawn(draw, height, STYLE, "svg")
        return Drawing(inline_svg(svg.decode("utf-8"), name, title), title)
    light, title = _drawn(draw, height, STYLE, "png")
    dark, _ = _drawn(draw, height, DARK_STYLE, "png")
    markup = (
        '<picture><source media="screen and (prefers-color-scheme: dark)" '
        f'srcset="{_as_address(dark)}">'
        f'<img alt="{escape(title)}" src="{_as_address(light)}"></picture>'
    )
    return Drawing(markup, title)


def _drawn(draw: Callable[[Any], Any], height: float, style: Any, kind: str) -> tuple[bytes, str]:
    """Return a figure as a file, and its title, which the page has in its own letters."""
    with needed_for("Figures", "matplotlib", "report"):
        from matplotlib import rc_context
        from matplotlib.figure import Figure

    with rc_context(style | {"font.size": LETTERS}):
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        ax = figure.add_subplot()
        draw(ax)
        title = " ".join((ax.get_title() or ax.get_title(loc="left")).split())
        for place in ("left", "center"):
            ax.set_title("", loc=place)
        return file_of(figure, kind, **({} if kind == "svg" else {"dpi": DOTS})), title


def inline_svg(svg: str, name: str, title: str) -> str:
    """Return an SVG file as part of a page, in colors that change with the page."""
    # 1. From the root on: a page has no XML declaration, and the figure no size of its own.
    box = re.search(r'viewBox="[^"]*"', svg)
    assert box is not None
    inside = NOT_IN_A_PAGE.sub("", svg[svg.index(">", box.end()) + 1 :])
    # 2. Names inside a figure must be unique on the page.
    for before in ('id="', "url(#", 'xlink:href="#'):
        inside = inside.replace(before, f"{before}{name}-")
    # 3. Colors by name.
    for color, (light, _) in COLORS.items():
        inside = inside.replace(light, f"var(--{color})")
    return f'<svg role="img" aria-label="{escape(title)}" {box[0]}>{inside}'


def _as_address(image: bytes) -> str:
    return f"data:image/png;base64,{b64encode(image).decode('ascii')}"


# -- the figures of a report


def of_clusters(clusters: Clusters, points: Any = None) -> list[Drawing]:
    """Return the figures of the clusters, among them their points if these have two features."""
    figures = []
    many = clusters.n_nodes > MANY_POINTS
    if points is not None and points.ndim == 2 and points.shape[1] == 2:

        def draw_points(ax: Any) -> None:
            scatter(ax, np.asarray(points), clusters.labels, clusters.n_clusters)
            ax.set(xlabel="first feature", ylabel="second feature", title="The samples, by cluster")

        figures.append(drawing("points", draw_points, 3.4, is_image=many))
    if clusters.n_nodes <= MOST_LAID_OUT and clusters.graph.n_stored // 2 <= MOST_EDGES:
        figures.append(plotted("graph", clusters, 3.2))
    if np.count_nonzero(clusters.graph.degrees) > 2:
        figures.append(plotted("embedding", clusters, 3.4, is_image=many))
    figures.append(plotted("affinity", clusters, 3.1, is_image=True))
    height = 2.9 if clusters.n_clusters > MOST_BARS else 0.8 + 0.3 * max(clusters.n_clusters, 4)
    return [*figures, plotted("sizes", clusters, height)]


def plotted(name: str, found: Any, height: float = 2.9, *, is_image: bool = False) -> Drawing:
    """Return the plot of that name in :data:`leastcut.plot.PLOTS`."""
    return drawing(name, lambda ax: PLOTS[name].draw(found, ax=ax), height, is_image=is_image)


def of_segments(picture: np.ndarray) -> str:
    """Return the address of an image of colored segments."""
    from matplotlib.image import imsave

    file = BytesIO()
    imsave(file, np.ascontiguousarray(picture), format="png")
    return _as_address(file.getvalue())

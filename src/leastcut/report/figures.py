"""Figures of a report: SVG in the colors of the page, or PNG images for many points.

Each PNG image is stored twice, for light and for dark screens.
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

COLORS = PALETTE | CLUSTER_COLORS  # by their names in report.css
WIDTH = 3.75  # inches: about the width of a phone
FONT_SIZE = 9.2  # legible on a phone
DPI = 190  # resolution of images: about twice that of a screen
MOST_EDGES = 3_000  # edges up to which the graph is drawn

# Metadata and style sheet of an SVG file, which the page replaces by its own.
HEAD_OF_SVG = re.compile(r"<metadata>.*?</metadata>|<style.*?</style>", re.DOTALL)


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
        "svg.fonttype": "none",  # keep text searchable and accessible
        "svg.hashsalt": "leastcut",  # ids are random otherwise
    }


STYLE, DARK_STYLE = _style(0), _style(1)
INK, SOFT = PALETTE["ink"][0], PALETTE["soft"][0]
BLUE, ORANGE, TEAL = (PALETTE[name][0] for name in ("blue", "orange", "teal"))


class Drawing(NamedTuple):
    """A figure of the report: its HTML markup and its title."""

    markup: str
    title: str


def drawing(
    name: str, draw: Callable[[Any], Any], height: float = 2.9, *, is_image: bool = False
) -> Drawing:
    """Return a figure ``height`` inches high as SVG, or as two images.

    ``draw`` plots on the axes passed to it and sets their title; ``name`` is unique on the page.
    """
    if not is_image:
        svg, title = _drawn(draw, height, STYLE, "svg")
        return Drawing(inline_svg(svg.decode("utf-8"), name, title), title)
    light, title = _drawn(draw, height, STYLE, "png")
    dark, _ = _drawn(draw, height, DARK_STYLE, "png")
    markup = (
        '<picture><source media="screen and (prefers-color-scheme: dark)" '
        f'srcset="{_data_url(dark)}">'
        f'<img alt="{escape(title)}" src="{_data_url(light)}"></picture>'
    )
    return Drawing(markup, title)


def _drawn(draw: Callable[[Any], Any], height: float, style: Any, kind: str) -> tuple[bytes, str]:
    """Return a figure as the content of a file without the title, and the title."""
    with needed_for("Figures", "matplotlib", "report"):
        from matplotlib import rc_context
        from matplotlib.figure import Figure

    with rc_context(style | {"font.size": FONT_SIZE}):
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        ax = figure.add_subplot()
        draw(ax)
        title = " ".join((ax.get_title() or ax.get_title(loc="left")).split())
        for loc in ("left", "center"):
            ax.set_title("", loc=loc)
        return file_of(figure, kind, **({} if kind == "svg" else {"dpi": DPI})), title


def inline_svg(svg: str, name: str, title: str) -> str:
    """Return the content of an SVG file as an inline element in the colors of the page."""
    # 1. Remove the XML declaration, the size and the style sheet.
    box = re.search(r'viewBox="[^"]*"', svg)
    assert box is not None
    content = HEAD_OF_SVG.sub("", svg[svg.index(">", box.end()) + 1 :])
    # 2. Make ids unique on the page.
    for before in ('id="', "url(#", 'xlink:href="#'):
        content = content.replace(before, f"{before}{name}-")
    # 3. Replace colors by variables of the style sheet.
    for color, (light, _) in COLORS.items():
        content = content.replace(light, f"var(--{color})")
    return f'<svg role="img" aria-label="{escape(title)}" {box[0]}>{content}'


def _data_url(image: bytes) -> str:
    return f"data:image/png;base64,{b64encode(image).decode('ascii')}"


# -- the figures of a report


def cluster_figures(clusters: Clusters, points: Any = None) -> list[Drawing]:
    """Return the figures of the clusters, with a scatter plot if points have two features."""
    figures = []
    many = clusters.n_nodes > MANY_POINTS
    if points is not None and points.ndim == 2 and points.shape[1] == 2:

        def draw_points(ax: Any) -> None:
            scatter(ax, np.asarray(points), clusters.labels, clusters.n_clusters)
            ax.set(xlabel="first feature", ylabel="second feature", title="Samples by cluster")

        figures.append(drawing("points", draw_points, 3.4, is_image=many))
    if clusters.n_nodes <= MOST_LAID_OUT and clusters.graph.n_stored // 2 <= MOST_EDGES:
        figures.append(plotted("graph", clusters, 3.2))
    if np.count_nonzero(clusters.graph.degrees) > 2:
        figures.append(plotted("embedding", clusters, 3.4, is_image=many))
    figures.append(plotted("affinity", clusters, 3.1, is_image=True))
    height = 2.9 if clusters.n_clusters > MOST_BARS else 0.8 + 0.3 * max(clusters.n_clusters, 4)
    return [*figures, plotted("sizes", clusters, height)]


def plotted(name: str, result: Any, height: float = 2.9, *, is_image: bool = False) -> Drawing:
    """Return the plot ``name`` of :data:`leastcut.plot.PLOTS`."""
    return drawing(name, lambda ax: PLOTS[name].draw(result, ax=ax), height, is_image=is_image)


def image_url(image: np.ndarray) -> str:
    """Return the data URL of an image."""
    from matplotlib.image import imsave

    file = BytesIO()
    imsave(file, np.ascontiguousarray(image), format="png")
    return _data_url(file.getvalue())

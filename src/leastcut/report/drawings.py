"""The pictures of a report: lines and letters as SVG in the page's colours, many points as images.

What is an image cannot change its colours, so it is there twice: for light screens and for dark.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from html import escape
from io import BytesIO
from typing import Any

import numpy as np

from leastcut.plot import PICTURES
from leastcut.plot.cluster_sizes import MOST_BARS
from leastcut.plot.clusters import Clusters
from leastcut.plot.embedded_nodes import MANY_POINTS, scatter
from leastcut.plot.graph_drawing import MOST_LAID_OUT
from leastcut.report.answer import Answer
from leastcut.report.design.figures import inline_svg, style, svg_text
from leastcut.report.design.palette import CLUSTER_COLORS, PALETTE

EXTRA = "report"
"""The extra that brings what reports need."""

COLORS = PALETTE | CLUSTER_COLORS
"""Every colour of a report, by the name that the page's rules have for it."""

WIDTH = 3.75
"""Inches of a picture: about as wide as a telephone."""

LETTERS = 9.2
"""Points of letters: small ones are still legible on a telephone."""

DOTS = 190
"""Dots per inch of images: two for each of a screen's."""

MOST_EDGES = 3_000
"""Edges up to which a graph is drawn: more are a ball of wool."""


class Drawing:
    """A picture on the page: its markup, and what it is called."""

    def __init__(self, name: str, markup: str, title: str) -> None:
        self.name, self.markup, self.title = name, markup, title


def drawing(
    name: str, draw: Callable[[Any], Any], *, height: float = 2.9, is_image: bool = False
) -> Drawing:
    """Return a picture of the page.

    Parameters
    ----------
    name : str
        No other picture of the page has it.
    draw : callable
        Draws on the axes that it is given, and gives them a title.
    height : float, default=2.9
        Inches, of a width of 3.75.
    is_image : bool, default=False
        Whether it is drawn as two images.

    Returns
    -------
    Drawing
    """
    if not is_image:
        svg, title = _drawn(draw, height, svg_text, is_dark=False)
        return Drawing(name, inline_svg(svg, name, title, COLORS), title)
    light, title = _drawn(draw, height, _data, is_dark=False)
    dark, _ = _drawn(draw, height, _data, is_dark=True)
    markup = (
        f'<picture><source media="screen and (prefers-color-scheme: dark)" srcset="{dark}">'
        f'<img alt="{escape(title)}" src="{light}"></picture>'
    )
    return Drawing(name, markup, title)


def _drawn(
    draw: Callable[[Any], Any], height: float, write: Callable[[Any], str], *, is_dark: bool
) -> tuple[str, str]:
    """Return a figure written down, and its title, which the page says in its own letters."""
    with style(EXTRA, is_dark=is_dark):
        from matplotlib import rcParams
        from matplotlib.figure import Figure

        rcParams["font.size"] = LETTERS  # until the style's context ends
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        ax = figure.add_subplot()
        draw(ax)
        title = " ".join((ax.get_title() or ax.get_title(loc="left")).split())
        for place in ("left", "center"):
            ax.set_title("", loc=place)
        return write(figure), title


def _data(figure: Any) -> str:
    """Return a figure as an image that stands in the page itself."""
    file = BytesIO()
    figure.savefig(file, format="png", dpi=DOTS)
    return _as_address(file.getvalue())


def _as_address(image: bytes) -> str:
    return f"data:image/png;base64,{b64encode(image).decode('ascii')}"


def of_clusters(answer: Answer, clusters: Clusters) -> list[Drawing]:
    """Return the pictures of the clusters themselves."""
    found = []
    many = clusters.n_nodes > MANY_POINTS
    if answer.points is not None and answer.points.ndim == 2 and answer.points.shape[1] == 2:
        points = np.asarray(answer.points)

        def of_points(ax: Any) -> None:
            scatter(ax, points, clusters.labels, clusters.n_clusters)
            ax.set(xlabel="first feature", ylabel="second feature", title="The samples, by cluster")

        found.append(drawing("points", of_points, height=3.4, is_image=many))
    edges = clusters.graph.n_stored // 2
    if clusters.n_nodes <= MOST_LAID_OUT and edges <= MOST_EDGES:
        found.append(drawing("graph", _of("graph", clusters), height=3.2))
    if np.count_nonzero(clusters.graph.degrees) > 2:
        found.append(drawing("embedding", _of("embedding", clusters), height=3.4, is_image=many))
    found.append(drawing("affinity", _of("affinity", clusters), height=3.1, is_image=True))
    height = 2.9 if clusters.n_clusters > MOST_BARS else 0.8 + 0.3 * max(clusters.n_clusters, 4)
    found.append(drawing("sizes", _of("sizes", clusters), height=height))
    return found


def of_path(answer: Answer) -> list[Drawing]:
    """Return the pictures of the evidence for a number of clusters."""
    return [drawing(name, _of(name, answer.path)) for name in ("evidence", "cut_values")]


def of_comparison(answer: Answer) -> Drawing:
    """Return the picture of several methods."""
    height = max(1.8, 1.1 + 0.3 * len(answer.comparison.compared))
    return drawing("methods", _of("comparison", answer.comparison), height=height)


def _of(name: str, found: Any) -> Callable[[Any], Any]:
    """Return what draws a picture by its name."""
    return lambda ax: PICTURES[name].draw(found, ax=ax)


def of_segments(picture: np.ndarray) -> str:
    """Return an image of coloured segments, as it is, to stand in the page."""
    from matplotlib.image import imsave

    file = BytesIO()
    imsave(file, np.ascontiguousarray(picture), format="png")
    return _as_address(file.getvalue())

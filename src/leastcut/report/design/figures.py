"""How figures on a page are set, and SVG that stands inside a page. Needs matplotlib."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from html import escape
from io import BytesIO
from typing import Any

from leastcut.optional_packages import needed_for
from leastcut.report.design.palette import PALETTE


def _style(screen: int) -> Any:
    """Return how figures look on a light (0) or on a dark (1) screen."""
    color = {name: pair[screen] for name, pair in PALETTE.items()}
    return {
        "font.size": 8.5,
        "figure.facecolor": color["page"],
        "axes.facecolor": color["page"],
        "axes.edgecolor": color["rule"],
        "axes.labelcolor": color["ink"],
        "text.color": color["ink"],
        "axes.titlesize": 9,
        "axes.titlecolor": color["ink"],
        "axes.titlelocation": "left",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "xtick.color": color["rule"],
        "ytick.color": color["rule"],
        "xtick.labelcolor": color["ink"],
        "ytick.labelcolor": color["ink"],
        "legend.frameon": False,
        "svg.fonttype": "none",  # text stays text, to be found and read aloud
        "svg.hashsalt": "leastcut",  # names inside the file are random otherwise
    }


STYLE, DARK_STYLE = _style(0), _style(1)
"""How all figures look, on a light screen and on a dark one."""


def style(extra: str, *, is_dark: bool = False) -> AbstractContextManager[None]:
    """Return a context in which figures look as they should.

    ``extra`` is the extra of the package that brings matplotlib, should it be missing.
    """
    with needed_for("Figures", "matplotlib", extra):
        from matplotlib import rc_context

    return rc_context(DARK_STYLE if is_dark else STYLE)


def svg_text(drawn: Any) -> str:
    """Return a matplotlib figure as SVG; without a date the same figure is the same text."""
    file = BytesIO()
    drawn.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue().decode("utf-8")


NOT_IN_A_PAGE = re.compile(r"<metadata>.*?</metadata>|<style.*?</style>", re.DOTALL)
"""What a drawing has to say about itself as a file, and its rules, which are the page's."""


def inline_svg(svg: str, name: str, title: str, palette: Mapping[str, tuple[str, str]]) -> str:
    """Return SVG to stand inside a page, in the page's colours.

    Parameters
    ----------
    svg : str
        A file of its own, drawn in the light colours of ``palette``.
    name : str
        No other drawing of the page has it.
    title : str
        What is to be seen, for who does not see it.
    palette : mapping of str to pairs of str
        The colours that change with the page, as the page's rules call them.

    Returns
    -------
    str
    """
    # 1. from the root on: the XML declaration before it has no place inside a page, nor has a
    # size of its own
    box = re.search(r'viewBox="[^"]*"', svg)
    assert box is not None
    inside = NOT_IN_A_PAGE.sub("", svg[svg.index(">", box.end()) + 1 :])
    # 2. names inside a drawing must be the only ones of their kind on the whole page
    for before in ('id="', "url(#", 'xlink:href="#'):
        inside = inside.replace(before, f"{before}{name}-")
    # 3. colours by name, so that they change with the page's
    for color, (light, _) in palette.items():
        inside = inside.replace(light, f"var(--{color})")
    return f'<svg role="img" aria-label="{escape(title)}" {box[0]}>{inside}'

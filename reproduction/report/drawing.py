"""The style of figures, and figures as files or inside a page. Needs matplotlib."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from io import StringIO
from pathlib import Path
from typing import Any

from reproduction.data.printed import numbered
from reproduction.files import replacing
from reproduction.report.selection import select
from reproduction.runs.records import Record

PALETTE = {
    "page": ("#ffffff", "#14191f"),
    "ink": ("#1b2430", "#e4e9ee"),
    "soft": ("#52606d", "#a9b4c0"),
    "line": ("#dde3e9", "#313b46"),
    "rule": ("#87929e", "#74818e"),
    "blue": ("#1c5fa8", "#82b7f2"),
    "orange": ("#ad480e", "#f2a46c"),
    "teal": ("#19706c", "#62c4bc"),
    "same": ("#e0f1ee", "#14352f"),
    "near": ("#f1f3f5", "#212930"),
    "better": ("#dbe9fb", "#17324f"),
    "worse": ("#fde7d5", "#4a2b12"),
}
"""The colors by name, for light and dark screens; the last four are backgrounds of verdicts. Blue,
orange and teal can be distinguished with color blindness, and have different markers too."""

PAGE, INK, SOFT, RULE = (PALETTE[name][0] for name in ("page", "ink", "soft", "rule"))
BLUE, ORANGE, TEAL = (PALETTE[name][0] for name in ("blue", "orange", "teal"))

STYLE: Any = {
    "font.size": 8.5,
    "figure.facecolor": PAGE,
    "axes.facecolor": PAGE,
    "axes.edgecolor": RULE,
    "axes.labelcolor": INK,
    "text.color": INK,
    "axes.titlesize": 9,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": RULE,
    "ytick.color": RULE,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "svg.fonttype": "none",  # keeps text searchable and accessible
    "svg.hashsalt": "leastcut",  # ids in the file are random otherwise
}
"""The style of all figures."""

PANEL = (3.75, 2.9)
"""Width and height of a panel in inches, as wide as a phone screen."""

Panel = Callable[[Any], None]
"""Draws one panel of a figure on the given axes."""


@dataclass(frozen=True)
class Figure:
    """A figure made from records.

    Attributes
    ----------
    name : str
        The name in commands and files.
    title : str
    caption : str
    panels : callable
        Returns the panels for some records.
    number : str or None
        The number in the paper, as "Figure 1"; None for a figure that is not in the paper.
    in_row : int
        Maximum number of panels in a row.
    """

    name: str
    title: str
    caption: str
    panels: Callable[[list[Record]], list[Panel]]
    number: str | None = None
    in_row: int = 1

    @property
    def heading(self) -> str:
        """The title with the paper's number."""
        return numbered(self.title, self.number)


def save(figure: Figure, records: list[Record], folder: Path) -> list[Path]:
    """Draw a figure and write it as PNG and SVG.

    Parameters
    ----------
    figure : Figure
    records : list of records
    folder : Path
        Is created if it does not exist.

    Returns
    -------
    list of Path
        The files. Equal records give identical files.
    """
    from matplotlib import rc_context

    # without a date, files are reproducible
    options: dict[str, Any] = {"png": {"dpi": 180}, "svg": {"metadata": {"Date": None}}}
    paths = []
    with rc_context(STYLE):
        canvas = _canvas(figure.panels(records), figure.in_row)
        folder.mkdir(parents=True, exist_ok=True)
        for kind in options:
            paths.append(folder / f"{figure.name}.{kind}")
            with replacing(paths[-1]) as file:
                canvas.savefig(file, format=kind, **options[kind])
    return paths


def _canvas(panels: list[Panel], in_row: int) -> Any:
    """Return a matplotlib figure with the panels in rows."""
    from matplotlib.figure import Figure as Canvas
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    width, height = PANEL
    in_row = min(in_row, len(panels))
    n_rows = -(-len(panels) // in_row)
    layout = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08)
    canvas = Canvas(figsize=(width * in_row, height * n_rows), layout=layout)
    for position, panel in enumerate(panels, start=1):
        panel(canvas.add_subplot(n_rows, in_row, position))
    return canvas


def inline_panels(figure: Figure, records: list[Record]) -> list[str]:
    """Return the panels of a figure as SVG inside a page, in the colors of the page."""
    from matplotlib import rc_context

    inline = []
    with rc_context(STYLE):
        for number, panel in enumerate(figure.panels(records)):
            canvas = _canvas([panel], 1)
            title = canvas.axes[0].get_title(loc="left") or figure.title
            file = StringIO()
            canvas.savefig(file, format="svg", metadata={"Date": None})
            name = f"{figure.name}-{number}"
            inline.append(_inline(file.getvalue(), name, " ".join(title.split())))
    return inline


def _inline(svg: str, name: str, title: str) -> str:
    """Return an SVG file as an element of a page; ``name`` makes its ids unique."""
    # 1. remove the XML declaration, the size, the metadata and the styles
    box = re.search(r'viewBox="[^"]*"', svg)
    assert box is not None
    content = svg[svg.index(">", box.end()) + 1 :]
    content = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", content, flags=re.DOTALL)
    # 2. make the ids unique on the page
    for before in ('id="', "url(#", 'xlink:href="#'):
        content = content.replace(before, f"{before}{name}-")
    # 3. replace colors by names, which the page defines for light and dark screens
    for color, (light, _) in PALETTE.items():
        content = content.replace(light, f"var(--{color})")
    return f'<svg role="img" aria-label="{escape(title)}" {box[0]}>{content}'


def needed(records: list[Record], figure: str, experiment: str) -> list[Record]:
    """Return the records of a figure, or raise if there are none."""
    selected = select(records, experiment)
    if not selected:
        raise ValueError(
            f"There are no records for the figure {figure!r}; create them with 'python -m "
            f"reproduction run --figure {figure}'."
        )
    return selected

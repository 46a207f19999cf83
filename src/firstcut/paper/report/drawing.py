"""What all figures share: the colours, panels side by side, and the files they are written to.

Needs matplotlib, which is imported when the first figure is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from firstcut.paper.data.printed import numbered
from firstcut.paper.data.whole_files import written_whole
from firstcut.paper.optional_packages import needed_for
from firstcut.paper.report.record_selection import select
from firstcut.paper.runs.records import Record

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
"""The colours of pages and figures by name: on a light screen, and on a dark one. Verdicts are
backgrounds. Blue, orange and teal are told apart by the colour-blind, and differ in shape too."""

LIGHT = {name: light for name, (light, _) in PALETTE.items()}
"""The colours in which figures are drawn; a page puts its own in their place."""

PAGE, INK, SOFT, RULE = (LIGHT[name] for name in ("page", "ink", "soft", "rule"))
BLUE, ORANGE, TEAL = (LIGHT[name] for name in ("blue", "orange", "teal"))

PANEL = (3.75, 2.9)
"""Inches of a panel: about as wide as a telephone, on which panels stand below each other."""

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
    "svg.fonttype": "none",  # text stays text, to be found and read aloud
    "svg.hashsalt": "firstcut",  # names inside the file are random otherwise
}
"""How all figures look."""

Panel = Callable[[Any], None]
"""Draws one part of a figure on the axes that it is given."""


@dataclass(frozen=True)
class Figure:
    """A figure that can be drawn from records.

    Attributes
    ----------
    name : str
        What the command line and the files call it.
    title : str
    caption : str
        What is to be seen in it.
    panels : callable
        From the records to what draws its panels, one after another.
    number : str or None
        The paper's number of it, "Figure 1"; None for a figure that only we have.
    in_row : int
        How many panels stand side by side, where there is room.
    """

    name: str
    title: str
    caption: str
    panels: Callable[[list[Record]], list[Panel]]
    number: str | None = None
    in_row: int = 1

    @property
    def heading(self) -> str:
        """The title, with the paper's number."""
        return numbered(self.title, self.number)


def save(figure: Figure, records: list[Record], folder: Path) -> list[Path]:
    """Draw a figure and write it as PNG and SVG.

    Parameters
    ----------
    figure : Figure
    records : list of records
    folder : Path
        Is made if need be.

    Returns
    -------
    list of Path
        The files; the same records give the same bytes.
    """
    paths = []
    with _style():
        drawn = _drawn(figure.panels(records), figure.in_row)
        folder.mkdir(parents=True, exist_ok=True)
        for ending in ("png", "svg"):
            paths.append(folder / f"{figure.name}.{ending}")
            with written_whole(paths[-1]) as file:
                _write(drawn, file, ending)
    return paths


def svg_panels(figure: Figure, records: list[Record]) -> list[tuple[str, str]]:
    """Return every panel of a figure: its title, and an SVG of its own."""
    found = []
    with _style():
        for panel in figure.panels(records):
            drawn = _drawn([panel], 1)
            file = BytesIO()
            _write(drawn, file, "svg")
            title = drawn.axes[0].get_title(loc="left") or figure.title
            found.append((" ".join(title.split()), file.getvalue().decode("utf-8")))
    return found


def _style() -> AbstractContextManager[None]:
    """Return a context in which figures look as they should."""
    with needed_for("Figures", "matplotlib"):
        from matplotlib import rc_context

    return rc_context(STYLE)


def _drawn(panels: list[Panel], in_row: int) -> Any:
    """Return a matplotlib figure with some panels, row by row."""
    from matplotlib.figure import Figure as Canvas
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    width, height = PANEL
    in_row = min(in_row, len(panels))
    n_rows = -(-len(panels) // in_row)
    layout = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08)
    drawn = Canvas(figsize=(width * in_row, height * n_rows), layout=layout)
    for position, panel in enumerate(panels, start=1):
        panel(drawn.add_subplot(n_rows, in_row, position))
    return drawn


def _write(drawn: Any, file: Path | BytesIO, ending: str) -> None:
    # without a date the same figure is the same file
    options: Any = {"dpi": 180} if ending == "png" else {"metadata": {"Date": None}}
    drawn.savefig(file, format=ending, **options)


def needed(records: list[Record], figure: str, experiment: str) -> list[Record]:
    """Return the records that a figure shows, or say how to make them."""
    found = select(records, experiment)
    if not found:
        raise ValueError(
            f"There are no records for the figure {figure!r}; make them with 'firstcut paper run "
            f"--figure {figure}'."
        )
    return found

"""What all figures share: panels side by side, and the files they are written to.

Needs matplotlib, which is imported when the first figure is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leastcut.files.whole_files import written_whole
from leastcut.page_design.figures import style, svg_text
from leastcut.paper.data.printed import numbered
from leastcut.paper.report.record_selection import select
from leastcut.paper.runs.records import Record

EXTRA = "paper"
"""The extra that brings what figures and pages need."""

PANEL = (3.75, 2.9)
"""Inches of a panel: about as wide as a telephone, on which panels stand below each other."""

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
    with style(EXTRA):
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
    with style(EXTRA):
        for panel in figure.panels(records):
            drawn = _drawn([panel], 1)
            title = drawn.axes[0].get_title(loc="left") or figure.title
            found.append((" ".join(title.split()), svg_text(drawn)))
    return found


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


def _write(drawn: Any, file: Path, ending: str) -> None:
    # without a date the same figure is the same file
    options: Any = {"dpi": 180} if ending == "png" else {"metadata": {"Date": None}}
    drawn.savefig(file, format=ending, **options)


def needed(records: list[Record], figure: str, experiment: str) -> list[Record]:
    """Return the records that a figure shows, or say how to make them."""
    found = select(records, experiment)
    if not found:
        raise ValueError(
            f"There are no records for the figure {figure!r}; make them with 'leastcut paper run "
            f"--figure {figure}'."
        )
    return found

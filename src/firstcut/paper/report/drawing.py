"""What all figures share: their look, an empty canvas, and the files they are written to.

Needs matplotlib, which is imported when the first figure is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firstcut.paper.data.printed import numbered
from firstcut.paper.data.whole_files import written_whole
from firstcut.paper.optional_packages import needed_for
from firstcut.paper.report.record_selection import select
from firstcut.paper.runs.records import Record

INK, SOFT = "#1f2933", "#9aa5b1"
BLUE, ORANGE, TEAL = "#2b6cb0", "#c05621", "#2c7a7b"

STYLE: Any = {
    "font.size": 9,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "text.color": INK,
    "axes.titlesize": 9.5,
    "axes.titlecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "svg.fonttype": "none",  # text stays text, to be found and read aloud
    "svg.hashsalt": "firstcut",  # names inside the file are random otherwise
}
"""How all figures look."""


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
    draw : callable
        From the records to a matplotlib figure.
    number : str or None
        The paper's number of it, "Figure 1"; None for a figure that only we have.
    """

    name: str
    title: str
    caption: str
    draw: Callable[[list[Record]], Any]
    number: str | None = None

    @property
    def heading(self) -> str:
        """The title, with the paper's number."""
        return numbered(self.title, self.number)


def canvas(width: float, height: float) -> Any:
    """Return an empty figure of some inches, or say what to install."""
    with needed_for("Figures", "matplotlib"):
        from matplotlib.figure import Figure as Canvas
        from matplotlib.layout_engine import ConstrainedLayoutEngine

    return Canvas(figsize=(width, height), layout=ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.1))


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
    with needed_for("Figures", "matplotlib"):
        from matplotlib import rc_context

    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    with rc_context(STYLE):
        drawn = figure.draw(records)
        # without a date the same figure is the same file
        for ending, options in (("png", {"dpi": 130}), ("svg", {"metadata": {"Date": None}})):
            paths.append(folder / f"{figure.name}.{ending}")
            with written_whole(paths[-1]) as file:
                drawn.savefig(file, **options)
    return paths


def needed(records: list[Record], figure: str, experiment: str) -> list[Record]:
    """Return the records that a figure shows, or say how to make them."""
    found = select(records, experiment)
    if not found:
        raise ValueError(
            f"There are no records for the figure {figure!r}; make them with 'firstcut paper run "
            f"--figure {figure}'."
        )
    return found

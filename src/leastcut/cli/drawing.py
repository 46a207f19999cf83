"""``--plot``: the picture of an answer that says most, or the one that is asked for."""

from __future__ import annotations

import io
from typing import Any

from leastcut.cli.inputs import Posed
from leastcut.cli.outputs import Output
from leastcut.optional_packages import needed_for

DRAWN_NODES = 300
"""Nodes up to which a graph is drawn edge by edge; the embedding shows larger ones."""

SEGMENTS = "segments"
"""The picture of a picture: its coloured segments."""

DOTS_PER_INCH = 150
"""How fine a drawing of pixels is."""


def check_picture(picture: str | None) -> None:
    """Raise if there is no picture of that name that can be drawn of an answer."""
    if picture is None:
        return
    from leastcut.plot import PICTURES
    from leastcut.validation import check_choice

    known = [name for name, kind in PICTURES.items() if kind.shows in ("path", "clusters")]
    check_choice("--picture", picture, [*known, SEGMENTS])


def needs_path(picture: str | None) -> bool:
    """Return whether a picture shows many numbers of clusters."""
    if picture is None or picture == SEGMENTS:
        return False
    from leastcut.plot import PICTURES

    return PICTURES[picture].shows == "path"


def usual_picture(posed: Posed) -> str:
    """Return the picture that says most."""
    if posed.image_graph is not None:
        return SEGMENTS
    is_small = posed.loaded.kind == "graph" and posed.n_nodes <= DRAWN_NODES
    return "graph" if is_small else "embedding"


def draw(output: Output, picture: str, posed: Posed, found: Any, cut: str, path: Any) -> None:
    """Draw a picture of an answer into a file."""
    from leastcut.plot import PICTURES

    kind = PICTURES[picture]
    axes = kind.draw(path) if kind.shows == "path" else kind.draw(found, posed.graph, cut=cut)
    save(output, axes)


def save(output: Output, axes: Any) -> None:
    """Write the figure of some axes, whole or not at all."""
    with needed_for("Pictures", "matplotlib", "plot"):
        from matplotlib import rc_context
    buffer = io.BytesIO()
    # the same picture every time: neither dates nor random names in it
    with rc_context({"svg.hashsalt": "leastcut"}):
        fixed = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(output.suffix)
        axes.figure.savefig(
            buffer,
            format=output.suffix[1:],
            dpi=DOTS_PER_INCH,
            bbox_inches="tight",
            metadata=fixed,
        )
    output.write_bytes(buffer.getvalue())

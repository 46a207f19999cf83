"""Anchor graphs: points joined through few anchors, for data of any size."""

# Registers what functions do with the problem, whichever module is imported first.
import leastcut.anchors.graph  # noqa: F401

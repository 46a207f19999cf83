"""Anchor graphs: points connected through few anchors, for data of any size."""

# Registers the implementations of generic functions for anchor problems.
import leastcut.anchors.graph  # noqa: F401

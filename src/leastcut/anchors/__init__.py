"""Anchor graphs: points joined through few anchors, for data of any size."""

# Registers the verbs, so that they know the problem whichever module is imported first.
import leastcut.anchors.verbs  # noqa: F401

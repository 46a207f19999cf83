"""Anchor graphs: points joined through few anchors, cut exactly, wherever the points lie."""

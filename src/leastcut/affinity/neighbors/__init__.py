"""Nearest neighbours: one door (``index``), the searches behind it, and which of them is taken."""

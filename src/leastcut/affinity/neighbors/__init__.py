"""Nearest-neighbor search: ``index`` selects and runs one of the searches of this package."""

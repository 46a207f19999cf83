"""Nearest-neighbor search: ``index`` selects one of the searches beside it and runs it."""

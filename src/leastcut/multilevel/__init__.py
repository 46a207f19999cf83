"""The multilevel search for the smallest cut, refinement by moves, and cut paths."""

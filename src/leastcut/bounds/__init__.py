"""Proofs that a cut is the smallest there is, or how far from it at most."""

"""Partitions of several graphs over the same nodes."""

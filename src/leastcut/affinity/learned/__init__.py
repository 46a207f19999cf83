"""Learned graphs: one connected component for each cluster."""

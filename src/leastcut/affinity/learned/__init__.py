"""Graphs that are learned together with their clusters, so that there is a component for each."""

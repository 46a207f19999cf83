"""Several graphs over the same nodes, and one partition of them all."""

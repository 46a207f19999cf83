"""From a graph to eigenvectors: the cut problem without its discreteness, and its solvers."""

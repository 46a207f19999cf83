"""Lower bounds on the cut, and proofs of optimality."""

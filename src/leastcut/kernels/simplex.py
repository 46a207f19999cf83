"""Rows of weights that are not negative and add up to 1: distances of pairs, and projections.

The projection of a row a under spreads r, all positive, is the row s that minimises
Σ_j (s_j − a_j)² / r_j where s ≥ 0 and Σ_j s_j = 1. By the conditions of optimality there is one
number τ with s_j = max(a_j − τ r_j, 0). With r = 1 it is the nearest point of the simplex.

References
----------
C. Michelot, "A finite algorithm for finding the projection of a point onto the canonical simplex of
Rⁿ", Journal of Optimization Theory and Applications 50 (1986).
"""

from __future__ import annotations

import numpy as np

from leastcut.kernels import kernel


@kernel
def project_rows(start, stop, indptr, points, spreads, least, weights):
    """Project the rows start..stop-1 onto the simplex.

    The entries of row i are at indptr[i]:indptr[i + 1]; a point may be -inf, but not all of a row.
    Weights up to ``least`` are 0, and the others of the row still add up to 1. Overwritten: weights
    at these rows. O(m²) for m entries at worst, and O(m) as a rule.
    """
    for i in range(start, stop):
        begin, end = indptr[i], indptr[i + 1]
        # 1. Adding a multiple of r to a adds to τ and changes no weight. So the largest a_j / r_j
        #    becomes 0: what cancels is then small, however far below 0 the row lies.
        top = -np.inf
        for p in range(begin, end):
            top = max(top, points[p] / spreads[p])
        # 2. With all entries in, τ is too small. An entry whose weight is not above the least is
        #    out for good, and τ grows, until no entry leaves. Weights add up to 1: one stays.
        for p in range(begin, end):
            weights[p] = np.inf
        threshold = -np.inf
        n_in, before = end - begin + 1, end - begin + 2
        while n_in < before:
            before, n_in = n_in, 0
            total, spread = -1.0, 0.0
            for p in range(begin, end):
                point = points[p] - top * spreads[p]
                if weights[p] > 0.0 and point > threshold * spreads[p] + least:
                    n_in += 1
                    total += point
                    spread += spreads[p]
                else:
                    weights[p] = 0.0
            threshold = total / spread
        # 3. The weights.
        for p in range(begin, end):
            if weights[p] > 0.0:
                weights[p] = points[p] - top * spreads[p] - threshold * spreads[p]


@kernel
def pair_distances(start, stop, indptr, indices, vectors, squared):
    """Compute ‖f_i − f_j‖² for the pairs listed in the rows start..stop-1.

    Overwritten: squared, at these rows. O(c) for each pair.
    """
    n_columns = vectors.shape[1]
    for i in range(start, stop):
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            total = 0.0
            for k in range(n_columns):
                difference = vectors[i, k] - vectors[j, k]
                total += difference * difference
            squared[p] = total

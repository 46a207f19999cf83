"""Distances of pairs, and projection of rows of weights onto the simplex.

The weighted projection of a row a with positive r is the row s that minimizes Σ_j (s_j − a_j)² /
r_j subject to s ≥ 0 and Σ_j s_j = 1. By the optimality conditions there is a number τ with s_j =
max(a_j − τ r_j, 0). For r = 1 it is the Euclidean projection.

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

    The entries of row i are at indptr[i]:indptr[i + 1]; entries may be -inf, but not all of a row.
    Weights up to ``least`` become 0, and the others still sum to 1. Overwritten: weights at these
    rows. O(m²) for m entries at worst, and typically O(m).
    """
    for i in range(start, stop):
        begin, end = indptr[i], indptr[i + 1]
        # 1. Adding a multiple of r to a shifts τ and changes no weight. Shifting the largest a_j /
        #    r_j to 0 avoids cancellation, however negative the row is.
        top = -np.inf
        for p in range(begin, end):
            top = max(top, points[p] / spreads[p])
        # 2. With all entries active, τ is too small. An entry whose weight is at most ``least`` is
        #    dropped permanently, and τ grows, until none is dropped. One remains, as weights sum to
        #    1.
        for p in range(begin, end):
            weights[p] = np.inf
        threshold = -np.inf
        n_active, n_before = end - begin + 1, end - begin + 2
        while n_active < n_before:
            n_before, n_active = n_active, 0
            total, spread = -1.0, 0.0
            for p in range(begin, end):
                point = points[p] - top * spreads[p]
                if weights[p] > 0.0 and point > threshold * spreads[p] + least:
                    n_active += 1
                    total += point
                    spread += spreads[p]
                else:
                    weights[p] = 0.0
            threshold = total / spread
        # 3. Compute the weights.
        for p in range(begin, end):
            if weights[p] > 0.0:
                weights[p] = points[p] - top * spreads[p] - threshold * spreads[p]


@kernel
def pair_distances(start, stop, indptr, indices, vectors, squared):
    """Compute ‖f_i − f_j‖² for the pairs listed in the rows start..stop-1.

    Overwritten: squared, at these rows. O(c) per pair.
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

"""The prices nearest to given ones at which no set of a list is cheaper than the clusters known."""

from __future__ import annotations

from leastcut.kernels import kernel


@kernel
def settle_prices(rows, clusters, costs, spread, softness, prices, level, multipliers, limits):
    """Move prices λ and the level μ to where no listed set is cheaper, by Hildreth's steps.

    Minimises Σ (λ_i − λ'_i)² / spread_i + (μ − μ')² + δ² / softness from the values that come in,
    subject to λ(C_k) + μ = costs_k for the clusters, and sign · λ − extra μ ≤ rest + δ for every
    row. ``rows``: indptr, indices, signs, extra, rest; ``clusters``: indptr, indices. A step makes
    one multiplier optimal with the others held. Changes ``prices``, ``level`` (μ, δ) and
    ``multipliers``, which begin at 0; a further call goes on from there. ``limits``: sweeps, and
    the violation at which it ends. Returns the largest violation of the last sweep.
    """
    indptr, indices, signs, extra, rest = rows
    starts, members = clusters
    worst = 0.0
    for _ in range(int(limits[0])):
        worst = 0.0
        for k in range(costs.shape[0]):
            excess, norm = level[0] - costs[k], 1.0
            for p in range(starts[k], starts[k + 1]):
                excess += prices[members[p]]
                norm += spread[members[p]]
            step = excess / norm
            level[0] -= step
            for p in range(starts[k], starts[k + 1]):
                prices[members[p]] -= step * spread[members[p]]
            worst = max(worst, abs(excess))
        for r in range(rest.shape[0]):
            excess = -rest[r] - level[1] - extra[r] * level[0]
            norm = softness + extra[r] * extra[r]
            for p in range(indptr[r], indptr[r + 1]):
                excess += signs[p] * prices[indices[p]]
                norm += spread[indices[p]]
            step = max(excess / norm, -multipliers[r])
            if step == 0.0:
                continue
            multipliers[r] += step
            level[0] += step * extra[r]
            level[1] += step * softness
            for p in range(indptr[r], indptr[r + 1]):
                prices[indices[p]] -= step * signs[p] * spread[indices[p]]
            worst = max(worst, excess)
        if worst < limits[1]:
            break
    return worst

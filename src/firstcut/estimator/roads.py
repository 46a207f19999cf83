"""The two roads from a graph to labels that the estimator offers, with one signature.

``multilevel`` is the search of :func:`firstcut.partition`; ``spectral`` is the classical line:
relax, discretize and, where asked for, refine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from firstcut.estimator.isolated import Core
from firstcut.estimator.leading import discretize_leading
from firstcut.estimator.spectrum import Spectrum
from firstcut.partitioning.refinement import refine
from firstcut.partitioning.search import Progress, partition

Say = Callable[[str], None]
"""Takes a line of progress."""


@dataclass(frozen=True, eq=False)
class Request:
    """How the labels are wanted.

    Attributes
    ----------
    method : str
        The discretizer, a name in ``firstcut.DISCRETIZERS``.
    options : dict
        Its options.
    refine : bool
        Whether its labels are refined.
    effort : str
        The effort of the multilevel search.
    say : callable
        Takes a line of progress.
    """

    method: str
    options: dict[str, Any]
    refine: bool
    effort: str
    say: Say


def spectral(
    core: Core, n_clusters: int, spectrum: Spectrum, request: Request
) -> tuple[np.ndarray, int]:
    """Return labels and the iterations of the discretization."""
    relaxation = spectrum.relaxation
    request.say(
        f"Relaxed by {relaxation.solver!r}: no cut into {n_clusters} is below "
        f"{relaxation.eigenvalues[:n_clusters].sum():.6g}"
    )
    request.say(f"Computing label assignment using {request.method}")
    found = discretize_leading(
        relaxation,
        n_clusters,
        min(spectrum.n_components, relaxation.n_clusters),
        request.method,
        core.graph,
        random_state=spectrum.seed,
        **request.options,
    )
    request.say(f"Assigned after {found.n_iter} iterations, cut value {found.cut_value:.6g}")
    if not request.refine:
        return found.labels, found.n_iter
    refined = refine(core.graph, found.labels, core.weights)
    request.say(f"Refined, cut value {refined.cut_value:.6g}")
    return refined.labels, found.n_iter


def multilevel(
    core: Core, n_clusters: int, spectrum: Spectrum, request: Request
) -> tuple[np.ndarray, int]:
    """Return labels and the rounds of the search."""
    rounds = 0

    def listen(progress: Progress) -> None:
        nonlocal rounds
        rounds += 1
        request.say(
            f"{progress.stage} {progress.fraction:4.0%}, {progress.seconds:.1f} s, "
            f"cut value {progress.cut_value:.6g}"
        )

    request.say(f"Computing label assignment using multilevel search, effort={request.effort!r}")
    found = partition(
        core.graph,
        n_clusters,
        core.weights,
        effort=request.effort,
        lower_bound=False,
        random_state=spectrum.seed,
        callback=listen,
    )
    return found.labels, max(rounds, 1)


ROADS = {"spectral": spectral, "multilevel": multilevel}
"""The roads by the name that ``solver`` has for them."""

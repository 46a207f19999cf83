"""A cell certified: our cut, and below it the bound that no labels on the same graph can pass.

The paper judges its cuts by OPT_r, the relaxed optimum, which is far below most of them and leaves
open whose fault that is. A certified bound tells, and where it meets the cut, that is the optimum.
"""

from __future__ import annotations

import time
from decimal import ROUND_FLOOR, Context

import numpy as np

import leastcut
from leastcut.paper.runs.protocol import Problem
from leastcut.paper.runs.records import N_DIGITS, Record


def certificate(problem: Problem, labels: np.ndarray, time_limit: float, seed: int) -> Record:
    """Return the cut value of some labels, or of better ones, and its certified bound.

    Parameters
    ----------
    problem : Problem
    labels : ndarray of shape (n,)
        Our best ones.
    time_limit : float
        Seconds. A proof that ends before is the same every time; the bound of one that does not is
        as high as the machine got.
    seed : int
        Of the search for better labels that goes before the proof.
    """
    begin = time.perf_counter()
    proven = leastcut.certify(
        problem.graph, labels, problem.cut, time_limit=time_limit, random_state=seed
    )
    seconds = time.perf_counter() - begin
    assert proven.lower_bound is not None
    return {
        "value": proven.cut_value,
        "bound": rounded_down(proven.lower_bound),
        # OPT_r once more, as the tiny table is recorded without it
        "relaxed": float(problem.relaxation.eigenvalues.sum()),
        "seconds": seconds,
        "labels": proven.labels,
    }


def rounded_down(bound: float) -> float:
    """Return a bound with the digits that records have, never above itself: it stays proven.

    >>> rounded_down(0.66666666666), rounded_down(2.0)
    (0.666666666, 2.0)
    """
    return float(Context(prec=N_DIGITS, rounding=ROUND_FLOOR).create_decimal_from_float(bound))

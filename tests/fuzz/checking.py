"""Check a case against all invariants, and shrink cases that violate one."""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from fuzz.cases import Case, GraphCase, PointsCase
from fuzz.invariants import ERRORS, invariants_of
from fuzz.outcome import NotApplicable, Violation, is_refusal

SHRINK_SECONDS = 8.0
"""Time limit for shrinking a case."""

HOLDS, REFUSED, VIOLATED = "holds", "rejected", "violated"


@dataclass(frozen=True, eq=False)
class Verdict:
    """The outcome of checking one invariant on one case."""

    invariant: str
    outcome: str
    message: str = ""
    code: str = ""
    within: str = ""


def check_invariant(case: Case, name: str) -> Verdict | None:
    """Return the verdict of an invariant on a case, or None if it does not apply."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            invariants_of(case)[name](case)
        except NotApplicable:
            return None
        except Violation as violation:
            return Verdict(name, VIOLATED, str(violation), violation.code, name)
        except Exception as error:
            if is_refusal(error):
                return Verdict(name, REFUSED, str(error))
            return Verdict(ERRORS, VIOLATED, _in_words(error), f"# in invariant {name!r}", name)
    return Verdict(name, HOLDS)


def check_case(case: Case, report: Callable[[str], object] = lambda name: None) -> list[Verdict]:
    """Check all invariants on a case, calling ``report`` with the name of each before."""
    if isinstance(case, GraphCase):
        _ = case.originals
    verdicts = []
    for name in invariants_of(case):
        report(name)
        verdict = check_invariant(case, name)
        if verdict is not None:
            verdicts.append(verdict)
    # Count an error once per case, even if several invariants raise it.
    errors = [verdict for verdict in verdicts if verdict.invariant == ERRORS]
    others = [verdict for verdict in verdicts if verdict.invariant != ERRORS]
    return [*others, *(errors[:1] or [Verdict(ERRORS, HOLDS)])]


def shrunk(case: Case, verdict: Verdict) -> tuple[Case, Verdict]:
    """Return a smaller case that violates the same invariant, and its verdict."""
    deadline = time.monotonic() + SHRINK_SECONDS
    again = True
    while again:
        again = False
        for smaller in _smaller(case):
            if time.monotonic() > deadline:
                return case, verdict
            new = check_invariant(smaller, verdict.within)
            if new is not None and (new.outcome, new.invariant) == (VIOLATED, verdict.invariant):
                case, verdict, again = smaller, new, True
                break
    return case, verdict


def _smaller(case: Case) -> Iterator[Case]:
    """Yield slightly simpler cases."""
    if isinstance(case, PointsCase):
        for few in (case.n // 2, case.n - case.n // 4, case.n - 1):
            if max(1, case.n_clusters) <= few < case.n:
                yield replace(case, X=case.X[:few])
        return
    # Remove half of the nodes, a quarter, and so on down to one.
    size = case.n // 2
    while size > 0 and case.n > 2:
        for start in range(0, case.n - size + 1, size):
            yield case.without(start, start + size)
        size //= 2
    for edge in range(case.i.size):
        yield case.with_edges(np.arange(case.i.size) != edge)
    for simple in (np.ones(case.i.size), 10.0 ** np.round(np.log10(case.weights))):
        if not np.array_equal(simple, case.weights):
            yield replace(case, weights=simple)
    if not isinstance(case.cut, str):
        simple = 10.0 ** np.round(np.log10(case.cut))
        if not np.array_equal(simple, case.cut):
            yield replace(case, cut=simple)


def _in_words(error: Exception) -> str:
    """Return the message of an error with its innermost line in leastcut."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if "leastcut" in frame.filename] or frames
    line = f"{inside[-1].filename.rsplit('/', 1)[-1]}:{inside[-1].lineno}" if inside else "?"
    return f"{type(error).__name__} at {line}: {str(error)[:300]}"

"""A trial: one case under all of its laws; and, where one is broken, the smallest case that is."""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from fuzz.cases import Case, GraphCase, PointsCase
from fuzz.invariants import ERRORS, laws_of
from fuzz.outcome import Broken, Inapplicable, is_refusal

SHRINKING = 8.0
"""Seconds that making a broken case smaller may take."""

HELD, REFUSED, BROKEN = "held", "refused", "broken"


@dataclass(frozen=True, eq=False)
class Verdict:
    """What one law said of one case."""

    law: str
    outcome: str
    message: str = ""
    code: str = ""
    within: str = ""


def try_law(case: Case, name: str) -> Verdict | None:
    """Return what a law says of a case, or None where it says nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            laws_of(case)[name](case)
        except Inapplicable:
            return None
        except Broken as broken:
            return Verdict(name, BROKEN, str(broken), broken.code, name)
        except Exception as error:
            if is_refusal(error):
                return Verdict(name, REFUSED, str(error))
            return Verdict(ERRORS, BROKEN, _told(error), f"# within law {name!r}", name)
    return Verdict(name, HELD)


def try_case(case: Case, tell: Callable[[str], object] = lambda name: None) -> list[Verdict]:
    """Try every law on a case, telling which one is next."""
    if isinstance(case, GraphCase):
        _ = case.kept
    found = []
    for name in laws_of(case):
        tell(name)
        verdict = try_law(case, name)
        if verdict is not None:
            found.append(verdict)
    # An error counts once for a case, however many laws met with it.
    errors = [verdict for verdict in found if verdict.law == ERRORS]
    others = [verdict for verdict in found if verdict.law != ERRORS]
    return [*others, *(errors[:1] or [Verdict(ERRORS, HELD)])]


def shrunk(case: Case, verdict: Verdict) -> tuple[Case, Verdict]:
    """Return a smaller case that breaks the same law, and what it says of that one."""
    deadline = time.monotonic() + SHRINKING
    again = True
    while again:
        again = False
        for smaller in _smaller(case):
            if time.monotonic() > deadline:
                return case, verdict
            told = try_law(smaller, verdict.within)
            if told is not None and told.outcome == BROKEN and told.law == verdict.law:
                case, verdict, again = smaller, told, True
                break
    return case, verdict


def _smaller(case: Case) -> Iterator[Case]:
    """Yield cases that are a little simpler."""
    if isinstance(case, PointsCase):
        for few in (case.n // 2, case.n - case.n // 4, case.n - 1):
            if max(1, case.n_clusters) <= few < case.n:
                yield replace(case, X=case.X[:few])
        return
    # Half of the nodes, a quarter, and so on down to one.
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


def _told(error: Exception) -> str:
    """Return an error with the last place in leastcut that it came through."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if "leastcut" in frame.filename] or frames
    where = f"{inside[-1].filename.rsplit('/', 1)[-1]}:{inside[-1].lineno}" if inside else "?"
    return f"{type(error).__name__} at {where}: {str(error)[:300]}"

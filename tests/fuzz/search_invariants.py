"""Laws of what is found: by search, by discretizing, by refinement, and in how much time."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np

import leastcut
from fuzz.bound_invariants import FOUND, VALUE_SLACK
from fuzz.cases import MOST_NODES, GraphCase
from fuzz.exact import MOST_ENUMERATED
from fuzz.outcome import RELATIVE, close, only_if, require, shown

MOST_MOVES = 100_000
"""Moves times edges up to which every single move is tried in whole numbers."""

THREADED_EDGES = 30_000
"""Stored edges from which more than one thread takes part in a search."""

TIMED_NODES = 300
"""Nodes from which a time limit can be overrun by anything that could be noticed."""

OVERRUN = 2.0, 1.0
"""The factor and the seconds beyond a time limit, or beyond the first pass, that are gross."""

DISCRETIZED_NODES = 300
"""Nodes up to which eigenvectors are discretized."""


def has_all_clusters(case: GraphCase) -> None:
    """Labels are 0..c-1, none empty, numbered by first appearance unless they were given."""
    labels = case.found.labels
    _check_clusters(labels, case, FOUND)
    given = case.settings["init"] and np.array_equal(labels, case.labels)
    require(given or _is_numbered(labels), f"labels {labels[:20].tolist()} are not numbered", FOUND)
    if case.n <= MOST_ENUMERATED:
        labels = leastcut.exact_partition(case.matrix, case.n_clusters, case.cut).labels
        code = "leastcut.exact_partition(S, n_clusters, cut).labels"
        _check_clusters(labels, case, code)
        require(_is_numbered(labels), f"labels {labels.tolist()} are not numbered", code)


def discretizers_have_all_clusters(case: GraphCase) -> None:
    """Every discretizer, and `direct_cut`, returns c clusters and the value of its labels."""
    only_if(case.n <= DISCRETIZED_NODES)
    # One of them in turn: all of them take as long as all other laws.
    method = [*leastcut.DISCRETIZERS, "direct_cut"][case.number % (len(leastcut.DISCRETIZERS) + 1)]
    S, c, cut = case.matrix, case.n_clusters, case.cut
    if method == "direct_cut":
        code = "leastcut.direct_cut(S, n_clusters, cut, n_init=2, random_state=0)"
        found = leastcut.direct_cut(S, c, cut, n_init=2, random_state=0)
    else:
        options = {} if method == "cluster_qr" else {"n_init": 2}
        code = (
            "relaxation = leastcut.relax(S, n_clusters, cut, random_state=0)\n"
            f"leastcut.discretize(relaxation, {method!r}, graph=S, cut=cut, random_state=0, "
            f"**{options})"
        )
        found = leastcut.discretize(
            leastcut.relax(S, c, cut, random_state=0),
            method, graph=S, cut=cut, random_state=0, **options,
        )  # fmt: skip
    _check_clusters(found.labels, case, code)
    true, got = case.exact.value(found.labels), found.cut_value
    require(
        got is not None and close(got, true, VALUE_SLACK, 2 * c),
        f"{method} reports {got!r} for labels of {shown(true)}",
        code,
    )


def effort_never_hurts(case: GraphCase) -> None:
    """With one seed, more effort never gives a larger value."""
    only_if(case.n <= MOST_ENUMERATED or case.number % 3 == 0)
    values = {}
    for effort, most in MOST_NODES.items():
        if case.n <= most:
            search = {**case.search, "effort": effort}
            found = leastcut.partition(case.matrix, case.n_clusters, case.cut, **search)
            values[effort] = case.exact.value(found.labels)
    only_if(len(values) > 1)
    steps = list(values.items())
    for (less, before), (more, after) in pairwise(steps):
        require(
            after <= before * (1 + VALUE_SLACK),
            f"{more} gives {shown(after)}, {less} {shown(before)}",
            f"leastcut.partition(S, n_clusters, cut, **{{**settings, 'effort': {more!r}}})",
        )


def init_is_never_lost(case: GraphCase) -> None:
    """`partition` is never worse than the partition it was given."""
    search = {**case.search, "effort": "fast", "init": case.labels}
    found = leastcut.partition(case.matrix, case.n_clusters, case.cut, **search)
    before, after = case.exact.value(case.labels), case.exact.value(found.labels)
    require(
        after <= before * (1 + VALUE_SLACK),
        f"{shown(after)} from an init of {shown(before)}",
        "leastcut.partition(S, n_clusters, cut, init=labels, effort='fast', random_state=0)",
    )


def refinement_ends_at_an_optimum(case: GraphCase) -> None:
    """`refine` is never worse than its start, and no single move then lowers the value."""
    only_if(case.n * case.n_clusters * case.i.size <= MOST_MOVES)
    code = "leastcut.refine(S, labels, cut)"
    found = leastcut.refine(case.matrix, case.labels, case.cut)
    before, after = case.exact.value(case.labels), case.exact.value(found.labels)
    require(after <= before * (1 + VALUE_SLACK), f"{shown(after)} from {shown(before)}", code)
    _check_clusters(found.labels, case, code)
    best, node, to = case.exact.best_move(found.labels)
    require(
        best >= after * (1 - RELATIVE),
        f"{shown(after)}, and with node {node} in cluster {to} {shown(best)}",
        code,
    )


def seed_fixes_the_answer(case: GraphCase) -> None:
    """The same seed gives the same labels again."""
    only_if(case.n <= 300)
    again = leastcut.partition(case.matrix, case.n_clusters, case.cut, **case.search)
    require(np.array_equal(again.labels, case.found.labels), "other labels, same seed", FOUND)


def threads_do_not_matter(case: GraphCase) -> None:
    """The same seed gives the same labels on one thread and on two."""
    only_if(case.matrix.nnz >= THREADED_EDGES)
    search = {**case.search, "effort": "balanced"}
    one, two = (
        leastcut.partition(case.matrix, case.n_clusters, case.cut, n_jobs=n_jobs, **search)
        for n_jobs in (1, 2)
    )
    require(np.array_equal(one.labels, two.labels), "other labels with n_jobs=2", FOUND)


def time_limit_is_kept(case: GraphCase) -> None:
    """A time limit is overrun by no more than a factor of 2 and 1 s, once a first pass is made."""
    only_if(case.n >= TIMED_NODES)
    limit, passed = case.settings["time_limit"], []
    began, busy = time.monotonic(), time.process_time()
    leastcut.partition(
        case.matrix, case.n_clusters, case.cut, effort="thorough", random_state=0,
        time_limit=limit, lower_bound=True, callback=lambda at: passed.append(at.seconds),
    )  # fmt: skip
    # On a busy machine the clock runs on while nothing is done.
    seconds = min(time.monotonic() - began, time.process_time() - busy)
    factor, more = OVERRUN
    # Without a callback nothing was begun beyond the first pass.
    most = factor * max([limit, *passed[:1]]) + more if passed else np.inf
    require(
        seconds <= most,
        f"{seconds:.1f} s with a limit of {limit} s and a first pass of {passed[:1]} s",
        f"leastcut.partition(S, n_clusters, cut, effort='thorough', random_state=0, "
        f"time_limit={limit}, lower_bound=True)",
    )


def _check_clusters(labels: np.ndarray, case: GraphCase, code: str) -> None:
    require(labels.shape == (case.n,), f"labels have shape {labels.shape}", code)
    require(labels.dtype.kind == "i", f"labels are of type {labels.dtype}", code)
    got = np.unique(labels)
    require(
        np.array_equal(got, np.arange(case.n_clusters)),
        f"clusters {got[:20].tolist()} where {case.n_clusters} are wanted",
        code,
    )


def _is_numbered(labels: np.ndarray) -> bool:
    """Whether clusters are numbered in the order in which they first appear."""
    _, first = np.unique(labels, return_index=True)
    return bool((np.diff(first) > 0).all())

"""Invariants of partitions from searches, discretizers and refinement."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np

import leastcut
from fuzz.bound_invariants import PARTITION, VALUE_SLACK
from fuzz.cases import MOST_NODES, GraphCase
from fuzz.exact import MOST_ENUMERATED
from fuzz.outcome import RELATIVE, assume, close, require, shown

MOST_MOVES = 100_000
"""Moves times edges up to which every single move is evaluated exactly."""

THREADED_EDGES = 30_000
"""Stored edges from which a search uses several threads."""

TIMED_NODES = 300
"""Nodes from which time limits are checked."""

OVERRUN = 2.0, 1.0
"""The allowed factor and seconds beyond a time limit or the first pass."""

DISCRETIZED_NODES = 300
"""Nodes up to which eigenvectors are discretized."""


def has_all_clusters(case: GraphCase) -> None:
    """Labels are 0..c-1 without gaps, in order of first appearance unless they equal `init`."""
    labels = case.partition.labels
    _check_clusters(labels, case, PARTITION)
    is_init = case.settings["init"] and np.array_equal(labels, case.labels)
    message = f"labels {labels[:20].tolist()} are not in order"
    require(is_init or _is_numbered(labels), message, PARTITION)
    if case.n <= MOST_ENUMERATED:
        labels = leastcut.exact_partition(case.matrix, case.n_clusters, case.cut).labels
        code = "leastcut.exact_partition(S, n_clusters, cut).labels"
        _check_clusters(labels, case, code)
        require(_is_numbered(labels), f"labels {labels.tolist()} are not in order", code)


def discretizers_have_all_clusters(case: GraphCase) -> None:
    """Discretizers and `direct_cut` return c clusters and the exact cut value, to 1e-12."""
    assume(case.n <= DISCRETIZED_NODES)
    # One method per case: all of them take as long as all other invariants.
    method = [*leastcut.DISCRETIZERS, "direct_cut"][case.number % (len(leastcut.DISCRETIZERS) + 1)]
    S, c, cut = case.matrix, case.n_clusters, case.cut
    if method == "direct_cut":
        code = "leastcut.direct_cut(S, n_clusters, cut, n_init=2, random_state=0)"
        result = leastcut.direct_cut(S, c, cut, n_init=2, random_state=0)
    else:
        options = {} if method == "cluster_qr" else {"n_init": 2}
        code = (
            "relaxation = leastcut.relax(S, n_clusters, cut, random_state=0)\n"
            f"leastcut.discretize(relaxation, {method!r}, graph=S, cut=cut, random_state=0, "
            f"**{options})"
        )
        result = leastcut.discretize(
            leastcut.relax(S, c, cut, random_state=0),
            method, graph=S, cut=cut, random_state=0, **options,
        )  # fmt: skip
    _check_clusters(result.labels, case, code)
    expected, value = case.exact.value(result.labels), result.cut_value
    require(
        value is not None and close(value, expected, VALUE_SLACK, 2 * c),
        f"{method} reports {value!r}, expected {shown(expected)}",
        code,
    )


def effort_never_hurts(case: GraphCase) -> None:
    """With the same seed, more effort never gives a larger cut value."""
    assume(case.n <= MOST_ENUMERATED or case.number % 3 == 0)
    values = {}
    for effort, most in MOST_NODES.items():
        if case.n <= most:
            search = {**case.search, "effort": effort}
            result = leastcut.partition(case.matrix, case.n_clusters, case.cut, **search)
            values[effort] = case.exact.value(result.labels)
    assume(len(values) > 1)
    steps = list(values.items())
    for (less, before), (more, after) in pairwise(steps):
        require(
            after <= before * (1 + VALUE_SLACK),
            f"{more} gives {shown(after)}, {less} {shown(before)}",
            f"leastcut.partition(S, n_clusters, cut, **{{**settings, 'effort': {more!r}}})",
        )


def init_is_never_lost(case: GraphCase) -> None:
    """`partition` is never worse than `init`."""
    search = {**case.search, "effort": "fast", "init": case.labels}
    result = leastcut.partition(case.matrix, case.n_clusters, case.cut, **search)
    before, after = case.exact.value(case.labels), case.exact.value(result.labels)
    require(
        after <= before * (1 + VALUE_SLACK),
        f"{shown(after)} from an init of {shown(before)}",
        "leastcut.partition(S, n_clusters, cut, init=labels, effort='fast', random_state=0)",
    )


def refinement_ends_at_an_optimum(case: GraphCase) -> None:
    """`refine` is never worse than its input, and no single move improves its result."""
    assume(case.n * case.n_clusters * case.i.size <= MOST_MOVES)
    code = "leastcut.refine(S, labels, cut)"
    result = leastcut.refine(case.matrix, case.labels, case.cut)
    before, after = case.exact.value(case.labels), case.exact.value(result.labels)
    require(after <= before * (1 + VALUE_SLACK), f"{shown(after)} from {shown(before)}", code)
    _check_clusters(result.labels, case, code)
    best, node, to = case.exact.best_move(result.labels)
    require(
        best >= after * (1 - RELATIVE),
        f"{shown(after)}, but {shown(best)} with node {node} in cluster {to}",
        code,
    )


def seed_fixes_the_answer(case: GraphCase) -> None:
    """Equal seeds give equal labels."""
    assume(case.n <= 300)
    again = leastcut.partition(case.matrix, case.n_clusters, case.cut, **case.search)
    same = np.array_equal(again.labels, case.partition.labels)
    require(same, "other labels, same seed", PARTITION)


def threads_do_not_matter(case: GraphCase) -> None:
    """Equal seeds give equal labels on one and two threads."""
    assume(case.matrix.nnz >= THREADED_EDGES)
    search = {**case.search, "effort": "balanced"}
    one, two = (
        leastcut.partition(case.matrix, case.n_clusters, case.cut, n_jobs=n_jobs, **search)
        for n_jobs in (1, 2)
    )
    require(np.array_equal(one.labels, two.labels), "other labels with n_jobs=2", PARTITION)


def time_limit_is_kept(case: GraphCase) -> None:
    """A search ends within twice its time limit or first pass, whichever is longer, plus 1 s."""
    assume(case.n >= TIMED_NODES)
    limit, times = case.settings["time_limit"], []
    began, busy = time.monotonic(), time.process_time()
    leastcut.partition(
        case.matrix, case.n_clusters, case.cut, effort="thorough", random_state=0,
        time_limit=limit, lower_bound=True, callback=lambda at: times.append(at.seconds),
    )  # fmt: skip
    # Use the CPU time on a busy machine.
    seconds = min(time.monotonic() - began, time.process_time() - busy)
    factor, more = OVERRUN
    # Without a call of the callback, the search ended with the first pass.
    most = factor * max([limit, *times[:1]]) + more if times else np.inf
    require(
        seconds <= most,
        f"{seconds:.1f} s with a limit of {limit} s and a first pass of {times[:1]} s",
        f"leastcut.partition(S, n_clusters, cut, effort='thorough', random_state=0, "
        f"time_limit={limit}, lower_bound=True)",
    )


def _check_clusters(labels: np.ndarray, case: GraphCase, code: str) -> None:
    require(labels.shape == (case.n,), f"labels have shape {labels.shape}", code)
    require(labels.dtype.kind == "i", f"labels have dtype {labels.dtype}", code)
    clusters = np.unique(labels)
    require(
        np.array_equal(clusters, np.arange(case.n_clusters)),
        f"clusters {clusters[:20].tolist()}, expected {case.n_clusters}",
        code,
    )


def _is_numbered(labels: np.ndarray) -> bool:
    """Whether clusters are numbered in order of first appearance."""
    _, first = np.unique(labels, return_index=True)
    return bool((np.diff(first) > 0).all())

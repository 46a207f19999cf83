"""Anchor graphs of points in the plane: seconds, memory and agreement, from 1 to 20 million points.

Each row is a separate process: the points are sampled, then the time includes imports, loading of
compiled code (cached by an earlier process) and everything up to the labels. For comparison there
are the seconds that the authors of U-SPEC published for datasets of these kinds and sizes on their
machine; no other program was run. The cut is the exact cut of all points in the row's anchor graph.
The effort is ``"fast"``; time and cut of ``"auto"`` on the same graph are reported, too.
"""

from __future__ import annotations

import json
import sys
from time import perf_counter, process_time
from typing import Any

from benchmarks._points_in_the_plane import SETS, agreement, in_memory
from benchmarks._processes import in_process, peak_gib

MILLION = 10**6
ROWS = [
    *((name, n * MILLION) for n in (1, 5, 10, 20) for name in list(SETS)[:3]),
    ("circles and clouds", 10 * MILLION),
    ("flower", 20 * MILLION),
]
QUICK_ROWS = [(name, 100_000) for name in SETS]

PUBLISHED = {
    ("two bananas", 1 * MILLION): 10.5,
    ("concentric circles", 5 * MILLION): 47.0,
    ("circles and clouds", 10 * MILLION): 319.0,
    ("flower", 20 * MILLION): 764.0,
}
"""Seconds published by the authors of U-SPEC for a dataset of that kind and size."""

N_ANCHORS = 1000
"""Number of anchors, as in the U-SPEC paper."""


def run(quick: bool = False, points: list[int] | None = None) -> dict[str, Any]:
    """Return a row per dataset; ``points`` overrides the sizes."""
    rows = []
    wanted = QUICK_ROWS if quick else ROWS
    if points:
        wanted = [(name, n) for n in points for name in SETS]
    in_process("benchmarks.anchors", "two bananas", "20000")  # compiles
    for name, n in wanted:
        row: dict[str, Any] = {"data": name, "n": n, "n_clusters": len(SETS[name])}
        row |= in_process("benchmarks.anchors", name, str(n))
        row["published_seconds_of_u_spec"] = PUBLISHED.get((name, n))
        rows.append(row)
        print(row, flush=True)
    return {"n_anchors": N_ANCHORS, "rows": rows}


def work(name: str, n: int) -> dict[str, Any]:
    """Time one dataset in this process."""
    X = in_memory(name, n)
    at_start = peak_gib()
    begin, cpu = perf_counter(), process_time()
    import leastcut

    leastcut.anchor_graph, leastcut.partition  # noqa: B018  (names are loaded when first used)
    ready = perf_counter()
    graph = leastcut.anchor_graph(X, N_ANCHORS, random_state=0)
    tied = perf_counter()
    c = len(SETS[name])
    result = leastcut.partition(graph, c, effort="fast", random_state=0, lower_bound=False)
    end, cpu, peak = perf_counter(), process_time() - cpu, peak_gib()
    # More effort on the same graph: the default of the estimator.
    more = leastcut.partition(graph, c, effort="auto", random_state=0, lower_bound=False)
    auto = perf_counter() - end
    return {
        "seconds": round(end - begin, 3),
        "seconds_after_imports": round(end - ready, 3),
        "of_which_graph_seconds": round(tied - ready, 3),
        "of_which_cut_seconds": round(end - tied, 3),
        "cpu_seconds": round(cpu, 3),
        "peak_gib": peak,
        "peak_gib_of_the_points": at_start,
        "n_anchors": graph.n_anchors,
        "cut_value": result.cut_value,
        **agreement(name, result.labels),
        "effort_auto": {
            "cut_seconds": round(auto, 3),
            "cut_value": more.cut_value,
            **agreement(name, more.labels),
        },
    }


if __name__ == "__main__":
    print(json.dumps(work(sys.argv[1], int(sys.argv[2]))))

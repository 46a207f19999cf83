"""``leastcut compare``: every method on the graph of one file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from leastcut.cli.anchored import refuse_anchored
from leastcut.cli.clustering import check_clusters, written_words
from leastcut.cli.drawing import save
from leastcut.cli.inputs import InputOptions, pose
from leastcut.cli.outputs import PLOT_SUFFIXES, Output, check_installed, check_outputs
from leastcut.cli.records import base_record, write_record
from leastcut.cli.showing import show, show_table

SHOWN_SIZES = 6
"""Cluster sizes that a row shows, the largest first; of more only the ends."""


@dataclass(frozen=True)
class CompareOptions:
    """What ``leastcut compare`` is asked for: one field per option."""

    reading: InputOptions
    clusters: str
    methods: tuple[str, ...] = ()
    effort: str = "balanced"
    plot: str | None = None
    json: bool = False
    force: bool = False


def run(options: CompareOptions) -> int:
    """Compare the methods on a file and return the exit status."""
    from leastcut import compare

    n_clusters = check_clusters(options.clusters)
    if isinstance(n_clusters, str):
        raise ValueError(
            "-k auto: methods are compared on one number of clusters; give it. 'leastcut cluster "
            "-k auto' chooses one."
        )
    outputs = [] if options.plot is None else [Output("--plot", options.plot, PLOT_SUFFIXES)]
    check_outputs(outputs, options.force, inputs=[options.reading.file])
    if outputs:
        check_installed("Pictures", "matplotlib", "plot")
    options.reading.check()
    refuse_anchored(options.reading)
    _check_methods(options)
    posed = pose(options.reading)
    compared = compare(
        posed.graph,
        n_clusters,
        options.reading.cut,
        methods=options.methods or None,
        effort=options.effort,
        random_state=options.reading.seed,
    )
    scores = _scores(compared, posed.loaded.classes)
    if outputs:
        from leastcut.plot import comparison

        save(outputs[0], comparison(compared))
    if options.json:
        record = base_record(posed, options.reading, {})
        record |= {"n_clusters": n_clusters, "lower_bound": compared.lower_bound}
        record["compared"] = [
            {
                "method": row.method,
                "cut_value": row.cut_value,
                "gap": row.gap,
                "sizes": row.sizes,
                "seconds": row.seconds,
                "scores": scores.get(row.method),
            }
            for row in compared.compared
        ]
        record["outputs"] = {output.option: output.name for output in outputs}
        write_record(record)
        return 0
    show(posed.described())
    show(
        f"{n_clusters} clusters: no {compared.cut} cut is below {compared.lower_bound:.6g}, and "
        "every gap is from there."
    )
    show("")
    head = ["method", "cut", "gap", "seconds"]
    head += ["accuracy", "nmi"] if scores else []
    rows = []
    for row in sorted(compared.compared, key=lambda row: row.cut_value):
        cells = [row.method, f"{row.cut_value:.6g}", _gap(row.gap), f"{row.seconds:.3g}"]
        if scores:
            cells += [f"{scores[row.method][name]:.4f}" for name in ("accuracy", "nmi")]
        rows.append([*cells, _sizes(row.sizes)])
    show_table([*head, "cluster sizes"], rows)
    if outputs:
        show(written_words(outputs))
    return 0


def _check_methods(options: CompareOptions) -> None:
    """Raise for a method or an effort that there is not, before the file is read."""
    from leastcut import DISCRETIZERS, EFFORTS
    from leastcut.comparison import WITHOUT_EIGENVECTORS
    from leastcut.validation import check_choice

    check_choice("--effort", options.effort, EFFORTS)
    for method in options.methods:
        check_choice("--method", method, (*DISCRETIZERS, *WITHOUT_EIGENVECTORS))


def _scores(compared: Any, classes: Any) -> dict[str, dict[str, float]]:
    """Return the agreement of every method with known classes, where there are any."""
    from leastcut import clustering_accuracy, normalized_mutual_info

    if classes is None:
        return {}
    return {
        row.method: {
            "accuracy": clustering_accuracy(classes, row.labels),
            "nmi": normalized_mutual_info(classes, row.labels),
        }
        for row in compared.compared
    }


def _gap(gap: float | None) -> str:
    return "" if gap is None else f"{100 * gap:.1f}%"


def _sizes(sizes: tuple[int, ...]) -> str:
    listed = [str(size) for size in sorted(sizes, reverse=True)]
    if len(listed) > SHOWN_SIZES:
        listed = [*listed[: SHOWN_SIZES - 1], "…", listed[-1]]
    return " ".join(listed)

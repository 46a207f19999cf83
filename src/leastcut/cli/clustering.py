"""``leastcut cluster``: a file in, labels, their cut value, a picture and a page out."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from leastcut.cli.anchored import check_wishes
from leastcut.cli.balanced import read_balance
from leastcut.cli.cluster_table import HEAD, as_rows, clusters_of
from leastcut.cli.drawing import SEGMENTS, check_picture, draw, needs_path, usual_picture
from leastcut.cli.inputs import InputOptions, Posed, pose
from leastcut.cli.outputs import (
    IMAGE_SUFFIXES,
    LABEL_SUFFIXES,
    PAGE_SUFFIXES,
    PLOT_SUFFIXES,
    Output,
    check_installed,
    check_outputs,
    labels_as_bytes,
)
from leastcut.cli.records import base_record, write_record
from leastcut.cli.segments import coloured, write_image
from leastcut.cli.showing import bar, show, show_table
from leastcut.cli.telling import noted
from leastcut.formatting import PROVEN

COMPARED_NODES = 5_000
"""Nodes up to which a report compares the methods unasked, which takes seconds."""

PATH_NUMBERS = 20
"""Numbers of clusters, from 1 on, that evidence is shown for: as many as a choice is made from."""


@dataclass(frozen=True)
class ClusterOptions:
    """What ``leastcut cluster`` is asked for: one field per option."""

    reading: InputOptions
    clusters: str
    effort: str = "balanced"
    balance: str | None = None
    output: str | None = None
    plot: str | None = None
    picture: str | None = None
    report: str | None = None
    json: bool = False
    bound: bool | None = None
    time_limit: float | None = None
    force: bool = False


@dataclass(frozen=True, eq=False)
class Clustered:
    """An answer: the graph, its partition, and what is told of it.

    Attributes
    ----------
    posed : Posed
    found : Partition
    segments : ndarray of shape (height, width) or None
        The cluster of every pixel of a picture.
    scores : dict or None
        Agreement with known classes.
    seconds : dict
        What the search took.
    notes : tuple of str
        What was warned of.
    """

    posed: Posed
    found: Any
    segments: np.ndarray | None
    scores: dict[str, float] | None
    seconds: dict[str, float]
    notes: tuple[str, ...] = ()


def run(options: ClusterOptions) -> int:
    """Cluster a file and return the exit status."""
    # 1. everything that can be known to be wrong is told before anything is read
    n_clusters = check_clusters(options.clusters)
    outputs = _outputs(options)
    check_outputs(list(outputs.values()), options.force, options.json, [options.reading.file])
    _check(options)
    # 2. the graph, and its clusters
    posed = pose(options.reading)
    _check_image_output(outputs, posed)
    answer = _cluster(options, posed, n_clusters)
    # 3. files first, so that what is shown is there
    _write(options, outputs, answer)
    if options.json:
        write_record(_record(options, outputs, answer))
    else:
        to_error = "-o" in outputs and outputs["-o"].is_standard
        _show(options, outputs, answer, to_error)
    return 0


def check_clusters(clusters: str) -> int | str:
    """Return the number of clusters that ``-k`` means, or "auto"."""
    from leastcut.validation import check_count

    if clusters == "auto":
        return clusters
    try:
        number = int(clusters)
    except ValueError:
        raise ValueError(f"-k {clusters} is not a number of clusters; give one, or auto.") from None
    return check_count("-k", number)


def _outputs(options: ClusterOptions) -> dict[str, Output]:
    """Return the files that are to be written, by option."""
    suffixes = {
        "-o": (*LABEL_SUFFIXES, *IMAGE_SUFFIXES),
        "--plot": PLOT_SUFFIXES,
        "--report": PAGE_SUFFIXES,
    }
    named = {"-o": options.output, "--plot": options.plot, "--report": options.report}
    return {
        option: Output(option, name, suffixes[option])
        for option, name in named.items()
        if name is not None
    }


def _check(options: ClusterOptions) -> None:
    """Raise where an option is none of its choices, or a package that it needs is missing."""
    from leastcut import EFFORTS
    from leastcut.validation import check_choice, check_number

    options.reading.check()
    if options.reading.is_anchored:
        check_wishes(options.report, options.picture, options.balance)
    check_choice("--effort", options.effort, EFFORTS)
    read_balance(options.balance)
    if options.time_limit is not None:
        check_number("--time-limit", options.time_limit)
    if options.picture is not None and options.plot is None:
        raise ValueError("--picture says what --plot draws: name a file with --plot too.")
    if options.plot is not None:
        check_installed("Pictures", "matplotlib", "plot")
        check_picture(options.picture)
    if options.report is not None:
        check_installed("Reports", "jinja2", "report")
        check_installed("Reports", "matplotlib", "report")


def _check_image_output(outputs: dict[str, Output], posed: Posed) -> None:
    """Raise where points or a graph were to be written as a picture."""
    output = outputs.get("-o")
    if output is not None and output.suffix in IMAGE_SUFFIXES and posed.image_graph is None:
        raise ValueError(
            f"-o {output.name}: only the segments of a picture are written as one, and "
            f"{posed.loaded.source} is none; write labels as .csv, or draw with --plot."
        )


def cut_with_bar(posed: Posed, n_clusters: int | str, cut: str, **options: Any) -> Any:
    """Return the partition of a graph, a bar shown while it is searched for."""
    from leastcut import EFFORTS, partition
    from leastcut.progress import SEARCH_STAGES, TimeEstimate

    # Of all stages together: each by itself would let the bar begin anew.
    stages = EFFORTS[options["effort"]].stages
    foresight = TimeEstimate(stages, SEARCH_STAGES, options.get("time_limit"))

    def words(told: Any) -> str:
        value = "" if told.cut_value == np.inf else f", cut {told.cut_value:.6g}"
        return f"{told.seconds:.0f} s, {told.stage}{value}"

    with bar("Cutting", lambda told: foresight(told).done, words) as callback:
        return partition(posed.graph, n_clusters, cut, callback=callback, **options)


def _cluster(options: ClusterOptions, posed: Posed, n_clusters: int | str) -> Clustered:
    """Cut the graph, and compare the clusters with known classes."""
    from leastcut import clustering_accuracy, normalized_mutual_info

    began = perf_counter()
    # a report says how much smaller the cut could be
    bound = True if options.bound is None and options.report is not None else options.bound
    notes: list[str] = []
    with noted(notes):
        found = cut_with_bar(
            posed,
            n_clusters,
            options.reading.cut,
            effort=options.effort,
            balance=read_balance(options.balance),
            time_limit=options.time_limit,
            lower_bound=bound,
            random_state=options.reading.seed,
            isolated=options.reading.isolated,
        )
    seconds = {"cut": perf_counter() - began}
    classes = posed.loaded.classes
    scores = None
    if classes is not None:
        scores = {
            "accuracy": clustering_accuracy(classes, found.labels),
            "nmi": normalized_mutual_info(classes, found.labels),
        }
    graph = posed.image_graph
    segments = None if graph is None else graph.to_image(found.labels)
    return Clustered(posed, found, segments, scores, seconds, tuple(notes))


def _write(options: ClusterOptions, outputs: dict[str, Output], answer: Clustered) -> None:
    """Write the labels, the picture and the page that are asked for."""
    from leastcut import cut_path

    posed, found, cut = answer.posed, answer.found, options.reading.cut
    path = None
    auto = options.clusters == "auto" and options.report is not None and not _is_lonely(posed)
    if auto or needs_path(options.picture):
        path = cut_path(
            posed.graph,
            range(1, min(PATH_NUMBERS, posed.n_nodes) + 1),
            affinity="precomputed",
            cut=cut,
            random_state=options.reading.seed,
        )
    if "-o" in outputs:
        write_labels(outputs["-o"], answer.posed, found.labels, answer.segments)
    if "--plot" in outputs:
        picture = options.picture or usual_picture(posed)
        if picture == SEGMENTS:
            write_image(outputs["--plot"], _coloured(answer))
        else:
            draw(outputs["--plot"], picture, posed, found, cut, path)
    if "--report" in outputs:
        _write_report(options, outputs["--report"], answer, path)


def write_labels(
    output: Output, posed: Posed, labels: np.ndarray, segments: np.ndarray | None = None
) -> None:
    """Write labels: a table of names and clusters, an array, or of a picture its segments."""
    if output.suffix in IMAGE_SUFFIXES:
        assert segments is not None  # which was checked before
        write_image(output, coloured(posed.loaded.data, segments))
        return
    if segments is None:
        output.write_bytes(labels_as_bytes(labels, posed.names, posed.node, output.suffix))
        return
    if output.suffix == ".npy":
        output.write_bytes(labels_as_bytes(segments, (), "", ".npy"))
        return
    pixels = [f"{i} {j}" for i in range(segments.shape[0]) for j in range(segments.shape[1])]
    content = labels_as_bytes(segments.reshape(-1), pixels, "row column", output.suffix)
    output.write_bytes(content)


def _is_lonely(posed: Posed) -> bool:
    """Return whether there are nodes without edges, which only a search can leave out."""
    return bool(posed.graph.connected.size < posed.n_nodes)


def _coloured(answer: Clustered) -> np.ndarray:
    if answer.segments is None:
        raise ValueError(
            f"--picture {SEGMENTS} is of pictures, and {answer.posed.loaded.source} is none; leave "
            "it out."
        )
    return coloured(answer.posed.loaded.data, answer.segments)


def _write_report(options: ClusterOptions, output: Output, answer: Clustered, path: Any) -> None:
    """Write the page that explains the answer."""
    from leastcut import compare
    from leastcut.report.page import Answer, report_html

    posed = answer.posed
    notes = [f"{posed.described()}.", *posed.notes, *answer.notes]
    comparison = None
    n_clusters = int(answer.found.labels.max()) + 1
    if n_clusters > 1 and options.balance is not None:
        notes.append("Other methods were not compared here: none of them keeps to a balance.")
    elif n_clusters > 1 and posed.n_nodes <= COMPARED_NODES and not _is_lonely(posed):
        comparison = compare(
            posed.graph,
            n_clusters,
            options.reading.cut,
            effort=options.effort,
            random_state=options.reading.seed,
        )
    elif n_clusters > 1:
        notes.append("Other methods were not compared here: leastcut compare does, at any size.")
    if answer.scores is not None:
        notes.append(_about(answer.scores))
    is_points = posed.loaded.kind == "points"
    page = report_html(
        Answer(
            title=posed.loaded.source,
            graph=posed.graph,
            cut=options.reading.cut,
            found=answer.found,
            points=posed.loaded.data if is_points else None,
            names=None if posed.image_graph is not None else [str(name) for name in posed.names],
            path=path,
            comparison=comparison,
            seconds={**posed.seconds, **answer.seconds},
            command=shlex.join(["leastcut", *options.reading.command]),
            notes=notes,
            picture=None if answer.segments is None else _coloured(answer),
            seed=options.reading.seed,
        )
    )
    output.write_bytes(page.encode("utf-8"))


def _record(
    options: ClusterOptions, outputs: dict[str, Output], answer: Clustered
) -> dict[str, Any]:
    """Return the object that ``--json`` writes."""
    found = answer.found
    labels = outputs.get("-o")
    record = base_record(answer.posed, options.reading, answer.seconds)
    record |= partition_record(found)
    record["labels_path"] = None if labels is None else labels.name
    record["scores"] = answer.scores
    record["outputs"] = {option: out.name for option, out in outputs.items() if option != "-o"}
    if labels is None:
        record["labels"] = found.labels
        record["nodes"] = answer.posed.names
    return record


def partition_record(found: Any) -> dict[str, Any]:
    """Return what is told of a partition."""
    sizes = np.bincount(found.labels)
    return {
        "n_clusters": sizes.size,
        "cut_value": found.cut_value,
        "lower_bound": found.lower_bound,
        "gap": found.gap,
        "sizes": sizes,
    }


def gap_in_words(found: Any) -> str:
    """Return what is proven of a partition, as the end of a sentence."""
    if found.gap is None:
        return "with no bound computed on how much smaller it could be (--bound does)"
    if found.gap <= PROVEN:
        return "proven to be the smallest there is"
    return (
        f"and no partition is more than {100 * found.gap:.3g}% below it (lower bound "
        f"{found.lower_bound:.6g})"
    )


def in_number(count: int) -> str:
    """Return a number of clusters in words."""
    return "1 cluster" if count == 1 else f"{count} clusters"


def _about(scores: dict[str, float]) -> str:
    return (
        f"Beside the known classes: accuracy {scores['accuracy']:.4f}, normalized mutual "
        f"information {scores['nmi']:.4f}."
    )


def _show(
    options: ClusterOptions, outputs: dict[str, Output], answer: Clustered, to_error: bool
) -> None:
    """Show the answer to people."""
    posed, found, reading = answer.posed, answer.found, options.reading
    show(posed.described(), to_error)
    count = int(found.labels.max()) + 1
    chosen = ", as many as the graph speaks for" if options.clusters == "auto" else ""
    show(
        f"{in_number(count)}{chosen}: {reading.cut} cut {found.cut_value:.6g}, "
        f"{gap_in_words(found)}.",
        to_error,
    )
    rows = as_rows(clusters_of(posed.graph, found.labels, reading.cut, reading.isolated))
    show("", to_error)
    show_table(HEAD, rows, words=0, to_error=to_error)
    show("", to_error)
    if answer.scores is not None:
        show(_about(answer.scores), to_error)
    seconds = {**posed.seconds, **answer.seconds}
    show(", ".join(f"{name} {value:.2f} s" for name, value in seconds.items()), to_error)
    told = written_words(list(outputs.values()))
    if not outputs:
        page = "" if posed.is_anchored else ", a page with --report page.html"
        told = f"Labels are written with -o labels.csv{page}."
    if told:
        show(told, to_error)


def written_words(outputs: Sequence[Output]) -> str:
    """Return what was written where, in words."""
    words = {"-o": "Labels", "--plot": "Picture", "--report": "Report"}
    return "; ".join(
        f"{words[output.option]} in {output.name}" for output in outputs if not output.is_standard
    )

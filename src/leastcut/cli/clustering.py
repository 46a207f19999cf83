"""``leastcut cluster``: cluster a file and save labels, a plot and a report."""

from __future__ import annotations

import shlex
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

import leastcut
from leastcut.cli.inputs import Input, check_input, load_input
from leastcut.cli.messages import logged
from leastcut.cli.options import ANCHORS, ClusterOptions, InputOptions
from leastcut.cli.outputs import (
    IMAGE_SUFFIXES,
    Output,
    Outputs,
    colored,
    partition_record,
    print_table,
    progress_bar,
    record_of,
    write_image,
    write_labels,
    write_plot,
    write_record,
)
from leastcut.formatting import counted, gap_in_words, seconds_text
from leastcut.plot import PLOTS
from leastcut.plot.clusters import clusters_of as sums_of
from leastcut.report.page import ReportContent, report_html
from leastcut.validation import check_choice, check_count, check_number

COMPARED_NODES = 5_000  # nodes up to which a report compares the methods, which takes seconds
PATH_NUMBERS = 20  # numbers of clusters whose evidence is shown, the same as "auto" considers
DRAWN_NODES = 300  # nodes up to which a graph is drawn with its edges by default
SEGMENTS = "segments"  # the plot of an image with colored segments
WITHOUT_EDGES = ("embedding", "sizes")  # plots that need no edges
HEAD = ("cluster", "size", "weight", "boundary", "boundary/weight")


class Clustered(NamedTuple):
    """The partition of the graph of a file."""

    task: Input
    partition: leastcut.Partition
    segments: np.ndarray | None  # the cluster of each pixel of an image
    scores: dict[str, float] | None  # agreement with known classes
    seconds: dict[str, float]
    notes: list[str]
    path: leastcut.CutPath | None  # evidence for numbers of clusters, if it is shown


class Cluster(NamedTuple):
    """A cluster: its size, weight and boundary, and ``share``, its term in the cut value."""

    label: Any
    size: int
    weight: float
    boundary: float
    share: float


def cluster(options: ClusterOptions) -> int:
    """Cluster a file and return the exit status."""
    n_clusters = check_clusters(options.clusters)
    outputs = Outputs(options, allow_image=True)
    balance = _read_balance(options.balance)
    _check(options)
    task = load_input(options)
    if "-o" in outputs and outputs["-o"].suffix in IMAGE_SUFFIXES and task.image_graph is None:
        raise ValueError(
            f"-o {outputs['-o'].name}: only segments of an image can be saved as an image, and "
            f"{task.loaded.source} is not an image; save labels as .csv, or a plot with --plot."
        )
    result = _cluster(options, task, n_clusters, balance)
    # files first, so that they exist when the text that mentions them is printed
    if "-o" in outputs:
        write_labels(outputs["-o"], task, result.partition.labels, result.segments)
    if "--plot" in outputs:
        _write_plot(options, outputs["--plot"], result)
    if "--report" in outputs:
        _write_report(options, outputs["--report"], result)
    if options.json:
        record = record_of(options, task, result.seconds) | partition_record(result.partition)
        record |= {"labels_path": outputs.labels_path, "scores": result.scores}
        record["outputs"] = {option: out.name for option, out in outputs.items() if option != "-o"}
        if "-o" not in outputs:
            record |= {"labels": result.partition.labels, "nodes": task.names}
        write_record(record)
    else:
        with outputs.redirected():
            _print(options, outputs, result)
    return 0


def check_clusters(clusters: str) -> int | str:
    """Return the value of ``-k``: a number of clusters, or "auto"."""
    if clusters == "auto":
        return clusters
    try:
        number = int(clusters)
    except ValueError:
        raise ValueError(f"-k {clusters} must be a number of clusters, or auto.") from None
    return check_count("-k", number)


def _read_balance(text: str | None) -> float | tuple[float, float] | None:
    """Return the value of ``--balance``: a number, or a pair of numbers."""
    if text is None:
        return None
    try:
        parts = [float(part) for part in text.split(",")]
    except ValueError:
        parts = []
    if len(parts) not in (1, 2):
        raise ValueError(
            f"--balance {text} must be one number, such as 0.1, or two, such as 0.5,0.1: the "
            "allowed deviation below and above the average."
        )
    for part in parts:
        check_number("--balance", part)
    if len(parts) == 1:
        return parts[0]
    if parts[0] > 1.0:
        raise ValueError(f"--balance {text}: the first number must be at most 1.")
    return parts[0], parts[1]


def _check(options: ClusterOptions) -> None:
    """Raise if an option has an unknown value, or is not available for anchor graphs."""
    check_input(options, needs_edges=False)
    check_choice("--effort", options.effort, leastcut.EFFORTS)
    if options.time_limit is not None:
        check_number("--time-limit", options.time_limit)
    if options.plot_kind is not None:
        if options.plot is None:
            raise ValueError("--plot-kind requires --plot FILE; pass the file to save the plot to.")
        kinds = [name for name, plot in PLOTS.items() if plot.shows in ("path", "clusters")]
        check_choice("--plot-kind", options.plot_kind, [*kinds, SEGMENTS])
    if not options.is_anchored:
        return
    if options.balance is not None:
        raise ValueError(
            f"--balance is not available with --affinity {ANCHORS}; remove it, or use another "
            "affinity."
        )
    if options.report is not None:
        raise ValueError(
            f"--report needs the edges of the graph, which --affinity {ANCHORS} does not store; "
            "use --plot instead."
        )
    if options.plot_kind is not None and options.plot_kind not in WITHOUT_EDGES:
        raise ValueError(
            f"--plot-kind {options.plot_kind} needs the edges of the graph, which --affinity "
            f"{ANCHORS} does not store; use one of {', '.join(WITHOUT_EDGES)}."
        )


def _cluster(
    options: ClusterOptions,
    task: Input,
    n_clusters: int | str,
    balance: float | tuple[float, float] | None,
) -> Clustered:
    """Partition the graph and evaluate the result."""
    began = perf_counter()
    # a report needs a lower bound
    bound = True if options.bound is None and options.report is not None else options.bound
    notes: list[str] = []
    with logged(notes):
        partition = leastcut.partition(
            task.graph,
            n_clusters,
            options.cut,
            effort=options.effort,
            balance=balance,
            time_limit=options.time_limit,
            lower_bound=bound,
            random_state=options.seed,
            isolated=options.isolated,
            callback=progress_bar(),
        )
    seconds = {"cut": perf_counter() - began}
    labels = partition.labels
    segments = None if task.image_graph is None else task.image_graph.to_image(labels)
    path = None
    is_auto = n_clusters == "auto" and options.report is not None and not _has_isolated(task)
    if is_auto or _shows_path(options.plot_kind):
        path = leastcut.cut_path(
            task.graph,
            range(1, min(PATH_NUMBERS, task.n_nodes) + 1),
            affinity="precomputed",
            cut=options.cut,
            random_state=options.seed,
        )
    return Clustered(task, partition, segments, scores_of(task, labels), seconds, notes, path)


def scores_of(task: Input, labels: np.ndarray) -> dict[str, float] | None:
    """Return the agreement of labels with known classes, if there are any."""
    classes = task.loaded.classes
    if classes is None:
        return None
    return {
        "accuracy": leastcut.clustering_accuracy(classes, labels),
        "nmi": leastcut.normalized_mutual_info(classes, labels),
    }


def _has_isolated(task: Input) -> bool:
    """Return whether the graph has isolated nodes, which only ``partition`` can exclude."""
    return bool(task.graph.connected.size < task.n_nodes)


def _shows_path(kind: str | None) -> bool:
    """Return whether a plot shows several numbers of clusters."""
    return kind in PLOTS and PLOTS[kind].shows == "path"


# -- plot and report


def _write_plot(options: ClusterOptions, output: Output, result: Clustered) -> None:
    """Write the requested or the default plot."""
    task = result.task
    is_small = task.loaded.kind == "graph" and task.n_nodes <= DRAWN_NODES
    default = SEGMENTS if task.image_graph is not None else "graph" if is_small else "embedding"
    kind = options.plot_kind or default
    if kind == SEGMENTS:
        if result.segments is None:
            raise ValueError(
                f"--plot-kind {SEGMENTS} needs an image, which {task.loaded.source} is not; choose "
                "another kind, or remove the option."
            )
        write_image(output, colored(task.loaded.data, result.segments))
    elif _shows_path(kind):
        write_plot(output, PLOTS[kind].draw(result.path))
    else:
        write_plot(output, PLOTS[kind].draw(result.partition, task.graph, cut=options.cut))


def _write_report(options: ClusterOptions, output: Output, result: Clustered) -> None:
    """Write the report."""
    task, segments = result.task, result.segments
    notes = [f"{task.described()}.", *task.notes, *result.notes]
    comparison = None
    n_clusters = int(result.partition.labels.max()) + 1
    if n_clusters > 1 and options.balance is not None:
        notes.append("Methods are not compared: the others do not support --balance.")
    elif n_clusters > 1 and task.n_nodes <= COMPARED_NODES and not _has_isolated(task):
        comparison = leastcut.compare(
            task.graph, n_clusters, options.cut, effort=options.effort, random_state=options.seed
        )
    elif n_clusters > 1:
        notes.append("Methods are not compared for a graph of this size; run leastcut compare.")
    if result.scores is not None:
        notes.append(_scores_in_words(result.scores))
    page = report_html(
        ReportContent(
            title=task.loaded.source,
            graph=task.graph,
            cut=options.cut,
            partition=result.partition,
            points=task.loaded.data if task.loaded.kind == "points" else None,
            names=None if segments is not None else [str(name) for name in task.names],
            path=result.path,
            comparison=comparison,
            seconds={**task.seconds, **result.seconds},
            command=shlex.join(["leastcut", *options.arguments]),
            notes=notes,
            image=None if segments is None else colored(task.loaded.data, segments),
            seed=options.seed,
        )
    )
    output.write(page.encode("utf-8"))


# -- printed text


def _print(options: ClusterOptions, outputs: Outputs, result: Clustered) -> None:
    task = result.task
    suffix = " (selected automatically)" if options.clusters == "auto" else ""
    print_partition(options, task, result.partition, suffix)
    print()
    print_clusters(clusters_of(options, task, result.partition.labels))
    print()
    if result.scores is not None:
        print(_scores_in_words(result.scores))
    seconds = {**task.seconds, **result.seconds}
    print("Time:", ", ".join(f"{name} {seconds_text(value)}" for name, value in seconds.items()))
    report = "" if task.is_anchored else " and a report with --report report.html"
    if not outputs:
        print(f"Save the labels with -o labels.csv{report}.")
    elif files := outputs.in_words():
        print(files)


def print_partition(
    options: InputOptions, task: Input, partition: leastcut.Partition, suffix: str = ""
) -> None:
    """Print a line each about the graph, the cut and the lower bound."""
    print(task.described())
    count = counted(int(partition.labels.max()) + 1, "cluster")
    print(f"{count}{suffix}: {options.cut} cut {partition.cut_value:.6g}")
    if partition.gap is None:
        print("Lower bound: not computed; use --bound")
    else:
        print(f"Lower bound: {partition.lower_bound:.6g}; {gap_in_words(partition.gap)}")


def _scores_in_words(scores: dict[str, float]) -> str:
    return (
        f"Agreement with the known classes: accuracy {scores['accuracy']:.4f}, normalized mutual "
        f"information {scores['nmi']:.4f}."
    )


def clusters_of(options: InputOptions, task: Input, labels: np.ndarray) -> list[Cluster]:
    """Return the clusters of labels 0..k-1."""
    sums = sums_of(labels, task.graph, options.cut)
    columns = sums.sizes.tolist(), sums.weights, sums.boundaries, sums.terms
    return [
        Cluster(label, size, *map(float, row))
        for label, (size, *row) in enumerate(zip(*columns, strict=True))
    ]


def print_clusters(clusters: list[Cluster], n_words: int = 0) -> None:
    """Print a table of clusters."""
    rows = [
        [str(c.label), f"{c.size:,}", f"{c.weight:.6g}", f"{c.boundary:.6g}", f"{c.share:.4g}"]
        for c in clusters
    ]
    print_table(HEAD, rows, n_words)

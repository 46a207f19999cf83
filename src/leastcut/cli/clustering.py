"""``leastcut cluster``: a file in, labels, their cut value, a plot and a report out."""

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
from leastcut.report.page import Answer, report_html
from leastcut.validation import check_choice, check_count, check_number

COMPARED_NODES = 5_000  # up to which a report compares the methods unasked, which takes seconds
PATH_NUMBERS = 20  # of clusters that evidence is shown for: as many as a choice is made from
DRAWN_NODES = 300  # up to which a graph is drawn edge by edge; the embedding shows larger ones
SEGMENTS = "segments"  # the plot of a picture: its colored segments
WITHOUT_EDGES = ("embedding", "sizes")  # plots that need no edges
HEAD = ("cluster", "size", "weight", "boundary", "boundary/weight")


class Clustered(NamedTuple):
    """A partition of the graph of a file."""

    task: Input
    found: leastcut.Partition
    segments: np.ndarray | None  # of a picture, the cluster of every pixel
    scores: dict[str, float] | None  # agreement with known classes
    seconds: dict[str, float]
    notes: list[str]
    path: leastcut.CutPath | None  # the evidence for numbers of clusters, if it is shown


class Cluster(NamedTuple):
    """A cluster: nodes, weight of nodes and of edges that leave it, and its part of the cut."""

    label: Any
    size: int
    weight: float
    boundary: float
    share: float


def cluster(options: ClusterOptions) -> int:
    """Cluster a file and return the exit status."""
    n_clusters = check_clusters(options.clusters)
    outputs = Outputs(options, has_pictures=True)
    balance = _read_balance(options.balance)
    _check(options)
    task = load_input(options)
    if "-o" in outputs and outputs["-o"].suffix in IMAGE_SUFFIXES and task.image_graph is None:
        raise ValueError(
            f"-o {outputs['-o'].name}: only the segments of a picture are written as one, and "
            f"{task.loaded.source} is none; write labels as .csv, or draw with --plot."
        )
    answer = _cluster(options, task, n_clusters, balance)
    # files first, so that what is shown is there
    if "-o" in outputs:
        write_labels(outputs["-o"], task, answer.found.labels, answer.segments)
    if "--plot" in outputs:
        _write_plot(options, outputs["--plot"], answer)
    if "--report" in outputs:
        _write_report(options, outputs["--report"], answer)
    if options.json:
        record = record_of(options, task, answer.seconds) | partition_record(answer.found)
        record |= {"labels_path": outputs.labels_path, "scores": answer.scores}
        record["outputs"] = {option: out.name for option, out in outputs.items() if option != "-o"}
        if "-o" not in outputs:
            record |= {"labels": answer.found.labels, "nodes": task.names}
        write_record(record)
    else:
        with outputs.aside():
            _print(options, outputs, answer)
    return 0


def check_clusters(clusters: str) -> int | str:
    """Return the number of clusters that ``-k`` means, or "auto"."""
    if clusters == "auto":
        return clusters
    try:
        number = int(clusters)
    except ValueError:
        raise ValueError(f"-k {clusters} is not a number of clusters; give one, or auto.") from None
    return check_count("-k", number)


def _read_balance(text: str | None) -> float | tuple[float, float] | None:
    """Return what ``--balance`` means: a number, or a pair of them."""
    if text is None:
        return None
    try:
        parts = [float(part) for part in text.split(",")]
    except ValueError:
        parts = []
    if len(parts) not in (1, 2):
        raise ValueError(
            f"--balance {text} must be a number, as 0.1, or two with a comma, as 0.5,0.1: how far "
            "below and how far above the average."
        )
    for part in parts:
        check_number("--balance", part)
    if len(parts) == 1:
        return parts[0]
    if parts[0] > 1.0:
        raise ValueError(f"--balance {text}: no cluster weighs less than 0; begin with at most 1.")
    return parts[0], parts[1]


def _check(options: ClusterOptions) -> None:
    """Raise if an option is none of its choices, or needs the edges that anchors do not store."""
    check_input(options, needs_edges=False)
    check_choice("--effort", options.effort, leastcut.EFFORTS)
    if options.time_limit is not None:
        check_number("--time-limit", options.time_limit)
    if options.picture is not None:
        if options.plot is None:
            raise ValueError("--picture says what --plot draws: name a file with --plot too.")
        of_answers = [n for n, plot in PLOTS.items() if plot.shows in ("path", "clusters")]
        check_choice("--picture", options.picture, [*of_answers, SEGMENTS])
    if not options.is_anchored:
        return
    if options.balance is not None:
        raise ValueError(
            f"--balance is not offered with --affinity {ANCHORS}; leave it out, or name another."
        )
    if options.report is not None:
        raise ValueError(
            f"--report draws and compares by edges, which --affinity {ANCHORS} does not store; "
            "leave it out, or draw with --plot."
        )
    if options.picture is not None and options.picture not in WITHOUT_EDGES:
        raise ValueError(
            f"--picture {options.picture} needs edges, which --affinity {ANCHORS} does not store; "
            f"what it draws: {', '.join(WITHOUT_EDGES)}."
        )


def _cluster(
    options: ClusterOptions,
    task: Input,
    n_clusters: int | str,
    balance: float | tuple[float, float] | None,
) -> Clustered:
    """Cut the graph, compare the clusters with known classes, and gather the evidence."""
    began = perf_counter()
    # a report says how much smaller the cut could be
    bound = True if options.bound is None and options.report is not None else options.bound
    notes: list[str] = []
    with logged(notes):
        found = leastcut.partition(
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
    segments = None if task.image_graph is None else task.image_graph.to_image(found.labels)
    path = None
    is_auto = n_clusters == "auto" and options.report is not None and not _has_isolated(task)
    if is_auto or _shows_path(options.picture):
        path = leastcut.cut_path(
            task.graph,
            range(1, min(PATH_NUMBERS, task.n_nodes) + 1),
            affinity="precomputed",
            cut=options.cut,
            random_state=options.seed,
        )
    return Clustered(task, found, segments, scores_of(task, found.labels), seconds, notes, path)


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
    """Return whether there are nodes without edges, which only a search can leave out."""
    return bool(task.graph.connected.size < task.n_nodes)


def _shows_path(picture: str | None) -> bool:
    """Return whether a plot shows many numbers of clusters."""
    return picture in PLOTS and PLOTS[picture].shows == "path"


# -- plot and report


def _write_plot(options: ClusterOptions, output: Output, answer: Clustered) -> None:
    """Write the plot that is asked for, or the one that says most."""
    task = answer.task
    is_small = task.loaded.kind == "graph" and task.n_nodes <= DRAWN_NODES
    usual = SEGMENTS if task.image_graph is not None else "graph" if is_small else "embedding"
    picture = options.picture or usual
    if picture == SEGMENTS:
        if answer.segments is None:
            raise ValueError(
                f"--picture {SEGMENTS} is of pictures, and {task.loaded.source} is none; leave it "
                "out."
            )
        write_image(output, colored(task.loaded.data, answer.segments))
    elif _shows_path(picture):
        write_plot(output, PLOTS[picture].draw(answer.path))
    else:
        write_plot(output, PLOTS[picture].draw(answer.found, task.graph, cut=options.cut))


def _write_report(options: ClusterOptions, output: Output, answer: Clustered) -> None:
    """Write the page that explains the answer."""
    task, segments = answer.task, answer.segments
    notes = [f"{task.described()}.", *task.notes, *answer.notes]
    comparison = None
    n_clusters = int(answer.found.labels.max()) + 1
    if n_clusters > 1 and options.balance is not None:
        notes.append("Other methods were not compared here: none of them keeps to a balance.")
    elif n_clusters > 1 and task.n_nodes <= COMPARED_NODES and not _has_isolated(task):
        comparison = leastcut.compare(
            task.graph, n_clusters, options.cut, effort=options.effort, random_state=options.seed
        )
    elif n_clusters > 1:
        notes.append("Other methods were not compared here: leastcut compare does, at any size.")
    if answer.scores is not None:
        notes.append(_scores_in_words(answer.scores))
    page = report_html(
        Answer(
            title=task.loaded.source,
            graph=task.graph,
            cut=options.cut,
            found=answer.found,
            points=task.loaded.data if task.loaded.kind == "points" else None,
            names=None if segments is not None else [str(name) for name in task.names],
            path=answer.path,
            comparison=comparison,
            seconds={**task.seconds, **answer.seconds},
            command=shlex.join(["leastcut", *options.arguments]),
            notes=notes,
            picture=None if segments is None else colored(task.loaded.data, segments),
            seed=options.seed,
        )
    )
    output.write(page.encode("utf-8"))


# -- what is shown


def _print(options: ClusterOptions, outputs: Outputs, answer: Clustered) -> None:
    task = answer.task
    chosen = ", as many as the graph supports" if options.clusters == "auto" else ""
    print_partition(options, task, answer.found, chosen)
    print()
    print_clusters(clusters_of(options, task, answer.found.labels))
    print()
    if answer.scores is not None:
        print(_scores_in_words(answer.scores))
    seconds = {**task.seconds, **answer.seconds}
    print(", ".join(f"{name} {seconds_text(value)}" for name, value in seconds.items()))
    page = "" if task.is_anchored else ", a page with --report page.html"
    if not outputs:
        print(f"Labels are written with -o labels.csv{page}.")
    elif written := outputs.in_words():
        print(written)


def print_partition(
    options: InputOptions, task: Input, found: leastcut.Partition, chosen: str = ""
) -> None:
    """Print a line about the graph, and one about the cut and what is proven of it."""
    print(task.described())
    count = counted(int(found.labels.max()) + 1, "cluster")
    print(f"{count}{chosen}: {options.cut} cut {found.cut_value:.6g}")
    if found.gap is None:
        print("Lower bound: not computed; --bound does")
    else:
        print(f"Lower bound: {found.lower_bound:.6g}; {gap_in_words(found.gap)}")


def _scores_in_words(scores: dict[str, float]) -> str:
    return (
        f"Compared with the known classes: accuracy {scores['accuracy']:.4f}, normalized mutual "
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

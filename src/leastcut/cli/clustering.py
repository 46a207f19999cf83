"""``leastcut cluster``: a file in, labels, their cut value, a plot and a report out.

The table of clusters uses :func:`leastcut.problem.as_problem`, as the sums that a cut is made of
have no public name.
"""

from __future__ import annotations

import shlex
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from leastcut.cli.inputs import Input, check_input, load_input
from leastcut.cli.messages import logged, progress_bar, show, show_table
from leastcut.cli.options import ANCHORS, ClusterOptions, InputOptions
from leastcut.cli.outputs import (
    IMAGE_SUFFIXES,
    LABEL_SUFFIXES,
    PAGE_SUFFIXES,
    PLOT_SUFFIXES,
    Output,
    Outputs,
    check_installed,
    colored,
    partition_record,
    record_of,
    write_image,
    write_labels,
    write_plot,
    write_record,
)
from leastcut.formatting import PROVEN, counted

COMPARED_NODES = 5_000
"""Nodes up to which a report compares the methods unasked, which takes seconds."""

PATH_NUMBERS = 20
"""Numbers of clusters, from 1 on, that evidence is shown for: as many as a choice is made from."""

DRAWN_NODES = 300
"""Nodes up to which a graph is drawn edge by edge; the embedding shows larger ones."""

SEGMENTS = "segments"
"""The plot of a picture: its colored segments."""

WITHOUT_EDGES = ("embedding", "sizes")
"""Plots that need no edges."""

HEAD = ("cluster", "size", "weight", "boundary", "boundary/weight")


class Clustered(NamedTuple):
    """A partition of the graph of a file; of a picture with the cluster of every pixel."""

    task: Input
    found: Any
    segments: np.ndarray | None
    scores: dict[str, float] | None  # agreement with known classes
    seconds: dict[str, float]
    notes: list[str]
    path: Any  # the evidence for numbers of clusters, where it is shown


class Cluster(NamedTuple):
    """A cluster: nodes, weight of nodes and of edges that leave it, and its part of the cut."""

    label: int
    size: int
    weight: float
    boundary: float
    share: float


def cluster(options: ClusterOptions) -> int:
    """Cluster a file and return the exit status."""
    n_clusters = check_clusters(options.clusters)
    outputs = Outputs(
        options,
        output=(*LABEL_SUFFIXES, *IMAGE_SUFFIXES),
        plot=PLOT_SUFFIXES,
        report=PAGE_SUFFIXES,
    )
    _check(options)
    task = load_input(options)
    if "-o" in outputs and outputs["-o"].suffix in IMAGE_SUFFIXES and task.image_graph is None:
        raise ValueError(
            f"-o {outputs['-o'].name}: only the segments of a picture are written as one, and "
            f"{task.loaded.source} is none; write labels as .csv, or draw with --plot."
        )
    answer = _cluster(options, task, n_clusters)
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
        _show(options, outputs, answer)
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


def _read_balance(text: str | None) -> float | tuple[float, float] | None:
    """Return what ``--balance`` means: a number, or a pair of them."""
    from leastcut.validation import check_number

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
    """Raise if an option is none of its choices, or a package that it needs is missing."""
    from leastcut import EFFORTS
    from leastcut.validation import check_choice, check_number

    check_input(options, needs_edges=False)
    if options.is_anchored:
        _check_anchored(options)
    check_choice("--effort", options.effort, EFFORTS)
    _read_balance(options.balance)
    if options.time_limit is not None:
        check_number("--time-limit", options.time_limit)
    if options.picture is not None and options.plot is None:
        raise ValueError("--picture says what --plot draws: name a file with --plot too.")
    if options.plot is not None:
        check_installed("Pictures", "matplotlib", "plot")
        if options.picture is not None:
            from leastcut.plot import PICTURES

            of_answers = [n for n, plot in PICTURES.items() if plot.shows in ("path", "clusters")]
            check_choice("--picture", options.picture, [*of_answers, SEGMENTS])
    if options.report is not None:
        check_installed("Reports", "jinja2", "report")
        check_installed("Reports", "matplotlib", "report")


def _check_anchored(options: ClusterOptions) -> None:
    """Raise if something is asked for that needs the edges of a graph."""
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


def _cluster(options: ClusterOptions, task: Input, n_clusters: int | str) -> Clustered:
    """Cut the graph, compare the clusters with known classes, and gather the evidence."""
    from leastcut import cut_path, partition

    began = perf_counter()
    # a report says how much smaller the cut could be
    bound = True if options.bound is None and options.report is not None else options.bound
    notes: list[str] = []
    with logged(notes):
        found = partition(
            task.graph,
            n_clusters,
            options.cut,
            effort=options.effort,
            balance=_read_balance(options.balance),
            time_limit=options.time_limit,
            lower_bound=bound,
            random_state=options.seed,
            isolated=options.isolated,
            callback=progress_bar(),
        )
    seconds = {"cut": perf_counter() - began}
    segments = None if task.image_graph is None else task.image_graph.to_image(found.labels)
    is_auto = n_clusters == "auto" and options.report is not None and not _has_isolated(task)
    path = None
    if is_auto or _shows_path(options.picture):
        numbers = range(1, min(PATH_NUMBERS, task.n_nodes) + 1)
        path = cut_path(
            task.graph,
            numbers,
            affinity="precomputed",
            cut=options.cut,
            random_state=options.seed,
        )
    scores = scores_of(task, found.labels)
    return Clustered(task, found, segments, scores, seconds, notes, path)


def scores_of(task: Input, labels: np.ndarray) -> dict[str, float] | None:
    """Return the agreement of labels with known classes, if there are any."""
    from leastcut import clustering_accuracy, normalized_mutual_info

    classes = task.loaded.classes
    if classes is None:
        return None
    return {
        "accuracy": clustering_accuracy(classes, labels),
        "nmi": normalized_mutual_info(classes, labels),
    }


def _has_isolated(task: Input) -> bool:
    """Return whether there are nodes without edges, which only a search can leave out."""
    return bool(task.graph.connected.size < task.n_nodes)


# -- plot and report


def _shows_path(picture: str | None) -> bool:
    """Return whether a plot shows many numbers of clusters."""
    if picture is None or picture == SEGMENTS:
        return False
    from leastcut.plot import PICTURES

    return PICTURES[picture].shows == "path"


def _write_plot(options: ClusterOptions, output: Output, answer: Clustered) -> None:
    """Write the plot that is asked for, or the one that says most."""
    from leastcut.plot import PICTURES

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
        write_plot(output, PICTURES[picture].draw(answer.path))
    else:
        write_plot(output, PICTURES[picture].draw(answer.found, task.graph, cut=options.cut))


def _write_report(options: ClusterOptions, output: Output, answer: Clustered) -> None:
    """Write the page that explains the answer."""
    from leastcut import compare
    from leastcut.report.page import Answer, report_html

    task, segments = answer.task, answer.segments
    notes = [f"{task.described()}.", *task.notes, *answer.notes]
    comparison = None
    n_clusters = int(answer.found.labels.max()) + 1
    if n_clusters > 1 and options.balance is not None:
        notes.append("Other methods were not compared here: none of them keeps to a balance.")
    elif n_clusters > 1 and task.n_nodes <= COMPARED_NODES and not _has_isolated(task):
        comparison = compare(
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


def _show(options: ClusterOptions, outputs: Outputs, answer: Clustered) -> None:
    """Show the answer as text."""
    task, to_error = answer.task, outputs.to_error
    chosen = ", as many as the graph supports" if options.clusters == "auto" else ""
    show_partition(options, task, answer.found, to_error, chosen)
    show("", to_error)
    show_table(HEAD, cluster_rows(clusters_of(options, task, answer.found.labels)), 0, to_error)
    show("", to_error)
    if answer.scores is not None:
        show(_scores_in_words(answer.scores), to_error)
    seconds = {**task.seconds, **answer.seconds}
    show(", ".join(f"{name} {value:.2f} s" for name, value in seconds.items()), to_error)
    written = outputs.in_words()
    if not outputs:
        page = "" if task.is_anchored else ", a page with --report page.html"
        written = f"Labels are written with -o labels.csv{page}."
    if written:
        show(written, to_error)


def show_partition(
    options: InputOptions, task: Input, found: Any, to_error: bool, chosen: str = ""
) -> None:
    """Show a line about the graph, and one about the cut and what is proven of it."""
    show(task.described(), to_error)
    proven = (
        f"and no partition is more than {100 * (found.gap or 0):.3g}% below it (lower bound "
        f"{found.lower_bound or 0:.6g})"
    )
    if found.gap is None:
        proven = "with no bound computed on how much smaller it could be (--bound does)"
    elif found.gap <= PROVEN:
        proven = "proven to be the smallest there is"
    count = counted(int(found.labels.max()) + 1, "cluster")
    show(f"{count}{chosen}: {options.cut} cut {found.cut_value:.6g}, {proven}.", to_error)


def _scores_in_words(scores: dict[str, float]) -> str:
    return (
        f"Compared with the known classes: accuracy {scores['accuracy']:.4f}, normalized mutual "
        f"information {scores['nmi']:.4f}."
    )


def clusters_of(options: InputOptions, task: Input, labels: np.ndarray) -> list[Cluster]:
    """Return the clusters of labels 0..k-1."""
    from leastcut.problem import as_problem

    sizes = np.bincount(labels)
    if task.is_anchored:  # no edges are stored, and every degree is 1
        table = task.graph.problem.table_of_labels(labels)
        weights, boundaries = table.sizes, table.boundaries
    else:
        problem = as_problem(task.graph, options.cut, isolated=options.isolated)
        weights, boundaries = problem.cluster_weights(labels), problem.boundaries(labels)
    return [
        Cluster(label, int(size), float(w), float(b), float(b / w) if w > 0 else 0.0)
        for label, (size, w, b) in enumerate(zip(sizes, weights, boundaries, strict=True))
    ]


def cluster_rows(clusters: list[Cluster]) -> list[list[str]]:
    """Return the rows of a table of clusters."""
    return [
        [str(c.label), f"{c.size:,}", f"{c.weight:.6g}", f"{c.boundary:.6g}", f"{c.share:.4g}"]
        for c in clusters
    ]

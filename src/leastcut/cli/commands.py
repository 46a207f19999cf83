"""``leastcut compare``, ``cut`` and ``certify``."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

import leastcut
from leastcut import plot
from leastcut.cli.clustering import (
    check_clusters,
    clusters_of,
    print_clusters,
    print_partition,
    scores_of,
)
from leastcut.cli.inputs import check_input, load_input
from leastcut.cli.options import CertifyOptions, CompareOptions, CutOptions
from leastcut.cli.outputs import (
    Outputs,
    partition_record,
    print_table,
    progress_bar,
    record_of,
    write_labels,
    write_plot,
    write_record,
)
from leastcut.comparison import WITHOUT_EIGENVECTORS
from leastcut.formatting import PROVEN, counted, percent, seconds_text, sizes_text
from leastcut.io.labels import read_labels
from leastcut.io.source import STANDARD_INPUT, Source
from leastcut.validation import check_choice, check_number


def compare(options: CompareOptions) -> int:
    """Compare the methods on a file and return the exit status."""
    n_clusters = check_clusters(options.clusters)
    if isinstance(n_clusters, str):
        raise ValueError(
            "-k auto is not available in 'leastcut compare'; pass a number of clusters, such as "
            "the one that 'leastcut cluster -k auto' selects."
        )
    outputs = Outputs(options)
    check_input(options)
    check_choice("--effort", options.effort, leastcut.EFFORTS)
    for method in options.methods or ():
        check_choice("--method", method, (*leastcut.DISCRETIZERS, *WITHOUT_EIGENVECTORS))
    task = load_input(options)
    comparison = leastcut.compare(
        task.graph,
        n_clusters,
        options.cut,
        methods=options.methods or None,
        effort=options.effort,
        random_state=options.seed,
    )
    scores = {row.method: scores_of(task, row.labels) for row in comparison.compared}
    if outputs:
        write_plot(outputs["--plot"], plot.comparison(comparison))
    if options.json:
        record = record_of(options, task, {})
        record |= {"n_clusters": n_clusters, "lower_bound": comparison.lower_bound}
        keys = ("method", "cut_value", "gap", "sizes", "seconds")
        record["compared"] = [
            {**{key: getattr(row, key) for key in keys}, "scores": scores[row.method]}
            for row in comparison.compared
        ]
        record["outputs"] = {option: output.name for option, output in outputs.items()}
        write_record(record)
        return 0
    print(task.described())
    print(
        f"{counted(n_clusters, 'cluster')}: lower bound of the {comparison.cut} cut "
        f"{comparison.lower_bound:.6g}"
    )
    print()
    names = [] if task.loaded.classes is None else ["accuracy", "nmi"]
    rows = []
    for row in sorted(comparison.compared, key=lambda row: row.cut_value):
        gap = "" if row.gap is None else percent(row.gap)
        agreement = [f"{(scores[row.method] or {})[name]:.4f}" for name in names]
        cells = [row.method, f"{row.cut_value:.6g}", gap, seconds_text(row.seconds), *agreement]
        rows.append([*cells, sizes_text(row.sizes)])
    print_table(["method", "cut", "gap", "time", *names, "cluster sizes"], rows)
    if outputs:
        print(outputs.in_words())
    return 0


def cut(options: CutOptions) -> int:
    """Evaluate labels from a file, refine them, and return the exit status."""
    outputs = Outputs(options, options.labels)
    check_input(options)
    if options.labels == options.file == STANDARD_INPUT:
        raise ValueError("Only one of FILE and LABELS can be - (standard input).")
    Source.of(options.labels)  # raises if the file does not exist
    task = load_input(options)
    classes, labels = np.unique(read_labels(options.labels, task.names), return_inverse=True)
    labels = labels.reshape(-1)
    # 1. evaluate and refine the labels
    began = perf_counter()
    value = leastcut.cut_value(task.graph, labels, options.cut, isolated=options.isolated)
    refined = leastcut.refine(task.graph, labels, options.cut, isolated=options.isolated)
    seconds = {"cut": perf_counter() - began}
    n_moved = int(np.count_nonzero(refined.labels != labels))
    gain = 0.0 if value == 0.0 else (value - refined.cut_value) / value
    if outputs:
        write_labels(outputs["-o"], task, classes[refined.labels])
    clusters = [
        row._replace(label=classes[row.label]) for row in clusters_of(options, task, labels)
    ]
    # 2. print the result
    if options.json:
        record = record_of(options, task, seconds)
        record |= partition_record(leastcut.Partition(labels, value))
        record["clusters"] = [row._asdict() for row in clusters]
        record["refined"] = {"cut_value": refined.cut_value, "gain": gain, "n_moved": n_moved}
        record["labels_path"] = outputs.labels_path
        write_record(record)
        return 0
    with outputs.redirected():
        print(task.described())
        count = counted(len(clusters), "cluster")
        print(f"{count} in {options.labels}: {options.cut} cut {value:.6g}\n")
        print_clusters(clusters, n_words=1)
        print()
        if gain > 0:
            print(
                f"Refinement moves {counted(n_moved, 'node')} and reduces the cut by "
                f"{percent(gain)} to {refined.cut_value:.6g}."
            )
        else:
            print("Refinement does not change the labels: no single move reduces the cut.")
        if outputs and not outputs.is_standard:
            print(f"Saved refined labels to {outputs.labels_path}.")
        elif gain > 0 and not outputs:
            print("Save the refined labels with -o refined.csv.")
    return 0


def certify(options: CertifyOptions) -> int:
    """Certify a partition and return the exit status."""
    # 1. check the options
    if (options.labels is None) == (options.clusters is None):
        raise ValueError("Pass either a file of LABELS to certify, or a number of clusters -k.")
    n_clusters = check_clusters("auto" if options.clusters is None else options.clusters)
    outputs = Outputs(options, options.labels)
    check_input(options)
    check_choice("--effort", options.effort, leastcut.EFFORTS)
    check_number("--time-limit", options.time_limit)
    if not 0 <= options.gap < 1:
        raise ValueError(f"--gap {options.gap} must be at least 0 and less than 1.")
    if options.labels is not None:
        Source.of(options.labels)  # raises if the file does not exist
    task = load_input(options)
    shared: dict[str, Any] = {
        "random_state": options.seed,
        "isolated": options.isolated,
        "callback": progress_bar(),
    }
    # 2. read the labels, or search for them
    began = perf_counter()
    if options.labels is None:
        labels = leastcut.partition(
            task.graph,
            n_clusters,
            options.cut,
            effort=options.effort,
            lower_bound=False,
            **shared,
        ).labels
    else:
        labels = np.unique(read_labels(options.labels, task.names), return_inverse=True)[1]
        labels = labels.reshape(-1)
    # 3. certify them
    partition = leastcut.certify(
        task.graph,
        labels,
        options.cut,
        gap=options.gap,
        time_limit=options.time_limit,
        **shared,
    )
    seconds = {"certify": perf_counter() - began}
    is_proven = partition.gap is not None and partition.gap <= PROVEN
    if outputs:
        write_labels(outputs["-o"], task, partition.labels)
    if options.json:
        record = record_of(options, task, seconds) | partition_record(partition)
        record |= {"is_proven": is_proven, "labels_path": outputs.labels_path}
        if not outputs:
            record |= {"labels": partition.labels, "nodes": task.names}
        write_record(record)
        return 0
    with outputs.redirected():
        print_partition(options, task, partition)
        if not is_proven and (partition.gap or 0) > options.gap:
            print("A longer --time-limit may improve the lower bound.")
        print("Time:", seconds_text(seconds["certify"]))
        if outputs and not outputs.is_standard:
            print(outputs.in_words())
    return 0

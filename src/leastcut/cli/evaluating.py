"""``leastcut cut``: what a labelling from anywhere is worth, and what refining it gains."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from leastcut.cli.anchored import refuse_anchored
from leastcut.cli.cluster_table import HEAD, as_rows, clusters_of
from leastcut.cli.clustering import in_number, partition_record, write_labels, written_words
from leastcut.cli.inputs import InputOptions, pose
from leastcut.cli.outputs import LABEL_SUFFIXES, Output, check_outputs
from leastcut.cli.records import base_record, write_record
from leastcut.cli.showing import show, show_table


@dataclass(frozen=True)
class EvaluateOptions:
    """What ``leastcut cut`` is asked for: one field per option."""

    reading: InputOptions
    labels: str
    output: str | None = None
    json: bool = False
    force: bool = False


def run(options: EvaluateOptions) -> int:
    """Evaluate a labelling and return the exit status."""
    from leastcut import Partition, cut_value, refine
    from leastcut.io.labels import read_labels
    from leastcut.io.source import STANDARD_INPUT, Source

    reading = options.reading
    outputs = [] if options.output is None else [Output("-o", options.output, LABEL_SUFFIXES)]
    check_outputs(outputs, options.force, options.json, [reading.file, options.labels])
    reading.check()
    refuse_anchored(reading)
    if options.labels == reading.file == STANDARD_INPUT:
        raise ValueError("Only one of FILE and LABELS can be -, the standard input.")
    Source.of(options.labels)  # which raises where there is none
    posed = pose(reading)
    given = read_labels(options.labels, posed.names)
    classes, labels = np.unique(given, return_inverse=True)
    labels = labels.reshape(-1)
    # 1. its value, and that of what moves of single nodes make of it
    began = perf_counter()
    value = cut_value(posed.graph, labels, reading.cut, isolated=reading.isolated)
    refined = refine(posed.graph, labels, reading.cut, isolated=reading.isolated)
    seconds = {"cut": perf_counter() - began}
    n_moved = int(np.count_nonzero(refined.labels != labels))
    gain = 0.0 if value == 0.0 else (value - refined.cut_value) / value
    if outputs:
        write_labels(outputs[0], posed, _as_given(classes, refined.labels))
    clusters = clusters_of(posed.graph, labels, reading.cut, reading.isolated)
    # 2. told
    if options.json:
        record = base_record(posed, reading, seconds)
        record |= partition_record(Partition(labels, value))
        record["clusters"] = [
            {**cluster._asdict(), "label": classes[cluster.label]} for cluster in clusters
        ]
        record["refined"] = {"cut_value": refined.cut_value, "gain": gain, "n_moved": n_moved}
        record["labels_path"] = outputs[0].name if outputs else None
        write_record(record)
        return 0
    to_error = bool(outputs) and outputs[0].is_standard
    show(posed.described(), to_error)
    show(
        f"{in_number(len(clusters))} in {options.labels}: {reading.cut} cut {value:.6g}.", to_error
    )
    show("", to_error)
    rows = [[str(classes[i]), *row[1:]] for i, row in enumerate(as_rows(clusters))]
    show_table(HEAD, rows, words=1, to_error=to_error)
    show("", to_error)
    if gain > 0:
        show(
            f"Refining moves {n_moved:,} nodes and brings it to {refined.cut_value:.6g}, "
            f"{100 * gain:.3g}% less.",
            to_error,
        )
    else:
        show("Refining gains nothing: no move of a single node makes it smaller.", to_error)
    told = written_words(outputs)
    if told:
        show(f"Refined labels in {outputs[0].name}", to_error)
    elif gain > 0 and not outputs:
        show("The refined labels are written with -o refined.csv.", to_error)
    return 0


def _as_given(classes: np.ndarray, labels: np.ndarray) -> Any:
    """Return refined labels by the names that clusters had."""
    return classes[labels]

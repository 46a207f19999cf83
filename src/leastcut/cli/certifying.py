"""``leastcut certify``: how small a cut could be, proven, and a smaller one if there is."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from leastcut.cli.anchored import refuse_anchored
from leastcut.cli.clustering import (
    check_clusters,
    cut_with_bar,
    gap_in_words,
    in_number,
    partition_record,
    write_labels,
)
from leastcut.cli.inputs import InputOptions, pose
from leastcut.cli.outputs import LABEL_SUFFIXES, Output, check_outputs
from leastcut.cli.records import base_record, write_record
from leastcut.cli.showing import bar, show
from leastcut.formatting import PROVEN


@dataclass(frozen=True)
class CertifyOptions:
    """What ``leastcut certify`` is asked for: one field per option."""

    reading: InputOptions
    labels: str | None = None
    clusters: str | None = None
    effort: str = "balanced"
    gap: float = 0.0
    time_limit: float = 60.0
    output: str | None = None
    json: bool = False
    force: bool = False


def run(options: CertifyOptions) -> int:
    """Certify a partition and return the exit status."""
    from leastcut import EFFORTS, certify
    from leastcut.io.labels import read_labels
    from leastcut.io.source import Source
    from leastcut.validation import check_choice, check_number

    reading = options.reading
    # 1. checked before any work
    if (options.labels is None) == (options.clusters is None):
        raise ValueError("Name a file of LABELS to certify, or a number of clusters with -k.")
    n_clusters = None if options.clusters is None else check_clusters(options.clusters)
    outputs = [] if options.output is None else [Output("-o", options.output, LABEL_SUFFIXES)]
    check_outputs(outputs, options.force, options.json, [reading.file, options.labels])
    reading.check()
    refuse_anchored(reading)
    check_choice("--effort", options.effort, EFFORTS)
    check_number("--time-limit", options.time_limit)
    if not 0 <= options.gap < 1:
        raise ValueError(f"--gap {options.gap} must be at least 0 and less than 1.")
    if options.labels is not None:
        Source.of(options.labels)  # which raises where there is none
    posed = pose(reading)
    # 2. what is to be proven: labels given, or those of a search
    began = perf_counter()
    if options.labels is None:
        assert n_clusters is not None
        labels = cut_with_bar(
            posed,
            n_clusters,
            reading.cut,
            effort=options.effort,
            lower_bound=False,
            random_state=reading.seed,
            isolated=reading.isolated,
        ).labels
    else:
        labels = np.unique(read_labels(options.labels, posed.names), return_inverse=True)[1]
        labels = labels.reshape(-1)

    def fraction(told: Any) -> float:
        return min(told.seconds / options.time_limit, 1.0) if options.time_limit > 0 else 1.0

    def words(told: Any) -> str:
        return f"{told.seconds:.0f} s, cut {told.cut_value:.6g}, none below {told.lower_bound:.6g}"

    # 3. the proof
    with bar("Proving", fraction, words) as callback:
        found = certify(
            posed.graph,
            labels,
            reading.cut,
            gap=options.gap,
            time_limit=options.time_limit,
            callback=callback,
            random_state=reading.seed,
            isolated=reading.isolated,
        )
    seconds = {"certify": perf_counter() - began}
    is_proven = found.gap is not None and found.gap <= PROVEN
    if outputs:
        write_labels(outputs[0], posed, found.labels)
    if options.json:
        record = base_record(posed, reading, seconds)
        record |= partition_record(found)
        record["is_proven"] = is_proven
        record["labels_path"] = outputs[0].name if outputs else None
        if not outputs:
            record["labels"], record["nodes"] = found.labels, posed.names
        write_record(record)
        return 0
    to_error = bool(outputs) and outputs[0].is_standard
    show(posed.described(), to_error)
    count = int(found.labels.max()) + 1
    show(
        f"{in_number(count)}: {reading.cut} cut {found.cut_value:.6g}, {gap_in_words(found)}.",
        to_error,
    )
    if not is_proven and (found.gap or 0) > options.gap:
        show("A longer --time-limit may prove more.", to_error)
    show(f"{seconds['certify']:.2f} s", to_error)
    if outputs and not to_error:
        show(f"Labels in {outputs[0].name}")
    return 0

"""Flaws of the paper that runs show, with all numbers computed from the records.

Each function returns a flaw, or None if the records do not show it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import median

from reproduction.data import printed
from reproduction.report.evidence import (
    OTHER_VALUE,
    SEEDS,
    SIGNS,
    SINGLE,
    TABLE,
    Evidence,
    Run,
    Trace,
    evidence,
    traces,
)
from reproduction.report.findings import ITERATIONS, iterations_needed, stable_datasets
from reproduction.report.flaws import Flaw
from reproduction.report.selection import datasets_of, numbers, select
from reproduction.report.table import AGREEMENT, places
from reproduction.report.tables import TABLES
from reproduction.runs.labeling import N_KEPT
from reproduction.runs.methods import (
    KMEANS,
    METHODS,
    ROTATION,
    many_seeds,
)
from reproduction.runs.records import Record
from reproduction.runs.small_graphs import PRINTED_CLOSEST, set_text


@dataclass(frozen=True, eq=False)
class _Known:
    """The records, the recorded runs, and the traces of the printed numbers."""

    records: list[Record]
    runs: Evidence
    traced: list[Trace]


def _example(known: _Known) -> Flaw | None:
    for record in select(known.records, "motivation"):
        parts = [tuple(part) for part in record["parts"]]
        ranked = sorted(zip(record["distances"], parts, strict=True))
        distance = record["distances"][parts.index(PRINTED_CLOSEST)]
        (nearest, closest), rank = ranked[0], [part for _, part in ranked].index(PRINTED_CLOSEST)
        if rank:
            return Flaw(
                "example",
                ("motivation",),
                "The paper gives "
                f"{set_text(PRINTED_CLOSEST)} as the closest discrete solution of its 4-node "
                f"example. The closest is {set_text(closest)}, at a squared distance of "
                f"{nearest:.3f}; the printed one is at {distance:.3f}, number {rank + 1} of "
                f"{len(parts)} by distance. It remains true that the closest solution is not the "
                "optimum.",
            )
    return None


def _cut_off(known: _Known) -> Flaw | None:
    unit = 10.0**-printed.DIGITS
    listed = [
        f"{row}, {cut}, {head} ({entry.paper:.4f}, ours {entry.value:.5f})"
        for table in ("tiny", "objective")
        for cut, row, head, entry in places(TABLES[table](known.records))
        if entry.agrees
        and entry.value is not None
        and entry.paper is not None
        and entry.value - entry.paper > 0.501 * unit
    ]
    if not listed:
        return None
    text = f"These printed values are truncated instead of rounded: {'; '.join(listed)}."
    return Flaw("cut off", ("objective",), text)


def _starts(known: _Known) -> Flaw | None:
    """Return the flaw that the number of starts is not stated, with counts for each method."""
    ten = select(known.records, "objective", KMEANS)
    stable = stable_datasets(known.records)
    unstable = [name for name in datasets_of(ten) if printed.row_label(name) not in stable]
    cells = [
        (paper, median(ours))
        for name in unstable
        for cut in printed.CUT_TITLES
        if (paper := printed.value("objective", name, cut, KMEANS.printed)) is not None
        and (ours := numbers(ten, name, cut, "value"))
    ]
    missed = [text for column in many_seeds() if (text := _missed(known, column.label))]
    if not cells or not missed:
        return None
    different = [(paper, ours) for paper, ours in cells if not printed.is_printed(ours, paper)]
    rows = ", ".join(printed.row_label(name) for name in unstable)
    return Flaw(
        "few starts",
        ("objective", "restarts"),
        f"The paper does not state the number of starts; here it is ten. On {rows}, where k-means "
        "depends on the seed, our median is below its printed value in "
        f"{sum(ours < paper for paper, ours in different)} of {len(cells)} cells and above it in "
        f"{sum(ours > paper for paper, ours in different)}. Printed cut values that differ from "
        "our median, but are reached by single starts / by ten starts with other seeds: "
        f"{'; '.join(missed)}.",
    )


def _missed(known: _Known, label: str) -> str:
    """Return how many printed values that the median misses one start and ten starts reach."""
    missed, single, ten = 0, 0, 0
    (column,) = (column for column in METHODS if column.label == label)
    for table, name, cut in printed.rows_printed():
        paper = printed.value(table, name, cut, column.printed)
        ours = numbers(select(known.records, table, column), name, cut, "value")
        if paper is None or not ours or printed.is_printed(median(ours), paper):
            continue
        kinds = {
            run.kind for run in known.runs.of(name, cut, label) if run.is_at(paper, None, None)
        }
        missed += 1
        single += SINGLE in kinds
        ten += SEEDS in kinds
    return f"{label} {single} / {ten} of {missed}" if missed else ""


def _signs(known: _Known) -> Flaw | None:
    ranges: list[tuple[float, str]] = []
    cells = 0
    for (name, cut), runs in known.runs.runs.items():
        tried = [run.value for run in runs if run.kind == SIGNS and run.column == ROTATION.label]
        values = tried[:N_KEPT]  # the others are recorded because of the printed value
        cells += bool(values)
        # a cut of 0 has no relative range
        if values and max(values) > (1.0 + AGREEMENT) * min(values) > 0:
            place = f"{printed.row_label(name)}, {printed.CUT_TITLES[cut]}"
            text = f"{place}, from {min(values):.4f} to {max(values):.4f}"
            ranges.append((max(values) / min(values), text))
    if not ranges:
        return None
    return Flaw(
        "signs",
        ("tiny", "objective", "signs"),
        "The paper's SR starts from the identity rotation, so its labels depend on the signs of "
        "the eigenvectors, which are arbitrary. Over the choices of signs tried, the cut value "
        f"varies by more than 2% in {len(ranges)} of {cells} cells, most on {max(ranges)[1]}. "
        f"{_reached_by_signs(known)}",
    )


def _reached_by_signs(known: _Known) -> str:
    """Return the number of cells of Table II in which choices of signs give the printed numbers."""
    traced = [trace for trace in known.traced if trace.column == ROTATION.label]
    unchanged = sum(any(_is_of(run, TABLE) for run in trace.value_matches) for trace in traced)
    some = [trace for trace in traced if any(_is_of(run, SIGNS) for run in trace.value_matches)]
    matching = [trace for trace in some if any(_is_of(run, SIGNS) for run in trace.matches)]
    return (
        f"Our eigenvectors give the printed value in {unchanged} of {len(traced)} cells of Table "
        f"II, and some choice of signs gives it in {len(some)}, possibly by chance where thousands "
        f"were tried; in {len(matching)} of these accuracy and NMI match as well."
    )


def _is_of(run: Run, kind: str) -> bool:
    return run.column == ROTATION.label and run.kind == kind


def _crossed(known: _Known) -> Flaw | None:
    crossed = [trace for trace in known.traced if trace.kind == OTHER_VALUE]
    if not crossed:
        return None
    return Flaw(
        "crossed",
        ("accuracy", "nmi", "traces"),
        f"In {len(crossed)} cells the printed accuracy and NMI belong to a recorded partition "
        "whose cut value is not the printed one, and no recorded partition has all three: "
        f"{_places(crossed)}.",
        tuple(
            f"{trace.place}: {trace.accuracy:.4f} and {trace.nmi:.4f} at {trace.value:.4f}; ours "
            f"by {trace.witness()}"
            for trace in crossed
        ),
    )


def _places(traced: Iterable[Trace]) -> str:
    """Return the cells of some traces by dataset and method, as in "WINE SR (ratio)"."""
    cuts: dict[tuple[str, str], list[str]] = {}
    for trace in traced:
        method = printed.row_label(trace.dataset), trace.column
        cuts.setdefault(method, []).append(trace.cut)
    return "; ".join(
        f"{row} {column} ({'both cuts' if len(named) > 1 else named[0]})"
        for (row, column), named in cuts.items()
    )


def _copied(known: _Known) -> Flaw | None:
    """Return the flaw that printed NMIs are those of another method of the row."""
    copied, listed = [], []
    for trace in known.traced:
        same = [
            f"{other.column} ({other.value:.4f})"
            for other in known.traced
            if (other.dataset, other.cut) == (trace.dataset, trace.cut)
            and other.nmi == trace.nmi
            and other.matches
            and _differ(trace, other)
        ]
        if same and not trace.matches and trace.kind != OTHER_VALUE:
            nmis = {run.nmi for run in trace.value_matches if run.is_at(None, trace.accuracy, None)}
            ours = f" (ours with its cut value and accuracy: {min(nmis):.4f})" if nmis else ""
            cell = f"{trace.place} ({trace.value:.4f})"
            copied.append(trace)
            listed.append(f"{cell}: {trace.nmi:.4f} as {', '.join(same)}{ours}")
    if not copied:
        return None
    return Flaw(
        "copied",
        ("nmi", "traces"),
        f"{len(copied)} printed NMIs equal that of another method of the row, whose printed "
        "numbers a recorded partition confirms and whose cut value and accuracy differ; no "
        "recorded partition has them with the cut value and accuracy of their own cell: "
        f"{_places(copied)}.",
        tuple(listed),
    )


def _differ(trace: Trace, other: Trace) -> bool:
    """Return whether cut value and accuracy of two cells differ, so their partitions do too."""
    unit = 1.5 * 10.0**-printed.DIGITS
    return abs(trace.value - other.value) > unit and trace.accuracy != other.accuracy


def _converges(known: _Known) -> Flaw | None:
    runs = select(known.records, "convergence")
    counts = []
    for name in datasets_of(runs):
        for cut, title in printed.CUT_TITLES.items():
            needed = [
                iterations_needed(record)
                for record in runs
                if (record["dataset"], record["cut"]) == (name, cut)
            ]
            late = sum(count > ITERATIONS for count in needed)
            if needed:
                counts.append((late, len(needed), f"{printed.row_label(name)}, {title}"))
    if not any(late for late, _, _ in counts):
        return None
    listed = "; ".join(f"{place}: {late} of {of}" for late, of, place in counts if late)
    return Flaw(
        "ten iterations",
        ("convergence",),
        f"The paper states that its method converges within {ITERATIONS} iterations. Runs whose "
        f"loss still decreases after iteration {ITERATIONS}: {listed}.",
    )


def _reweighting(known: _Known) -> Flaw | None:
    """Return the flaw that η = 0.001 changes hardly anything, compared with η = 0.00001."""
    runs = select(known.records, "sensitivity")
    values = {
        (r["dataset"], r["cut"], r["seed"], r["parameters"]["eta"]): float(r["value"])
        for r in runs
        if "eta" in r["parameters"]
    }
    pairs = [
        (value, values[*place, 1e-3])
        for (*place, eta), value in values.items()
        if eta == 1e-5 and (*place, 1e-3) in values
    ]
    scales = [1.0 / float(r["largest"]) for r in runs if r["method"] == "relax" and r["largest"]]
    if not pairs or not scales:
        return None
    same = sum(abs(small - usual) <= 5e-5 * abs(usual) for small, usual in pairs)
    return Flaw(
        "reweighting",
        ("sensitivity",),
        "The gradient at the relaxed optimum is F Λ, so the first-order term only weights "
        f"eigenvector j by 1 − ηλⱼ. With the paper's smallest η, 0.001, {same} of {len(pairs)} "
        "runs give the same cut value to four digits as with η = 0.00001, for which the term is "
        f"negligible. The last weight changes sign at η = 1/λ_c, here {min(scales):.3g} to "
        f"{max(scales):.3g}.",
    )


MEASURED: tuple[Callable[[_Known], Flaw | None], ...] = (
    _example,
    _signs,
    _starts,
    _cut_off,
    _crossed,
    _copied,
    _reweighting,
    _converges,
)
"""Every flaw that runs can show."""


def flaws_measured(records: list[Record]) -> list[Flaw]:
    """Return the flaws that the records show."""
    runs = evidence(records)
    known = _Known(records, runs, traces(runs))
    return [flaw for find in MEASURED if (flaw := find(known)) is not None]

"""Flaws of the paper that runs show; every number in their sentences is counted from the records.

Each function returns a flaw, or None if there are no records for it or they do not show it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from reproduction.data import printed
from reproduction.report.evidence import (
    OTHER_VALUE,
    SAME_METHOD,
    SEARCHED,
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
    N_SEARCHED,
    ROTATION,
    many_seeds,
    searched_starts,
)
from reproduction.runs.records import Record
from reproduction.runs.small_graphs import PRINTED_CLOSEST, set_text


@dataclass(frozen=True, eq=False)
class _Known:
    """The records, the runs on record, and the traces of the printed numbers."""

    records: list[Record]
    runs: Evidence
    traced: list[Trace]


def _example(known: _Known) -> Flaw | None:
    for record in select(known.records, "motivation"):
        parts = [tuple(part) for part in record["parts"]]
        ranked = sorted(zip(record["distances"], parts, strict=True))
        told = parts.index(PRINTED_CLOSEST)
        (nearest, closest), place = ranked[0], [part for _, part in ranked].index(PRINTED_CLOSEST)
        if place:
            return Flaw(
                "example",
                ("motivation",),
                "In its 4-node example the paper says that the closest discrete solution is "
                f"{set_text(PRINTED_CLOSEST)}. It is {set_text(closest)}, at a squared "
                f"distance of {nearest:.3f}; the printed one is at {record['distances'][told]:.3f} "
                f"and number {place + 1} of all {len(parts)}, the nearest first. That the closest "
                "is not the optimum remains true.",
            )
    return None


def _cut_off(known: _Known) -> Flaw | None:
    unit = 10.0**-printed.DIGITS
    listed = [
        f"{row}, {cut}, {head}: {entry.paper:.4f} for {entry.value:.5f}"
        for table in ("tiny", "objective")
        for cut, row, head, entry in places(TABLES[table](known.records))
        if entry.agrees
        and entry.value is not None
        and entry.paper is not None
        and entry.value - entry.paper > 0.501 * unit
    ]
    if not listed:
        return None
    text = f"These printed values are ours cut off and not rounded: {'; '.join(listed)}."
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
    different = [(paper, own) for paper, own in cells if not printed.is_printed(own, paper)]
    rows = ", ".join(printed.row_label(name) for name in unstable)
    return Flaw(
        "few starts",
        ("objective", "restarts"),
        f"The paper does not say how many starts its methods had; here all have ten. On {rows}, "
        "where k-means depends on the seed, our median is smaller than its printed value in "
        f"{sum(own < paper for paper, own in different)} of {len(cells)} cells and larger in "
        f"{sum(own > paper for paper, own in different)}. Of the printed cut values that are not "
        f"our median, single starts and runs of ten starts end at: {'; '.join(missed)}."
        f"{_traced_to_starts(known)}",
    )


def _traced_to_starts(known: _Known) -> str:
    """Return a sentence on the cells whose three printed numbers are those of one run."""
    if not any(run.kind == SEARCHED for runs in known.runs.runs.values() for run in runs):
        return ""
    counts = []
    for column in searched_starts():
        cells = [trace for trace in known.traced if trace.column == column.label]
        whole = sum(trace.kind == SAME_METHOD for trace in cells)
        counts.append(f"{column.label}, {whole} of {len(cells)}")
    return (
        f" With up to {N_SEARCHED:,} single starts searched, cut value, accuracy and NMI are all "
        f"three those of a run of ours in so many cells: {'; '.join(counts)}."
    )


def _missed(known: _Known, label: str) -> str:
    """Return how many printed values, missed by the median, one start and ten starts reach."""
    missed, single, ten = 0, 0, 0
    (column,) = (column for column in METHODS if column.label == label)
    for table, name, cut in printed.rows_printed():
        paper = printed.value(table, name, cut, column.printed)
        ours = numbers(select(known.records, table, column), name, cut, "value")
        if paper is None or not ours or printed.is_printed(median(ours), paper):
            continue
        there = {
            run.kind for run in known.runs.of(name, cut, label) if run.is_at(paper, None, None)
        }
        missed += 1
        single += SINGLE in there
        ten += SEEDS in there
    return f"{label}, {single} and {ten} of {missed}" if missed else ""


def _signs(known: _Known) -> Flaw | None:
    ranges: list[tuple[float, str]] = []
    cells = 0
    for (name, cut), runs in known.runs.runs.items():
        tried = [run.value for run in runs if run.kind == SIGNS and run.column == ROTATION.label]
        values = tried[:N_KEPT]  # the others are on record because of the printed value
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
        "The paper's SR rotates the eigenvectors from the identity, so its labels depend on their "
        "signs, which are arbitrary: a printed value is that of one choice. Over the choices tried "
        f"the cut value varies by more than 2% in {len(ranges)} of {cells} cells, most of all on "
        f"{max(ranges)[1]}. {_signs_found(known)}",
    )


def _signs_found(known: _Known) -> str:
    """Return the number of cells of Table II in which choices of signs give the printed numbers."""
    traced = [trace for trace in known.traced if trace.column == ROTATION.label]
    as_they_are = sum(any(_is_of(run, TABLE) for run in trace.level) for trace in traced)
    some = [trace for trace in traced if any(_is_of(run, SIGNS) for run in trace.level)]
    whole = [trace for trace in some if any(_is_of(run, SIGNS) for run in trace.whole)]
    return (
        f"With the signs that we happen to have it is the printed value in {as_they_are} of "
        f"{len(traced)} cells of Table II, with some choice in {len(some)}, which may be chance "
        f"where thousands were tried; in {len(whole)} of these accuracy and NMI are the printed "
        "ones too."
    )


def _is_of(run: Run, kind: str) -> bool:
    return run.column == ROTATION.label and run.kind == kind


def _crossed(known: _Known) -> Flaw | None:
    found = [trace for trace in known.traced if trace.kind == OTHER_VALUE]
    if not found:
        return None
    listed = "; ".join(
        f"{trace.place}: {trace.accuracy:.4f} and {trace.nmi:.4f} at {trace.value:.4f}, ours by "
        f"{trace.witness()}"
        for trace in found
    )
    return Flaw(
        "crossed",
        ("accuracy", "nmi", "traces"),
        f"In {len(found)} cells the printed accuracy and NMI are those of a partition on record "
        f"whose cut value is not the printed one, and none on record has all three: {listed}.",
    )


def _copied(known: _Known) -> Flaw | None:
    """Return the flaw that printed NMIs are those of another method of the row."""
    listed = []
    for trace in known.traced:
        same = [
            f"{other.column} ({other.value:.4f})"
            for other in known.traced
            if (other.dataset, other.cut) == (trace.dataset, trace.cut)
            and other.nmi == trace.nmi
            and other.whole
            and _differ(trace, other)
        ]
        if same and not trace.whole and trace.kind != OTHER_VALUE:
            own = sorted({run.nmi for run in trace.level if run.is_at(None, trace.accuracy, None)})
            has = f" (ours with its cut value and accuracy: {own[0]:.4f})" if own else ""
            cell = f"{trace.place} ({trace.value:.4f})"
            listed.append(f"{cell}: {trace.nmi:.4f} as {', '.join(same)}{has}")
    if not listed:
        return None
    return Flaw(
        "copied",
        ("nmi", "traces"),
        "These printed NMIs are those of another method of the same row, as a partition on record "
        "confirms, whose cut value and accuracy differ; none on record has them together with "
        f"their own cut value and accuracy: {'; '.join(listed)}.",
    )


def _differ(trace: Trace, other: Trace) -> bool:
    """Return whether value and accuracy of two cells differ, so that their partitions do."""
    unit = 1.5 * 10.0**-printed.DIGITS
    return abs(trace.value - other.value) > unit and trace.accuracy != other.accuracy


def _converges(known: _Known) -> Flaw | None:
    found = select(known.records, "convergence")
    counts = []
    for name in datasets_of(found):
        for cut, title in printed.CUT_TITLES.items():
            needed = [
                iterations_needed(record)
                for record in found
                if (record["dataset"], record["cut"]) == (name, cut)
            ]
            late = sum(count > ITERATIONS for count in needed)
            if needed:
                counts.append((late, len(needed), f"{printed.row_label(name)}, {title}"))
    if not any(late for late, _, _ in counts):
        return None
    listed = "; ".join(f"{place}: {late} of {of}" for late, of, place in counts)
    return Flaw(
        "ten iterations",
        ("convergence",),
        f"The paper says that its method converges within {ITERATIONS} iterations. Runs of ours "
        f"whose loss falls after the {ITERATIONS}th: {listed}.",
    )


def _reweighting(known: _Known) -> Flaw | None:
    """Return the flaw that η = 0.001 changes hardly anything, compared with η = 0.00001."""
    found = select(known.records, "sensitivity")
    values = {
        (r["dataset"], r["cut"], r["seed"], r["parameters"]["eta"]): float(r["value"])
        for r in found
        if "eta" in r["parameters"]
    }
    pairs = [
        (value, values[*place, 1e-3])
        for (*place, eta), value in values.items()
        if eta == 1e-5 and (*place, 1e-3) in values
    ]
    scales = [1.0 / float(r["largest"]) for r in found if r["method"] == "relax" and r["largest"]]
    if not pairs or not scales:
        return None
    same = sum(abs(small - usual) <= 5e-5 * abs(usual) for small, usual in pairs)
    return Flaw(
        "reweighting",
        ("sensitivity",),
        "The gradient at the relaxed optimum is F Λ, so the first-order term only weighs "
        f"eigenvector j by 1 − ηλⱼ. At the paper's smallest η, 0.001, {same} of {len(pairs)} runs "
        "have the cut value of η = 0.00001 to four digits, where the term all but vanishes. The "
        f"last weight changes sign at η = 1/λ_c, which is {min(scales):.3g} to {max(scales):.3g} "
        "on these datasets.",
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

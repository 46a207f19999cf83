"""From records to tables: ours beside what the paper prints, cell by cell."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from firstcut.paper import printed
from firstcut.paper.entries import Entry, Section, Table, rows_of, select, spread
from firstcut.paper.experiments import (
    HEURISTICS,
    METHODS,
    N_SINGLE,
    OPTIMUM,
    RELAXED,
    Column,
    by_cut,
    single_starts,
)
from firstcut.paper.records import Record


def _values(
    name: str,
    title: str,
    records: list[Record],
    experiment: str,
    field_name: str,
    columns: Iterable[Column],
    best: str | None,
    notes: tuple[str, ...] = (),
    digits: int = printed.DIGITS,
) -> Table:
    listed = list(columns)
    chosen = [select(records, experiment, column) for column in listed]
    present = [i for i, found in enumerate(chosen) if found]
    sections = []
    for cut, cut_title in printed.CUT_TITLES.items():
        rows = []
        for dataset in rows_of(select(records, experiment)):
            entries = tuple(
                Entry(
                    _numbers(chosen[i], dataset, cut, field_name),
                    printed.value(name, dataset, cut, listed[i].printed or "")
                    if name in PRINTED_TABLES
                    else None,
                )
                for i in present
            )
            rows.append((printed.row_label(dataset), entries))
        heads = tuple(listed[i].label for i in present)
        sections.append(Section(cut_title, heads, tuple(rows)))
    return Table(name, title, tuple(sections), notes, best, digits)


PRINTED_TABLES = ("tiny", "objective", "accuracy", "nmi")
"""Our names of the tables of values that the paper prints."""


def _numbers(records: list[Record], dataset: str, cut: str, name: str) -> tuple[float, ...]:
    ordered = sorted(records, key=lambda record: int(record["seed"]))
    return tuple(
        float(record[name])
        for record in ordered
        if record["dataset"] == dataset and record["cut"] == cut and name in record
    )


def tiny(records: list[Record]) -> Table:
    """First rows of USPS in two clusters, against the enumerated optimum."""
    return _values(
        "tiny",
        "Objective values on the first 11–15 USPS digits, c = 2",
        records,
        "tiny",
        "value",
        (OPTIMUM, *METHODS),
        "small",
    )


def objective(records: list[Record]) -> Table:
    """Cut values on the datasets."""
    return _values(
        "objective",
        "Objective values",
        records,
        "objective",
        "value",
        (RELAXED, *METHODS),
        "small",
    )


def accuracy(records: list[Record]) -> Table:
    """Clustering accuracy on the datasets."""
    return _values(
        "accuracy", "Clustering accuracy", records, "objective", "accuracy", METHODS, "large"
    )


def nmi(records: list[Record]) -> Table:
    """Normalized mutual information on the datasets."""
    title = "Normalized mutual information, MI / max(H, H)"
    return _values("nmi", title, records, "objective", "nmi", METHODS, "large")


def seconds(records: list[Record]) -> Table:
    """Seconds per run, all starts included."""
    return _values(
        "seconds",
        "Seconds per run, all starts and all η included",
        records,
        "objective",
        "seconds",
        (RELAXED, *METHODS),
        None,
        digits=3,
    )


def restarts(records: list[Record]) -> Table:
    """What starts are worth, and the choice between them."""
    columns = []
    for single, ten, judged in zip(single_starts(), HEURISTICS, by_cut(), strict=False):
        columns += [
            (f"{ten.label}, 1 start", spread(records, single)),
            (f"{ten.label}, 10 by loss", select(records, "objective", ten)),
            (f"{ten.label}, 10 by cut", select(records, "restarts", judged)),
        ]
    sections = []
    names = rows_of(select(records, "restarts"))
    for cut, title in printed.CUT_TITLES.items():
        rows = tuple(
            (
                printed.row_label(name),
                tuple(Entry(_numbers(found, name, cut, "value")) for _, found in columns),
            )
            for name in names
        )
        sections.append(Section(title, tuple(label for label, _ in columns), rows))
    notes = (
        f"{N_SINGLE} single starts; ten starts of which the method's own loss chooses; ten of "
        "which the cut value chooses, which the method itself does not know. Medians.",
    )
    return Table("restarts", "What starts are worth", tuple(sections), notes)


def datasets(records: list[Record]) -> Table:
    """The datasets: size beside the paper's, and what their graphs look like."""
    heads = ("samples", "features", "classes", "stored edges", "components")
    rows = []
    found = {record["dataset"]: record for record in select(records, "datasets")}
    for name in rows_of(found.values()):
        record = found[name]
        shape = printed.dataset_shape(name) or (None, None, None)
        entries = [
            Entry((float(ours),), paper, f"{ours:,}")
            for ours, paper in zip(record["shape"], shape, strict=True)
        ]
        entries += [Entry(text=f"{record[key]:,}") for key in ("stored", "components")]
        rows.append((printed.row_label(name), tuple(entries)))
    return Table("datasets", "Datasets", (Section("", heads, tuple(rows)),), digits=0)


def theorem1(records: list[Record]) -> Table:
    """Theorem 1 measured: the losses of k-means and rotation, and the limits on their ratio."""
    sections = []
    for method, of in (("kmeans", "k-means"), ("improved_rotation", "improved rotation")):
        column = Column("", "theorem 1", {"labels": method})
        heads = ("J_km", "J_ISR", "J_ISR / J_km", "its limit", "limit / ratio")
        rows = []
        for record in _in_order(select(records, "theorems", column)):
            numbers = (record["j_kmeans"], record["j_isr"], record["value"], record["limit"])
            entries = [Entry((number,)) for number in numbers]
            entries.append(Entry((record["limit"] / record["value"],)))
            rows.append((printed.row_label(record["dataset"]), tuple(entries)))
        sections.append(Section(f"Partition by {of}", heads, tuple(rows)))
    notes = (
        "Theorem 1 says that the ratio lies between 1 and its limit (1 + √ε)², which is at most 4. "
        "Ratio Cut; the best of 10 starts by the method's own loss.",
    )
    return Table("theorem1", "Theorem 1, measured", tuple(sections), notes)


def theorem2(records: list[Record]) -> Table:
    """Theorem 2 measured: both sides of its inequality."""
    heads = ("ρ²(Δ*)", "ρ²(Δ†)", "λmax/λmin", "O(1)", "right side", "right / left")
    sections = []
    found = [r for r in select(records, "theorems") if r["method"] == "theorem 2"]
    for cut, title in printed.CUT_TITLES.items():
        rows = []
        for record in _in_order(r for r in found if r["cut"] == cut):
            names = ("rho2_best", "rho2_closest", "ratio", "constant", "limit", "value")
            entries = tuple(
                Entry((record[name],), text=f"{record[name]:,.4g}" if i > 1 else None)
                for i, name in enumerate(names)
            )
            rows.append((printed.row_label(record["dataset"]), entries))
        sections.append(Section(title, heads, tuple(rows)))
    notes = (
        "Theorem 2 says ρ²(Δ*) ≤ (λmax/λmin) ρ²(Δ†) + O(1), and its proof that the O(1) is "
        "2 Σλ/λmin. The optimum G* is stood in for by the best partition known (partition), the "
        "closest G† by the best of 10 starts of ISR.",
    )
    return Table("theorem2", "Theorem 2, measured", tuple(sections), notes)


def _in_order(records: Iterable[Record]) -> list[Record]:
    listed = list(records)
    order = rows_of(listed)
    return sorted(listed, key=lambda record: order.index(record["dataset"]))


TABLES: dict[str, Callable[[list[Record]], Table]] = {
    "datasets": datasets,
    "tiny": tiny,
    "objective": objective,
    "accuracy": accuracy,
    "nmi": nmi,
    "restarts": restarts,
    "theorem1": theorem1,
    "theorem2": theorem2,
    "seconds": seconds,
}
"""Every table by name."""

"""Plot seconds against points, and update the tables of ``large_data.md`` and ``on_dask.md``.

Reads records of ``benchmarks/results``. The figure is ``docs/large_data.svg``.
"""

from __future__ import annotations

from typing import Any

from docs.tables import DOCS, Tables, markdown, record, seconds, write

SHOWN = 100_000
"""Smallest number of points that the table of in-memory graphs shows."""

SEARCHES = {
    "ours, approximate": "leastcut, approximate",
    "faiss HNSW, 16 links, 40 and 32": "FAISS, HNSW",
    "faiss HNSW, 16 links, 40 and 64": "FAISS, HNSW, longer search",
    "hnswlib, 16 links, 60 and 32": "hnswlib",
    "hnswlib, 16 links, 100 and 64": "hnswlib, longer search",
    "pynndescent": "pynndescent",
    "pynndescent, 20 of them": "pynndescent, 20 neighbors",
}
"""The neighbor searches that are shown, and their names on the page."""


def points_to_labels() -> str:
    """Return seconds, memory and cut of clusterings of in-memory graphs."""
    return markdown(
        ["points", "method", "clusters", "seconds", "memory", "cut", "NMI"],
        (
            [
                f"{row['data']}, {row['n']:,}",
                row["method"],
                str(row["n_clusters"]),
                seconds(row["seconds"]),
                f"{row['peak_gib']:.1f} GiB",
                f"{row.get('cut_on_the_exact_graph', row.get('cut')):.2g}",
                f"{row['nmi']:.2f}",
            ]
            for row in record("points_to_labels")["rows"]
            if row["n"] >= SHOWN or row["data"] == "fashion"
            if "nmi" in row
        ),
        n_text=2,
    )


def neighbors() -> str:
    """Return seconds and recall of neighbor searches."""
    at = {(row["data"], row["search"]): row for row in record("neighbors")["rows"]}
    datasets = {"Fashion-MNIST": "Fashion-MNIST", "blobs of 32 features": "blobs"}
    heads = []
    for data, name in datasets.items():
        n, n_features = at[data, "ours, approximate"]["shape"]
        heads += [f"{name}, {n:,} x {n_features}", "recall"]
    rows = []
    for search, name in SEARCHES.items():
        cells = [(at[data, search]["wall_s"], at[data, search]["recall"]) for data in datasets]
        rows.append([name, *(text for s, r in cells for text in (seconds(s), f"{r:.3f}"))])
    return markdown(["", *heads], rows)


def gpu() -> str:
    """Return seconds of exact neighbor searches on a GPU."""
    rows = []
    for row in record("gpu")["rows"]:
        peer = row.get("plain_torch_seconds")
        rows.append(
            [
                f"{row['data']}, {row['n']:,} x {row['n_features']}",
                seconds(row["neighbour_seconds"]),
                "–" if peer is None else f"{seconds(peer)}, {row['plain_torch_recall']:.3f}",
                f"{row['device_peak_gib']:.1f} GiB",
                seconds(row["points_to_labels_seconds"]),
            ]
        )
    heads = ["points", "neighbor search", "plain PyTorch, recall", "GPU memory", "points to labels"]
    return markdown(heads, rows)


def plane() -> str:
    """Return the anchor graphs for which U-SPEC's authors published times."""
    return markdown(
        ["points", "clusters", "seconds", "memory", "NMI", "U-SPEC, published"],
        (
            [
                f"{row['data']}, {row['n']:,}",
                str(row["n_clusters"]),
                seconds(row["seconds"]),
                f"{row['peak_gib']:.2f} GiB",
                f"{row['nmi']:.3f}",
                seconds(row["published_seconds_of_u_spec"]),
            ]
            for row in record("anchors")["rows"]
            if row["published_seconds_of_u_spec"]
        ),
    )


def fashion() -> str:
    """Return several methods on Fashion-MNIST."""
    return markdown(
        ["", "seconds", "memory", "NMI", "cut, unit weights", "cut, adaptive weights"],
        (
            [
                name,
                seconds(row["seconds"]),
                f"{row['peak_gib']:.2f} GiB",
                f"{row['nmi']:.3f}",
                f"{row['cut_on_the_10_nn_graph']:.3f}",
                f"{row['cut_on_the_adaptive_graph']:.3f}",
            ]
            for name, row in record("anchors_fashion")["rows"].items()
        ),
    )


def out_of_core() -> str:
    """Return the clusterings of samples in files."""
    return markdown(
        ["file", "size", "`max_memory`", "memory used", "disk used", "seconds", "NMI"],
        (
            [
                f"{row['data']}, {row['n']:,} x {row['n_features']}",
                f"{row['gib_of_the_file']:.1f} GiB",
                row["max_memory"],
                f"{row['peak_gib']:.2f} GiB",
                f"{row['gib_spilled']:.1f} GiB",
                seconds(row["seconds"]),
                f"{row['nmi']:.3f}",
            ]
            for row in record("anchors_out_of_core")["rows"]
        ),
    )


def anchors_on_gpu() -> str:
    """Return anchor graphs on a GPU compared with ncut-pytorch."""
    return markdown(
        ["points", "in memory of", "", "seconds", "NMI", "cut"],
        (
            [
                f"{row['n']:,} x {row['n_features']}",
                f"the {row['where'].replace('gpu', 'GPU')}",
                name.replace("on the processor", "on the CPU"),
                seconds(method["seconds"]),
                f"{method['nmi']:.3f}",
                f"{method['cut_on_the_10_nn_graph']:.3f}",
            ]
            for row in record("anchors_gpu")["rows"]
            for name, method in row["methods"].items()
        ),
        n_text=3,
    )


def workers() -> str:
    """Return one process compared with workers of Dask."""
    rows = [[row["workers"], seconds(row["seconds"])] for row in record("anchors_dask")["workers"]]
    return markdown(["", "seconds"], rows)


def dask_ml() -> str:
    """Return dask-ml's estimator on the same cluster and data."""
    rows = []
    for row in record("anchors_dask")["beside_dask_ml"]:
        if row["n"] < SHOWN or row["method"] not in ("leastcut", "defaults"):
            continue
        name = "leastcut" if row["method"] == "leastcut" else "dask-ml"
        cells = [
            seconds(row["seconds"]),
            f"{row['cut_on_the_10_nn_graph']:.2g}",
            f"{row['nmi']:.3f}",
        ]
        rows.append([f"{row['data']}, {row['n']:,}", name, *cells])
    return markdown(["points", "", "seconds", "cut, 10-NN graph", "NMI"], rows, n_text=2)


TABLES: Tables = {
    "large_data.md": {
        "points to labels": points_to_labels,
        "neighbors": neighbors,
        "gpu": gpu,
        "fashion": fashion,
        "plane": plane,
        "out of core": out_of_core,
        "anchors on a gpu": anchors_on_gpu,
    },
    "on_dask.md": {"workers": workers, "dask-ml": dask_ml},
}


def draw() -> None:
    """Plot seconds against points, both on logarithmic scales."""
    import matplotlib.pyplot as plt

    from leastcut.report.figures import BLUE, ORANGE, SOFT, STYLE, TEAL

    in_memory = {
        "leastcut": (BLUE, "o-"),
        "SciPy's k-d tree, search only": (SOFT, "v:"),
        "scikit-learn": (ORANGE, "s--"),
        "ncut-pytorch": (TEAL, "^-."),
    }
    methods = {"SciPy's k-d tree, search only": "cKDTree.query"}
    rows = record("points_to_labels")["rows"]
    rows = [row for row in rows if row["data"] == "plane" and "seconds" in row]
    anchors = record("anchors")["rows"]
    published = [row for row in anchors if row["published_seconds_of_u_spec"]]
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True)
        for name, (color, style) in in_memory.items():
            shown = [row for row in rows if row["method"] == methods.get(name, name)]
            _line(axes[0], shown, color, style, name)
        shown = [row for row in anchors if row["data"] == "concentric circles"]
        _line(axes[1], shown, BLUE, "o-", "leastcut, concentric circles")
        axes[1].plot(
            [row["n"] for row in published],
            [row["published_seconds_of_u_spec"] for row in published],
            "x",
            color="black",
            label="U-SPEC, as published",
        )
        for axis, title in zip(axes, ("nearest neighbors", "1,000 anchors"), strict=True):
            axis.set_title(title)
            axis.set_xscale("log")
            axis.set_yscale("log")
            axis.set_xlabel("points in the plane")
            axis.legend(loc="upper left")
        axes[0].set_ylabel("seconds, points to labels")
        figure.tight_layout()
        figure.savefig(DOCS / "large_data.svg", metadata={"Date": None})


def _line(axis: Any, rows: list[dict[str, Any]], color: str, style: str, name: str) -> None:
    points = [(row["n"], row["seconds"]) for row in rows]
    axis.plot(*zip(*points, strict=True), style, color=color, label=name)


if __name__ == "__main__":
    write(TABLES)
    draw()

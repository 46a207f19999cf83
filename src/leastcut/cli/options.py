"""The options that commands share, as typer reads them and ``--help`` shows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

READING = "Reading the file"
GRAPH = "Making the graph"
OUTPUT = "Output"
"""The groups in which help shows the options; the others come first."""


def _names(registry: str) -> Callable[[], list[str]]:
    """Return a function that lists the names of a registry, for completion in the shell."""

    def listed() -> list[str]:
        import leastcut

        return list(getattr(leastcut, registry))

    return listed


def _affinities() -> list[str]:
    from leastcut.cli.anchored import ANCHORS

    return [*_names("AFFINITIES")(), ANCHORS]


def _formats() -> list[str]:
    from leastcut.io import FORMATS

    return list(FORMATS)


File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="CSV, TSV, Parquet, .npy, .npz, .mat, Matrix Market, METIS, edge list or picture, "
        "packed by gzip or not; - is standard input.",
    ),
]
Clusters = Annotated[
    str, typer.Option("--clusters", "-k", metavar="K", help="Number of clusters, or auto.")
]
CutName = Annotated[
    str,
    typer.Option(
        "--cut",
        metavar="NAME",
        help="normalized (clusters weigh their edges) or ratio (their nodes).",
        autocompletion=_names("CUTS"),
    ),
]
AffinityName = Annotated[
    str | None,
    typer.Option(
        "--affinity",
        metavar="NAME",
        help="How points become a graph: adaptive_neighbors (default), nearest_neighbors, "
        "self_tuning, a kernel such as rbf or cosine, or anchors (cluster alone; for many points).",
        autocompletion=_affinities,
        rich_help_panel=GRAPH,
    ),
]
Neighbors = Annotated[
    int | None,
    typer.Option(
        "--neighbors",
        metavar="N",
        help="Neighbours of every point (default: 10), or the anchors it is tied to (default: 5).",
        rich_help_panel=GRAPH,
    ),
]
Anchors = Annotated[
    int | None,
    typer.Option(
        "--n-anchors",
        metavar="N",
        help="Anchors that points are joined through, with --affinity anchors (default: 1000).",
        rich_help_panel=GRAPH,
    ),
]
MaxMemory = Annotated[
    str | None,
    typer.Option(
        "--max-memory",
        metavar="SIZE",
        help="Memory that may be in use, as 4GiB, with --affinity anchors: .npy and Parquet files "
        "are read block by block.",
        rich_help_panel=GRAPH,
    ),
]
Metric = Annotated[
    str | None,
    typer.Option(
        "--metric",
        metavar="NAME",
        help="Distance between points: euclidean (default), cosine, ...",
        rich_help_panel=GRAPH,
    ),
]
EffortName = Annotated[
    str,
    typer.Option(
        "--effort",
        metavar="NAME",
        help="How long to search: fast, auto, balanced or thorough.",
        autocompletion=_names("EFFORTS"),
    ),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="The same seed, the same labels.")]
As = Annotated[
    str | None,
    typer.Option(
        "--as",
        metavar="KIND",
        help="Take the file for points, or for a graph.",
        rich_help_panel=READING,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="csv, tsv, parquet, npy, npz, mat, mtx, metis, edges or image, where the name of the "
        "file does not say it.",
        autocompletion=_formats,
        rich_help_panel=READING,
    ),
]
Array = Annotated[
    str | None,
    typer.Option(
        "--array",
        metavar="NAME",
        help="Array to read from an .npz or .mat file that holds several.",
        rich_help_panel=READING,
    ),
]
LabelColumn = Annotated[
    str | None,
    typer.Option(
        "--label-column",
        metavar="NAME",
        help="Column of known classes, by name or number: not clustered by, but compared with.",
        rich_help_panel=READING,
    ),
]
NameColumn = Annotated[
    str | None,
    typer.Option(
        "--names", metavar="NAME", help="Column of the names of rows.", rich_help_panel=READING
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        "--drop",
        metavar="NAME",
        help="Column to leave out; may be given several times.",
        rich_help_panel=READING,
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first line has names (default: look).",
        show_default=False,
        rich_help_panel=READING,
    ),
]
Symmetrize = Annotated[
    str | None,
    typer.Option(
        "--symmetrize",
        metavar="HOW",
        help="Make a directed graph undirected: mean or max of both directions.",
        rich_help_panel=GRAPH,
    ),
]
Isolated = Annotated[
    str,
    typer.Option(
        "--isolated",
        metavar="HOW",
        help="Nodes without edges: error, or ignore to leave them out of the cut.",
        rich_help_panel=GRAPH,
    ),
]
Standardize = Annotated[
    bool,
    typer.Option(
        "--standardize",
        help="Bring every column of points to mean 0 and deviation 1.",
        rich_help_panel=GRAPH,
    ),
]
Superpixels = Annotated[
    int | None,
    typer.Option(
        "--superpixels",
        metavar="N",
        help="Cut a picture by about so many patches; 0 by pixels (default: by its size).",
        rich_help_panel=GRAPH,
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="Overwrite files that are there.", rich_help_panel=OUTPUT)
]
Json = Annotated[
    bool,
    typer.Option("--json", help="Machine-readable on standard output.", rich_help_panel=OUTPUT),
]
TimeLimit = Annotated[
    float | None, typer.Option("--time-limit", metavar="SECONDS", help="End the search by then.")
]
Balance = Annotated[
    str | None,
    typer.Option(
        "--balance",
        metavar="B",
        help="No cluster weighs more than 1 + B times the average; of B,C none less than 1 - B and "
        "none more than 1 + C times it.",
    ),
]
LabelsFile = Annotated[
    str,
    typer.Argument(
        metavar="LABELS",
        help="A label per line, a table of names and labels as cluster writes it, or .npy.",
    ),
]

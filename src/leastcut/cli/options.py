"""The commands as typer reads them, and their arguments and options, each declared once.

A command is a dataclass: its fields are its arguments and options, and its docstring is its help.
Those that say how a file is read and becomes a graph are inherited. Parsing checks nothing and does
nothing: it returns the call that does the work.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from functools import partial
from importlib import import_module
from inspect import Parameter
from typing import Annotated, Any, get_type_hints

import typer

import leastcut

ANCHORS = "anchors"  # what --affinity calls a graph of anchors
OF_ANCHORS = ("n_anchors", "max_memory")  # inherited options that only one command has

app = typer.Typer(
    help="Cluster data by the smallest graph cut that can be found, with a proven lower bound.",
    epilog="Every command has a --help of its own. Exit status: 0 done, 2 something to put right, "
    "130 interrupted.",
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"leastcut {leastcut.__version__}")
        raise typer.Exit


@app.callback()
def _leastcut(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="The version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where in the code an error came from.")
    ] = False,
) -> None:
    pass


def _command(name: str, module: str, hidden: tuple[str, ...] = ()) -> Callable[[type], type]:
    """Return a decorator that adds a dataclass as a command, without its ``hidden`` fields.

    The function of that name in ``module`` does the work.
    """

    def add(kind: type) -> type:
        def command(context: typer.Context, **values: Any) -> Callable[[], int]:
            run = getattr(import_module(f"leastcut.cli.{module}"), name)
            return partial(run, kind(arguments=context.find_root().obj or (), **values))

        # typer reads the signature: the file comes first, then what the command has of its own
        hints = get_type_hints(kind)
        known = {field.name: field for field in fields(kind) if field.name not in hidden}
        parameters = [Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context)]
        for option in dict.fromkeys(["file", *inspect.get_annotations(kind), *known]):
            if option in known and option != "arguments":
                default = known[option].default
                default = Parameter.empty if default is MISSING else default
                metadata = known[option].metadata["typer"]
                declared = Annotated[hints[option], metadata]  # type: ignore[valid-type]
                parameters.append(
                    Parameter(option, Parameter.KEYWORD_ONLY, default=default, annotation=declared)
                )
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in parameters}
        app.command(name, help=inspect.getdoc(kind))(command)
        return kind

    return add


def _argument(metavar: str, help: str, default: Any = MISSING) -> Any:
    """Return a field that is an argument."""
    return field(default=default, metadata={"typer": typer.Argument(metavar=metavar, help=help)})


def _option(
    usage: str,
    help: str,
    group: str | None = None,
    complete: Callable[[], list[str]] | None = None,
    default: Any = None,
) -> Any:
    """Return a field that is an option; ``usage`` is its flags and the name of its value."""
    flags = [word for word in usage.split() if word.startswith("-")]
    declared = typer.Option(
        *flags,
        metavar=usage.split()[-1] if usage.split() != flags else None,
        help=help,
        rich_help_panel=group,
        autocompletion=complete,
        show_default="--no-" not in usage,
    )
    return field(default=default, metadata={"typer": declared})


# Options that help shows in groups, after the others.
_reading = partial(_option, group="Reading the file")
_graph = partial(_option, group="Making the graph")
_output = partial(_option, group="Output")


def _formats() -> list[str]:
    from leastcut.io import FORMATS  # which loads NumPy

    return list(FORMATS)


# Options of several commands that are not inherited.
JSON = ("--json", "Machine-readable on standard output.")
CLUSTERS = ("--clusters -k K", "Number of clusters, or auto.")
PLOT = ("--plot FILE", "Draw it: .png, .svg or .pdf.")
EFFORT: dict[str, Any] = {
    "usage": "--effort NAME",
    "help": "How long to search: fast, auto, balanced or thorough.",
    "complete": lambda: list(leastcut.EFFORTS),
    "default": "balanced",
}


@dataclass(frozen=True, kw_only=True)
class InputOptions:
    """What all commands on a file have: how it is read, and how it becomes a graph."""

    file: str = _argument(
        "FILE",
        "CSV, TSV, Parquet, .npy, .npz, .mat, Matrix Market, METIS, GML, GraphML, edge list or "
        "picture, packed by gzip or not; - is standard input.",
    )
    cut: str = _option(
        "--cut NAME",
        "normalized (clusters weigh their edges) or ratio (their nodes).",
        complete=lambda: list(leastcut.CUTS),
        default="normalized",
    )
    seed: int = _option("--seed N", "The same seed, the same labels.", default=0)
    array: str | None = _reading(
        "--array NAME", "Array to read from an .npz or .mat file that holds several."
    )
    label_column: str | None = _reading(
        "--label-column NAME",
        "Column of known classes, by name or number: not clustered by, but compared with.",
    )
    name_column: str | None = _reading("--names NAME", "Column of the names of rows.")
    without: list[str] | None = _reading(  # noqa: RUF009
        "--drop NAME", "Column to leave out; may be given several times."
    )
    header: bool | None = _reading(
        "--header/--no-header", "Whether the first line has names (default: look)."
    )
    kind: str | None = _reading("--as KIND", "Take the file for points, or for a graph.")
    format: str | None = _reading(
        "--format NAME",
        "csv, tsv, parquet, npy, npz, mat, mtx, metis, edges, gml, graphml or image, where the "
        "name of the file does not say it.",
        complete=_formats,
    )
    standardize: bool = _graph(
        "--standardize", "Bring every column of points to mean 0 and deviation 1.", default=False
    )
    affinity: str | None = _graph(
        "--affinity NAME",
        "How points become a graph: adaptive_neighbors (default), nearest_neighbors, self_tuning, "
        "learned, a kernel such as rbf or cosine, or anchors (cluster alone; for many points).",
        complete=lambda: [*leastcut.AFFINITIES, ANCHORS],
    )
    n_neighbors: int | None = _graph(
        "--neighbors N",
        "Neighbors of every point (default: 10), or its nearest anchors (default: 5).",
    )
    metric: str | None = _graph(
        "--metric NAME", "Distance between points: euclidean (default), cosine, ..."
    )
    n_anchors: int | None = _graph(
        "--n-anchors N",
        "Anchors that points are joined through, with --affinity anchors (default: 1000).",
    )
    max_memory: str | None = _graph(
        "--max-memory SIZE",
        "Memory that may be in use, as 4GiB, with --affinity anchors: .npy and Parquet files are "
        "read block by block.",
    )
    symmetrize: str | None = _graph(
        "--symmetrize HOW", "Make a directed graph undirected: mean or max of both directions."
    )
    isolated: str = _graph(
        "--isolated HOW",
        "Nodes without edges: error, or ignore to leave them out of the cut.",
        default="error",
    )
    superpixels: int | None = _graph(
        "--superpixels N",
        "Cut a picture by about so many patches; 0 by pixels (default: by its size).",
    )
    json: bool = _output(*JSON, default=False)
    force: bool = _output("--force", "Overwrite files that are there.", default=False)
    arguments: tuple[str, ...] = ()  # of the command line, as they were typed

    @property
    def is_anchored(self) -> bool:
        """Whether points are joined through anchors, in a graph that stores no edges."""
        return self.affinity == ANCHORS


@_command("cluster", "clustering")
@dataclass(frozen=True, kw_only=True)
class ClusterOptions(InputOptions):
    """Cluster a file: labels, and how small their cut is.

    The cut value comes with a proven bound on how much smaller it could be.

    leastcut cluster iris.csv -k 3 --label-column species -o labels.csv

    leastcut cluster friends.edges -k auto --report friends.html

    leastcut cluster mesh.graph -k 8 --cut ratio --balance 0.03 -o parts.csv

    leastcut cluster photo.jpg -k 6 -o segments.png

    leastcut cluster large.npy -k 10 --affinity anchors --max-memory 4GiB -o labels.npy
    """

    clusters: str = _option(*CLUSTERS, default=MISSING)
    effort: str = _option(**EFFORT)
    balance: str | None = _option(
        "--balance B",
        "No cluster weighs more than 1 + B times the average; of B,C none less than 1 - B and none "
        "more than 1 + C times it.",
    )
    bound: bool | None = _option(
        "--bound/--no-bound", "Prove how small the cut could be (default: on small graphs)."
    )
    time_limit: float | None = _option("--time-limit SECONDS", "End the search by then.")
    output: str | None = _output(
        "--output -o FILE",
        "Write the labels: .csv, .tsv, .npy, of a picture also .png; - is standard output.",
    )
    plot: str | None = _output(*PLOT)
    picture: str | None = _output(
        "--picture KIND",
        "What --plot draws: embedding, affinity, sizes, graph, evidence or cut_values.",
    )
    report: str | None = _output("--report FILE", "Write a page that explains it: .html.")


@_command("compare", "commands", hidden=(*OF_ANCHORS, "isolated"))
@dataclass(frozen=True, kw_only=True)
class CompareOptions(InputOptions):
    """Compare every method on one graph.

    The cut value of each, how far from the optimum it can be, cluster sizes and seconds.

    leastcut compare iris.csv -k 3 --label-column species
    """

    clusters: str = _option(*CLUSTERS, default=MISSING)
    methods: list[str] | None = _option(  # noqa: RUF009
        "--method -m NAME", "Only this one; may be given several times (default: all)."
    )
    effort: str = _option(**EFFORT)
    plot: str | None = _output(*PLOT)


@_command("cut", "commands", hidden=OF_ANCHORS)
@dataclass(frozen=True, kw_only=True)
class CutOptions(InputOptions):
    """Evaluate labels from anywhere, and refine them.

    Their cut, cluster by cluster, and what moving single nodes would gain.

    leastcut cut mesh.graph mesh.part -o refined.csv
    """

    labels: str = _argument(
        "LABELS", "A label per line, a table of names and labels as cluster writes it, or .npy."
    )
    output: str | None = _output("--output -o FILE", "Write the refined labels.")


@_command("certify", "commands", hidden=OF_ANCHORS)
@dataclass(frozen=True, kw_only=True)
class CertifyOptions(InputOptions):
    """Prove how small the cut could be.

    Where a smaller one is found on the way, it takes the place of the given labels.

    leastcut certify karate.edges -k 2
    """

    labels: str | None = _argument("[LABELS]", "What to certify; without, it is cut first.", None)
    clusters: str | None = _option(
        "--clusters -k K", "Number of clusters, where there are no labels."
    )
    gap: float = _option("--gap G", "The gap that is enough; 0 proves it all.", default=0.0)
    time_limit: float = _option("--time-limit SECONDS", "End the proof by then.", default=60.0)
    effort: str = _option(**EFFORT)
    output: str | None = _output("--output -o FILE", "Write the labels that were proven.")


@_command("info", "information")
@dataclass(frozen=True, kw_only=True)
class InfoOptions:
    """Show versions, folders and optional parts."""

    json: bool = _output(*JSON, default=False)
    arguments: tuple[str, ...] = ()

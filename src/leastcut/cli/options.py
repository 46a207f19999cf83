"""The commands of the command line, declared as dataclasses.

The fields of a dataclass are the arguments and options of its command, and its docstring is the
help. Options about reading a file and constructing its graph are inherited. Parsing only returns
the call that runs the command; the command checks the values.
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
import typer.core

import leastcut

ANCHORS = "anchors"  # the value of --affinity for an anchor graph
FIRST = ("file", "labels", "clusters", "cut")  # arguments and options in the order of the help
ANCHOR_OPTIONS = ("n_anchors", "max_memory")  # inherited options that only `cluster` has
EXAMPLES = "\n\nExamples\n\n"  # the heading of the examples in the docstring of a command


class _PlainFlags:
    """A command whose help shows no type after flags such as --json."""

    def get_params(self, context: Any) -> list[Any]:
        parameters: list[Any] = super().get_params(context)  # type: ignore[misc]
        for parameter in parameters:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
        return parameters


class _Command(_PlainFlags, typer.core.TyperCommand):
    pass


class _Group(_PlainFlags, typer.core.TyperGroup):
    pass


app = typer.Typer(
    cls=_Group,
    help="Find small graph cuts for clustering, with proven lower bounds.",
    epilog="Run 'leastcut COMMAND --help' for the options and examples of a command.\n\n"
    "Exit status: 0 on success, 1 if the output was closed early, 2 on an error, 130 if "
    "interrupted.",
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
)


def _print_version(requested: bool) -> None:
    if requested:
        print(f"leastcut {leastcut.__version__}")
        raise typer.Exit


@app.callback()
def _leastcut(
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_print_version, help="Show the version and exit."
        ),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    pass


def _command(name: str, module: str, hidden: tuple[str, ...] = ()) -> Callable[[type], type]:
    """Return a decorator that adds a dataclass as a command, without its ``hidden`` fields.

    The function ``name`` of ``module`` runs the command.
    """

    def add(kind: type) -> type:
        def command(context: typer.Context, **values: Any) -> Callable[[], int]:
            run = getattr(import_module(f"leastcut.cli.{module}"), name)
            return partial(run, kind(arguments=context.find_root().obj or (), **values))

        # typer reads the signature: arguments, main options, others, inherited ones
        hints = get_type_hints(kind)
        known = {field.name: field for field in fields(kind) if field.name not in hidden}
        parameters = [Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context)]
        for option in dict.fromkeys([*FIRST, *inspect.get_annotations(kind), *known]):
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
        text, heading, examples = (inspect.getdoc(kind) or "").partition(EXAMPLES)
        text = "\n\n".join(" ".join(lines.split()) for lines in text.split("\n\n"))
        app.command(name, cls=_Command, help=text, epilog=heading + examples)(command)
        return kind

    return add


def _argument(metavar: str, help: str, default: Any = MISSING) -> Any:
    """Return the dataclass field of an argument."""
    return field(default=default, metadata={"typer": typer.Argument(metavar=metavar, help=help)})


def _option(
    usage: str,
    help: str,
    group: str | None = None,
    complete: Callable[[], list[str]] | None = None,
    default: Any = None,
) -> Any:
    """Return the dataclass field of an option; ``usage`` has its flags and metavar."""
    flags = [word for word in usage.split() if word.startswith("-")]
    declared = typer.Option(
        *flags,
        metavar=usage.split()[-1] if usage.split() != flags else None,
        help=help,
        rich_help_panel=group,
        autocompletion=complete,
        show_default=default is not None,
    )
    return field(default=default, metadata={"typer": declared})


# Groups of options in the help, after the other options.
_reading = partial(_option, group="Input")
_graph = partial(_option, group="Graph construction")
_output = partial(_option, group="Output")


def _formats() -> list[str]:
    from leastcut.io import FORMATS  # imports NumPy

    return list(FORMATS)


# Options that several commands declare.
JSON = ("--json", "Print the result as JSON to standard output.")
PLOT = ("--plot FILE", "Save a plot: .png, .svg or .pdf.")
EFFORT: dict[str, Any] = {
    "usage": "--effort NAME",
    "help": "Search effort: fast, auto, balanced or thorough.",
    "complete": lambda: list(leastcut.EFFORTS),
    "default": "balanced",
}


@dataclass(frozen=True, kw_only=True)
class InputOptions:
    """Options shared by all commands that read a file."""

    file: str = _argument(
        "FILE",
        "CSV, TSV, Parquet, .npy, .npz, .mat, Matrix Market, METIS, GML, GraphML, edge list or "
        "image file, optionally compressed by gzip; - reads standard input.",
    )
    cut: str = _option(
        "--cut NAME",
        "Cut to minimize: normalized (a cluster's weight is its volume) or ratio (its number of "
        "nodes).",
        complete=lambda: list(leastcut.CUTS),
        default="normalized",
    )
    seed: int = _option("--seed N", "Random seed; equal seeds give equal labels.", default=0)
    array: str | None = _reading(
        "--array NAME", "Array to read from an .npz or .mat file with several arrays."
    )
    label_column: str | None = _reading(
        "--label-column NAME",
        "Column of known classes, by name or number; used to evaluate the clusters, not to find "
        "them.",
    )
    name_column: str | None = _reading("--names NAME", "Column of row names.")
    drop: list[str] | None = _reading(  # noqa: RUF009
        "--drop NAME", "Column to leave out; can be repeated."
    )
    header: bool | None = _reading(
        "--header/--no-header", "Whether the first line has column names (default: detected)."
    )
    kind: str | None = _reading("--as KIND", "Read the file as points or as graph.")
    format: str | None = _reading(
        "--format NAME",
        "File format, if the file name does not determine it: csv, tsv, parquet, npy, npz, mat, "
        "mtx, metis, edges, gml, graphml or image.",
        complete=_formats,
    )
    standardize: bool = _graph(
        "--standardize", "Scale each column to mean 0 and standard deviation 1.", default=False
    )
    affinity: str | None = _graph(
        "--affinity NAME",
        "How to construct a graph from points: adaptive_neighbors (default), nearest_neighbors, "
        "self_tuning, learned, a kernel such as rbf or cosine, or anchors (large data; cluster "
        "only).",
        complete=lambda: [*leastcut.AFFINITIES, ANCHORS],
    )
    n_neighbors: int | None = _graph(
        "--neighbors N",
        "Number of neighbors per point (default: 10), or of anchors per point (default: 5).",
    )
    metric: str | None = _graph(
        "--metric NAME", "Distance between points: euclidean (default), cosine, ..."
    )
    n_anchors: int | None = _graph(
        "--n-anchors N", "Number of anchors for --affinity anchors (default: 1000)."
    )
    max_memory: str | None = _graph(
        "--max-memory SIZE",
        "Memory limit for --affinity anchors, such as 4GiB; .npy and Parquet files are read in "
        "blocks.",
    )
    symmetrize: str | None = _graph(
        "--symmetrize HOW", "Symmetrize a directed graph: mean or max of both directions."
    )
    isolated: str = _graph(
        "--isolated HOW",
        "Nodes without edges: error, or ignore to exclude them from the cut.",
        default="error",
    )
    superpixels: int | None = _graph(
        "--superpixels N",
        "Approximate number of superpixels for an image; 0 cuts the pixels (default: depends on "
        "the image size).",
    )
    json: bool = _output(*JSON, default=False)
    force: bool = _output("--force", "Overwrite existing files.", default=False)
    arguments: tuple[str, ...] = ()  # the command line, as typed

    @property
    def is_anchored(self) -> bool:
        """Whether the graph is an anchor graph, which stores no edges."""
        return self.affinity == ANCHORS


@_command("cluster", "clustering")
@dataclass(frozen=True, kw_only=True)
class ClusterOptions(InputOptions):
    """Cluster points, a graph or an image.

    Print the cut value, a lower bound on the smallest cut value, and a table of the clusters.

    Examples

    leastcut cluster iris.csv -k 3 --label-column species -o labels.csv

    leastcut cluster friends.edges -k auto --report friends.html

    leastcut cluster mesh.graph -k 8 --cut ratio --balance 0.03 -o parts.csv

    leastcut cluster photo.jpg -k 6 -o segments.png

    leastcut cluster large.npy -k 10 --affinity anchors -o labels.npy
    """

    clusters: str = _option("--clusters -k K", "Number of clusters, or auto.", default=MISSING)
    effort: str = _option(**EFFORT)
    balance: str | None = _option(
        "--balance B",
        "Limit cluster weights to at most 1 + B times their average; B,C sets both limits: at "
        "least 1 - B and at most 1 + C times the average.",
    )
    bound: bool | None = _option(
        "--bound/--no-bound", "Compute a lower bound (default: only for small graphs)."
    )
    time_limit: float | None = _option("--time-limit SECONDS", "Stop the search after this time.")
    output: str | None = _output(
        "--output -o FILE",
        "Save the labels: .csv, .tsv or .npy; for an image also .png; - writes to standard output.",
    )
    plot: str | None = _output(*PLOT)
    plot_kind: str | None = _output(
        "--plot-kind KIND",
        "Plot for --plot: embedding, affinity, sizes, graph, evidence, cut_values or segments "
        "(default: depends on the input).",
    )
    report: str | None = _output("--report FILE", "Save a report of the result: .html.")


@_command("compare", "commands", hidden=(*ANCHOR_OPTIONS, "isolated"))
@dataclass(frozen=True, kw_only=True)
class CompareOptions(InputOptions):
    """Compare methods on one graph.

    Print the cut value, the gap to the lower bound, the time and the cluster sizes of each method.

    Examples

    leastcut compare iris.csv -k 3 --label-column species
    """

    clusters: str = _option("--clusters -k K", "Number of clusters.", default=MISSING)
    methods: list[str] | None = _option(  # noqa: RUF009
        "--method -m NAME", "Method to run; can be repeated (default: all)."
    )
    effort: str = _option(**EFFORT)
    plot: str | None = _output(*PLOT)


@_command("cut", "commands", hidden=ANCHOR_OPTIONS)
@dataclass(frozen=True, kw_only=True)
class CutOptions(InputOptions):
    """Evaluate and refine existing labels.

    Print the cut value of the labels, its terms by cluster, and how much moving single nodes
    reduces it.

    Examples

    leastcut cut mesh.graph mesh.part -o refined.csv
    """

    labels: str = _argument(
        "LABELS", "File with one label per line, a table of names and labels, or an .npy array."
    )
    output: str | None = _output("--output -o FILE", "Save the refined labels.")


@_command("certify", "commands", hidden=ANCHOR_OPTIONS)
@dataclass(frozen=True, kw_only=True)
class CertifyOptions(InputOptions):
    """Prove how close a cut is to the smallest one.

    Certify LABELS, or the result of a search for -k clusters. A smaller cut that is found during
    the proof replaces the labels.

    Examples

    leastcut certify karate.edges -k 2

    leastcut certify mesh.graph mesh.part --cut ratio --time-limit 300
    """

    labels: str | None = _argument("LABELS", "Labels to certify, as for cut (optional).", None)
    clusters: str | None = _option(
        "--clusters -k K", "Number of clusters, or auto, if there are no LABELS."
    )
    gap: float = _option("--gap G", "Stop at this gap; 0 proves optimality.", default=0.0)
    time_limit: float = _option(
        "--time-limit SECONDS", "Stop the proof after this time.", default=60.0
    )
    effort: str = _option(**EFFORT)
    output: str | None = _output("--output -o FILE", "Save the certified labels.")


@_command("info", "information")
@dataclass(frozen=True, kw_only=True)
class InfoOptions:
    """Show versions, folders and optional dependencies."""

    json: bool = _output(*JSON, default=False)
    arguments: tuple[str, ...] = ()

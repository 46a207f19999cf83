"""The commands and their options, as typer reads them and ``--help`` shows them.

A command checks nothing and does nothing: it returns the call that does the work.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import typer

from leastcut import __version__
from leastcut.cli.options import (
    OUTPUT,
    AffinityName,
    Anchors,
    Array,
    As,
    Balance,
    Clusters,
    CutName,
    Drop,
    EffortName,
    File,
    Force,
    Format,
    Header,
    Isolated,
    Json,
    LabelColumn,
    LabelsFile,
    MaxMemory,
    Metric,
    NameColumn,
    Neighbors,
    Seed,
    Standardize,
    Superpixels,
    Symmetrize,
    TimeLimit,
)

Work = Callable[[], int]
"""What a command returns: a call that does the work and returns an exit status."""

app = typer.Typer(
    help="Cluster data by the smallest graph cut that can be found, with a proven lower bound.",
    epilog="Every command has a --help of its own. Exit status: 0 done, 2 something to put right, "
    "130 interrupted.",
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"leastcut {__version__}")
        raise typer.Exit


@app.callback()
def leastcut(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_version, help="The version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where in the code an error came from.")
    ] = False,
) -> None:
    """Cluster data by the smallest graph cut that can be found, with a proven lower bound."""


def _reading(values: dict[str, Any]) -> Any:
    """Return the options that say how a file is read and made a graph, from all of a command."""
    from leastcut.cli.inputs import InputOptions

    return InputOptions(
        command=values["context"].find_root().obj or (),
        file=values["file"],
        cut=values["cut"],
        affinity=values["affinity"],
        n_neighbors=values["neighbors"],
        metric=values["metric"],
        n_anchors=values.get("n_anchors"),
        max_memory=values.get("max_memory"),
        seed=values["seed"],
        kind=values["as_"],
        format=values["format"],
        array=values["array"],
        label_column=values["label_column"],
        name_column=values["names"],
        without=tuple(values["drop"] or ()),
        header=values["header"],
        symmetrize=values["symmetrize"],
        isolated=values["isolated"],
        superpixels=values["superpixels"],
        standardize=values["standardize"],
    )


@app.command(rich_help_panel=None)
def cluster(
    context: typer.Context,
    file: File,
    clusters: Clusters,
    cut: CutName = "normalized",
    effort: EffortName = "balanced",
    balance: Balance = None,
    seed: Seed = 0,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the labels: .csv, .tsv, .npy, of a picture also .png; - is "
            "standard output.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option(
            "--plot", metavar="FILE", help="Draw it: .png, .svg or .pdf.", rich_help_panel=OUTPUT
        ),
    ] = None,
    picture: Annotated[
        str | None,
        typer.Option(
            "--picture",
            metavar="KIND",
            help="What --plot draws: embedding, affinity, sizes, graph, evidence or cut_values.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    report: Annotated[
        str | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="Write a page that explains it: .html.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    json: Json = False,
    force: Force = False,
    bound: Annotated[
        bool | None,
        typer.Option(
            "--bound/--no-bound",
            help="Prove how small the cut could be (default: on small graphs).",
            show_default=False,
        ),
    ] = None,
    time_limit: TimeLimit = None,
    array: Array = None,
    label_column: LabelColumn = None,
    names: NameColumn = None,
    drop: Drop = None,
    header: Header = None,
    as_: As = None,
    format: Format = None,
    standardize: Standardize = False,
    affinity: AffinityName = None,
    neighbors: Neighbors = None,
    metric: Metric = None,
    n_anchors: Anchors = None,
    max_memory: MaxMemory = None,
    symmetrize: Symmetrize = None,
    isolated: Isolated = "error",
    superpixels: Superpixels = None,
) -> Work:
    """Cluster a file: labels, and how small their cut is.

    The cut value comes with a proven bound on how much smaller it could be.

    leastcut cluster iris.csv -k 3 --label-column species -o labels.csv

    leastcut cluster friends.edges -k auto --report friends.html

    leastcut cluster mesh.graph -k 8 --cut ratio --balance 0.03 -o parts.csv

    leastcut cluster photo.jpg -k 6 -o segments.png

    leastcut cluster large.npy -k 10 --affinity anchors --max-memory 4GiB -o labels.npy
    """
    values = dict(locals())
    from leastcut.cli.clustering import ClusterOptions, run

    options = ClusterOptions(
        reading=_reading(values),
        clusters=clusters,
        effort=effort,
        balance=balance,
        output=output,
        plot=plot,
        picture=picture,
        report=report,
        json=json,
        bound=bound,
        time_limit=time_limit,
        force=force,
    )
    return partial(run, options)


@app.command()
def compare(
    context: typer.Context,
    file: File,
    clusters: Clusters,
    cut: CutName = "normalized",
    methods: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            "-m",
            metavar="NAME",
            help="Only this one; may be given several times (default: all).",
        ),
    ] = None,
    effort: EffortName = "balanced",
    seed: Seed = 0,
    plot: Annotated[
        str | None,
        typer.Option(
            "--plot", metavar="FILE", help="Draw it: .png, .svg or .pdf.", rich_help_panel=OUTPUT
        ),
    ] = None,
    json: Json = False,
    force: Force = False,
    array: Array = None,
    label_column: LabelColumn = None,
    names: NameColumn = None,
    drop: Drop = None,
    header: Header = None,
    as_: As = None,
    format: Format = None,
    standardize: Standardize = False,
    affinity: AffinityName = None,
    neighbors: Neighbors = None,
    metric: Metric = None,
    symmetrize: Symmetrize = None,
    superpixels: Superpixels = None,
) -> Work:
    """Compare every method on one graph.

    The cut value of each, how far from the optimum it can be, cluster sizes and seconds.

    leastcut compare iris.csv -k 3 --label-column species
    """
    isolated = "error"
    values = dict(locals())
    from leastcut.cli.comparing import CompareOptions, run

    options = CompareOptions(
        reading=_reading(values),
        clusters=clusters,
        methods=tuple(methods or ()),
        effort=effort,
        plot=plot,
        json=json,
        force=force,
    )
    return partial(run, options)


@app.command("cut")
def cut_(
    context: typer.Context,
    file: File,
    labels: LabelsFile,
    cut: CutName = "normalized",
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the refined labels.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    seed: Seed = 0,
    json: Json = False,
    force: Force = False,
    array: Array = None,
    label_column: LabelColumn = None,
    names: NameColumn = None,
    drop: Drop = None,
    header: Header = None,
    as_: As = None,
    format: Format = None,
    standardize: Standardize = False,
    affinity: AffinityName = None,
    neighbors: Neighbors = None,
    metric: Metric = None,
    symmetrize: Symmetrize = None,
    isolated: Isolated = "error",
    superpixels: Superpixels = None,
) -> Work:
    """Evaluate labels from anywhere, and refine them.

    Their cut, cluster by cluster, and what moving single nodes would gain.

    leastcut cut mesh.graph mesh.part -o refined.csv
    """
    values = dict(locals())
    from leastcut.cli.evaluating import EvaluateOptions, run

    options = EvaluateOptions(
        reading=_reading(values), labels=labels, output=output, json=json, force=force
    )
    return partial(run, options)


@app.command()
def certify(
    context: typer.Context,
    file: File,
    labels: Annotated[
        str | None,
        typer.Argument(metavar="[LABELS]", help="What to certify; without, it is cut first."),
    ] = None,
    clusters: Annotated[
        str | None,
        typer.Option(
            "--clusters", "-k", metavar="K", help="Number of clusters, where there are no labels."
        ),
    ] = None,
    cut: CutName = "normalized",
    gap: Annotated[
        float, typer.Option("--gap", metavar="G", help="The gap that is enough; 0 proves it all.")
    ] = 0.0,
    time_limit: Annotated[
        float, typer.Option("--time-limit", metavar="SECONDS", help="End the proof by then.")
    ] = 60.0,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the labels that were proven.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    effort: EffortName = "balanced",
    seed: Seed = 0,
    json: Json = False,
    force: Force = False,
    array: Array = None,
    label_column: LabelColumn = None,
    names: NameColumn = None,
    drop: Drop = None,
    header: Header = None,
    as_: As = None,
    format: Format = None,
    standardize: Standardize = False,
    affinity: AffinityName = None,
    neighbors: Neighbors = None,
    metric: Metric = None,
    symmetrize: Symmetrize = None,
    isolated: Isolated = "error",
    superpixels: Superpixels = None,
) -> Work:
    """Prove how small the cut could be.

    Where a smaller one is found on the way, it takes the place of the labels given.

    leastcut certify karate.edges -k 2
    """
    values = dict(locals())
    from leastcut.cli.certifying import CertifyOptions, run

    options = CertifyOptions(
        reading=_reading(values),
        labels=labels,
        clusters=clusters,
        effort=effort,
        gap=gap,
        time_limit=time_limit,
        output=output,
        json=json,
        force=force,
    )
    return partial(run, options)


@app.command()
def info(json: Json = False) -> Work:
    """Show versions, folders and optional parts."""
    from leastcut.cli.information import run

    return partial(run, json)

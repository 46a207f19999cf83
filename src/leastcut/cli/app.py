"""The commands as typer reads them: one per dataclass of options.

A command checks nothing and does nothing: it returns the call that does the work.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from functools import partial
from importlib import import_module
from inspect import Parameter
from typing import Annotated, Any, get_type_hints

import typer

from leastcut import __version__
from leastcut.cli import options

ANCHOR_OPTIONS = ("n_anchors", "max_memory")

# The options of every command, what does its work, and the inherited options that it lacks.
COMMANDS: dict[str, tuple[type, str, tuple[str, ...]]] = {
    "cluster": (options.ClusterOptions, "clustering:cluster", ()),
    "compare": (options.CompareOptions, "verbs:compare", (*ANCHOR_OPTIONS, "isolated")),
    "cut": (options.CutOptions, "verbs:cut", ANCHOR_OPTIONS),
    "certify": (options.CertifyOptions, "verbs:certify", ANCHOR_OPTIONS),
    "info": (options.InfoOptions, "information:info", ()),
}

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


def _command(kind: type, work: str, hidden: tuple[str, ...]) -> Callable[..., Any]:
    """Return a function whose parameters are the fields of a dataclass, as typer reads them.

    The file comes first, then what the command has of its own, then what it inherits.
    """
    hints = get_type_hints(kind)
    fields = {field.name: field for field in dataclasses.fields(kind)}
    parameters = [Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    for name in dict.fromkeys(["file", *inspect.get_annotations(kind), *fields]):
        if name in fields and name not in (*hidden, "arguments"):
            default = fields[name].default
            default = Parameter.empty if default is dataclasses.MISSING else default
            declared = fields[name].metadata["typer"]
            annotation = Annotated[hints[name], declared]  # type: ignore[valid-type]
            parameters.append(
                Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            )

    def command(context: typer.Context, **values: Any) -> Callable[[], int]:
        module, _, function = work.partition(":")
        run = getattr(import_module(f"leastcut.cli.{module}"), function)
        return partial(run, kind(arguments=context.find_root().obj or (), **values))

    # typer reads both
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


for _name, (_kind, _work, _hidden) in COMMANDS.items():
    app.command(_name, help=inspect.getdoc(_kind))(_command(_kind, _work, _hidden))

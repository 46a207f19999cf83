"""The command line: ``leastcut cluster``, ``compare``, ``cut``, ``certify`` and ``info``.

Commands import what they need when they run, so that ``--help`` and a mistyped name are answered
at once. Parsing and working are apart: typer makes of the arguments a call, which is then made
where whatever goes wrong is a line (:mod:`leastcut.cli.messages`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial

from leastcut.cli.messages import CORRECTABLE, guarded, log
from leastcut.optional_packages import needed_for

PROGRAM = "leastcut"  # in help and in errors
DEBUG = "--debug"  # anywhere among the arguments: shows where in the code an error came from


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    # what stands after -- is no option
    end = given.index("--") if "--" in given else len(given)
    debug = DEBUG in given[:end]
    given = [word for i, word in enumerate(given) if i >= end or word != DEBUG]
    return guarded(partial(_run, given), debug)


def _run(given: list[str]) -> int:
    """Parse the arguments and do what they ask for."""
    with needed_for("These commands", "typer", "cli"):
        import typer  # noqa: F401
    from leastcut.cli.options import app

    try:
        work: Callable[[], int] | int | None = app(
            given, prog_name=PROGRAM, standalone_mode=False, obj=tuple(given)
        )
    except Exception as error:
        # how typer, whichever click it brings, tells of arguments that make no sense
        words = getattr(error, "format_message", None)
        if words is None:
            raise
        context = getattr(error, "ctx", None)
        asked = PROGRAM if context is None else context.command_path
        log(f"{words().rstrip('.')}; see '{asked} --help'.")
        return CORRECTABLE
    return work() if callable(work) else int(work or 0)

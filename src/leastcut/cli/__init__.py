"""The command line: ``leastcut cluster``, ``compare``, ``cut``, ``certify`` and ``info``.

Commands import their modules when they run, so that ``--help`` and usage errors are fast. typer
parses the arguments into a call, which runs inside :func:`leastcut.cli.messages.guarded`: an error
becomes one line.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial

from leastcut.cli.messages import ERROR, guarded, log
from leastcut.optional_packages import needed_for

PROGRAM = "leastcut"  # in help and in errors
DEBUG = "--debug"  # anywhere among the arguments: shows tracebacks


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    end = words.index("--") if "--" in words else len(words)  # no options after --
    debug = DEBUG in words[:end]
    words = [word for i, word in enumerate(words) if i >= end or word != DEBUG]
    return guarded(partial(_run, words), debug)


def _run(words: list[str]) -> int:
    """Parse the arguments and run the command."""
    with needed_for("These commands", "typer", "cli"):
        import typer  # noqa: F401
    from leastcut.cli.options import app

    try:
        run: Callable[[], int] | int | None = app(
            words, prog_name=PROGRAM, standalone_mode=False, obj=tuple(words)
        )
    except Exception as error:
        # usage errors of click, which some versions of typer include under another name
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        context = getattr(error, "ctx", None)
        command = PROGRAM if context is None else context.command_path
        text = message()
        log(f"{text}{'' if text.endswith(('.', '?')) else '.'} See '{command} --help'.")
        return ERROR
    return run() if callable(run) else int(run or 0)

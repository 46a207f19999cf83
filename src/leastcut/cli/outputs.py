"""What commands write and show. Files are checked before any work, and written completely or not.

The keys of the object that ``--json`` writes stay what docs/command_line.md lists.
"""

from __future__ import annotations

import csv
import io
import json
import math
import platform
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np

from leastcut import __version__
from leastcut.cli.inputs import Input
from leastcut.cli.options import InputOptions
from leastcut.formatting import text_table
from leastcut.io.source import written_atomically
from leastcut.optional_packages import needed_for
from leastcut.plot.canvas import CLUSTER_COLORS, file_of

STANDARD_OUTPUT = "-"
IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp")
DOTS_PER_INCH = 150  # of plots that are made of pixels
COLOR_FRACTION = 0.6  # of a pixel is the color of its segment; the rest is its brightness
MOST_ROWS = 30  # of a table that are shown; of more the first ones


class Kind(NamedTuple):
    """A kind of file: its option, its name, how its files may end, and what drawing it needs."""

    option: str
    words: str
    suffixes: tuple[str, ...]
    purpose: str = ""
    packages: tuple[str, ...] = ()


KINDS = {
    "output": Kind("-o", "Labels", (".csv", ".tsv", ".txt", ".npy")),
    "plot": Kind(
        "--plot", "Picture", (".png", ".svg", ".pdf", ".jpg", ".jpeg"), "Pictures", ("matplotlib",)
    ),
    "report": Kind("--report", "Report", (".html", ".htm"), "Reports", ("jinja2", "matplotlib")),
}  # by the names of their fields of options


class Output(NamedTuple):
    """A file to write, "-" for the standard output, with its option and possible endings."""

    option: str
    name: str
    suffixes: tuple[str, ...]

    @property
    def is_standard(self) -> bool:
        """Whether it goes to the standard output."""
        return self.name == STANDARD_OUTPUT

    @property
    def suffix(self) -> str:
        """The end of its name, in lower case."""
        return Path(self.name).suffix.lower()

    def check(self, force: bool) -> None:
        """Raise if it cannot be written, or would replace a file without ``force``."""
        if self.is_standard:
            if self.option != "-o":
                raise ValueError(f"{self.option} - is not possible; name a file.")
            return
        path = Path(self.name)
        if self.suffix not in self.suffixes:
            endings = ", ".join(self.suffixes[:-1])
            raise ValueError(
                f"{self.option} {self.name}: the name must end in {endings} or {self.suffixes[-1]}."
            )
        if path.is_dir():
            raise ValueError(f"{self.option} {self.name} is a folder; name a file in it.")
        if not path.resolve().parent.is_dir():
            raise FileNotFoundError(
                f"{self.option} {self.name}: there is no folder {path.parent}; make it first."
            )
        if path.exists() and not force:
            raise FileExistsError(
                f"{self.option} {self.name} is there already; say --force to overwrite it, or "
                "choose another name."
            )

    def write(self, content: bytes) -> None:
        """Write it completely or not at all, or to the standard output."""
        if self.is_standard:
            sys.stdout.flush()
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
            return
        with written_atomically(Path(self.name)) as part:
            part.write_bytes(content)


class Outputs(dict[str, Output]):
    """The files that a command is to write, by option."""

    def __init__(
        self, options: InputOptions, *inputs: str | None, has_pictures: bool = False
    ) -> None:
        """Check the files that ``options`` names, and that the packages that they need are there.

        ``inputs`` are further files that are read; ``has_pictures`` allows labels as pictures.
        """
        super().__init__()
        read = {Path(name).resolve() for name in (options.file, *inputs) if name is not None}
        written: set[Path] = set()
        for field, kind in KINDS.items():
            name = getattr(options, field, None)
            if name is None:
                continue
            pictures = IMAGE_SUFFIXES if has_pictures and field == "output" else ()
            self[kind.option] = output = Output(kind.option, name, (*kind.suffixes, *pictures))
            output.check(options.force)
            if output.is_standard and options.json:
                raise ValueError(
                    "-o - and --json both write to standard output; name a file with -o."
                )
            path = Path(name).resolve()
            if path in read | written and not output.is_standard:
                what = "is what is read" if path in read else "is named twice"
                raise ValueError(f"{output.option} {name} {what}; choose another name.")
            written.add(path)
            for package in kind.packages:
                with needed_for(kind.purpose, package, field):
                    if find_spec(package) is None:  # which imports nothing
                        raise ModuleNotFoundError(name=package)

    @property
    def is_standard(self) -> bool:
        """Whether labels go to the standard output."""
        return "-o" in self and self["-o"].is_standard

    @property
    def labels_path(self) -> str | None:
        """The file of labels."""
        return self["-o"].name if "-o" in self else None

    def aside(self) -> AbstractContextManager[Any]:
        """Open a context in which prints go to the standard error if labels go to the other."""
        return redirect_stdout(sys.stderr) if self.is_standard else nullcontext()

    def in_words(self) -> str:
        """Return what was written where."""
        return "; ".join(
            f"{kind.words} in {self[kind.option].name}"
            for kind in KINDS.values()
            if kind.option in self and not self[kind.option].is_standard
        )


# -- labels, plots and pictures


def write_labels(
    output: Output, task: Input, labels: np.ndarray, segments: np.ndarray | None = None
) -> None:
    """Write labels: a table of names and clusters, an array, or of a picture its segments."""
    if segments is not None and output.suffix in IMAGE_SUFFIXES:
        write_image(output, colored(task.loaded.data, segments))
        return
    names, node = task.names, task.node
    if segments is not None:
        labels, node = segments, "row column"
        names = [f"{i} {j}" for i in range(labels.shape[0]) for j in range(labels.shape[1])]
    if output.suffix == ".npy":
        array = io.BytesIO()
        np.save(array, labels)
        output.write(array.getvalue())
        return
    table = io.StringIO()
    writer = csv.writer(
        table, delimiter="\t" if output.suffix == ".tsv" else ",", lineterminator="\n"
    )
    writer.writerow([node, "cluster"])
    writer.writerows(zip(names, labels.reshape(-1).tolist(), strict=True))
    output.write(table.getvalue().encode("utf-8"))


def write_plot(output: Output, axes: Any) -> None:
    """Write the figure of matplotlib axes."""
    kind, options = output.suffix[1:], {"dpi": DOTS_PER_INCH, "bbox_inches": "tight"}
    output.write(file_of(axes.figure, kind, **options))


def write_image(output: Output, pixels: np.ndarray) -> None:
    """Write a picture."""
    with needed_for("Pictures", "PIL", "cli"):
        from PIL import Image
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, Image.registered_extensions()[output.suffix])
    output.write(buffer.getvalue())


def colored(image: np.ndarray, segments: np.ndarray) -> np.ndarray:
    """Return a picture with each segment tinted and lines between them: uint8 (height, width, 3).

    ``segments`` has the cluster of every pixel.
    """
    lights = [light for light, _ in CLUSTER_COLORS.values()]
    palette = np.array([list(bytes.fromhex(light[1:])) for light in lights], dtype=np.float64)
    gray = image.astype(np.float64)
    gray = gray if gray.ndim == 2 else gray[:, :, :3].mean(axis=2)
    span = float(gray.max() - gray.min()) or 1.0
    gray = 255.0 * (gray - gray.min()) / span
    tints = palette[segments % len(palette)]
    shown = COLOR_FRACTION * tints + (1 - COLOR_FRACTION) * gray[:, :, None]
    edge = np.zeros(segments.shape, dtype=bool)
    edge[:, 1:] |= segments[:, 1:] != segments[:, :-1]
    edge[1:] |= segments[1:] != segments[:-1]
    shown[edge] = 255.0
    return np.asarray(np.round(shown), dtype=np.uint8)


# -- JSON


def record_of(options: InputOptions, task: Input, seconds: dict[str, float]) -> dict[str, Any]:
    """Return what the record of every command has of the graph."""
    versions = {"leastcut": __version__, "python": platform.python_version()}
    return {
        "command": options.arguments,
        "file": task.loaded.source,
        "kind": task.loaded.kind,
        "n_nodes": task.n_nodes,
        "n_edges": task.n_edges,
        "cut": options.cut,
        "seconds": {**task.seconds, **seconds},
        "versions": versions | {name: version(name) for name in ("numpy", "scipy")},
    }


def partition_record(found: Any) -> dict[str, Any]:
    """Return what a record has of a partition."""
    sizes = np.bincount(found.labels)
    return {
        "n_clusters": sizes.size,
        "cut_value": found.cut_value,
        "lower_bound": found.lower_bound,
        "gap": found.gap,
        "sizes": sizes,
    }


def write_record(record: dict[str, Any]) -> None:
    """Write an object to the standard output."""
    print(json.dumps(_plain(record), allow_nan=False))


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: NumPy's numbers as Python's, what is not finite as null."""
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | range):
        return [_plain(entry) for entry in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


# -- tables and bars in a terminal


def is_terminal(file: TextIO) -> bool:
    """Return whether a file is a terminal."""
    try:
        return file.isatty()
    except ValueError:  # closed
        return False


def progress_bar() -> str | None:
    """Return what ``callback`` is: a bar where somebody looks, else None."""
    return "tqdm" if is_terminal(sys.stderr) else None


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]], n_words: int = 1) -> None:
    """Print a table; its first ``n_words`` columns are words, the others numbers, flush right."""
    shown = rows[:MOST_ROWS]
    if is_terminal(sys.stdout):
        _print_rich_table(head, shown, n_words)
    else:
        print(text_table(head, shown, n_words))
    if len(rows) > len(shown):
        print(f"... and {len(rows) - len(shown)} more")


def _print_rich_table(head: Sequence[str], rows: Sequence[Sequence[str]], n_words: int) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for i, name in enumerate(head):
        table.add_column(Text(name), justify="left" if i < n_words else "right")
    for row in rows:
        # Text, as a name may hold what rich would take for a style
        table.add_row(*(Text(cell) for cell in row))
    Console(file=sys.stdout).print(table)

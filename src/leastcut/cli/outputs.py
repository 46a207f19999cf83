"""Output files, JSON records and tables. Files are checked first and written atomically.

docs/command_line.md documents the keys of the JSON records.
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

import leastcut
from leastcut.cli.inputs import Input
from leastcut.cli.options import InputOptions
from leastcut.formatting import text_table
from leastcut.io.source import written_atomically
from leastcut.optional_packages import needed_for
from leastcut.plot.canvas import CLUSTER_COLORS, file_of

STANDARD_OUTPUT = "-"
IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp")
DOTS_PER_INCH = 150  # resolution of raster plots
COLOR_FRACTION = 0.6  # weight of the color of the segment of a pixel; the rest is its brightness
MOST_ROWS = 30  # rows of a table that are printed


class Kind(NamedTuple):
    """A kind of output file: its option, name, file extensions and required packages."""

    option: str
    words: str
    suffixes: tuple[str, ...]
    purpose: str = ""
    packages: tuple[str, ...] = ()


KINDS = {
    "output": Kind("-o", "Labels", (".csv", ".tsv", ".txt", ".npy")),
    "plot": Kind(
        "--plot", "Plot", (".png", ".svg", ".pdf", ".jpg", ".jpeg"), "Plots", ("matplotlib",)
    ),
    "report": Kind("--report", "Report", (".html", ".htm"), "Reports", ("jinja2", "matplotlib")),
}  # by field name of the options


class Output(NamedTuple):
    """An output file, "-" for standard output, with its option and allowed extensions."""

    option: str
    name: str
    suffixes: tuple[str, ...]

    @property
    def is_standard(self) -> bool:
        """Whether this is standard output."""
        return self.name == STANDARD_OUTPUT

    @property
    def suffix(self) -> str:
        """The file extension, in lower case."""
        return Path(self.name).suffix.lower()

    def check(self, force: bool) -> None:
        """Raise if the file cannot be written, or would be overwritten without ``force``."""
        if self.is_standard:
            if self.option != "-o":
                raise ValueError(f"{self.option} cannot write to standard output; pass a file.")
            return
        path = Path(self.name)
        if self.suffix not in self.suffixes:
            extensions = ", ".join(self.suffixes[:-1])
            raise ValueError(
                f"{self.option} {self.name}: the file extension must be {extensions} or "
                f"{self.suffixes[-1]}."
            )
        if path.is_dir():
            raise ValueError(f"{self.option} {self.name} is a folder; pass a file name.")
        if not path.resolve().parent.is_dir():
            raise FileNotFoundError(
                f"{self.option} {self.name}: the folder {path.parent} does not exist; create it "
                "first."
            )
        if path.exists() and not force:
            raise FileExistsError(
                f"{self.option} {self.name} already exists; pass --force to overwrite it, or "
                "choose another name."
            )

    def write(self, content: bytes) -> None:
        """Write the content atomically, or to standard output."""
        if self.is_standard:
            sys.stdout.flush()
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
            return
        with written_atomically(Path(self.name)) as part:
            part.write_bytes(content)


class Outputs(dict[str, Output]):
    """The output files of a command, by option."""

    def __init__(
        self, options: InputOptions, *inputs: str | None, allow_image: bool = False
    ) -> None:
        """Check the output files of ``options`` and the packages that they need.

        ``inputs`` are further files that the command reads; ``allow_image`` permits an image as the
        file of labels.
        """
        super().__init__()
        read = {Path(name).resolve() for name in (options.file, *inputs) if name is not None}
        written: set[Path] = set()
        for field, kind in KINDS.items():
            name = getattr(options, field, None)
            if name is None:
                continue
            images = IMAGE_SUFFIXES if allow_image and field == "output" else ()
            self[kind.option] = output = Output(kind.option, name, (*kind.suffixes, *images))
            output.check(options.force)
            if output.is_standard and options.json:
                raise ValueError(
                    "-o - and --json both write to standard output; pass a file name to -o."
                )
            path = Path(name).resolve()
            if path in read | written and not output.is_standard:
                role = "an input file" if path in read else "used for two outputs"
                raise ValueError(f"{output.option} {name} is {role}; choose another name.")
            written.add(path)
            for package in kind.packages:
                with needed_for(kind.purpose, package, field):
                    if find_spec(package) is None:  # does not import the package
                        raise ModuleNotFoundError(name=package)

    @property
    def is_standard(self) -> bool:
        """Whether labels are written to standard output."""
        return "-o" in self and self["-o"].is_standard

    @property
    def labels_path(self) -> str | None:
        """The name of the label file."""
        return self["-o"].name if "-o" in self else None

    def redirected(self) -> AbstractContextManager[Any]:
        """Redirect prints to standard error if labels are written to standard output."""
        return redirect_stdout(sys.stderr) if self.is_standard else nullcontext()

    def in_words(self) -> str:
        """Return a line that lists the files."""
        files = [
            f"{kind.words.lower()} to {self[kind.option].name}"
            for kind in KINDS.values()
            if kind.option in self and not self[kind.option].is_standard
        ]
        return f"Saved {', '.join(files)}." if files else ""


# -- labels, plots and images


def write_labels(
    output: Output, task: Input, labels: np.ndarray, segments: np.ndarray | None = None
) -> None:
    """Write labels as a table of names and clusters, as an array, or as an image of segments."""
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
    """Write an image."""
    with needed_for("Image files", "PIL", "cli"):
        from PIL import Image
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, Image.registered_extensions()[output.suffix])
    output.write(buffer.getvalue())


def colored(image: np.ndarray, segments: np.ndarray) -> np.ndarray:
    """Return an image with tinted segments and lines between them.

    ``segments`` holds the cluster of each pixel; the result is uint8 of shape (height, width, 3).
    """
    light_colors = [light for light, _ in CLUSTER_COLORS.values()]
    palette = np.array([list(bytes.fromhex(light[1:])) for light in light_colors], dtype=np.float64)
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
    """Return the part of a JSON record that describes the graph."""
    versions = {"leastcut": leastcut.__version__, "python": platform.python_version()}
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


def partition_record(partition: leastcut.Partition) -> dict[str, Any]:
    """Return the part of a JSON record that describes a partition."""
    sizes = np.bincount(partition.labels)
    return {
        "n_clusters": sizes.size,
        "cut_value": partition.cut_value,
        "lower_bound": partition.lower_bound,
        "gap": partition.gap,
        "sizes": sizes,
    }


def write_record(record: dict[str, Any]) -> None:
    """Print a record as JSON."""
    print(json.dumps(_plain(record), allow_nan=False))


def _plain(value: Any) -> Any:
    """Convert NumPy values to Python values, and numbers that are not finite to None."""
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | range):
        return [_plain(entry) for entry in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


# -- tables and progress bars in a terminal


def is_terminal(file: TextIO) -> bool:
    """Return whether a file is a terminal."""
    try:
        return file.isatty()
    except ValueError:  # closed
        return False


def progress_bar() -> str | None:
    """Return the value for ``callback``: "tqdm" if standard error is a terminal, else None."""
    return "tqdm" if is_terminal(sys.stderr) else None


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]], n_words: int = 1) -> None:
    """Print a table; the first ``n_words`` columns are aligned left, the others right."""
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
        # Text, because rich would interpret markup in a name
        table.add_row(*(Text(cell) for cell in row))
    Console(file=sys.stdout).print(table)

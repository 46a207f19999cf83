"""What commands write: checked before any work, there whole or not at all, never over a file."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from leastcut.io.source import written_whole
from leastcut.optional_packages import needed_for

STANDARD_OUTPUT = "-"
"""The name that stands for it."""

LABEL_SUFFIXES = (".csv", ".tsv", ".txt", ".npy")
"""The ends of names of files of labels."""

IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp")
"""The ends of names of pictures of segments."""

PLOT_SUFFIXES = (".png", ".svg", ".pdf", ".jpg", ".jpeg")
"""The ends of names of drawings."""

PAGE_SUFFIXES = (".html", ".htm")
"""The ends of names of reports."""


@dataclass(frozen=True)
class Output:
    """A file that a command is to write.

    Attributes
    ----------
    option : str
        The option that names it, for errors.
    name : str
        The file, or "-" for the standard output.
    suffixes : tuple of str
        What its name may end in.
    """

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

    def check(self, force: bool, allow_standard: bool = False) -> None:
        """Raise if it cannot be written, or would take the place of something.

        Raises
        ------
        ValueError
            If its name has another end, or it is the standard output where that cannot be.
        FileExistsError
            If it is there and not ``force``.
        """
        if self.is_standard:
            if not allow_standard:
                raise ValueError(f"{self.option} - is not possible; name a file.")
            return
        path = Path(self.name)
        if self.suffix not in self.suffixes:
            raise ValueError(
                f"{self.option} {self.name}: the name must end in {_either(self.suffixes)}."
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

    def write(self, write: Callable[[Path], object]) -> None:
        """Write it whole, by a function that is given the file to write."""
        with written_whole(Path(self.name)) as part:
            write(part)

    def write_bytes(self, content: bytes) -> None:
        """Write it whole, or to the standard output."""
        if self.is_standard:
            sys.stdout.flush()
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
        else:
            self.write(lambda part: part.write_bytes(content))


def check_outputs(
    outputs: Sequence[Output], force: bool, json: bool = False, inputs: Sequence[str | None] = ()
) -> None:
    """Raise if any of the outputs cannot be written, is an input, or is named twice.

    Raises
    ------
    ValueError, OSError
        As :meth:`Output.check`.
    """
    for output in outputs:
        output.check(force, allow_standard=output.option == "-o")
        if output.is_standard and json:
            raise ValueError("-o - and --json both write to standard output; name a file with -o.")
    read = {Path(name).resolve() for name in inputs if name is not None}
    written: set[Path] = set()
    for output in outputs:
        if output.is_standard:
            continue
        path = Path(output.name).resolve()
        if path in read:
            raise ValueError(f"{output.option} {output.name} is what is read; choose another name.")
        if path in written:
            raise ValueError(f"{output.option} {output.name} is named twice; choose another name.")
        written.add(path)


def check_installed(purpose: str, package: str, extra: str) -> None:
    """Raise if a package is not installed that an output will need, without importing it.

    Raises
    ------
    ImportError
        As :func:`leastcut.optional_packages.needed_for` words it.
    """
    with needed_for(purpose, package, extra):
        if find_spec(package) is None:
            raise ModuleNotFoundError(name=package)


def labels_as_bytes(labels: np.ndarray, names: Sequence[Any], node: str, suffix: str) -> bytes:
    """Return labels as the contents of a file: a table of names and clusters, or an array.

    Parameters
    ----------
    labels : ndarray of shape (n,)
    names : sequence
        The name of every node.
    node : str
        What the table calls a node.
    suffix : str
        The end of the file's name; "" is a table by commas.
    """
    if suffix == ".npy":
        buffer = io.BytesIO()
        np.save(buffer, labels)
        return buffer.getvalue()
    import csv

    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t" if suffix == ".tsv" else ",", lineterminator="\n")
    writer.writerow([node, "cluster"])
    writer.writerows(zip(names, labels.tolist(), strict=True))
    return text.getvalue().encode("utf-8")


def _either(suffixes: tuple[str, ...]) -> str:
    return ", ".join(suffixes[:-1]) + f" or {suffixes[-1]}"

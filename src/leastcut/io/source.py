"""Where something is read from: a file, packed by gzip or not, or the standard input."""

from __future__ import annotations

import difflib
import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

GZIP = b"\x1f\x8b"
"""How everything that gzip packed begins."""

STANDARD_INPUT = "-"
"""The name that stands for it."""

PER_BYTE = 1000
"""Nodes or columns that a file may announce for each of its bytes: those without entries take none,
but no file of some lines means a billion of them."""


@dataclass(frozen=True)
class Source:
    """A file or the standard input, read when it is first asked for and then kept.

    Attributes
    ----------
    path : Path or None
        None is the standard input.
    """

    path: Path | None

    @classmethod
    def of(cls, name: str | Path) -> Source:
        """Return the source of a name, if there is a file of it.

        Raises
        ------
        FileNotFoundError
            If there is none; it tells of one with a similar name.
        ValueError
            If it is a folder.
        """
        if str(name) == STANDARD_INPUT:
            return cls(None)
        path = Path(name)
        if path.is_dir():
            raise ValueError(f"{path} is a folder; name a file in it.")
        if not path.exists():
            raise FileNotFoundError(f"There is no file {path}{_similar(path)}.")
        return cls(path)

    @property
    def name(self) -> str:
        """What errors call it."""
        return "Standard input" if self.path is None else str(self.path)

    @property
    def suffixes(self) -> list[str]:
        """The ends of its name in lower case, without that of gzip."""
        found = [] if self.path is None else [suffix.lower() for suffix in self.path.suffixes]
        return found[:-1] if found[-1:] == [".gz"] else found

    @cached_property
    def content(self) -> bytes:
        """All of it, unpacked.

        Raises
        ------
        ValueError
            If it is empty, or packed by gzip and damaged.
        """
        raw = sys.stdin.buffer.read() if self.path is None else self.path.read_bytes()
        if raw.startswith(GZIP):
            try:
                raw = gzip.decompress(raw)
            except (OSError, EOFError, zlib.error) as error:
                raise ValueError(
                    f"{self.name} cannot be unpacked ({error}); it may be cut short. Fetch or pack "
                    "it again."
                ) from None
        if not raw.strip():
            raise ValueError(f"{self.name} is empty; there is nothing to cluster in it.")
        return raw

    @cached_property
    def text(self) -> str:
        """All of it as text.

        Raises
        ------
        ValueError
            If it is not text in UTF-8.
        """
        try:
            # spreadsheets write a mark at the beginning, which utf-8-sig takes off
            text = self.content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = self.content.count(b"\n", 0, error.start) + 1
            byte = self.content[error.start]
            raise ValueError(
                f"{self.name} is not text in UTF-8: line {line} has a byte 0x{byte:02x} that does "
                "not belong there. Save it as UTF-8, or say what it is with --format."
            ) from None
        if "\0" in text:
            line = text.count("\n", 0, text.index("\0")) + 1
            raise ValueError(
                f"{self.name} is not text: line {line} has a byte 0x00. Say what it is with "
                "--format."
            )
        return text

    @cached_property
    def lines(self) -> list[str]:
        """All of it, line by line; number i of the file is ``lines[i - 1]``."""
        # not splitlines, for which a form feed inside of a line ends it
        return self.text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Return a context that gives the unpacked bytes as an open file."""
        if self.path is not None:
            with self.path.open("rb") as file:
                if not file.read(len(GZIP)).startswith(GZIP):
                    file.seek(0)
                    yield file
                    return
        yield io.BytesIO(self.content)


def check_announced(name: str, count: int, what: str, n_bytes: int) -> None:
    """Raise if a file announces more of something than its size allows, before memory is taken.

    Parameters
    ----------
    name : str
        The name of the file.
    count : int
        How many it announces.
    what : str
        What they are, for the error.
    n_bytes : int
        The size of the file, unpacked.
    """
    if count > PER_BYTE * n_bytes:
        raise ValueError(
            f"{name} announces {count:,} {what} and has {n_bytes:,} bytes, too few for so many; "
            "correct the number, or fetch the file again if it is cut short."
        )


@contextmanager
def blamed(source: Source, what: str) -> Iterator[None]:
    """Return a context in which whatever goes wrong is the file's fault, and told so."""
    try:
        yield
    except (ImportError, MemoryError):
        raise
    except Exception as error:  # a damaged file fails in any way: zip, zlib, struct, index, type
        reason = " ".join(f"{type(error).__name__}: {error}".split()).removeprefix("ValueError: ")
        raise ValueError(
            f"{source.name} cannot be read as {what} ({reason.rstrip('.')}). It may be damaged, or "
            "another kind of file: say which with --format."
        ) from error


def _similar(path: Path) -> str:
    """Return the words that name a file beside this one with nearly the same name."""
    try:
        beside = [other.name for other in path.parent.iterdir() if other.is_file()]
    except OSError:
        return ""
    close = difflib.get_close_matches(path.name, beside, n=1)
    return f"; there is {path.parent / close[0]}" if close else ""

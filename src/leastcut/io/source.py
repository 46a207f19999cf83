"""Input files, compressed files and standard input, and files that are written atomically."""

from __future__ import annotations

import difflib
import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

GZIP = b"\x1f\x8b"  # first bytes of gzip files

STANDARD_INPUT = "-"

# Nodes or columns that a file may declare per byte. Those without entries take no space, but a
# short file that declares a billion of them is damaged.
PER_BYTE = 1000


@dataclass(frozen=True)
class Source:
    """A file, or standard input if the path is None; its content is read once and cached."""

    path: Path | None

    @classmethod
    def of(cls, name: str | Path) -> Source:
        """Return the source for a file name; raise if the file does not exist or is a folder."""
        if str(name) == STANDARD_INPUT:
            return cls(None)
        path = Path(name)
        if path.is_dir():
            raise ValueError(f"{path} is a folder; pass a file.")
        if not path.exists():
            try:
                others = [other.name for other in path.parent.iterdir() if other.is_file()]
            except OSError:
                others = []
            close = difflib.get_close_matches(path.name, others, n=1)
            hint = f"; did you mean {path.parent / close[0]}?" if close else "."
            raise FileNotFoundError(f"There is no file {path}{hint}")
        return cls(path)

    @property
    def name(self) -> str:
        """The name in error messages."""
        return "Standard input" if self.path is None else str(self.path)

    @property
    def suffix(self) -> str:
        """The file extension in lower case, without ``.gz``."""
        ends = [] if self.path is None else [end.lower() for end in self.path.suffixes]
        if ends[-1:] == [".gz"]:
            ends.pop()
        return ends[-1] if ends else ""

    @cached_property
    def content(self) -> bytes:
        """The decompressed bytes; raise if the file is empty or decompression fails."""
        raw = sys.stdin.buffer.read() if self.path is None else self.path.read_bytes()
        if raw.startswith(GZIP):
            try:
                raw = gzip.decompress(raw)
            except (OSError, EOFError, zlib.error) as error:
                raise ValueError(
                    f"{self.name} cannot be decompressed ({error}); it may be truncated. Download "
                    "or compress it again."
                ) from None
        if not raw.strip():
            raise ValueError(f"{self.name} is empty.")
        return raw

    @cached_property
    def text(self) -> str:
        """The content as text, with lines that end in line feeds; raise if it is not UTF-8."""
        try:
            # utf-8-sig removes the byte order mark that spreadsheets write
            text = self.content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = self.content.count(b"\n", 0, error.start) + 1
            byte = self.content[error.start]
            raise ValueError(
                f"{self.name} is not UTF-8 text: line {line} has an invalid byte 0x{byte:02x}. "
                "Save it as UTF-8, or pass its format with --format."
            ) from None
        if "\0" in text:
            line = text[: text.index("\0")].count("\n") + 1
            raise ValueError(
                f"{self.name} is not a text file: line {line} has a byte 0x00. Pass its format "
                "with --format."
            )
        return text.replace("\r\n", "\n").replace("\r", "\n")

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text; line i of the file is ``lines[i - 1]``."""
        # splitlines would also split at form feeds
        return self.text.removesuffix("\n").split("\n")

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Yield an open file of the decompressed bytes."""
        if self.path is not None:
            with self.path.open("rb") as file:
                if not file.read(len(GZIP)).startswith(GZIP):
                    file.seek(0)
                    yield file
                    return
        yield io.BytesIO(self.content)

    def check_declared(self, count: int, noun: str, n_bytes: int) -> None:
        """Raise if a file of ``n_bytes`` declares implausibly many rows, before any allocation."""
        if count > PER_BYTE * n_bytes:
            raise ValueError(
                f"{self.name} declares {count:,} {noun} but has only {n_bytes:,} bytes; correct "
                "the number, or download the file again if it is truncated."
            )

    @contextmanager
    def reading(self, what: str) -> Iterator[None]:
        """Convert every error to a ValueError that names the file."""
        try:
            yield
        except (ImportError, MemoryError):
            raise
        except Exception as error:  # damaged files can raise any error
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            reason = reason.removeprefix("ValueError: ").rstrip(".")
            raise ValueError(
                f"{self.name} cannot be read as {what} ({reason}). It may be damaged, or have "
                "another format: pass it with --format."
            ) from error


@contextmanager
def written_atomically(path: Path) -> Iterator[Path]:
    """Yield a temporary file to write, and move it to ``path`` if no error occurs.

    An existing file at ``path`` is kept until then. Yield ``path`` itself if it is not a regular
    file, such as a terminal or a pipe.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    target = path.resolve()  # replaces the target of a link, not the link
    # in the same folder, because moving to another disk is not atomic; the process id makes the
    # name unique if two processes write the same file
    part = target.with_name(f".{target.stem}.{os.getpid()}.part{target.suffix}")
    try:
        yield part
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)

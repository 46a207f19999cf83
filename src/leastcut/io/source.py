"""Files as they are read, packed by gzip or not or from standard input, and as they are written."""

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

GZIP = b"\x1f\x8b"  # how everything that gzip packed begins

STANDARD_INPUT = "-"

# Nodes or columns that a file may announce for each of its bytes: those without entries take
# none, but no file of some lines means a billion of them.
PER_BYTE = 1000


@dataclass(frozen=True)
class Source:
    """A file, or the standard input where the path is None; read on first use and then kept."""

    path: Path | None

    @classmethod
    def of(cls, name: str | Path) -> Source:
        """Return the source of a name; raise if there is no such file, or it is a folder."""
        if str(name) == STANDARD_INPUT:
            return cls(None)
        path = Path(name)
        if path.is_dir():
            raise ValueError(f"{path} is a folder; name a file in it.")
        if not path.exists():
            try:
                others = [other.name for other in path.parent.iterdir() if other.is_file()]
            except OSError:
                others = []
            close = difflib.get_close_matches(path.name, others, n=1)
            like = f"; there is {path.parent / close[0]}" if close else ""
            raise FileNotFoundError(f"There is no file {path}{like}.")
        return cls(path)

    @property
    def name(self) -> str:
        """What errors call it."""
        return "Standard input" if self.path is None else str(self.path)

    @property
    def suffix(self) -> str:
        """The end of the name in lower case, before ``.gz`` if there is that."""
        ends = [] if self.path is None else [end.lower() for end in self.path.suffixes]
        if ends[-1:] == [".gz"]:
            ends.pop()
        return ends[-1] if ends else ""

    @cached_property
    def content(self) -> bytes:
        """All bytes, unpacked; raise if there are none, or gzip cannot unpack them."""
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
        """The content as text, with line feeds at the ends of lines; raise if it is not UTF-8."""
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
            line = text[: text.index("\0")].count("\n") + 1
            raise ValueError(
                f"{self.name} is not text: line {line} has a byte 0x00. Say what it is with "
                "--format."
            )
        return text.replace("\r\n", "\n").replace("\r", "\n")

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text; line i of the file is ``lines[i - 1]``."""
        # not splitlines, for which a form feed ends a line too
        return self.text.removesuffix("\n").split("\n")

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Open a context that gives the unpacked bytes as an open file."""
        if self.path is not None:
            with self.path.open("rb") as file:
                if not file.read(len(GZIP)).startswith(GZIP):
                    file.seek(0)
                    yield file
                    return
        yield io.BytesIO(self.content)

    def check_announced(self, count: int, what: str, n_bytes: int) -> None:
        """Raise if the file announces more than its size allows, before memory is allocated."""
        if count > PER_BYTE * n_bytes:
            raise ValueError(
                f"{self.name} announces {count:,} {what} and has {n_bytes:,} bytes, too few for so "
                "many; correct the number, or fetch the file again if it is cut short."
            )

    @contextmanager
    def blamed(self, what: str) -> Iterator[None]:
        """Open a context in which every error becomes a ValueError that names the file."""
        try:
            yield
        except (ImportError, MemoryError):
            raise
        except Exception as error:  # damaged files fail in any way: zip, zlib, struct, index, type
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            reason = reason.removeprefix("ValueError: ").rstrip(".")
            raise ValueError(
                f"{self.name} cannot be read as {what} ({reason}). It may be damaged, or another "
                "kind of file: say which with --format."
            ) from error


@contextmanager
def written_atomically(path: Path) -> Iterator[Path]:
    """Open a context that gives a file to write, and moves it to ``path`` when all is written.

    What is at ``path`` stays until then, and for good if the writing fails. Where ``path`` is no
    plain file, such as a terminal or a pipe, the context gives ``path`` itself.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    target = path.resolve()  # the target of a link is replaced, not the link
    # in the same folder, as a file cannot be moved to another disk in one step; the process id
    # keeps apart two processes that write the same file
    part = target.with_name(f".{target.stem}.{os.getpid()}.part{target.suffix}")
    try:
        yield part
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)

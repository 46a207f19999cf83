"""Write files completely or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Return a context with a temporary file that replaces ``path`` when the block ends.

    Terminals and pipes cannot be replaced; they are written to directly.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    target = path.resolve()
    # in the same folder, as moving a file to another disk is not atomic
    with TemporaryDirectory(dir=target.parent, prefix=f".{target.stem}.") as folder:
        temporary = Path(folder) / target.name
        yield temporary
        os.replace(temporary, target)


def write_text(path: Path, text: str) -> None:
    """Write a text file in UTF-8, completely or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")

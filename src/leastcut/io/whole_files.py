"""Files that are there whole or not at all, whatever happens while they are written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Return a context that gives a file to write, and puts it in its place when all is written.

    Parameters
    ----------
    path : Path
        Where the file is to be; what is there stays until it is replaced.

    Yields
    ------
    Path
        The file to write, beside it and with the same ending. Where ``path`` is no plain file, a
        terminal or a pipe, it is ``path`` itself.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with written_whole(folder / "page.txt") as file:
    ...     _ = file.write_text("all of it")
    >>> [path.name for path in folder.iterdir()]
    ['page.txt']
    """
    if path.exists() and not path.is_file():
        yield path  # nothing can take its place
        return
    target = path.resolve()  # what a link points to is replaced, and not the link
    # in the same folder, as a file cannot be moved to another disk in one step; the number of the
    # process keeps two that write the same file apart
    part = target.with_name(f".{target.stem}.{os.getpid()}.part{target.suffix}")
    try:
        yield part
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)

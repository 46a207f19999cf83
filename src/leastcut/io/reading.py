"""``read``: a file of any format that there is a reader for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from leastcut.io import ELSEWHERE, FORMATS, SNIFFED, SUFFIXES
from leastcut.io.layout import long_fields_named
from leastcut.io.loaded import Loaded, Wanted
from leastcut.io.sniffing import sniffed
from leastcut.io.source import Source
from leastcut.validation import check_choice

OF_ARRAYS = ("npz", "mat")
"""The formats of files that hold several arrays by name."""


def read(path: str | Path, wanted: Wanted | None = None, format: str | None = None) -> Loaded:
    """Read points, a graph or a picture from a file.

    Parameters
    ----------
    path : str or Path
        The file; "-" is the standard input.
    wanted : Wanted, optional
        What to take it for, and which columns have which role.
    format : str, optional
        A name in :data:`leastcut.io.FORMATS`; by default the end of the file's name tells it, or
        where that does not, what is in it.

    Returns
    -------
    Loaded

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it cannot be read; the message names the file, the line and the value.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "friends.edges"
    >>> _ = file.write_text("ann bob 2\\nbob cat\\n".replace("bob cat", "bob cat 1"))
    >>> loaded = read(file)
    >>> loaded.kind, loaded.names, loaded.data.toarray()[1].tolist()
    ('graph', ['ann', 'bob', 'cat'], [2.0, 0.0, 1.0])
    """
    wanted = Wanted() if wanted is None else wanted
    if wanted.kind is not None:
        check_choice("--as", wanted.kind, ("points", "graph"))
    if format is not None:
        check_choice("--format", format, FORMATS)
    source = Source.of(path)
    with long_fields_named(source):
        name = format or _format_of(source)
        # a list of edges that is wanted as points is a table like any other
        if name == "edges" and wanted.kind == "points":
            name = "csv"
        if wanted.array is not None and name not in OF_ARRAYS:
            raise ValueError(
                f"{source.name} is read as {name}, which has no named arrays; --array is for "
                f"{' and '.join(OF_ARRAYS)} files, so leave it out."
            )
        loaded = FORMATS[name](source, wanted)
    if name == "edges" and format is None and _is_sniffed(source) and wanted.kind is None:
        note = f"{source.name} is read as a list of edges; --as points takes its rows for points."
        loaded = replace(loaded, notes=(note, *loaded.notes))
    return loaded


def _format_of(source: Source) -> str:
    """Return the format that the end of a name means, or what is in the file."""
    if _is_sniffed(source):
        return sniffed(source)
    suffix = source.suffixes[-1]
    if suffix not in SUFFIXES:
        help_ = ELSEWHERE.get(suffix, "Say what it is with --format.")
        raise ValueError(
            f"{source.name}: files that end in {suffix} are not read here. {help_} "
            f"The formats are {', '.join(FORMATS)}."
        )
    return SUFFIXES[suffix]


def _is_sniffed(source: Source) -> bool:
    """Return whether the name of a file says nothing of its format."""
    return not source.suffixes or SUFFIXES.get(source.suffixes[-1]) == SNIFFED

"""``--affinity anchors``: points joined through anchors, files read block by block.

``options`` are those of :class:`leastcut.cli.inputs.InputOptions`, which asks here.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from leastcut.io.loaded import Loaded

ANCHORS = "anchors"
"""What ``--affinity`` calls it."""

BY_BLOCKS = {"npy": (".npy",), "parquet": (".parquet", ".pq")}
"""Formats that are read block by block, and how their files end."""

DRAWN = ("embedding", "sizes")
"""Pictures that need no edges."""


class Rows(NamedTuple):
    """Points that are read when their turn comes."""

    path: Path
    shape: tuple[int, int] = (0, 0)

    def counted(self, graph: Any) -> Rows:
        """Return them with their numbers, which the graph knows."""
        return self._replace(shape=(graph.n_nodes, graph.anchors.shape[1]))


def check_anchored(options: Any) -> None:
    """Raise where options and the affinity contradict each other."""
    of_anchors = {"--n-anchors": options.n_anchors, "--max-memory": options.max_memory}
    given = [name for name, value in of_anchors.items() if value is not None]
    if given and not options.is_anchored:
        raise ValueError(f"{given[0]} is of --affinity {ANCHORS}; say that, too, or leave it out.")
    if options.n_anchors is not None:
        from leastcut.validation import check_count

        check_count("--n-anchors", options.n_anchors)
    if options.is_anchored and options.metric is not None:
        raise ValueError(f"--affinity {ANCHORS} has no --metric; leave it out.")


def check_wishes(report: str | None, picture: str | None, balance: str | None) -> None:
    """Raise where something is asked for that needs edges."""
    if balance is not None:
        raise ValueError(
            f"--balance is not offered with --affinity {ANCHORS}; leave it out, or name another."
        )
    if report is not None:
        raise ValueError(
            f"--report draws and compares by edges, which --affinity {ANCHORS} does not store; "
            "leave it out, or draw with --plot."
        )
    if picture is not None and picture not in DRAWN:
        raise ValueError(
            f"--picture {picture} needs edges, which --affinity {ANCHORS} does not store; what it "
            f"draws: {', '.join(DRAWN)}."
        )


def refuse_anchored(options: Any) -> None:
    """Raise where a command needs the edges of a graph."""
    if options.is_anchored:
        raise ValueError(
            f"--affinity {ANCHORS} is of cluster alone: its graph stores no edges, which this "
            "command needs. Leave it out, or name another."
        )


def is_read_by_blocks(options: Any) -> bool:
    """Whether a file can be read as it is, some rows at a time."""
    asked = options.label_column, options.name_column, options.without, options.header
    if any(asked) or options.standardize or options.kind not in (None, "points"):
        return False
    suffix = Path(options.file).suffix
    return any(
        options.format in (None, name) and suffix in endings for name, endings in BY_BLOCKS.items()
    )


def rows_of(options: Any) -> Loaded:
    """Return the points of a file without reading them."""
    from leastcut.io.loaded import Loaded

    path = Path(options.file)
    if not path.is_file():
        raise FileNotFoundError(f"{options.file} is not there.")
    return Loaded("points", Rows(path), options.file)


def graph_of_anchors(options: Any, data: Any) -> tuple[Any, str]:
    """Return points tied to anchors, and how."""
    from leastcut import anchor_graph

    n_anchors = {} if options.n_anchors is None else {"n_anchors": options.n_anchors}
    n_neighbors = {} if options.n_neighbors is None else {"n_neighbors": options.n_neighbors}
    graph = anchor_graph(
        data.path if isinstance(data, Rows) else data,
        random_state=options.seed,
        max_memory=options.max_memory,
        **n_anchors,
        **n_neighbors,
    )
    return graph, f"joined through {graph.n_anchors:,} anchors in a graph"

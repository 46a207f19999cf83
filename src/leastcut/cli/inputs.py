"""From a file to the graph that is cut: read it, and make a graph of points and pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from leastcut.cli.messages import logged
from leastcut.cli.options import ANCHORS, InputOptions

if TYPE_CHECKING:
    from leastcut.io.loaded import Loaded

Note = Callable[[str], None]
"""Writes a line to the standard error, and keeps it for the report."""

DEFAULT_AFFINITY = "adaptive_neighbors"

MOST_PIXELS = 40_000
"""Pixels up to which a picture is cut pixel by pixel, in seconds; larger ones are cut by
superpixels unless asked otherwise, where scikit-image is installed."""

SUPERPIXELS = 2_000
"""About how many superpixels that is: small enough for outlines to be sharp."""

UNLIKE = 100.0
"""Ratio between the deviations of columns beyond which a note is made of it."""

IN_WORDS = {"points": "points", "graph": "a graph", "image": "a picture"}

BY_BLOCKS = ("npy", "parquet")
"""Formats whose points an anchor graph reads block by block."""


@dataclass(frozen=True, eq=False)
class Input:
    """A graph to cut, and where it is from.

    ``how`` is how it became a graph, in words, and ``node`` what a file of labels calls a node.
    ``image_graph`` is the graph of a picture, which knows the pixels of its nodes. ``shape`` is
    that of points, which may not be loaded.
    """

    graph: Any
    loaded: Loaded
    how: str
    seconds: dict[str, float]
    notes: tuple[str, ...]
    image_graph: Any = None
    shape: tuple[int, ...] = field(default=())

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.graph.n_nodes)

    @property
    def names(self) -> Sequence[Any]:
        """The name of every node, numbers where there are no others."""
        return range(self.n_nodes) if self.loaded.names is None else self.loaded.names

    @property
    def node(self) -> str:
        """What a file of labels calls a node."""
        return "row" if self.loaded.kind == "points" else "node"

    @property
    def is_anchored(self) -> bool:
        """Whether the graph joins points through anchors, and stores no edges."""
        return hasattr(self.graph, "n_anchors")

    @property
    def n_edges(self) -> int | None:
        """Number of edges without self-loops; None where they are not stored."""
        if self.is_anchored:
            return None
        loops = int(np.count_nonzero(self.graph.matrix.diagonal()))
        return (int(self.graph.n_stored) - loops) // 2

    def described(self) -> str:
        """Return a line about the file and the graph."""
        what = "a graph"
        if self.loaded.kind == "image":
            height, width = self.shape[:2]
            what = f"a picture of {width} by {height} pixels, {self.how}"
        elif self.loaded.kind == "points":
            what = f"{self.shape[0]:,} points of {self.shape[1]:,} numbers, {self.how}"
        edges = "" if self.is_anchored else f" and {self.n_edges:,} edges"
        return f"{self.loaded.source}: {what} of {self.n_nodes:,} nodes{edges}"


def check_input(options: InputOptions, needs_edges: bool = True) -> None:
    """Raise if an option is none of its choices, or contradicts another, before a file is read."""
    from leastcut.affinity import AFFINITIES
    from leastcut.io import FORMATS
    from leastcut.problem import CUTS
    from leastcut.seeds import as_generator
    from leastcut.validation import SYMMETRIZE, check_choice, check_count

    for name, value, known in (
        ("--cut", options.cut, CUTS),
        ("--affinity", options.affinity, (*AFFINITIES, ANCHORS)),
        ("--as", options.kind, ("points", "graph")),
        ("--format", options.format, FORMATS),
        ("--symmetrize", options.symmetrize, SYMMETRIZE),
        ("--isolated", options.isolated, ("error", "ignore")),
    ):
        if value is not None:
            check_choice(name, value, known)
    for name, number, least in (
        ("--neighbors", options.n_neighbors, 1),
        ("--n-anchors", options.n_anchors, 1),
        ("--superpixels", options.superpixels, 0),
    ):
        if number is not None:
            check_count(name, number, least)
    as_generator(options.seed)
    of_anchors = {"--n-anchors": options.n_anchors, "--max-memory": options.max_memory}
    for name, wanted in of_anchors.items():
        if wanted is not None and not options.is_anchored:
            raise ValueError(f"{name} is of --affinity {ANCHORS}; say that, too, or leave it out.")
    if options.is_anchored and options.metric is not None:
        raise ValueError(f"--affinity {ANCHORS} has no --metric; leave it out.")
    if options.is_anchored and needs_edges:
        raise ValueError(
            f"--affinity {ANCHORS} is of cluster alone: its graph stores no edges, which this "
            "command needs. Leave it out, or name another."
        )


def load_input(options: InputOptions) -> Input:
    """Read a file and return its graph; decisions on the way are written to standard error."""
    from leastcut.io import read
    from leastcut.io.loaded import Loaded, Wanted

    began = perf_counter()
    wanted = Wanted(
        options.kind,
        options.label_column,
        options.name_column,
        tuple(options.without or ()),
        options.header,
        options.symmetrize is not None,
        options.array,
    )
    path = Path(options.file) if _is_read_by_blocks(options) else None
    if path is None:
        loaded = read(options.file, wanted, options.format)
    elif path.is_file():
        loaded = Loaded("points", None, options.file)
    else:
        raise FileNotFoundError(f"{options.file} is not there.")
    seconds = {"read": perf_counter() - began}
    notes: list[str] = []
    with logged(notes) as note:
        for line in loaded.notes:
            note(line)
        _check_fit(options, loaded)
        began = perf_counter()
        graph, how, loaded, image_graph = _graph_of(options, loaded, path, note)
        seconds["graph"] = perf_counter() - began
    shape = (graph.n_nodes, graph.anchors.shape[1]) if path else loaded.data.shape
    return Input(graph, loaded, how, seconds, tuple(notes), image_graph, shape)


def _graph_of(
    options: InputOptions, loaded: Loaded, path: Path | None, note: Note
) -> tuple[Any, str, Loaded, Any]:
    """Return the graph of what was read, how it was made, the data, and the graph of a picture."""
    from leastcut.problem import given_graph

    if loaded.kind == "graph":
        return given_graph(loaded.data, options.symmetrize), "", loaded, None
    if loaded.kind == "image":
        matrix = _graph_of_image(options, loaded, note)
        is_by_pixel = matrix.shape[0] == loaded.n_items
        how = "graph of its pixels" if is_by_pixel else "superpixel graph"
        return given_graph(matrix), how, loaded, matrix
    if path is None:
        loaded = _scaled(options, loaded, note)
    if options.is_anchored:
        graph, how = _graph_of_anchors(options, path or loaded.data)
        return graph, how, loaded, None
    matrix, how = _graph_of_points(options, loaded, note)
    return given_graph(matrix), how, loaded, None


def _check_fit(options: InputOptions, loaded: Loaded) -> None:
    """Raise if an option has no meaning for what the file holds."""
    for name, value, kind in (
        ("--affinity", options.affinity, "points"),
        ("--neighbors", options.n_neighbors, "points"),
        ("--metric", options.metric, "points"),
        ("--symmetrize", options.symmetrize, "graph"),
        ("--standardize", options.standardize or None, "points"),
        ("--superpixels", options.superpixels, "image"),
    ):
        if value is not None and loaded.kind != kind:
            is_choice = {kind, loaded.kind} == {"points", "graph"} and name != "--standardize"
            other = f", or say --as {kind}." if is_choice else "."
            raise ValueError(
                f"{loaded.source} holds {IN_WORDS[loaded.kind]}, and {name} is for "
                f"{IN_WORDS[kind]}; leave it out{other}"
            )


# -- graphs of points and pictures


def _is_read_by_blocks(options: InputOptions) -> bool:
    """Return whether a file is for anchors and can be read as it is, some rows at a time."""
    from leastcut.io import FORMATS

    asked = options.label_column, options.name_column, options.without, options.header
    if not options.is_anchored or any(asked) or options.standardize:
        return False
    return options.kind in (None, "points") and any(
        options.format in (None, name) and Path(options.file).suffix in FORMATS[name].suffixes
        for name in BY_BLOCKS
    )


def _graph_of_anchors(options: InputOptions, points: Any) -> tuple[Any, str]:
    """Return the anchor graph of points, or of a file of them, and how it was made."""
    from leastcut import anchor_graph

    counts: dict[str, Any] = {"n_anchors": options.n_anchors, "n_neighbors": options.n_neighbors}
    graph = anchor_graph(
        points,
        random_state=options.seed,
        max_memory=options.max_memory,
        **{name: count for name, count in counts.items() if count is not None},
    )
    return graph, f"joined through {graph.n_anchors:,} anchors in a graph"


def _graph_of_points(options: InputOptions, loaded: Loaded, note: Note) -> tuple[Any, str]:
    """Return the affinity matrix of points, and how it was made."""
    from leastcut import AFFINITIES

    name, data = options.affinity or DEFAULT_AFFINITY, loaded.data
    affinity = AFFINITIES[name]
    if affinity.takes == "affinities":
        raise ValueError(f"--affinity {name} is of a file that is a graph already: say --as graph.")
    if affinity.takes == "samples" and _looks_like_a_graph(data):
        note(
            f"{loaded.source} is a square symmetric matrix, and is read as points; --as graph "
            "takes it for affinities."
        )
    parameters: dict[str, Any] = {}
    words = []
    for option, parameter, value in (
        ("--neighbors", "n_neighbors", options.n_neighbors),
        ("--metric", "metric", options.metric),
    ):
        if value is not None:
            if parameter not in affinity.parameters:
                raise ValueError(f"--affinity {name} has no {option}; leave it out.")
            parameters[parameter] = value
            words.append(f"{option} {value}")
    if "n_neighbors" in affinity.parameters:
        parameters = affinity.limited(data.shape[0], parameters)
    if affinity.searches:
        parameters["random_state"] = options.seed
    details = f" ({' '.join(words)})" if words else ""
    return affinity(data, **parameters), f"{name} graph{details}"


def _looks_like_a_graph(data: Any) -> bool:
    """Return whether points are a square symmetric matrix."""
    if data.shape[0] != data.shape[1] or data.shape[0] < 3:
        return False
    difference = data - data.T
    return not (difference.count_nonzero() if hasattr(difference, "nnz") else difference.any())


def _graph_of_image(options: InputOptions, loaded: Loaded, note: Note) -> Any:
    """Return the graph of a picture."""
    from leastcut import image_graph

    count = options.superpixels
    if count is None and loaded.n_items > MOST_PIXELS and find_spec("skimage") is not None:
        count = SUPERPIXELS
        note(
            f"{loaded.source} has {loaded.n_items:,} pixels, and is cut by about {count:,} "
            "superpixels; --superpixels 0 cuts the pixels themselves, which takes long."
        )
    # 0 is how pixels are asked for
    return image_graph(loaded.data, superpixels=count or None)


def _scaled(options: InputOptions, loaded: Loaded, note: Note) -> Loaded:
    """Return points with columns of mean 0 and deviation 1 if that is asked for."""
    data = loaded.data
    if not isinstance(data, np.ndarray):
        if options.standardize:
            raise ValueError(
                f"{loaded.source} is sparse, and --standardize would fill it; --metric cosine "
                "makes rows of any length count alike."
            )
        return loaded
    deviations = data.std(axis=0, dtype=np.float64)
    if options.standardize:
        safe = np.where(deviations > 0, deviations, 1.0)
        return replace(loaded, data=(data - data.mean(axis=0)) / safe)
    spread = deviations[deviations > 0]
    # columns without names are often those of one kind of measurement, such as pixels
    if loaded.columns is not None and spread.size > 1 and spread.max() > UNLIKE * spread.min():
        large = int(np.argmax(deviations))
        small = int(np.argmin(np.where(deviations > 0, deviations, np.inf)))
        note(
            f"Columns differ in scale: {loaded.columns[large]!r} varies by "
            f"{deviations[large]:.3g} and {loaded.columns[small]!r} by {deviations[small]:.3g}. "
            "--standardize makes all count alike."
        )
    return loaded

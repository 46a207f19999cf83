"""From a file to the graph that is cut: read it, and make a graph of points and pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import leastcut.io
from leastcut.cli.messages import logged
from leastcut.cli.options import ANCHORS, InputOptions
from leastcut.io.loaded import Loaded, Wanted
from leastcut.problem import CUTS, ISOLATED, as_affinity_graph
from leastcut.seeds import as_generator
from leastcut.validation import SYMMETRIZE, check_choice, check_count

Note = Callable[[str], None]  # logs a line, and keeps it for the report

DEFAULT_AFFINITY = "adaptive_neighbors"
MOST_PIXELS = 40_000  # of a picture that is cut pixel by pixel, in seconds
SUPERPIXELS = 2_000  # about so many of larger ones: small enough for outlines to be sharp
UNLIKE = 100.0  # ratio between the deviations of columns beyond which a note is made of it
IN_WORDS = {"points": "points", "graph": "a graph", "image": "a picture"}
BY_BLOCKS = ("npy", "parquet")  # formats whose points an anchor graph reads block by block


@dataclass(frozen=True, eq=False)
class Input:
    """A graph to cut, and where it is from."""

    graph: Any
    loaded: Loaded
    how: str  # it became a graph, in words
    seconds: dict[str, float]
    notes: tuple[str, ...]
    image_graph: leastcut.ImageGraph | None  # which knows the pixels of its nodes
    shape: tuple[int, ...]  # of the points, which may not be loaded, or of the picture

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
    for name, value, known in (
        ("--cut", options.cut, CUTS),
        ("--affinity", options.affinity, (*leastcut.AFFINITIES, ANCHORS)),
        ("--as", options.kind, ("points", "graph")),
        ("--format", options.format, leastcut.io.FORMATS),
        ("--symmetrize", options.symmetrize, SYMMETRIZE),
        ("--isolated", options.isolated, ISOLATED),
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
    if not options.is_anchored:
        of_anchors = {"--n-anchors": options.n_anchors, "--max-memory": options.max_memory}
        named = [name for name, wanted in of_anchors.items() if wanted is not None]
        if named:
            raise ValueError(
                f"{named[0]} is of --affinity {ANCHORS}; say that, too, or leave it out."
            )
        _check_number(options)
    elif options.metric is not None:
        raise ValueError(f"--affinity {ANCHORS} has no --metric; leave it out.")
    elif needs_edges:
        raise ValueError(
            f"--affinity {ANCHORS} is of cluster alone: its graph stores no edges, which this "
            "command needs. Leave it out, or name another."
        )


def _check_number(options: InputOptions) -> None:
    """Raise if the graph is made for a number of clusters, and none is asked for."""
    name = options.affinity or DEFAULT_AFFINITY
    if "n_clusters" not in leastcut.AFFINITIES[name].parameters:
        return
    if _clusters_of(options) in (None, "auto"):
        raise ValueError(
            f"--affinity {name} makes a graph with a component for every cluster; say how many "
            f"with -k (cluster, compare and certify have it), or name {DEFAULT_AFFINITY}, which it "
            "begins with."
        )


def _clusters_of(options: InputOptions) -> str | None:
    """Return what -k is; None without it."""
    return getattr(options, "clusters", None)


def load_input(options: InputOptions) -> Input:
    """Read a file and return its graph; decisions on the way are logged."""
    wanted = Wanted(
        options.kind,
        options.label_column,
        options.name_column,
        tuple(options.without or ()),
        options.header,
        options.symmetrize is not None,
        options.array,
    )
    began = perf_counter()
    path = Path(options.file) if _is_read_by_blocks(options) else None
    if path is None:
        loaded = leastcut.io.read(options.file, wanted, options.format)
    elif path.is_file():
        loaded = Loaded("points", None, options.file)
    else:
        raise FileNotFoundError(f"{options.file} is not there.")
    seconds = {"read": perf_counter() - began}
    notes: list[str] = []
    image_graph, how = None, ""
    with logged(notes) as note:
        for line in loaded.notes:
            note(line)
        _check_fit(options, loaded)
        began = perf_counter()
        if loaded.kind == "image":
            image_graph = _graph_of_image(options, loaded, note)
            is_by_pixel = image_graph.shape[0] == loaded.n_items
            how = "graph of its pixels" if is_by_pixel else "superpixel graph"
            graph: Any = as_affinity_graph(image_graph)
        elif loaded.kind == "graph":
            graph = as_affinity_graph(loaded.data, options.symmetrize)
        else:
            loaded = loaded if path else _scaled(options, loaded, note)
            graph, how = _graph_of_points(options, loaded, path, note)
        seconds["graph"] = perf_counter() - began
    shape = (graph.n_nodes, graph.anchors.shape[1]) if path else loaded.data.shape
    return Input(graph, loaded, how, seconds, tuple(notes), image_graph, shape)


def _is_read_by_blocks(options: InputOptions) -> bool:
    """Return whether a file is for anchors and can be read as it is, some rows at a time."""
    asked = options.label_column, options.name_column, options.without, options.header
    if not options.is_anchored or any(asked) or options.standardize:
        return False
    suffix = Path(options.file).suffix
    return options.kind in (None, "points") and any(
        options.format in (None, name) and suffix in leastcut.io.FORMATS[name].suffixes
        for name in BY_BLOCKS
    )


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


def _graph_of_points(
    options: InputOptions, loaded: Loaded, path: Path | None, note: Note
) -> tuple[Any, str]:
    """Return the graph of points, which may lie in a file, and how it was made."""
    if options.is_anchored:
        counts = {"n_anchors": options.n_anchors, "n_neighbors": options.n_neighbors}
        given: dict[str, Any] = {name: n for name, n in counts.items() if n is not None}
        anchored = leastcut.anchor_graph(
            path or loaded.data, random_state=options.seed, max_memory=options.max_memory, **given
        )
        return anchored, f"joined through {anchored.n_anchors:,} anchors in a graph"
    name, data = options.affinity or DEFAULT_AFFINITY, loaded.data
    affinity = leastcut.AFFINITIES[name]
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
    if "n_clusters" in affinity.parameters:
        parameters["n_clusters"] = int(_clusters_of(options) or 0)  # a number, as was checked
    if "n_neighbors" in affinity.parameters:
        parameters = affinity.limited(data.shape[0], parameters)
    if affinity.searches:
        parameters["random_state"] = options.seed
    details = f" ({' '.join(words)})" if words else ""
    return as_affinity_graph(affinity(data, **parameters)), f"{name} graph{details}"


def _looks_like_a_graph(data: Any) -> bool:
    """Return whether points are a square symmetric matrix."""
    if data.shape[0] != data.shape[1] or data.shape[0] < 3:
        return False
    difference = data - data.T
    return not (difference.count_nonzero() if hasattr(difference, "nnz") else difference.any())


def _graph_of_image(options: InputOptions, loaded: Loaded, note: Note) -> leastcut.ImageGraph:
    """Return the graph of a picture."""
    count = options.superpixels
    if count is None and loaded.n_items > MOST_PIXELS and find_spec("skimage") is not None:
        count = SUPERPIXELS
        note(
            f"{loaded.source} has {loaded.n_items:,} pixels, and is cut by about {count:,} "
            "superpixels; --superpixels 0 cuts the pixels themselves, which takes long."
        )
    # 0 is how pixels are asked for
    return leastcut.image_graph(loaded.data, superpixels=count or None)


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

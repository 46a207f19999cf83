"""Read an input file and construct its graph."""

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
from leastcut.formatting import counted
from leastcut.io.loaded import Loaded, ReadOptions
from leastcut.problem import CUTS, ISOLATED, as_affinity_graph
from leastcut.seeds import as_generator
from leastcut.validation import SYMMETRIZE, check_choice, check_count

Note = Callable[[str], None]  # logs a line and keeps it for the report

DEFAULT_AFFINITY = "adaptive_neighbors"
MOST_PIXELS = 40_000  # larger images are cut by superpixels by default
SUPERPIXELS = 2_000  # default number for those images: small enough for sharp outlines
SCALE_RATIO = 100.0  # ratio of the standard deviations of columns above which a note is logged
IN_WORDS = {"points": "points", "graph": "a graph", "image": "an image"}
BLOCK_FORMATS = ("npy", "parquet")  # formats that an anchor graph reads in blocks


@dataclass(frozen=True, eq=False)
class Input:
    """The graph of an input file."""

    graph: Any
    loaded: Loaded
    construction: str  # how points or pixels became a graph, in words
    seconds: dict[str, float]
    notes: tuple[str, ...]
    image_graph: leastcut.ImageGraph | None  # maps nodes to pixels
    shape: tuple[int, ...]  # shape of the points, which may not be loaded, or of the image

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.graph.n_nodes)

    @property
    def names(self) -> Sequence[Any]:
        """The names of the nodes, by default their numbers."""
        return range(self.n_nodes) if self.loaded.names is None else self.loaded.names

    @property
    def node(self) -> str:
        """The word for a node in the header of a label file."""
        return "row" if self.loaded.kind == "points" else "node"

    @property
    def is_anchored(self) -> bool:
        """Whether the graph is an anchor graph, which stores no edges."""
        return hasattr(self.graph, "n_anchors")

    @property
    def n_edges(self) -> int | None:
        """Number of edges without self-loops, or None for an anchor graph."""
        if self.is_anchored:
            return None
        loops = int(np.count_nonzero(self.graph.matrix.diagonal()))
        return (int(self.graph.n_stored) - loops) // 2

    def described(self) -> str:
        """Return a line about the file and the graph."""
        text = "graph"
        if self.loaded.kind == "image":
            height, width = self.shape[:2]
            text = f"image of {width} x {height} pixels; {self.construction}"
        elif self.loaded.kind == "points":
            features = counted(self.shape[1], "feature")
            text = f"{counted(self.shape[0], 'point')} with {features}; {self.construction}"
        edges = "" if self.is_anchored else f" and {counted(self.n_edges or 0, 'edge')}"
        return f"{self.loaded.source}: {text} with {counted(self.n_nodes, 'node')}{edges}"


def check_input(options: InputOptions, needs_edges: bool = True) -> None:
    """Raise if an option has an unknown value or contradicts another; read no file."""
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
        values = {"--n-anchors": options.n_anchors, "--max-memory": options.max_memory}
        used = [name for name, value in values.items() if value is not None]
        if used:
            raise ValueError(
                f"{used[0]} requires --affinity {ANCHORS}; add it, or remove {used[0]}."
            )
        _check_n_clusters(options)
    elif options.metric is not None:
        raise ValueError(f"--affinity {ANCHORS} does not support --metric; remove it.")
    elif needs_edges:
        raise ValueError(
            f"--affinity {ANCHORS} is only available in 'leastcut cluster': this command needs the "
            "edges of the graph, which an anchor graph does not store. Use another affinity."
        )


def _check_n_clusters(options: InputOptions) -> None:
    """Raise if the affinity needs a number of clusters and none is specified."""
    name = options.affinity or DEFAULT_AFFINITY
    if "n_clusters" not in leastcut.AFFINITIES[name].parameters:
        return
    if _clusters_of(options) in (None, "auto"):
        raise ValueError(
            f"--affinity {name} constructs a graph with one component per cluster and needs their "
            f"number: pass -k K (in cluster, compare or certify), or use {DEFAULT_AFFINITY}."
        )


def _clusters_of(options: InputOptions) -> str | None:
    """Return the value of -k, or None."""
    return getattr(options, "clusters", None)


def load_input(options: InputOptions) -> Input:
    """Read a file and return its graph; log automatic decisions."""
    read_options = ReadOptions(
        options.kind,
        options.label_column,
        options.name_column,
        tuple(options.drop or ()),
        options.header,
        options.symmetrize is not None,
        options.array,
    )
    began = perf_counter()
    path = Path(options.file) if _is_read_in_blocks(options) else None
    if path is None:
        loaded = leastcut.io.read(options.file, read_options, options.format)
    elif path.is_file():
        loaded = Loaded("points", None, options.file)
    else:
        raise FileNotFoundError(f"There is no file {options.file}.")
    seconds = {"read": perf_counter() - began}
    notes: list[str] = []
    image_graph, construction = None, ""
    with logged(notes) as note:
        for line in loaded.notes:
            note(line)
        _check_fit(options, loaded)
        began = perf_counter()
        if loaded.kind == "image":
            image_graph = _graph_of_image(options, loaded, note)
            has_pixels = image_graph.shape[0] == loaded.n_items
            construction = "pixel graph" if has_pixels else "superpixel graph"
            graph: Any = as_affinity_graph(image_graph)
        elif loaded.kind == "graph":
            graph = as_affinity_graph(loaded.data, options.symmetrize)
        else:
            loaded = loaded if path else _scaled(options, loaded, note)
            graph, construction = _graph_of_points(options, loaded, path, note)
        seconds["graph"] = perf_counter() - began
    shape = (graph.n_nodes, graph.anchors.shape[1]) if path else loaded.data.shape
    return Input(graph, loaded, construction, seconds, tuple(notes), image_graph, shape)


def _is_read_in_blocks(options: InputOptions) -> bool:
    """Return whether an anchor graph reads the file itself, in blocks of rows."""
    columns = options.label_column, options.name_column, options.drop, options.header
    if not options.is_anchored or any(columns) or options.standardize:
        return False
    suffix = Path(options.file).suffix
    return options.kind in (None, "points") and any(
        options.format in (None, name) and suffix in leastcut.io.FORMATS[name].suffixes
        for name in BLOCK_FORMATS
    )


def _check_fit(options: InputOptions, loaded: Loaded) -> None:
    """Raise if an option does not apply to the content of the file."""
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
            other = f", or pass --as {kind}." if is_choice else "."
            raise ValueError(
                f"{name} applies to {IN_WORDS[kind]}, but {loaded.source} contains "
                f"{IN_WORDS[loaded.kind]}; remove {name}{other}"
            )


# -- graphs of points and images


def _graph_of_points(
    options: InputOptions, loaded: Loaded, path: Path | None, note: Note
) -> tuple[Any, str]:
    """Return the graph of points, loaded or in the file ``path``, and its description."""
    if options.is_anchored:
        counts = {"n_anchors": options.n_anchors, "n_neighbors": options.n_neighbors}
        chosen: dict[str, Any] = {name: n for name, n in counts.items() if n is not None}
        graph = leastcut.anchor_graph(
            path or loaded.data, random_state=options.seed, max_memory=options.max_memory, **chosen
        )
        return graph, f"graph of {counted(graph.n_anchors, 'anchor')}"
    name, data = options.affinity or DEFAULT_AFFINITY, loaded.data
    affinity = leastcut.AFFINITIES[name]
    if affinity.takes == "affinities":
        raise ValueError(f"--affinity {name} needs a graph as input; pass --as graph instead.")
    if affinity.takes == "samples" and _looks_like_a_graph(data):
        note(
            f"{loaded.source} holds a square symmetric matrix and is read as points; --as graph "
            "reads it as affinities."
        )
    parameters: dict[str, Any] = {}
    words = []
    for option, parameter, value in (
        ("--neighbors", "n_neighbors", options.n_neighbors),
        ("--metric", "metric", options.metric),
    ):
        if value is not None:
            if parameter not in affinity.parameters:
                raise ValueError(f"--affinity {name} does not support {option}; remove it.")
            parameters[parameter] = value
            words.append(f"{option} {value}")
    if "n_clusters" in affinity.parameters:
        parameters["n_clusters"] = int(_clusters_of(options) or 0)  # checked to be a number
    if "n_neighbors" in affinity.parameters:
        parameters = affinity.limited(data.shape[0], parameters)
    if affinity.searches:
        parameters["random_state"] = options.seed
    details = f" ({' '.join(words)})" if words else ""
    return as_affinity_graph(affinity(data, **parameters)), f"{name} graph{details}"


def _looks_like_a_graph(data: Any) -> bool:
    """Return whether the points form a square symmetric matrix."""
    if data.shape[0] != data.shape[1] or data.shape[0] < 3:
        return False
    difference = data - data.T
    return not (difference.count_nonzero() if hasattr(difference, "nnz") else difference.any())


def _graph_of_image(options: InputOptions, loaded: Loaded, note: Note) -> leastcut.ImageGraph:
    """Return the graph of an image."""
    count = options.superpixels
    if count is None and loaded.n_items > MOST_PIXELS and find_spec("skimage") is not None:
        count = SUPERPIXELS
        note(
            f"{loaded.source} has {loaded.n_items:,} pixels; the graph uses about {count:,} "
            "superpixels. --superpixels 0 uses the pixels, which is slow."
        )
    return leastcut.image_graph(loaded.data, superpixels=count or None)


def _scaled(options: InputOptions, loaded: Loaded, note: Note) -> Loaded:
    """Return points standardized if requested; otherwise note columns of very different scale."""
    data = loaded.data
    if not isinstance(data, np.ndarray):
        if options.standardize:
            raise ValueError(
                f"{loaded.source} holds a sparse matrix, which --standardize would make dense; use "
                "--metric cosine, which ignores the length of the rows."
            )
        return loaded
    deviations = data.std(axis=0, dtype=np.float64)
    if options.standardize:
        safe = np.where(deviations > 0, deviations, 1.0)
        return replace(loaded, data=(data - data.mean(axis=0)) / safe)
    spread = deviations[deviations > 0]
    # columns without names often hold measurements of one kind, such as pixels
    names = loaded.columns
    if names is not None and spread.size > 1 and spread.max() > SCALE_RATIO * spread.min():
        large = int(np.argmax(deviations))
        small = int(np.argmin(np.where(deviations > 0, deviations, np.inf)))
        note(
            "Columns have very different scales: the standard deviation of "
            f"{names[large]!r} is {deviations[large]:.3g}, of {names[small]!r} "
            f"{deviations[small]:.3g}. --standardize scales all columns equally."
        )
    return loaded

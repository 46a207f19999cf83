"""From a file to the graph that is cut: read it, and make a graph of points and pictures.

It uses :func:`leastcut.problem.given_graph`, for which there is no public name, so that a graph is
checked, and warned of, once for all that a command does with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from leastcut.cli.anchored import (
    ANCHORS,
    Rows,
    check_anchored,
    graph_of_anchors,
    is_read_by_blocks,
    rows_of,
)
from leastcut.cli.telling import noted

if TYPE_CHECKING:
    from leastcut.io.loaded import Loaded

Note = Callable[[str], None]
"""What tells a line, and keeps it."""

DEFAULT_AFFINITY = "adaptive_neighbors"
"""How points become a graph, unless another way is named."""

MOST_PIXELS = 40_000
"""Pixels up to which they are cut themselves, in seconds; beyond, superpixels unless told
otherwise, where there is the package for them."""

SUPERPIXELS = 2_000
"""How many superpixels that is, about: small enough for outlines to be sharp."""

UNLIKE = 100.0
"""Factor between the deviations of columns beyond which a user is told."""

SYMMETRIZE = ("mean", "max")
"""What ``--symmetrize`` may be."""

ISOLATED = ("error", "ignore")
"""What ``--isolated`` may be."""


@dataclass(frozen=True)
class InputOptions:
    """How a file is read, and how it becomes a graph: one field per option."""

    file: str
    cut: str = "normalized"
    affinity: str | None = None
    n_neighbors: int | None = None
    metric: str | None = None
    n_anchors: int | None = None
    max_memory: str | None = None
    seed: int = 0
    kind: str | None = None
    format: str | None = None
    array: str | None = None
    label_column: str | None = None
    name_column: str | None = None
    without: tuple[str, ...] = ()
    header: bool | None = None
    symmetrize: str | None = None
    isolated: str = "error"
    superpixels: int | None = None
    standardize: bool = False
    command: tuple[str, ...] = ()

    @property
    def is_anchored(self) -> bool:
        """Whether points are joined through anchors, in a graph that stores no edges."""
        return self.affinity == ANCHORS

    def check(self) -> None:
        """Raise where an option is none of its choices, before any file is read."""
        from leastcut.affinity import AFFINITIES
        from leastcut.io import FORMATS
        from leastcut.problem import CUTS
        from leastcut.seeds import as_generator
        from leastcut.validation import check_choice, check_count

        check_choice("--cut", self.cut, CUTS)
        if self.affinity is not None:
            check_choice("--affinity", self.affinity, (*AFFINITIES, ANCHORS))
        check_anchored(self)
        if self.kind is not None:
            check_choice("--as", self.kind, ("points", "graph"))
        if self.format is not None:
            check_choice("--format", self.format, FORMATS)
        if self.symmetrize is not None:
            check_choice("--symmetrize", self.symmetrize, SYMMETRIZE)
        check_choice("--isolated", self.isolated, ISOLATED)
        if self.n_neighbors is not None:
            check_count("--neighbors", self.n_neighbors)
        if self.superpixels is not None:
            check_count("--superpixels", self.superpixels, 0)
        as_generator(self.seed)


@dataclass(frozen=True, eq=False)
class Posed:
    """A graph to cut, and where it is from.

    Attributes
    ----------
    graph : Graph
    loaded : Loaded
        What the file holds.
    how : str
        How it became a graph, in words; empty where it was one.
    names : sequence
        The name of every node, numbers where there are no others.
    node : str
        What the labels file calls a node.
    image_graph : csr_array or None
        The graph of a picture, which knows the pixels of its nodes.
    seconds : dict
        What reading and making the graph took.
    notes : tuple of str
        What was decided, or warned of, on the way.
    """

    graph: Any
    loaded: Loaded
    how: str
    names: Sequence[Any]
    node: str
    image_graph: Any = None
    seconds: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.graph.n_nodes)

    @property
    def is_anchored(self) -> bool:
        """Whether the graph joins points through anchors, and stores no edges."""
        return hasattr(self.graph, "n_anchors")

    @property
    def n_edges(self) -> int | None:
        """Number of edges, self-loops left out; None where they are not stored."""
        if self.is_anchored:
            return None
        loops = int(np.count_nonzero(self.graph.matrix.diagonal()))
        return (int(self.graph.n_stored) - loops) // 2

    def described(self) -> str:
        """Return a line about the file and the graph."""
        loaded = self.loaded
        if loaded.kind == "image":
            height, width = loaded.data.shape[:2]
            what = f"a picture of {width} by {height} pixels, {self.how}"
        elif loaded.kind == "points":
            what = f"{loaded.n_items:,} points of {loaded.data.shape[1]:,} numbers, {self.how}"
        else:
            what = "a graph"
        if self.is_anchored:
            return f"{loaded.source}: {what} of {self.n_nodes:,} nodes"
        return f"{loaded.source}: {what} of {self.n_nodes:,} nodes and {self.n_edges:,} edges"


def pose(options: InputOptions) -> Posed:
    """Read a file and return its graph; what was decided on the way is told.

    Raises
    ------
    ValueError, OSError
        If the file cannot be read, or options do not fit what it holds.
    """
    from leastcut.io.loaded import Wanted
    from leastcut.io import read

    began = perf_counter()
    wanted = Wanted(
        options.kind,
        options.label_column,
        options.name_column,
        options.without,
        options.header,
        options.symmetrize is not None,
        options.array,
    )
    by_blocks = options.is_anchored and is_read_by_blocks(options)
    loaded = rows_of(options) if by_blocks else read(options.file, wanted, options.format)
    notes: list[str] = []
    with noted(notes) as note:
        for line in loaded.notes:
            note(line)
        return _posed(options, loaded, {"read": perf_counter() - began}, notes, note)


def _posed(
    options: InputOptions,
    loaded: Loaded,
    seconds: dict[str, float],
    notes: list[str],
    note: Note,
) -> Posed:
    """Return the graph of what was read."""
    from leastcut.problem import given_graph

    _check_fit(options, loaded)
    began = perf_counter()
    image_graph = None
    if options.is_anchored and loaded.kind == "points":
        loaded = _scaled(options, loaded, note)
        graph, how = graph_of_anchors(options, loaded.data)
        if isinstance(loaded.data, Rows):
            loaded = replace(loaded, data=loaded.data.counted(graph))
        seconds["graph"] = perf_counter() - began
        names = range(graph.n_nodes) if loaded.names is None else loaded.names
        return Posed(graph, loaded, how, names, "row", None, seconds, tuple(notes))
    if loaded.kind == "points":
        loaded = _scaled(options, loaded, note)
        matrix, how = _graph_of_points(options, loaded, note)
    elif loaded.kind == "image":
        image_graph = matrix = _graph_of_image(options, loaded, note)
        how = "graph of its pixels" if matrix.shape[0] == loaded.n_items else "superpixel graph"
    else:
        matrix, how = loaded.data, ""
    # what was made of points is symmetric, and a picture has no directions
    symmetrize = options.symmetrize if loaded.kind == "graph" else None
    graph = given_graph(matrix, symmetrize)
    seconds["graph"] = perf_counter() - began
    names = range(graph.n_nodes) if loaded.names is None else loaded.names
    return Posed(
        graph,
        loaded,
        how,
        names,
        {"points": "row", "graph": "node", "image": "node"}[loaded.kind],
        image_graph,
        seconds,
        tuple(notes),
    )


def _check_fit(options: InputOptions, loaded: Loaded) -> None:
    """Raise where an option has no meaning for what the file holds."""
    of_points = {
        "--affinity": options.affinity,
        "--neighbors": options.n_neighbors,
        "--metric": options.metric,
    }
    given = [name for name, value in of_points.items() if value is not None]
    if given and loaded.kind != "points":
        raise ValueError(
            f"{loaded.source} holds {_a(loaded.kind)}, and {given[0]} is for points; leave it out"
            + (", or say --as points." if loaded.kind == "graph" else ".")
        )
    if options.symmetrize is not None and loaded.kind != "graph":
        raise ValueError(
            f"{loaded.source} holds {_a(loaded.kind)}, and --symmetrize is for graphs; leave it "
            "out" + (", or say --as graph." if loaded.kind == "points" else ".")
        )
    if options.standardize and loaded.kind != "points":
        raise ValueError(
            f"{loaded.source} holds {_a(loaded.kind)}, and --standardize is for points; leave it "
            "out."
        )
    if options.superpixels is not None and loaded.kind != "image":
        raise ValueError(
            f"{loaded.source} holds {_a(loaded.kind)}, and --superpixels is for pictures; leave it "
            "out."
        )


def _a(kind: str) -> str:
    return {"points": "points", "graph": "a graph", "image": "a picture"}[kind]


def _graph_of_points(options: InputOptions, loaded: Loaded, note: Note) -> tuple[Any, str]:
    """Return the graph of points, and how it was made."""
    from leastcut import AFFINITIES

    name = options.affinity or DEFAULT_AFFINITY
    affinity = AFFINITIES[name]
    data = loaded.data
    if affinity.takes == "affinities":
        raise ValueError(f"--affinity {name} is of a file that is a graph already: say --as graph.")
    if affinity.takes == "samples" and _looks_like_a_graph(data):
        note(
            f"{loaded.source} is a square symmetric matrix, and is read as points; --as graph "
            "takes it for affinities."
        )
    parameters: dict[str, Any] = {}
    for option, parameter, value in (
        ("--neighbors", "n_neighbors", options.n_neighbors),
        ("--metric", "metric", options.metric),
    ):
        if value is None:
            continue
        if parameter not in affinity.parameters:
            raise ValueError(f"--affinity {name} has no {option}; leave it out.")
        parameters[parameter] = value
    if "n_neighbors" in affinity.parameters:
        parameters = affinity.limited(data.shape[0], {**parameters})
    if affinity.searches:
        parameters["random_state"] = options.seed
    shown = [f"--neighbors {options.n_neighbors}"] if options.n_neighbors else []
    shown += [f"--metric {options.metric}"] if options.metric else []
    words = f" ({' '.join(shown)})" if shown else ""
    return affinity(data, **parameters), f"{name} graph{words}"


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
    """Return points with columns of mean 0 and deviation 1, where that is asked for."""
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
        large, small = (
            int(np.argmax(deviations)),
            int(np.argmin(np.where(deviations > 0, deviations, np.inf))),
        )
        note(
            f"Columns differ in scale: {loaded.columns[large]!r} varies by "
            f"{deviations[large]:.3g} and {loaded.columns[small]!r} by {deviations[small]:.3g}. "
            "--standardize makes all count alike."
        )
    return loaded

"""What ``--json`` writes: one object, whose keys stay what they are.

=================  ==========================================================================
``command``        the arguments, as a list; ``leastcut`` itself is left out
``file``           the file that was read
``kind``           points, graph or image
``n_nodes``        nodes of the graph
``n_edges``        edges of the graph
``cut``            the name of the cut
``n_clusters``     number of clusters
``cut_value``      the value of the cut
``lower_bound``    no partition into as many clusters is below it; null where not computed
``gap``            how far above the optimum the value can be, as a part of it; or null
``sizes``          nodes of every cluster
``labels``         the cluster of every node; not where they are written to a file
``labels_path``    the file of labels; or null
``nodes``          the name of every node, beside ``labels``
``scores``         accuracy and nmi, where classes are known; or null
``outputs``        the other files that were written, by option
``seconds``        what reading, making the graph and cutting took
``versions``       of leastcut, Python, NumPy and SciPy
=================  ==========================================================================

``compare`` has ``compared`` (a list of method, cut_value, gap, sizes and seconds) in place of
labels, ``cut`` has ``refined`` (cut_value, gain, n_moved) and ``clusters``, ``certify`` has
``is_proven``.
"""

from __future__ import annotations

import json
import math
import platform
from typing import Any

import numpy as np

from leastcut.cli.inputs import InputOptions, Posed


def versions() -> dict[str, str]:
    """Return the versions that an answer depends on."""
    from importlib.metadata import version

    from leastcut import __version__

    return {
        "leastcut": __version__,
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "scipy": version("scipy"),
    }


def base_record(posed: Posed, reading: InputOptions, seconds: dict[str, float]) -> dict[str, Any]:
    """Return what all commands tell of the graph."""
    return {
        "command": reading.command,
        "file": posed.loaded.source,
        "kind": posed.loaded.kind,
        "n_nodes": posed.n_nodes,
        "n_edges": posed.n_edges,
        "cut": reading.cut,
        "seconds": {**posed.seconds, **seconds},
        "versions": versions(),
    }


def write_record(record: dict[str, Any]) -> None:
    """Write an object to the standard output."""
    print(json.dumps(_plain(record), allow_nan=False))


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: NumPy's numbers as Python's, what is not finite as null."""
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | range):
        return [_plain(entry) for entry in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value

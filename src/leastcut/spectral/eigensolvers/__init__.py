"""Eigensolvers: the smallest eigenpairs of one connected block, one file per solver.

Every solver has the signature :class:`leastcut.spectral.eigensolvers.interface.Solver`. To add one,
write its file and a line in :data:`EIGENSOLVERS`.
"""

from __future__ import annotations

from importlib.util import find_spec

from leastcut.spectral.eigensolvers.cg_invert import cg_invert
from leastcut.spectral.eigensolvers.dense import dense
from leastcut.spectral.eigensolvers.interface import Solver
from leastcut.spectral.eigensolvers.lanczos import lanczos
from leastcut.spectral.eigensolvers.lobpcg import amg, lobpcg
from leastcut.spectral.eigensolvers.shift_invert import shift_invert
from leastcut.validation import check_choice

EIGENSOLVERS: dict[str, Solver] = {
    "dense": dense,
    "lanczos": lanczos,
    "shift_invert": shift_invert,
    "cg_invert": cg_invert,
    "lobpcg": lobpcg,
    "amg": amg,
}
"""Every solver by name. Errors, documentation and contract tests read this dict."""

PACKAGES = {"amg": "pyamg"}
"""What a solver needs beyond the packages that leastcut itself is installed with."""


def check_solver(solver: object, name: str = "solver") -> str:
    """Return the name of a solver, or "auto", if it is known and what it needs is installed.

    Parameters
    ----------
    solver : object
        What a user passed.
    name : str, default="solver"
        What the user's parameter is called, for the error.

    Returns
    -------
    str
    """
    known = check_choice(name, solver, ("auto", *EIGENSOLVERS))
    package = PACKAGES.get(known)
    if package is not None and find_spec(package) is None:
        raise ValueError(
            f"{name}={known!r} needs the package {package}, which is not installed: "
            f"pip install {package} (or 'leastcut[{known}]'), or leave the choice of a solver to "
            "leastcut, which goes by the size and shape of the graph."
        )
    return known

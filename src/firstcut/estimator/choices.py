"""Which solver a set of parameters asks for, and whether every parameter given has a part in it.

Two roads lead from a graph to labels: ``"multilevel"`` (:func:`firstcut.partition`) and
``"spectral"`` (relax, discretize, refine). Each has parameters that mean nothing on the other. A
parameter counts as given when it differs from its default. What is given is never dropped: it
decides where ``solver="auto"`` leaves the choice, and is an error where the choice contradicts it.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Mapping
from typing import Any

from firstcut.discretizers import DISCRETIZERS, options_of

SPECTRAL_ONLY = (
    "eigen_solver",
    "n_components",
    "n_init",
    "eigen_tol",
    "assign_labels",
    "eta",
    "refine",
)
"""Parameters that only the spectral solver has."""

MULTILEVEL_ONLY = ("effort",)
"""Parameters that only the multilevel solver has."""

ALIASES = {"discretize": "rotation"}
"""scikit-learn's names of methods that have another one here."""

EIGEN_SOLVERS = {"arpack": "shift_invert", "lobpcg": "lobpcg", "amg": "amg"}
"""scikit-learn's names of eigensolvers, and what they are called here."""


def assign_names() -> set[str]:
    """Return every value that ``assign_labels`` can have."""
    return {*DISCRETIZERS, *ALIASES}


def choose_solver(parameters: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """Return ``"spectral"`` or ``"multilevel"``, or raise where the parameters contradict it.

    Parameters
    ----------
    parameters, defaults : mapping
        The parameters of the estimator, as they are and by default.

    Returns
    -------
    str
    """
    spectral = _given(SPECTRAL_ONLY, parameters, defaults)
    if parameters["n_components"] == parameters["n_clusters"]:
        spectral = [name for name in spectral if name != "n_components"]  # what None means
    multilevel = _given(MULTILEVEL_ONLY, parameters, defaults)
    asked = parameters["solver"]
    if asked == "multilevel" and spectral:
        raise ValueError(
            f"{_told(spectral, parameters)} belongs to the spectral solver and solver='multilevel' "
            "has no use for it; pass solver='spectral' or 'auto', or leave it out."
        )
    if asked == "spectral" and multilevel:
        raise ValueError(
            f"{_told(multilevel, parameters)} belongs to the multilevel solver and "
            "solver='spectral' has no use for it; pass solver='multilevel', or leave it out."
        )
    if spectral and multilevel:
        raise ValueError(
            f"{_told(spectral, parameters)} belongs to the spectral solver and "
            f"{_told(multilevel, parameters)} to the multilevel one; leave one of them out."
        )
    if asked == "auto":
        return "spectral" if spectral else "multilevel"
    return str(asked)


def check_method(parameters: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """Return the discretizer that ``assign_labels`` means, if it has the options that are given."""
    given = parameters["assign_labels"]
    method = ALIASES.get(given, given)
    options = options_of(method)
    if "eta" not in options and _given(("eta",), parameters, defaults):
        raise ValueError(
            f"eta={parameters['eta']!r} is the weight of the first-order term, which "
            f"assign_labels={given!r} does not have; pass assign_labels='first_order' or leave eta "
            "out."
        )
    if "n_init" not in options and _given(("n_init",), parameters, defaults):
        warnings.warn(
            f"n_init={parameters['n_init']} has no effect: assign_labels={given!r} has no starts.",
            UserWarning,
            stacklevel=4,
        )
    return str(method)


def eigensolver_name(eigen_solver: str | None) -> str:
    """Return what an ``eigen_solver`` of scikit-learn is called here."""
    if eigen_solver is None:
        return "auto"
    if eigen_solver == "amg" and importlib.util.find_spec("pyamg") is None:
        raise ValueError(
            "eigen_solver='amg' needs the package pyamg, which is not installed; install it or "
            "leave eigen_solver=None, which chooses by the size of the graph."
        )
    return EIGEN_SOLVERS[eigen_solver]


def _given(
    names: tuple[str, ...], parameters: Mapping[str, Any], defaults: Mapping[str, Any]
) -> list[str]:
    return [name for name in names if not _same(parameters[name], defaults[name])]


def _same(value: Any, default: Any) -> bool:
    """Whether a parameter has its default value; an array or a list never has."""
    if value is default:
        return True
    if not isinstance(value, str | int | float | bool) or isinstance(value, str) != isinstance(
        default, str
    ):
        return False
    return bool(value == default)


def _told(names: list[str], parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={parameters[name]!r}" for name in names)

"""The parameters of the estimator: what each may be, and what a set of them comes to.

Where absence matters a parameter is None by default, and whatever is not None was given. What is
given is never dropped: it decides where ``solver="auto"`` leaves the choice, and it is an error
where the choice contradicts it. A parameter that the affinity or the method does not have gives a
warning, as scikit-learn's own users pass many of those.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from leastcut.affinity import AFFINITIES
from leastcut.affinity.adaptive_neighbors import DEFAULTS as NEIGHBOR_DEFAULTS
from leastcut.affinity.affinity import SEARCH_PARAMETERS, Affinity
from leastcut.affinity.neighbors.metrics import METRICS
from leastcut.affinity.neighbors.searching import DEVICES, NEIGHBORS
from leastcut.affinity.pairwise_kernels import DEFAULTS as KERNEL_DEFAULTS
from leastcut.affinity.pairwise_kernels import pairwise_kernel
from leastcut.estimators.strategies import STRATEGIES, Settings
from leastcut.multilevel.efforts import EFFORTS
from leastcut.problem import CUTS
from leastcut.spectral.discretizers import DISCRETIZERS, OPTIONS
from leastcut.spectral.discretizers.first_order import ETA_NAMES
from leastcut.spectral.eigensolvers import EIGENSOLVERS, check_solver
from leastcut.validation import warn_caller

METHOD_ALIASES = {"discretize": "rotation"}
"""scikit-learn's names of discretizers that have another one here."""

EIGENSOLVER_ALIASES = {"arpack": "shift_invert"}
"""scikit-learn's names of eigensolvers that have another one here."""

DEFAULTS = {"assign_labels": "first_order", "eta": "auto", "refine": True, "effort": "auto"}
"""What None means, for parameters that are None by default and mean something all the same."""

AFFINITY_PARAMETERS = ("n_neighbors", "metric", *KERNEL_DEFAULTS, "n_jobs")
"""Parameters of the estimator that go to the affinity if it has them; others are kernel_params."""

ANCHORS = "anchors"
"""The affinity that ties samples to anchors. It is the estimator's alone: what it makes stores no
edges, and those in :data:`leastcut.AFFINITIES` return a matrix."""

LEARNED = "learned"
"""The affinity whose graph has a component for every cluster. It is the estimator's alone, as it
needs the number of clusters."""

ANCHOR_PARAMETERS = ("n_anchors", "n_neighbors", "max_memory", "folder", "device", "n_jobs")
"""Parameters of the estimator that go to :func:`leastcut.anchor_graph`."""

AFFINITY_DEFAULTS = {
    "n_neighbors": None,
    "metric": NEIGHBOR_DEFAULTS["metric"],
    **KERNEL_DEFAULTS,
    "neighbors": "auto",
    "device": "auto",
    "n_anchors": 1000,
    "max_memory": None,
    "folder": None,
}
"""What those mean that are said to have no effect, if they are given and the affinity has none."""

_COUNT = Interval(Integral, 1, None, closed="left")

CONSTRAINTS: dict[str, Any] = {
    "n_clusters": [_COUNT, StrOptions({"auto"})],
    "eigen_solver": [StrOptions({*EIGENSOLVERS, *EIGENSOLVER_ALIASES}), None],
    "n_components": [_COUNT, None],
    "random_state": ["random_state"],
    "n_init": [_COUNT, None],
    "gamma": [Interval(Real, 0, None, closed="left")],
    "affinity": [callable, StrOptions({*AFFINITIES, ANCHORS, LEARNED}), list],
    "n_neighbors": [_COUNT, None],
    "eigen_tol": [Interval(Real, 0.0, None, closed="left"), StrOptions({"auto"}), None],
    "assign_labels": [StrOptions({*DISCRETIZERS, *METHOD_ALIASES}), None],
    "degree": [Interval(Real, 0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "kernel_params": [dict, None],
    "n_jobs": [Integral, None],
    "verbose": ["verbose"],
    "cut": [StrOptions(set(CUTS)), "array-like"],
    "eta": [Interval(Real, 0, None, closed="left"), StrOptions({*ETA_NAMES}), "array-like", None],
    "solver": [StrOptions({"auto", *STRATEGIES})],
    "refine": ["boolean", None],
    "effort": [StrOptions(set(EFFORTS)), None],
    "max_clusters": [Interval(Integral, 2, None, closed="left"), None],
    "neighbors": [StrOptions(set(NEIGHBORS))],
    "device": [StrOptions(set(DEVICES))],
    "metric": [callable, StrOptions(set(METRICS))],
    "n_anchors": [_COUNT],
    "max_memory": [_COUNT, str, None],
    "folder": [str, os.PathLike, None],
    "balance": [Interval(Real, 0.0, None, closed="left"), "array-like", None],
    "views": [list, tuple, None],
    "view_weights": [StrOptions({"auto", "equal"}), "array-like"],
}
"""What every parameter may be, in scikit-learn's terms; names come from the registries."""


def resolve(parameters: Mapping[str, Any]) -> Settings:
    """Return what the parameters of the estimator come to, or raise where they contradict.

    Parameters
    ----------
    parameters : mapping
        All parameters of the estimator, each within its constraint.

    Returns
    -------
    Settings
    """
    wanted, most = parameters["n_clusters"], parameters["max_clusters"]
    if wanted != "auto" and most is not None and int(wanted) > most:
        raise ValueError(
            f"n_clusters={wanted} is more than max_clusters={most}, which bounds the choice of "
            "n_clusters='auto'; leave max_clusters out."
        )
    if wanted != "auto" and most is not None:
        warnings.warn(
            f"max_clusters={most} has no effect: it bounds the choice of n_clusters='auto', and "
            f"n_clusters={wanted} leaves none.",
            UserWarning,
            # The user's line: above this function are fit and scikit-learn's wrapper of it.
            stacklevel=4,
        )
    solver = _strategy(parameters)
    # Whatever belongs to a discretizer was refused above if another solver was chosen.
    method, options = _method(parameters) if solver == "spectral" else ("", {})
    value = {name: _or_default(parameters, name) for name in DEFAULTS}
    balance = parameters["balance"]
    if balance is not None:
        from leastcut.constraints import check_balance  # which few fits need

        balance = check_balance(balance)
    return Settings(
        solver,
        method,
        options,
        parameters["n_components"],
        _eigen_options(parameters),
        bool(value["refine"]),
        value["effort"],
        parameters["n_jobs"],
        bool(parameters["verbose"]),
        balance,
    )


def resolve_affinity(parameters: Mapping[str, Any]) -> tuple[Affinity, dict[str, Any]]:
    """Return the affinity and its own parameters, or raise where they contradict.

    Parameters
    ----------
    parameters : mapping
        All parameters of the estimator, each within its constraint.

    Returns
    -------
    Affinity, dict
    """
    name = parameters["affinity"]
    if callable(name):
        affinity = pairwise_kernel(name)
    elif name == LEARNED:
        from leastcut.estimators.learned import learned_affinity  # which few fits need

        affinity = learned_affinity(parameters["n_clusters"], parameters["solver"])
    else:
        affinity = AFFINITIES[name]
    known = affinity.parameters
    _warn_of_unused(parameters, [*known, *(SEARCH_PARAMETERS if affinity.searches else ())])
    # Copied: the caller's dict is not ours to change.
    further = dict(parameters["kernel_params"] or {})
    if callable(name):
        return affinity, further  # a function of the user's gets what the user says, nothing else
    own = [option for option in AFFINITY_PARAMETERS if option in known]
    _check_further(further, name, own, [option for option in known if option not in own])
    # What is None is the affinity's to choose.
    given = {option: parameters[option] for option in own if parameters[option] is not None}
    return affinity, given | further


def resolve_anchors(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of anchors, or raise where they contradict.

    Parameters
    ----------
    parameters : mapping
        All parameters of the estimator, each within its constraint.

    Returns
    -------
    dict
    """
    _warn_of_unused(parameters, ANCHOR_PARAMETERS)
    _check_further(parameters["kernel_params"] or {}, ANCHORS, ANCHOR_PARAMETERS, ())
    return {option: parameters[option] for option in ANCHOR_PARAMETERS}


def _warn_of_unused(parameters: Mapping[str, Any], known: Sequence[str]) -> None:
    """Warn of parameters that the affinity does not have.

    One that was given its default cannot be told from one that was not given.
    """
    unused = [
        option
        for option, default in AFFINITY_DEFAULTS.items()
        if option not in known and parameters[option] != default
    ]
    if not unused:
        return
    told = ", ".join(f"{option}={parameters[option]!r}" for option in unused)
    searched = unused[0] in SEARCH_PARAMETERS
    have = [
        other
        for other, its in AFFINITIES.items()
        if unused[0] in its.parameters or (searched and its.searches)
    ]
    have += [ANCHORS] if unused[0] in ANCHOR_PARAMETERS else []
    have += [LEARNED] if searched or unused[0] in ("n_neighbors", "metric") else []
    warn_caller(
        f"{told} has no effect: affinity={parameters['affinity']!r} does not have it. What has "
        f"{unused[0]}: {', '.join(map(repr, have))}."
    )


def _check_further(
    further: Mapping[str, Any], name: str, own: Sequence[str], allowed: Sequence[str]
) -> None:
    """Raise where kernel_params hold what is no parameter, or one of the estimator itself."""
    twice = sorted(set(further) & set(own))
    if twice:
        raise ValueError(
            f"kernel_params holds {', '.join(map(repr, twice))}, which the estimator has a "
            f"parameter for; pass {twice[0]}=... itself."
        )
    unknown = sorted(set(further) - set(allowed))
    if unknown:
        raise ValueError(
            f"kernel_params holds {', '.join(map(repr, unknown))}, which affinity={name!r} does "
            f"not take; what it takes there: {', '.join(map(repr, allowed)) or 'none'}."
        )


def check_counts(parameters: Mapping[str, Any], n_samples: int) -> None:
    """Raise where there are fewer samples than something is asked for of."""
    for name in ("n_clusters", "n_components"):
        wanted = parameters[name]
        if isinstance(wanted, Integral) and int(wanted) > n_samples:
            raise ValueError(
                f"n_samples={n_samples} should be >= {name}={wanted}; ask for at most "
                f"{n_samples}, or pass more samples."
            )


def _strategy(parameters: Mapping[str, Any]) -> str:
    """Return the name of the strategy that ``solver`` and the parameters given ask for."""
    has_views = parameters["views"] is not None or isinstance(parameters["affinity"], list)
    if has_views or parameters["affinity"] == ANCHORS:
        # Labels are not made of eigenvectors there: it is the width of the embedding alone.
        parameters = {**parameters, "n_components": None}
    given = {
        name: [p for p in strategy.parameters if parameters[p] is not None]
        for name, strategy in STRATEGIES.items()
    }
    asked = parameters["solver"]
    # With "auto" the first strategy that was given something of its own, or none of them.
    chosen = asked if asked != "auto" else next((name for name in given if given[name]), None)
    if chosen is None:
        return next(iter(STRATEGIES))
    # What was given to another strategy would be dropped without a word: that is an error.
    for other, names in given.items():
        if names and other != chosen:
            told = ", ".join(f"{name}={parameters[name]!r}" for name in names)
            if asked == "auto":
                also = ", ".join(f"{name}={parameters[name]!r}" for name in given[chosen])
                raise ValueError(
                    f"{told} belongs to the {other} solver and {also} to the {chosen} one; leave "
                    "one of them out."
                )
            raise ValueError(
                f"{told} belongs to the {other} solver and solver={asked!r} has no use for it; "
                f"pass solver={other!r} or 'auto', or leave it out."
            )
    return str(chosen)


def _method(parameters: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the discretizer that ``assign_labels`` means, and its options."""
    asked = _or_default(parameters, "assign_labels")
    method = METHOD_ALIASES.get(asked, asked)
    known = OPTIONS[method]
    if "eta" not in known and parameters["eta"] is not None:
        raise ValueError(
            f"eta={parameters['eta']!r} is the weight of the first-order term, which "
            f"assign_labels={asked!r} does not have; pass assign_labels='first_order' or leave eta "
            "out."
        )
    if "n_init" not in known and parameters["n_init"] is not None:
        warnings.warn(
            f"n_init={parameters['n_init']} has no effect: assign_labels={asked!r} has no starts.",
            UserWarning,
            # The user's line: one more than for the affinity, as ``resolve`` lies between.
            stacklevel=5,
        )
    options = {}
    if "eta" in known:
        options["eta"] = _or_default(parameters, "eta")
    # Left out, it is for the method to choose.
    if "n_init" in known and parameters["n_init"] is not None:
        options["n_init"] = parameters["n_init"]
    return str(method), options


def _eigen_options(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the eigenproblem; what is left out is the solver's to choose."""
    options: dict[str, Any] = {}
    if parameters["eigen_solver"] is not None:
        asked = parameters["eigen_solver"]
        name = EIGENSOLVER_ALIASES.get(asked, asked)
        options["solver"] = check_solver(name, "eigen_solver")
    # 0 is ARPACK's word for machine precision.
    if parameters["eigen_tol"] not in (None, "auto"):
        options["tol"] = max(float(parameters["eigen_tol"]), float(np.finfo(np.float64).eps))
    return options


def _or_default(parameters: Mapping[str, Any], name: str) -> Any:
    """Return a parameter, or what None means for it."""
    return DEFAULTS[name] if parameters[name] is None else parameters[name]

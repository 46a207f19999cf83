"""The parameters of the estimators: the values each may have, and what a set of them means.

If absence matters a parameter is None by default, and whatever is not None was given. What is given
is never dropped: it decides if ``solver="auto"`` leaves the choice, and it is an error if the
choice contradicts it. A parameter that the affinity or the method does not have gives a warning, as
users of scikit-learn pass many of those.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from leastcut.affinity import AFFINITIES, affinities_with, affinity_of, is_function
from leastcut.affinity.adaptive_neighbors import DEFAULTS as NEIGHBOR_DEFAULTS
from leastcut.affinity.affinity import Affinity
from leastcut.affinity.neighbors.common import DEVICES, NEIGHBORS
from leastcut.affinity.neighbors.metrics import METRICS
from leastcut.affinity.pairwise_kernels import DEFAULTS as KERNEL_DEFAULTS
from leastcut.constraints import check_balance
from leastcut.estimators.solvers import SOLVERS, Settings
from leastcut.multilevel.efforts import EFFORTS
from leastcut.problem import CUTS
from leastcut.spectral.discretizers import DISCRETIZERS, discretizer_of, options_of
from leastcut.spectral.discretizers.first_order import ETA_NAMES
from leastcut.spectral.eigensolvers import EIGENSOLVERS, check_solver
from leastcut.validation import warn_caller

# scikit-learn's names that are others here.
METHOD_ALIASES = {"discretize": "rotation"}
EIGENSOLVER_ALIASES = {"arpack": "shift_invert"}

AFFINITY_PARAMETERS = ("n_neighbors", "metric", *KERNEL_DEFAULTS, "n_jobs", "n_clusters", "solver")
"""Parameters of the estimator that go to the affinity if it has them; others are kernel_params."""

AFFINITY_DEFAULTS = {
    "n_neighbors": None,
    "metric": NEIGHBOR_DEFAULTS["metric"],
    **KERNEL_DEFAULTS,
    "neighbors": "auto",
    "device": "auto",
}
"""The defaults of parameters that give a warning if the affinity does not have them."""


class Registered(StrOptions):  # type: ignore[misc]
    """The names of registries as they are when a value is checked: users may add to them."""

    def __init__(self, *registries: Mapping[str, Any] | Sequence[str]) -> None:
        self._registries = registries
        super().__init__(self.options)

    @property
    def options(self) -> set[str]:
        """The names."""
        return {name for registry in self._registries for name in registry}

    @options.setter
    def options(self, _: object) -> None:
        pass  # scikit-learn keeps a copy of the first ones


COUNT = Interval(Integral, 1, None, closed="left")

CONSTRAINTS: dict[str, Any] = {
    "n_clusters": [COUNT, StrOptions({"auto"})],
    "eigen_solver": [callable, Registered(EIGENSOLVERS, EIGENSOLVER_ALIASES), None],
    "n_components": [COUNT, None],
    "random_state": ["random_state", np.random.Generator],
    "n_init": [COUNT, None],
    "gamma": [Interval(Real, 0, None, closed="left")],
    "affinity": [callable, Registered(AFFINITIES)],
    "n_neighbors": [COUNT, None],
    "eigen_tol": [Interval(Real, 0.0, None, closed="left"), StrOptions({"auto"}), None],
    "assign_labels": [callable, Registered(DISCRETIZERS, METHOD_ALIASES), None],
    "degree": [Interval(Real, 0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "kernel_params": [dict, None],
    "n_jobs": [Integral, None],
    "verbose": ["verbose"],
    "cut": [Registered(CUTS), "array-like"],
    "eta": [Interval(Real, 0, None, closed="left"), StrOptions({*ETA_NAMES}), "array-like", None],
    "solver": [Registered(("auto",), SOLVERS)],
    "refine": ["boolean", None],
    "effort": [StrOptions(set(EFFORTS)), None],
    "max_clusters": [Interval(Integral, 2, None, closed="left"), None],
    "neighbors": [StrOptions(set(NEIGHBORS))],
    "device": [StrOptions(set(DEVICES))],
    "metric": [callable, StrOptions(set(METRICS))],
    "balance": [Interval(Real, 0.0, None, closed="left"), "array-like", None],
}
"""The values that the parameters of :class:`leastcut.SpectralClustering` may have."""


def inherited(*names: str) -> dict[str, Any]:
    """Return the constraints of parameters that other estimators share with it."""
    return {name: CONSTRAINTS[name] for name in names}


def resolve(parameters: Mapping[str, Any]) -> Settings:
    """Return the settings that all parameters mean, each being valid, or raise a contradiction."""
    check_max_clusters(parameters)
    solver = _solver(parameters)
    # Whatever belongs to a discretizer was refused above if another solver was chosen.
    method, options = _method(parameters) if solver == "spectral" else ("", {})
    balance = parameters["balance"]
    return Settings(
        solver,
        method,
        options,
        parameters["n_components"],
        _eigen_options(parameters),
        parameters["refine"] is None or bool(parameters["refine"]),
        parameters["effort"] or "auto",
        parameters["n_jobs"],
        bool(parameters["verbose"]),
        None if balance is None else check_balance(balance),
    )


def check_max_clusters(parameters: Mapping[str, Any]) -> None:
    """Raise if ``n_clusters`` is above ``max_clusters``, warn if the latter has no effect."""
    wanted, most = parameters["n_clusters"], parameters["max_clusters"]
    if wanted == "auto" or most is None:
        return
    if int(wanted) > most:
        raise ValueError(
            f"n_clusters={wanted} is more than max_clusters={most}, which bounds the choice of "
            "n_clusters='auto'; leave max_clusters out."
        )
    warn_caller(
        f"max_clusters={most} has no effect: it bounds the choice of n_clusters='auto', and "
        f"n_clusters={wanted} leaves none."
    )


def resolve_affinities(
    parameters: Mapping[str, Any], names: Sequence[Any]
) -> list[tuple[Affinity, dict[str, Any]]]:
    """Return affinities with their parameters, or raise a contradiction.

    It warns of a parameter that none of them has.
    """
    affinities = [affinity_of(name) for name in names]
    _warn_of_unused(parameters, {option for one in affinities for option in one.all_parameters})
    pairs = zip(affinities, names, strict=True)
    return [(affinity, _options_of(parameters, affinity, name)) for affinity, name in pairs]


def _options_of(parameters: Mapping[str, Any], affinity: Affinity, name: Any) -> dict[str, Any]:
    """Return the parameters of an affinity, or raise a contradiction."""
    known = affinity.parameters
    # Copied: the caller's dict is not ours to change.
    further = dict(parameters["kernel_params"] or {})
    if is_function(name):
        return further  # a user's function gets what the user passes, nothing else
    own = [option for option in AFFINITY_PARAMETERS if option in known]
    _check_further(further, name, own, [option for option in known if option not in own])
    # The affinity chooses what is None, or "auto".
    given = {option: parameters.get(option) for option in own}
    if given.get("n_clusters") == "auto":
        raise ValueError(
            f"n_clusters='auto' leaves open what affinity={name!r} needs: it makes a graph with a "
            "component for every cluster. Pass a number; SpectralClustering('auto').fit(X)"
            ".n_clusters_ is the one that the graph of adaptive neighbors indicates."
        )
    chosen = {k: v for k, v in given.items() if v is not None and (k, v) != ("solver", "auto")}
    return chosen | further


def _warn_of_unused(parameters: Mapping[str, Any], known: Container[str]) -> None:
    """Warn of parameters that no affinity has.

    One that was given its default cannot be told from one that was not given.
    """
    unused = [
        option
        for option, default in AFFINITY_DEFAULTS.items()
        if option not in known and parameters[option] != default
    ]
    if not unused:
        return
    warn_caller(
        f"{_listed(parameters, unused)} has no effect: affinity={parameters['affinity']!r} does "
        f"not have it. Affinities with {unused[0]}: {affinities_with(unused[0])}."
    )


def _check_further(
    further: Mapping[str, Any], name: str, own: Sequence[str], allowed: Sequence[str]
) -> None:
    """Raise if kernel_params hold what is no parameter, or one of the estimator itself."""
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


def _solver(parameters: Mapping[str, Any]) -> str:
    """Return the name of the solver that ``solver`` and the parameters given ask for."""
    given = {
        name: [p for p in solver.parameters if parameters[p] is not None]
        for name, solver in SOLVERS.items()
    }
    asked = parameters["solver"]
    # With "auto" the first solver with a parameter of its own that was given, or the first of all.
    chosen: str = asked
    if asked == "auto":
        chosen = next((name for name in given if given[name]), next(iter(SOLVERS)))
    # What was given to another solver would be dropped without a word: that is an error.
    for other, names in given.items():
        if not names or other == chosen:
            continue
        if asked == "auto":
            raise ValueError(
                f"{_listed(parameters, names)} belongs to the {other} solver and "
                f"{_listed(parameters, given[chosen])} to the {chosen} one; leave one of them out."
            )
        raise ValueError(
            f"{_listed(parameters, names)} belongs to the {other} solver and solver={asked!r} has "
            f"no use for it; pass solver={other!r} or 'auto', or leave it out."
        )
    return chosen


def _listed(parameters: Mapping[str, Any], names: Sequence[str]) -> str:
    return ", ".join(f"{name}={parameters[name]!r}" for name in names)


def _method(parameters: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the discretizer that ``assign_labels`` means, and its options."""
    asked, eta, n_init = (parameters[name] for name in ("assign_labels", "eta", "n_init"))
    asked = "first_order" if asked is None else asked
    method = asked if callable(asked) else METHOD_ALIASES.get(asked, asked)
    discretizer_of(method, "assign_labels")
    known = options_of(method)
    if eta is not None and "eta" not in known:
        raise ValueError(
            f"eta={eta!r} is the weight of the first-order term, which assign_labels={asked!r} "
            "does not have; pass assign_labels='first_order' or leave eta out."
        )
    if n_init is not None and "n_init" not in known:
        warn_caller(f"n_init={n_init} has no effect: assign_labels={asked!r} has no starts.")
    if eta is None and method == "first_order":
        eta = "auto"
    # Left out, it is for the method to choose.
    given = {"eta": eta, "n_init": n_init}
    return method, {k: v for k, v in given.items() if v is not None and k in known}


def _eigen_options(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the eigenproblem; what is left out is the solver's to choose."""
    options: dict[str, Any] = {}
    if parameters["eigen_solver"] is not None:
        asked = parameters["eigen_solver"]
        solver = asked if callable(asked) else EIGENSOLVER_ALIASES.get(asked, asked)
        options["solver"] = check_solver(solver, "eigen_solver")
    # 0 is ARPACK's word for machine precision.
    if parameters["eigen_tol"] not in (None, "auto"):
        options["tol"] = max(float(parameters["eigen_tol"]), float(np.finfo(np.float64).eps))
    return options

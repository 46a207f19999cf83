"""Parameters of the estimators: their constraints, and the settings that they define.

A parameter that belongs to one solver is None by default. If it is passed, it selects that solver
with ``solver="auto"``, and raises if it contradicts the selected solver. A parameter that the
affinity or the method does not use gives a warning only, for compatibility with scikit-learn.
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

# Names of scikit-learn and their equivalents.
METHOD_ALIASES = {"discretize": "rotation"}
EIGENSOLVER_ALIASES = {"arpack": "shift_invert"}

AFFINITY_PARAMETERS = ("n_neighbors", "metric", *KERNEL_DEFAULTS, "n_jobs", "n_clusters", "solver")
"""Parameters of the estimator that are passed to affinities; others are in kernel_params."""

AFFINITY_DEFAULTS = {
    "n_neighbors": None,
    "metric": NEIGHBOR_DEFAULTS["metric"],
    **KERNEL_DEFAULTS,
    "neighbors": "auto",
    "device": "auto",
}
"""Defaults of the parameters that give a warning if the affinity does not use them."""


class Registered(StrOptions):  # type: ignore[misc]
    """Constraint on names in registries, which are read when a value is validated."""

    def __init__(self, *registries: Mapping[str, Any] | Sequence[str]) -> None:
        self._registries = registries
        super().__init__(self.options)

    @property
    def options(self) -> set[str]:
        """The names."""
        return {name for registry in self._registries for name in registry}

    @options.setter
    def options(self, _: object) -> None:
        pass  # scikit-learn assigns a copy


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
"""Parameter constraints of :class:`leastcut.SpectralClustering`."""


def constraints_of(*names: str) -> dict[str, Any]:
    """Return the constraints of parameters, for other estimators that share them."""
    return {name: CONSTRAINTS[name] for name in names}


def resolve(parameters: Mapping[str, Any]) -> Settings:
    """Return the settings that valid parameters define; raise if they contradict each other."""
    check_max_clusters(parameters)
    solver = _solver(parameters)
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
    """Raise if ``n_clusters`` is above ``max_clusters``; warn if the latter has no effect."""
    n_clusters, most = parameters["n_clusters"], parameters["max_clusters"]
    if n_clusters == "auto" or most is None:
        return
    if int(n_clusters) > most:
        raise ValueError(
            f"n_clusters={n_clusters} is more than max_clusters={most}, which limits "
            "n_clusters='auto'; leave max_clusters out."
        )
    warn_caller(
        f"max_clusters={most} has no effect: it limits n_clusters='auto', and "
        f"n_clusters={n_clusters}."
    )


def resolve_affinities(
    parameters: Mapping[str, Any], names: Sequence[Any]
) -> list[tuple[Affinity, dict[str, Any]]]:
    """Return affinities with their parameters; warn of parameters that none of them uses."""
    affinities = [affinity_of(name) for name in names]
    _warn_of_unused(parameters, {option for one in affinities for option in one.all_parameters})
    pairs = zip(affinities, names, strict=True)
    return [(affinity, _options_of(parameters, affinity, name)) for affinity, name in pairs]


def _options_of(parameters: Mapping[str, Any], affinity: Affinity, name: Any) -> dict[str, Any]:
    """Return the parameters of an affinity; raise if they contradict each other."""
    known = affinity.parameters
    kernel_params = dict(parameters["kernel_params"] or {})
    if is_function(name):
        return kernel_params
    of_estimator = [option for option in AFFINITY_PARAMETERS if option in known]
    others = [option for option in known if option not in of_estimator]
    _check_kernel_params(kernel_params, name, of_estimator, others)
    options = {option: parameters.get(option) for option in of_estimator}
    if options.get("n_clusters") == "auto":
        raise ValueError(
            f"n_clusters='auto' cannot be used with affinity={name!r}, which makes a graph with a "
            "component for every cluster. Pass a number; SpectralClustering('auto').fit(X)"
            ".n_clusters_ is the one that the graph of adaptive neighbors indicates."
        )
    # The affinity has its own default for None and "auto".
    passed = {k: v for k, v in options.items() if v is not None and (k, v) != ("solver", "auto")}
    return passed | kernel_params


def _warn_of_unused(parameters: Mapping[str, Any], known: Container[str]) -> None:
    """Warn of parameters that no affinity uses and that differ from their defaults."""
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


def _check_kernel_params(
    kernel_params: Mapping[str, Any], name: str, of_estimator: Sequence[str], others: Sequence[str]
) -> None:
    """Raise if kernel_params contains unknown parameters, or parameters of the estimator."""
    repeated = sorted(set(kernel_params) & set(of_estimator))
    if repeated:
        raise ValueError(
            f"kernel_params contains {', '.join(map(repr, repeated))}, which is a parameter of the "
            f"estimator; pass {repeated[0]}=... itself."
        )
    unknown = sorted(set(kernel_params) - set(others))
    if unknown:
        raise ValueError(
            f"kernel_params contains {', '.join(map(repr, unknown))}, which affinity={name!r} does "
            f"not take; it takes {', '.join(map(repr, others)) or 'no such parameters'}."
        )


def _solver(parameters: Mapping[str, Any]) -> str:
    """Return the name of the solver that ``solver`` and the other parameters select."""
    passed = {
        name: [p for p in solver.parameters if parameters[p] is not None]
        for name, solver in SOLVERS.items()
    }
    solver = parameters["solver"]
    # "auto" selects the first solver with a parameter that was passed, or else the first solver.
    chosen: str = solver
    if solver == "auto":
        chosen = next((name for name in passed if passed[name]), next(iter(SOLVERS)))
    for other, names in passed.items():
        if not names or other == chosen:
            continue
        if solver == "auto":
            raise ValueError(
                f"{_listed(parameters, names)} belongs to the {other} solver and "
                f"{_listed(parameters, passed[chosen])} to the {chosen} one; leave one of them out."
            )
        raise ValueError(
            f"{_listed(parameters, names)} belongs to the {other} solver, but solver={solver!r}; "
            f"pass solver={other!r} or 'auto', or leave it out."
        )
    return chosen


def _listed(parameters: Mapping[str, Any], names: Sequence[str]) -> str:
    return ", ".join(f"{name}={parameters[name]!r}" for name in names)


def _method(parameters: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the discretizer that ``assign_labels`` selects, with its options."""
    name, eta, n_init = (parameters[name] for name in ("assign_labels", "eta", "n_init"))
    name = "first_order" if name is None else name
    method = name if callable(name) else METHOD_ALIASES.get(name, name)
    discretizer_of(method, "assign_labels")
    known = options_of(method)
    if eta is not None and "eta" not in known:
        raise ValueError(
            f"eta={eta!r} is the weight of the first-order term, which assign_labels={name!r} "
            "does not have; pass assign_labels='first_order' or leave eta out."
        )
    if n_init is not None and "n_init" not in known:
        warn_caller(f"n_init={n_init} has no effect: assign_labels={name!r} has no starts.")
    if eta is None and method == "first_order":
        eta = "auto"
    options = {"eta": eta, "n_init": n_init}
    return method, {k: v for k, v in options.items() if v is not None and k in known}


def _eigen_options(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the eigensolver that were passed."""
    options: dict[str, Any] = {}
    if parameters["eigen_solver"] is not None:
        name = parameters["eigen_solver"]
        solver = name if callable(name) else EIGENSOLVER_ALIASES.get(name, name)
        options["solver"] = check_solver(solver, "eigen_solver")
    # In ARPACK, a tolerance of 0 means machine precision.
    if parameters["eigen_tol"] not in (None, "auto"):
        options["tol"] = max(float(parameters["eigen_tol"]), float(np.finfo(np.float64).eps))
    return options

"""Samples that are linked: cut the graph of their groups, with pairs of groups that stay apart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from leastcut.apart import Apart
from leastcut.estimators.strategies import STRATEGIES, Outcome, Say, Settings
from leastcut.isolated import NoPlace, label_isolated
from leastcut.multilevel.core import all_weighing, number_in_core
from leastcut.multilevel.links import Contraction, Links, check_links
from leastcut.problem import Problem
from leastcut.results import Relaxation


def read_links(
    must_link: Any, cannot_link: Any, n_samples: int, n_clusters: int | str, settings: Settings
) -> Links | None:
    """Return the links between samples, checked as far as can be before there is a graph."""
    links = check_links(must_link, cannot_link, n_samples)
    if links is None:
        return None
    if links.apart is not None and settings.solver != "multilevel":
        raise ValueError(
            f"cannot_link needs the multilevel solver, and the parameters given are those of the "
            f"{settings.solver} one. Leave them out, or leave cannot_link out."
        )
    if links.apart is not None and settings.balance is not None:
        raise ValueError(
            "balance and cannot_link are not offered together: whether any partition keeps to both "
            "is not decided here. Leave one of them out; must_link goes with balance."
        )
    if not isinstance(n_clusters, str):
        links.check_n_clusters(int(n_clusters))
    return links


def cut_linked(
    problem: Problem,
    links: Links,
    n_clusters: int,
    settings: Settings,
    seed: int,
    known: Relaxation | None,
    say: Say,
) -> Outcome:
    """Return labels of all samples that respect the links.

    Parameters
    ----------
    problem : Problem
        All nodes; those without edges may weigh nothing.
    links : Links
    n_clusters : int
    settings : Settings
    seed : int
    known : Relaxation or None
        Eigenpairs of the nodes with edges, where they are there already.
    say : callable

    Returns
    -------
    Outcome
    """
    links.check_n_clusters(n_clusters)
    # 1. Contract what must be together, and cut the graph of the groups that have edges.
    contraction = Contraction.of(problem, links.groups)
    whole, pairs = contraction.problem, links.apart
    # Eigenpairs of the samples are none of their groups.
    known = known if links.n_groups == problem.n_nodes else None
    if pairs is not None:
        whole = replace(whole, apart=Apart.of(pairs, links.n_groups))
    try:
        found = _cut(whole, whole.graph.connected, n_clusters, settings, seed, known, say)
    except NoPlace:
        # 2. Where a group without edges has no place in the clusters of the others, those that are
        #    apart from any take part in the cut. They must weigh something for that.
        assert whole.apart is not None
        nodes = np.union1d(whole.graph.connected, whole.apart.linked)
        whole = all_weighing(whole)
        found = _cut(whole, nodes, n_clusters, settings, seed, None, say)
    # 3. Label all samples by their groups. Eigenpairs of the groups are none of the samples.
    relaxation = found.relaxation if links.n_groups == problem.n_nodes else None
    return Outcome(found.labels[links.groups], found.n_iter, relaxation)


def _cut(
    whole: Problem,
    nodes: np.ndarray,
    n_clusters: int,
    settings: Settings,
    seed: int,
    known: Relaxation | None,
    say: Say,
) -> Outcome:
    """Cut the graph between ``nodes``, which hold all that have edges, and label the others."""
    core, n_others = whole.restrict(nodes), whole.n_nodes - nodes.size
    labels, found = np.empty(0, dtype=np.int64), Outcome(np.empty(0, dtype=np.int64), 0, None)
    if core.n_nodes > 0:
        in_core = number_in_core(core, n_clusters, whole.n_nodes)
        run = STRATEGIES[settings.solver].run
        found = run(core, in_core, n_clusters, settings, seed, known, say)
        labels = found.labels
    if n_others:
        labels = label_isolated(whole, nodes, labels, n_clusters)
    return Outcome(labels, found.n_iter, found.relaxation)

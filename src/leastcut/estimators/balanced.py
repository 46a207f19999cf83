"""Clusters of limited weight: ``balance`` in a fit, with links and with samples without edges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from leastcut.estimators.strategies import STRATEGIES, Outcome, Say, Settings
from leastcut.isolated import label_isolated
from leastcut.multilevel.links import Contraction, Links
from leastcut.multilevel.packing import limits_of
from leastcut.problem import Problem


def cut_balanced(
    problem: Problem,
    links: Links | None,
    n_clusters: int,
    settings: Settings,
    seed: int,
    say: Say,
) -> Outcome:
    """Return labels of all samples in clusters that keep to the balance.

    Parameters
    ----------
    problem : Problem
        All nodes; those without edges may weigh nothing.
    links : Links or None
        Samples that are together; none are to be apart.
    n_clusters : int
    settings : Settings
        With a balance, and of the multilevel solver.
    seed : int
    say : callable

    Returns
    -------
    Outcome
    """
    assert settings.balance is not None
    groups = np.arange(problem.n_nodes) if links is None else links.groups
    if links is not None:
        links.check_n_clusters(n_clusters)
        problem = Contraction.of(problem, groups).problem
    # 1. Nodes without edges that weigh something count, so they take part in the cut. Others may be
    #    anywhere.
    problem = replace(problem, limits=limits_of(problem, settings.balance, n_clusters))
    nodes = np.flatnonzero(problem.node_weights > 0)
    core = problem.restrict(nodes)
    found, labels = Outcome(np.empty(0, dtype=np.int64), 0, None), np.empty(0, dtype=np.int64)
    if nodes.size:
        run = STRATEGIES[settings.solver].run
        # 2. Where there are fewer than clusters, each is one by itself.
        in_core = min(n_clusters, nodes.size)
        found = run(core, in_core, n_clusters, settings, seed, None, say)
        labels = found.labels
    if nodes.size < problem.n_nodes:
        labels = label_isolated(problem, nodes, labels, n_clusters)
    return Outcome(labels[groups], found.n_iter, None)

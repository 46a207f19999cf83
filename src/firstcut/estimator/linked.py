"""Samples that are linked: cut the graph of their groups, with pairs of groups that stay apart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from firstcut.apart import Apart
from firstcut.cuts import Problem
from firstcut.estimator.isolated import clusters_of_core, label_isolated
from firstcut.estimator.strategies import STRATEGIES, Outcome, Say, Settings
from firstcut.partitioning.colouring import colour
from firstcut.partitioning.links import Contraction, Links, check_links
from firstcut.results import Relaxation


def read_links(
    must_link: Any, cannot_link: Any, n_samples: int, n_clusters: int | str, solver: str
) -> Links | None:
    """Return the links between samples, checked as far as can be before there is a graph."""
    links = check_links(must_link, cannot_link, n_samples)
    if links is None:
        return None
    if links.apart is not None and solver != "multilevel":
        raise ValueError(
            f"cannot_link needs the multilevel solver, and the parameters given are those of the "
            f"{solver} one. Leave them out, or leave cannot_link out."
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
    # 1. Contract what must be together, and leave out the groups without edges.
    contraction = Contraction.of(problem, links.groups)
    whole, pairs = contraction.problem, links.apart
    if pairs is not None:
        whole = replace(whole, apart=Apart.of(pairs, links.n_groups))
    nodes = whole.graph.connected
    core, n_isolated = whole.restrict(nodes), whole.n_nodes - nodes.size
    labels, found = np.empty(0, dtype=np.int64), Outcome(np.empty(0, dtype=np.int64), 0, None)
    if core.n_nodes > 0:
        # 2. Where groups without edges are clusters, the others need enough of them all the same.
        in_core = (
            clusters_of_core(n_clusters, core.n_nodes, n_isolated) if n_isolated else n_clusters
        )
        while core.apart is not None and colour(core.apart, in_core).colours is None:
            in_core += 1
        # 3. Cut. Eigenpairs of the samples are none of their groups.
        if links.n_groups < problem.n_nodes:
            known = None
        run = STRATEGIES[settings.solver].run
        found = run(core, in_core, n_clusters, settings, seed, known, say)
        labels = found.labels
    # 4. Label the groups without edges, and all samples by their groups.
    if n_isolated:
        labels = label_isolated(whole, nodes, labels, n_clusters)
    relaxation = found.relaxation if links.n_groups == problem.n_nodes else None
    return Outcome(labels[links.groups], found.n_iter, relaxation)

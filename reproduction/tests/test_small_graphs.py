"""Enumeration on small graphs, and statements about the paper, are correct."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leastcut
from reproduction.data import printed
from reproduction.report.flaws import FLAWS
from reproduction.runs import small_graphs
from reproduction.runs.labeling import any_labels
from reproduction.runs.protocol import Problem
from reproduction.runs.small_graphs import indicator
from reproduction.runs.theorems import corollary, first_theorem, gradient_term, second_theorem
from reproduction.tests.helpers import connected_graphs


@pytest.mark.parametrize("n_nodes", [3, 5, 7])
def test_values_and_distances_follow_their_definitions(n_nodes):
    graphs = small_graphs.random_graphs(4, n_nodes, seed=0)
    parts = small_graphs.bipartitions(n_nodes)
    assert len(parts) == 2 ** (n_nodes - 1) - 1
    eigenvalues, vectors = small_graphs.relaxed(graphs)
    values = small_graphs.cut_values(graphs, parts)
    for eta in (0.0, 0.1, 3.0):
        losses = small_graphs.distances(eigenvalues, vectors, parts, eta)
        for g, graph in enumerate(graphs):
            laplacian = np.diag(graph.sum(axis=1)) - graph
            for p, part in enumerate(parts):
                assert values[g, p] == pytest.approx(leastcut.cut_value(graph, part, "ratio"))
                goal = indicator(part, np.ones(n_nodes))
                target = vectors[g] - eta * laplacian @ vectors[g]
                left, _, right = np.linalg.svd(target.T @ goal)
                rotated = vectors[g] @ (left @ right)
                residual = goal - rotated
                loss = np.sum(residual**2) + eta * np.sum(residual * (2 * laplacian @ rotated))
                assert losses[g, p] == pytest.approx(loss, abs=1e-9)


@pytest.mark.parametrize("eta", [1e-3, 0.1, 1.0, 10.0, 1e3])
def test_for_two_clusters_the_gradient_term_does_not_change_the_minimizer(eta):
    graphs = small_graphs.random_graphs(50, 6, seed=1)
    parts = small_graphs.bipartitions(6)
    solved = small_graphs.relaxed(graphs)
    nearest = small_graphs.distances(*solved, parts).argmin(axis=1)
    np.testing.assert_array_equal(
        small_graphs.distances(*solved, parts, eta).argmin(axis=1), nearest
    )


def test_the_closest_solution_of_the_papers_example_is_not_the_printed_one():
    record = small_graphs.example()
    assert record["coordinates"] == pytest.approx([0.5556, 0.0629, -0.8073, 0.1888], abs=5e-5)
    order = np.argsort(record["distances"])
    assert record["parts"][order[0]] == [0, 0, 1, 0]
    assert record["parts"][order[-2]] == list(small_graphs.PRINTED_CLOSEST)
    assert record["parts"][int(np.argmin(record["values"]))] == [0, 1, 1, 0]
    rows, goals = np.array(record["rotated"]), np.array(record["indicators"])
    np.testing.assert_allclose(np.sum((rows - goals) ** 2, axis=(1, 2)), record["distances"])


def test_no_method_is_below_the_optimum():
    for method, more in (("first_order", {"n_init": 2, "eta": [1e-3, 1.0]}), ("closest", {})):
        assert 0 <= small_graphs.missed(5, method, {"graphs": 20, **more}, seed=0) <= 20


def test_printed_values_contradict_the_claim_of_the_smallest_value():
    rows = printed.tables()["objective"]
    smaller = {
        (row, cut, method)
        for row, cuts in rows.items()
        for cut, numbers in cuts.items()
        for method, number in numbers.items()
        if method not in ("OPT_r", "Ours") and number < numbers["Ours"]
    }
    assert smaller == {
        ("UMIST", "ratio", "KM-norm"),
        ("UMIST", "normalized", "KM-norm"),
        ("Fashion", "normalized", "ISR"),
    }
    tiny = printed.tables()["tiny_objective"]
    assert tiny["n=11"]["ratio"]["KM"] < tiny["n=11"]["ratio"]["Ours"]
    text = next(flaw.text for flaw in FLAWS if flaw.name == "smallest")
    for row, cut, method in smaller:
        values = f"{method} {rows[row][cut][method]:.4f}, first order {rows[row][cut]['Ours']:.4f}"
        assert f"{row}, {printed.CUT_TITLES[cut]} ({values})" in text


@pytest.mark.parametrize("cut", ["ratio", "normalized"])
def test_the_theorems_hold_on_enumerated_graphs(cut):
    parts = small_graphs.bipartitions(7)
    for graph in small_graphs.random_graphs(20, 7, seed=2):
        relaxation = leastcut.relax(graph, 2, cut, random_state=0)
        problem = Problem("small", cut, graph, relaxation, np.zeros(7, dtype=int), 0.0)
        overlaps = [
            indicator(p, relaxation.node_weights).T @ relaxation.eigenvectors for p in parts
        ]
        nearest = parts[np.argmax([np.linalg.norm(m, "nuc") for m in overlaps])]
        best = parts[np.argmin([leastcut.cut_value(graph, p, cut) for p in parts])]
        measured = second_theorem(problem, best, nearest)
        assert measured["rho2_best"] <= measured["limit"]
        first = first_theorem(problem, best)
        assert 1.0 - 1e-12 <= first["value"] <= first["our_limit"] + 1e-12
        assert first["our_limit"] <= first["limit"] <= 4.0
        assert first["our_limit"] <= 2.0
        assert first["sigma"] == pytest.approx(1.0, abs=1e-12)  # both spans contain √b
        assert measured["rho2_best"] <= measured["trivial"]


@given(connected_graphs(5, 9), st.integers(2, 4), st.integers(0, 99))
def test_the_cut_is_the_sum_of_three_terms_with_a_bounded_gradient_term(graph, c, seed):
    """The cut is Σλ + ⟨Δ, ∇⟩ + ⟨Δ, A Δ⟩ with −λ_c ‖Δ‖² ≤ ⟨Δ, ∇⟩ ≤ 0."""
    labels = any_labels(len(graph), c, seed)
    for cut in ("ratio", "normalized"):
        relaxation = leastcut.relax(graph, c, cut, random_state=0)
        problem = Problem("small", cut, graph, relaxation, labels, 0.0)
        terms = gradient_term(problem, labels, labels)
        total = relaxation.eigenvalues.sum() + terms["inner"] + terms["second"]
        assert total == pytest.approx(leastcut.cut_value(graph, labels, cut), abs=1e-9)
        assert terms["inner"] <= 1e-9
        assert terms["share"] <= 1.0 + 1e-6
        assert terms["share"] == terms["share_best"]
        if c == 2 and terms["distance"] > 1e-6:
            expected = -relaxation.eigenvalues[1] * terms["distance"]
            assert terms["inner"] == pytest.approx(expected, abs=1e-9)


@given(connected_graphs(6, 9), st.integers(2, 4))
def test_the_corollary_is_never_violated(graph, c):
    relaxation = leastcut.relax(graph, c, "ratio", random_state=0)
    problem = Problem("small", "ratio", graph, relaxation, np.zeros(len(graph), dtype=int), 0.0)
    counts = corollary(problem, [any_labels(len(graph), c, seed) for seed in range(30)])
    assert counts["broken"] == 0
    assert 0 <= counts["met"] <= counts["met_ours"] <= counts["pairs"]
    assert counts["pairs"] == counts["different"] * (counts["different"] - 1)


@pytest.mark.parametrize(("n_nodes", "c", "expected"), [(4, 2, 7), (5, 3, 25), (6, 3, 90)])
def test_every_partition_is_enumerated_once(n_nodes, c, expected):
    rows = small_graphs.partitions(n_nodes, c)
    assert len(rows) == len({tuple(row) for row in rows}) == expected  # Stirling's numbers
    assert {len(set(row)) for row in rows.tolist()} == {c}


def test_the_terms_of_all_partitions_equal_those_of_single_partitions():
    (graph,) = small_graphs.random_graphs(1, 6, seed=4)
    rows = small_graphs.partitions(6, 3)
    goals = np.array([indicator(row, np.ones(6)) for row in rows])
    relaxation = leastcut.relax(graph, 3, "ratio", random_state=0)
    problem = Problem("small", "ratio", graph, relaxation, np.zeros(6, dtype=int), 0.0)
    for row, cut, distance, inner in zip(rows, *small_graphs.terms(graph, goals), strict=True):
        single = gradient_term(problem, row, row)
        assert cut == pytest.approx(leastcut.cut_value(graph, row, "ratio"))
        assert distance**2 == pytest.approx(single["distance"], abs=1e-9)
        assert inner == pytest.approx(single["inner"], abs=1e-9)


def test_for_two_clusters_no_pair_has_both_a_smaller_distance_and_a_smaller_term():
    two = small_graphs.implied(7, 2, 10, seed=0)
    assert two["both_pairs"] == 0
    three = small_graphs.implied(7, 3, 10, seed=0)
    assert 0 < three["fails"] < three["pairs"]
    assert three["near_pairs"] < three["pairs"]

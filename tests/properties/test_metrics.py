"""Scores agree with their definitions and have the expected invariances."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leastcut
from leastcut.metrics import scores


@st.composite
def two_labelings(draw):
    n = draw(st.integers(1, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return (
        rng.integers(0, draw(st.integers(1, 5)), size=n),
        rng.integers(0, draw(st.integers(1, 5)), size=n),
    )


def best_matching(y: np.ndarray, labels: np.ndarray) -> float:
    """Return the best accuracy of all injective maps from clusters to classes."""
    n_clusters = int(labels.max()) + 1
    classes = range(max(int(y.max()) + 1, n_clusters))
    return max(np.mean(np.array(names)[labels] == y) for names in permutations(classes, n_clusters))


def entropy(labels: np.ndarray) -> float:
    share = np.unique(labels, return_counts=True)[1] / len(labels)
    return float(-(share * np.log(share)).sum())


@given(pair=two_labelings())
def test_accuracy_agrees_with_the_best_matching(pair):
    assert leastcut.clustering_accuracy(*pair) == pytest.approx(best_matching(*pair))


@given(pair=two_labelings())
def test_nmi_divides_by_the_larger_entropy(pair):
    y, labels = pair
    joint = entropy(6 * y + labels)
    larger = max(entropy(y), entropy(labels))
    expected = (entropy(y) + entropy(labels) - joint) / larger if larger > 0 else 1.0
    assert leastcut.normalized_mutual_info(y, labels) == pytest.approx(expected, abs=1e-9)


@given(pair=two_labelings(), seed=st.integers(0, 99))
def test_scores_do_not_depend_on_names_and_order(pair, seed):
    y, labels = pair
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    renamed = rng.permutation(5)[labels]
    for name, value in scores(y, labels).items():
        assert scores(y[order], renamed[order])[name] == pytest.approx(value, abs=1e-9)
        assert value <= 1
        assert value >= 0 or name == "adjusted_rand"


@given(pair=two_labelings())
def test_scores_are_symmetric(pair):
    forth, back = scores(*pair), scores(*pair[::-1])
    for name in ("accuracy", "nmi", "adjusted_rand"):
        assert forth[name] == pytest.approx(back[name], abs=1e-9)
    assert forth["homogeneity"] == pytest.approx(back["completeness"], abs=1e-9)
    assert forth["accuracy"] <= forth["purity"]


@given(pair=two_labelings())
def test_identical_partitions_score_one(pair):
    y, _ = pair
    assert scores(y, 7 - y) == pytest.approx(dict.fromkeys(scores(y, y), 1.0))


def test_labels_may_be_of_any_type():
    y = ["cat", "cat", "dog", "dog", "emu"]
    for labels in ([0, 0, -1, -1, 3], np.array([0.5, 0.5, 2.0, 2.0, 9.0]), list("xxyyz")):
        assert scores(y, labels) == pytest.approx(dict.fromkeys(scores(y, y), 1.0))
    assert leastcut.clustering_accuracy([True, False], [0, 0]) == 0.5
    assert leastcut.normalized_mutual_info([1, 1, 1], ["a", "a", "a"]) == 1.0


@pytest.mark.parametrize("score", [leastcut.clustering_accuracy, leastcut.normalized_mutual_info])
@pytest.mark.parametrize(
    ("y", "labels", "words"),
    [
        ([0, 1, 1], [0, 1], r"shapes are \(3,\) and \(2,\)"),
        ([[0, 1]], [[0, 1]], r"one-dimensional.*\(1, 2\)"),
        ([], [], r"at least one sample"),
        ([0.0, np.nan], [0, 1], r"y_true holds NaN"),
    ],
)
def test_errors_name_what_is_wrong(score, y, labels, words):
    with pytest.raises(ValueError, match=words):
        score(y, labels)

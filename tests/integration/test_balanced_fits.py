"""Balance in the estimator and on the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import points_graph
from sklearn.datasets import load_iris
from test_balance import is_balanced

import leastcut

# -- the estimator


@pytest.mark.parametrize("cut", ["ratio", "normalized"])
@pytest.mark.parametrize("balance", [0.05, (0.1, 0.2)])
def test_fits_are_balanced(cut, balance):
    X, _ = load_iris(return_X_y=True)
    model = leastcut.SpectralClustering(4, cut=cut, balance=balance, random_state=0).fit(X)
    S = model.affinity_matrix_
    assert model.solver_ == "multilevel"
    assert is_balanced(leastcut.node_weights(S, cut), model.labels_, 4, balance)
    assert model.cut_value_ == pytest.approx(leastcut.cut_value(S, model.labels_, cut))
    assert model.lower_bound_ <= model.cut_value_ * (1 + 1e-9)
    result = leastcut.partition(S, 4, cut, balance=balance, effort="auto", random_state=0)
    assert np.array_equal(model.labels_, result.labels)


@pytest.mark.filterwarnings("ignore:.*no edges. They count in the balance")
def test_isolated_samples_count_in_the_balance_as_in_the_cut():
    core = points_graph(30)
    S = sp.csr_array(sp.block_diag([core, sp.csr_array((10, 10))]))
    options = {"affinity": "precomputed", "random_state": 0}
    even = leastcut.SpectralClustering(4, cut="ratio", balance=0, **options).fit(S)
    assert np.bincount(even.labels_).tolist() == [10] * 4
    model = leastcut.SpectralClustering(3, balance=0.05, **options).fit(S)
    weights = np.asarray(S.sum(axis=1)).reshape(-1)
    assert is_balanced(weights, model.labels_, 3, 0.05)
    # With fewer connected nodes than clusters, each is a cluster.
    few = sp.csr_array(sp.block_diag([1.0 - np.eye(3), sp.csr_array((5, 5))]))
    model = leastcut.SpectralClustering(5, balance=1.0, **options).fit(few)
    assert np.unique(model.labels_).size == 5
    assert np.unique(model.labels_[:3]).size == 3
    none = leastcut.SpectralClustering(2, balance=0.1, **options).fit(sp.csr_array((4, 4)))
    assert np.unique(none.labels_).size == 2


def test_balance_with_sample_weights_and_links():
    X = np.random.default_rng(0).normal(size=(90, 2))
    weight, must = np.linspace(1.0, 3.0, 90), np.array([(0, 50), (50, 80), (3, 4)])
    model = leastcut.SpectralClustering(3, cut="ratio", balance=0.02, random_state=0)
    model.fit(X, sample_weight=weight, must_link=must)
    assert is_balanced(weight, model.labels_, 3, 0.02)
    assert (model.labels_[must[:, 0]] == model.labels_[must[:, 1]]).all()
    with pytest.raises(ValueError, match="cannot_link cannot be combined"):
        model.fit(X, cannot_link=[(0, 1)])


def test_balance_with_an_automatic_number_of_clusters():
    X = np.concatenate([np.random.default_rng(k).normal(9 * k, 1, (30, 2)) for k in range(3)])
    model = leastcut.SpectralClustering("auto", cut="ratio", balance=0.0, random_state=0).fit(X)
    assert np.bincount(model.labels_).tolist() == [30] * model.n_clusters_
    # The path is not balanced, so its values are never larger.
    assert model.cut_path_[model.n_clusters_].cut_value <= model.cut_value_ * (1 + 1e-9)


REFUSED = {
    "spectral": ({"solver": "spectral"}, "balance=0.1 belongs to the multilevel solver"),
    "assign_labels": ({"assign_labels": "kmeans"}, "leave one of them out"),
    "negative": ({"balance": -1}, "'balance' parameter"),
    "a string": ({"balance": "tight"}, "'balance' parameter"),
    "three": ({"balance": (0.1, 0.1, 0.1)}, "pair"),
    "below": ({"balance": (2.0, 0.1)}, r"balance\[0\]=2\.0 must be at most 1"),
    "impossible": ({"balance": 0.0, "cut": "ratio", "n_clusters": 7}, r"Pass balance=0\.05"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_invalid_balance_is_rejected_by_fit(kind):
    parameters, message = REFUSED[kind]
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = leastcut.SpectralClustering(**{"n_clusters": 3, "balance": 0.1, **parameters})
    with pytest.raises(ValueError, match=message):
        model.fit(X)


def test_a_balanced_fit_cannot_be_certified():
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = leastcut.SpectralClustering(2, balance=0.0, cut="ratio", random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"without regard to balance.*leastcut\.certify"):
        model.certify()
    bound = leastcut.certify(model.affinity_matrix_, model.labels_, "ratio", time_limit=1)
    assert bound.lower_bound <= model.cut_value_ * (1 + 1e-9)


# -- the command line


@pytest.mark.parametrize(("text", "balance"), [("0", 0.0), ("0.05", 0.05), ("0.2,0.1", (0.2, 0.1))])
def test_the_command_line_balances_clusters(tmp_path, monkeypatch, capsys, text, balance):
    cli = pytest.importorskip("leastcut.cli")
    monkeypatch.chdir(tmp_path)
    np.save("points.npy", np.random.default_rng(0).normal(size=(60, 2)))
    command = ["cluster", "points.npy", "-k", "4", "--cut", "ratio", "--effort", "fast", "--json"]
    assert cli.main([*command, "--balance", text]) == 0
    record = json.loads(capsys.readouterr().out)
    assert is_balanced(np.ones(60), np.array(record["labels"]), 4, balance)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--balance", "much"], "--balance much must be one number"),
        (["--balance", "0.1,0.1,0.1"], "must be one number, such as 0.1, or two"),
        (["--balance", "-1"], "--balance=-1.0 must be at least 0"),
        (["--balance", "2,0.1"], "the first number must be at most 1"),
        (
            ["--balance", "0.1", "--affinity", "anchors"],
            "--balance is not available with --affinity anchors",
        ),
        (["--balance", "0", "--cut", "ratio"], "Pass balance="),
    ],
)
def test_invalid_balance_is_rejected_by_the_command_line(
    tmp_path, monkeypatch, capsys, arguments, message
):
    cli = pytest.importorskip("leastcut.cli")
    monkeypatch.chdir(tmp_path)
    np.save("points.npy", np.random.default_rng(0).normal(size=(61, 2)))
    command = ["cluster", "points.npy", "-k", "4", "--effort", "fast"]
    assert cli.main([*command, *arguments]) == 2
    assert message in " ".join(capsys.readouterr().err.split())

"""The contract of scikit-learn: its estimator checks, tools and parameters."""

from __future__ import annotations

import inspect
import pickle
import re
import sys
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.cluster import SpectralClustering as Theirs
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import KERNEL_PARAMS, rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import kneighbors_graph
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import leastcut
from leastcut import (
    AFFINITIES,
    DISCRETIZERS,
    EIGENSOLVERS,
    AnchorSpectralClustering,
    Discretization,
    MultiViewSpectralClustering,
    SpectralClustering,
)

SETTINGS = [
    SpectralClustering(),
    SpectralClustering(solver="spectral"),
    SpectralClustering(assign_labels="kmeans", n_init=2, cut="ratio"),
    SpectralClustering(assign_labels="cluster_qr", refine=False),
    SpectralClustering(affinity="rbf"),
    SpectralClustering(affinity="nearest_neighbors", n_components=3, n_init=2),
    SpectralClustering(affinity="self_tuning"),
    SpectralClustering(affinity="precomputed"),
    SpectralClustering(n_clusters="auto", max_clusters=5),
    SpectralClustering(n_clusters=2, affinity="learned"),
    AnchorSpectralClustering(n_anchors=30),
    AnchorSpectralClustering(n_clusters="auto", max_clusters=5, effort="fast"),
    MultiViewSpectralClustering(),
    MultiViewSpectralClustering(views=[slice(None), slice(0, 1)]),
    MultiViewSpectralClustering(affinity=["adaptive_neighbors", "rbf"], view_weights="equal"),
]


FORMS = ("dense", "sparse")


def expected_failures(estimator):
    """Return the checks that cannot pass, with the reason."""
    # See test_a_weight_is_not_equivalent_to_a_duplicate in test_sample_weight.py.
    reason = "a weight counts in the node weights only, and a repeated sample has edges as well"
    result = {f"check_sample_weight_equivalence_on_{form}_data": reason for form in FORMS}
    if isinstance(estimator, AnchorSpectralClustering):
        return {}
    if estimator.affinity == "precomputed":
        result["check_clustering"] = (
            "it hands samples with two features to an estimator tagged as taking pairs of samples"
        )
    return result


@pytest.mark.sampled(120)
@parametrize_with_checks(SETTINGS, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_all_parameters_of_scikit_learn_are_supported():
    reference = inspect.signature(Theirs).parameters
    parameters = inspect.signature(SpectralClustering).parameters
    assert list(parameters)[: len(reference)] == list(reference)
    different = {name for name in reference if reference[name].default != parameters[name].default}
    # None means that the parameter is not passed, which decides between the solvers.
    assert different == {"affinity", "assign_labels", "n_init", "eigen_tol", "n_neighbors"}
    for name in different - {"affinity"}:
        assert parameters[name].default is None


@pytest.mark.parametrize("kernel", sorted(set(KERNEL_PARAMS) - {"additive_chi2"}))
def test_every_kernel_of_scikit_learn_works(kernel):
    X = np.random.default_rng(0).random((12, 4))
    model = SpectralClustering(3, affinity=kernel, random_state=0).fit(X)
    reference = Theirs(3, affinity=kernel, random_state=0).fit(X)
    np.testing.assert_allclose(model.affinity_matrix_, reference.affinity_matrix_)
    assert set(model.labels_) == {0, 1, 2}


def test_kernels_with_negative_values_are_rejected():
    X = np.random.default_rng(0).random((12, 4))
    with pytest.raises(ValueError, match="non-negative affinities"):
        SpectralClustering(2, affinity="additive_chi2").fit(X)


def test_callable_affinities_receive_kernel_params_only(blobs):
    X, y = blobs

    def kernel(a, b, **options):
        assert options == {"width": 2.0}
        return float(np.exp(-np.sum((a - b) ** 2) / options["width"]))

    given = {"width": 2.0}
    model = SpectralClustering(3, affinity=kernel, kernel_params=given, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    assert given == {"width": 2.0}


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.coo_array, sp.csr_matrix])
@pytest.mark.parametrize("eigen_solver", [None, "arpack", "lobpcg"])
@pytest.mark.parametrize("assign_labels", ["kmeans", "discretize", "cluster_qr", *DISCRETIZERS])
def test_every_solver_finds_two_obvious_groups(container, eigen_solver, assign_labels):
    S = np.zeros((7, 7))
    S[:3, :3] = S[3:, 3:] = 1.0
    S[:3, 3] = S[3, :3] = 0.2
    model = SpectralClustering(
        2,
        affinity="precomputed",
        eigen_solver=eigen_solver,
        assign_labels=assign_labels,
        random_state=0,
    ).fit(container(S))
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 1, 1]


def test_precomputed_neighbors_keep_only_the_nearest(blobs):
    X, y = blobs
    result = []
    for extra in (0, 10):
        distances = kneighbors_graph(X, 8 + extra, mode="distance", include_self=True)
        model = SpectralClustering(
            3, affinity="precomputed_nearest_neighbors", n_neighbors=8, random_state=0
        ).fit(distances)
        assert adjusted_rand_score(y, model.labels_) == 1
        result.append(model.affinity_matrix_)
    assert (result[0] != result[1]).nnz == 0


def test_clone_parameters_and_pickle(blobs):
    X, _ = blobs
    model = SpectralClustering(3, cut=np.ones(90), eta=[0.1, 1.0], random_state=3)
    copy = clone(model)
    assert copy.get_params()["random_state"] == 3
    assert copy.set_params(n_clusters=2).n_clusters == 2
    model.fit(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.labels_, model.labels_)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.lower_bound_ == model.lower_bound_
    assert pickle.loads(pickle.dumps(again)).lower_bound_ == model.lower_bound_


def test_pipeline_and_grid_search(blobs):
    X, y = blobs
    pipeline = make_pipeline(StandardScaler(), SpectralClustering(3, random_state=0))
    assert adjusted_rand_score(y, pipeline.fit_predict(X)) == 1
    assert pipeline.predict(X[:5]).shape == (5,)
    search = GridSearchCV(
        SpectralClustering(3, random_state=0), {"n_neighbors": [4, 8]}, cv=2, error_score="raise"
    ).fit(X)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.predict(X[:3]).shape == (3,)


def test_grid_search_slices_a_precomputed_graph_both_ways(blobs):
    X, _ = blobs
    search = GridSearchCV(
        SpectralClustering(affinity="precomputed", random_state=0),
        {"n_clusters": [2, 3]},
        cv=2,
        error_score="raise",
    ).fit(rbf_kernel(X))
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames_and_their_names(blobs, library):
    frames = pytest.importorskip(library)
    X, _ = blobs
    frame = frames.DataFrame({"left": X[:, 0], "right": X[:, 1]})
    model = SpectralClustering(3, random_state=0).fit(frame)
    assert model.feature_names_in_.tolist() == ["left", "right"]
    np.testing.assert_array_equal(
        model.labels_, SpectralClustering(3, random_state=0).fit(X).labels_
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(frame)
    pipeline = make_pipeline(StandardScaler(), SpectralClustering(3, random_state=0))
    fitted = pipeline.set_output(transform=library).fit(frame)
    assert fitted[-1].feature_names_in_.tolist() == ["left", "right"]


def make_routed_pipeline(model, X, **metadata):
    """Return a fitted pipeline that routes metadata to the model, and the scaled samples."""
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    model = clone(model).set_fit_request(**dict.fromkeys(metadata, True))
    return make_pipeline(scaler, model).fit(X, **metadata), StandardScaler().fit_transform(X)


def test_metadata_is_routed_to_the_fit(blobs):
    X, _ = blobs
    farthest = int(np.argmax(np.abs(X[:, 0] - X[0, 0])))
    metadata = {
        "sample_weight": np.linspace(1.0, 2.0, len(X)),
        "must_link": [(0, 1)],
        "cannot_link": [(farthest, 0)],
    }
    model = SpectralClustering(5, random_state=0)
    with config_context(enable_metadata_routing=True):
        pipeline, scaled = make_routed_pipeline(model, X, **metadata)
        labels = clone(pipeline).fit_predict(X, **metadata)
    alone = clone(model).fit(scaled, **metadata)
    assert np.array_equal(pipeline[-1].labels_, alone.labels_)
    assert np.array_equal(labels, alone.labels_)
    assert pipeline[-1].cut_value_ == alone.cut_value_
    assert alone.cut_value_ != clone(model).fit(scaled).cut_value_


@pytest.mark.parametrize("name", ["sample_weight", "must_link", "cannot_link"])
def test_metadata_is_routed_only_if_it_is_requested(blobs, name):
    X, _ = blobs
    metadata = {name: np.ones(len(X)) if name == "sample_weight" else [(0, 1)]}
    with config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        with pytest.raises(UnsetMetadataPassedError, match=name):
            make_pipeline(scaler, SpectralClustering(3)).fit(X, **metadata)


def test_weights_are_routed_to_the_fit_of_views(blobs):
    X, _ = blobs
    weight = np.linspace(1.0, 2.0, len(X))
    model = MultiViewSpectralClustering(5, views=[[0], [1]], random_state=0)
    with config_context(enable_metadata_routing=True):
        pipeline, scaled = make_routed_pipeline(model, X, sample_weight=weight)
    alone = clone(model).fit(scaled, sample_weight=weight)
    assert np.array_equal(pipeline[-1].labels_, alone.labels_)
    assert np.array_equal(pipeline[-1].view_cuts_, alone.view_cuts_)
    assert not np.array_equal(alone.view_cuts_, clone(model).fit(scaled).view_cuts_)


def test_unsupported_metadata_is_not_routed(blobs):
    X, _ = blobs
    for model, name in (
        (AnchorSpectralClustering(3, n_anchors=20), "sample_weight"),
        (MultiViewSpectralClustering(3), "must_link"),
    ):
        with (
            config_context(enable_metadata_routing=True),
            pytest.raises(TypeError, match=f"unexpected argument.*{name}"),
        ):
            make_pipeline(model).fit(X, **{name: [(0, 1)]})


def test_html_and_tags():
    assert "SpectralClustering" in SpectralClustering()._repr_html_()
    assert get_tags(SpectralClustering(affinity="precomputed")).input_tags.pairwise
    assert not get_tags(SpectralClustering()).input_tags.pairwise
    assert get_tags(SpectralClustering()).estimator_type == "clusterer"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_clusters", 0),
        ("n_clusters", "many"),
        ("eigen_solver", "magic"),
        ("affinity", "closeness"),
        ("assign_labels", "first-order"),
        ("cut", "median"),
        ("eta", -1.0),
        ("solver", "quantum"),
        ("effort", "lazy"),
        ("refine", "yes"),
        ("max_clusters", 1),
        ("n_neighbors", 0),
        ("gamma", -1),
        ("affinity", ["rbf"]),
    ],
)
def test_invalid_values_give_the_message_of_scikit_learn(blobs, name, value):
    with pytest.raises(ValueError, match=f"The '{name}' parameter of SpectralClustering must be"):
        SpectralClustering(**{name: value}).fit(blobs[0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"solver": "multilevel", "eigen_solver": "arpack"}, "belongs to the spectral solver"),
        ({"solver": "multilevel", "n_components": 4}, "belongs to the spectral solver"),
        ({"solver": "multilevel", "refine": False}, "belongs to the spectral solver"),
        ({"solver": "multilevel", "assign_labels": "kmeans"}, "belongs to the spectral solver"),
        ({"solver": "spectral", "effort": "thorough"}, "belongs to the multilevel solver"),
        ({"assign_labels": "kmeans", "effort": "thorough"}, "leave one of them out"),
        ({"assign_labels": "kmeans", "eta": 0.1}, "assign_labels='first_order'"),
        ({"max_clusters": 2}, "n_clusters='auto'"),
        ({"affinity": "rbf", "kernel_params": {"gamma": 2}}, "pass gamma=... itself"),
        ({"affinity": "rbf", "kernel_params": {"width": 2}}, "does not take"),
        ({"kernel_params": {"width": 2}}, "'include_self', 'offset'"),
        ({"n_components": 91}, "n_samples=90 should be >= n_components=91"),
        ({"n_clusters": 91}, "n_samples=90 should be >= n_clusters=91"),
        ({"affinity": "learned", "n_clusters": "auto"}, "component for every cluster"),
    ],
)
def test_contradicting_parameters_raise(blobs, settings, message):
    with pytest.raises(ValueError, match=message):
        SpectralClustering(**{"n_clusters": 3, **settings}).fit(blobs[0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_clusters": 91}, "n_samples=90 should be >= n_clusters=91"),
        ({"n_clusters": "auto"}, "The 'n_clusters' parameter of MultiViewSpectralClustering"),
        ({"views": 2}, "The 'views' parameter of MultiViewSpectralClustering must be"),
        ({"view_weights": "loud"}, "The 'view_weights' parameter of MultiViewSpectralClustering"),
        ({"affinity": ["rbf"]}, "lists 1 affinities for 2 views"),
        ({"affinity": "learned"}, "one view alone"),
        ({"affinity": "precomputed"}, "pass X as a list of graphs"),
        ({"views": None, "affinity": ["rbf", "closeness"]}, r"affinity\[1\]='closeness' is not"),
        ({"views": [[0], [2]]}, r"views\[1\]=\[2\] does not select columns of X, which has 2"),
        ({"views": [["left"]]}, r"views\[0\]=\['left'\] does not select columns"),
        ({"views": [[0], []]}, r"views\[1\]=\[\] selects no column"),
        ({"views": []}, "views is empty"),
        ({"view_weights": [1.0]}, "one number per view"),
        ({"view_weights": [1.0, -1.0]}, r"view_weights\[1\] is -1.0"),
    ],
)
def test_invalid_views_raise(blobs, settings, message):
    with pytest.raises(ValueError, match=message):
        MultiViewSpectralClustering(**{"n_clusters": 3, "views": [[0], [1]], **settings}).fit(
            blobs[0]
        )


def test_the_error_for_a_list_of_views_names_the_estimator_for_views(blobs):
    X, _ = blobs
    with pytest.raises(ValueError, match="MultiViewSpectralClustering clusters them"):
        SpectralClustering(3).fit([X, X])


@pytest.mark.parametrize(
    "settings",
    [
        {"gamma": 2.0},
        {"affinity": "rbf", "degree": 2},
        {"affinity": "nearest_neighbors", "coef0": 0},
        {"affinity": "rbf", "n_neighbors": 5},
        {"max_clusters": 3},
        {"max_clusters": 8},
        {"assign_labels": "cluster_qr", "n_init": 3},
    ],
)
def test_parameters_without_effect_give_a_warning(blobs, settings):
    with pytest.warns(UserWarning, match="has no effect") as caught:
        SpectralClustering(3, **settings).fit(blobs[0])
    assert [one.filename for one in caught] == [__file__]


def test_parameters_with_an_effect_give_no_warning(blobs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SpectralClustering("auto", max_clusters=4).fit(blobs[0])
        SpectralClustering(3, affinity="rbf", gamma=2.0).fit(blobs[0])
        SpectralClustering(3, affinity="self_tuning", n_neighbors=5).fit(blobs[0])


# -- functions of users


def signs(relaxation, *, random_state, score, flip=False):
    """Discretize by the sign of the last eigenvector."""
    return (relaxation.eigenvectors[:, -1] > 0) ^ flip


def thirds(relaxation):
    """Discretize without options; return a Discretization."""
    order = np.argsort(relaxation.eigenvectors[:, 1], kind="stable")
    labels = np.empty(order.size, dtype=int)
    labels[order] = np.arange(order.size) * relaxation.n_clusters // order.size
    return Discretization(labels, 3, True, 0.5, np.array([0.5]))


def eigh(matrix, null, count, *, rng):
    """Solve the eigenproblem by LAPACK."""
    values, vectors = np.linalg.eigh(matrix.toarray())
    return values[1 : count + 1], vectors[:, 1 : count + 1]


def test_functions_are_discretizers(blobs, monkeypatch):
    X, _ = blobs
    model = SpectralClustering(2, assign_labels=signs, refine=False, random_state=0).fit(X)
    assert model.solver_ == "spectral"
    S, relaxation = model.affinity_matrix_, leastcut.relax(model.affinity_matrix_, 2)
    by_name = leastcut.discretize(relaxation, signs, graph=S, flip=True)
    assert adjusted_rand_score(by_name.labels, model.labels_) == 1.0
    assert by_name.cut_value == pytest.approx(leastcut.cut_value(S, by_name.labels))
    monkeypatch.setitem(DISCRETIZERS, "thirds", thirds)
    named = SpectralClustering(3, assign_labels="thirds", refine=False, random_state=0).fit(X)
    result = leastcut.discretize(leastcut.relax(S, 3, random_state=0), "thirds", graph=S)
    assert (result.n_iter, result.loss) == (3, 0.5)
    assert result.cut_value == pytest.approx(named.cut_value_)
    with pytest.raises(TypeError, match="has no option 'eta'"):
        leastcut.discretize(relaxation, signs, eta=0.1)
    with pytest.raises(ValueError, match=r"'<lambda>' has 1 cluster, but n_clusters=2"):
        leastcut.discretize(relaxation, lambda relaxation: np.zeros(relaxation.n_nodes))


def test_functions_are_eigensolvers(blobs, monkeypatch):
    X, _ = blobs
    model = SpectralClustering(3, eigen_solver=eigh, random_state=0).fit(X)
    assert np.array_equal(model.labels_, SpectralClustering(3, solver="spectral").fit(X).labels_)
    S = model.affinity_matrix_
    monkeypatch.setitem(EIGENSOLVERS, "eigh", eigh)
    # Connected, so that the solver is called once.
    S = S + sp.csr_array(np.full(S.shape, 1e-3))
    result, exact = (leastcut.relax(S, 3, solver=solver) for solver in ("eigh", "dense"))
    np.testing.assert_allclose(result.eigenvalues, exact.eigenvalues, atol=1e-12)
    assert (result.solver, result.converged) == ("eigh", True)
    # There is no bound on eigenvalues that a user's solver may have missed.
    assert result.lower_bound == 0.0 < exact.lower_bound

    def rough(matrix, null, count, **options):
        values, vectors = eigh(matrix, null, count, rng=None)
        return values + 0.1, vectors

    assert not leastcut.relax(S, 3, solver=rough).converged
    for wrong, message in (
        (lambda matrix, null, count: (np.zeros(1), null[:, None]), "it must return"),
        (lambda *arguments: (np.zeros(2), np.ones((90, 2))), "must be orthonormal"),
    ):
        with pytest.raises(ValueError, match=message):
            leastcut.relax(S, 3, solver=wrong)


def similarity(x, y):
    """Return the affinity of two samples."""
    return float(np.exp(-np.abs(x - y).sum()))


def test_functions_are_affinities(blobs, monkeypatch):
    X, _ = blobs
    monkeypatch.setitem(AFFINITIES, "similarity", similarity)
    options = {"n_clusters": 3, "random_state": 0}
    expected = SpectralClustering(affinity=similarity, **options).fit(X)
    named = SpectralClustering(affinity="similarity", **options).fit(X)
    assert np.array_equal(named.labels_, expected.labels_)
    assert np.array_equal(named.affinity_matrix_, expected.affinity_matrix_)
    assert np.array_equal(named.predict(X[:5]), expected.predict(X[:5]))
    # An affinity of this package may be passed instead of its name, with its parameters.
    options |= {"n_neighbors": 5}
    one = SpectralClustering(affinity=AFFINITIES["self_tuning"], **options).fit(X)
    same = SpectralClustering(affinity="self_tuning", **options).fit(X)
    assert np.array_equal(one.labels_, same.labels_)
    one = SpectralClustering(affinity=AFFINITIES["precomputed"])
    assert get_tags(one).input_tags.pairwise
    # Lists of affinities in warnings omit functions.
    with pytest.warns(UserWarning, match=r"Affinities with coef0: 'poly', 'polynomial', 'sigmoid'"):
        SpectralClustering(coef0=2, **options).fit(X)


NO_FUNCTIONS = {"None": None, "a name": "kmeans", "a number": 3, "no arguments": lambda: None}


@pytest.mark.parametrize("value", NO_FUNCTIONS.values(), ids=NO_FUNCTIONS)
def test_non_functions_are_rejected_before_any_computation(blobs, monkeypatch, value):
    X, _ = blobs
    S = leastcut.nearest_neighbors_graph(X)
    relaxation = leastcut.relax(S, 2)
    for registry in (DISCRETIZERS, EIGENSOLVERS, AFFINITIES):
        monkeypatch.setitem(registry, "mine", value)
    views = MultiViewSpectralClustering(2, affinity="mine")
    for name, call in (
        ("DISCRETIZERS", lambda: leastcut.discretize(relaxation, "mine")),
        ("DISCRETIZERS", lambda: leastcut.compare(S, 2, methods=["partition", "mine"])),
        ("DISCRETIZERS", lambda: SpectralClustering(2, assign_labels="mine").fit(X)),
        ("EIGENSOLVERS", lambda: leastcut.relax(S, 2, solver="mine")),
        ("EIGENSOLVERS", lambda: SpectralClustering(2, eigen_solver="mine").fit(X)),
        ("AFFINITIES", lambda: SpectralClustering(2, affinity="mine").fit(X)),
        ("AFFINITIES", lambda: views.fit([X, X])),
        ("AFFINITIES", lambda: leastcut.cut_path(X, affinity="mine")),
    ):
        message = re.escape(f"leastcut.{name}['mine']={value!r}") + ".* it must be a function "
        with pytest.raises(TypeError, match=message):
            call()


@pytest.mark.parametrize("parameter", ["assign_labels", "eigen_solver", "affinity"])
def test_functions_of_other_arguments_are_rejected(blobs, parameter):
    message = rf"{parameter}=<function .* takes the arguments \(\); it must be a function "
    with pytest.raises(TypeError, match=message):
        SpectralClustering(2, **{parameter: lambda: None}).fit(blobs[0])


def test_invalid_results_of_functions_are_rejected(blobs):
    X, _ = blobs
    S = leastcut.nearest_neighbors_graph(X, 40)
    relaxation = leastcut.relax(S, 2)
    with pytest.raises(TypeError, match=r"'<lambda>' returned None; it must be a function"):
        leastcut.discretize(relaxation, lambda relaxation: None)
    with pytest.raises(TypeError, match="eigensolver <lambda> returned NoneType; it must be"):
        leastcut.relax(S, 3, solver=lambda matrix, null, count: None)
    for value in (None, "near", X[0]):
        with pytest.raises(
            TypeError, match=r"returned .* for two samples; it must return a number"
        ):
            SpectralClustering(2, affinity=lambda x, y, value=value: value).fit(X)


def test_functions_may_change_their_arguments(blobs):
    def sorting(relaxation):
        relaxation.eigenvectors.sort(axis=0)
        return thirds(relaxation)

    S = leastcut.nearest_neighbors_graph(blobs[0])
    alone = leastcut.compare(S, 3, methods=["kmeans"], random_state=0).best
    first, second = leastcut.compare(S, 3, methods=[sorting, "kmeans"], random_state=0).compared
    assert (first.method, second.cut_value) == ("sorting", alone.cut_value)


def test_functions_need_not_be_hashable(blobs):
    @dataclass
    class Thirds:  # like a dataclass with eq=True, which is not hashable
        def __call__(self, relaxation):
            return thirds(relaxation)

    S = leastcut.nearest_neighbors_graph(blobs[0])
    result = leastcut.discretize(leastcut.relax(S, 3), Thirds(), graph=S)
    (row,) = leastcut.compare(S, 3, methods=[Thirds(), Thirds()]).compared
    assert result.cut_value == row.cut_value


def test_a_failed_fit_leaves_no_model(blobs):
    X, _ = blobs
    model = SpectralClustering(2, random_state=0).fit(X)
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(X, sample_weight=[1.0])
    for ask in (model.predict, model.transform, model.score):
        with pytest.raises(NotFittedError):
            ask(X)


def test_amg_without_pyamg_names_the_package_to_install(blobs, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyamg", None)
    with pytest.raises(ValueError, match=r"needs the package pyamg.*pip install"):
        SpectralClustering(3, eigen_solver="amg").fit(blobs[0])


def test_fitted_attributes_do_not_exist_before_fit():
    model = SpectralClustering()
    for name in ("labels_", "cut_value_", "lower_bound_", "gap_", "eigenvalues_", "embedding_"):
        assert not hasattr(model, name)
    # Attributes that are computed on first access raise NotFittedError.
    for name in ("lower_bound_", "gap_", "eigenvalues_", "embedding_"):
        with pytest.raises(NotFittedError, match="Call 'fit'"):
            getattr(model, name)

"""The house: who may import whom, what a call passes through, and what an import loads."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import shutil
import subprocess
import sys
import textwrap
from collections import Counter
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import numpy as np
import pytest
from conftest import knn_graph
from imports import FILES, MODULES, PUBLIC, SOURCE, imports_of, module_of, modules_imported
from sklearn.datasets import load_digits, make_blobs

import leastcut
from leastcut.validation import check_graph

SHARED = {"validation", "threads", "memory", "optional_packages", "formatting", "sparse_check"}
SHARED |= {"progress", "budget", "results", "metrics", "seeds"}
"""Small things that every folder may use."""

NOUNS = {"graph", "problem", "constraints", "feasibility", "reductions", "distance_check"}
BELOW: dict[str, set[str]] = {
    **dict.fromkeys(SHARED, SHARED),
    "kernels": SHARED,
    **{key: {*NOUNS, "kernels"} for key in NOUNS},
    "affinity": {*NOUNS, "kernels", "spectral", "multilevel"},
    "spectral": {*NOUNS, "kernels"},
    "multilevel": {*NOUNS, "kernels", "spectral"},
    "bounds": {*NOUNS, "kernels", "spectral", "multilevel"},
    "anchors": {*NOUNS, "kernels", "affinity", "spectral", "multilevel", "bounds"},
    "multiview": {*NOUNS, "kernels", "spectral", "multilevel"},
    "estimators": {
        *NOUNS,
        *("affinity", "spectral", "multilevel", "bounds", "anchors", "multiview", "integrations"),
    },
    "comparison": {*NOUNS, "spectral", "multilevel"},
    "io": {"integrations"},
    "integrations": {*PUBLIC, *NOUNS, "anchors", "multilevel", "affinity", "estimators"},
    "plot": {*PUBLIC, *NOUNS},
    "report": {*PUBLIC, "plot"},
    "cli": {*PUBLIC, *NOUNS, "__version__", "io", "report", "comparison", "affinity", "kernels"},
    "__main__": {"cli"},
}
"""What each folder, and each module at the top, may import besides itself and what is shared."""

UPWARDS = {
    "leastcut.graph": {"integrations"},
    "leastcut.multilevel.partition": {"bounds"},
    "leastcut.multilevel.cut_path": {"plot", "report"},
    "leastcut.multiview.problem": {"report"},
    "leastcut.estimators.base": {"plot"},
    "leastcut.results": {"plot", "report"},
}
"""What a module may import beyond that, inside a function: a verb that offers what stands above."""

THIRD_PARTIES = {
    "numba": {"kernels"},
    "matplotlib": {"plot", "report", "cli"},
    "jinja2": {"report"},
    "dask": {"integrations"},
    "distributed": {"integrations"},
    "pandas": {"integrations"},
    "networkx": {"io"},
    "tqdm": {"progress"},
    "pyarrow": {"io", "anchors"},
    "PIL": {"io", "cli"},
    "typer": {"cli"},
    "rich": {"cli"},
    "pyamg": {"spectral"},
    "skimage": {"integrations"},
    "scanpy": set(),
    "anndata": set(),
    "torch": {"affinity", "anchors"},
    "triton": {"affinity"},
    "sklearn": {"affinity", "spectral", "metrics", "estimators", "integrations"},
}
"""The rooms that may import a package."""


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_imports_go_downwards(path):
    room = room_of(path)
    inside = {name.split(".")[1] for name in imports_of(path) if name.startswith("leastcut.")}
    assert inside <= {room, *SHARED, *BELOW[room], *UPWARDS.get(module_of(path), set())}


def test_there_are_no_import_cycles():
    graph = {module: modules_imported(path) for module, path in MODULES.items()}
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(f"modules import one another: {' <- '.join(error.args[1])}")


@pytest.mark.parametrize("package", THIRD_PARTIES)
def test_third_parties_stay_in_their_rooms(package):
    users = {
        room_of(path)
        for path in FILES
        if any(name.split(".")[0] == package for name in imports_of(path))
    }
    assert users <= THIRD_PARTIES[package]


def test_discretizers_never_see_the_graph_and_know_sklearn_in_kmeans_only():
    for path in (SOURCE / "spectral" / "discretizers").glob("*.py"):
        names = imports_of(path)
        rooms = {name.split(".")[1] for name in names if name.startswith("leastcut.")}
        if path.name != "discretize.py":
            assert not rooms & NOUNS
        if path.name != "kmeans.py":
            assert not any(name.startswith("sklearn") for name in names)


def test_no_module_at_the_top_is_named_like_a_public_function():
    modules = {name for name in PUBLIC if inspect.ismodule(getattr(leastcut, name))}
    top = {path.stem for path in SOURCE.glob("*.py")} | {path.name for path in SOURCE.iterdir()}
    assert not top & (PUBLIC - modules)


def test_public_names_are_listed_once():
    tree = ast.parse((SOURCE / "__init__.pyi").read_text(encoding="utf-8"))
    listed = [a.name for n in tree.body if isinstance(n, ast.ImportFrom) for a in n.names]
    assert sorted(listed) == sorted(PUBLIC)
    for name in PUBLIC:
        assert getattr(leastcut, name) is not None
    with pytest.raises(AttributeError, match="cut_valeu"):
        _ = leastcut.cut_valeu


ROOT = Path(__file__).parents[2]
OUTSIDE = [
    path
    for folder in ("benchmarks", "examples", "reproduction", "docs", "tests")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if "_build" not in path.parts
]


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_others_import_of_the_package_exists(path):
    """Also what a benchmark imports inside of a function, which no test calls."""
    for name in (name for name in imports_of(path) if name.startswith("leastcut.")):
        owner, _, attribute = name.rpartition(".")
        if name not in MODULES:
            assert hasattr(importlib.import_module(owner), attribute), name


# -- what a call passes through


class Visits:
    """Counts, while it is active, calls of Python functions by code object.

    It sees the thread that it is in; what a pool's threads do is not passed through by the reader.
    """

    def __enter__(self):
        self.codes = Counter()
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)

    def _note(self, frame, event, _):
        name = frame.f_globals.get("__name__", "")
        if event == "call" and name.startswith("leastcut"):
            self.codes[frame.f_code] += 1

    @property
    def validations(self) -> int:
        return self.codes[check_graph.__code__]


SMALL, _ = make_blobs(400, centers=5, random_state=0)
LARGE, _ = make_blobs(6000, centers=5, random_state=0)
WIDE, _ = make_blobs(6000, n_features=20, centers=5, cluster_std=9.0, random_state=0)
FITS = {
    "small": (SMALL, {}),
    "large": (LARGE, {}),
    "many features": (WIDE, {}),
    "digits": (load_digits().data, {}),
    "spectral": (SMALL, {"solver": "spectral"}),
    "spectral, large": (LARGE, {"solver": "spectral"}),
    "spectral, many features": (WIDE, {"solver": "spectral"}),
    "k-means": (SMALL, {"assign_labels": "kmeans"}),
    "rbf": (SMALL, {"affinity": "rbf"}),
    "ratio": (SMALL, {"cut": "ratio"}),
}


@pytest.mark.parametrize("name", FITS)
def test_a_fit_trusts_its_own_graph(name):
    X, settings = FITS[name]
    model = leastcut.SpectralClustering(5, random_state=0, **settings)
    model.fit(X)  # imports and compiles
    with Visits() as visits:
        model.fit(X)
    # What leastcut made of neighbours is symmetric and positive by construction.
    assert visits.validations == (1 if settings.get("affinity") == "rbf" else 0)


def test_auto_and_wide_embeddings_trust_their_graph_too():
    for settings in ({"n_clusters": "auto"}, {"n_clusters": 3, "n_components": 6}):
        model = leastcut.SpectralClustering(random_state=0, solver="spectral", **settings)
        with Visits() as visits:
            model.fit(SMALL)
        assert visits.validations == 0


FITTED = {
    "neighbors": (leastcut.SpectralClustering(5, random_state=0), SMALL),
    "auto": (leastcut.SpectralClustering("auto", max_clusters=6, random_state=0), SMALL),
    "spectral": (leastcut.SpectralClustering(5, solver="spectral", random_state=0), SMALL),
    "rbf": (leastcut.SpectralClustering(5, affinity="rbf", random_state=0), SMALL),
    "single precision": (
        leastcut.SpectralClustering(5, affinity="precomputed", random_state=0),
        knn_graph(SMALL).astype(np.float32),
    ),
    "anchors": (leastcut.AnchorSpectralClustering(5, n_anchors=60, random_state=0), SMALL),
    "views": (
        leastcut.MultiViewSpectralClustering(5, affinity=["rbf", "self_tuning"], random_state=0),
        SMALL,
    ),
}


@pytest.mark.parametrize("name", FITTED)
def test_what_is_computed_after_a_fit_trusts_its_graph(name):
    model, X = FITTED[name]
    model.fit(X)
    with Visits() as visits:
        assert model.lower_bound_ <= model.cut_value_
        assert model.embedding_.shape[0] == 400
        assert model.eigenvalues_[0] <= 1e-6
        model.transform(X)
        if hasattr(model, "cut_path_"):
            _ = model.cut_path_.cut_values
    assert visits.codes
    assert visits.validations == 0


PUBLIC_CALLS = {
    "cut_value": lambda S, y: leastcut.cut_value(S, y),
    "node_weights": lambda S, y: leastcut.node_weights(S),
    "operator": lambda S, y: leastcut.operator(S),
    "relax": lambda S, y: leastcut.relax(S, 3, random_state=0),
    "lower_bound": lambda S, y: leastcut.lower_bound(S, 3),
    "refine": lambda S, y: leastcut.refine(S, y),
    "fast": lambda S, y: leastcut.partition(S, 3, effort="fast", random_state=0),
    "balanced": lambda S, y: leastcut.partition(S, 3, lower_bound=True, random_state=0),
    "from labels": lambda S, y: leastcut.partition(S, 3, effort="fast", init=y, random_state=0),
    "direct_cut": lambda S, y: leastcut.direct_cut(S, 3, n_init=2, random_state=0),
    "exact": lambda S, y: leastcut.exact_partition(S[:9, :9] + np.ones((9, 9)), 2),
    "tight": lambda S, y: leastcut.partition(S, 3, lower_bound="tight", random_state=0),
    "certify": lambda S, y: leastcut.certify(S, y, random_state=0),
    "constrained_rank_graph": lambda S, y: leastcut.constrained_rank_graph(S, 3),
    "compare": lambda S, y: leastcut.compare(S, 3, methods=["rotation"], random_state=0),
    "cut_path": lambda S, y: leastcut.cut_path(S, [2, 3], affinity="precomputed", random_state=0),
}


@pytest.mark.parametrize("name", PUBLIC_CALLS)
def test_a_graph_is_checked_once_on_entry(name):
    S = knn_graph(SMALL[:80])
    labels = np.arange(S.shape[0]) % 3
    with Visits() as visits:
        PUBLIC_CALLS[name](S, labels)
    assert visits.validations == 1


def test_a_discretization_checks_its_graph_once():
    S = knn_graph(SMALL)
    relaxation = leastcut.relax(S, 3, random_state=0)
    with Visits() as visits:
        leastcut.discretize(relaxation, graph=S, random_state=0, eta="auto")
    assert visits.validations == 1


# -- what an import loads


def test_import_is_light():
    heavy = ["numba", "matplotlib", "pandas", "sklearn", "scipy", "numpy", "dask"]
    code = f"import sys, leastcut; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_cutting_a_graph_loads_no_package_that_is_slow_to_import():
    code = textwrap.dedent(
        """
        import sys, leastcut
        S = [[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 2], [0, 0, 2, 0]]
        leastcut.partition(S, 2, random_state=0)
        print([m for m in ("sklearn", "scipy.optimize", "matplotlib") if m in sys.modules])
        """
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_read_only_install_without_a_home(tmp_path):
    """Numba has nowhere to keep its machine code; the answer must come all the same."""
    package = tmp_path / "leastcut"
    shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").touch()  # a file in its place stops even root from writing there
    code = textwrap.dedent(
        f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        import numpy as np, leastcut
        assert leastcut.__file__.startswith({str(package)!r})
        S = np.kron(np.eye(2), np.ones((3, 3))) + 0.1
        found = leastcut.discretize(leastcut.relax(S, 2, random_state=0), graph=S, random_state=0)
        print(found.cut_value)
        """
    )
    cleared = {"XDG_CACHE_HOME", "NUMBA_CACHE_DIR", "PYTHONPATH"}
    environment = {key: value for key, value in os.environ.items() if key not in cleared}
    environment |= {"HOME": "/proc/nowhere", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd="/"
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("could not be saved") == 1
    assert f"{package}/kernels/__pycache__ or /proc/nowhere" in done.stderr
    assert float(done.stdout) == pytest.approx(1 / 6)

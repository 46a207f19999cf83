"""Architecture: allowed imports, validation of graphs, and the cost of an import."""

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
"""Modules that every package may import."""

PROBLEM = {"graph", "problem", "constraints", "feasibility", "reductions", "distance_check"}
BELOW: dict[str, set[str]] = {
    **dict.fromkeys(SHARED, SHARED),
    "kernels": SHARED,
    **{key: {*PROBLEM, "kernels"} for key in PROBLEM},
    "affinity": {*PROBLEM, "kernels", "spectral", "multilevel"},
    "spectral": {*PROBLEM, "kernels"},
    "multilevel": {*PROBLEM, "kernels", "spectral"},
    "bounds": {*PROBLEM, "kernels", "spectral", "multilevel"},
    "anchors": {*PROBLEM, "kernels", "affinity", "spectral", "multilevel", "bounds"},
    "multiview": {*PROBLEM, "kernels", "spectral", "multilevel"},
    "estimators": {
        *PROBLEM,
        *("affinity", "spectral", "multilevel", "bounds", "anchors", "multiview", "integrations"),
    },
    "comparison": {*PROBLEM, "spectral", "multilevel"},
    "io": {"integrations"},
    "integrations": {*PUBLIC, *PROBLEM, "anchors", "multilevel", "affinity", "estimators"},
    "plot": {*PUBLIC, *PROBLEM},
    "report": {*PUBLIC, "plot"},
    "cli": {*PUBLIC, *PROBLEM, "__version__", "io", "report", "comparison", "affinity", "kernels"},
    "__main__": {"cli"},
}
"""Further packages that each package and top-level module may import."""

UPWARDS = {
    "leastcut.graph": {"integrations"},
    "leastcut.multilevel.partition": {"bounds"},
    "leastcut.multilevel.cut_path": {"plot", "report"},
    "leastcut.multiview.problem": {"report"},
    "leastcut.estimators.base": {"plot"},
    "leastcut.results": {"plot", "report"},
}
"""Exceptions: imports inside functions, from higher packages."""

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
"""The packages that may import a third-party package."""


def package_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_imports_go_downwards(path):
    package = package_of(path)
    inside = {name.split(".")[1] for name in imports_of(path) if name.startswith("leastcut.")}
    assert inside <= {package, *SHARED, *BELOW[package], *UPWARDS.get(module_of(path), set())}


def test_there_are_no_import_cycles():
    graph = {module: modules_imported(path) for module, path in MODULES.items()}
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(f"modules import one another: {' <- '.join(error.args[1])}")


@pytest.mark.parametrize("package", THIRD_PARTIES)
def test_third_party_packages_are_imported_only_where_allowed(package):
    users = {
        package_of(path)
        for path in FILES
        if any(name.split(".")[0] == package for name in imports_of(path))
    }
    assert users <= THIRD_PARTIES[package]


def test_discretizers_do_not_use_the_graph_and_only_kmeans_uses_sklearn():
    for path in (SOURCE / "spectral" / "discretizers").glob("*.py"):
        names = imports_of(path)
        packages = {name.split(".")[1] for name in names if name.startswith("leastcut.")}
        if path.name != "discretize.py":
            assert not packages & PROBLEM
        if path.name != "kmeans.py":
            assert not any(name.startswith("sklearn") for name in names)


def test_no_top_level_module_has_the_name_of_a_public_function():
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
def test_imports_from_the_package_exist(path):
    """Includes imports inside functions of benchmarks, which no test calls."""
    for name in (name for name in imports_of(path) if name.startswith("leastcut.")):
        owner, _, attribute = name.rpartition(".")
        if name not in MODULES:
            assert hasattr(importlib.import_module(owner), attribute), name


# -- validation of graphs


class Visits:
    """Count calls of functions of leastcut in the current thread, by code object."""

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
def test_a_fit_does_not_validate_its_own_graph(name):
    X, settings = FITS[name]
    model = leastcut.SpectralClustering(5, random_state=0, **settings)
    model.fit(X)  # imports and compiles
    with Visits() as visits:
        model.fit(X)
    # Neighbor graphs of leastcut are symmetric and positive by construction.
    assert visits.validations == (1 if settings.get("affinity") == "rbf" else 0)


def test_auto_and_wide_embeddings_do_not_validate_their_graph():
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
def test_attributes_of_a_fit_do_not_validate_its_graph(name):
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


# -- imports


def test_import_is_light():
    heavy = ["numba", "matplotlib", "pandas", "sklearn", "scipy", "numpy", "dask"]
    code = f"import sys, leastcut; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_partition_imports_no_slow_package():
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
    """Without a writable cache folder, results are correct and one warning is issued."""
    package = tmp_path / "leastcut"
    shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").touch()  # a file of this name prevents even root from writing
    code = textwrap.dedent(
        f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        import numpy as np, leastcut
        assert leastcut.__file__.startswith({str(package)!r})
        S = np.kron(np.eye(2), np.ones((3, 3))) + 0.1
        result = leastcut.discretize(leastcut.relax(S, 2, random_state=0), graph=S, random_state=0)
        print(result.cut_value)
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

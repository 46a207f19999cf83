"""Every public name says what it takes and returns, and shows an example that runs.

The examples themselves run as doctests of the modules they stand in.
"""

from __future__ import annotations

import doctest
import inspect

import pytest
from docs import from_the_source
from imports import PUBLIC
from numpydoc.validate import validate

import leastcut

FUNCTIONS = [name for name in sorted(PUBLIC) if inspect.isfunction(getattr(leastcut, name))]
CLASSES = [name for name in sorted(PUBLIC) if inspect.isclass(getattr(leastcut, name))]
METHODS = [
    f"{name}.{method}"
    for name in CLASSES
    for method, member in vars(getattr(leastcut, name)).items()
    if inspect.isfunction(member) and not method.startswith("_")
]
OTHERS = PUBLIC - {*FUNCTIONS, *CLASSES}

MISTAKES = {
    "GL08": "no docstring",
    "SS01": "no summary",
    "SS06": "summary on more than one line",
    "PR01": "parameters that are not documented",
    "PR02": "documented parameters that do not exist",
    "PR03": "parameters in another order",
    "PR04": "a parameter without a type",
    "PR07": "a parameter without a description",
    "RT01": "no Returns section",
}
"""What numpydoc must not find."""


def mistakes(name: str) -> list[str]:
    errors = validate(f"leastcut.{name}")["errors"]
    return [f"{name}: {text}" for code, text in errors if code in MISTAKES]


def test_every_public_name_is_covered():
    modules = {"dask", "plot", "scanpy"}
    registries = {"AFFINITIES", "CUTS", "DISCRETIZERS", "EFFORTS", "EIGENSOLVERS"}
    assert modules | registries == OTHERS


@pytest.mark.parametrize("name", [*FUNCTIONS, *(f"plot.{name}" for name in leastcut.plot.PLOTS)])
def test_functions_document_parameters_and_returns(name):
    assert mistakes(name) == []


@pytest.mark.parametrize("name", [*FUNCTIONS, *CLASSES])
def test_public_objects_have_an_example(name):
    examples = doctest.DocTestFinder(recurse=False).find(getattr(leastcut, name), name)
    assert any(test.examples for test in examples)


@pytest.mark.parametrize("name", METHODS)
def test_methods_have_docstrings(name):
    assert not {"GL08", "SS01"} & {code for code, _ in validate(f"leastcut.{name}")["errors"]}


@pytest.mark.parametrize("kind", ["", "Anchor", "MultiView"])
def test_estimators_document_their_parameters_and_attributes(kind):
    name = f"{kind}SpectralClustering"
    assert mistakes(name) == []
    for method in ("fit", "predict", "transform", "score", "certify"):
        assert mistakes(f"{name}.{method}") == []
    lines = inspect.getdoc(getattr(leastcut, name)).splitlines()  # indented alike in every Python
    documented = {one for line in lines for one in line.partition(" : ")[0].split(", ")}
    assert {"labels_", "lower_bound_", "gap_", "eigenvalues_", "embedding_"} <= documented
    assert {"n_clusters_", "cut_value_", "solver_", "n_iter_", "n_features_in_"} <= documented
    assert ("cut_path_" in documented) == (kind != "MultiView")


def test_pages_show_the_current_source_and_every_name():
    extending, names = (path.read_text(encoding="utf-8") for path in from_the_source.PAGES)
    assert extending.count("<!-- source: ") == 2
    assert names.count("<!-- names: ") == len(from_the_source.REGISTRIES)
    for page in (extending, names):
        assert from_the_source.renewed(page) == page

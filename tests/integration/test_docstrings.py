"""Docstrings of public objects: sections, parameters, examples, links and private names.

The examples are run as doctests of their modules.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import inspect
import pkgutil
import re
from functools import cached_property

import pytest
from docs import from_the_source
from imports import FILES, PUBLIC
from numpydoc.docscrape import NumpyDocString
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
PLOTS = [f"plot.{name}" for name in leastcut.plot.PLOTS]
OBJECTS = [*FUNCTIONS, *CLASSES, *PLOTS, "scanpy.cut", "dask.AnchorSpectralClustering"]

PRIVATE = {
    node.name
    for path in FILES
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    if isinstance(node, ast.ClassDef)
} - PUBLIC
"""The names of all classes of the package that are not public."""

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
"""Errors of numpydoc that are not accepted."""


def mistakes(name: str) -> list[str]:
    errors = validate(f"leastcut.{name}")["errors"]
    return [f"{name}: {text}" for code, text in errors if code in MISTAKES]


def test_every_public_name_is_covered():
    modules = {"dask", "plot", "scanpy"}
    registries = {"AFFINITIES", "CUTS", "DISCRETIZERS", "EFFORTS", "EIGENSOLVERS"}
    assert modules | registries == OTHERS


def public_object(name: str) -> object:
    """Return a public object by its name within the package."""
    one = leastcut
    for attribute in name.split("."):
        one = getattr(one, attribute)
    return one


def docstrings(name: str) -> dict[str, str]:
    """Return the docstrings of an object and, for a class, of its public methods and properties."""
    one = public_object(name)
    members = {name: one}
    if inspect.isclass(one):
        for attribute in dir(one):
            member = inspect.getattr_static(one, attribute)
            if isinstance(member, property | cached_property):
                member = member.fget if isinstance(member, property) else member.func
            module = str(getattr(member, "__module__", ""))
            if not attribute.startswith("_") and module.startswith("leastcut"):
                members[f"{name}.{attribute}"] = member
    return {label: inspect.getdoc(member) or "" for label, member in members.items()}


def exists(name: str, scope: str) -> bool:
    """Return whether a name of a See Also section exists in the scope, the package or elsewhere."""
    for full in (f"leastcut.{scope}.{name}", f"leastcut.{name}", name):
        with contextlib.suppress(ImportError, AttributeError, ValueError):
            pkgutil.resolve_name(full)
            return True
    return False


def private_names(docstring: str) -> set[str]:
    """Return the private classes that a docstring mentions as types or as code."""
    sections = NumpyDocString(docstring)
    types = [
        entry.type for key in ("Parameters", "Attributes", "Returns") for entry in sections[key]
    ]
    code = re.findall(r"`([^`\n]+)`", docstring)
    return PRIVATE & set(re.findall(r"\w+", " ".join([*types, *code])))


@pytest.mark.parametrize("name", OBJECTS)
def test_public_objects_have_notes_and_links_that_exist(name):
    sections = NumpyDocString(inspect.getdoc(public_object(name)))
    assert sections["Notes"]
    linked = [link for links, _ in sections["See Also"] for link, _ in links]
    assert linked
    assert [link for link in linked if not exists(link, name.rpartition(".")[0])] == []


@pytest.mark.parametrize("name", OBJECTS)
def test_public_objects_do_not_mention_private_classes(name):
    mentions = {label: private_names(text) for label, text in docstrings(name).items()}
    assert {label: names for label, names in mentions.items() if names} == {}


@pytest.mark.parametrize("name", [*FUNCTIONS, *PLOTS])
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

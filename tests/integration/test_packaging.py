"""What is handed out: wheel, source archive, their metadata, the recipe and the citation."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import leastcut

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RECIPE = ROOT / "packaging" / "conda" / "recipe.yaml"
CONDA_NAMES = {"matplotlib": "matplotlib-base", "torch": "pytorch"}
"""Packages whose names differ there."""

NOT_FOR_USERS = {"docs", "bench", "test", "paper"}
"""Extras for work in the repository."""

SUFFIXES = {".py", ".pyi", ".typed", ".html", ".css"}
"""Kinds of files that a package may have: no data, no caches."""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return the names in the wheel and in the source archive, and the metadata of the wheel."""
    pytest.importorskip("hatchling")
    pytest.importorskip("hatch_fancy_pypi_readme")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    (archive,) = folder.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as file:
        in_wheel = file.namelist()
        (metadata,) = (name for name in in_wheel if name.endswith("METADATA"))
        told = Parser().parsestr(file.read(metadata).decode())
    with tarfile.open(archive) as file:
        in_archive = [name.partition("/")[2] for name in file.getnames()]
    return in_wheel, in_archive, told


def sources() -> set[str]:
    """Return the files of the package, as Git would add them."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "src"],
        cwd=ROOT, check=False, capture_output=True, text=True,
    )  # fmt: skip
    if listed.returncode:
        pytest.skip("not a clone")
    names = listed.stdout.splitlines()
    return {name.removeprefix("src/") for name in names if (ROOT / name).exists()}


def test_the_wheel_has_the_package_and_nothing_else(built):
    in_wheel, _, _ = built
    package = {name for name in in_wheel if ".dist-info/" not in name}
    assert package == sources()
    assert "leastcut/py.typed" in package
    assert {Path(name).suffix for name in package} <= SUFFIXES


def test_the_reproduction_of_the_paper_is_in_the_repository_only(built):
    in_wheel, in_archive, _ = built
    assert (ROOT / "reproduction" / "__main__.py").exists()
    assert not any("reproduction" in name for name in (*in_wheel, *in_archive))
    assert not any("paper" in name for name in (*in_wheel, *in_archive))


def test_the_source_archive_builds_the_same_and_has_no_records(built):
    _, in_archive, _ = built
    beside = {name for name in in_archive if not name.startswith("src/")}
    assert {name.removeprefix("src/") for name in set(in_archive) - beside} == sources()
    expected = {"README.md", "CHANGELOG.md", "CITATION.cff", "LICENSE", "pyproject.toml"}
    assert beside == {*expected, "PKG-INFO", ".gitignore"}


def test_links_of_the_readme_work_on_a_package_index(built):
    text = built[2].get_payload()
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    assert len(targets) > 10
    home = PROJECT["urls"]["Homepage"]
    raw = home.replace("github.com", "raw.githubusercontent.com")
    for target in targets:
        assert target.startswith((f"{home}/blob/main/", f"{raw}/main/"))
        path = target.partition("/main/")[2]
        assert (ROOT / path).exists(), path


def test_metadata_tell_versions_and_extras(built):
    told = built[2]
    assert told["Version"] == leastcut.__version__
    oldest = PROJECT["requires-python"].removeprefix(">=")
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(told.get_all("Classifier")))
    assert versions[0] == oldest
    assert len(versions) == 3
    assert set(told.get_all("Provides-Extra")) == set(PROJECT["optional-dependencies"])


# -- the recipe


def requirement(text: str) -> tuple[str, str]:
    """Return the name and the version of a requirement, however it is spaced."""
    name, bound = re.fullmatch(r"([\w.-]+)(?:\[.*\])?\s*(.*)", text).groups()
    return CONDA_NAMES.get(name, name).lower(), bound


def test_the_recipe_requires_what_the_project_does():
    yaml = pytest.importorskip("yaml")
    recipe = yaml.safe_load(RECIPE.read_text(encoding="utf-8"))
    needs = recipe["requirements"]
    run = dict(requirement(text) for text in needs["run"] if not text.startswith("python "))
    assert run == dict(map(requirement, PROJECT["dependencies"]))
    optional = {
        requirement(text)
        for extra, texts in PROJECT["optional-dependencies"].items()
        if extra not in NOT_FOR_USERS
        for text in texts
        if not text.startswith("leastcut[")
    }
    assert set(map(requirement, needs["run_constraints"])) == optional
    built_by = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]
    assert set(needs["host"][2:]) == set(built_by["requires"])
    assert recipe["context"]["version"] == leastcut.__version__
    assert f">={recipe['context']['python_min']}" == PROJECT["requires-python"]
    assert recipe["about"]["summary"] == PROJECT["description"]


def test_the_citation_is_of_this_project():
    yaml = pytest.importorskip("yaml")
    told = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert told["title"] == PROJECT["name"]
    assert told["license"] == PROJECT["license"]
    assert told["version"] == leastcut.__version__
    assert told["abstract"].strip() == PROJECT["description"] + "."
    assert told["preferred-citation"]["doi"] == "10.1109/TNNLS.2023.3309871"

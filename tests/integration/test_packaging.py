"""Distributions: wheel, source archive, metadata, conda recipe and citation."""

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
"""Packages with other names on conda-forge."""

NOT_FOR_USERS = {"docs", "bench", "test", "paper"}
"""Extras for working in the repository."""

SUFFIXES = {".py", ".pyi", ".typed", ".html", ".css"}
"""Allowed file extensions: no data, no caches."""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return the files of the wheel and of the source archive, and the metadata of the wheel."""
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
        parsed = Parser().parsestr(file.read(metadata).decode())
    with tarfile.open(archive) as file:
        in_archive = [name.partition("/")[2] for name in file.getnames()]
    return in_wheel, in_archive, parsed


def sources() -> set[str]:
    """Return the files of the package that Git does not ignore."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "src"],
        cwd=ROOT, check=False, capture_output=True, text=True,
    )  # fmt: skip
    if listed.returncode:
        pytest.skip("not a clone")
    names = listed.stdout.splitlines()
    return {name.removeprefix("src/") for name in names if (ROOT / name).exists()}


def test_the_wheel_contains_only_the_package(built):
    in_wheel, _, _ = built
    package = {name for name in in_wheel if ".dist-info/" not in name}
    assert package == sources()
    assert "leastcut/py.typed" in package
    assert {Path(name).suffix for name in package} <= SUFFIXES


def test_the_reproduction_of_the_paper_is_not_distributed(built):
    in_wheel, in_archive, _ = built
    assert (ROOT / "reproduction" / "__main__.py").exists()
    assert not any("reproduction" in name for name in (*in_wheel, *in_archive))
    assert not any("paper" in name for name in (*in_wheel, *in_archive))


def test_the_source_archive_contains_the_package_but_no_records(built):
    _, in_archive, _ = built
    others = {name for name in in_archive if not name.startswith("src/")}
    assert {name.removeprefix("src/") for name in set(in_archive) - others} == sources()
    expected = {"README.md", "CHANGELOG.md", "CITATION.cff", "LICENSE", "pyproject.toml"}
    assert others == {*expected, "PKG-INFO", ".gitignore"}


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


def test_the_metadata_contain_versions_and_extras(built):
    metadata = built[2]
    assert metadata["Version"] == leastcut.__version__
    oldest = PROJECT["requires-python"].removeprefix(">=")
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(metadata.get_all("Classifier")))
    assert versions[0] == oldest
    assert len(versions) == 3
    assert set(metadata.get_all("Provides-Extra")) == set(PROJECT["optional-dependencies"])


# -- conda recipe and citation


def requirement(text: str) -> tuple[str, str]:
    """Return the name and the version of a requirement."""
    name, bound = re.fullmatch(r"([\w.-]+)(?:\[.*\])?\s*(.*)", text).groups()
    return CONDA_NAMES.get(name, name).lower(), bound


def test_the_recipe_has_the_requirements_of_the_project():
    yaml = pytest.importorskip("yaml")
    recipe = yaml.safe_load(RECIPE.read_text(encoding="utf-8"))
    required = recipe["requirements"]
    run = dict(requirement(text) for text in required["run"] if not text.startswith("python "))
    assert run == dict(map(requirement, PROJECT["dependencies"]))
    optional = {
        requirement(text)
        for extra, texts in PROJECT["optional-dependencies"].items()
        if extra not in NOT_FOR_USERS
        for text in texts
        if not text.startswith("leastcut[")
    }
    assert set(map(requirement, required["run_constraints"])) == optional
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]
    assert set(required["host"][2:]) == set(build["requires"])
    assert recipe["context"]["version"] == leastcut.__version__
    assert f">={recipe['context']['python_min']}" == PROJECT["requires-python"]
    assert recipe["about"]["summary"] == PROJECT["description"]


def test_the_citation_agrees_with_the_project():
    yaml = pytest.importorskip("yaml")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["title"] == PROJECT["name"]
    assert citation["license"] == PROJECT["license"]
    assert citation["version"] == leastcut.__version__
    assert citation["abstract"].strip() == PROJECT["description"] + "."
    assert citation["preferred-citation"]["doi"] == "10.1109/TNNLS.2023.3309871"

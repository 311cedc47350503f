"""The wheel: its contents, and its use outside the repository."""

import ast
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from found import at_least

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# Messages of pip when it cannot download hatchling, as opposed to a failure of hatchling.
UNREACHABLE = (
    "No matching distribution found", "Could not find a version", "Connection", "ConnectTimeout", "ReadTimeout",
    "Temporary failure", "Name or service not known", "No module named pip",
)  # fmt: skip


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build(tmp_path_factory.mktemp("wheel"))


def build(folder):
    """Build the wheel in isolation, as pip does for users."""
    command = [sys.executable, "-m", "pip", "wheel", str(ROOT), "--no-deps", "--quiet", "--wheel-dir", str(folder)]
    built = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    if built.returncode != 0 and any(reason in built.stderr for reason in UNREACHABLE):
        pytest.skip(f"the build backend cannot be fetched: {built.stderr.strip().splitlines()[-1]}")
    assert built.returncode == 0, built.stderr
    (path,) = folder.glob("*.whl")
    return path


def test_changelog_and_citation_are_of_this_version():
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## (\S+)", changes, re.MULTILINE)[1] == PROJECT["version"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (\S+)$", citation, re.MULTILINE)[1] == PROJECT["version"]
    assert re.search(r"^license: (\S+)$", citation, re.MULTILINE)[1] == PROJECT["license"]


@pytest.mark.deep
def test_the_same_source_makes_the_same_wheel(wheel, tmp_path):
    assert build(tmp_path).read_bytes() == wheel.read_bytes()


@pytest.fixture(scope="module")
def names(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def unpacked(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture
def python(unpacked, tmp_path):
    """Return a function that runs Python with the unpacked wheel first on its path.

    The working folder is outside the repository.
    """

    def run(*arguments):
        environment = {**os.environ, "PYTHONPATH": str(unpacked), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, *arguments]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    return run


DISTRIBUTIONS = {"sklearn": "scikit-learn", "pydantic_core": "pydantic"}


def required(lines):
    """Return the distributions required without extras, in lower case."""
    return {re.split(r"[<>=!~; \[]", line)[0].lower() for line in lines if "extra ==" not in line}


def files_below(folder):
    return [path for path in sorted((ROOT / folder).rglob("*")) if path.is_file() and "__pycache__" not in path.parts]


def modules():
    return at_least(380, (path for path in files_below("reidsim") if path.suffix == ".py"))


def test_the_package_requires_every_distribution_that_it_imports():
    imported = set()
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                imported.add(node.module.partition(".")[0])
    assert {"numpy", "numba", "pandas", "scipy", "typer"} <= imported
    extras = {name for lines in PROJECT["optional-dependencies"].values() for name in required(lines)}
    # Some distributions have a name that differs from their module.
    foreign = {DISTRIBUTIONS.get(name, name).lower() for name in imported - set(sys.stdlib_module_names)}
    foreign -= {"reidsim", "__future__"}
    assert foreign <= required(PROJECT["dependencies"]) | extras


@pytest.mark.deep
@pytest.mark.parametrize("folder", ["scenarios", "populations"])
def test_the_wheel_holds_every_bundled_file_as_it_is(wheel, folder):
    files = at_least({"scenarios": 22, "populations": 35}[folder], files_below(folder))
    with zipfile.ZipFile(wheel) as archive:
        for path in files:
            name = f"reidsim/bundled/{path.relative_to(ROOT).as_posix()}"
            assert archive.read(name) == path.read_bytes()


@pytest.mark.deep
def test_the_wheel_holds_every_module(names):
    assert {path.relative_to(ROOT).as_posix() for path in modules()} <= names


@pytest.mark.deep
def test_the_wheel_holds_nothing_but_the_package(names):
    top = {name.partition("/")[0] for name in names}
    assert [folder for folder in top if folder != "reidsim" and not folder.endswith(".dist-info")] == []
    assert not [name for name in names if "__pycache__" in name or name.endswith((".pyc", ".nbi", ".nbc"))]


@pytest.mark.deep
def test_the_wheel_says_what_it_needs_and_has_a_command_and_a_licence(wheel, names):
    (info,) = {name.partition("/")[0] for name in names if ".dist-info/" in name}
    with zipfile.ZipFile(wheel) as archive:
        metadata = Parser().parsestr(archive.read(f"{info}/METADATA").decode())
        entry_points = archive.read(f"{info}/entry_points.txt").decode()
    assert metadata["Name"] == "reidsim"
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert required(metadata.get_all("Requires-Dist")) == required(PROJECT["dependencies"])
    assert "reidsim = reidsim.__main__:main" in entry_points
    assert f"{info}/licenses/LICENSE" in names


@pytest.mark.deep
def test_the_unpacked_wheel_lists_what_comes_with_it(python):
    done = python("-m", "reidsim", "list")
    assert (done.returncode, done.stderr) == (0, "")
    for name in ("wan2015", "adult", "tennessee-2010"):
        assert name in done.stdout


@pytest.mark.deep
def test_the_unpacked_wheel_can_use_everything_that_comes_with_it(python):
    done = python("-m", "reidsim", "check", "wan2015")
    assert (done.returncode, done.stderr) == (0, "")
    assert "32,561 records" in done.stdout
    assert "288 strategies" in done.stdout

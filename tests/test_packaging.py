"""The wheel: its contents, and its use outside the repository."""

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
    """Build the wheel in isolation, as pip does for users."""
    folder = tmp_path_factory.mktemp("wheel")
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


def required(lines):
    """Return the distributions required without extras, in lower case."""
    return {re.split(r"[<>=!~; \[]", line)[0].lower() for line in lines if "extra ==" not in line}


def files_below(folder):
    return [path for path in sorted((ROOT / folder).rglob("*")) if path.is_file() and "__pycache__" not in path.parts]


@pytest.mark.deep
def test_the_wheel_holds_the_package_its_bundled_files_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        for folder, number in (("scenarios", 22), ("populations", 35)):
            for path in at_least(number, files_below(folder)):
                assert archive.read(f"reidsim/bundled/{path.relative_to(ROOT).as_posix()}") == path.read_bytes()
        (info,) = {name.partition("/")[0] for name in names if ".dist-info/" in name}
        metadata = Parser().parsestr(archive.read(f"{info}/METADATA").decode())
        entry_points = archive.read(f"{info}/entry_points.txt").decode()
    modules = {path.relative_to(ROOT).as_posix() for path in files_below("reidsim") if path.suffix == ".py"}
    assert {name for name in names if name.endswith(".py")} == modules
    assert {name.partition("/")[0] for name in names} == {"reidsim", info}
    assert not [name for name in names if "__pycache__" in name or name.endswith((".pyc", ".nbi", ".nbc"))]
    assert metadata["Name"] == "reidsim"
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert required(metadata.get_all("Requires-Dist")) == required(PROJECT["dependencies"])
    assert "reidsim = reidsim.__main__:main" in entry_points
    assert f"{info}/licenses/LICENSE" in names


@pytest.mark.deep
@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (["list"], ["wan2015", "adult", "tennessee-2010"]),
        (["check", "wan2015"], ["32,561 records", "288 strategies"]),
    ],
)
def test_the_unpacked_wheel_can_be_used_outside_the_repository(wheel, tmp_path, arguments, printed):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "unpacked")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "unpacked"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "reidsim", *arguments]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(text in done.stdout for text in printed)

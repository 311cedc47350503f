"""A module imports only from its own layer and lower layers; see CONTRIBUTING.md."""

import ast
import re
from pathlib import Path

import pytest
from found import at_least

REPOSITORY = Path(__file__).resolve().parents[1]
PACKAGE = REPOSITORY / "reidsim"


def floors():
    """Return the layer of each part from the table in CONTRIBUTING.md."""
    found = {}
    for row in re.findall(r"^\| (\d) \| (.*?) \|", (REPOSITORY / "CONTRIBUTING.md").read_text(), re.MULTILINE):
        for name in re.findall(r"`([a-z]+)(?:/|\.py)`", row[1]):
            found[name] = int(row[0])
    at_least(13, found)
    return found


FLOORS = floors()
PARTS = at_least(24, sorted({path.relative_to(PACKAGE).parts[0] for path in PACKAGE.rglob("*.py")}))


def part_of(module):
    return module.split(".")[1] if module.count(".") else ""


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("reidsim"):
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("reidsim."))


def test_every_folder_has_a_floor():
    folders = {name for name in PARTS if (PACKAGE / name).is_dir()}
    assert folders - {"bundled"} <= set(FLOORS)


@pytest.mark.parametrize("part", sorted(FLOORS))
def test_nothing_is_imported_from_a_floor_above(part):
    folder = PACKAGE / part
    # The smallest folder has 4 modules.
    paths = at_least(4, folder.rglob("*.py")) if folder.is_dir() else [PACKAGE / f"{part}.py"]
    above = [
        f"{path.relative_to(REPOSITORY)} imports {module}"
        for path in paths
        for module in imports(path)
        if FLOORS.get(part_of(module), 0) > FLOORS[part]
    ]
    assert above == []


KINDS = at_least(3, sorted(path.name for path in (PACKAGE / "kinds").iterdir() if (path / "kind.py").is_file()))


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_do_not_import_each_other(kind):
    others = tuple(f"reidsim.kinds.{other}." for other in KINDS if other != kind)
    paths = at_least(8, (PACKAGE / "kinds" / kind).rglob("*.py"))
    assert [str(path) for path in paths for module in imports(path) if module.startswith(others)] == []


@pytest.mark.parametrize("part", ["agents", "games", "scenarios", "kinds", "engine"])
def test_what_runs_does_not_wait_for_what_draws(part):
    """Functions that draw import the figure modules; module headers never do."""
    paths = [path for path in (PACKAGE / part).rglob("*.py") if "figures" not in (path.parent.name, path.stem)]
    drawing = [
        f"{path.relative_to(REPOSITORY)}: {ast.unparse(node)}"
        for path in at_least(8, paths)
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.Import | ast.ImportFrom) and re.search(r"matplotlib|\bfigures\b", ast.unparse(node))
    ]
    assert drawing == []

"""Every benchmark can be imported, and the names that it uses from reidsim exist.

Benchmarks are run by hand, so nothing else notices a name that has moved.
"""

import ast
import importlib
import importlib.util
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "benchmarks"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))


def trees_of(source):
    """Yield the syntax tree of a program and of the programs in its strings."""
    tree = ast.parse(source)
    yield tree
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "import" in node.value:
            try:
                yield ast.parse(node.value)
            except SyntaxError:
                continue


def names_used(source):
    """Return the modules and names of reidsim that a program uses, as pairs."""
    used = set()
    for tree in trees_of(source):
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "reidsim":
                used |= {(node.module, alias.name) for alias in node.names}
            elif isinstance(node, ast.Import):
                used |= {(alias.name, "") for alias in node.names if alias.name.partition(".")[0] == "reidsim"}
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "reidsim":
                used.add(("reidsim", node.attr))
    return used


def exists(module, name):
    found = importlib.import_module(module)
    if not name or hasattr(found, name):
        return True
    try:
        importlib.import_module(f"{module}.{name}")
    except ModuleNotFoundError:
        return False
    return True


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_can_be_imported_and_its_names_exist(name, monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    # Some benchmarks have the name of a folder of tests.
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look up their module.
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    used = names_used((FOLDER / f"{name}.py").read_text(encoding="utf-8"))
    assert [pair for pair in sorted(used) if not exists(*pair)] == []

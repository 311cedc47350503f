"""Imports of the package: no cycles, layers of CONTRIBUTING.md, distributions."""

import ast
import gc
import re
import subprocess
import sys
import tomllib
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest
from found import at_least

REPOSITORY = Path(__file__).resolve().parents[1]
PACKAGE = REPOSITORY / "reidsim"
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# The package's top module lists the public names; other modules import only its version.
FRONT = "reidsim"
DISTRIBUTIONS = {"sklearn": "scikit-learn", "pydantic_core": "pydantic"}


def name_of(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


class Import(NamedTuple):
    """An import: module, imported names, whether for type checking only, whether in the module's header."""

    module: str
    names: tuple[str, ...]
    typing: bool
    header: bool


@pytest.fixture(scope="module")
def found():
    """Return the imports of each module of the package by its path."""
    gc.disable()  # the collector would visit every node of every tree
    try:
        paths = at_least(120, sorted(PACKAGE.rglob("*.py")))
        return {path: list(imports(ast.parse(path.read_text(encoding="utf-8")))) for path in paths}
    finally:
        gc.enable()


def imports(tree):
    """Yield the imports of a module, wherever they stand."""
    left = [(node, False, True) for node in tree.body]
    while left:
        node, typing, header = left.pop()
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, (), typing, header) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield Import(node.module, tuple(alias.name for alias in node.names), typing, header)
        elif isinstance(node, ast.If):
            typing = typing or "TYPE_CHECKING" in ast.dump(node.test)
            left += [(child, typing, False) for child in node.body + node.orelse]
        elif not isinstance(node, ast.Expr | ast.Assign | ast.Return):
            left += [
                (n, typing, False) for n in ast.iter_child_nodes(node) if not isinstance(n, ast.expr | ast.arguments)
            ]


def imported(of_module, known):
    """Return the known modules among imports, except imports for type checking only."""
    modules = set()
    for each in of_module:
        if not each.typing:
            whole = {f"{each.module}.{name}" for name in each.names} & known
            modules |= whole or {each.module} & known
    return modules


def cycle_in(graph):
    """Return the modules of an import cycle in order, or an empty list."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_no_module_imports_itself_through_others(found):
    known = {name_of(path) for path in found} - {FRONT}
    graph = {name_of(path): imported(each, known) - {name_of(path)} for path, each in found.items()}
    at_least(1000, [edge for edges in graph.values() for edge in edges])
    assert cycle_in({name: edges for name, edges in graph.items() if name != FRONT}) == []


def layers():
    """Return the layer of each part from the table in CONTRIBUTING.md."""
    rows = re.findall(r"^\| (\d) \| (.*?) \|", (REPOSITORY / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    found = {name: int(number) for number, row in rows for name in re.findall(r"`([a-z]+)(?:/|\.py)`", row)}
    at_least(13, found)
    return found


def test_nothing_is_imported_from_a_higher_layer(found):
    layer = layers()
    folders = at_least(12, {path.name for path in PACKAGE.iterdir() if path.is_dir() and any(path.rglob("*.py"))})
    assert set(folders) - {"bundled"} <= set(layer)
    above = [
        f"{path.relative_to(REPOSITORY)} imports {module}"
        for path, each in found.items()
        if (part := path.relative_to(PACKAGE).with_suffix("").parts[0]) in layer
        for module, *_ in each
        if module.startswith("reidsim.") and layer.get(module.split(".")[1], 0) > layer[part]
    ]
    assert above == []


def test_kinds_do_not_import_each_other(found):
    kinds = at_least(3, sorted(path.name for path in (PACKAGE / "kinds").iterdir() if (path / "kind.py").is_file()))
    for kind in kinds:
        others = tuple(f"reidsim.kinds.{other}." for other in kinds if other != kind)
        paths = at_least(3, [path for path in found if (PACKAGE / "kinds" / kind) in path.parents])
        assert [str(path) for path in paths for module, *_ in found[path] if module.startswith(others)] == []


@pytest.mark.parametrize("part", ["agents", "games", "scenarios", "kinds", "engine"])
def test_modules_that_compute_do_not_import_modules_that_draw(found, part):
    """Functions that draw import the figure modules; module headers never do."""
    paths = [path for path in found if PACKAGE / part in path.parents]
    drawing = [
        f"{path.relative_to(REPOSITORY)} imports {each.module}"
        for path in at_least(6, [path for path in paths if "figures" not in (path.parent.name, path.stem)])
        for each in found[path]
        if each.header and re.search(r"matplotlib|\bfigures\b", " ".join([each.module, *each.names]))
    ]
    assert drawing == []


def test_parts_of_scipy_are_imported_on_first_use(found):
    """A header has ``import scipy``, which imports a part when it is used, because the parts are slow to import."""
    headers = [each.module for of_module in found.values() for each in of_module if each.header]
    assert "scipy" in headers
    assert [module for module in headers if module.startswith("scipy.")] == []


def required(lines):
    """Return the distributions required without extras, in lower case."""
    return {re.split(r"[<>=!~; \[]", line)[0].lower() for line in lines if "extra ==" not in line}


def test_the_package_requires_every_distribution_that_it_imports(found):
    names = {module.partition(".")[0] for each in found.values() for module, *_ in each}
    assert {"numpy", "numba", "pandas", "scipy", "typer"} <= names
    extras = {name for lines in PROJECT["optional-dependencies"].values() for name in required(lines)}
    # Some distributions have a name that differs from their module.
    foreign = {DISTRIBUTIONS.get(name, name).lower() for name in names - set(sys.stdlib_module_names)}
    assert foreign - {"reidsim", "__future__"} <= required(PROJECT["dependencies"]) | extras


# Each module is imported by a process of its own, which has the libraries of its parent.
IMPORT_EACH_FIRST = """
import importlib, os, sys, numba, pandas, pyarrow, pydantic, scipy
for name in sys.argv[1:]:
    if os.fork() == 0:
        importlib.import_module(name)
        sys.exit()
    assert os.wait()[1] == 0, name
"""


@pytest.mark.deep
def test_policies_of_tables_can_be_imported_in_any_order():
    modules = [f"reidsim.kinds.tables.{name}" for name in ("outcomes", "perturbation", "policies", "schema")]
    subprocess.run([sys.executable, "-c", IMPORT_EACH_FIRST, *modules], check=True)

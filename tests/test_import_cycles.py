"""No module imports itself through others, at module level or in a function."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from found import at_least

PACKAGE = Path(__file__).resolve().parents[1] / "reidsim"
# The package's top module lists the public names; other modules import only its version.
FRONT = "reidsim"


def name_of(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(tree, known):
    """Return the imported modules, except imports for type checking only."""
    found, left = set(), [tree]
    while left:
        node = left.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names} & known
        elif isinstance(node, ast.ImportFrom) and node.module:
            whole = {f"{node.module}.{alias.name}" for alias in node.names} & known
            found |= whole or {node.module} & known
        left.extend(ast.iter_child_nodes(node))
    return found


def cycle_in(graph):
    """Return the modules of an import cycle in order, or an empty list."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_no_module_imports_itself_by_way_of_others():
    paths = {name_of(path): path for path in PACKAGE.rglob("*.py")}
    at_least(300, paths)
    known = set(paths) - {FRONT}
    graph = {name: imported(ast.parse(paths[name].read_text()), known) - {name} for name in known}
    at_least(1000, [edge for edges in graph.values() for edge in edges])
    assert cycle_in(graph) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from reidsim.b import x", True),
        ("def f():\n    import reidsim.b", True),
        ("if TYPE_CHECKING:\n    import reidsim.b", False),
        ("import numpy", False),
    ],
)
def test_a_cycle_is_seen_wherever_the_import_stands(text, expected):
    known = {"reidsim.a", "reidsim.b"}
    graph = {"reidsim.a": imported(ast.parse(text), known), "reidsim.b": {"reidsim.a"}}
    assert bool(cycle_in(graph)) is expected

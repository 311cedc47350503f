"""The examples in the docstrings of public names run and print what they show."""

import ast
import doctest
import inspect

import pytest
from tiers import cases

import reidsim

NAMES = sorted(name for name in dir(reidsim) if callable(getattr(reidsim, name)))
# Their examples run bundled scenarios for a second; other tests of the fast tier call them on small files.
LONG = {"cross_play", "load_result", "report", "rerun", "run_batch"}


def examples_of(name):
    documented = inspect.unwrap(getattr(reidsim, name))
    return [test for test in doctest.DocTestFinder(recurse=False).find(documented, name, globs={}) if test.examples]


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_has_an_example_of_names_that_exist(name):
    found = examples_of(name)
    assert found, f"{name} has no example"
    assert "\nSee Also\n" in inspect.getdoc(getattr(reidsim, name)), name
    for example in (example for test in found for example in test.examples):
        for node in ast.walk(ast.parse(example.source)):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "reidsim":
                assert hasattr(reidsim, node.attr), f"{name}: reidsim.{node.attr}"
            if isinstance(node, ast.Call) and ast.unparse(node.func) == f"reidsim.{name}":
                named = {keyword.arg: None for keyword in node.keywords}
                inspect.signature(getattr(reidsim, name)).bind(*node.args, **named)


@pytest.mark.parametrize("name", cases(NAMES, sorted(set(NAMES) - LONG)))
def test_the_example_of_a_public_name_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    for test in examples_of(name):
        said = []
        assert runner.run(test, out=said.append).failed == 0, "".join(said)

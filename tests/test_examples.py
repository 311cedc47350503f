"""The examples in the docstrings of public names run and print what they show."""

import doctest
import inspect

import pytest

import reidsim

NAMES = sorted(name for name in dir(reidsim) if callable(getattr(reidsim, name)))


@pytest.mark.parametrize("name", NAMES)
def test_the_example_of_a_public_name_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    documented = inspect.unwrap(getattr(reidsim, name))
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    found = [test for test in doctest.DocTestFinder(recurse=False).find(documented, name, globs={}) if test.examples]
    assert found, f"{name} has no example"
    assert "\nSee Also\n" in inspect.getdoc(documented), name
    for test in found:
        said = []
        assert runner.run(test, out=said.append).failed == 0, "".join(said)

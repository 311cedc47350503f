"""Record the tests that execute each line of the packages, and find the tests of a line.

    PYTHONPATH=tools python -m pytest -n0 -p mutation_lines --lines lines.db

The file is a data file of coverage.py with a context per test. A JSON file next to it holds the durations of the tests.
"""

from __future__ import annotations

import ast
import json
import re
import time
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

import pytest
from mutation_tests import Tree

# Decorators of functions compiled by numba, of which coverage.py records no line.
_COMPILERS = re.compile(r"\b(njit|compiled|borrowing)\b")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names the file."""
    parser.addoption("--lines", type=Path, help="file for the tests that execute each line")


def pytest_configure(config: pytest.Config) -> None:
    """Start to record."""
    if config.option.lines is not None:
        config.pluginmanager.register(_Recorder(config.option.lines.absolute(), config.rootpath))


class _Recorder:
    def __init__(self, file: Path, root: Path) -> None:
        import coverage  # which the tests do not need otherwise

        self._file, self._seconds = file, dict[str, float]()
        packages = [str(path.parent) for path in root.glob("*/__init__.py")]
        self._coverage = coverage.Coverage(str(file), source=packages, config_file=False)
        self._coverage.erase()
        self._coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._coverage.switch_context(item.nodeid)
        start = time.perf_counter()
        result = yield
        self._seconds[item.nodeid] = time.perf_counter() - start
        return result

    def pytest_unconfigure(self) -> None:
        self._coverage.stop()
        self._coverage.save()
        self._file.with_suffix(".json").write_text(json.dumps(self._seconds), encoding="utf-8")


class Source:
    """A module's statements and functions by line.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self.text = path.read_text(encoding="utf-8")
        self._nodes = [node for node in ast.walk(ast.parse(self.text)) if isinstance(node, ast.stmt)]

    def statement(self, line: int) -> range:
        """Return the lines of the simple statement, or of the head of the compound one, that holds a line."""
        around = [node for node in self._nodes if node.lineno <= line <= (node.end_lineno or 0)]
        if not around:
            return range(line, line + 1)
        inner = min(around, key=lambda node: (node.end_lineno or 0) - node.lineno)
        body = getattr(inner, "body", None)
        return range(inner.lineno, max(line + 1, body[0].lineno if body else (inner.end_lineno or 0) + 1))

    def function(self, line: int) -> ast.FunctionDef | None:
        """Return the innermost function whose body holds a line, if any."""
        around = [
            node
            for node in self._nodes
            if isinstance(node, ast.FunctionDef) and node.body[0].lineno <= line <= (node.end_lineno or 0)
        ]
        return max(around, key=lambda node: node.lineno, default=None)


def is_compiled(function: ast.FunctionDef) -> bool:
    """Return whether numba compiles a function."""
    return any(_COMPILERS.search(ast.unparse(each)) for each in function.decorator_list)


class Lines:
    """The tests that execute each line, as recorded.

    Parameters
    ----------
    file : Path
        The data file.
    tree : Tree
    """

    def __init__(self, file: Path, tree: Tree) -> None:
        import coverage

        self._data = coverage.CoverageData(str(file))
        self._data.read()
        self._tree, self._contexts = tree, dict[Path, dict[int, set[str]]]()
        self.seconds: dict[str, float] = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))

    @cached_property
    def _sources(self) -> dict[Path, Source]:
        return {path: Source(path) for path in self._tree.modules.values()}

    def tests_of(self, module: str, line: int, most: float) -> list[str]:
        """Return the tests that execute a line, quickest first, then other tests of their files, which share fixtures.

        A line of a compiled function has the tests of the callers. A line outside of functions, or one that only child
        processes execute, has the tests in files that import the module, then others that execute some of it.

        Parameters
        ----------
        module : str
        line : int
        most : float
            Duration of all tests, in seconds, unless the first takes longer.
        """
        path = self._tree.modules[module]
        function, found = self._sources[path].function(line), set[str]()
        if function is not None:
            found = self._of_callers(function) if is_compiled(function) else self._executing(path, line)
        files = {test.partition("::")[0] for test in found}
        others = set[str]()
        if not found:
            others = others.union(*self._of(path).values())
            files = {file.relative_to(self._tree.root).as_posix() for file in self._tree.tests_of(module)}
        near = {test for test in self.seconds if test.partition("::")[0] in files}
        chosen, total = list[str](), 0.0
        ordered = self._quickest(found) + self._quickest(near - found) + self._quickest(others - near)
        for test in ordered:
            total += self.seconds[test]
            if total > most and chosen:
                break
            chosen.append(test)
        return chosen

    def _quickest(self, tests: Iterable[str]) -> list[str]:
        return sorted(tests, key=lambda test: (self.seconds[test], test))

    def _of(self, path: Path) -> dict[int, set[str]]:
        if path not in self._contexts:
            found = self._data.contexts_by_lineno(str(path))
            self._contexts[path] = {line: set(tests) & self.seconds.keys() for line, tests in found.items()}
        return self._contexts[path]

    def _executing(self, path: Path, line: int) -> set[str]:
        return set().union(*(self._of(path).get(each, ()) for each in self._sources[path].statement(line)))

    def _of_callers(self, function: ast.FunctionDef) -> set[str]:
        """Return the tests of the lines that name a compiled function, or a compiled function that names it."""
        found, names, new = set[str](), set[str](), [function.name]
        while new:
            name = re.compile(rf"\b{new.pop()}\b")
            names.add(name.pattern)
            for path, source in self._sources.items():
                for line in (number for number, text in enumerate(source.text.splitlines(), 1) if name.search(text)):
                    caller = source.function(line)
                    found |= set() if caller is None else self._executing(path, line)
                    if caller is not None and is_compiled(caller) and rf"\b{caller.name}\b" not in names:
                        new.append(caller.name)
        return found

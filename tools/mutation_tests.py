"""Find the tests that reach a module, from imports alone."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

# With fewer test files, the tests of modules that import the module are added.
_FEW = 2


@dataclass(frozen=True)
class Tree:
    """A source tree: packages at its root, tests in `tests`.

    Parameters
    ----------
    root : Path
        Folder of the repository.
    """

    root: Path
    _seen: dict[Path, frozenset[str]] = field(default_factory=dict)

    @cached_property
    def modules(self) -> dict[str, Path]:
        """Files of the packages by the names under which they are imported."""
        packages = [path.parent for path in self.root.glob("*/__init__.py") if path.parent.name != "tests"]
        found = {}
        for package in packages:
            for path in sorted(package.rglob("*.py")):
                parts = path.relative_to(self.root).with_suffix("").parts
                found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
        return found

    @cached_property
    def tests(self) -> list[Path]:
        """Test files."""
        return sorted((self.root / "tests").rglob("test_*.py"))

    @cached_property
    def _helpers(self) -> dict[str, Path]:
        """Modules that test files share, by the names under which they are imported."""
        settings = self.root / "pyproject.toml"
        content = tomllib.loads(settings.read_text(encoding="utf-8")) if settings.is_file() else {}
        folders = content.get("tool", {}).get("pytest", {}).get("ini_options", {}).get("pythonpath", ["tests"])
        return {
            path.stem: path
            for folder in folders
            for path in sorted((self.root / folder).glob("*.py"))
            if not path.name.startswith("test_") and path.name != "conftest.py"
        }

    @cached_property
    def _homes(self) -> dict[str, str]:
        """Modules from which packages take the names that they offer themselves, by full name."""
        homes = {}
        for name, path in self.modules.items():
            if path.name == "__init__.py":
                for node in ast.walk(_parsed(path)):
                    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                        homes.update({f"{name}.{alias.asname or alias.name}": node.module for alias in node.names})
        return homes

    def imports(self, path: Path) -> frozenset[str]:
        """Return the package modules that a file imports, at any depth; for tests, also through their helpers."""
        if path not in self._seen:
            self._seen[path] = frozenset()  # helpers may import each other
            found = set(self._imports(path))
            if self.root / "tests" in path.parents:
                shared = {self._helpers[name] for name in _names(_parsed(path)) if name in self._helpers}
                for parent in path.parents:
                    if parent == self.root / "tests":
                        break
                    shared |= {parent / "conftest.py"} if (parent / "conftest.py").is_file() else set()
                found.update(*(self.imports(helper) for helper in shared - {path}))
            self._seen[path] = frozenset(found)
        return self._seen[path]

    def _imports(self, path: Path) -> Iterator[str]:
        for name in _names(_parsed(path)):
            if name in self._homes:
                yield self._homes[name]
            # `from a.b import c` names a.b.c, which may be a module or something in a.b.
            elif name in self.modules:
                yield name
            elif (parent := name.rpartition(".")[0]) in self.modules:
                yield parent

    def importers(self, module: str) -> list[str]:
        """Return the modules that import a module, themselves or by way of others."""
        found, new = set(), {module}
        while new:
            new = {name for name in self._direct_importers(new) if name not in found and name != module}
            found |= new
        return sorted(found)

    def _direct_importers(self, modules: Iterable[str]) -> set[str]:
        # A re-exported name belongs to its home module: see `_homes`.
        wanted = set(modules)
        return {
            name for name, path in self.modules.items() if path.name != "__init__.py" and wanted & self.imports(path)
        }

    def tests_of(self, module: str, most: int = 0) -> list[Path]:
        """Return the test files that import a module, and the one named after it whether it does or not.

        That one comes first, the others by how near their folder is to the module's, and then by how little else they
        import. If there is only one, a test of an importer is added.

        Parameters
        ----------
        module : str
        most : int
            How many; 0 for all.
        """
        mirrored = Path("tests", *self.modules[module].relative_to(self.root).parts[1:-1])
        first = self.root / mirrored / f"test_{self.modules[module].stem}.py"
        chosen = [first] if first.is_file() else []
        wanted, reached = {module}, {module}

        def distance(path: Path) -> tuple[int, int]:
            folder = path.relative_to(self.root).parts[:-1]
            shared = sum(1 for one, other in zip(folder, mirrored.parts, strict=False) if one == other)
            return -shared, len(self.imports(path))

        while wanted and len(chosen) < _FEW:
            more = [path for path in self.tests if path not in chosen and wanted & self.imports(path)]
            more.sort(key=distance)
            chosen += more if module in wanted else more[: _FEW - len(chosen)]
            wanted = self._direct_importers(wanted) - reached
            reached |= wanted
        return chosen[: most or None]


def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _names(tree: ast.Module) -> Iterator[str]:
    """Yield full names that a file imports, or takes from a package that it imports whole."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            for alias in node.names:
                yield f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield f"{node.value.id}.{node.attr}"

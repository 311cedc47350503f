"""Registries: the named parts of the package and of installed packages, by name.

A part is registered where it is defined, by a decorator. A registry names the modules that define the parts of the
package once; it imports them when it is first read.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pkgutil import iter_modules
from typing import Any, Generic, TypeVar

from reidsim.errors import InputError, listed, nearest

T = TypeVar("T")
D = TypeVar("D")


class Registry(Mapping[str, T], Generic[T]):
    """Named parts of one sort, in order of registration; a mapping of the parts of the package.

    Parameters
    ----------
    sort : str
        Noun for one part, for error messages.
    group : str
        Entry point group of parts that installed packages provide.
    modules : str
        Modules that register the parts of the package; of a package, every module in its folder.
    """

    def __init__(self, sort: str, group: str, *modules: str) -> None:
        self.sort = sort
        self.group = group
        self._unread = list(modules)
        self._parts: dict[str, T] = {}

    def register(self, name: str) -> Callable[[D], D]:
        """Return the decorator that adds a definition, usually a class, under a name.

        Raises
        ------
        ValueError
            If the name is taken.
        """

        def add(definition: D) -> D:
            if name in self._parts:
                raise ValueError(f"{self.sort} {name!r} is registered twice")
            self._parts[name] = self._entry(name, definition)
            return definition

        return add

    def _entry(self, name: str, part: Any) -> T:
        """Return the entry of a definition: the definition itself."""
        entry: T = part
        return entry

    def __getitem__(self, name: str) -> T:
        return self._own()[name]

    def __contains__(self, name: object) -> bool:
        return name in self._own()

    def __iter__(self) -> Iterator[str]:
        return iter(self._own())

    def __len__(self) -> int:
        return len(self._own())

    @property
    def installed(self) -> dict[str, EntryPoint]:
        """Entry points of installed packages, in order of their names."""
        return installed(self.group)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all parts, those of the package first."""
        return (*self, *(name for name in self.installed if name not in self))

    def unknown(self, name: object, *, where: str | None = None, otherwise: str = "") -> InputError:
        """Return the error of a name that no part has, with the nearest names."""
        names = self.names
        return InputError(
            "value not allowed",
            where=where,
            found=name,
            expected=f"one of {listed(names, 20)}{otherwise}",
            hint=nearest(str(name), names),
        )

    def _own(self) -> dict[str, T]:
        while self._unread:
            for module in _with_folder(self._unread[0]):
                import_module(module)
            del self._unread[:1]
        return self._parts


def installed(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of installed packages in a group, by name."""
    return _installed(group, tuple(sys.path))


@lru_cache(maxsize=8)
def _installed(group: str, path: tuple[str, ...]) -> dict[str, EntryPoint]:
    # Figures look up a kind for each label; another `sys.path` may lead to other packages.
    return {entry.name: entry for entry in sorted(entry_points(group=group), key=lambda entry: entry.name)}


def _with_folder(module: str) -> Iterator[str]:
    """Yield a module, and the modules in its folder if it is a package."""
    yield module
    for found in iter_modules(getattr(sys.modules.get(module), "__path__", ())):
        yield f"{module}.{found.name}"

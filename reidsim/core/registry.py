"""Registries: components of reidsim, of installed packages and of the user, by name.

A decorator registers a component where it is defined. A registry lists the modules that define reidsim's own
components; it imports them when it is first read. Components that a user registers exist in this process only.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pkgutil import iter_modules
from typing import Any, Generic, NamedTuple, TypeVar

from reidsim.core.errors import InputError, not_among

T = TypeVar("T")
D = TypeVar("D")
# A name can be a part of a key path, and cannot be taken for ``module:object``.
_NAME = re.compile(r"[A-Za-z][\w-]*")


class Registered(NamedTuple):
    """A component that the user registered in this process, in place of an entry point.

    Attributes
    ----------
    part : object
        Class, function or object.
    """

    part: Any

    def load(self) -> Any:
        """Return the component."""
        return self.part


# Components that the user registered in this process, by entry point group and name.
_REGISTERED: dict[str, dict[str, Any]] = {}


def registered(group: str) -> Mapping[str, Any]:
    """Return the components that the user registered in this process, by name, in order of registration.

    `group` is the entry point group of the registry.
    """
    return _REGISTERED.get(group, {})


def register(group: str, sort: str, name: str, part: Any, *, is_taken: bool = False) -> None:
    """Register a user's component; it replaces the user's earlier component of the same name.

    Nothing changes if an entry point already gives the name to the component.

    Parameters
    ----------
    group : str
        Entry point group of the registry.
    sort : str
        Noun for one component, for error messages.
    name : str
        Name of the component; it begins with a letter, and has only letters, digits, ``_`` and ``-``.
    part : object
        Class, function or object.
    is_taken : bool
        Whether the name belongs to a component of reidsim.

    Raises
    ------
    InputError
        If the name is not allowed, or belongs to a component of reidsim or of an installed package.
    """
    source = f"@reidsim.{sort}"
    if not (isinstance(name, str) and _NAME.fullmatch(name)):
        expected = "a letter, then letters, digits, _ and -"
        raise InputError("not a name", source=source, found=name, expected=expected)
    entry = _installed(group, tuple(sys.path)).get(name)
    if entry is not None and entry.value == f"{getattr(part, '__module__', '')}:{getattr(part, '__qualname__', '')}":
        return
    if is_taken or entry is not None:
        problem = f"a {sort} of this name exists and cannot be replaced"
        raise InputError(problem, source=source, found=name, expected="another name")
    _REGISTERED.setdefault(group, {})[name] = part


class Registry(Mapping[str, T], Generic[T]):
    """Mapping of names to components, in order of registration.

    The mapping contains only reidsim's own components.

    Parameters
    ----------
    sort : str
        Noun for one component, for error messages.
    group : str
        Entry point group of components in installed packages.
    modules : str
        Modules that register reidsim's own components; for a package, all modules in its folder.
    """

    def __init__(self, sort: str, group: str, *modules: str) -> None:
        self.sort = sort
        self.group = group
        self._unread = list(modules)
        self._parts: dict[str, T] = {}
        # Module that defines each component.
        self._homes: dict[str, str] = {}

    def register(self, name: str) -> Callable[[D], D]:
        """Return a decorator that registers a definition, usually a class, under a name.

        Raises
        ------
        ValueError
            If the name is already registered.
        """

        def add(definition: D) -> D:
            if name in self._parts:
                raise ValueError(f"{self.sort} {name!r} is registered twice")
            self._parts[name] = self._entry(name, definition)
            self._homes[name] = getattr(definition, "__module__", "")
            return definition

        return add

    def _entry(self, name: str, part: Any) -> T:
        """Return the registry's entry for a definition registered under `name`.

        Here it is the definition itself, `part`; subclasses may return another object.
        """
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
    def installed(self) -> dict[str, EntryPoint | Registered]:
        """Components of installed packages and of the user; see `installed`."""
        return installed(self.group)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all components: reidsim's own, those of installed packages, and the user's."""
        return (*self, *(name for name in self.installed if name not in self))

    def unknown(self, name: object, *, where: str | None = None, otherwise: str = "") -> InputError:
        """Return the error for an unregistered name, with the known and the nearest names.

        `where` is the key that has the name; `otherwise` is added to the description of valid values.
        """
        error = not_among("value not allowed", name, self.names, where=where, shown=20)
        return error.but(expected=f"{error.expected}{otherwise}")

    def _own(self) -> dict[str, T]:
        if self._unread:
            read = list[str]()
            while self._unread:
                for module in _with_folder(self._unread[0]):
                    import_module(module)
                    read.append(module)
                del self._unread[:1]
            # A module may have been imported, and its components registered, before the modules listed above it.
            place = {module: number for number, module in reversed([*enumerate(read)])}
            entries = sorted(self._parts.items(), key=lambda entry: place.get(self._homes[entry[0]], len(read)))
            self._parts = dict(entries)
        return self._parts


def installed(group: str) -> dict[str, EntryPoint | Registered]:
    """Return the components of installed packages in a group, sorted by name, and then those that the user registered.

    The method ``load`` of each value returns the component.
    """
    own = {name: Registered(part) for name, part in registered(group).items()}
    return {**_installed(group, tuple(sys.path)), **own}


@lru_cache(maxsize=8)
def _installed(group: str, path: tuple[str, ...]) -> dict[str, EntryPoint]:
    # Cached: figures look up a kind for each label. The key includes `sys.path`, which determines the packages found.
    return {entry.name: entry for entry in sorted(entry_points(group=group), key=lambda entry: entry.name)}


def _with_folder(module: str) -> Iterator[str]:
    """Yield the names of a module and, if it is a package, its modules.

    The caller must import the first one before it asks for the next.
    """
    yield module
    for found in iter_modules(getattr(sys.modules.get(module), "__path__", ())):
        yield f"{module}.{found.name}"


def require_provided(
    needs: Collection[str],
    provided: Collection[str],
    *,
    needed_by: str,
    provider: str,
    where: str,
) -> None:
    """Check that an entry provides every capability that another entry needs.

    Parameters
    ----------
    needs, provided : collection of str
        Capabilities, as noun phrases.
    needed_by, provider : str
        Names of the two entries, such as ``rationality 'logit'`` and ``planner 'never'``.
    where : str
        Key path of the entry to change.

    Raises
    ------
    InputError
        For the first missing capability.
    """
    for capability in needs:
        if capability not in provided:
            raise InputError(f"{needed_by} needs {capability}, which {provider} does not provide", where=where)

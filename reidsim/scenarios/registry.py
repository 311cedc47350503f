"""Kinds of scenario by name.

Those of the package are named here, those of installed packages by the entry points ``reidsim.kinds``, those of users'
modules as ``module:object``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from importlib.metadata import EntryPoints, entry_points
from typing import TYPE_CHECKING, Any, cast

from reidsim.errors import InputError, not_among
from reidsim.scenarios.kind import MADE, Kind
from reidsim.scenarios.parts import in_use, told_in_a_line

if TYPE_CHECKING:
    from reidsim.scenarios.schema import ScenarioHead

# Kinds of the package: where each is, as ``module:object``.
_OWN = {
    "tables": "reidsim.kinds.tables.kind:TABLES",
    "masking": "reidsim.kinds.masking.kind:MASKING",
    "risk": "reidsim.kinds.assessment.kind:ASSESSMENT",
    "dynamic": "reidsim.kinds.dynamic.kind:DYNAMIC",
    "participation": "reidsim.kinds.participation.kind:PARTICIPATION",
}
DEFAULT_KIND = "tables"
_GROUP = "reidsim.kinds"


def kind_names() -> tuple[str, ...]:
    """Return the names of all kinds, those of the package first."""
    return (*_OWN, *sorted(entry.name for entry in _installed(tuple(sys.path)) if entry.name not in _OWN))


@lru_cache(maxsize=1)
def _installed(path: tuple[str, ...]) -> EntryPoints:
    """Return the kinds of the packages that a path leads to: a name is asked for at every label of a figure."""
    return entry_points(group=_GROUP)


def kind_named(name: object) -> Kind:
    """Return a kind by its name.

    Raises
    ------
    InputError
        If there is none; names the key ``game``.
    """
    if isinstance(name, str) and name in _OWN:
        module, _, attribute = _OWN[name].partition(":")
        return cast("Kind", getattr(import_module(module), attribute))
    for entry in _installed(tuple(sys.path)):
        if entry.name == name:
            with told_in_a_line("cannot be imported", str(name), "game"):
                part = in_use(str(name), entry.load())
            return made_kind(part, str(name))
    raise not_among("value not allowed", name, kind_names(), where="game")


def made_kind(part: object, name: str) -> Kind:
    """Return a kind of somebody's own: an object as it is, or what its class makes.

    Raises
    ------
    InputError
        If it is none; names the key ``game``.
    """
    with told_in_a_line("cannot be made", name, "game"):
        own = part() if isinstance(part, type) and issubclass(part, Kind) else part
    if isinstance(own, Kind):
        MADE[name] = own
        return own
    raise InputError("not a kind of scenario", where="game", found=name, expected="a class derived from Kind")


def is_of_package(name: str) -> bool:
    """Tell whether a kind comes with the package."""
    return name in _OWN


def kind_of(scenario: ScenarioHead) -> Kind:
    """Return the kind of a scenario that has been read."""
    return MADE.get(type(scenario)) or kind_named(getattr(scenario, "game", None))


def kind_of_content(content: Mapping[str, Any]) -> Kind:
    """Return the kind of a scenario as run.

    Raises
    ------
    InputError
        If there is no such kind.
    """
    game = content.get("game", DEFAULT_KIND)
    return MADE.get(str(game)) or kind_named(game)


def kinds_at_hand() -> Iterator[Kind]:
    """Yield the kinds of all packages, each imported in its turn, then those of users' modules that were read.

    Installed kinds that cannot be used are left out: no scenario of another kind needs them.
    """
    for name in kind_names():
        with suppress(InputError):
            yield kind_named(name)
    yield from MADE.values()


def schemas() -> dict[str, type[ScenarioHead]]:
    """Return what scenario files of every kind may say, by the name of the kind."""
    return {name: kind_named(name).schema for name in kind_names()}

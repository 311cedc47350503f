"""Find kinds of scenario by name.

They are in reidsim, in installed packages, or in user modules as ``module:object``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any, cast

from reidsim.core.registry import Registry
from reidsim.errors import InputError
from reidsim.scenarios.kind import MADE, Kind
from reidsim.scenarios.user_defined import in_use, one_line_errors

if TYPE_CHECKING:
    from reidsim.scenarios.schema import ScenarioHead

kinds: Registry[EntryPoint] = Registry("kind of scenario", "reidsim.kinds")
for _name, _object in {
    "tables": "reidsim.kinds.tables.kind:TABLES",
    "masking": "reidsim.kinds.masking.kind:MASKING",
    "risk": "reidsim.kinds.assessment.kind:ASSESSMENT",
    "dynamic": "reidsim.kinds.dynamic.kind:DYNAMIC",
    "participation": "reidsim.kinds.participation.kind:PARTICIPATION",
}.items():
    # Entry points, so that a kind is imported only when the first scenario of this kind is read.
    kinds.register(_name)(EntryPoint(_name, _object, kinds.group))
DEFAULT_KIND = "tables"


def kind_names() -> tuple[str, ...]:
    """Return the names of all installed kinds; kinds of reidsim come first."""
    return kinds.names


def kind_named(name: object) -> Kind:
    """Return a kind of reidsim or of an installed package by name.

    Raises
    ------
    InputError
        If no kind has this name; the message names the key ``game``.
    """
    if not isinstance(name, str) or name not in kinds.names:
        raise kinds.unknown(name, where="game")
    if name in kinds:
        return cast("Kind", kinds[name].load())
    with one_line_errors("cannot be imported", name, "game"):
        part = in_use(name, kinds.installed[name].load())
    return made_kind(part, name)


def made_kind(part: object, name: str) -> Kind:
    """Return a user-defined kind, and make it available under `name`.

    It is the object itself, or an instance if the object is a class.

    Raises
    ------
    InputError
        If the object is not a kind; the message names the key ``game``.
    """
    with one_line_errors("cannot be made", name, "game"):
        own = part() if isinstance(part, type) and issubclass(part, Kind) else part
    if isinstance(own, Kind):
        MADE[name] = own
        return own
    raise InputError("not a kind of scenario", where="game", found=name, expected="a class derived from Kind")


def is_of_package(name: str) -> bool:
    """Return whether reidsim itself has a kind of this name."""
    return name in kinds


def kind_of(scenario: ScenarioHead) -> Kind:
    """Return the kind of a scenario."""
    return MADE.get(type(scenario)) or kind_named(getattr(scenario, "game", None))


def kind_of_content(content: Mapping[str, Any]) -> Kind:
    """Return the kind of a scenario in plain data.

    Raises
    ------
    InputError
        If the kind is unknown.
    """
    game = content.get("game", DEFAULT_KIND)
    return MADE.get(str(game)) or kind_named(game)


def kinds_at_hand() -> Iterator[Kind]:
    """Yield all installed kinds, then all kinds created in this process.

    The second part includes the installed kinds again, and kinds from users' modules. Each installed kind is imported
    when it is reached; kinds that fail to import are skipped, because scenarios of other kinds do not need them.
    """
    for name in kind_names():
        with suppress(InputError):
            yield kind_named(name)
    yield from MADE.values()


def schemas() -> dict[str, type[ScenarioHead]]:
    """Return the schema of each kind of reidsim and of installed packages, by name."""
    return {name: kind_named(name).schema for name in kind_names()}

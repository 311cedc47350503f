"""Return the kind of a scenario: of reidsim, of an installed package, or of a user's module."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, cast

from reidsim.errors import InputError
from reidsim.scenarios.kind import Kind
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.user_defined import DEFAULT_KIND, MADE, find_kind, kinds


def kind_named(name: object) -> Kind:
    """Return a kind of reidsim or of an installed package by name; see `find_kind`."""
    return cast("Kind", find_kind(name))


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
    for name in kinds.names:
        with suppress(InputError):
            yield kind_named(name)
    yield from MADE.values()


def schemas() -> dict[str, type[ScenarioHead]]:
    """Return the schema of each kind of reidsim and of installed packages, by name."""
    return {name: kind_named(name).schema for name in kinds.names}

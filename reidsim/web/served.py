"""The scenario that the running server shows."""

from __future__ import annotations

from reidsim.errors import InputError
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.schema import ScenarioHead

_served: list[LoadedScenario[ScenarioHead]] = []


def offer(loaded: LoadedScenario[ScenarioHead]) -> None:
    """Make a scenario the one that is shown."""
    _served[:] = [loaded]


def scenario() -> LoadedScenario[ScenarioHead]:
    """Return the scenario that is shown.

    Raises
    ------
    InputError
        If none was offered: the page is opened by `reidsim serve` only.
    """
    if not _served:
        raise InputError("no scenario is served", expected="reidsim serve SCENARIO")
    return _served[0]

"""The scenario that the running server shows."""

from __future__ import annotations

import threading

from reidsim.errors import InputError
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.schema import ScenarioHead
from reidsim.web.exploration import Explorer

_served: list[Explorer] = []


def offer(loaded: LoadedScenario[ScenarioHead]) -> None:
    """Make a scenario the one that is shown, and begin to solve it before the page is opened."""
    explorer = Explorer(loaded)
    _served[:] = [explorer]
    threading.Thread(target=explorer.solve, args=({},), daemon=True).start()


def explorer() -> Explorer:
    """Return what solves the scenario that is shown.

    Raises
    ------
    InputError
        If none was offered: the page is opened by `reidsim serve` only.
    """
    if not _served:
        raise InputError("no scenario is served", expected="reidsim serve SCENARIO")
    return _served[0]

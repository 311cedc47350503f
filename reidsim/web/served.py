"""Store the scenario of the running server."""

from __future__ import annotations

import threading

from reidsim.errors import InputError
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.schema import ScenarioHead
from reidsim.web.exploration import Explorer

_served: list[Explorer] = []


def offer(loaded: Scenario[ScenarioHead]) -> None:
    """Set the scenario to show, and start to solve it before the page is opened."""
    explorer = Explorer(loaded)
    _served[:] = [explorer]
    threading.Thread(target=explorer.solve, args=({},), daemon=True).start()


def explorer() -> Explorer:
    """Return the explorer of the scenario to show.

    Raises
    ------
    InputError
        If `offer` was not called: only `reidsim serve` can open the page.
    """
    if not _served:
        raise InputError("no scenario is served", expected="a server started with reidsim serve SCENARIO")
    return _served[0]

"""Solve a scenario once without rounds."""

from __future__ import annotations

from typing import Any, TypeVar, cast

from reidsim.scenarios.agents import are_equipped
from reidsim.scenarios.scenario import Scenario

S = TypeVar("S", bound=Scenario[Any])


class Superseded(Exception):  # noqa: N818 - no error: a newer computation replaces this one
    """Raised in a computation whose result is no longer needed."""


def one_game(loaded: S) -> S:
    """Return a scenario without rounds, or with a single one if rounds are required.

    It is a copy. One round is required if named adversaries set keys about resources, budgets or accuracy
    (`are_equipped`), or if all of them attack together, because only rounds define such adversaries. In this round,
    nobody decides on participation or learns, and outcomes are expected values.
    """
    agents, scenario = loaded.content.get("agents"), cast("Any", loaded.scenario)
    # The weights of adversaries that attack together may not sum to 1, as those of a single adversary do.
    together = agents is not None and bool(getattr(scenario, "adversaries", None)) and scenario.agents.together == "all"
    if agents is None or not (together or are_equipped(scenario)):
        return loaded.with_content({key: value for key, value in loaded.content.items() if key != "agents"})
    kept = {key: value for key, value in agents.items() if key not in ("participation", "learning")}
    return loaded.with_content({**loaded.content, "agents": {**kept, "rounds": 1, "mode": "expectation", "draws": 1}})

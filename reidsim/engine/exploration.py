"""Change single values of a scenario, and solve it once without rounds."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any, TypeVar, cast

from reidsim.core.validation import override, validated_after, value_if_any
from reidsim.engine.batch.design import at_point
from reidsim.scenarios.agents import are_equipped
from reidsim.scenarios.scenario import Scenario

S = TypeVar("S", bound=Scenario[Any])


class Superseded(Exception):  # noqa: N818 - no error: a newer computation replaces this one
    """Raised in a computation whose result is no longer needed."""


def changed(loaded: S, values: Mapping[str, object]) -> S:
    """Return a scenario with changed values, as a single run without figures.

    It is a copy without the sections that `at_point` removes, such as the sweep. `values` are by key path, such as
    ``economics.loss``; a key whose value is None is removed from the scenario, and so is a section that becomes empty.

    Raises
    ------
    InputError
        If a value is not allowed, or the values are inconsistent.
    """
    content = deepcopy(at_point(loaded, {}).content)
    # Remove keys without a value, so that the scenario uses the key or default that replaces them.
    stated = {key: value for key, value in values.items() if value is not None}
    override(content, stated)
    for key in values.keys() - stated.keys():
        section, _, last = key.rpartition(".")
        (value_if_any(content, section, {}) if section else content).pop(last, None)
    content = {key: value for key, value in content.items() if value != {}}
    scenario = validated_after(stated, type(loaded.scenario), content, loaded.path)
    return replace(loaded, scenario=scenario, content=content)


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

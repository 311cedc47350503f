"""Which adversary comes, as one more uncertain thing: parameter ``adversary`` of names, as cross-play has them.

It is no key of a single run, in which the publisher knows against whom it plans: stress tests let the plan meet whoever
comes, and cross-play has a column for each anyway.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import replace
from typing import TypeVar

from reidsim.scenarios.design_schema import Discrete, UncertaintySection
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.schema import ScenarioHead

WHO_COMES = "adversary"
S = TypeVar("S", bound=ScenarioHead)


def names_adversaries(values: Iterable[object]) -> bool:
    """Tell whether values of ``adversary`` are names; else they are sections of a scenario."""
    return all(isinstance(value, str) for value in values)


def who_may_come(uncertainty: UncertaintySection | None) -> tuple[str, ...]:
    """Return the names of the adversaries of whom it is uncertain who comes; none if that is not."""
    parameter = None if uncertainty is None else uncertainty.parameters.get(WHO_COMES)
    if not isinstance(parameter, Discrete) or not names_adversaries(parameter.values):
        return ()
    return tuple(dict.fromkeys(map(str, parameter.values)))


def whoever_comes(loaded: LoadedScenario[S]) -> LoadedScenario[S]:
    """Return a scenario without the uncertainty about who comes, and what goes together with it."""
    if not who_may_come(loaded.scenario.uncertainty):
        return loaded
    content = deepcopy(loaded.content)
    section = content["uncertainty"]
    del section["parameters"][WHO_COMES]
    if "correlations" in section:
        section["correlations"] = [pair for pair in section["correlations"] if WHO_COMES not in pair["keys"]]
    if not section["parameters"]:
        del content["uncertainty"]
    return replace(loaded.with_content(content), origins=loaded.origins)

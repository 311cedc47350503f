"""Scenarios with one named adversary, and uncertainty about the adversary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from typing import Any, TypeVar

from reidsim.errors import InputError
from reidsim.scenarios.adversary_schema import WeightedSection
from reidsim.scenarios.design_schema import Discrete, UncertaintySection
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.schema import ScenarioHead

S = TypeVar("S", bound=ScenarioHead)


def scenario_alone(scenario: S, name: str) -> S:
    """Return the scenario with one named adversary as its only adversary.

    The adversary's own gain and cost, if any, replace the amounts of the economics, and the publisher knows them.
    """
    adversaries: Mapping[str, WeightedSection] = getattr(scenario, "adversaries")  # noqa: B009 - only some kinds have it
    sections = {key: getattr(scenario, key) for key in ("adversary", "economics", "beliefs")}
    section, schema = adversaries[name], type(sections["adversary"])
    values = {key: getattr(section, key) for key in schema.model_fields}
    changes: dict[str, Any] = {
        # Validated before. Validating again would refuse names of objects passed in Python.
        "adversary": schema.model_construct(section.model_fields_set & set(values), **values),
        "adversaries": {},
        "economics": sections["economics"].model_copy(update=section.amounts),
        "beliefs": sections["beliefs"].model_copy(update=dict.fromkeys(section.amounts)),
    }
    return scenario.model_copy(update=changes)


def loaded_alone(loaded: Scenario[S], name: str) -> Scenario[S]:
    """Return the loaded scenario with one named adversary as its only adversary.

    See `scenario_alone`.
    """
    return replace(loaded, scenario=scenario_alone(loaded.scenario, name))


@contextmanager
def named(name: str | None) -> Iterator[None]:
    """Make errors about an adversary name its section ``adversaries.NAME``.

    Errors are unchanged if `name` is None.
    """
    try:
        yield
    except InputError as error:
        where = error.where or ""
        in_attack = error.source is None and (not where or where.startswith("stage "))
        if name is None or not (where.partition(".")[0] == "adversary" or in_attack):
            raise
        below = f", {where}" if in_attack and where else where.removeprefix("adversary")
        raise error.but(where=f"adversaries.{name}{below}") from None


WHO_COMES = "adversary"


def names_adversaries(values: Iterable[object]) -> bool:
    """Return whether all values of ``adversary`` are names, not sections."""
    return all(isinstance(value, str) for value in values)


def who_may_come(uncertainty: UncertaintySection | None) -> tuple[str, ...]:
    """Return the names of the possible adversaries of an uncertain ``adversary``.

    The result is empty if the adversary is certain.
    """
    parameter = None if uncertainty is None else uncertainty.parameters.get(WHO_COMES)
    if not isinstance(parameter, Discrete) or not names_adversaries(parameter.values):
        return ()
    return tuple(dict.fromkeys(map(str, parameter.values)))


def without_adversary_uncertainty(loaded: Scenario[S]) -> Scenario[S]:
    """Return a scenario without the uncertainty about the adversary.

    Correlations with the adversary are removed too.
    """
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

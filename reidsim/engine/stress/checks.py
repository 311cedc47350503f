"""Checks of the requested analyses of a stress test before the computation starts.

They cover analyses, outputs, policies, keys and points.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from reidsim.core.measures import columns_of
from reidsim.engine.batch import Design
from reidsim.engine.batch.design import check_points, sweep_points
from reidsim.engine.distributions import LEVELS
from reidsim.engine.stress.adversary_points import name_adversaries
from reidsim.engine.stress.outcomes import (
    can_be_played_at_once,
    chosen_outputs,
    chosen_policies,
    outputs_among,
    quantile_column,
)
from reidsim.engine.stress.planning import Planning, believed_values
from reidsim.engine.stress.sensitivity import design_points, robustness_points, sensitivity_design
from reidsim.engine.stress.tables import curve_points
from reidsim.errors import InputError, listed, locating, require_among
from reidsim.games.measures import RISK_QUANTILE
from reidsim.scenarios.design_schema import UncertaintySection
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.registry import kind_of
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.several_adversaries import WHO_COMES
from reidsim.scenarios.stress_schema import RobustnessSection, SensitivitySection, StressSection


def wanted_parts(scenario: ScenarioHead) -> StressSection:
    """Return the section ``stress`` of a scenario.

    If it requests no analysis, sensitivity and robustness with default options are added.
    """
    section = scenario.stress or StressSection()
    if section.has_parts:
        return section
    return section.model_copy(update={"sensitivity": SensitivitySection(), "robustness": RobustnessSection()})


def uncertainty_of(scenario: ScenarioHead) -> UncertaintySection:
    """Return the section with the uncertain parameters of a scenario.

    Raises
    ------
    InputError
        If the scenario has no such section.
    """
    if scenario.uncertainty is None:
        raise InputError("section missing", where="uncertainty", expected="distributions of the uncertain parameters")
    return scenario.uncertainty


def check_stress(loaded: Scenario[ScenarioHead]) -> None:
    """Check every analysis and point of a stress test, without solving a game.

    Raises
    ------
    InputError
        If a key is not supported or a point is invalid; the message names the file and the key or point.
    """
    section = wanted_parts(loaded.scenario)
    with locating(loaded.path):
        check_section(loaded, section)
        for points, planning in points_of_parts(loaded.scenario, section):
            if planning == "as-believed":
                points = points.assign(**believed_values(loaded.scenario, map(str, points.columns)))
            check_points(loaded, Design(points.drop(columns=WHO_COMES) if name_adversaries(points) else points))


def check_section(loaded: Scenario[ScenarioHead], section: StressSection) -> None:
    """Check that the game supports the policies, outputs and analyses of a section.

    Raises
    ------
    InputError
        If it lacks one of them; the message names the key.
    """
    scenario = loaded.scenario
    policies = chosen_policies(scenario, section.policies)
    needed = {key for key in ("sensitivity", "robustness", "discovery") if getattr(section, key) is not None}
    uncertain = tuple(uncertainty_of(scenario).parameters) if needed else ()
    at_once = can_be_played_at_once(scenario, uncertain)
    has = columns_of(outputs_among(kind_of(scenario).measures))
    wanted = [("stress.outputs", output) for output in chosen_outputs(scenario, section)]
    if section.discovery is not None:
        wanted.append(("stress.discovery.output", section.discovery.output))
        if section.discovery.policy is not None:
            policy, where = section.discovery.policy, "stress.discovery.policy"
            require_among("not among the compared policies", (policy,), policies, where=where)
    for where, output in wanted:
        if output == RISK_QUANTILE.column and not at_once and quantile_column(section.risk_level) is None:
            kept = listed(level for level in LEVELS.values() if 0 < level < 1)
            raise InputError(
                "batches do not compute this quantile",
                where="stress.risk_level",
                found=section.risk_level,
                expected=f"one of {kept}",
            )
        problem = f"not an output of game {kind_of(scenario).name!r}"
        require_among(problem, (output,), sorted(has), where=where, shown=20)
    if section.guarantee and not kind_of(scenario).plans_under_amounts(scenario):
        raise InputError("the guarantee needs a record-level game", where="stress.guarantee")


def points_of_parts(scenario: ScenarioHead, section: StressSection) -> Iterator[tuple[pd.DataFrame, Planning]]:
    """Yield the points of every analysis, and how the publisher plans at them.

    See `Evaluator.at` for planning. The points of belief curves include the believed values.
    """
    if section.sensitivity is not None:
        uncertainty = uncertainty_of(scenario)
        design = sensitivity_design(uncertainty, section.sensitivity, scenario.seed)
        yield design_points(uncertainty, design), section.planning
    if section.robustness is not None or section.discovery is not None:
        samples = (section.robustness or RobustnessSection()).samples
        yield robustness_points(uncertainty_of(scenario), samples, scenario.seed), "as-believed"
    for _, points in curve_points(scenario, section.beliefs):
        yield points, "informed"
    if section.map is not None:
        yield sweep_points(section.map.as_sweep()), section.planning

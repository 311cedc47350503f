"""How long a stress test is expected to take: as many points as it has, at the time of some of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from reidsim.engine.batch.design import Design
from reidsim.engine.expected_time import Expected, Seconds, expected_batch, expected_steps
from reidsim.engine.results import Stopwatch
from reidsim.engine.stress.checks import points_of_parts, says_who_comes, wanted_parts
from reidsim.engine.stress.outcomes import AmountEvaluator, asks_for_people, can_be_played_at_once, chosen_policies
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.registry import kind_of
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.study import Study

# Points that differ only in money take so little that several are timed.
_TIMED_POINTS = 4


def expected_stress(loaded: LoadedScenario[ScenarioHead], study: Study[Any], built: float) -> Expected | None:
    """Return how long the points of a stress test take; None if that cannot be told.

    Parameters
    ----------
    loaded : LoadedScenario
    study : Study
    built : float
        Seconds that it took to build.
    """
    scenario = loaded.scenario
    together: list[pd.DataFrame] = []
    apart: list[pd.DataFrame] = []
    for points, _ in points_of_parts(scenario, wanted_parts(scenario)):
        if says_who_comes(points):
            return None
        at_once = can_be_played_at_once(scenario, tuple(map(str, points.columns)))
        (together if at_once else apart).append(points)
    parts = []
    if together:
        parts.append(_expected_together(loaded, study, built, together[0], sum(len(points) for points in together)))
    if apart:
        # What is tried of the largest part goes for the others.
        largest = max(apart, key=len)
        part = expected_batch(loaded, Design(largest, scenario.replications), study, built)
        parts.append(part and part.times(sum(len(points) for points in apart) / len(largest)))
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    longest = max(known, key=lambda part: part.high)
    return replace(longest, low=sum(part.low for part in known), high=sum(part.high for part in known))


def _expected_together(
    loaded: LoadedScenario[ScenarioHead], study: Study[Any], built: float, points: pd.DataFrame, number: int
) -> Expected | None:
    """Return how long so many points take that differ only in money, of which some are given."""
    scenario = loaded.scenario
    section = wanted_parts(scenario)
    policies, people = chosen_policies(scenario, section.policies), asks_for_people(scenario, section)

    def play(part: Study[Any]) -> Seconds:
        clock = Stopwatch()
        amounts = kind_of(scenario).amount_points(part)
        assert amounts is not None  # noqa: S101 - asked for where the kind has some
        evaluator = AmountEvaluator(loaded, amounts, policies, section.risk_level, people=people)
        evaluator.at(points.iloc[:1], "informed")
        first, clock = clock.seconds, Stopwatch()
        evaluator.at(points.iloc[:_TIMED_POINTS], "informed")
        return np.array([first, clock.seconds / min(_TIMED_POINTS, len(points))])

    return expected_steps(study, play, np.array([1, number - 1]), built)

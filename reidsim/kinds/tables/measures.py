"""Measures of table studies: of every game, and of some studies only."""

from __future__ import annotations

from pathlib import Path

from reidsim.agents.measures import RUN_MEASURES
from reidsim.core.measures import in_words, measures_worded
from reidsim.games.measures import HOUSEHOLD_RISK
from reidsim.validation import read_toml

_WORDS = read_toml(Path(__file__).with_suffix(".toml"))
_OWN = measures_worded(_WORDS["own"])
ATTACK_THRESHOLD = _OWN["attack_threshold"]
PUBLISHER_PAYOFF_DIFFERENCE = _OWN["publisher_payoff_difference"]
ADVERSARY_PAYOFF_DIFFERENCE = _OWN["adversary_payoff_difference"]
SHARE_OPTIMAL = _OWN["share_optimal"]
EVALUATED = _OWN["evaluated"]
UTILITY_PRICE = _OWN["utility_price"]
EXPOSED_BY_RECORD = _OWN["exposed_by_record"]
EXPOSED_TO_WEIGHTED = _OWN["exposed_to_weighted"]
INFERENCE = _OWN["inference"]
BEYOND_LIMITS = _OWN["beyond_limits"]
MEASURES = (*RUN_MEASURES, HOUSEHOLD_RISK, *_OWN.values())
# Wordings for scenarios with a person key, where results count people.
MEASURES_OF_PEOPLE = in_words(MEASURES, _WORDS["people"])

"""Define the measures of masking games: of every game, usefulness and fairness."""

from __future__ import annotations

from pathlib import Path

from reidsim.agents.measures import RUN_MEASURES
from reidsim.core.measures import in_words, measures_worded
from reidsim.validation import read_toml

_WORDS = read_toml(Path(__file__).with_suffix(".toml"))
_OWN = measures_worded(_WORDS["own"])
USEFULNESS = _OWN["usefulness"]
USEFULNESS_FAIRNESS = _OWN["usefulness_fairness"]
PRIVACY_FAIRNESS = _OWN["privacy_fairness"]
MEASURES = (*in_words(RUN_MEASURES, _WORDS["games"]), *_OWN.values())
SUBJECT_PAYOFF = MEASURES[0]

"""Define the measures of participation games: payoffs, participation and risk."""

from __future__ import annotations

from pathlib import Path

from reidsim.agents.measures import PARTICIPATION
from reidsim.core.measures import in_words, measures_worded
from reidsim.games.measures import PUBLISHER_PAYOFF, REIDENTIFIED, RISK, SHARE_ATTACKED, UTILITY
from reidsim.validation import read_toml

_WORDS = read_toml(Path(__file__).with_suffix(".toml"))
_FIRST = in_words((PUBLISHER_PAYOFF, PARTICIPATION, UTILITY, SHARE_ATTACKED, RISK), _WORDS["games"])
_OWN = measures_worded(_WORDS["own"]).values()
MEASURES = (*_FIRST, *_OWN, *in_words(REIDENTIFIED, _WORDS["games"]))

"""What a policy leads to: the measures of a game, and their averages over records."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reidsim.core.measures import measures_worded
from reidsim.games.equilibrium import Equilibrium
from reidsim.validation import read_toml

_WORDS = {part: measures_worded(words) for part, words in read_toml(Path(__file__).with_suffix(".toml")).items()}
PUBLISHER_PAYOFF = _WORDS["game"]["publisher_payoff"]
ADVERSARY_PAYOFF = _WORDS["game"]["adversary_payoff"]
UTILITY = _WORDS["game"]["utility"]
GENERALIZATION_INTENSITY = _WORDS["game"]["generalization_intensity"]
SHARE_ATTACKED = _WORDS["game"]["share_attacked"]
RISK = _WORDS["game"]["risk"]
RISK_IF_ATTACKED = _WORDS["game"]["risk_if_attacked"]
SHARE_UNCHANGED = _WORDS["game"]["share_unchanged"]
SHARE_SUPPRESSED = _WORDS["game"]["share_suppressed"]
# The nine measures of a game, in the order in which tables print them (Wan et al. 2015, Table 7, and utility).
MEASURES = tuple(_WORDS["game"].values())
# How many people are re-identified, and what that means for payoffs.
REIDENTIFIED = tuple(_WORDS["reidentified"].values())
ANY_REIDENTIFIED, *_, PUBLISHER_CVAR, ADVERSARY_CVAR = REIDENTIFIED
RISK_QUANTILE = _WORDS["some"]["risk_quantile"]
HOUSEHOLD_RISK = _WORDS["some"]["household_risk"]
REGRET = _WORDS["some"]["regret"]
SUCCESS_PROBABILITY = _WORDS["record"]["success_probability"]
RECORD_RISK = _WORDS["record"]["risk"]


def averages(equilibrium: Equilibrium, weights: NDArray[np.int64]) -> dict[str, float]:
    """Average the outcomes of cells over their records, `weights` (n_cells,) in each; by column of `MEASURES`."""
    attacked = equilibrium.attack_probability
    intensity = equilibrium.generalization_intensity
    success = equilibrium.success_probability
    any_attack = (weights * attacked).sum() > 0
    return {
        PUBLISHER_PAYOFF.column: np.average(equilibrium.publisher_payoff, weights=weights),
        ADVERSARY_PAYOFF.column: np.average(equilibrium.adversary_payoff, weights=weights),
        UTILITY.column: np.average(equilibrium.utility, weights=weights),
        GENERALIZATION_INTENSITY.column: np.average(intensity, weights=weights),
        SHARE_ATTACKED.column: np.average(attacked, weights=weights),
        RISK.column: np.average(attacked * success, weights=weights),
        RISK_IF_ATTACKED.column: np.average(success, weights=weights * attacked) if any_attack else np.nan,
        SHARE_UNCHANGED.column: np.average(intensity == 0, weights=weights),
        SHARE_SUPPRESSED.column: np.average(intensity == 1, weights=weights),
    }

"""Averages over records of what a policy leads to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reidsim.games.equilibrium import Equilibrium

# The nine measures of a run, in the order in which tables print them (Wan et al. 2015, Table 7, and utility).
MEASURES = (
    "publisher_payoff",
    "adversary_payoff",
    "utility",
    "generalization_intensity",
    "share_attacked",
    "risk",
    "risk_if_attacked",
    "share_unchanged",
    "share_suppressed",
)


def averages(equilibrium: Equilibrium, weights: NDArray[np.int64]) -> dict[str, float]:
    """Average the outcomes of cells over their records, `weights` (n_cells,) in each; by name in `MEASURES`."""
    attacked = equilibrium.attack_probability
    intensity = equilibrium.generalization_intensity
    success, risk = equilibrium.success_probability, equilibrium.risk
    any_attack = (weights * attacked).sum() > 0
    return {
        "publisher_payoff": np.average(equilibrium.publisher_payoff, weights=weights),
        "adversary_payoff": np.average(equilibrium.adversary_payoff, weights=weights),
        "utility": np.average(equilibrium.utility, weights=weights),
        "generalization_intensity": np.average(intensity, weights=weights),
        "share_attacked": np.average(attacked, weights=weights),
        "risk": np.average(risk, weights=weights),
        "risk_if_attacked": np.average(success, weights=weights * attacked) if any_attack else np.nan,
        "share_unchanged": np.average(intensity == 0, weights=weights),
        "share_suppressed": np.average(intensity == 1, weights=weights),
    }

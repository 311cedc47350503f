"""What a policy leads to: the measures of a game, and their averages over records."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reidsim.games.equilibrium import Equilibrium
from reidsim.measures import Measure

PUBLISHER_PAYOFF = Measure(
    "publisher_payoff",
    "Publisher's payoff",
    "{:,.2f}",
    "per record: benefit of the release, less the expected loss where the adversary attacks",
)
ADVERSARY_PAYOFF = Measure(
    "adversary_payoff",
    "Adversary's payoff",
    "{:,.2f}",
    "per record: expected gain less cost where the adversary attacks, 0 elsewhere",
)
UTILITY = Measure("utility", "Utility", "{:.4f}", "share of the full benefit that the release keeps; 1 is unchanged")
GENERALIZATION_INTENSITY = Measure(
    "generalization_intensity",
    "Generalization intensity",
    "{:.4f}",
    "levels applied, as a fraction of the maximum; 0 is unchanged, 1 fully suppressed",
)
SHARE_ATTACKED = Measure("share_attacked", "Records attacked", "{:.2%}", "share of records that the adversary attacks")
RISK = Measure(
    "risk",
    "Re-identification risk",
    "{:.4f}",
    "mean over all records of the probability that the record is attacked and its person re-identified",
)
RISK_IF_ATTACKED = Measure(
    "risk_if_attacked",
    "Risk of attacked records",
    "{:.4f}",
    "mean over attacked records of the probability of re-identification; none without attack",
)
SHARE_UNCHANGED = Measure(
    "share_unchanged", "Records shared unchanged", "{:.2%}", "share of records with generalization intensity 0"
)
SHARE_SUPPRESSED = Measure(
    "share_suppressed",
    "Records suppressed",
    "{:.2%}",
    "share of records with generalization intensity 1, or withheld",
)
# The nine measures of a game, in the order in which tables print them (Wan et al. 2015, Table 7, and utility).
MEASURES = (
    PUBLISHER_PAYOFF,
    ADVERSARY_PAYOFF,
    UTILITY,
    GENERALIZATION_INTENSITY,
    SHARE_ATTACKED,
    RISK,
    RISK_IF_ATTACKED,
    SHARE_UNCHANGED,
    SHARE_SUPPRESSED,
)
_OF_NUMBER = "number of people re-identified, not exceeded {}"
ANY_REIDENTIFIED = Measure(
    "reidentified_any",
    "Anybody re-identified",
    "{:.2%}",
    "probability that at least one person is re-identified",
)
_QUANTILES = (
    Measure("reidentified_median", "Re-identified, median", "{:,.1f}", _OF_NUMBER.format("in 50 of 100 cases")),
    Measure("reidentified_95", "Re-identified, 95%", "{:,.1f}", _OF_NUMBER.format("in 95 of 100 cases")),
    Measure("reidentified_99", "Re-identified, 99%", "{:,.1f}", _OF_NUMBER.format("in 99 of 100 cases")),
)
PUBLISHER_CVAR = Measure(
    "publisher_payoff_cvar",
    "Publisher's worst 5%",
    "{:,.2f}",
    "per record: mean over the 5% of cases with the lowest payoff (conditional value at risk)",
)
ADVERSARY_CVAR = Measure(
    "adversary_payoff_cvar",
    "Adversary's worst 5%",
    "{:,.2f}",
    "per record: mean over the 5% of cases with the lowest payoff (conditional value at risk)",
)
# How many people are re-identified, and what that means for payoffs.
REIDENTIFIED = (ANY_REIDENTIFIED, *_QUANTILES, PUBLISHER_CVAR, ADVERSARY_CVAR)
# Of a stress test, whose section `stress` gives the share.
RISK_QUANTILE = Measure(
    "risk_quantile",
    "Quantile of risk",
    "{:.4f}",
    "probability of re-identification that the share `risk_level` of the records does not exceed",
)
# Where records name the household of their person.
HOUSEHOLD_RISK = Measure(
    "household_risk",
    "Household risk",
    "{:.4f}",
    "mean over all people of the largest risk in the person's household",
)
# Of single records.
SUCCESS_PROBABILITY = Measure(
    "success_probability",
    "Success probability",
    "{:.4f}",
    "probability that an attack on the record, if made, re-identifies the person",
)
RECORD_RISK = Measure(
    "risk", "Risk of a record", "{:.4f}", "the success probability where the record is attacked, 0 where it is not"
)


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

"""What is measured where data subjects mask their records: the measures of every game in their words, and fairness."""

from __future__ import annotations

from dataclasses import replace

from reidsim.agents.measures import RUN_MEASURES
from reidsim.games.measures import GENERALIZATION_INTENSITY, PUBLISHER_CVAR, PUBLISHER_PAYOFF
from reidsim.measures import Measure

SUBJECT_PAYOFF = replace(
    PUBLISHER_PAYOFF,
    label="Subject's payoff",
    definition="per subject: benefit of the release, less the expected loss where the adversary attacks",
)
SUBJECT_CVAR = replace(
    PUBLISHER_CVAR,
    label="Subject's worst 5%",
    definition="per subject: mean over the 5% of cases with the lowest total payoff (conditional value at risk)",
)
MASKING_INTENSITY = replace(
    GENERALIZATION_INTENSITY,
    definition="attributes masked (or levels applied), as a fraction of the maximum; 0 is unchanged, 1 fully masked",
)
USEFULNESS = Measure(
    "usefulness",
    "Usefulness",
    "{:.4f}",
    "how close the shared values of each attribute are to those of all subjects; 1 if alike",
)
USEFULNESS_FAIRNESS = Measure(
    "usefulness_fairness",
    "Fairness of usefulness",
    "{:.4f}",
    "1 less the Gini coefficient of usefulness over groups of subjects",
)
PRIVACY_FAIRNESS = Measure(
    "privacy_fairness",
    "Fairness of privacy",
    "{:.4f}",
    "1 less the Gini coefficient of privacy (1 - risk) over groups of subjects",
)

_OWN_WORDS = {measure.column: measure for measure in (SUBJECT_PAYOFF, SUBJECT_CVAR, MASKING_INTENSITY)}
MEASURES = (
    *(_OWN_WORDS.get(measure.column, measure) for measure in RUN_MEASURES),
    USEFULNESS,
    USEFULNESS_FAIRNESS,
    PRIVACY_FAIRNESS,
)

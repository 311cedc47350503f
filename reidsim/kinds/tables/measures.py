"""What is measured where a publisher shares a table: the measures of every game, and those of some studies alone."""

from __future__ import annotations

from dataclasses import replace

from reidsim.agents.measures import RUN_MEASURES
from reidsim.games.measures import (
    ADVERSARY_PAYOFF,
    HOUSEHOLD_RISK,
    PUBLISHER_PAYOFF,
    RISK,
    RISK_IF_ATTACKED,
    SHARE_ATTACKED,
    SHARE_SUPPRESSED,
    SHARE_UNCHANGED,
)
from reidsim.measures import Measure

# With planner ``fmdp`` and known groups.
ATTACK_THRESHOLD = Measure(
    "attack_threshold",
    "Smallest group not attacked",
    "{:,.4g}",
    "size of the smallest equivalence class that a sequential adversary does not attack; none if it attacks all",
)
# With solver ``lattice-search`` (Wan et al. 2015, Eq. 6).
PUBLISHER_PAYOFF_DIFFERENCE = Measure(
    "publisher_payoff_difference",
    "Publisher's payoff off optimum",
    "{:,.2f}",
    "per record: absolute difference of the publisher's payoff from the optimum",
)
ADVERSARY_PAYOFF_DIFFERENCE = Measure(
    "adversary_payoff_difference",
    "Adversary's payoff off optimum",
    "{:,.2f}",
    "per record: absolute difference of the adversary's payoff from the optimum",
)
SHARE_OPTIMAL = Measure(
    "share_optimal",
    "Records at the optimum",
    "{:.2%}",
    "share of records for which the search finds the optimal payoff",
)
EVALUATED = Measure("evaluated", "Strategies evaluated", "{:,.2f}", "per record: strategies whose payoff was computed")
# Where persons are looked up in the shared rows: `adversary.direction`.
UTILITY_PRICE = Measure(
    "utility_price",
    "Utility lost to searches for persons",
    "{:.4f}",
    'utility lost by the policy, against `adversary.direction = "record"`',
)
EXPOSED_BY_RECORD = Measure(
    "exposed_by_record",
    "Attacked if planned by row",
    "{:.2%}",
    "share of records attacked in the scenario's direction if released as planned for direction `record`",
)
EXPOSED_TO_WEIGHTED = Measure(
    "exposed_to_weighted",
    "Attacked with a weighted guess",
    "{:.2%}",
    "share of records attacked by an adversary who weights each row that fits a person by 1 / people who fit it",
)

MEASURES = (
    *RUN_MEASURES,
    HOUSEHOLD_RISK,
    ATTACK_THRESHOLD,
    PUBLISHER_PAYOFF_DIFFERENCE,
    ADVERSARY_PAYOFF_DIFFERENCE,
    SHARE_OPTIMAL,
    EVALUATED,
    UTILITY_PRICE,
    EXPOSED_BY_RECORD,
    EXPOSED_TO_WEIGHTED,
)

# Where records name their person, and people are counted.
_OF_PEOPLE = {
    measure.column: replace(measure, label=label, definition=definition)
    for measure, label, definition in (
        (
            PUBLISHER_PAYOFF,
            PUBLISHER_PAYOFF.label,
            "per person: mean benefit of the release of the person's records, less the expected loss where the "
            "adversary attacks the person",
        ),
        (
            ADVERSARY_PAYOFF,
            ADVERSARY_PAYOFF.label,
            "per person: expected gain less cost where the adversary attacks, 0 elsewhere",
        ),
        (SHARE_ATTACKED, "People attacked", "share of people whom the adversary attacks, by one of their records"),
        (
            RISK,
            RISK.label,
            "mean over all people of the probability that the person is re-identified, 0 where the adversary does not "
            "attack; times the number of people, the expected number of people re-identified",
        ),
        (
            RISK_IF_ATTACKED,
            "Risk of attacked people",
            "mean over attacked people of the probability that the person is re-identified; none without attack",
        ),
        (
            SHARE_UNCHANGED,
            "People shared unchanged",
            "share of people whose records have generalization intensity 0",
        ),
        (
            SHARE_SUPPRESSED,
            "People suppressed",
            "share of people whose records have generalization intensity 1, withheld ones included",
        ),
    )
}
MEASURES_OF_PEOPLE = tuple(_OF_PEOPLE.get(measure.column, measure) for measure in MEASURES)

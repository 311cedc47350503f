"""What is measured where people decide whether to join: payoffs, participation, and who is identified."""

from __future__ import annotations

from dataclasses import replace

from reidsim.agents.measures import PARTICIPATION
from reidsim.games.measures import PUBLISHER_CVAR, PUBLISHER_PAYOFF, REIDENTIFIED, RISK, SHARE_ATTACKED, UTILITY
from reidsim.measures import Measure

PERSON_PAYOFF = replace(
    PUBLISHER_PAYOFF,
    label="Person's payoff",
    definition="per person, relatives' payoffs left out: what joining brings less the harm of being identified",
)
RELATIVE_FOUND = replace(
    UTILITY,
    label="Relative found",
    definition="mean over all people of the probability that the person joins and finds a relative in the database",
)
SEARCHED = replace(
    SHARE_ATTACKED, label="People searched for", definition="share of people whose genome is compared with the database"
)
IDENTIFIED = replace(
    RISK,
    label="Identification risk",
    definition="mean over all people of the probability of being identified: 1 for members, for others that of "
    "enough matches with relatives in the database",
)
EXPOSED = Measure(
    "exposed_by_relatives",
    "Exposed by relatives",
    "{:.4f}",
    "mean over people who do not join of the probability of being identified through relatives; none if all join",
)
UNSETTLED = Measure(
    "unsettled", "Would change", "{:.2%}", "share of people who would gain by changing alone; 0 in an equilibrium"
)
_CVAR = replace(PUBLISHER_CVAR, label="Person's worst 5%", definition="not defined in this game")
MEASURES = (
    PERSON_PAYOFF,
    PARTICIPATION,
    RELATIVE_FOUND,
    SEARCHED,
    IDENTIFIED,
    EXPOSED,
    UNSETTLED,
    *(_CVAR if measure is PUBLISHER_CVAR else measure for measure in REIDENTIFIED),
)

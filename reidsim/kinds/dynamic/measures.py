"""Measures of cases released over time, besides those of every game."""

from reidsim.agents.measures import RUN_MEASURES
from reidsim.measures import Measure

PK = Measure(
    "pk",
    "PK",
    "{:.4f}",
    "mean over periods of the share of released records whose values fewer than `publisher.k` records share",
)
PERIODS_WITHIN = Measure(
    "periods_within",
    "Periods within the PK threshold",
    "{:.2%}",
    "share of periods with PK at most `publisher.threshold`",
)
CHANGES = Measure(
    "release_changes", "Changes of the release", "{:,.0f}", "periods whose generalization differs from the one before"
)
OF_PERIODS = (PK, PERIODS_WITHIN, CHANGES)
MEASURES = (*RUN_MEASURES, *OF_PERIODS)

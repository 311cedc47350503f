"""What is measured of a release that is given: risks, as means over persons."""

from __future__ import annotations

from dataclasses import replace

from reidsim.games.measures import HOUSEHOLD_RISK
from reidsim.measures import Measure

PROSECUTOR_RISK = Measure(
    "prosecutor_risk",
    "Prosecutor risk",
    "{:.4f}",
    "mean probability that, by what is known of a person, the person's record is the only one that matches",
)
JOURNALIST_RISK = Measure(
    "journalist_risk",
    "Journalist risk",
    "{:.4f}",
    "mean probability that the person's record is the only one that matches, and a population unique",
)
MARKETER_RISK = Measure(
    "marketer_risk",
    "Marketer risk",
    "{:.4f}",
    "mean probability that a record drawn at random among those that match is the person's",
)
OVERALL_RISK = Measure(
    "overall_risk",
    "Overall risk",
    "{:.4f}",
    "mean probability that one of the three succeeds, given how likely the adversary can do and confirm each",
)
RISKS = (PROSECUTOR_RISK, JOURNALIST_RISK, MARKETER_RISK, OVERALL_RISK)
# By the column of each person in tables of records.
RISKS_OF_PERSONS = {measure.column.removesuffix("_risk"): measure for measure in RISKS}
JOURNALIST_LOW, JOURNALIST_HIGH = (
    Measure(
        f"journalist_{column}",
        f"Journalist risk, {end} end",
        "{:.4f}",
        f"journalist risk if population uniqueness is at the {end} end of its interval on every knowledge set",
    )
    for column, end in (("low", "lower"), ("high", "upper"))
)
MEASURES = (*RISKS, JOURNALIST_LOW, JOURNALIST_HIGH, HOUSEHOLD_RISK)
# Where records name their person, and people are counted.
_OF_PEOPLE = {
    PROSECUTOR_RISK.column: "mean probability that, by what is known of a person, only records of the person match; "
    "by the record of the person for which that is likeliest",
    JOURNALIST_RISK.column: "mean probability that only records of the person match, and a population unique's; "
    "by the record of the person for which that is likeliest",
    MARKETER_RISK.column: "mean probability that somebody drawn at random among the people with a record that "
    "matches is the person; by the record of the person for which that is likeliest",
}
MEASURES_OF_PEOPLE = tuple(
    replace(measure, definition=_OF_PEOPLE.get(measure.column, measure.definition)) for measure in MEASURES
)

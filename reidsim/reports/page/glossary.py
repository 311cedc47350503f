"""What each measure is called, how it is written and what it means: the one source of these words in reports."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pandas as pd

from reidsim.reports.page.stored_run import StoredRun


class Measure(NamedTuple):
    """A measure of a run: its name, the form of its values, and its definition."""

    name: str
    form: str
    definition: str

    def text(self, value: float) -> str:
        """Write a value; a dash if there is none."""
        return "-" if pd.isna(value) else self.form.format(0.0 if math.isclose(value, 0, abs_tol=1e-12) else value)


# Ends the definition of a measure that only runs of several rounds have.
MEAN_OVER_ROUNDS = ", mean over rounds"

# By column of runs.parquet, in the order of the report's table. docs/reports.md lists them.
MEASURES: Mapping[str, Measure] = {
    "publisher_payoff": Measure(
        "Publisher's payoff",
        "{:,.2f}",
        "per record: benefit of the form shared, less the expected loss where the adversary attacks",
    ),
    "adversary_payoff": Measure(
        "Adversary's payoff", "{:,.2f}", "per record: expected gain less cost where the adversary attacks, 0 elsewhere"
    ),
    "utility": Measure("Utility", "{:.4f}", "share of the full benefit that the form keeps: 1 as it is"),
    "generalization_intensity": Measure(
        "Generalization intensity",
        "{:.4f}",
        "levels climbed, over all levels there are: 0 as it is, 1 fully suppressed",
    ),
    "share_attacked": Measure("Records attacked", "{:.2%}", "share of records for which an attack pays"),
    "risk": Measure(
        "Re-identification risk",
        "{:.4f}",
        "mean over all records of the probability that an attempt names the right person where it is made, 0 "
        "elsewhere; times the number of records, the expected number of records re-identified",
    ),
    "risk_if_attacked": Measure(
        "Risk of attacked records",
        "{:.4f}",
        "mean over attacked records of the probability that an attempt names the right person; none without attack",
    ),
    "share_unchanged": Measure(
        "Records shared unchanged", "{:.2%}", "share of records with generalization intensity 0"
    ),
    "share_suppressed": Measure(
        "Records suppressed", "{:.2%}", "share of records with generalization intensity 1, withheld records included"
    ),
    "participation": Measure("Participation", "{:.2%}", f"share of data subjects who take part{MEAN_OVER_ROUNDS}"),
    "prosecutor_risk": Measure(
        "Prosecutor risk",
        "{:.4f}",
        "mean probability that, by what is known of a person, the person's record is the only one that matches",
    ),
    "journalist_risk": Measure(
        "Journalist risk",
        "{:.4f}",
        "mean probability that the person's record is the only one that matches, and unique in the population",
    ),
    "marketer_risk": Measure(
        "Marketer risk",
        "{:.4f}",
        "mean probability that a record picked at random among those that match is the person's",
    ),
    "overall_risk": Measure(
        "Overall risk",
        "{:.4f}",
        "mean probability that one of the three succeeds, given how likely the adversary can do and confirm each",
    ),
    "usefulness": Measure(
        "Usefulness", "{:.4f}", "how close the shared values of each attribute are to those of all subjects: 1 if alike"
    ),
    "usefulness_fairness": Measure(
        "Fairness of usefulness", "{:.4f}", "1 less the Gini coefficient of usefulness over groups of subjects"
    ),
    "privacy_fairness": Measure(
        "Fairness of privacy", "{:.4f}", "1 less the Gini coefficient of privacy (1 - risk) over groups of subjects"
    ),
}

# Per record, from records.parquet.
SUCCESS = Measure(
    "Success probability",
    "{:.4f}",
    "probability that an attempt on the record would name the right person, whether or not one is made",
)
RECORD_RISK = Measure(
    "Risk of a record", "{:.4f}", "the success probability where the record is attacked, 0 where it is not"
)
_SEQUENTIAL_RISK = Measure(
    "Re-identification risk",
    "{:.4f}",
    "mean over all records of the probability that the sequence of exploits that the adversary plans reaches the right "
    "person, 0 where it does not attack",
)
_SUBJECTS = {
    "publisher_payoff": Measure(
        "Subject's payoff",
        "{:,.2f}",
        "per subject: benefit of what is shared, less the expected loss where the adversary attacks",
    ),
    "generalization_intensity": Measure("Generalization intensity", "{:.4f}", "share of attributes (or levels) masked"),
}


def measures_of(run: StoredRun) -> dict[str, Measure]:
    """Return the measures that a stored run has, by column, with the words of its kind of game."""
    return measures_among(run.runs.columns, run.content)


def measures_among(columns: Iterable[str], content: Mapping[str, Any]) -> dict[str, Measure]:
    """Return the measures among some columns of runs, with the words of a scenario's kind of game.

    Parameters
    ----------
    columns : iterable of str
    content : mapping
        The scenario as run.
    """
    words = dict(MEASURES)
    if content.get("game") == "masking":
        words |= _SUBJECTS
    several = content.get("adversaries") or {}
    adversaries = [content.get("adversary"), *(several.values() if isinstance(several, dict) else ())]
    if any(isinstance(each, dict) and each.get("planner") == "fmdp" for each in adversaries):
        words["risk"] = _SEQUENTIAL_RISK
    present = set(columns)
    return {column: measure for column, measure in words.items() if column in present}


def number_text(value: object) -> str:
    """Write a number of a table or a price: whole numbers whole, others with up to six digits."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        if not math.isfinite(value):
            return "-" if math.isnan(value) else str(value)
        return f"{value:,.0f}" if value == int(value) and abs(value) < 1e15 else f"{value:,.6g}"
    return str(value)

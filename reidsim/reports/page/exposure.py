"""Whom each policy exposes: how many people are expected to be re-identified, and how many in all but few cases."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from reidsim.reports.page.stored_run import StoredRun
from reidsim.scenarios.people import once_each

LEVEL = 0.95
# Probabilities may be below a level by rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Exposure:
    """Whom a policy exposes.

    Parameters
    ----------
    expected : float or None
        People who are expected to be re-identified; None where a run does not say how many there are.
    high : int or None
        A number that is not exceeded in 95 of 100 cases; None where the run keeps no distribution of it, as that of
        several points.
    highest : float or None
        Highest probability, over shared records, that an attack would name the person.
    """

    expected: float | None
    high: int | None
    highest: float | None


def exposure_of(run: StoredRun, policy: str, risk: float) -> Exposure:
    """Return whom a policy of a run exposes.

    Parameters
    ----------
    run : StoredRun
    policy : str
    risk : float
        Its mean over all records, or people where they are counted.

    Raises
    ------
    InputError
        If the table of records cannot be read.
    """
    expected = None if run.n_counted is None else risk * run.n_counted
    return Exposure(expected, _not_exceeded(run, policy), _highest(run, policy))


def _not_exceeded(run: StoredRun, policy: str) -> int | None:
    if "reidentified" not in run.tables:
        return None
    table = run.table("reidentified")
    if not {"policy", "people", "at_most"} <= set(table.columns):
        return None
    likely = (table["policy"].astype("str") == policy) & (table["at_most"] >= LEVEL - _ROUNDING)
    return int(table.loc[likely, "people"].min()) if likely.any() else None


def _highest(run: StoredRun, policy: str) -> float | None:
    if "records" not in run.tables or not {"policy", "success_probability"} <= set(run.records.columns):
        return None
    records = once_each(run.records[(run.records["policy"] == policy).to_numpy()], run.content)
    return float(records["success_probability"].fillna(0.0).max()) if len(records) else 0.0


def people_text(number: float) -> str:
    """Write a number of people: whole ones, a few with a decimal."""
    if pd.isna(number):
        return "-"
    return f"{number:,.0f}" if number >= 10 or number == 0 else f"{number:,.1f}" if number >= 0.1 else "fewer than 0.1"

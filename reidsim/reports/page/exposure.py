"""Whom each policy exposes: how many people are expected to be re-identified, and how many in all but few cases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from reidsim.linkage.poisson_binomial import quantile_of_successes
from reidsim.reports.page.stored_run import StoredRun
from reidsim.scenarios.people import once_each

LEVEL = 0.95
# By how much the records' own numbers may differ from the mean of a run, as they are added up in another order.
_SAME = 1e-6


@dataclass(frozen=True)
class Exposure:
    """Whom a policy exposes.

    Parameters
    ----------
    expected : float or None
        People who are expected to be re-identified; None where a run does not say how many there are.
    high : int or None
        A number that is not exceeded in 95 of 100 cases, if attacks succeed or fail independently of each other; None
        where the table of records does not say with which probability each record is attacked and re-identified.
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
    if "records" not in run.tables:
        return Exposure(expected, None, None)
    records = run.records
    if not {"policy", "attacked", "success_probability"} <= set(records.columns):
        return Exposure(expected, None, None)
    records = once_each(records[(records["policy"].astype("str") == policy).to_numpy()], run.content)
    success = records["success_probability"].fillna(0.0).to_numpy(dtype=np.float64)
    highest = float(success.max(initial=0.0))
    attempts = np.where(records["attacked"].astype(bool), success, 0.0)
    # Rounds, draws and several adversaries have other probabilities than the table of records tells.
    if expected is None or run.rounds > 1 or not np.isclose(attempts.sum(), expected, rtol=_SAME, atol=_SAME):
        return Exposure(expected, None, highest)
    return Exposure(expected, quantile_of_successes(attempts, LEVEL), highest)


def people_text(number: float) -> str:
    """Write a number of people: whole ones, a few with a decimal."""
    if pd.isna(number):
        return "-"
    return f"{number:,.0f}" if number >= 10 or number == 0 else f"{number:,.1f}" if number >= 0.1 else "fewer than 0.1"

"""Quantiles of outcomes over records and of the number of people re-identified."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.agents.measures import weighted_quantiles
from reidsim.engine.run_result import RunResult
from reidsim.games.equilibrium import Equilibrium
from reidsim.games.reidentified import Reidentified
from reidsim.scenarios.people import once_each

LEVELS = {"minimum": 0.0, "q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95, "maximum": 1.0}
# Name of the measure "number of people re-identified" in the table of distributions over records.
PEOPLE = "reidentified"
_OUTCOMES = ("publisher_payoff", "adversary_payoff", "risk")
# Columns of the table of records whose quantiles are computed.
_BY_RECORD = (*_OUTCOMES, "prosecutor", "journalist", "marketer", "overall")


def _row(policy: str, measure: str, quantiles: Iterable[float]) -> dict[str, Any]:
    return {"policy": policy, "measure": measure, **dict(zip(LEVELS, quantiles, strict=True))}


def quantiles_of_people(found: Mapping[str, Reidentified]) -> list[dict[str, Any]]:
    """Return quantiles of the number of people re-identified, one row per policy."""
    return [
        _row(policy, PEOPLE, [float(each.people.quantile(level)) for level in LEVELS.values()])
        for policy, each in found.items()
    ]


def distributions_of_rounds(
    policy: str, outcomes: Mapping[str, NDArray[np.float64]], shared: NDArray[np.int64]
) -> list[dict[str, Any]]:
    """Return quantiles of outcomes over the records shared in all rounds.

    There is one row per outcome.

    Parameters
    ----------
    policy : str
    outcomes : mapping of str to ndarray of float64, shape (n,)
        Outcome values of records, by column.
    shared : ndarray of int64, shape (n,)
        Number of records with each value, used as weight.
    """
    levels = LEVELS.values()
    return [_row(policy, name, weighted_quantiles(values, shared, levels)) for name, values in outcomes.items()]


def quantiles_of_records(equilibria: Mapping[str, Equilibrium]) -> list[dict[str, Any]]:
    """Return quantiles of outcomes over records, one row per policy and outcome."""
    rows = []
    for policy, equilibrium in equilibria.items():
        outcomes = np.array([equilibrium.publisher_payoff, equilibrium.adversary_payoff, equilibrium.risk])
        found = np.quantile(outcomes, list(LEVELS.values()), axis=1).T.tolist()
        rows += [_row(policy, measure, values) for measure, values in zip(_OUTCOMES, found, strict=True)]
    return rows


def distributions_of_result(result: RunResult) -> pd.DataFrame:
    """Return the quantiles of a result over its records.

    With agents, they are over all rounds.
    """
    of_rounds = result.analysis.tables().get("distributions")
    if of_rounds is not None:
        return of_rounds
    records = once_each(result.records, result.manifest["content"])
    groups = [column for column in ("policy", "records", "knowledge") if column in records]
    if records.empty or not groups:
        return pd.DataFrame()
    if "success_probability" in records and "attacked" in records:
        records = records.assign(risk=np.where(records["attacked"], records["success_probability"], 0.0))
    measures = [column for column in _BY_RECORD if column in records]
    rows = []
    for names, group in records.groupby(groups, sort=False, observed=True):
        for measure in measures:
            found = np.quantile(group[measure].to_numpy(dtype=np.float64), list(LEVELS.values()))
            values = dict(zip(LEVELS, found.tolist(), strict=True))
            rows.append({**dict(zip(groups, names, strict=True)), "measure": measure, **values})
    return pd.DataFrame(rows)

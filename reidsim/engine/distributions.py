"""Quantiles of outcomes over records and of the number of people re-identified."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.agents.measures import weighted_quantiles
from reidsim.engine.results import RunResult
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
    """Return quantiles of the number of people re-identified, by policy.

    `found` holds the distribution of this number under each policy. Each row is a dict with ``policy``, ``measure``
    (always `PEOPLE`) and one quantile per name in `LEVELS`. Each quantile is a possible number; see
    `Successes.quantile`.
    """
    return [
        _row(policy, PEOPLE, [float(each.people.quantile(level)) for level in LEVELS.values()])
        for policy, each in found.items()
    ]


def distributions_of_rounds(
    policy: str, outcomes: Mapping[str, NDArray[np.float64]], shared: NDArray[np.int64]
) -> list[dict[str, Any]]:
    """Return quantiles of outcomes over the records of all rounds, taken together.

    A record counts once for each round in which it is exposed. Quantiles are not interpolated: each is the outcome of
    a record. They are missing (NaN) if no record was ever exposed.

    Parameters
    ----------
    policy : str
    outcomes : mapping of str to ndarray of float64, shape (n,)
        Outcome values of records, by column; see `reidsim.engine.rounds.PlayedPolicy`.
    shared : ndarray of int64, shape (n,)
        Number of exposed records with each value, used as weight.

    Returns
    -------
    list of dict
        One row per outcome: ``policy``, ``measure`` (the column of the outcome) and one quantile per name in `LEVELS`.
    """
    levels = LEVELS.values()
    return [_row(policy, name, weighted_quantiles(values, shared, levels)) for name, values in outcomes.items()]


def quantiles_of_records(equilibria: Mapping[str, Equilibrium]) -> list[dict[str, Any]]:
    """Return quantiles of payoffs and risk over records.

    Each entry of an equilibrium counts as one record, withheld records included. Quantiles are interpolated linearly.
    There is one row per policy and outcome (`_OUTCOMES`), with the keys of `quantiles_of_people`.
    """
    rows = []
    for policy, equilibrium in equilibria.items():
        outcomes = np.array([equilibrium.publisher_payoff, equilibrium.adversary_payoff, equilibrium.risk])
        found = np.quantile(outcomes, list(LEVELS.values()), axis=1).T.tolist()
        rows += [_row(policy, measure, values) for measure, values in zip(_OUTCOMES, found, strict=True)]
    return rows


def distributions_of_result(result: RunResult) -> pd.DataFrame:
    """Return the quantiles of outcomes over the records of a result.

    Returns
    -------
    DataFrame
        With agents, the table ``distributions`` of the result; see `reidsim.engine.rounds.AgentAnalysis`. Otherwise one
        row per policy (in assessments, per size of the release and knowledge) and outcome: ``policy`` or ``records``
        and ``knowledge``, ``measure`` and one column per name in `LEVELS`. Quantiles are interpolated linearly, and
        the risk of a record that is not attacked is 0. In scenarios that count people, each person counts once. The
        table is empty if the result has no records.
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

"""Read the released quasi-identifiers chosen by a policy from a results folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.errors import InputError, listed, require_among
from reidsim.reports.page.stored_run import StoredRun
from reidsim.scenarios.kind import Kind
from reidsim.scenarios.schema import ScenarioHead


@dataclass(frozen=True, eq=False)
class ChosenForms:
    """Strategy of a policy for every record, and the released values.

    Parameters
    ----------
    policy : str
    labels : DataFrame
        One text column per quasi-identifier, one row per record in the order of the source file; ``*`` if suppressed or
        masked.
    shared : ndarray of bool, shape (n_records,)
        Whether each record is released; labels of other records must not be used.
    success : ndarray of float64, shape (n_records,)
        Success probability of an attack on each record in the game; 0 if the record is not released.
    strategies : Series of str
        Strategy of each record.
    """

    policy: str
    labels: pd.DataFrame
    shared: NDArray[np.bool_]
    success: NDArray[np.float64]
    strategies: pd.Series[str]

    @property
    def highest_risk(self) -> float:
        """Highest success probability of a released record, attacked or not; 0 if none."""
        return float(self.success.max(initial=0.0))


def policies_of(run: StoredRun) -> list[str]:
    """Return the policies whose records a run holds.

    Raises
    ------
    InputError
        If the results have no table of records, or hold several runs.
    """
    table = run.records
    if "policy" not in table:
        raise InputError("column missing", source=run.tables["records"], where="column 'policy'")
    for found in (run.runs, table):
        for column in ("point", "replication"):
            if column in found and len(found[column].unique()) > 1:
                raise InputError(
                    "the results contain several runs", source=run.folder, where=column, expected="a single run"
                )
    return list(table["policy"].drop_duplicates().astype("str"))


def chosen_policy(run: StoredRun, policy: str | None) -> str:
    """Return the policy by name, or the only policy of the run if no name is given.

    Raises
    ------
    InputError
        If no policy has this name, or the run has several policies and no name is given.
    """
    policies = policies_of(run)
    if policy is None and len(policies) > 1:
        raise InputError(
            "the results contain several policies", source=run.folder, expected=f"--policy, one of {listed(policies)}"
        )
    if policy is not None:
        require_among("no such policy in the results", (policy,), policies, source=run.folder, where="--policy")
    return policy or policies[0]


def chosen_forms(
    run: StoredRun, kind: Kind, scenario: ScenarioHead, attributes: Sequence[str], policy: str
) -> ChosenForms:
    """Read the strategies and released values that a policy of a run chose.

    Parameters
    ----------
    run : StoredRun
    kind : Kind
        Kind of game of the scenario.
    scenario : ScenarioHead
        Scenario as run.
    attributes : sequence of str
        Names of the quasi-identifiers.
    policy : str
        One of the policies from `policies_of`.

    Raises
    ------
    InputError
        If a column is missing, or records are in a different order.
    """
    table, source = run.records, run.tables["records"]
    for column in ("record", "policy", "strategy", "success_probability", *attributes):
        if column not in table:
            raise InputError("column missing", source=source, where=f"column {column!r}")
    table = table[(table["policy"] == policy).to_numpy()].reset_index(drop=True)
    if not np.array_equal(table["record"].to_numpy(), np.arange(len(table))):
        raise InputError("records are not in the order of the release", source=source)
    labels = pd.DataFrame({name: kind.released_values(scenario, table, name) for name in attributes}, index=table.index)
    shared = kind.is_shared(table)
    if "participates" in table:
        # With agents, people who do not participate also have a strategy, but their records are not released.
        shared = shared & table["participates"].to_numpy(dtype=bool)
    success = np.where(shared, table["success_probability"].fillna(0.0).to_numpy(dtype=np.float64), 0.0)
    return ChosenForms(policy, labels, shared, success, table["strategy"].astype("str"))

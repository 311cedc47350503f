"""The quasi-identifiers of records in the forms that a policy chose, as results folders keep them."""

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
    """What a policy chose for every record.

    Parameters
    ----------
    policy : str
    labels : DataFrame
        One column of text per quasi-identifier, one row per record, in the order of the release; ``*`` if suppressed
        or masked.
    shared : ndarray of bool, shape (n_records,)
        Whether a record is shared; rows of others are not to be used.
    success : ndarray of float64, shape (n_records,)
        Probability that an attack on the record would name its person, as the game has it; 0 where nothing is shared.
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
        """Highest success probability of a shared record, attacked or not; 0 if none is shared."""
        return float(self.success.max(initial=0.0))


def policies_of(run: StoredRun) -> list[str]:
    """Return the policies whose records a run holds.

    Raises
    ------
    InputError
        If it has no table of records, or several runs in it.
    """
    table = run.records
    if "policy" not in table:
        raise InputError("column missing", source=run.tables["records"], where="column 'policy'")
    for found in (run.runs, table):
        for column in ("point", "replication"):
            if column in found and len(found[column].unique()) > 1:
                raise InputError("results of several runs", source=run.folder, where=column, expected="a single run")
    return list(table["policy"].drop_duplicates().astype("str"))


def chosen_policy(run: StoredRun, policy: str | None) -> str:
    """Return the policy asked for, which may be left out if the run has one.

    Raises
    ------
    InputError
        If there is none of this name, or several and none is named.
    """
    policies = policies_of(run)
    if policy is None and len(policies) > 1:
        raise InputError("several policies", source=run.folder, expected=f"--policy, one of {listed(policies)}")
    if policy is not None:
        require_among("no such policy in the results", (policy,), policies, source=run.folder, where="--policy")
    return policy or policies[0]


def chosen_forms(
    run: StoredRun, kind: Kind, scenario: ScenarioHead, attributes: Sequence[str], policy: str
) -> ChosenForms:
    """Read what a policy of a run chose.

    Parameters
    ----------
    run : StoredRun
    kind : Kind
        Of its scenario.
    scenario : ScenarioHead
        As run.
    attributes : sequence of str
        The quasi-identifiers.
    policy : str
        One of `policies_of` the run.

    Raises
    ------
    InputError
        If a column is missing, or records are in another order.
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
        # With agents: the form is there for those who stay away, too, and their record is not shared.
        shared = shared & table["participates"].to_numpy(dtype=bool)
    success = np.where(shared, table["success_probability"].fillna(0.0).to_numpy(dtype=np.float64), 0.0)
    return ChosenForms(policy, labels, shared, success, table["strategy"].astype("str"))

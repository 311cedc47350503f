"""The read-back of a release: every number that is counted in the shared rows, for `share`, the report and `serve`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.reports.shared.audited import audit_facts, audit_of, file_risk, sensitive_facts, singled_out
from reidsim.reports.shared.inference import Inference, inference_of
from reidsim.reports.shared.kept import SingledOut
from reidsim.reports.shared.limit import FileRisk, Limit
from reidsim.reports.shared.records import SharedRecords


@dataclass(frozen=True, eq=False)
class ReadBack:
    """Numbers counted in the shared rows of a policy.

    Parameters
    ----------
    risk : FileRisk
    people : SingledOut
    audit : dict
        Other counts, as sidecars hold them.
    people_of_row : ndarray of int64, shape (n_real_rows,)
        People whose true values fit each row that is not counterfeit.
    inferred : list of Inference
        What the rows reveal of each sensitive column that has limits.
    """

    risk: FileRisk
    people: SingledOut
    audit: dict[str, Any]
    people_of_row: NDArray[np.int64]
    inferred: list[Inference]

    @property
    def keeps_promise(self) -> bool:
        """Whether the rows make nobody easier to find than the game computes, and fit the records behind them."""
        return (
            not self.audit["people_more_exposed_than_promised"] and not self.audit["rows_that_do_not_fit_their_record"]
        )

    @property
    def revealed(self) -> list[str]:
        """Sensitive columns of which the rows reveal more than the limits of the scenario allow."""
        return [each.column for each in self.inferred if each.rows_beyond or each.people_beyond]

    def facts(self, limit: Limit) -> dict[str, Any]:
        """Return the numbers as the keys ``risk`` and ``audit`` of a sidecar."""
        return {"risk": self.risk.facts(limit), "audit": self.audit}


def read_back(shared: SharedRecords, table: pd.DataFrame) -> ReadBack:
    """Count in the shared rows of a policy.

    Parameters
    ----------
    shared : SharedRecords
    table : DataFrame
        The columns of its file; `shared.table` if it was not written.

    Raises
    ------
    InputError
        If the rows would not protect the column that the policy promises to protect.
    """
    audited = audit_of(shared, table)
    people = singled_out(shared, table)
    audit = audit_facts(shared, audited)
    if sensitive := sensitive_facts(shared, table):
        audit["sensitive"] = sensitive
    inferred = inference_of(shared, table)
    if inferred:
        audit["inference"] = [each.facts() for each in inferred]
    audit["singled_out"] = people.facts(shared.declared)
    return ReadBack(file_risk(shared, table, audited), people, audit, audited.people_of_row, inferred)

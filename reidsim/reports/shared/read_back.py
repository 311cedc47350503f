"""Read back a release and compute the audit for `share`, the report and `serve`."""

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
    """Audit of the released rows of a policy.

    Parameters
    ----------
    risk : FileRisk
    people : SingledOut
    audit : dict
        Other counts, in the format of sidecars.
    people_of_row : ndarray of int64, shape (n_real_rows,)
        Number of people whose true values match each row, without counterfeit rows.
    inferred : list of Inference
        Inference of each sensitive column with limits from the rows.
    """

    risk: FileRisk
    people: SingledOut
    audit: dict[str, Any]
    people_of_row: NDArray[np.int64]
    inferred: list[Inference]

    @property
    def keeps_promise(self) -> bool:
        """Whether the rows confirm the game.

        No person may be easier to find than the game computes, and each row must match its source record.
        """
        return (
            not self.audit["people_more_exposed_than_promised"] and not self.audit["rows_that_do_not_fit_their_record"]
        )

    @property
    def revealed(self) -> list[str]:
        """Sensitive columns whose inference from the rows exceeds the scenario's limits."""
        return [each.column for each in self.inferred if each.rows_beyond or each.people_beyond]

    def facts(self, limit: Limit) -> dict[str, Any]:
        """Return the entries ``risk`` and ``audit`` of a sidecar."""
        return {"risk": self.risk.facts(limit), "audit": self.audit}


def read_back(shared: SharedRecords, table: pd.DataFrame) -> ReadBack:
    """Audit the released rows of a policy.

    Parameters
    ----------
    shared : SharedRecords
    table : DataFrame
        Columns of the released file, or `shared.table` if no file was written.

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

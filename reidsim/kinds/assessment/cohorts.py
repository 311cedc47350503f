"""Risks of a cohort against a threshold: by group of people (Xia et al. 2023)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from reidsim.kinds.assessment.schema import ThresholdSection

EVERYBODY = "everybody"


def cohort_table(section: ThresholdSection, records: pd.DataFrame) -> pd.DataFrame:
    """Return how the risk of a cohort's people lies to the threshold, for everybody and by group.

    Parameters
    ----------
    section : ThresholdSection
    records : DataFrame
        One row per person and adversary: ``knowledge``, the risks and the attributes.

    Returns
    -------
    DataFrame
        Columns knowledge, attribute ("everybody" or one of ``threshold.groups``), value (of the group), persons,
        percentile_risk (the smallest risk that the share ``threshold.percentile`` of persons does not exceed),
        mean_risk, share_above (of persons above the threshold) and threshold.
    """
    rows = []
    for knowledge, people in records.groupby("knowledge", sort=False, observed=True):
        groups = [(EVERYBODY, EVERYBODY, people[section.risk])]
        for name in section.groups:
            by_value = people.groupby(name, sort=False, observed=True)[section.risk]
            groups += [(name, str(value), risks) for value, risks in by_value]
        for attribute, value, risks in groups:
            rows.append(
                {
                    "knowledge": str(knowledge),
                    "attribute": attribute,
                    "value": value,
                    "persons": len(risks),
                    "percentile_risk": float(np.quantile(risks, section.percentile, method="inverted_cdf")),
                    "mean_risk": float(risks.mean()),
                    "share_above": float((risks > section.risk_accepted).mean()),
                    "threshold": section.risk_accepted,
                    "percentile": section.percentile,
                }
            )
    return pd.DataFrame(rows)

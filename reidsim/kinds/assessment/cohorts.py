"""Risks of a cohort against a threshold: by group of people, and while the cohort grows (Xia et al. 2023)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from reidsim.adversaries.knowledge.groups import Knowledge
from reidsim.kinds.assessment.release import Release
from reidsim.kinds.assessment.schema import ThresholdSection
from reidsim.kinds.assessment.study import RiskStudy

EVERYBODY = "everybody"


def grown_cohorts(
    study: RiskStudy, section: ThresholdSection, knowledge: Mapping[str, Knowledge]
) -> Iterator[tuple[Release, dict[str, Knowledge]]]:
    """Yield cohorts of other sizes made from a file, with what each adversary may know about their people.

    A smaller cohort is drawn from the file without replacement. A larger one is the file and as many of its own records
    again as are missing, drawn with replacement: newcomers resemble those who are there, so combinations of values that
    only newcomers have are left out, and the risk is understated.
    """
    release = study.file
    if release is None:
        return
    n = release.n_records
    for size in sorted(set(section.sizes) - {n}):
        rng = study.stream("cohort", size, 0)
        kept = rng.permutation(n)[:size]
        chosen = np.concatenate([kept, rng.integers(n, size=max(size - n, 0))])
        persons = None if release.persons is None else release.persons[chosen]
        known = {
            name: replace(
                whole,
                sources=tuple(
                    replace(source, profile_of_person=source.profile_of_person[chosen]) for source in whole.sources
                ),
            )
            for name, whole in knowledge.items()
        }
        yield Release(release.domain, release.codes[chosen], release.trees, persons), known


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
